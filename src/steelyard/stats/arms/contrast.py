"""Contrasts: a value of two arms, and what is known of their difference."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Literal, Protocol

from steelyard.stats.intervals.inversion import least_tail
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import share, t_sf

_NORMAL = NormalDist()
Sides = Literal["two", "greater", "less"]
"""Of a test: the difference is not the null, is greater than it, is less than it."""


class Contrast(Protocol):
    """A value of a baseline and of another arm, with what is known of the difference, other less baseline.

    baseline, other   values; NaN where an arm has none
    difference        other - baseline, after adjustment where there is one
    error             standard error of the difference; NaN where unknown
    n_baseline, n_other   independent units
    method            how it was computed: "delta", "cuped", "newcombe", "exact", "percentile", ...
    details           what else is worth saying, such as {"variance_kept": 0.7}
    """

    @property
    def baseline(self) -> float: ...  # noqa: D102
    @property
    def other(self) -> float: ...  # noqa: D102
    @property
    def difference(self) -> float: ...  # noqa: D102
    @property
    def error(self) -> float: ...  # noqa: D102
    @property
    def n_baseline(self) -> int: ...  # noqa: D102
    @property
    def n_other(self) -> int: ...  # noqa: D102
    @property
    def method(self) -> str: ...  # noqa: D102
    @property
    def details(self) -> dict[str, Any]: ...  # noqa: D102

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Both ends of the difference, NaN where there are none."""

    def p(self, null: float = 0.0, sides: Sides = "two") -> float:
        """p of a difference that is the null; NaN where there is no test."""

    def relative(self, level: float = 0.95) -> tuple[float, float, float]:
        """Difference over the baseline, and both ends of it; NaN where the baseline is not clearly above 0."""


