"""Hits of a run: their canonical ranks, the Alignment made of them, and why no query or document is in the truth."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError, NoCommonQueryError
from steelyard.data.truth import Truth
from steelyard.measures.alignment import Alignment, Ties, offsets, rank_order

TieBlocks = tuple[Ints, Ints, Ints]
"""(b,) query, (b,) first rank and (b,) size of blocks of ties."""


@dataclass(frozen=True)
class Aligned:
    """An alignment, and how many queries of the run are not in the truth."""

    alignment: Alignment
    n_unjudged_queries: int


@dataclass(frozen=True, eq=False)
class Hits:
    """Hits of r runs, in any order.

    query, rank, gain   (h,) of each judged retrieved document; a query is numbered run * len(truth) + its place
    n_retrieved, seen   (r * q,) documents that each run has for each query, and whether it has the query
    tied                blocks of ties, in any order
    """

    query: Ints
    rank: Ints
    gain: Floats
    n_retrieved: Ints
    seen: Bools
    tied: list[TieBlocks]


def alignments_of(truth: Truth, hits: Hits) -> list[Alignment]:
    """The alignments of r runs, from their hits."""
    seen, n_retrieved = hits.seen, hits.n_retrieved
    order = rank_order(hits.query, hits.rank)
    starts = offsets(hits.query, len(seen))
    rank, gain, ties = hits.rank[order], hits.gain[order], _ties(hits.tied, len(seen))
    return [
        Alignment(
            query_id=truth.query_ids,
            n_retrieved=n_retrieved[first : first + len(truth)],
            missing=~seen[first : first + len(truth)],
            starts=starts[first : first + len(truth) + 1] - starts[first],
            hit_rank=rank[starts[first] : starts[first + len(truth)]],
            hit_gain=gain[starts[first] : starts[first + len(truth)]],
            ideal_starts=truth.starts,
            ideal_gain=truth.gain,
            ties=ties and ties.part(first, first + len(truth)),
        )
        for first in range(0, len(seen), len(truth))
    ]


def _ties(tied: list[TieBlocks], n_queries: int) -> Ties | None:
    """Blocks of ties in the truth's order, run by run."""
    if not tied:
        return None
    query, first, size = map(np.concatenate, zip(*tied, strict=True))
    order = rank_order(query, first)
    return Ties.of(query[order], first[order], size[order], n_queries)


TIES_KEPT = 1000
"""Ties that begin below this rank are kept only where they hold a judged document, or memory grows with the run."""


@dataclass(frozen=True)
class Streaks:
    """Streaks of equal scores among the places of one or several lists: first place and size of each, ascending."""

    first: Ints
    size: Ints

    @classmethod
    def of(cls, places: Ints) -> Streaks:
        """Ascending places whose score equals the one above."""
        opens = np.flatnonzero(np.diff(places, prepend=-1) > 1)
        return cls(places[opens] - 1, np.diff(opens, append=len(places)) + 1)

    def __len__(self) -> int:
        return len(self.first)

    def around(self, places: Ints) -> Ints:
        """(n,) the streak in which each of n places lies, or -1."""
        streak = np.searchsorted(self.first, places, "right") - 1
        if not len(self):
            return streak
        return np.where(places < self.first[streak] + self.size[streak], streak, -1)

    def members(self, streaks: Ints) -> tuple[Ints, Ints]:
        """(m,) places in any of b streaks, and (m,) which of the b holds it."""
        size = self.size[streaks]
        ends = np.cumsum(size)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.first[streaks] - ends + size, size)
        return places, np.repeat(np.arange(len(streaks)), size)

    def visible(self, rank: Ints, occupied: Ints) -> Bools:
        """(b,) streaks that begin at a rank above TIES_KEPT, and those that are occupied by a judged document."""
        visible = rank <= TIES_KEPT
        visible[occupied] = True
        return visible


@dataclass(frozen=True)
class Ordered:
    """Lists by falling score, laid end to end.

    rows     (n,) the row at each place, documents of equal score being in any order; None where rows are places
    streaks  of places with equal scores
    """

    rows: Ints | None
    streaks: Streaks

    @classmethod
    def of(cls, score: Floats, counts: Ints) -> Ordered:
        """The lists of b blocks of rows, of which counts (b,) tells the sizes and score (n,) the scores."""
        starts = (np.cumsum(counts) - counts)[counts > 0]
        rises = score[1:] > score[:-1]
        rises[starts[1:] - 1] = False
        rows = _falling(score, counts, np.flatnonzero(rises)) if rises.any() else None
        if rows is not None:
            score = score[rows]
        equal = score[1:] == score[:-1]
        equal[starts[1:] - 1] = False
        return cls(rows, Streaks.of(np.flatnonzero(equal) + 1))

    def places(self, rows: Ints, doc_ids: pl.Series) -> tuple[Ints, Ints]:
        """(h,) the place of each of h rows, ties settled by id, and (h,) the streak in which it lies, or -1.

        doc_ids   of all rows there are
        """
        place = rows if self.rows is None else _inverse(self.rows)[rows]
        streak = self.streaks.around(place)
        tied = np.flatnonzero(streak >= 0)
        if len(tied):
            place = place.copy()
            place[tied] = self._settled(rows[tied], np.unique(streak[tied]), doc_ids)
        return place, streak

    def _settled(self, rows: Ints, streaks: Ints, doc_ids: pl.Series) -> Ints:
        """The places of rows that lie in these streaks, where the members of a streak descend by id."""
        places, group = self.streaks.members(streaks)
        members = places if self.rows is None else self.rows[places]
        by_id = pl.DataFrame({"group": group, "doc_id": doc_ids[members], "row": members})
        by_id = by_id.sort("group", "doc_id", descending=[False, True])
        place_of = np.empty(len(doc_ids), np.int64)
        place_of[by_id["row"].to_numpy()] = places
        return place_of[rows]


