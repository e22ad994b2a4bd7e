"""Intervals of means over queries, of the difference between two groups of queries, and of a ratio of two means.
Student's t, widened for values that no query has shown yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import (
    ROUNDING,
    Clusters,
    cluster_sums,
    finite,
    fsum,
    mean_error,
    n_clusters,
    near_pairs,
    share,
)

UNBOUNDED = (-math.inf, math.inf)
_STRAIGHT = 1e-6
"""Below this skewness the cubic is a line."""


@dataclass(frozen=True)
class Intervals:
    """Lower and upper end for each of some means; NaN where there is no interval."""

    low: Floats
    high: Floats

    @property
    def method(self) -> Literal["guarded_t", "none"]:
        """The rule that gave them, or none where no mean has an interval."""
        return "none" if np.isnan(self.low).all() else "guarded_t"


def mean_intervals(
    values: Floats,
    *,
    level: float = 0.95,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] = UNBOUNDED,
    clusters: Clusters | None = None,
) -> Intervals:
    """Intervals of c means over the same n queries.

    Each end is that of Student's t for the queries and one more, which has the lowest value that there is, or for the
    upper end the highest.  Its weight is how far two queries, drawn with replacement, agree on average (see
    `near_pairs`): 1 where all values are equal, which leaves room for nearly 3 / n of the range; little less where they
    scatter within a small part of the range, as such values show nothing of one far away; and 1 / n where they lie
    wide apart.  Where there is no bound, the end is Student's.

    values    (n, c) one column a mean;   level   coverage, in (0, 1)
    bounds    lowest and highest value there can be, of all columns or (c,) of each; infinite where there is none
    clusters  (n,) which conversation or document each query belongs to: the error is then that of `mean_error`, and one
              more cluster is reckoned with.  None: every query for itself
    Returns   (c,) ends within the bounds; NaN for fewer than two queries or clusters, and for equal values that lack a
              bound
    Raises    InputError for a level outside (0, 1), clusters of another length
    Source    Agresti & Coull, Approximate Is Better than "Exact", The American Statistician 1998, add values too; one
              at the bound, as do Learned-Miller & Thomas, A New Confidence Interval for the Mean of a Bounded Random
              Variable, 2019.

    >>> hits = mean_intervals(np.repeat([[0.0, 1.0], [1.0, 1.0]], [2, 18], axis=0), bounds=(0, 1))
    >>> hits.low.round(3), hits.high.round(3)
    (array([0.704, 0.853]), array([1., 1.]))
    """
    share(level, "level")
    n = n_clusters(clusters, len(values))
    if n < 2:
        return Intervals(*np.full((2, values.shape[1]), np.nan))
    mean, error, df = _errors(values, clusters)
    quantile = np.array([t_quantile((1 + level) / 2, freedom) for freedom in df.tolist()])
    # The mean of equal values may be above them by a rounding.
    least, most = np.minimum(values.min(axis=0), mean), np.maximum(values.max(axis=0), mean)
    lowest, highest = np.minimum(bounds[0], least), np.maximum(bounds[1], most)
    range_ = np.where(np.isfinite(highest), highest, most) - np.where(np.isfinite(lowest), lowest, least)
    weight = _agreement(values, range_, clusters)

    def end(bound: Floats, side: int) -> Floats:
        more = np.where(np.isfinite(bound), weight, 0.0)
        total, away = n + more, np.where(np.isfinite(bound), bound, mean) - mean
        squares = n * (n - 1) * error**2 + n * more / total * away**2
        return np.asarray(mean + more / total * away + side * quantile * np.sqrt(squares / total / (total - 1)))

    low, high = np.maximum(end(lowest, -1), lowest), np.minimum(end(highest, 1), highest)
    unknown = (error == 0) & ~np.isfinite(highest - lowest)
    return Intervals(np.where(unknown, np.nan, low), np.where(unknown, np.nan, high))


def skewed_intervals(values: Floats, *, level: float = 0.95, clusters: Clusters | None = None) -> Intervals:
    """Intervals of c means of values without a bound, such as latencies and costs: Student's t, corrected for skew.

    A mean of values that are mostly small and sometimes large is more often too low than too high, and its error is too
    small just then: the interval is moved towards the long tail by what the third moment says.  Where no value is below
    0, the upper end is at least mean * (1 + u + u**2), with t's half width as the share u of the mean: three values
    say little of their skew.

    values    (n, c) one column a mean;   level, clusters   as of `mean_intervals`
    Returns   (c,) ends; NaN for fewer than two queries or clusters, and for equal values
    Caution   Values larger than any that was seen are not reckoned with.  Of n queries, up to 3 / n may have such ones
    Raises    InputError for a level outside (0, 1), clusters of another length
    Source    Willink, A Confidence Interval and Test for the Mean of an Asymmetric Distribution, Communications in
              Statistics 2005; after Hall, On the Removal of Skewness by Transformation, JRSS B 1992.

    >>> waits = skewed_intervals(np.array([[10.0, 12.0, 11.0, 13.0, 80.0]]).T)
    >>> float(waits.low[0].round(2)), float(waits.high[0].round(2))
    (3.21, 120.75)
    """
    share(level, "level")
    if n_clusters(clusters, len(values)) < 2:
        return Intervals(*np.full((2, values.shape[1]), np.nan))
    mean, error, df = _errors(values, clusters)
    quantile = np.array([t_quantile((1 + level) / 2, freedom) for freedom in df.tolist()])
    bend = _bend(values - mean, clusters)
    low, high = (mean - error * _unbent(side * quantile, bend) for side in (1, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        width = quantile * error / mean
        least_high = mean * (1 + width + width**2)
    positive = (values.min(axis=0) >= 0) & (mean > 0)
    high = np.where(positive, np.maximum(high, least_high), high)
    return Intervals(*np.where(error == 0, np.nan, np.stack([low, high])))


def guarded_or_skewed_intervals(
    values: Floats, *, level: float, bounds: tuple[Floats, Floats], clusters: Clusters | None = None
) -> Intervals:
    """Those of `mean_intervals` where there is a highest value, and of `skewed_intervals` where there is none.

    values   (n, c) one column a mean;   bounds   (c,) lowest and highest value of each, infinite where there is none
    Returns  (c,) ends, as these have them
    """
    ends = mean_intervals(values, level=level, bounds=bounds, clusters=clusters)
    if len(free := np.flatnonzero(np.isinf(bounds[1]))):
        skewed = skewed_intervals(values[:, free], level=level, clusters=clusters)
        ends.low[free], ends.high[free] = np.maximum(skewed.low, bounds[0][free]), skewed.high
    return ends


def guarded_or_skewed(
    values: Floats, *, level: float, bounds: tuple[float, float], clusters: Clusters | None = None
) -> tuple[float, float]:
    """Both ends of one mean of (n,) values, of `guarded_or_skewed_intervals`."""
    least, most = (np.array([end]) for end in bounds)
    ends = guarded_or_skewed_intervals(values[:, None], level=level, bounds=(least, most), clusters=clusters)
    return float(ends.low[0]), float(ends.high[0])


def _bend(away: Floats, clusters: Clusters | None) -> Floats:
    """(c,) skewness of (n, c) values less their means, or of their sums by cluster, over 6 root n; 0 of two."""
    sums = cluster_sums(np.ascontiguousarray(away.T), clusters)
    n, largest = sums.shape[1], np.abs(sums).max(axis=1)
    sums = sums / np.where(largest > 0, largest, 1.0)[:, None]
    deviation = np.sqrt((sums**2).sum(axis=1) / (n - 1))
    cubes = (sums**3).sum(axis=1) * n / ((n - 1) * max(n - 2, 1))
    return np.asarray(cubes / np.where(deviation > 0, deviation, 1.0) ** 3 / (6 * np.sqrt(n)))


def _unbent(t: Floats, bend: Floats) -> Floats:
    """Value at which Willink's cubic of a standardised mean is t; t itself where nothing is skewed."""
    straight = np.abs(bend) < _STRAIGHT
    bend = np.where(straight, 1.0, bend)
    return np.where(straight, t, (np.cbrt(1 + 6 * bend * (t - bend)) - 1) / (2 * bend))


