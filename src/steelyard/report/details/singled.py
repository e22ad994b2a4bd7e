"""Which questions a report shows one by one: all, or of very many a random sample and those that it names."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints

SEED = 0
"""Of the sample, so that the same inputs give the same page."""
LINKED = 30
"""Questions that a piece of advice links to."""
_CELLS = 4_500
_MOST_WIDE = 150


def singled_questions(n: int, most: int, named: Iterable[int] = ()) -> Ints:
    """Places of the questions to show of n: all of up to `most`, else so many drawn at random and those that are named.

    >>> singled_questions(3, 5).tolist(), len(singled_questions(100, 5)), 99 in singled_questions(100, 5, [99])
    ([0, 1, 2], 5, True)
    """
    if n <= most:
        return np.arange(n)
    drawn = np.random.default_rng(SEED).choice(n, most, replace=False, shuffle=False)
    return np.union1d(drawn, np.array(list(named), np.int64)).astype(np.int64)


def widest_questions(values: Floats) -> Ints:
    """Places of the questions on which the systems differ most, at most 150; best mean first.

    Of equally large differences the first question is taken; questions without a value for some system come last.

    values   (s, q) of one measure
    """
    most = min(_MOST_WIDE, max(20, _CELLS // max(len(values), 1)))
    there = ~np.isnan(values)
    some: Bools = np.asarray(there.any(axis=0))
    spread = np.where(there, values, -np.inf).max(axis=0) - np.where(there, values, np.inf).min(axis=0)
    order = np.lexsort((np.arange(values.shape[1]), -np.where(some, spread, -1.0), ~there.all(axis=0)))
    widest = order[some[order]][:most]
    mean = np.where(there, values, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.asarray(widest[np.lexsort((widest, -mean[widest]))])