def _inverse(order: Ints) -> Ints:
    """(n,) the place of each row, from the row at each place."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def _falling(score: Floats, counts: Ints, rises: Ints) -> Ints:
    """Rows by falling score within each block; rises are the rows before which the score is lower."""
    ends = np.cumsum(counts)
    blocks = np.unique(np.searchsorted(ends, rises, "right"))
    rows = np.arange(len(score))
    for size in np.unique(counts[blocks]):
        # Blocks of one size are the lines of a matrix, whose lines are sorted in one call.
        block = blocks[counts[blocks] == size]
        matrix = (ends[block] - size)[:, None] + np.arange(size)
        rows[matrix] = np.take_along_axis(matrix, np.argsort(-score[matrix], axis=1), axis=1)
    return rows


_SHOWN = 3


def no_common_query(truth: Truth, run_name: str, run_ids: list[str]) -> NoCommonQueryError:
    """The error for a run none of whose queries is in the truth, with ids of both."""
    ours, theirs = truth.query_ids[:_SHOWN], run_ids[:_SHOWN]
    shown = f"the truth has {', '.join(map(repr, ours))}; the run has {', '.join(map(repr, theirs)) or 'none'}"
    return NoCommonQueryError(f"{run_name}: no question of the run is in the truth: {shown}" + _slip(truth, run_ids))


def _slip(truth: Truth, run_ids: list[str]) -> str:
    """Why ids that should be equal are not, where one simple change would make them so."""
    if look_alike := _look_alike(truth.query_ids, run_ids):
        return f"; {look_alike}"
    slips: dict[str, Callable[[str], str]] = {
        "upper and lower case differ": str.casefold,
        "white space around the ids differs": str.strip,
        "leading zeros or a decimal point differ; ids are text": _as_number,
        "one side has a prefix that the other lacks": _without_prefix,
    }
    for reason, fold in slips.items():
        ours = {fold(id) for id in truth.query_ids}
        if any(fold(id) in ours for id in run_ids):
            return f"; {reason}"
    return "; are these files of the same collection, and is the truth the first one?"


def refuse_look_alikes(truth: Truth, run_name: str, doc_ids: Iterable[str]) -> None:
    """Raise   InputError where documents of a run, none of which is judged, are those of the truth but for characters
    that cannot be seen; two Unicode forms of one text may be two documents.
    """
    judged = truth.doc_ids.to_list()
    forms = {unicodedata.normalize("NFC", id) for id in judged if not id.isascii()}
    others = (id for id in doc_ids if id.isascii() or unicodedata.normalize("NFC", id) not in forms)
    if look_alike := _look_alike(judged, others):
        raise InputError(f"{run_name}: no document of the run is in the truth: {look_alike}")


def _look_alike(ours: Iterable[str], theirs: Iterable[str]) -> str:
    """Difference of two ids that look alike; nothing where there are no such two."""
    by_sight = {_seen(id): id for id in ours}
    for their in theirs:
        our = by_sight.get(_seen(their), their)
        if our != their and not (our + their).isascii():
            advice = "remove white space and characters that cannot be seen"
            if unicodedata.normalize("NFC", our) == unicodedata.normalize("NFC", their):
                advice = (
                    "bring the ids of both into one Unicode form, such as NFC: --normalise-ids nfc (normalise_ids=...)"
                )
            points = [("truth", _only_in(our, their)), ("run", _only_in(their, our))]
            differences = " and ".join(f"{codes} is in that of the {side} alone" for side, codes in points if codes)
            return f"{our!r} of the truth and {their!r} of the run look alike, but {differences}; {advice}"
    return ""


def _seen(id: str) -> str:
    """An id as it looks: in one Unicode form, any blank as a blank, and without characters that have no width."""
    if id.isascii():
        return id.strip()
    letters = (" " if c.isspace() else c for c in unicodedata.normalize("NFC", id) if unicodedata.category(c) != "Cf")
    return "".join(letters).strip()


def _only_in(text: str, other: str) -> str:
    """Code points that the other text has not."""
    return " ".join(f"U+{ord(c):04X}" for c in dict.fromkeys(text) if c not in other)


def _as_number(text: str) -> str:
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def _without_prefix(text: str) -> str:
    return text.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-:# ").lstrip("0") or text
