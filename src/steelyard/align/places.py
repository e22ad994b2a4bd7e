"""Places of gold pieces in the documents of a corpus, and what chunks hold of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from steelyard.align.documents import NumberedDocuments
from steelyard.align.gold import Gold, Loss, first_of
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.data.chunk_table import ChunkTable
from steelyard.data.corpus import Document
from steelyard.data.pieces import Piece
from steelyard.text.locating import Locator
from steelyard.text.matching import Overlaps, match_texts
from steelyard.text.spans import Cover, Span, Spans, cover, join


@dataclass
class Places:
    """Places of pieces, collected one after the other.

    A place is one stretch of characters, or several: pages are parts of one place, occurrences of a quote are places.
    """

    piece: list[int] = field(default_factory=list)
    span: list[tuple[int, int, int]] = field(default_factory=list)
    place: list[int] = field(default_factory=list)

    def add(self, piece: int, doc: int, *stretches: Span) -> None:
        """One place of a piece."""
        number = self.place[-1] + 1 if self.place else 0
        for start, end in stretches:
            self.piece.append(piece)
            self.span.append((doc, start, end))
            self.place.append(number)

    def columns(self) -> tuple[Ints, Spans, Ints]:
        """(l,) piece, (l,) span and (l,) number of the place, of every stretch."""
        flat = np.array(self.span, np.int64).reshape(-1, 3)
        spans = Spans(flat[:, 0], flat[:, 1], flat[:, 2])
        return np.array(self.piece, np.int64), spans, np.array(self.place, np.int64)


def place_pieces(
    gold: Gold, documents: NumberedDocuments, table: ChunkTable, steps: Sequence[str]
) -> tuple[Places, dict[int, Loss]]:
    """Places of spans, quotes, pages, documents and texts; and the pieces whose document is missing.

    Raises   InputError for quotes, pages and spans that their documents do not have, naming the first questions.
    """
    places, losses, refusals = Places(), dict[int, Loss](), list[str]()
    locators = _Locators(documents.texts or (), steps)
    for row, piece in enumerate(gold.pieces):
        if piece.kind in ("chunk", "text"):
            continue
        doc = documents.number(piece.doc)
        if not documents.holds(doc) and (table.complete or documents.texts is not None):
            losses[row] = Loss("not_in_corpus", f"there is no document {piece.doc!r}")
        if documents.texts is None:
            # A span has its place in its label, also in a document of which nothing was retrieved.
            if piece.kind == "span":
                places.add(row, doc, (piece.start, piece.end))
            continue
        if not documents.holds(doc):
            continue
        spans = _spans_of(piece, doc, locators)
        if isinstance(spans, str):
            refusals.append(f"{gold.where(row)}: {spans}")
        elif piece.kind == "pages":
            places.add(row, doc, *spans)
        else:
            for span in spans:
                places.add(row, doc, span)
    if refusals:
        raise InputError(first_of(refusals))
    if documents.texts is not None:
        _place_texts(gold, locators, steps, places)
    return places, losses


@dataclass
class _Locators:
    """A locator for each document in which something is looked up, built on first use."""

    documents: Sequence[Document]
    steps: Sequence[str]
    built: dict[int, Locator] = field(default_factory=dict)

    def __getitem__(self, doc: int) -> Locator:
        if doc not in self.built:
            self.built[doc] = Locator(self.documents[doc].text, self.steps)
        return self.built[doc]


def _spans_of(piece: Piece, doc: int, locators: _Locators) -> list[Span] | str:
    """The characters of a piece in its document, or why the document does not have them."""
    document = locators.documents[doc]
    n = len(document.text)
    if piece.kind == "span":
        inside = piece.end <= n
        refusal = f"{piece}: the document has {n} characters; was it labelled on another version?"
        return [(piece.start, piece.end)] if inside else refusal
    if piece.kind == "pages":
        return _page_spans(piece, document)
    if piece.kind == "quote":
        return _quote_spans(piece, locators[doc])
    return [(0, n)] if n else []


def _page_spans(piece: Piece, document: Document) -> list[Span] | str:
    starts = document.pages
    if starts is None:
        return f"{piece}: the document has no pages; only PDF files have"
    if max(piece.pages, default=0) > len(starts):
        return f"{piece}: the document has {len(starts)} pages"
    spans = list(zip(starts, [*starts[1:], len(document.text)], strict=True))
    return [(start, end) for start, end in (spans[page - 1] for page in piece.pages) if start < end]


def _quote_spans(piece: Piece, locator: Locator) -> list[Span] | str:
    spans = locator.find(piece.text)
    if not spans:
        return f"document {piece.doc!r}: {locator.why_not(piece.text)}"
    if piece.occurrence is None:
        return spans
    if piece.occurrence > len(spans):
        return f"{piece} occurs {len(spans)} times, so there is no occurrence {piece.occurrence}"
    return [spans[piece.occurrence - 1]]


def _place_texts(gold: Gold, locators: _Locators, steps: Sequence[str], places: Places) -> None:
    """Texts that name no document, wherever they occur."""
    rows = gold.rows("text")
    if not len(rows):
        return
    texts = [gold.pieces[row].text for row in rows]
    matches = match_texts(texts, [document.text for document in locators.documents], steps=steps)
    inside = matches.gold_in_chunk
    for i, doc in zip(matches.gold[inside].tolist(), matches.chunk[inside].tolist(), strict=True):
        for span in locators[doc].find(texts[i]):
            places.add(int(rows[i]), doc, span)


_ROUNDING = 1e-9
_WHITE_SPACE = np.array([code for code in range(0x3001) if chr(code).isspace()], np.uint32)


@dataclass(frozen=True, eq=False)
class Holdings:
    """Stretches of pieces that chunks hold; m of them.

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
    ) -> Holdings:
        """Chunks that overlap a place of a piece.

        piece, spans, place   (l,) each place of each piece: one stretch
        chunk, chunks         (c,) rows of the chunks with a place, and their spans;   documents   their texts, if known
        """
        at, of = join(spans, chunks)
        gold, shown = spans.take(at), chunks.take(of)
        bounds = np.stack([np.maximum(gold.start, shown.start), np.minimum(gold.end, shown.end), gold.start, gold.end])
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
    """Offsets of each document's counts, and how many characters before each of its own are not white space."""
    base = np.zeros(len(documents), np.int64)
    counts, n = [np.zeros(0, np.int64)], 0
    for doc in used.tolist():
        codes = np.frombuffer(documents[doc].text.encode("utf-32-le", "surrogatepass"), np.uint32)
        base[doc] = n
        counts.append(np.cumsum(np.concatenate([[0], ~np.isin(codes, _WHITE_SPACE)]), dtype=np.int64))
        n += len(codes) + 1
    return base, np.concatenate(counts)
