"""What chunks hold of gold pieces: which stretch of each, and from which rank on a list holds enough of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.data.corpus import Document
from steelyard.text.matching import Overlaps
from steelyard.text.spans import Cover, Spans, cover, join

_ROUNDING = 1e-9
_WHITE_SPACE = np.array([code for code in range(0x3001) if chr(code).isspace()], np.uint32)


@dataclass(frozen=True, eq=False)
class Holdings:
    """What chunks hold of pieces; m stretches.

    piece, chunk  (m,) the gold piece and the chunk that holds some of it
    place         (m,) a number for each place of each piece: what chunks hold of one place adds up
    start, end    (m,) the characters of the place that the chunk holds, white space not counted where texts are known
    length        (m,) how many the place has
    adds          (m,) whether the stretch counts beside those of other chunks; it may hold enough by itself if not
    """

    piece: Ints
    chunk: Ints
    place: Ints
    start: Ints
    end: Ints
    length: Ints
    adds: Bools

    def __len__(self) -> int:
        return len(self.piece)

    @classmethod
    def whole(cls, pairs: Ints) -> Holdings:
        """Chunks that hold a piece by any part of it: pages, documents, ids; from (m, 2) pairs."""
        one, nothing = np.ones(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
        piece, chunk = pairs.T
        return cls(piece, chunk, piece, nothing, one, one, np.ones(len(pairs), bool))

    @classmethod
    def by_place(
        cls, piece: Ints, spans: Spans, place: Ints, *, chunk: Ints, chunks: Spans, documents: Sequence[Document] | None
    ) -> Holdings:  # fmt: skip
        """Chunks that overlap a place of a piece.

        piece, spans, place   (l,) each place of each piece: one stretch
        chunk, chunks         (c,) rows of the chunks with a place, and their spans;   documents   their texts, if known
        """
        at, of = join(spans, chunks)
        gold, shown = spans.take(at), chunks.take(of)
        bounds = np.stack(
            [np.maximum(gold.start, shown.start), np.minimum(gold.end, shown.end), gold.start, gold.end]
        )  # fmt: skip
        if documents is not None:
            base, visible = _visible(documents, np.unique(gold.doc))
            seen = visible[base[gold.doc] + bounds]
            # White space alone is counted after all, where it is gold.
            bounds = np.where(seen[3] > seen[2], seen, bounds)
        start, end, first, last = bounds
        some = np.flatnonzero(end > start)
        rows = cls(piece[at], chunk[of], place[at], start - first, end - first, last - first, np.ones(len(at), bool))
        return rows.take(some)

    @classmethod
    def by_text(cls, piece: Ints, chunk: Ints, place: Ints, overlaps: Overlaps) -> Holdings:
        """Chunks whose texts and those of pieces have some characters in common, which may be from elsewhere if few."""
        return cls(piece, chunk, place, overlaps.start, overlaps.end, overlaps.length, overlaps.is_telling)

    @classmethod
    def concat(cls, parts: Sequence[Holdings]) -> Holdings:
        """All of them; places of different parts are different ones, and numbered from 0."""
        names = [field.name for field in fields(cls)]
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        part = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        places = columns["place"] * len(parts) + part
        columns["place"] = np.unique(places, return_inverse=True)[1].astype(np.int64)
        return cls(**columns)

    def take(self, rows: Ints) -> Holdings:
        """Some of them."""
        return Holdings(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    def alone(self, least: float) -> Bools:
        """(m,) whether the chunk holds enough by itself: that share of the place, and one character of it."""
        return self.end - self.start >= self._needed(least)

    def first_ranks(self, rank: Ints, least: float) -> tuple[Ints, Ints]:
        """(m,) the first rank with which chunks hold enough of a stretch's place; (m,) the same of its parts alone.

        0 where they never do; parts are what chunks hold that do not hold enough by themselves.

        rank    (m,) that of each chunk in the list of the piece's question, from 1;   least   share of the place
        Every character counts once, however many chunks hold it.
        """
        alone, needed = self.alone(least), self._needed(least)
        never = np.iinfo(np.int64).max
        n = int(self.place.max(initial=-1)) + 1
        by_one, by_parts, enough = np.full(n, never), np.full(n, never), np.zeros(n)
        np.minimum.at(by_one, self.place[alone], rank[alone])
        enough[self.place] = needed
        # A chunk that holds enough by itself needs no others, and completes nothing before its own rank.
        shown = self._shown(self.adds & ~alone, rank)
        order = np.lexsort((shown.rank, shown.query))
        place, ranks, so_far = shown.query[order], shown.rank[order], np.cumsum(shown.length[order])
        opens = np.searchsorted(place, place)
        so_far -= so_far[opens] - shown.length[order][opens]
        held = so_far >= enough[place]
        np.minimum.at(by_parts, place[held], ranks[held])
        first = np.minimum(by_one, by_parts)
        return np.where(first == never, 0, first)[self.place], np.where(by_parts == never, 0, by_parts)[self.place]

    def left(self, least: float) -> Bools:
        """(m,) whether what all chunks leave of a stretch's place would be enough for another chunk."""
        shown = self._shown(self.adds, np.ones(len(self), np.int64))
        n = np.bincount(shown.query, shown.length, minlength=int(self.place.max(initial=-1)) + 1)
        return self.length - n[self.place] >= self._needed(least)

    def _shown(self, mask: Bools, rank: Ints) -> Cover:
        """The characters of each place that some stretches hold, each once, at the first of their ranks."""
        nothing = np.zeros(0, np.int64)
        stretches = Spans(np.zeros_like(self.start), self.start, self.end).take(np.flatnonzero(mask))
        return cover(nothing, Spans(nothing, nothing, nothing), self.place[mask], stretches, rank[mask])

    def _needed(self, least: float) -> Floats:
        needed: Floats = np.maximum(least * self.length, 1.0)
        return needed - _ROUNDING


def _visible(documents: Sequence[Document], used: Ints) -> tuple[Ints, Ints]:
    """Where the counts of each document begin, and how many characters before each of its own are not white space."""
    base = np.zeros(len(documents), np.int64)
    counts, n = [np.zeros(0, np.int64)], 0
    for doc in used.tolist():
        codes = np.frombuffer(documents[doc].text.encode("utf-32-le", "surrogatepass"), np.uint32)
        base[doc] = n
        counts.append(np.cumsum(np.concatenate([[0], ~np.isin(codes, _WHITE_SPACE)]), dtype=np.int64))
        n += len(codes) + 1
    return base, np.concatenate(counts)
