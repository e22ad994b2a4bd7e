"""The list that a reranker makes: its first candidates by score, and all behind them as they were."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Ints


def score_order(scores: npt.ArrayLike) -> Ints:
    """(n,) places of candidates by falling score; those of equal score stay in the order that they had.

    scores   (n,) finite, one a candidate, in the order of the first search

    >>> score_order([0.1, 0.9, 0.1, 0.5]).tolist()
    [1, 3, 0, 2]
    """
    return np.argsort(-np.asarray(scores, np.float64), kind="stable")


def reranked_list(doc_ids: Sequence[str], scores: Sequence[float]) -> list[str]:
    """The whole list: what was scored by falling score, then the tail that no reranker has seen.

    doc_ids  the candidates, best first;   scores   of the first of them

    >>> reranked_list(["a", "b", "c", "d"], [0.2, 0.2, 0.7])
    ['c', 'a', 'b', 'd']
    """
    return [*(doc_ids[place] for place in score_order(scores).tolist()), *doc_ids[len(scores) :]]


def overlap(order: Ints, k: int) -> float:
    """Share of the first k that were among the first k before; of the whole list where it is shorter.

    order   (n,) places before, in the order after;   Returns   NaN for an empty list

    >>> overlap(np.array([2, 0, 1]), 2)
    0.5
    """
    first = min(k, len(order))
    return float((order[:first] < first).mean()) if first else float("nan")


def kendall_tau(order: Ints) -> float:
    """Kendall's tau of two orders of the same candidates: 1 where they agree, -1 where one is the other reversed.

    order   (n,) places before, in the order after;   Returns   NaN for fewer than two

    >>> kendall_tau(np.array([0, 2, 1]))
    0.333...
    """
    n = len(order)
    if n < 2:
        return float("nan")
    above, inversions = list[int](), 0
    for place in order.tolist():
        inversions += len(above) - bisect_left(above, place)
        insort(above, place)
    return 1 - 4 * inversions / (n * (n - 1))


def tie_share(scores: npt.ArrayLike) -> float:
    """Share of all pairs of candidates that have the same score; NaN for fewer than two.

    >>> tie_share([0.5, 0.5, 0.1])
    0.333...
    """
    counts = np.unique(np.asarray(scores, np.float64), return_counts=True)[1]
    n = int(counts.sum())
    return float((counts * (counts - 1)).sum() / (n * (n - 1))) if n > 1 else float("nan")
