"""Percentiles, such as the P95 of latencies, with intervals that suppose nothing of the distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.stats.samples import finite, share


@dataclass(frozen=True)
class PercentileInterval:
    """A percentile and the ends of its interval.

    value       by linear interpolation between the two nearest values; NaN without any
    low, high   values themselves; -inf or inf where n values are too few for that end to exist
    """

    value: float
    low: float
    high: float
    n: int
    level: float


def percentile_interval(values: npt.ArrayLike, p: float, *, level: float = 0.95) -> PercentileInterval:
    """A percentile of n independent values, between two of them by their ranks.

    values   (n,) such as milliseconds;   p   share below the percentile, in (0, 1): 0.95 is P95
    level    coverage, in (0, 1); it is at least that, whatever the distribution
    Returns  low is -inf or high inf where n is too small: P95 has an upper end at 95 % from 72 values on, P99 from 368
    Raises   InputError for NaN or infinite values, p or level outside (0, 1)
    Source   Conover, Practical Nonparametric Statistics, 1999, section 3.2: ranks from binomial quantiles.

    >>> interval = percentile_interval(range(1, 101), 0.5)
    >>> interval.value, interval.low, interval.high
    (50.5, 40.0, 61.0)
    """
    ordered = np.sort(finite(values, n_axes=1, what="values"))
    share(p, "the percentile's share")
    share(level, "level")
    n = len(ordered)
    if n == 0:
        return PercentileInterval(math.nan, -math.inf, math.inf, 0, level)
    below = _binomial(n, p)
    first, last = (int(np.searchsorted(below, tail)) for tail in ((1 - level) / 2, (1 + level) / 2))
    low = float(ordered[first - 1]) if first >= 1 else -math.inf
    high = float(ordered[last]) if last < n else math.inf
    return PercentileInterval(float(np.quantile(ordered, p)), low, high, n, level)


def _binomial(n: int, p: float) -> Floats:
    """(n + 1,) chance of at most k successes in n, for k from 0 to n."""
    k = np.arange(1, n + 1)
    log_odds = math.log(p) - math.log1p(-p)
    logs = np.concatenate(([0.0], np.cumsum(np.log((n - k + 1) / k) + log_odds))) + n * math.log1p(-p)
    return np.asarray(np.minimum(np.cumsum(np.exp(logs)), 1.0))
