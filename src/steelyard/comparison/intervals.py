"""Intervals of differences: each belongs to the test beside it, under the same correction."""

from __future__ import annotations

import math

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.comparison.plan import Plan
from steelyard.stats.intervals import mean_intervals
from steelyard.stats.paired import sign_flip_interval
from steelyard.stats.samples import mean_error

NO_INTERVAL = (math.nan, math.nan)


def interval_alphas(
    p: Floats, adjusted: Floats, *, correction: str, alpha: float, n_comparisons: int, n_shown: int
) -> Floats:
    """(r,) alpha of each interval by itself, so that it leaves 0 out exactly where adjusted p is at most alpha.

    n_comparisons, n_shown   of the family: how many there are, and how many have an adjusted p of at most alpha
    Holm, Bonferroni: alpha shared among all comparisons, so that all intervals hold together; where Holm alone shows a
    difference, at a later step, that step's alpha.  BH with R differences shown: R times that (Benjamini & Yekutieli
    2005), so that of the intervals of these a share alpha misses on average.  None and Tukey: alpha.
    """
    if correction == "tukey":
        return np.full(len(p), alpha)
    shown = adjusted <= alpha
    shared = alpha * (max(1, n_shown) if correction == "bh" else 1) / n_comparisons
    step = np.divide(alpha * p, adjusted, out=np.zeros(len(p)), where=shown)
    return np.where(shown, np.maximum(shared, step), shared)


def difference_interval(
    d: Floats, plan: Plan, *, alpha: float, p: float, critical: float, width: float, clusters: Ints | None = None
) -> tuple[float, float]:
    """Both ends of the interval of the mean of d, neither beyond the width.

    clusters  (n,) of differences that count as one, or None
    alpha     of this interval by itself;   p   of the test;   critical   Tukey's critical difference
    width     the largest difference that two values can have
    Returns   Student's t; of sign flips every shift that they do not reject; for Tukey the critical difference on
              either side, and as far as 0 where the pair's own test shows nothing.  NaN for tests of ranks and signs,
              which are not about means, for fewer than two questions or clusters, for differences that are all equal,
              and where no shift is rejected
    """
    average = mean_error(d, clusters=clusters)
    if average.reason or average.flat or not plan.is_of_means:
        return NO_INTERVAL
    low, high = _ends(d, plan, alpha, p, critical, clusters)
    largest = max(width, float(np.abs(d).max()))
    return max(low, -largest), min(high, largest)


def _ends(d: Floats, plan: Plan, alpha: float, p: float, critical: float, clusters: Ints | None) -> tuple[float, float]:
    if plan.test == "t":
        ends = mean_intervals(d[:, None], level=1 - alpha, clusters=clusters)
        return float(ends.low[0]), float(ends.high[0])
    if plan.test == "randomization":
        low, high = sign_flip_interval(d, seed=plan.seed, level=1 - alpha, clusters=clusters)
        return (low, high) if math.isfinite(low) else NO_INTERVAL
    mean = float(d.mean())
    half = max(critical, abs(mean)) if p > alpha else critical
    return mean - half, mean + half
