"""The ratio of two arms, such as clicks over impressions, with users as units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.stats.arms.contrast import Contrast, Normal, lacking, unknown
from steelyard.stats.arms.shares import Trials
from steelyard.stats.samples import ROUNDING, share

Covariate = Floats | tuple[Floats, Floats]
"""(u,) values of the units before the experiment, or numerators and denominators of a ratio."""


def ratio_contrast(
    arm: Ints, numerator: Floats, denominator: Floats, *, baseline: int = 0, other: int = 1,
    before: Covariate | None = None, strata: Ints | None = None, winsorise: float | None = None,
) -> Contrast:  # fmt: skip
    """The ratio of an arm, sum of numerators over sum of denominators, less that of the baseline.

    arm          (u,) place of the arm of each unit; units of other arms than these two do not count
    numerator, denominator   (u,) finite sums of each unit; units whose denominator is 0 do not count
    before       the same of each unit before the experiment, 0 and 0 of one that was not there, or one value a unit:
                 what it foretells is taken off (CUPED)
    strata       (u,) codes from 0 of kinds of units: the arms are compared kind by kind, each kind with its share of
                 both arms together.  Kinds with fewer than two units in an arm count as one
    winsorise    share of the units, such as 0.999: a ratio of a unit that is above it is taken as equal to it
    Returns      by the delta method (method "delta", "cuped", "stratified"): the interval is Student's with Welch's
                 degrees of freedom.  Where all trials are 0 or 1, few units with a 1, or without one, make it "exact",
                 and one trial a unit, without `before` and `strata`, "newcombe".
                 details: "variance_kept", of the variance without `before` and `strata`; "rho", correlation with
                 `before`; "n_strata"; "winsorised", units that were; "reason", why there is no interval: "empty_arm",
                 "few_units", "no_variance"; "skewness", of the difference: 0 of arms of the same size
    Raises       InputError for arrays of different lengths, values that are not finite, denominators below 0
    Source       Deng, Knoblich & Lu, Applying the Delta Method in Metric Analytics, KDD 2018; Deng, Xu, Kohavi &
                 Walker, Improving the Sensitivity of Online Controlled Experiments by Utilizing Pre-Experiment Data,
                 WSDM 2013.

    >>> arm = np.array([0, 0, 0, 1, 1, 1])
    >>> clicks, impressions = np.array([1.0, 2.0, 0.0, 3.0, 2.0, 4.0]), np.array([4.0, 5.0, 3.0, 5.0, 4.0, 6.0])
    >>> contrast = ratio_contrast(arm, clicks, impressions)
    >>> contrast.baseline, contrast.other, round(contrast.error, 3), contrast.method
    (0.25, 0.6, 0.118, 'delta')
    """
    units = _Units.of(arm, numerator, denominator, places=(baseline, other), before=before, strata=strata)
    counts = int((~units.is_other).sum()), int(units.is_other.sum())
    if reason := lacking(counts):
        return unknown(units.ratios, counts, "delta", reason=reason)
    trials = Trials.of(units.is_other, units.numerator, units.denominator)
    if trials and (trials.are_rare or (trials.are_single and units.before is None and strata is None)):
        return trials.contrast()
    return _adjusted(units if winsorise is None else units.winsorised(winsorise), counts)


@dataclass(frozen=True, eq=False)
class _Units:
    """Units of two arms that have a ratio.

    is_other       (u,) whether a unit is of the other arm
    before         (u,) value before the experiment; None where there is none, or all are equal
    n_winsorised   units whose ratio is another than it was; None where that was not asked for
    """

    is_other: Bools
    numerator: Floats
    denominator: Floats
    before: Floats | None
    strata: Ints | None
    n_winsorised: int | None = None

    @classmethod
    def of(
        cls, arm: Ints, numerator: Floats, denominator: Floats, *, places: tuple[int, int], before: Covariate | None,
        strata: Ints | None,
    ) -> _Units:  # fmt: skip
        """Check the arrays, and leave out units of other arms, and those without a denominator."""
        pair = before if isinstance(before, tuple) else None if before is None else (before, np.ones(len(arm)))
        columns = {"numerators": numerator, "denominators": denominator}
        if pair is not None:
            columns |= {"numerators before": pair[0], "denominators before": pair[1]}
        for name, values in columns.items():
            _check(name, values, len(arm))
        counts = ((arm == places[0]) | (arm == places[1])) & (denominator > 0)
        own = None if pair is None else linearised(pair[0][counts], pair[1][counts])
        if own is not None and (not len(own) or np.ptp(own) <= ROUNDING * np.abs(own).max()):
            own = None
        kinds = None if strata is None else strata[counts]
        return cls(arm[counts] == places[1], numerator[counts], denominator[counts], own, kinds)

    @cached_property
    def ratios(self) -> tuple[float, float]:
        """Ratio of the baseline and of the other arm; NaN without units."""
        sums = (np.bincount(self.is_other, values, 2) for values in (self.numerator, self.denominator))
        (a, b), (n, m) = sums
        return float(a / n) if n else math.nan, float(b / m) if m else math.nan

    def winsorised(self, at: float) -> _Units:
        """The same, with ratios above that share of all units equal to it."""
        own = self.numerator / self.denominator
        cap = float(np.quantile(own, share(at, "winsorise")))
        is_above = own > cap
        numerator = np.where(is_above, cap * self.denominator, self.numerator)
        return _Units(
            self.is_other, numerator, self.denominator, self.before, self.strata, n_winsorised=int(is_above.sum())
        )


def _check(name: str, values: Floats, n: int) -> None:
    if len(values) != n:
        raise InputError(f"{len(values)} {name} of {n} units; expected one each")
    if not np.isfinite(values).all():
        raise InputError(f"{name} hold {int((~np.isfinite(values)).sum())} values that are not finite")
    if name.startswith("denominators") and len(values) and values.min() < 0:
        raise InputError(f"{name} hold {values.min():g}; expected sums from 0, such as impressions")


def linearised(numerator: Floats, denominator: Floats) -> Floats:
    """(u,) values whose mean is the ratio of sums, and whose spread is that of the ratio by the delta method.

    >>> linearised(np.array([1.0, 2.0, 0.0]), np.array([4.0, 5.0, 3.0])).tolist()
    [0.25, 0.4375, 0.0625]
    """
    total = float(denominator.sum())
    if not total:
        return np.zeros(len(numerator))
    ratio = float(numerator.sum()) / total
    return np.asarray(ratio + (numerator - ratio * denominator) * (len(numerator) / total))


def _adjusted(units: _Units, counts: tuple[int, int]) -> Contrast:
    """The difference of linearised values, kind by kind, less what the time before foretells."""
    values, ratios = np.empty(len(units.numerator)), units.ratios
    for side in (units.is_other, ~units.is_other):
        values[side] = linearised(units.numerator[side], units.denominator[side])
    cells, plain = _Cells.of(units.is_other, units.strata), _Cells.of(units.is_other, None).parts(values)[0]
    slope = _Slope.of(cells, values, units.before)
    parts = cells.parts(slope.left)
    square = float(parts.sum()) + slope.variance
    details: dict[str, Any] = {} if units.n_winsorised is None else {"winsorised": units.n_winsorised}
    if square <= ROUNDING**2 * float((values**2).max()):
        return unknown(ratios, counts, "delta", **details, reason="no_variance")
    if slope.is_used:
        details["rho"] = slope.rho
    if units.strata is not None:
        details["n_strata"] = len(cells.n)
    if slope.is_used or units.strata is not None:
        details["variance_kept"] = square / float(plain.sum())
    details["skewness"] = cells.third_moment(slope.left) / square**1.5
    return Normal(
        baseline=ratios[0], other=ratios[1], difference=cells.difference(values) - slope.shift,
        error=math.sqrt(square), n_baseline=counts[0], n_other=counts[1], baseline_error=math.sqrt(float(plain[0])),
        covariance=-cells.shared(values, slope.left), df=cells.degrees_of_freedom(parts, slope.is_used),
        method="cuped" if slope.is_used else "delta" if units.strata is None else "stratified", details=details,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Slope:
    """What values before the experiment foretell, by one slope in all cells.

    left       (u,) values less what is foretold;   shift   what is foretold of the difference
    variance   of the shift, for the error of the slope;   rho   correlation in the cells; NaN without values before
    """

    left: Floats
    shift: float = 0.0
    variance: float = 0.0
    rho: float = math.nan

    @property
    def is_used(self) -> bool:
        """Whether there is anything from before."""
        return not math.isnan(self.rho)

    @classmethod
    def of(cls, cells: _Cells, values: Floats, before: Floats | None) -> _Slope:
        """By least squares."""
        if before is None:
            return cls(values)
        y, x = cells.centred(values), cells.centred(before)
        own, products, squares = float((y**2).sum()), float((x * y).sum()), float((x**2).sum())
        if squares <= ROUNDING * float((before**2).sum()) or not own:
            return cls(values)
        theta, shift, left = products / squares, cells.difference(before), y - products / squares * x
        variance = shift**2 * float((left**2).sum()) / max(len(y) - 3, 1) / squares
        return cls(left, theta * shift, variance, products / math.sqrt(squares * own))


@dataclass(frozen=True, eq=False)
class _Cells:
    """Units by kind and arm.

    code      (u,) cell of each unit: twice the kind, and 1 more in the other arm
    n         (s, 2) units;   weight   (s,) share of each kind among the units of both arms
    """

    code: Ints
    n: Floats

    @classmethod
    def of(cls, is_other: Bools, strata: Ints | None) -> _Cells:
        """Number the cells; kinds with less than two units in an arm are one, if need be with the largest other."""
        if strata is None:
            return cls(is_other.astype(np.int64), np.bincount(is_other, minlength=2)[None].astype(np.float64))
        n = np.bincount(2 * strata + is_other, minlength=2 * (int(strata.max()) + 1)).reshape(-1, 2)
        small = n.min(axis=1) < 2
        if small.any() and n[small].sum(axis=0).min() < 2:
            small[np.where(small, -1, n.sum(axis=1)).argmax()] = True
        place = np.where(small, 0, np.cumsum(~small) - (0 if small.any() else 1))
        code = 2 * place[strata] + is_other
        return cls(code, np.bincount(code, minlength=2).reshape(-1, 2).astype(np.float64))

    @cached_property
    def weight(self) -> Floats:
        return np.asarray(self.n.sum(axis=1) / self.n.sum())

    def means(self, values: Floats) -> Floats:
        """(s, 2) means."""
        return np.asarray(np.bincount(self.code, values, self.n.size).reshape(-1, 2) / self.n)

    def centred(self, values: Floats) -> Floats:
        """(u,) values less the mean of their cell."""
        return np.asarray(values - self.means(values).ravel()[self.code])

    def difference(self, values: Floats) -> float:
        """Mean of the other arm less that of the baseline, kind by kind."""
        means = self.means(values)
        return float((self.weight * (means[:, 1] - means[:, 0])).sum())

    def parts(self, values: Floats) -> Floats:
        """(s, 2) what each cell adds to the variance of the difference."""
        return np.asarray(self.weight[:, None] ** 2 * self._mean_products(values, values))

    def third_moment(self, values: Floats) -> float:
        """Third central moment of the difference, where values have the same shape in both arms of a kind."""
        cubes = np.bincount(self.code, self.centred(values) ** 3, self.n.size).reshape(-1, 2)
        shape = cubes.sum(axis=1) / self.n.sum(axis=1)
        return float((self.weight**3 * shape * (self.n[:, 1] ** -2 - self.n[:, 0] ** -2)).sum())

    def shared(self, values: Floats, left: Floats) -> float:
        """Covariance of the baseline's own mean, and of its mean kind by kind after adjustment."""
        own = self.n[:, 0] / self.n[:, 0].sum()
        return float((own * self.weight * self._mean_products(values, left)[:, 0]).sum())

    def _mean_products(self, first: Floats, second: Floats) -> Floats:
        """(s, 2) covariance of two means of each cell."""
        products = self.centred(first) * self.centred(second)
        return np.asarray(np.bincount(self.code, products, self.n.size).reshape(-1, 2) / (self.n * (self.n - 1)))

    def degrees_of_freedom(self, parts: Floats, is_adjusted: bool) -> float:
        """Welch's, of as many cells, less one for a covariate."""
        df = float(parts.sum() ** 2 / (parts**2 / (self.n - 1)).sum())
        return max(df - is_adjusted, 1.0)