def _errors(values: Floats, clusters: Clusters | None) -> tuple[Floats, Floats, Floats]:
    """(c,) means of (n, c) values, their standard errors and degrees of freedom: those of `mean_error`."""
    if clusters is not None:
        errors = [mean_error(column, clusters=clusters) for column in values.T]
        mean, error, df = np.array([(average.mean, average.error, average.df) for average in errors]).T
        return mean, error, df
    rows = np.ascontiguousarray(values.T)
    n, mean = len(values), rows.mean(axis=1)
    away = rows - mean[:, None]
    flat = np.abs(away).max(axis=1) <= ROUNDING * np.abs(mean)
    error = np.sqrt((away**2).sum(axis=1) / (n * (n - 1)))
    return mean, np.where(flat, 0.0, error), np.full(len(mean), n - 1.0)


def _agreement(values: Floats, range_: Floats, clusters: Clusters | None) -> Floats:
    """(c,) how far two queries, or the means of two clusters, drawn with replacement, agree on average.

    >>> _agreement(np.array([[1.0, 0.1], [0.0, 0.2], [1.0, 0.3], [1.0, 0.4]]), np.ones(2), None).round(9)
    array([0.625, 0.25 ])
    """
    sums = cluster_sums(np.concatenate([values.T, np.ones((1, len(values)))]), clusters)
    pairs = near_pairs(sums[:-1] / sums[-1], np.where(range_ > 0, range_, 1.0))
    return np.asarray(pairs / sums.shape[1] ** 2)


