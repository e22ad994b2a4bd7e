"""Percentiles, such as the P95 of latencies, with intervals that suppose nothing of the distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.stats.samples import finite, share

_LARGEST = np.finfo(np.float64).max
"""In place of an infinite value, since infinity less a number is none to interpolate with."""


@dataclass(frozen=True)
class PercentileInterval:
    """A percentile and the ends of its interval.

    value       by linear interpolation between the two nearest values; NaN without any
    low, high   values themselves; -inf or inf where n values are too few for that end to exist
    n_censored  how many of the n values are infinite: known to be large, and not how large
    """

    value: float
    low: float
    high: float
    n: int
    level: float
    n_censored: int = 0


def percentile_interval(values: npt.ArrayLike, p: float, *, level: float = 0.95) -> PercentileInterval:
    """A percentile of n independent values, between two of them by their ranks.

    values   (n,) such as milliseconds; inf for one that is known to be larger than all others
    p        share below the percentile, in (0, 1): 0.95 is P95
    level    coverage, in (0, 1); it is at least that, whatever the distribution
    Returns  low is -inf or high inf where n is too small: P95 has an upper end at 95% from 72 values on, P99 from 368;
             value and ends are inf where they fall on, or next to, an infinite value
    Raises   InputError for NaN or -inf, p or level outside (0, 1)
    Source   Conover, Practical Nonparametric Statistics, 1999, section 3.2: ranks from binomial quantiles.

    >>> interval = percentile_interval(range(1, 101), 0.5)
    >>> interval.value, interval.low, interval.high
    (50.5, 40.0, 61.0)
    """
    values = np.asarray(values, dtype=np.float64)
    censored = np.isposinf(values)
    ordered = np.sort(finite(np.where(censored, _LARGEST, values), n_axes=1, what="values"))
    share(p, "the percentile's share")
    share(level, "level")
    n = len(ordered)
    if n == 0:
        return PercentileInterval(math.nan, -math.inf, math.inf, 0, level)
    below = _binomial(n, p)
    first, last = (int(np.searchsorted(below, tail)) for tail in ((1 - level) / 2, (1 + level) / 2))
    low = float(ordered[first - 1]) if first >= 1 else -math.inf
    high = float(ordered[last]) if last < n else math.inf
    n_censored = int(censored.sum())
    between = p * (n - 1)  # places from 0; beyond the last finite value, the percentile is not known
    value = math.inf if between > n - n_censored - 1 else float(np.quantile(ordered, p))
    low, high = (math.inf if end == _LARGEST else end for end in (low, high))
    return PercentileInterval(value, low, high, n, level, n_censored)


def _binomial(n: int, p: float) -> Floats:
    """(n + 1,) chance of at most k successes in n, for k from 0 to n."""
    k = np.arange(1, n + 1)
    log_odds = math.log(p) - math.log1p(-p)
    logs = np.concatenate(([0.0], np.cumsum(np.log((n - k + 1) / k) + log_odds))) + n * math.log1p(-p)
    return np.asarray(np.minimum(np.cumsum(np.exp(logs)), 1.0))
