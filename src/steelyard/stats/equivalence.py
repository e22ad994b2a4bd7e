"""Not worse, and as good as: tests that ask for evidence of likeness, with a margin that matters.

A p above 0.05 in a test of difference is no evidence that nothing was lost; these are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy.typing as npt

from steelyard.base.errors import InputError
from steelyard.stats.samples import NO_SPREAD, Clusters, MeanError, finite, mean_error, share, t_quantile, t_sf


@dataclass(frozen=True, kw_only=True)
class NonInferiority:
    """Whether B is worse than A by less than the margin.

    difference   mean of B less A;   low   its one-sided lower limit at level 1 - alpha
    p            of the hypothesis that B is worse by the margin or more; NaN where there is no test (see reason)
    not_worse    whether low lies above -margin; for an alpha it is the same as p < alpha
    """

    difference: float
    low: float = math.nan
    p: float = math.nan
    margin: float
    alpha: float
    n: int
    not_worse: bool
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """Whether B differs from A by less than the margin, either way.

    low, high      ends of the interval at level 1 - 2 alpha
    p_low, p_high  of the hypotheses that the difference is -margin or less, margin or more;   p   the larger
    equivalent     whether the interval lies within the margins
    """

    difference: float
    low: float = math.nan
    high: float = math.nan
    p_low: float = math.nan
    p_high: float = math.nan
    p: float = math.nan
    margin: float
    alpha: float
    n: int
    equivalent: bool
    reason: str | None = None


def non_inferiority(
    d: npt.ArrayLike, *, margin: float, alpha: float = 0.05, clusters: Clusters | None = None
) -> NonInferiority:
    """One-sided t test that B is not worse than A by the margin: what "no regression" means.

    d         (n,) differences, B less A, larger being better;   margin   above 0, in the measure's unit
    Returns   no verdict (False, NaN) for one query or cluster.  Where all differences are equal there is no p, and the
              verdict is that of the difference itself: two systems that never differ are not worse than each other.
    Raises    InputError for NaN, a margin that is not above 0, alpha outside (0, 1)
    Source    Walker & Nowacki, Understanding Equivalence and Noninferiority Testing, JGIM 2011.

    >>> test = non_inferiority([0.01, -0.02, 0.0, 0.01, -0.01], margin=0.02)
    >>> test.not_worse, round(test.low, 4), round(test.p, 4)
    (True, -0.0144, 0.0183)
    """
    average = _average(d, margin, alpha, clusters)
    result = partial(NonInferiority, difference=average.mean, margin=margin, alpha=alpha, n=average.n)
    if average.reason:
        return result(not_worse=False, reason=average.reason)
    if average.flat:
        return result(low=average.mean, not_worse=average.mean > -margin, reason=NO_SPREAD)
    low = average.mean - t_quantile(1 - alpha, average.df) * average.error
    p = t_sf((average.mean + margin) / average.error, average.df)
    return result(low=low, p=p, not_worse=low > -margin)


def tost(d: npt.ArrayLike, *, margin: float, alpha: float = 0.05, clusters: Clusters | None = None) -> Equivalence:
    """Two one-sided t tests that B and A differ by less than the margin, either way.

    d         (n,) differences;   margin   above 0, in the measure's unit
    Returns   no verdict (False, NaN) for one query or cluster; all differences equal: as in `non_inferiority`
    Raises    InputError for NaN, a margin that is not above 0, alpha outside (0, 0.5)
    Source    Schuirmann 1987; Lakens, Equivalence Tests, SPPS 2017.

    >>> test = tost([0.01, -0.02, 0.0, 0.01, -0.01], margin=0.02)
    >>> test.equivalent, round(test.p, 4)
    (True, 0.0183)
    """
    average = _average(d, margin, alpha, clusters)
    if alpha >= 0.5:
        raise InputError(f"alpha is {alpha}, expected below 0.5: the interval's level is 1 - 2 alpha")
    result = partial(Equivalence, difference=average.mean, margin=margin, alpha=alpha, n=average.n)
    if average.reason:
        return result(equivalent=False, reason=average.reason)
    if average.flat:
        within = abs(average.mean) < margin
        return result(low=average.mean, high=average.mean, equivalent=within, reason=NO_SPREAD)
    half = t_quantile(1 - alpha, average.df) * average.error
    low, high = average.mean - half, average.mean + half
    p_low = t_sf((average.mean + margin) / average.error, average.df)
    p_high = t_sf((margin - average.mean) / average.error, average.df)
    within = -margin < low and high < margin
    return result(low=low, high=high, p_low=p_low, p_high=p_high, p=max(p_low, p_high), equivalent=within)


def _average(d: npt.ArrayLike, margin: float, alpha: float, clusters: Clusters | None) -> MeanError:
    if not (margin > 0 and math.isfinite(margin)):
        raise InputError(f"the margin is {margin}, expected a number above 0: the smallest loss that matters")
    share(alpha, "alpha")
    return mean_error(finite(d, n_axes=1, what="differences"), clusters=clusters)
