"""Not worse, and as good as: tests that ask for evidence of likeness, with a margin that matters.

A p above 0.05 in a test of difference is no evidence that nothing was lost; these are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy.typing as npt

from steelyard.base.errors import InputError
from steelyard.stats.samples import NO_SPREAD, Clusters, MeanError, finite, mean_error, share, t_quantile, t_sf


@dataclass(frozen=True)
class NonInferiority:
    """Whether B is worse than A by less than the margin.

    difference   mean of B less A;   low   its one-sided lower limit at level 1 - alpha
    p            of the hypothesis that B is worse by the margin or more; NaN where there is no test (see reason)
    not_worse    whether low lies above -margin; for an alpha it is the same as p < alpha
    """

    difference: float
    low: float
    p: float
    margin: float
    alpha: float
    n: int
    not_worse: bool
    reason: str | None = None


@dataclass(frozen=True)
class Equivalence:
    """Whether B differs from A by less than the margin, either way.

    low, high      ends of the interval at level 1 - 2 alpha
    p_low, p_high  of the hypotheses that the difference is -margin or less, margin or more;   p   the larger
    equivalent     whether the interval lies within the margins
    """

    difference: float
    low: float
    high: float
    p_low: float
    p_high: float
    p: float
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

    >>> found = non_inferiority([0.01, -0.02, 0.0, 0.01, -0.01], margin=0.02)
    >>> found.not_worse, round(found.low, 4), round(found.p, 4)
    (True, -0.0144, 0.0183)
    """
    found = _measured(d, margin, alpha, clusters)
    if found.reason:
        return NonInferiority(found.mean, math.nan, math.nan, margin, alpha, found.n, False, found.reason)
    if found.flat:
        return NonInferiority(
            found.mean, found.mean, math.nan, margin, alpha, found.n, found.mean > -margin, NO_SPREAD
        )  # fmt: skip
    low = found.mean - t_quantile(1 - alpha, found.df) * found.error
    p = t_sf((found.mean + margin) / found.error, found.df)
    return NonInferiority(found.mean, low, p, margin, alpha, found.n, low > -margin)


def tost(d: npt.ArrayLike, *, margin: float, alpha: float = 0.05, clusters: Clusters | None = None) -> Equivalence:
    """Two one-sided t tests that B and A differ by less than the margin, either way.

    d         (n,) differences;   margin   above 0, in the measure's unit
    Returns   no verdict (False, NaN) for one query or cluster; all differences equal: as in `non_inferiority`
    Raises    InputError for NaN, a margin that is not above 0, alpha outside (0, 0.5)
    Source    Schuirmann 1987; Lakens, Equivalence Tests, SPPS 2017.

    >>> found = tost([0.01, -0.02, 0.0, 0.01, -0.01], margin=0.02)
    >>> found.equivalent, round(found.p, 4)
    (True, 0.0183)
    """
    found = _measured(d, margin, alpha, clusters)
    if alpha >= 0.5:
        raise InputError(f"alpha is {alpha}, expected below 0.5: the interval's level is 1 - 2 alpha")
    nothing = math.nan
    if found.reason:
        return Equivalence(
            found.mean, nothing, nothing, nothing, nothing, nothing, margin, alpha, found.n, False, found.reason
        )  # fmt: skip
    if found.flat:
        within = abs(found.mean) < margin
        return Equivalence(
            found.mean, found.mean, found.mean, nothing, nothing, nothing, margin, alpha, found.n, within, NO_SPREAD
        )  # fmt: skip
    half = t_quantile(1 - alpha, found.df) * found.error
    low, high = found.mean - half, found.mean + half
    p_low = t_sf((found.mean + margin) / found.error, found.df)
    p_high = t_sf((margin - found.mean) / found.error, found.df)
    return Equivalence(
        found.mean, low, high, p_low, p_high, max(p_low, p_high), margin, alpha, found.n,
        -margin < low and high < margin,
    )  # fmt: skip


def _measured(d: npt.ArrayLike, margin: float, alpha: float, clusters: Clusters | None) -> MeanError:
    if not (margin > 0 and math.isfinite(margin)):
        raise InputError(f"the margin is {margin}, expected a number above 0: the smallest loss that matters")
    share(alpha, "alpha")
    return mean_error(finite(d, n_axes=1, what="differences"), clusters=clusters)
