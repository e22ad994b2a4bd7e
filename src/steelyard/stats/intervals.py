"""Intervals for means over queries."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from steelyard.arrays import Floats

RESAMPLES = 2000
MANY_QUERIES = 10_000
"""From here on the bootstrap and the normal interval agree to three digits, and only one of them costs nothing."""

_NUMBERS_AT_ONCE = 1 << 22
_NORMAL = NormalDist()
_ROUNDING = 1e-12
"""Relative to the largest value: differences below it are rounding."""


@dataclass(frozen=True)
class Intervals:
    """Lower and upper end for each of c means, and how they were found: "bca", "normal" or "none"."""

    low: Floats
    high: Floats
    method: str


def mean_intervals(values: Floats, *, seed: int, level: float = 0.95) -> Intervals:
    """Intervals of c means over the same n queries: BCa bootstrap, or normal from MANY_QUERIES on.

    values    (n, c) one column a mean;   seed   of the resampling;   level   coverage, in (0, 1)
    Returns   (c,) ends; NaN for fewer than two queries
    Source    Efron, Better Bootstrap Confidence Intervals, JASA 1987.

    >>> wide = mean_intervals(np.array([[0.0], [0.5], [1.0]]), seed=0)
    >>> bool(wide.low[0] < 0.5 < wide.high[0])
    True
    """
    n = len(values)
    if n < 2:
        nothing = np.full(values.shape[1], np.nan)
        return Intervals(nothing, nothing, "none")
    if n >= MANY_QUERIES:
        half = _NORMAL.inv_cdf((1 + level) / 2) * values.std(axis=0, ddof=1) / np.sqrt(n)
        return Intervals(values.mean(axis=0) - half, values.mean(axis=0) + half, "normal")
    low, high = _bca(values, _resampled_means(values, seed), level)
    return Intervals(low, high, "bca")


def _resampled_means(values: Floats, seed: int) -> Floats:
    """(RESAMPLES, c) means over queries drawn with replacement; all columns see the same draws."""
    n, rng = len(values), np.random.default_rng(seed)
    columns = np.ascontiguousarray(values.T)
    step = max(1, _NUMBERS_AT_ONCE // n)
    means = []
    for start in range(0, RESAMPLES, step):
        size = min(step, RESAMPLES - start)
        drawn = rng.integers(0, n, (size, n), dtype=np.int32) + (np.arange(size) * n)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        # One einsum a column, not a matrix product: no sum may depend on a BLAS's threads, or on the other columns.
        weights = counts.astype(float)
        means.append(np.stack([np.einsum("rn,n->r", weights, column) for column in columns], axis=1) / n)
    return np.concatenate(means)


def _bca(values: Floats, resampled: Floats, level: float) -> tuple[Floats, Floats]:
    mean = values.mean(axis=0)
    away = values - mean
    spread = (away**2).sum(axis=0)
    ends = np.tile(mean, (2, 1))
    for c in np.flatnonzero(np.ptp(values, axis=0) > _ROUNDING * np.abs(values).max(axis=0)):
        acceleration = (away[:, c] ** 3).sum() / (6 * spread[c] ** 1.5)
        # Means of a few discrete values often coincide; rounding must not decide on which side they fall.
        side = resampled[:, c] - mean[c]
        equal = np.abs(side) <= _ROUNDING * np.abs(values[:, c]).max()
        below = (((side < 0) & ~equal).sum() + 0.5 * equal.sum()) / len(resampled)
        bias = _NORMAL.inv_cdf(min(max(below, 1 / (len(resampled) + 1)), 1 - 1 / (len(resampled) + 1)))
        shares = []
        for tail in ((1 - level) / 2, (1 + level) / 2):
            shifted = bias + _NORMAL.inv_cdf(tail)
            shares.append(_NORMAL.cdf(bias + shifted / (1 - acceleration * shifted)))
        ends[:, c] = np.quantile(resampled[:, c], shares)
    return ends[0], ends[1]
