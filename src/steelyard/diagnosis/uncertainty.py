"""How sure a pattern is: intervals of mean differences, and Fisher's exact test for groups."""

from __future__ import annotations

from functools import cache, reduce
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.diagnosis.thresholds import ALPHA

Z = NormalDist().inv_cdf(1 - ALPHA / 2)
"""Half the width of an interval, in standard errors."""


def interval(differences: Floats) -> tuple[float, float]:
    """Ends of the interval of a mean difference, by the normal approximation."""
    mean = float(differences.mean())
    half = Z * float(differences.std(ddof=1)) / np.sqrt(len(differences))
    return mean - half, mean + half


def tail(lost_inside: int, *strata: tuple[int, int, int]) -> float:
    """The chance that at least so many of the lost questions fall into a group, if all questions were lost alike.

    strata   of each stratum, within which questions are lost alike: questions inside the group, those lost, and all

    Fisher's exact test, one-sided: the upper tail of the hypergeometric distribution, or of a sum of several.

    >>> tail(3, (3, 3, 6)), tail(6, (3, 3, 6), (3, 3, 6))
    (0.05, 0.0025)
    """
    chances = reduce(np.convolve, (_chances(*stratum) for stratum in strata))
    return min(1.0, round(float(chances[lost_inside:].sum()), 12))


def _chances(inside: int, lost: int, total: int) -> Floats:
    """(x + 1,) the chance of each number of lost questions inside, from 0."""
    logs = _log_factorials(total)
    x = np.arange(max(0, lost + inside - total), min(inside, lost) + 1)

    def log_ways(n: int, k: Ints) -> Floats:
        return np.asarray(logs[n] - logs[k] - logs[n - k])

    log_p = log_ways(inside, x) + log_ways(total - inside, lost - x) - log_ways(total, np.array([lost]))
    chances = np.zeros(int(x[-1]) + 1)
    chances[x] = np.exp(log_p)
    return chances


@cache
def _log_factorials(n: int) -> Floats:
    """(n + 1,) logarithms of 0! to n!."""
    return np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
