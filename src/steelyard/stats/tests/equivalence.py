"""Not worse, and as good as: tests that ask for evidence of likeness, with a margin that matters.

A p above 0.05 in a test of difference is no evidence that nothing was lost; these are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.stats.intervals.unseen import UnseenLoss
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import NO_SPREAD, Clusters, MeanError, finite, mean_error, share, t_sf

IDENTICAL = "both gave the same results: there is nothing that could have been lost"


@dataclass(frozen=True, kw_only=True)
class NonInferiority:
    """True if B is worse than A by less than the margin.

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
    """True if B differs from A by less than the margin, either way.

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
    d: npt.ArrayLike, *, margin: float, width: float | None = None, alpha: float = 0.05,
    clusters: Clusters | None = None, identical: bool = False,
) -> NonInferiority:  # fmt: skip
    """One-sided test that B is not worse than A by the margin: what "no regression" means.

    A t test, and with a width also one that allows for a loss which no question has shown yet (see `UnseenLoss`): both
    must rule out the margin.

    d          (n,) differences, B less A, larger being better;   margin   above 0, in the measure's unit
    width      the largest difference that one question can have: 1 for a measure from 0 to 1.  Infinite: the largest
               seen; None: t alone
    identical  whether A and B gave the same lists: where all differences are 0 too, there is nothing to lose, and no p
    Returns    no verdict (False, NaN) for one query or cluster, for equal differences without a width, and for those
               that are all 0 with an infinite one
    Raises     InputError for NaN, a margin or a width that is not above 0, alpha outside (0, 1)
    Source     Walker & Nowacki, Understanding Equivalence and Noninferiority Testing, JGIM 2011.

    >>> test = non_inferiority([0.01, -0.02, 0.0, 0.01, -0.01], margin=0.02)
    >>> test.not_worse, round(test.low, 4), round(test.p, 4)
    (True, -0.0144, 0.0183)
    >>> [non_inferiority([0.0] * n, margin=0.02, width=1).not_worse for n in (100, 150)]
    [False, True]
    """
    values, average = _average(d, margin, width, clusters)
    share(alpha, "alpha")
    result = partial(NonInferiority, difference=average.mean, margin=margin, alpha=alpha, n=average.n)
    if average.reason:
        return result(not_worse=False, reason=average.reason)
    if identical and not values.any():
        return result(low=0.0, not_worse=True, reason=IDENTICAL)
    low, p = _low(values, average, width, alpha, clusters), loss_p(d, margin=margin, width=width, clusters=clusters)
    return result(low=low, p=p, not_worse=p < alpha, reason=NO_SPREAD if math.isnan(p) else None)


def tost(
    d: npt.ArrayLike, *, margin: float, width: float | None = None, alpha: float = 0.05,
    clusters: Clusters | None = None, identical: bool = False,
) -> Equivalence:  # fmt: skip
    """Two one-sided tests that B and A differ by less than the margin, either way.

    d         (n,) differences;   margin   above 0, in the measure's unit
    width, identical   as of `non_inferiority`, whose tests these are
    Returns   no verdict (False, NaN) where `non_inferiority` has none
    Raises    InputError for NaN, a margin or a width that is not above 0, alpha outside (0, 0.5)
    Source    Schuirmann 1987; Lakens, Equivalence Tests, SPPS 2017.

    >>> test = tost([0.01, -0.02, 0.0, 0.01, -0.01], margin=0.02)
    >>> test.equivalent, round(test.p, 4)
    (True, 0.0183)
    """
    values, average = _average(d, margin, width, clusters)
    if share(alpha, "alpha") >= 0.5:
        raise InputError(f"alpha is {alpha}, expected below 0.5: the interval's level is 1 - 2 alpha")
    result = partial(Equivalence, difference=average.mean, margin=margin, alpha=alpha, n=average.n)
    if average.reason:
        return result(equivalent=False, reason=average.reason)
    if identical and not values.any():
        return result(low=0.0, high=0.0, equivalent=True, reason=IDENTICAL)
    mirrored = replace(average, mean=-average.mean)
    low, high = _low(values, average, width, alpha, clusters), _low(-values, mirrored, width, alpha, clusters)
    p_low, p_high = (loss_p(x, margin=margin, width=width, clusters=clusters) for x in (values, -values))
    p = max(p_low, p_high)
    return result(
        low=low, high=-high, p_low=p_low, p_high=p_high, p=p, equivalent=p < alpha,
        reason=NO_SPREAD if math.isnan(p) else None,
    )  # fmt: skip


def loss_p(d: npt.ArrayLike, *, margin: float, width: float | None = None, clusters: Clusters | None = None) -> float:
    """p of `non_inferiority` alone, several times as fast as with its limit: that of the test which says less.

    d         (n,) differences;   margin, width, clusters   as of `non_inferiority`
    Returns   NaN where there is no test
    Raises    InputError as `non_inferiority` does

    >>> round(loss_p([0.01, -0.02, 0.0, 0.01, -0.01], margin=0.02), 4)
    0.0183
    """
    values, average = _average(d, margin, width, clusters)
    p = math.nan
    if average.reason:
        return p
    if not average.flat:
        p = t_sf((average.mean + margin) / average.error, average.df)
    unseen = _unseen(values, width, clusters)
    return p if unseen is None else float(np.fmax(p, unseen.p(-margin)))


def _low(d: Floats, average: MeanError, width: float | None, alpha: float, clusters: Clusters | None) -> float:
    """The lower limit of the mean: of both tests, the one that says less."""
    low = math.nan if average.flat else average.mean - t_quantile(1 - alpha, average.df) * average.error
    unseen = _unseen(d, width, clusters)
    return low if unseen is None else float(np.fmin(low, unseen.low(alpha)))


def _unseen(d: Floats, width: float | None, clusters: Clusters | None) -> UnseenLoss | None:
    seen = width is not None and (math.isfinite(width) or d.any())
    return UnseenLoss.of(d, width=width or math.inf, clusters=clusters) if seen else None


def _average(
    d: npt.ArrayLike, margin: float, width: float | None, clusters: Clusters | None
) -> tuple[Floats, MeanError]:
    if not (margin > 0 and math.isfinite(margin)):
        raise InputError(f"the margin is {margin}, expected a number above 0: the smallest loss that matters")
    if width is not None and not width > 0:
        raise InputError(f"the width is {width}, expected a number above 0: the largest difference of one question")
    values = finite(d, n_axes=1, what="differences")
    return values, mean_error(values, clusters=clusters)
