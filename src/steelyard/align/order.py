"""The canonical order of rows, score descending, then doc_id descending by bytes, and the blocks of ties in it."""

from __future__ import annotations

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints

TIES_KEPT = 1000
"""Ties that begin below this rank are kept only where they hold a judged document, or memory grows with the run."""


def inverse(order: Ints) -> Ints:
    """(n,) the place of each row, from the row at each place."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def streaks(same: Bools) -> tuple[Ints, Ints]:
    """First row and size of each streak of equal rows, from whether each row equals the one before it."""
    rows = np.flatnonzero(same)
    opens = np.flatnonzero(np.diff(rows, prepend=-1) > 1)
    return rows[opens] - 1, np.diff(opens, append=len(rows)) + 1


def streak_of(first: Ints, size: Ints, rows: Ints) -> Ints:
    """(n,) the streak in which each of n rows lies, or -1."""
    streak = np.searchsorted(first, rows, "right") - 1
    return np.where(rows < first[streak] + size[streak], streak, -1) if len(first) else np.full(len(rows), -1)


def any_within(first: Ints, size: Ints, rows: Ints) -> Bools:
    """(b,) streaks in which any of the rows lies."""
    mask = np.zeros(len(first), bool)
    streak = streak_of(first, size, rows)
    mask[streak[streak >= 0]] = True
    return mask


def order_blocks(frame: pl.DataFrame, counts: Ints) -> tuple[Ints | None, Bools | None]:
    """Rows in `base.schema.canonical_order` within each block, and which ordered rows tie with the one above.

    Order is None where the rows are in it already; ties are None where there are none.
    """
    score = frame["score"].to_numpy()
    follows = np.ones(len(score), bool)
    follows[(np.cumsum(counts) - counts)[counts > 0]] = False
    rises = np.zeros(len(score), bool)
    rises[1:] = score[1:] >= score[:-1]
    suspects = np.flatnonzero(rises & follows)
    if not len(suspects):
        return None, None
    order = _order(score, frame["doc_id"], counts, suspects)
    if order is not None:
        score = score[order]
    same = follows
    same[1:] &= score[1:] == score[:-1]
    return order, same if same.any() else None


def _order(score: Floats, doc_ids: pl.Series, counts: Ints, suspects: Ints) -> Ints | None:
    """Rows in canonical order, or None; suspects are those whose score is not below the one above."""
    tied = score[suspects] == score[suspects - 1]
    tied[tied] = (doc_ids.gather(suspects[tied]) < doc_ids.gather(suspects[tied] - 1)).to_numpy()
    wrong = suspects[~tied]
    if not len(wrong):
        return None
    block = np.repeat(np.arange(len(counts)), counts)
    bad = np.zeros(len(counts), bool)
    bad[block[wrong]] = True
    rows = np.flatnonzero(bad[block])
    order = np.arange(len(score))
    order[rows] = _sorted_rows(block[rows], score[rows], doc_ids, rows)
    return order


def _sorted_rows(block: Ints, score: Floats, doc_ids: pl.Series, rows: Ints) -> Ints:
    """Rows in canonical order; ids are compared only where scores are equal.

    block, score   (n,) of the rows;   doc_ids   of all rows there are
    """
    order = np.lexsort((-score, block))
    same = np.zeros(len(order) + 1, bool)
    same[1:-1] = (score[order][1:] == score[order][:-1]) & (block[order][1:] == block[order][:-1])
    tied = np.flatnonzero(same[:-1] | same[1:])
    if len(tied):
        group = np.cumsum(~same[:-1])[tied]
        ties = pl.DataFrame({"group": group, "doc_id": doc_ids.gather(rows[order[tied]]), "row": order[tied]})
        order[tied] = ties.sort("group", "doc_id", descending=[False, True])["row"].to_numpy()
    return rows[order]
