"""Ranks in `base.schema.canonical_order`: by score, and by id only where a judged document is tied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints

TIES_KEPT = 1000
"""Ties that begin below this rank are kept only where they hold a judged document, or memory grows with the run."""


@dataclass(frozen=True)
class Streaks:
    """Streaks of equal scores among the places of one or several lists: first place and size of each, ascending."""

    first: Ints
    size: Ints

    @classmethod
    def of(cls, places: Ints) -> Streaks:
        """Those of ascending places whose score equals the one above."""
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
