"""A one-sided limit of a bounded mean that allows for a loss which no question has shown yet.

Where most questions tie, t takes the spread of the few that do not for that of all, and rules out what was never
looked for.  Here the questions get random weights, and one more question that loses all it can gets one too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.extras import require
from steelyard.stats.samples import ROUNDING, SMALLEST_P, Clusters, cluster_sums, equal_pairs

_STEP, _END, _NEGLIGIBLE = 1 / 8, 20.0, 1e-13
"""Nodes of the inversion: the integrand falls as exp(-2 u) at least, and a finer step moves no printed digit."""

_HALVINGS, _MOST_BENT = 50, 2.0
_PRECISION = 1e-10
_FAR = 38.0
"""Standard deviations at which the smallest p lies."""


@dataclass(frozen=True, eq=False)
class UnseenLoss:
    """Chances of the mean of (g,) questions, or clusters, and one more that loses all it can, weighted at random.

    Weights are Dirichlet's: 1 for each question, and for the one more the chance that two questions agree.  That is 0
    where no two differences are equal, as these show how far differences scatter, and 1 where all are.  With a weight
    of 1 the limit of values of two kinds would be Clopper and Pearson's; that of equal ones is the rule of three.

    sums, sizes   (g,) of the differences, and how many there are
    worst         the largest loss of a question, below 0;   weight   of the one more, from 0 to 1
    Source        Gaffke, Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
                  variable, Mathematical Methods of Statistics 2005; Learned-Miller & Thomas 2019.
    """

    sums: Floats
    sizes: Floats
    worst: float
    weight: float

    @classmethod
    def of(cls, d: Floats, *, width: float, clusters: Clusters | None = None) -> UnseenLoss:
        """d   (n,) differences, above 0 being better;   width   the largest there can be, or infinite: that seen."""
        seen = float(np.abs(d).max())
        width = max(width, seen) if math.isfinite(width) else seen
        sums, sizes = cluster_sums(np.stack([d, np.ones(len(d))]), clusters)
        return cls(sums, sizes, -width, _agreement(sums / sizes))

    def p(self, bound: float) -> float:
        """The chance that the mean is the bound or less.

        >>> round(UnseenLoss.of(np.zeros(149), width=1.0).p(-0.02), 4)
        0.0493
        """
        away = np.append(self.sums - bound * self.sizes, self.sizes.mean() * (self.worst - bound))
        weights = np.append(np.ones(len(self.sums)), self.weight)
        counted = (weights > 0) & (np.abs(away) > ROUNDING * abs(self.worst))
        away, weights = away[counted], weights[counted]
        if not len(away) or away.max() < 0:
            return 1.0
        return SMALLEST_P if away.min() > 0 else min(max(_below_zero(away, weights), SMALLEST_P), 1.0)

    def low(self, alpha: float) -> float:
        """The bound whose chance is alpha: by secants of the normal quantile, which is nearly straight.

        >>> round(UnseenLoss.of(np.zeros(149), width=1.0).low(0.05), 4)
        -0.0199
        """
        quantile = require("scipy.special", extra="stats", what="the limit").ndtri
        wanted = quantile(alpha)

        def excess(bound: float) -> float:
            return float(np.clip(quantile(self.p(bound)), -_FAR, _FAR) - wanted)

        means = self.sums / self.sizes
        low, high = self.worst if self.weight else float(means.min()), float(means.max())
        earlier, middle = (math.nan, math.nan), float(self.sums.sum() / self.sizes.sum())
        while high - low > _PRECISION * abs(self.worst):
            off = excess(middle)
            if abs(off) < _PRECISION:
                break
            low, high = (middle, high) if off < 0 else (low, middle)
            steep = (off - earlier[1]) / (middle - earlier[0])
            earlier, middle = (middle, off), middle - off / steep if steep > 0 else (low + high) / 2
            if not low < middle < high:
                middle = (low + high) / 2
        return middle


def _agreement(values: Floats) -> float:
    """The chance that two of the values are equal: 0 where all differ, 1 where none does."""
    n = len(values)
    return 1.0 if n < 2 else (int(equal_pairs(values[None])[0]) - n) / (n * (n - 1))


def _below_zero(away: Floats, weights: Floats) -> float:
    """P(sum of gamma variables of shape weights times away < 0), by inverting its transform through the saddle point.

    The path bends as the steepest one does: the integrand is largest in the middle and hardly waves, so that small
    chances are as exact as large ones.
    """
    if weights @ away < 0:
        return 1 - _below_zero(-away, weights)
    away, places = np.unique(away, return_inverse=True)
    weights = np.bincount(places, weights=weights).astype(float)
    pole = 1 / away[0]
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        s = middle * pole
        low, high = (middle, high) if (weights * away / (1 - s * away)).sum() > 1 / s else (low, middle)
    s = (low + high) / 2 * pole
    ratio = away / (1 - s * away)
    second, third = (weights * ratio**2).sum() + 1 / s**2, 2 * (weights * ratio**3).sum() - 2 / s**3
    scale = 1 / math.sqrt(second)
    bend = min(max(third * scale / second / 3, -_MOST_BENT), _MOST_BENT)
    total = scale / -s / 2
    for u in np.arange(_STEP, _END, _STEP).tolist():
        along = scale * complex(bend * (math.cosh(u) - 1), math.sinh(u))
        slope = scale * complex(bend * math.sinh(u), math.cosh(u))
        # Relative to the middle, the transform is the product of (1 - along ratio) ** -weights.
        term = slope / -(s + along) * np.exp(-(weights @ np.log1p(-along * ratio)))
        total += float(term.imag)
        if abs(term) < _NEGLIGIBLE * total:
            break
    return float(_STEP / math.pi * total * np.exp(-(weights @ np.log1p(-s * away))))
