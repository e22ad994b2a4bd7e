"""Intervals of means over queries: Student's t, guarded against values that no query has shown yet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.stats.samples import ROUNDING, Clusters, cluster_sums, mean_error, n_clusters, near_pairs, share
from steelyard.stats.student import t_quantile

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


def _bend(away: Floats, clusters: Clusters | None) -> Floats:
    """(c,) skewness of (n, c) values less their means, or of their sums by cluster, over 6 root n; 0 of two."""
    sums = cluster_sums(np.ascontiguousarray(away.T), clusters)
    n, largest = sums.shape[1], np.abs(sums).max(axis=1)
    sums = sums / np.where(largest > 0, largest, 1.0)[:, None]
    deviation = np.sqrt((sums**2).sum(axis=1) / (n - 1))
    cubes = (sums**3).sum(axis=1) * n / ((n - 1) * max(n - 2, 1))
    return np.asarray(cubes / np.where(deviation > 0, deviation, 1.0) ** 3 / (6 * np.sqrt(n)))


def _unbent(t: Floats, bend: Floats) -> Floats:
    """Where Willink's cubic of a standardised mean is t; t itself where nothing is skewed."""
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
