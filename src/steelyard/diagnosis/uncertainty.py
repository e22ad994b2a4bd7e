"""How sure a pattern is: intervals of mean differences, and Fisher's exact test for groups."""

from __future__ import annotations

from collections.abc import Iterable
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


def tails(*strata: tuple[int, int, int]) -> Floats:
    """(x + 1,) the chance that at least 0, 1, ... x lost questions fall into a group, if all questions were lost alike.

    strata   of each stratum, within which questions are lost alike: questions inside the group, those lost, and all

    Fisher's exact test, one-sided: the upper tail of the hypergeometric distribution, or of a sum of several.

    >>> tails((3, 3, 6)).tolist(), float(tails((3, 3, 6), (3, 3, 6))[6])
    ([1.0, 0.95, 0.5, 0.05], 0.0025)
    """
    chances = reduce(np.convolve, (_chances(*stratum) for stratum in strata))
    return np.asarray(np.minimum(1.0, np.cumsum(chances[::-1])[::-1].round(12)))


def corrected(p: float, tails_of_groups: Iterable[Floats]) -> float:
    """The chance that any of several groups reaches p or less: at most the sum of theirs, which are often smaller.

    A group of few questions reaches few values of p, and none below that of all its questions being lost, so that it
    costs the others nothing or little; p times the number of groups (Bonferroni) counts each as p.
    Source   Westfall & Wolfinger, Multiple Tests with Discrete Distributions, The American Statistician 1997.

    >>> corrected(0.05, [tails((3, 3, 6)), tails((3, 3, 6)), tails((2, 3, 6))])
    0.1
    """
    return min(1.0, sum(float(of_group[of_group <= p].max(initial=0.0)) for of_group in tails_of_groups))


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
