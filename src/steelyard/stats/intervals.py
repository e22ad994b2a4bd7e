"""Intervals for means over queries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Floats, Ints
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

_NUMBERS_AT_ONCE = 1 << 17
_COLUMNS_AT_ONCE = 1 << 9
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
    method       "bca" or "percentile" bootstrap, "t" (needs SciPy), "normal"; None: BCa, normal from MANY_QUERIES
                 queries on, and t of clusters, as of few and unequal ones only its degrees of freedom are right
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
    if method is None:
        method = "t" if clusters is not None else "normal" if n_groups >= MANY_QUERIES else "bca"
    if method == "t" or (clusters is not None and method == "normal"):
        errors = [mean_error(column, clusters=clusters) for column in values.T]
        tail = (1 + level) / 2
        halves = np.array([
            error.error * (t_quantile(tail, error.df) if method == "t" else _NORMAL.inv_cdf(tail)) for error in errors
        ])  # fmt: skip
        means = values.mean(axis=0)
        return Intervals(means - halves, means + halves, method)
    if method == "normal":
        half = _NORMAL.inv_cdf((1 + level) / 2) * values.std(axis=0, ddof=1) / np.sqrt(len(values))
        return Intervals(values.mean(axis=0) - half, values.mean(axis=0) + half, method)
    sums, sizes = _by_cluster(values, clusters)
    tails = ((1 - level) / 2, (1 + level) / 2)
    low, high = values.mean(axis=0), values.mean(axis=0)
    largest = np.abs(values).max(axis=0)
    spread = np.flatnonzero(np.ptp(values, axis=0) > ROUNDING * largest)

    def fill(c: Ints) -> None:
        rows, mean = np.ascontiguousarray(sums[:, c].T), low[c]
        resampled = _resampled_means(rows, sizes, seed, n_resamples)
        shares: Sequence[Sequence[float]] = [tails] * len(c)
        if method == "bca":
            shares = _corrected(_biases(resampled, mean, largest[c]), _accelerations(rows, sizes, mean), tails)
        resampled.sort(axis=1)
        low[c], high[c] = _quantiles(resampled, np.array(shares)).T

    parts = [spread[start : start + _COLUMNS_AT_ONCE] for start in range(0, len(spread), _COLUMNS_AT_ONCE)]
    if len(parts) == 1:
        fill(parts[0])
    elif parts:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(fill, parts))
    return Intervals(low, high, method)


def _by_cluster(values: Floats, clusters: Clusters | None) -> tuple[Floats, Floats | None]:
    """(g, c) sums over clusters and (g,) their sizes; without clusters the values, and no sizes."""
    if clusters is None:
        return values, None
    both = cluster_sums(np.concatenate([values.T, np.ones((1, len(values)))]), clusters)
    return both[:-1].T, both[-1]


def _resampled_means(sums: Floats, sizes: Floats | None, seed: int, n_resamples: int) -> Floats:
    """(c, n_resamples) means over queries, or clusters, drawn with replacement; all (c, n) rows see the same draws."""
    n, rng = sums.shape[1], np.random.default_rng(seed)
    # So many as fit into a core's cache, and an even number: NumPy adds one long row in another order than several.
    step = max(1, _NUMBERS_AT_ONCE // n // 2) * 2
    means = np.empty((len(sums), n_resamples))
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        drawn = rng.integers(0, n, (size, n), dtype=np.int32) + (np.arange(size) * n)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(float)
        # einsum, not a matrix product: no sum may depend on a BLAS's threads, or on the other rows.
        totals = np.einsum("rn,cn->cr", weights, sums)
        means[:, start : start + size] = totals / (n if sizes is None else np.einsum("rn,n->r", weights, sizes))
    return means


def _biases(resampled: Floats, mean: Floats, largest: Floats) -> list[float]:
    """(c,) by how many standard deviations the median of the resampled means is off the mean.

    Means of a few discrete values often coincide; rounding must not decide on which side they fall.
    """
    side = resampled - mean[:, None]
    equal = np.abs(side) <= ROUNDING * largest[:, None]
    below = (((side < 0) & ~equal).sum(axis=1) + 0.5 * equal.sum(axis=1)) / resampled.shape[1]
    least = 1 / (resampled.shape[1] + 1)
    return [_NORMAL.inv_cdf(share) for share in np.clip(below, least, 1 - least).tolist()]


def _corrected(biases: Sequence[float], accelerations: Sequence[float], tails: Sequence[float]) -> list[list[float]]:
    """(c, t) shares of the resampled means below each end, from those of a distribution without bias and skew."""
    quantiles = [_NORMAL.inv_cdf(tail) for tail in tails]
    return [
        [_NORMAL.cdf(bias + (bias + z) / (1 - acceleration * (bias + z))) for z in quantiles]
        for bias, acceleration in zip(biases, accelerations, strict=True)
    ]


def _accelerations(sums: Floats, sizes: Floats | None, mean: Floats) -> list[float]:
    """Skewness of each mean's jackknife values, over six; of single queries, that of the queries themselves."""
    if sizes is None:
        away = sums - mean[:, None]
    else:
        # Without cluster g the mean is (total - sum) / (n - size); away is how much g lifts it.
        left_out = (sums.sum(axis=1)[:, None] - sums) / (sizes.sum() - sizes)
        away = left_out.mean(axis=1)[:, None] - left_out
    # Powers of very small numbers would vanish.  Skewness has no unit, so any will do; a power of two rounds nothing.
    away = np.ldexp(away, -np.frexp(np.abs(away).max(axis=1))[1][:, None])
    moments = zip((away**3).sum(axis=1), (away**2).sum(axis=1), strict=True)
    return [float(third / (6 * second**1.5)) if second else 0.0 for third, second in moments]


def _quantiles(ascending: Floats, shares: Floats) -> Floats:
    """(c, t) values below which (c, t) shares of each row lie, between its numbers as `np.quantile` takes them."""
    place = (ascending.shape[1] - 1) * shares
    before = np.minimum(place.astype(np.int64), ascending.shape[1] - 1)
    below = np.take_along_axis(ascending, before, axis=1)
    above = np.take_along_axis(ascending, np.minimum(before + 1, ascending.shape[1] - 1), axis=1)
    part, gap = place - before, above - below
    return np.asarray(np.where(part >= 0.5, above - gap * (1 - part), below + gap * part))
