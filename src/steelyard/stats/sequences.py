"""Inference at any time: intervals and p that hold however often, and whenever, one looks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.stats.arms.contrast import Contrast, Sides
from steelyard.stats.samples import SMALLEST_P, finite, share

_NORMAL = NormalDist()
_TUNED_ALPHA = 0.05
"""Level at which sequences are tightest, whatever level is asked for, so that p and interval agree."""
_TUNED = -2 * math.log(_TUNED_ALPHA) + math.log(-2 * math.log(_TUNED_ALPHA) + 1)
"""rho**2 times the number of units at which a sequence of that level is tightest."""
_MOST_BET, _HALVINGS = 0.5, 40
"""Share of the capital that is bet at most, and steps in which an end is searched."""
_FARTHEST = 7.0
"""Errors beyond which a quantile cannot be computed from a level near 1."""


def errors_at_any_time(n: float, n_tuned: float, level: float = 0.95) -> float:
    """Half the width of an always-valid interval, in standard errors: 1.96 for a single look at 95%, here more.

    n         independent units so far
    n_tuned   units for which the interval is as narrow as it can be, fixed before the first look: those expected at the
              horizon
    Returns   a number above 3 for 95%, which is least at n_tuned and grows slowly on either side
    Raises    InputError for numbers that are not above 0
    Source    the boundary of the mixture of Robbins (1970), in Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas,
              Time-uniform central limit theory and asymptotic confidence sequences, Annals of Statistics 2024

    >>> [round(errors_at_any_time(n, 10_000), 2) for n in (500, 5_000, 10_000, 50_000)]
    [4.72, 3.08, 3.04, 3.15]
    """
    growth = _growth(n, n_tuned)
    return math.sqrt((1 + growth) / growth * (math.log1p(growth) - 2 * math.log1p(-share(level, "level"))))


def p_at_any_time(p: float, n: float, n_tuned: float, sides: Sides = "two") -> float:
    """The p of one look made always valid: below alpha at any look, however many there are, in alpha of cases at most.

    p         of the contrast at this look, of these sides;   n, n_tuned   as in `errors_at_any_time`
    Returns   a p of at most 1, NaN where p is.  Two-sided it is below alpha where the interval of 1 - alpha
              excludes the null; one-sided it is half of that, and somewhat more near the null

    >>> round(p_at_any_time(0.01, 10_000, 10_000), 3), round(p_at_any_time(0.0001, 10_000, 10_000), 4)
    (0.157, 0.0036)
    """
    growth = _growth(n, n_tuned)
    if math.isnan(p):
        return p
    tail = max(p, SMALLEST_P) / 2 if sides == "two" else max(p, SMALLEST_P)
    if tail >= 0.5:
        return 1.0
    z = -_NORMAL.inv_cdf(max(tail, SMALLEST_P)) * math.sqrt(growth / (1 + growth))
    evidence = z * z / 2 - math.log1p(growth) / 2
    if sides != "two":
        evidence += math.log(2 * _NORMAL.cdf(z))
    return max(math.exp(-max(evidence, 0.0)), SMALLEST_P)


def _growth(n: float, n_tuned: float) -> float:
    if not (n > 0 and n_tuned > 0):
        raise InputError(f"n is {n} and n_tuned {n_tuned}: expected both above 0")
    return _TUNED * n / n_tuned


@dataclass(frozen=True)
class Sequential:
    """A contrast that may be looked at as often as one likes: a `Contrast` whose interval and p are always valid.

    Its interval is the contrast's own at the level that `errors_at_any_time` asks for, and its p is made of the
    contrast's own p, so that few units (Student's t), shares (Newcombe) and percentiles keep their methods.  It is
    asymptotic, as they are: for bounded values of few units there is `Betting`.

    contrast  at this look
    n_tuned   units of both arms for which it is tightest: fixed before the first look, as by the declaration; a number
              that depends on the differences seen so far would break the level.  One that is too low costs little: a
              tenth of the units that come, 7% of the width; ten times as many cost 27%
    A user who returns adds to a unit that is there already.  Where requests grow and units do not, the level holds for
    as long as the error shrinks by no more than a factor of 7, which is 50 times the requests.

    >>> from steelyard.stats.arms.contrast import Normal
    >>> look = Normal(baseline=1, other=1.5, difference=0.5, error=0.2, n_baseline=90, n_other=90)
    >>> sequential = Sequential(look, n_tuned=180)
    >>> [round(end, 3) for end in look.interval()], round(look.p(), 4)
    ([0.108, 0.892], 0.0124)
    >>> [round(end, 3) for end in sequential.interval()], round(sequential.p(), 4)
    ([-0.107, 1.107], 0.1863)
    """

    contrast: Contrast
    n_tuned: float

    @property
    def baseline(self) -> float:
        """Value of the baseline."""
        return self.contrast.baseline

    @property
    def other(self) -> float:
        """Value of the other arm."""
        return self.contrast.other

    @property
    def difference(self) -> float:
        """Difference of both, after adjustment where there is one."""
        return self.contrast.difference

    @property
    def error(self) -> float:
        """Standard error of the difference, at this look."""
        return self.contrast.error

    @property
    def n_baseline(self) -> int:
        """Units of the baseline."""
        return self.contrast.n_baseline

    @property
    def n_other(self) -> int:
        """Units of the other arm."""
        return self.contrast.n_other

    @property
    def method(self) -> str:
        """ "sequence"; the contrast's own is in the details."""
        return "sequence"

    @property
    def details(self) -> dict[str, Any]:
        """Those of the contrast, with its `method` and `n_tuned`."""
        return {**self.contrast.details, "method": self.contrast.method, "n_tuned": self.n_tuned}

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Both ends; NaN where the contrast has none, and for less than some 2% of the tuned units."""
        wider = self._level(level)
        return (math.nan, math.nan) if wider is None else self.contrast.interval(wider)

    def p(self, null: float = 0.0, sides: Sides = "two") -> float:
        """Always-valid p of a difference that is the null; NaN where the contrast has none."""
        p = self.contrast.p(null, sides)
        return p_at_any_time(p, self._n, self.n_tuned, sides) if self._n else math.nan

    def relative(self, level: float = 0.95) -> tuple[float, float, float]:
        """Difference over the baseline, and both ends of it, always valid."""
        wider = self._level(level)
        return (math.nan, math.nan, math.nan) if wider is None else self.contrast.relative(wider)

    @property
    def _n(self) -> int:
        return self.n_baseline + self.n_other

    def _level(self, level: float) -> float | None:
        """Level of a single look that is as wide, or none where no float holds it."""
        share(level, "level")
        errors = errors_at_any_time(self._n, self.n_tuned, level) if self._n else math.inf
        return None if errors > _FARTHEST else 1 - 2 * _NORMAL.cdf(-errors)


@dataclass(frozen=True, eq=False)
class Betting:
    """The mean of bounded values at any time, however few there are and however they are distributed.

    A player bets on the next value from the ones before it.  At the true mean no way to bet gains, so that a capital
    which has grown 20-fold at any time refutes a mean at the level of 5%, one-sided.

    values     (n,) in the order in which they came, between low and high.  Later looks add values and change none:
               means of users who return change, and with them 5% became 6 to 18%; their first values do not
    low, high  between which values can be at all
    Raises     InputError for values that are not finite or outside, and for ends that are not ascending
    Source     hedged capital with predictable plug-in bets: Waudby-Smith & Ramdas, Estimating means of bounded random
               variables by betting, JRSS B 2024

    >>> wins = Betting(np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]), low=-1, high=1)
    >>> round(wins.mean, 3), round(wins.p(), 4), [round(end, 2) for end in wins.interval()]
    (0.833, 0.0347, [0.05, 1.0])
    """

    values: Floats
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        values = finite(self.values, n_axes=1, what="the values")
        if not self.low < self.high:
            raise InputError(f"low is {self.low} and high {self.high}: expected low below high")
        outside = (values < self.low) | (values > self.high)
        if outside.any():
            raise InputError(
                f"{int(outside.sum())} of {len(values)} values are outside {self.low:g} to {self.high:g}, the first "
                f"{values[outside.argmax()]:g}; give the ends between which they can be at all"
            )

    @property
    def n(self) -> int:
        """Number of values."""
        return len(self.values)

    @property
    def mean(self) -> float:
        """Their mean; NaN without values."""
        return float(np.mean(self.values)) if self.n else math.nan

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Both ends of the mean, always valid: the whole range without values."""
        needed = math.log(2 / (1 - share(level, "level")))
        ends = (self._end(self._scaled, needed), 1 - self._end(1 - self._scaled, needed))
        width = self.high - self.low
        return self.low + width * ends[0], self.low + width * ends[1]

    def p(self, null: float = 0.0, sides: Sides = "two") -> float:
        """Always-valid p of a mean that is the null; two-sided it is twice that of the likelier side."""
        at = (null - self.low) / (self.high - self.low)
        above = math.exp(-self._capital(self._scaled, at)) if sides != "less" else 1.0
        below = math.exp(-self._capital(1 - self._scaled, 1 - at)) if sides != "greater" else 1.0
        p = min(2 * min(above, below), 1.0) if sides == "two" else min(above, below)
        return max(p, SMALLEST_P)

    @cached_property
    def _scaled(self) -> Floats:
        return (np.asarray(self.values, np.float64) - self.low) / (self.high - self.low)

    @cached_property
    def _bets(self) -> Floats:
        """(n,) how much is bet on each value, from those before it: the same on a mean above and below."""
        places = np.arange(1, self.n + 1)
        means = (0.5 + np.cumsum(self._scaled)) / (places + 1)
        spread = (0.25 + np.cumsum((self._scaled - means) ** 2)) / (places + 1)
        before = np.concatenate([[0.25], spread[:-1]])[: self.n]
        return np.asarray(np.sqrt(2 * math.log(2 / _TUNED_ALPHA) / (before * places * np.log1p(places))))

    def _capital(self, values: Floats, mean: float) -> float:
        """Log of the largest capital of bets that the mean is above this one, at least 0, where it starts."""
        if mean < 0 or not len(values):
            return math.inf if mean < 0 else 0.0
        bets = np.minimum(self._bets, _MOST_BET / mean) if mean else self._bets
        return max(float(np.cumsum(np.log1p(bets * (values - mean))).max()), 0.0)

    def _end(self, values: Floats, needed: float) -> float:
        """The least mean, in [0, 1], that the bets on higher ones do not refute: capital falls as the mean rises."""
        below, above = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (below + above) / 2
            below, above = (middle, above) if self._capital(values, middle) >= needed else (below, middle)
        return below
