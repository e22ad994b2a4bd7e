"""Groups behind the letters of a leaderboard: systems that Tukey's test and each pair's own do not part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Bools, Floats
from steelyard.base.errors import InputError
from steelyard.stats.samples import Clusters, cluster_sums, differences, finite
from steelyard.stats.tests.paired import paired_t, sign_flip
from steelyard.stats.tests.pairs import Pairs, sign_flip_pairs, tukey, tukey_limit

MANY_QUERIES = 1_000
"""From so many queries on, randomisation adds nothing to its normal limit."""
FEW_DIFFERENCES = 50
"""Below so many, a t test of differences that are mostly 0 is not trusted."""


def guarded_tukey(values: Floats, *, seed: int, alpha: float = 0.05, clusters: Clusters | None = None) -> Pairs:
    """Randomised Tukey, with no pair surer than by a sign-flip test of its own.

    Tukey's shuffles hold its errors where all systems are alike; among near copies of one system they make too little
    of the spread of a pair that differs from them.  With MANY_QUERIES or more on which systems differ, both tests are
    at their normal limits, which are taken instead of drawing for minutes.

    values   (s, n) one row a system;   alpha   of the critical difference
    clusters   (n,) of queries that move together, or None
    Raises   as `tukey`
    """
    n = values.shape[1]
    # Sums of clusters are shuffled, and change sign, as values of single queries do.
    values = cluster_sums(values, clusters)
    differ = np.ptp(values, axis=0) > 0
    if differ.sum() < MANY_QUERIES:
        # Of very many queries those on which all are alike, which change no shuffle, are spared; two stay for a test.
        differ |= len(differ) < MANY_QUERIES
        differ[:2] = True
        pairs = tukey(values[:, differ], seed=seed, alpha=alpha)
        own = sign_flip_pairs(values[:, differ], seed=seed, correction="none").p
        everywhere = [values[b] - values[a] for a, b in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)]
        pairs = replace(
            pairs, difference=np.array([d.sum() / n for d in everywhere]), critical=pairs.critical * differ.sum() / n
        )
    else:
        pairs = tukey_limit(values, alpha=alpha)
        places = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
        own = np.array([_own_p(differences(values[a], values[b]), seed) for a, b in places])
        per_query = values.shape[1] / n
        pairs = replace(pairs, difference=pairs.difference * per_query, critical=pairs.critical * per_query)
    p = np.maximum(pairs.p, own)
    return replace(pairs, n=n, p=p, adjusted=p)


def _own_p(d: Floats, seed: int) -> float:
    """p of one pair of very many queries: by t, or by flipping signs where it differs on few of them."""
    differ = d[d != 0]
    if not len(differ):
        return 1.0
    return paired_t(d).p if len(differ) >= FEW_DIFFERENCES else sign_flip(np.append(differ, 0.0), seed=seed).p


def indistinguishable(means: npt.ArrayLike, pairs: Pairs, *, alpha: float = 0.05) -> list[list[int]]:
    """Groups of systems without a difference in them: two systems share a group exactly where no test parts them.

    means     (s,) of the systems compared;   pairs   all their pairs;   alpha   of a difference
    Returns   lists of indices, best first; a system may be in several, alone in one if it differs from all others
    Raises    InputError unless pairs holds every pair of the systems

    From the best system down, each pair that shares no group yet starts one, which takes in every system, best first,
    that differs from none of its members.  With Tukey's test, for which a larger difference is the surer one,
    groups are runs of the leaderboard.

    >>> from steelyard.stats.tests.pairs import tukey
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((3, 20)) + np.array([[0.0], [0.0], [1.0]])
    >>> indistinguishable(scores.mean(axis=1), tukey(scores, seed=0, n_resamples=999))
    [[2], [1, 0]]
    """
    values = finite(means, n_axes=1, what="means")
    s = len(values)
    differs = np.full((s, s), -1, dtype=np.int64)
    differs[pairs.first, pairs.second] = differs[pairs.second, pairs.first] = pairs.adjusted <= alpha
    if s != max(pairs.first.max(), pairs.second.max()) + 1 or (differs[~np.eye(s, dtype=bool)] < 0).any():
        raise InputError(f"groups of {s} systems need all {s * (s - 1) // 2} pairs; got {len(pairs.first)}")
    order = np.argsort(-values, kind="stable")
    alike = differs[np.ix_(order, order)] <= 0
    grouped = np.zeros((s, s), dtype=bool)
    groups: list[list[int]] = []
    for first in range(s):
        while len(alone := np.flatnonzero(alike[first] & ~grouped[first])):
            group = _largest(alike, first, int(alone[0]))
            grouped[np.ix_(group, group)] = True
            groups.append(group)
    return [[int(order[place]) for place in group] for group in sorted(groups)]


def _largest(alike: Bools, first: int, second: int) -> list[int]:
    """Both places, and from the top every place that is alike with all that are in before it."""
    able = alike[first] & alike[second]
    group = []
    for place in range(len(alike)):
        if able[place]:
            group.append(place)
            able = able & alike[place]
    return group
