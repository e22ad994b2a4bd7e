"""Thresholds from when a pattern is worth a word, each with its reason, and how sure a pattern is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, reduce
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Floats, Ints

MIN_QUESTIONS = 3
"""Fewer questions may do anything by chance, and can be read one by one."""
MIN_SHARE = 0.10
"""A stage that loses fewer questions than this is not where effort pays first."""
MIN_GAIN = 0.05
"""A ceiling less than this above what is reached: a real method gets a part of it, which no user would notice."""
MUCH_OF_LOSS = 1 / 3
"""Order is the problem where a perfect one would make good at least so much of what is missing."""
RERANKED = 50
"""Candidates that a reranker usually gets."""
MIN_ORACLE = 0.03
"""Two systems never fail alike, so that the better of them is always above the best; less is not worth fusing for."""
SAME = 0.01
"""Means that differ by less are called unchanged."""
ALPHA = 0.05
"""Level of the tests for clusters, shared among all groups of a system, and of intervals of differences."""
MIN_GROUP = 5
"""A group of fewer questions is not tested: even if all of it fails, that proves little."""
MIN_CLUSTER = 0.01
"""A cluster of a few questions among thousands is real and not worth a word."""
MIN_EXPLAINED = 0.15
"""A group explains the loss where so many of the lost questions would be found, were they lost as rarely as others: a
third of all questions that fail are about a quarter, or more, where up to half of the others fail too."""
MIN_CUT = 0.10
"""Cut gold is shown less of than whole gold by at least this share of its characters, or borders do not matter."""
CROSSED = 1 / 4
"""Answers are out of step where so many lists hold the neighbour's gold, and at most so many of those their own; and
labels are exchanged where so many of the lost questions come in pairs.  On one subject, a few do by chance."""
MIN_SWAPPED = 4
"""One pair of questions that find each other's gold may be two questions on one subject; two pairs are a pattern."""
FIRST = 2
"""Exchanged labels fit the first result so many times as often as by chance, which puts them anywhere among k."""
MATCHING = 0.05
"""Fewer questions with anything judged in their lists: ids that are the same by chance."""
MIN_MATCHED = 20
"""Of fewer questions, only none at all says that nothing matches."""
EQUAL = 1e-9
"""Values of a question that differ by less are equal."""
MORE = 4
"""What so many times k results would give is named beside a reranker: it is the cheaper way."""
DEEP = 2
"""Lists are deep from this many times k on; in shorter ones, what is not listed may be ranked just below."""
GOOD_RETRIEVAL = 0.80
"""Retrieval is good where so many contexts hold gold: what is lost there is a fifth at most."""
MANY_WRONG = 1 / 3
"""With gold in the context, a good generator is wrong on a few, and an uncalibrated judge on as many as a fifth; a
third is beyond both."""
LOW_UTILIZATION = 0.50
"""On average less than half of what was needed and retrieved is said."""


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