@dataclass(frozen=True)
class GroupDifference:
    """The mean of a group less that of another one, of n_first and n_second queries; NaN where a group is too small."""

    first: float
    second: float
    difference: float
    low: float
    high: float
    n_first: int
    n_second: int


def group_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    level: float = 0.95,
    bounds: tuple[float, float] = UNBOUNDED,
    clusters: tuple[Clusters | None, Clusters | None] = (None, None),
) -> GroupDifference:
    """Mean of one group of queries less that of another, with an interval made of those of both means.

    Each end is as far from the difference as the two ends beside it are from their means, by Pythagoras.  So what
    guards the intervals of the means guards that of the difference: a group of a few equal values is not certain.

    first, second  (n,) and (m,) values of different queries;   level   coverage, in (0, 1)
    bounds         lowest and highest value there can be; infinite where there is none
    clusters       (n,) and (m,) which conversation or document each query belongs to.  What both groups share is left
                   aside, which makes the interval rather too long than too short
    Returns        NaN for the difference of an empty group, and for the ends where a mean has no interval
    Raises         InputError for NaN, a level outside (0, 1), clusters of another length
    Source         Zou & Donner, Construction of Confidence Limits about Effect Measures, Statistics in Medicine 2008;
                   on the intervals of `mean_intervals`, where Welch's covers as little as .18 of near-equal values.

    >>> faithful = group_difference([1.0] * 9 + [0.0], [0.0] * 7 + [1.0] * 3, bounds=(0, 1))
    >>> round(faithful.difference, 3), round(faithful.low, 3), round(faithful.high, 3)
    (0.6, 0.088, 0.916)
    """
    groups = finite(first, n_axes=1, what="values"), finite(second, n_axes=1, what="values")
    mean, other_mean = (fsum(values) / len(values) if len(values) else math.nan for values in groups)
    difference = mean - other_mean
    (low, high), (other_low, other_high) = (
        _ends(values, level, bounds, codes) for values, codes in zip(groups, clusters, strict=True)
    )
    return GroupDifference(
        mean,
        other_mean,
        difference,
        difference - math.hypot(mean - low, other_high - other_mean),
        difference + math.hypot(high - mean, other_mean - other_low),
        len(groups[0]),
        len(groups[1]),
    )


def _ends(values: Floats, level: float, bounds: tuple[float, float], clusters: Clusters | None) -> tuple[float, float]:
    if not len(values):
        return math.nan, math.nan
    interval = mean_intervals(values[:, None], level=level, bounds=bounds, clusters=clusters)
    return float(interval.low[0]), float(interval.high[0])


