"""Hashes of ids, and what they tell quickly: whether an id stands twice in its block."""

from __future__ import annotations

import numpy as np
import polars as pl

from steelyard.arrays import Hashes, Ints

_CELLS_PER_ROW = 4
# Cells are chosen by other bits of the hash than those that other tables look at.
_SHIFT = np.uint64(20)


def hash_ids(ids: pl.Series) -> Hashes:
    """(n,) hash of each string; equal strings have equal hashes within this process."""
    return ids.hash().to_numpy()


def table_sizes(counts: Ints, cells_per_row: int) -> Ints:
    """(b,) power of two with room for each block."""
    return np.asarray(2 ** np.ceil(np.log2(np.maximum(counts, 1) * cells_per_row)).astype(np.int64))


def find_duplicate(doc_ids: pl.Series, hashes: Hashes, counts: Ints) -> int | None:
    """A row whose document stands in its block already, or None.

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
            same = (doc_ids.gather(rows[alike]) == doc_ids.gather(winner[alike])).to_numpy()
            if same.any():
                return int(rows[alike][same][0])
    return None
