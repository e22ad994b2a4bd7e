"""Ends of a sum in which a few large contributions decide: skewed, and aware of large ones that did not come yet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.extras import require
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import share

_NORMAL = NormalDist()
_SYMMETRIC = 1e-6
_MOST_SKEWED, _STEPS = 3.5, 15
_MOST_SHORTENED = 1.0
"""An end on the short side is drawn in as for this skewness at most, which four events of one size have."""


@dataclass(frozen=True)
class Moments:
    """Of an estimate's error: its mean, its variance and its third central moment."""

    mean: float = 0.0
    variance: float = 0.0
    third: float = 0.0

    @classmethod
    def of_sum(cls, away: Floats) -> Moments:
        """Of the sum of (u,) independent contributions, each less what it is expected to be."""
        n = len(away)
        return cls(0.0, float(away @ away) * n / max(n - 1, 1), float((away**3).sum()))

    @classmethod
    def of_one(cls, values: Floats) -> Moments:
        """Of one more contribution, which is one of the (m,) values, each equally likely."""
        if not len(values):
            return cls()
        return cls(*(float((values**power).mean()) for power in (1, 2, 3)))

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.mean + other.mean, self.variance + other.variance, self.third + other.third)

    def wider(self, other: Moments) -> Moments:
        """Those of the two with the larger variance, and with the larger third moment upwards."""
        return self if self.variance >= other.variance else Moments(
            other.mean, other.variance, max(self.third, other.third)
        )  # fmt: skip


def skewed_end(moments: Moments, level: float, df: float, *, upper: bool) -> float:
    """Distance of one end of a two-sided interval from the estimate, below 0 for the lower end.

    The error of the estimate is taken for a gamma variable with twice its skewness, shifted and mirrored where that
    is needed: the statistic over its own estimated error is skewed so much the other way, since a small estimate comes
    with a small error.  For a number of events, and one more of them upwards, that is the exact interval of Poisson's
    mean; without skewness it is Student's t.  The long side grows with the skewness alone, the short side is drawn in
    as for four events of one size at most.

    moments   of the error, of `Moments.of_sum` and, for what was not seen yet, `Moments.of_one`
    level     of the interval, both ends together;   df   degrees of freedom of the variance
    Source    Johnson, Modified t Tests and Confidence Intervals for Asymmetrical Populations, JASA 1978; Fay & Feuer,
              Confidence Intervals for Directly Standardized Rates, Statistics in Medicine 1997.

    >>> nine = Moments(0.0, 9.0, 9.0)
    >>> low = skewed_end(nine, 0.95, math.inf, upper=False)
    >>> high = skewed_end(nine + Moments(1.0, 1.0, 1.0), 0.95, math.inf, upper=True)
    >>> round(9 + low, 2), round(9 + high, 2)
    (4.12, 17.08)
    """
    probability = (1 + share(level, "level")) / 2
    if not moments.variance > 0:
        return moments.mean
    skewness = 2 * moments.third / moments.variance**1.5
    if (skewness > 0) == upper:
        skews = np.linspace(0.0, min(abs(skewness), _MOST_SKEWED), _STEPS)
        distance = max(_gamma_quantile(probability, float(skew)) for skew in skews)
    else:
        distance = -_gamma_quantile(1 - probability, min(abs(skewness), _MOST_SHORTENED))
    small = 1.0 if math.isinf(df) else t_quantile(probability, df) / _NORMAL.inv_cdf(probability)
    away = distance * small * math.sqrt(moments.variance)
    return moments.mean + (away if upper else -away)


def _gamma_quantile(probability: float, skewness: float) -> float:
    """Quantile of a gamma variable of that skewness, less its mean, in standard deviations."""
    if skewness < _SYMMETRIC:
        return _NORMAL.inv_cdf(probability)
    special = require("scipy.special", extra="stats", what="an interval of skewed sums")
    shape = 4 / skewness**2
    return float((special.gammaincinv(shape, probability) - shape) / math.sqrt(shape))
