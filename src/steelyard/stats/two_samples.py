"""The difference between the means of two groups of queries, with an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.stats.intervals import UNBOUNDED, mean_intervals
from steelyard.stats.samples import Clusters, finite, fsum


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


def _ends(
    values: Floats, level: float, bounds: tuple[float, float], clusters: Clusters | None
) -> tuple[float, float]:  # fmt: skip
    if not len(values):
        return math.nan, math.nan
    interval = mean_intervals(values[:, None], level=level, bounds=bounds, clusters=clusters)
    return float(interval.low[0]), float(interval.high[0])