CLEAR = 4.0
"""Standard errors that a headroom must be above 0, so that 95% intervals know it to within half of itself: that takes
about 20 queries that have some."""
_STEPS = 40
"""Halvings of the range in which an end lies."""


@dataclass(frozen=True)
class CapturedShare:
    """Mean gain / mean headroom, with the ends of its interval; NaN throughout where the headroom is too small."""

    share: float
    low: float
    high: float
    level: float


def captured_share(
    gain: npt.ArrayLike, headroom: npt.ArrayLike, *, width: float = math.inf, level: float = 0.95,
    clusters: Clusters | None = None,
) -> CapturedShare:  # fmt: skip
    """Share of the headroom that was captured: 1 for all of it, below 0 for harm.

    The interval holds each share r for which the mean of gain - r headroom may be 0, by `mean_intervals`.  This is
    Fieller's, but guarded against what no query has shown: where all headroom was captured in each query, the share of
    other queries need not be 1.  In simulations of 20 to 1,000 queries, with headroom in most of them or in 3%, it
    misses in at most 5% of the cases of which it says anything; Fieller's own in up to 81%.

    gain      (n,) by how much a query is better than before; at most its headroom
    headroom  (n,) by how much it could be better, 0 or more
    width     the largest difference that two values can have
    Returns   NaN where the headroom is less than CLEAR standard errors above 0, since a ratio to nearly nothing says
              nothing, and for fewer than two queries or clusters; low is -inf where none is ruled out at this level
    Raises    InputError for NaN, unequal lengths, a headroom below 0, a gain above its headroom
    Source    Fieller, Some Problems in Interval Estimation, JRSS B 1954.

    >>> captured = captured_share([0.1, 0.2, 0.0, 0.3] * 5, [0.5, 0.4, 0.0, 0.3] * 5, width=1)
    >>> round(captured.share, 3), round(captured.low, 2), round(captured.high, 2)
    (0.5, 0.1, 0.73)
    """
    d, h = finite(gain, n_axes=1, what="gains"), finite(headroom, n_axes=1, what="headrooms")
    share(level, "level")
    _check(d, h)
    mean = mean_error(h, clusters=clusters)
    if mean.reason or not mean.mean > CLEAR * mean.error:
        return CapturedShare(math.nan, math.nan, math.nan, level)

    def ends(r: float) -> tuple[float, float]:
        away = d - r * h
        # A query loses no more than the width, and gains no more than its headroom, which is no more than the width.
        bounds = -width, (1 - r) * width if r < 1 else 0.0
        interval = mean_intervals(away[:, None], level=level, bounds=bounds, clusters=clusters)
        return float(interval.low[0]), float(interval.high[0])

    estimate = fsum(d) / fsum(h)
    # A query loses no more than the width, so that no share can be below this.
    least = min(-(width if math.isfinite(width) else 1e3 * float(h.max())) / mean.mean, 2 * estimate - 1)
    low = _crossing(lambda r: ends(r)[0] > 0, least, estimate) if ends(least)[0] > 0 else -math.inf
    high = 1.0 if ends(1.0)[1] >= 0 else _crossing(lambda r: ends(r)[1] >= 0, estimate, 1.0)
    return CapturedShare(estimate, low, high, level)


def _check(d: Floats, h: Floats) -> None:
    if d.shape != h.shape:
        raise InputError(f"there are {len(d)} gains and {len(h)} headrooms; expected one each for the same questions")
    slack = ROUNDING * np.maximum(1.0, np.abs(h))
    if (h < -slack).any():
        raise InputError(
            f"a headroom is {h.min():g}; expected 0 or more: a ceiling lies below what it is the ceiling of"
        )
    if (d > h + slack).any():
        q = int(np.argmax(d - h))
        raise InputError(f"a gain is {d[q]:g} and its headroom {h[q]:g}; expected at most that")


def _crossing(holds: Callable[[float], bool], first: float, last: float) -> float:
    """Point at which a condition ceases that holds at the first of two numbers, and not at the last."""
    for _ in range(_STEPS):
        middle = (first + last) / 2
        first, last = (middle, last) if holds(middle) else (first, middle)
    return (first + last) / 2
