"""Intervals for means over queries."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.stats.samples import (
    ROUNDING,
    Clusters,
    cluster_codes,
    cluster_sums,
    mean_error,
    share,
    t_quantile,
    whole,
)

RESAMPLES = 2000
MANY_QUERIES = 10_000
"""From here on the bootstrap and the normal interval agree to three digits, and only one of them costs nothing."""

METHODS = ("bca", "percentile", "t", "normal")

_NUMBERS_AT_ONCE = 1 << 22
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Intervals:
    """Lower and upper end for each of c means, and how they were found: "bca", "percentile", "t", "normal", "none"."""

    low: Floats
    high: Floats
    method: str


def mean_intervals(
    values: Floats,
    *,
    seed: int,
    level: float = 0.95,
    method: str | None = None,
    clusters: Clusters | None = None,
    n_resamples: int = RESAMPLES,
) -> Intervals:
    """Intervals of c means over the same n queries.

    values       (n, c) one column a mean;   seed   of the resampling;   level   coverage, in (0, 1)
    method       "bca" or "percentile" bootstrap, "t" (needs SciPy), "normal"; None: BCa, or normal from MANY_QUERIES
                 queries (or clusters) on
    clusters     (n,) which conversation or document each query belongs to: whole clusters are then resampled, or the
                 error is cluster-robust.  None: every query for itself
    n_resamples  of the bootstraps
    Returns      (c,) ends; NaN for fewer than two queries or clusters
    Raises       InputError for an unknown method, a level outside (0, 1), clusters of another length
    Source       Efron, Better Bootstrap Confidence Intervals, JASA 1987; Field & Welsh, Bootstrapping Clustered Data,
                 JRSS B 2007.

    >>> wide = mean_intervals(np.array([[0.0], [0.5], [1.0]]), seed=0)
    >>> bool(wide.low[0] < 0.5 < wide.high[0])
    True
    """
    if method is not None and method not in METHODS:
        raise InputError(f"no interval is called {method!r}; expected one of {', '.join(METHODS)}")
    share(level, "level")
    whole(n_resamples, "n_resamples")
    n_groups = len(values) if clusters is None else int(cluster_codes(clusters, len(values)).max(initial=-1)) + 1
    if n_groups < 2:
        nothing = np.full(values.shape[1], np.nan)
        return Intervals(nothing, nothing, "none")
    method = method or ("normal" if n_groups >= MANY_QUERIES else "bca")
    if method == "t" or (clusters is not None and method == "normal"):
        errors = np.array([mean_error(column, clusters=clusters).error for column in values.T])
        quantile = t_quantile((1 + level) / 2, n_groups - 1) if method == "t" else _NORMAL.inv_cdf((1 + level) / 2)
        means = values.mean(axis=0)
        return Intervals(means - quantile * errors, means + quantile * errors, method)
    if method == "normal":
        half = _NORMAL.inv_cdf((1 + level) / 2) * values.std(axis=0, ddof=1) / np.sqrt(len(values))
        return Intervals(values.mean(axis=0) - half, values.mean(axis=0) + half, method)
    sums, sizes = _by_cluster(values, clusters)
    resampled = _resampled_means(sums, sizes, seed, n_resamples)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    low, high = _ends(values, sums, sizes, resampled, tails, bca=method == "bca")
    return Intervals(low, high, method)


def _by_cluster(values: Floats, clusters: Clusters | None) -> tuple[Floats, Floats | None]:
    """(g, c) sums over clusters and (g,) their sizes; without clusters the values, and no sizes."""
    if clusters is None:
        return values, None
    both = cluster_sums(np.concatenate([values.T, np.ones((1, len(values)))]), clusters)
    return both[:-1].T, both[-1]


def _resampled_means(sums: Floats, sizes: Floats | None, seed: int, n_resamples: int) -> Floats:
    """(n_resamples, c) means over queries, or clusters, drawn with replacement; all columns see the same draws."""
    n, rng = len(sums), np.random.default_rng(seed)
    columns = np.ascontiguousarray(sums.T)
    step = max(1, _NUMBERS_AT_ONCE // n)
    means = []
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        drawn = rng.integers(0, n, (size, n), dtype=np.int32) + (np.arange(size) * n)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        # One einsum a column, not a matrix product: no sum may depend on a BLAS's threads, or on the other columns.
        weights = counts.astype(float)
        totals = np.stack([np.einsum("rn,n->r", weights, column) for column in columns], axis=1)
        means.append(totals / (n if sizes is None else np.einsum("rn,n->r", weights, sizes)[:, None]))
    return np.concatenate(means)


def _ends(
    values: Floats, sums: Floats, sizes: Floats | None, resampled: Floats, tails: Floats, *, bca: bool
) -> tuple[Floats, Floats]:
    mean = values.mean(axis=0)
    ends = np.tile(mean, (2, 1))
    for c in np.flatnonzero(np.ptp(values, axis=0) > ROUNDING * np.abs(values).max(axis=0)):
        if not bca:
            ends[:, c] = np.quantile(resampled[:, c], tails)
            continue
        acceleration = _acceleration(sums[:, c], sizes, mean[c])
        # Means of a few discrete values often coincide; rounding must not decide on which side they fall.
        side = resampled[:, c] - mean[c]
        equal = np.abs(side) <= ROUNDING * np.abs(values[:, c]).max()
        below = (((side < 0) & ~equal).sum() + 0.5 * equal.sum()) / len(resampled)
        bias = _NORMAL.inv_cdf(min(max(below, 1 / (len(resampled) + 1)), 1 - 1 / (len(resampled) + 1)))
        shares = []
        for tail in tails:
            shifted = bias + _NORMAL.inv_cdf(tail)
            shares.append(_NORMAL.cdf(bias + shifted / (1 - acceleration * shifted)))
        ends[:, c] = np.quantile(resampled[:, c], shares)
    return ends[0], ends[1]


def _acceleration(sums: Floats, sizes: Floats | None, mean: float) -> float:
    """Skewness of the mean's jackknife values, over six; of single queries, that of the queries themselves."""
    if sizes is None:
        away = sums - mean
    else:
        # Without cluster g the mean is (total - sum) / (n - size); away is how much g lifts it.
        left_out = (sums.sum() - sums) / (sizes.sum() - sizes)
        away = left_out.mean() - left_out
    largest = float(np.abs(away).max(initial=0.0))
    if not largest:
        return 0.0
    # Powers of very small numbers would vanish.  Skewness has no unit, so any will do; a power of two rounds nothing.
    away = np.ldexp(away, -int(np.frexp(largest)[1]))
    return float((away**3).sum() / (6 * (away**2).sum() ** 1.5))
