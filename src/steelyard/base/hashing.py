"""Hashes of ids, to find quickly where an id is, and whether its block has it twice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from steelyard.base.arrays import Hashes, Ints

_CELLS_PER_ROW = 4
_CELLS_PER_ID = 16
_HASH_BITS = 40
# Cells are chosen by other bits of the hash than those that other tables look at.
_SHIFT = np.uint64(20)


def hash_ids(ids: pl.Series) -> Hashes:
    """(n,) hash of each string; equal strings have equal hashes within this process."""
    return ids.hash().to_numpy()


def block_starts(ids: pl.Series) -> Ints:
    """(b,) where each run of equal ids begins."""
    changes = np.flatnonzero((ids[1:] != ids[:-1]).to_numpy()) + 1
    return np.concatenate((np.zeros(min(len(ids), 1), np.int64), changes))


def table_sizes(counts: Ints, cells_per_row: int) -> Ints:
    """(b,) power of two with room for each block."""
    return np.asarray(2 ** np.ceil(np.log2(np.maximum(counts, 1) * cells_per_row)).astype(np.int64))


def find_duplicate(doc_ids: pl.Series, hashes: Hashes, counts: Ints) -> int | None:
    """A row whose document an earlier row of its block has, or None.

    Every row writes its number into a cell of its block's own table; whoever finds another's number there has met
    an equal or a collision.  Losers try again without the winners until none is left.
    """
    cells = table_sizes(counts, _CELLS_PER_ROW)
    first = np.cumsum(cells) - cells
    cell = np.repeat(first, counts)
    cell += ((hashes >> _SHIFT) & np.repeat((cells - 1).astype(np.uint64), counts)).view(np.int64)
    table = np.empty(int(cells.sum()), np.int32)
    rows = np.arange(len(hashes), dtype=np.int32)
    while len(rows):
        table[cell] = rows
        winner = table[cell]
        lost = np.flatnonzero(winner != rows)
        rows, winner, cell = rows[lost], winner[lost], cell[lost]
        alike = hashes[rows] == hashes[winner]
        if alike.any():
            same = (doc_ids[rows[alike]] == doc_ids[winner[alike]]).to_numpy()
            if same.any():
                return int(rows[alike][same][0])
    return None


@dataclass(frozen=True)
class IdIndex:
    """Hash tables laid side by side, one a segment of ids, so that looking up one segment touches little memory.

    first, mask   (s,) where a segment's cells begin, and how to wrap a hash into them
    cells         (c,) 0 where nothing fell, else the place of an id plus 1, negative where others fell there too
    hashes, ids   (n,) of the ids;   others   (m,) places of the ids that lost their cell, ascending by other_keys
    """

    first: Ints
    mask: Hashes
    cells: npt.NDArray[np.int32]
    hashes: Hashes
    ids: pl.Series
    others: Ints
    other_keys: Hashes

    @classmethod
    def build(cls, ids: pl.Series, hashes: Hashes, counts: Ints) -> IdIndex:
        """The index of ids in segments of these counts, each id once in its segment."""
        sizes = table_sizes(counts, _CELLS_PER_ID)
        first, mask = np.cumsum(sizes) - sizes, (sizes - 1).astype(np.uint64)
        segment = np.repeat(np.arange(len(counts)), counts)
        cell = first[segment] + (hashes & mask[segment]).view(np.int64)
        cells = np.zeros(int(sizes.sum()), np.int32)
        entry = np.arange(1, len(ids) + 1, dtype=np.int32)
        cells[cell] = entry
        lost = np.flatnonzero(cells[cell] != entry)
        cells[cell[lost]] = -np.abs(cells[cell[lost]])
        keys = _keys(segment[lost], hashes[lost])
        order = np.argsort(keys, kind="stable")
        return cls(first, mask, cells, hashes=hashes, ids=ids, others=lost[order], other_keys=keys[order])

    def find(self, segment: Ints, counts: Ints, hashes: Hashes, ids: pl.Series) -> tuple[Ints, Ints]:
        """Which of m ids are in the index, and where: rows, ascending, and places.

        segment, counts   (b,) the segment in which each block of rows is looked up, and how many rows it has
        hashes, ids       (m,) of the rows
        """
        cell = np.repeat(self.first[segment], counts)
        cell += (hashes & np.repeat(self.mask[segment], counts)).view(np.int64)
        entry = self.cells[cell]
        rows = np.flatnonzero(entry)
        entry = entry[rows]
        place = np.abs(entry) - 1
        alike = np.flatnonzero(self.hashes[place] == hashes[rows])
        same = alike[(ids[rows[alike]] == self.ids[place[alike]]).to_numpy()]
        unsettled = entry < 0
        unsettled[same] = False
        if not unsettled.any():
            return rows[same], place[same].astype(np.int64)
        more, more_places = self._find_others(segment, counts, rows[unsettled], hashes, ids)
        matches, places = np.concatenate((rows[same], more)), np.concatenate((place[same], more_places))
        order = np.argsort(matches)
        return matches[order], places[order]

    def _find_others(
        self, segment: Ints, counts: Ints, rows: Ints, hashes: Hashes, ids: pl.Series
    ) -> tuple[Ints, Ints]:
        block = np.searchsorted(np.cumsum(counts), rows, side="right")
        keys = _keys(segment[block], hashes[rows])
        at = np.searchsorted(self.other_keys, keys)
        matches, places = [rows[:0]], [rows[:0]]
        # Nearly always one step: another is due only where different ids have the same key.
        while len(rows):
            alike = at < len(self.other_keys)
            alike[alike] = self.other_keys[at[alike]] == keys[alike]
            rows, keys, at = rows[alike], keys[alike], at[alike]
            place = self.others[at]
            same = (ids[rows] == self.ids[place]).to_numpy()
            matches.append(rows[same])
            places.append(place[same])
            rows, keys, at = rows[~same], keys[~same], at[~same] + 1
        return np.concatenate(matches), np.concatenate(places)


def _keys(segment: Ints, hashes: Hashes) -> Hashes:
    return (segment.astype(np.uint64) << np.uint64(_HASH_BITS)) | (hashes >> np.uint64(64 - _HASH_BITS))
