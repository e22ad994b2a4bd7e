"""Percentiles, such as the P95 of latencies, with intervals that suppose nothing of the distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Ints
from steelyard.base.percentiles import percentile_value
from steelyard.stats.samples import Clusters, cluster_codes, equal_pairs, finite, share
from steelyard.stats.student import t_quantile

_FEWEST_IN_TIME = 10


@dataclass(frozen=True)
class PercentileInterval:
    """A percentile and the ends of its interval.

    value       by linear interpolation between the two nearest values; NaN without any
    low, high   values themselves; -inf or inf where n values are too few for that end to exist
    n_censored  how many of the n values are infinite: known to be large, and not how large
    n_effective as many independent values say as much; n without clusters
    """

    value: float
    low: float
    high: float
    n: int
    level: float
    n_censored: int = 0
    n_effective: int = 0


def percentile_interval(
    values: npt.ArrayLike, p: float, *, level: float = 0.95, clusters: Clusters | None = None, in_time: bool = False
) -> PercentileInterval:
    """A percentile of n values, between two of them by their ranks.

    values   (n,) such as milliseconds; inf for one that is known to be larger than all others
    p        share below the percentile, in (0, 1): 0.95 is P95
    level    coverage, in (0, 1); it is at least that, whatever the distribution
    clusters (n,) which values belong together: repetitions of one question, requests of one second; they count as so
             many independent values as say as much about this percentile.  None: each by itself
    in_time  whether clusters are numbered in time and neighbours are alike too, such as seconds in which a queue is
             long: more of them are then taken together, as far as 10 are left.  That holds the level of a queue at
             80% of its capacity over 5 minutes, and not over one (89% of intervals hold the P95 then)
    Returns  low is -inf or high inf where n is too small: P95 has an upper end at 95% from 72 values on, P99 from 368;
             value and ends are inf where they fall on, or next to, an infinite value
    Raises   InputError for NaN or -inf, p or level outside (0, 1)
    Source   Conover, Practical Nonparametric Statistics, 1999, section 3.2: ranks from binomial quantiles.
             Clusters: Woodruff, Confidence Intervals for Medians and Other Position Measures, JASA 1952; Korn &
             Graubard, Confidence Intervals for Proportions with Small Expected Number of Positive Counts, Survey
             Methodology 1998.

    >>> interval = percentile_interval(range(1, 101), 0.5)
    >>> interval.value, interval.low, interval.high
    (50.5, 40.0, 61.0)
    """
    return percentile_intervals(values, [p], level=level, clusters=clusters, in_time=in_time)[0]


def percentile_intervals(
    values: npt.ArrayLike, shares: Sequence[float], *, level: float = 0.95, clusters: Clusters | None = None,
    in_time: bool = False,
) -> list[PercentileInterval]:  # fmt: skip
    """Several percentiles of the same values, as of `percentile_interval`; they are sorted once."""
    values = np.asarray(values, dtype=np.float64)
    censored = np.isposinf(values)
    finite(np.where(censored, 0.0, values), n_axes=1, what="values")
    for p in shares:
        share(p, "the percentile's share")
    share(level, "level")
    codes = None if clusters is None else cluster_codes(clusters, len(values))
    n, n_censored = len(values), int(censored.sum())
    ordered = np.sort(values)
    intervals = list[PercentileInterval]()
    for p in shares:
        value = percentile_value(ordered, p)
        n_effective = n if codes is None or not n else _effective(values, codes, p, value, level=level, in_time=in_time)
        low, high = _ends(ordered, p, level, n_effective)
        intervals.append(PercentileInterval(value, low, high, n, level, n_censored, n_effective))
    return intervals


def _ends(ordered: Floats, p: float, level: float, n_effective: int) -> tuple[float, float]:
    """The ends by binomial quantiles of so many independent values."""
    n = len(ordered)
    if n == 0:
        return -math.inf, math.inf
    below = _binomial(n_effective, p)
    first, last = (int(np.searchsorted(below, tail)) for tail in ((1 - level) / 2, (1 + level) / 2))
    per = n / n_effective
    low = float(ordered[math.floor(first * per) - 1]) if first >= 1 else -math.inf
    high = float(ordered[min(math.ceil((last + 1) * per), n) - 1]) if last < n_effective else math.inf
    return low, high


def _effective(values: Floats, codes: Ints, p: float, value: float, *, level: float, in_time: bool) -> int:
    """As many independent values as say as much of a percentile as values in clusters do.

    That is n over the design effect: how much more the number of values beyond the percentile varies than if each were
    by itself; in time, the largest of all lengths of blocks.  Few clusters say little of how far they vary: Student's t
    takes its share off.
    """
    n, sizes = len(values), np.bincount(codes).astype(float)
    if len(sizes) == n and not in_time:
        return n
    beyond, tail = (values > value, 1 - p) if p >= 0.5 else (values <= value, p)
    counts, at, n_effective = np.bincount(codes, weights=beyond), (1 + level) / 2, float(n)
    for length in _lengths(len(sizes), in_time):
        starts = np.arange(0, len(sizes), length)
        n_beyond, n_all = np.add.reduceat(counts, starts), np.add.reduceat(sizes, starts)
        more = _largest_again(n_beyond) if in_time else _whole_cluster(n_beyond, n_all)
        effect = (((n_beyond - n_all * tail) ** 2).sum() + more * (1 - tail) ** 2) / (n * tail * (1 - tail))
        known = (NormalDist().inv_cdf(at) / t_quantile(at, len(starts) - 1)) ** 2 if len(starts) > 1 else 0.0
        n_effective = min(n_effective, n / max(effect, 1.0) * known)
    return max(int(n_effective), 1)


def _whole_cluster(n_beyond: Floats, n_all: Floats) -> float:
    """Pairs of a cluster more that lies beyond the percentile as a whole, though none has been seen yet.

    Its weight is the chance that two clusters, drawn with replacement, have as many values there, as in
    `mean_intervals`: where counts differ, they show how far they vary.
    """
    agreement = float(equal_pairs(n_beyond[None, :])[0]) / len(n_beyond) ** 2
    return agreement * float((n_all * (n_all - 1)).mean())


def _largest_again(n_beyond: Floats) -> float:
    """Pairs of another burst as large as the largest, each counted once: the next one may be in another second."""
    largest = float(n_beyond.max())
    return largest * (largest - 1) / 2


def _lengths(n_clusters: int, in_time: bool) -> list[int]:
    """How many neighbouring clusters are taken together: one; and in time 2, 4, 8, ... while 10 of them are left."""
    most = max(n_clusters // _FEWEST_IN_TIME, 1) if in_time else 1
    return [1 << power for power in range(most.bit_length())]


def _binomial(n: int, p: float) -> Floats:
    """(n + 1,) chance of at most k successes in n, for k from 0 to n."""
    k = np.arange(1, n + 1)
    log_odds = math.log(p) - math.log1p(-p)
    logs = np.concatenate(([0.0], np.cumsum(np.log((n - k + 1) / k) + log_odds))) + n * math.log1p(-p)
    return np.asarray(np.minimum(np.cumsum(np.exp(logs)), 1.0))
