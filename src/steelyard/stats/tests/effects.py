"""Effect sizes: sizes of a difference between two systems, beside any test."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy.typing as npt

from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import Clusters, differences, finite, mean_covariance, mean_error, share


@dataclass(frozen=True)
class Standardised:
    """A mean difference in units of the differences' standard deviation.

    d_z        mean / standard deviation; 0 where all differences are zero, infinite where all are equal, NaN below
               two queries
    hedges_g   d_z with Hedges' correction for small samples, 1 - 3 / (4 (n - 1) - 1); NaN for two queries, of which it
               would make 0 of any difference but 0
    """

    d_z: float
    hedges_g: float


def standardised(d: npt.ArrayLike) -> Standardised:
    """Cohen's d for pairs, and Hedges' corrected one.

    d        (n,) differences
    Raises   InputError for NaN
    Source   Cohen 1988; Hedges 1981.

    >>> effect = standardised([0.1, 0.3, 0.2, 0.4])
    >>> round(effect.d_z, 4), round(effect.hedges_g, 4)
    (1.9365, 1.4084)
    """
    average = mean_error(finite(d, n_axes=1, what="differences"))
    if average.reason:
        return Standardised(math.nan, math.nan)
    if average.flat:
        d_z = math.copysign(math.inf, average.mean) if average.mean else 0.0
    else:
        d_z = average.mean / (average.error * math.sqrt(average.n))
    return Standardised(d_z, d_z * (1 - 3 / (4 * average.df - 1)) if average.df > 1 or not d_z else math.nan)


@dataclass(frozen=True)
class WinTieLoss:
    """On how many queries B is above, level with and below A."""

    n_wins: int
    n_ties: int
    n_losses: int


def win_tie_loss(d: npt.ArrayLike) -> WinTieLoss:
    """Count the queries that B wins, ties and loses.

    d        (n,) differences, from `samples.differences` so that rounding is a tie
    Raises   InputError for NaN

    >>> win_tie_loss([0.1, 0.0, -0.2, 0.3])
    WinTieLoss(n_wins=2, n_ties=1, n_losses=1)
    """
    values = finite(d, n_axes=1, what="differences")
    return WinTieLoss(int((values > 0).sum()), int((values == 0).sum()), int((values < 0).sum()))


@dataclass(frozen=True)
class RelativeChange:
    """(mean of B - mean of A) / mean of A, with the ends of its interval; NaN, with a reason, where undefined."""

    change: float
    low: float
    high: float
    level: float
    reason: str | None = None


def relative_change(
    baseline: npt.ArrayLike, other: npt.ArrayLike, *, level: float = 0.95, clusters: Clusters | None = None
) -> RelativeChange:
    """By what share the mean changed, with Fieller's interval.

    Fieller rather than a bootstrap: for a baseline above zero it leaves out 0 exactly where the paired t test, the
    primary one, rejects at 1 - level; it needs no seed; and it says so where the baseline is too near to zero for any
    finite interval, where resampled ratios would only scatter.

    baseline, other   (n,) values of the same queries;   level   coverage, in (0, 1)
    Returns           NaN ends, with a reason, for one query (or cluster), or where the baseline's own interval at this
                      level holds 0; NaN throughout where its mean is 0.  A negative mean gives the change of the
                      ratio B / A as it is: a fall from -1 to -2 is +100%.
    Raises            InputError for NaN, unequal lengths
    Source            Fieller, Some Problems in Interval Estimation, JRSS B 1954.

    >>> change = relative_change([0.4, 0.5, 0.6, 0.5], [0.5, 0.5, 0.7, 0.6])
    >>> round(change.change, 3), round(change.low, 3), round(change.high, 3)
    (0.15, -0.009, 0.331)
    """
    d = differences(baseline, other)
    share(level, "level")
    a = finite(baseline, n_axes=1, what="the baseline's values")
    rise, base = mean_error(d, clusters=clusters), mean_error(a, clusters=clusters)
    if not rise.n or not base.mean:
        why = "no questions" if not rise.n else "the baseline's mean is 0"
        return RelativeChange(math.nan, math.nan, math.nan, level, why)
    change = rise.mean / base.mean
    if rise.reason:
        return RelativeChange(change, math.nan, math.nan, level, rise.reason)
    t = t_quantile((1 + level) / 2, rise.df)
    if abs(base.mean) <= t * base.error:
        return RelativeChange(
            change, math.nan, math.nan, level, "the baseline's mean may be 0 by chance, so no ratio to it is bounded"
        )
    # The ends are the r at which the t statistic of d - r a is t: a quadratic in r, solved by what is left over of d.
    # Its own coefficients cancel each other where that is nothing, such as of a price in proportion to tokens.
    left = d - change * a
    error = mean_error(left, clusters=clusters).error
    covariance = mean_covariance(a - base.mean, left, clusters=clusters)
    square = base.mean**2 - t**2 * base.error**2
    half = t * math.sqrt(max(0.0, square * error**2 + (t * covariance) ** 2))
    low, high = ((-(t**2) * covariance + sign * half) / square for sign in (-1, 1))
    return RelativeChange(change, change + low, change + high, level)
