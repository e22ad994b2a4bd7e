"""Shares of two arms: trials of 0 or 1, one a unit or several."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Bools, Floats
from steelyard.base.extras import require
from steelyard.stats.arms.contrast import Separate
from steelyard.stats.labels.raters import wilson_ends

FEW_UNITS, FEW_SHARE = 20, 0.1
"""Fewer units of an arm than both that have a 1, or that have a 0, make an event rare: its share is far from normal."""


@dataclass(frozen=True)
class Wilson:
    """A share of n independent trials, with Wilson's interval."""

    value: float
    n: float

    def ends_between(self, level: float) -> tuple[float, float]:
        """Both ends."""
        return wilson_ends(self.value, self.n, level=level)


@dataclass(frozen=True)
class Exact:
    """A share of n independent trials, with Clopper and Pearson's interval: no less sure than its level, whatever n.

    n        trials; such as the trials of units are worth, where that is no whole number
    Source   Clopper & Pearson, The Use of Confidence or Fiducial Limits, Biometrika 1934; of clustered trials Korn &
             Graubard, Confidence Intervals for Proportions with Small Expected Number of Positive Counts, Survey
             Methodology 1998.
    """

    value: float
    n: float

    def ends_between(self, level: float) -> tuple[float, float]:
        """Both ends.

        >>> [round(end, 4) for end in Exact(0.01, 200).ends_between(0.95)]
        [0.0012, 0.0357]
        """
        special = require("scipy.special", extra="stats", what="an exact interval")
        tail, ones, zeros = (1 - level) / 2, self.value * self.n, (1 - self.value) * self.n
        low = float(special.betaincinv(ones, zeros + 1, tail)) if ones else 0.0
        return low, float(special.betaincinv(ones + 1, zeros, 1 - tail)) if zeros else 1.0


@dataclass(frozen=True, eq=False)
class Trials:
    """Trials of 0 or 1 of the units of two arms.

    is_other   (u,) whether a unit is of the other arm;   ones, n   (u,) trials that are 1, and all of them
    """

    is_other: Bools
    ones: Floats
    n: Floats

    @classmethod
    def of(cls, is_other: Bools, ones: Floats, n: Floats) -> Trials | None:
        """Trials, or None where the values are no counts, or some are below 0 or above the number of trials."""
        counted = (ones >= 0) & (ones <= n)
        if not counted.all() or (n % 1).any() or (ones % 1).any():
            return None
        return cls(is_other, ones, n)

    @property
    def are_single(self) -> bool:
        """Whether every unit has one."""
        return bool((self.n == 1).all())

    @property
    def are_rare(self) -> bool:
        """Whether few units of an arm have a 1, or few have a 0."""
        n = np.bincount(self.is_other, minlength=2)
        have = [np.bincount(self.is_other[some], minlength=2) for some in (self.ones > 0, self.ones < self.n)]
        return any(bool(((count < FEW_UNITS) & (count < FEW_SHARE * n)).any()) for count in have)

    @property
    def design_effect(self) -> float:
        """By how much the ones of units vary more than independent trials; that of whole units where all are alike."""
        total = float(self.n.sum())
        value = float(self.ones.sum()) / total
        if not 0 < value < 1:
            return float((self.n**2).sum()) / total
        squares = float(((self.ones - value * self.n) ** 2).sum()) * len(self.n) / (len(self.n) - 1)
        return max(squares / (total * value * (1 - value)), 1.0)

    def contrast(self) -> Separate:
        """Newcombe's interval, or the exact one where they are rare."""
        counts = np.bincount(self.is_other, minlength=2)
        n, effect = np.bincount(self.is_other, self.n, 2), 1.0 if self.are_single else self.design_effect
        base, other = (np.bincount(self.is_other, self.ones, 2) / n).tolist()
        kind, worth = Exact if self.are_rare else Wilson, (n / effect).tolist()
        square = base * (1 - base) / worth[0] + other * (1 - other) / worth[1]
        return Separate(
            baseline=base, other=other, error=math.sqrt(square) if square else math.nan, n_baseline=int(counts[0]),
            n_other=int(counts[1]), arms=(kind(base, worth[0]), kind(other, worth[1])),
            method="exact" if kind is Exact else "newcombe",
        )  # fmt: skip
