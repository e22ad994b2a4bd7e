"""All pairs of systems by Tukey, guarded by each pair's own test, and quick where there are very many queries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.stats.paired import paired_t, sign_flip
from steelyard.stats.pairs import Pairs, sign_flip_pairs
from steelyard.stats.samples import Clusters, cluster_sums, differences
from steelyard.stats.tukey import tukey, tukey_limit

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
