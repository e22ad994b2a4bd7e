"""Intervals of means over queries: Student's t, guarded against values that no query has shown yet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.stats.samples import ROUNDING, Clusters, cluster_sums, equal_pairs, mean_error, n_clusters, share
from steelyard.stats.student import t_quantile

UNBOUNDED = (-math.inf, math.inf)


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
    upper end the highest.  Its weight is the chance that two queries, drawn with replacement, have the same value: 1
    where all are equal, which leaves room for nearly 3 / n of the range, and 1 / n where all differ, as these show how
    far values scatter.  Where there is no bound, the end is Student's.

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
    weight = _agreement(values, clusters)
    # The mean of equal values may be above them by a rounding.
    lowest = np.minimum(bounds[0], np.minimum(values.min(axis=0), mean))
    highest = np.maximum(bounds[1], np.maximum(values.max(axis=0), mean))

    def end(bound: Floats, side: int) -> Floats:
        more = np.where(np.isfinite(bound), weight, 0.0)
        total, away = n + more, np.where(np.isfinite(bound), bound, mean) - mean
        squares = n * (n - 1) * error**2 + n * more / total * away**2
        return np.asarray(mean + more / total * away + side * quantile * np.sqrt(squares / total / (total - 1)))

    low, high = np.maximum(end(lowest, -1), lowest), np.minimum(end(highest, 1), highest)
    unknown = (error == 0) & ~np.isfinite(highest - lowest)
    return Intervals(np.where(unknown, np.nan, low), np.where(unknown, np.nan, high))


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


def _agreement(values: Floats, clusters: Clusters | None) -> Floats:
    """(c,) chance that two queries, or the means of two clusters, drawn with replacement, have the same value.

    >>> _agreement(np.array([[1.0, 0.1], [0.0, 0.2], [1.0, 0.3], [1.0, 0.4]]), None)
    array([0.625, 0.25 ])
    """
    sums = cluster_sums(np.concatenate([values.T, np.ones((1, len(values)))]), clusters)
    return np.asarray(equal_pairs(sums[:-1] / sums[-1]) / sums.shape[1] ** 2)