@dataclass(frozen=True, kw_only=True)
class Normal:
    """A contrast of two independent estimates whose difference is about normal: a `Contrast`.

    difference            other - baseline unless it is adjusted
    baseline_error, error   standard errors of the baseline's value, and of the difference
    covariance            of the baseline's value and the difference: -baseline_error**2 where the arms are independent
    df                    degrees of freedom of the error
    """

    baseline: float
    other: float
    difference: float
    error: float
    n_baseline: int
    n_other: int
    baseline_error: float = math.nan
    covariance: float = math.nan
    df: float = math.inf
    method: str = "delta"
    details: dict[str, Any] = field(default_factory=dict)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Both ends of the difference by Student's t, NaN where there is no error.

        >>> contrast = Normal(baseline=1, other=1.5, difference=0.5, error=0.2, n_baseline=90, n_other=90)
        >>> [round(end, 3) for end in contrast.interval()], round(contrast.p(), 4)
        ([0.108, 0.892], 0.0124)
        """
        if not self.error > 0:
            return math.nan, math.nan
        half = self._quantile(level) * self.error
        return self.difference - half, self.difference + half

    def _quantile(self, level: float) -> float:
        share(level, "level")
        return _NORMAL.inv_cdf((1 + level) / 2) if math.isinf(self.df) else t_quantile((1 + level) / 2, self.df)

    def p(self, null: float = 0.0, sides: Sides = "two") -> float:
        """p of a difference that is the null; NaN where there is no error."""
        if not self.error > 0:
            return math.nan
        t = (self.difference - null) / self.error
        if sides == "two":
            return min(2 * t_sf(abs(t), self.df), 1.0)
        return t_sf(t if sides == "greater" else -t, self.df)

    def relative(self, level: float = 0.95) -> tuple[float, float, float]:
        """Difference over the baseline with both ends by Fieller's theorem: NaN where the baseline may be 0 or less.

        Source   Fieller, Some Problems in Interval Estimation, JRSS B 1954.

        >>> contrast = Normal(baseline=1, other=1.5, difference=0.5, error=0.2, n_baseline=90, n_other=90,
        ...                   baseline_error=0.1, covariance=-0.01)
        >>> [round(value, 3) for value in contrast.relative()]
        [0.5, 0.098, 1.022]
        """
        nothing = math.nan, math.nan, math.nan
        base, base_error = self.baseline, self.baseline_error
        if not (self.error > 0 and base_error >= 0 and base > 0):
            return nothing
        q = self._quantile(level)
        g = (q * base_error / base) ** 2
        if g >= 1:
            return nothing
        ratio, cross = self.difference / base, self.covariance / base**2
        errors = (self.error / base) ** 2, (base_error / base) ** 2
        centre = ratio - q**2 * cross
        inside = centre**2 - (1 - g) * (ratio**2 - q**2 * errors[0])
        half = math.sqrt(max(inside, 0.0))
        return ratio, (centre - half) / (1 - g), (centre + half) / (1 - g)


class ArmInterval(Protocol):
    """What is known of the value of one arm by itself."""

    def ends_between(self, level: float) -> tuple[float, float]:
        """Both ends of its interval; infinite where there are none."""


@dataclass(frozen=True, kw_only=True)
class Separate:
    """A contrast of two independent arms, each of which has an interval of its own: a `Contrast`.

    Its p inverts its interval, so that both always agree.

    arms     of the baseline and of the other arm
    error    standard error of the difference; NaN where unknown, which leaves the interval as it is
    Source   Zou & Donner, Construction of Confidence Limits about Effect Measures, Statistics in Medicine 2008.  Of two
             shares with Wilson's intervals it is method 10 of Newcombe, Interval Estimation for the Difference between
             Independent Proportions, Statistics in Medicine 1998.
    """

    baseline: float
    other: float
    error: float
    n_baseline: int
    n_other: int
    arms: tuple[ArmInterval, ArmInterval]
    method: str
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def difference(self) -> float:
        """Other less baseline."""
        return self.other - self.baseline

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Both ends: as far away as those of both arms together, by Pythagoras; NaN where there are none."""
        (base_low, base_high), (low, high) = self._ends(level)
        down = math.hypot(self.other - low, base_high - self.baseline)
        up = math.hypot(high - self.other, self.baseline - base_low)
        low, high = self.difference - down, self.difference + up
        return (low, high) if math.isfinite(high - low) else (math.nan, math.nan)

    def _ends(self, level: float) -> list[tuple[float, float]]:
        return [arm.ends_between(share(level, "level")) for arm in self.arms]

    def p(self, null: float = 0.0, sides: Sides = "two") -> float:
        """p of a difference that is the null: the least level at which the interval leaves it out."""
        above = least_tail(self.interval, lambda low, _: low > null) if sides != "less" else 1.0
        below = least_tail(self.interval, lambda _, high: high < null) if sides != "greater" else 1.0
        return min(1.0, 2 * min(above, below)) if sides == "two" else min(above, below)

    def relative(self, level: float = 0.95) -> tuple[float, float, float]:
        """Difference over the baseline with both ends; NaN where the baseline may be 0.

        Source   Donner & Zou, Closed-Form Confidence Intervals for Functions of the Normal Mean and Standard Deviation,
                 Statistical Methods in Medical Research 2012: the ratio of two values, from their intervals.
        """
        (base_low, base_high), (low, high) = self._ends(level)
        base, product = self.baseline, self.baseline * self.other
        if not (base > 0 and base_low > 0 and math.isfinite(base_high + low + high)):
            return math.nan, math.nan, math.nan
        below, above = low * (2 * self.other - low), high * (2 * self.other - high)
        least, most = base_high * (2 * base - base_high), base_low * (2 * base - base_low)
        lower = below / (product + math.sqrt(max(product**2 - below * least, 0.0))) if below else 0.0
        upper = (product + math.sqrt(max(product**2 - above * most, 0.0))) / most
        return self.difference / base, lower - 1, upper - 1


def unknown(values: tuple[float, float], counts: tuple[int, int], method: str, **details: Any) -> Normal:
    """Two values, of whose difference nothing more is known; NaN where an arm has none.

    values, counts   of the baseline and of the other arm;   details   such as reason="empty_arm"
    """
    return Normal(
        baseline=values[0], other=values[1], difference=values[1] - values[0], error=math.nan, n_baseline=counts[0],
        n_other=counts[1], method=method, details=details,
    )  # fmt: skip


def lacking(counts: tuple[int, int]) -> str | None:
    """Why so many units of two arms cannot be compared, or None."""
    return "empty_arm" if not all(counts) else "few_units" if min(counts) < 2 else None
