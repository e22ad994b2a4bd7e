"""A one-sided limit of a bounded mean that allows for a loss which no question has shown yet.

Where most questions tie, or scatter little, t takes that for the spread of all, and rules out what was never looked
for.  Here the questions get random weights, and one more question that loses all it can gets one too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.extras import require
from steelyard.stats.samples import ROUNDING, SMALLEST_P, Clusters, cluster_sums, near_pairs

_STEP, _END, _NEGLIGIBLE = 1 / 8, 20.0, 1e-13
"""Nodes of the inversion: the integrand falls as exp(-2 u) at least, and a finer step moves no printed digit."""

_AT_ONCE, _MOST_STEPS, _MOST_BENT = 10, 60, 2.0
_PRECISION = 1e-10
_FAR = 38.0
"""Standard deviations at which the smallest p lies."""


def unseen_share(n: int, alpha: float = 0.05) -> float:
    """The largest share of all questions that may be of a kind which none of n is, at level 1 - alpha: nearly 3 / n.

    n   questions drawn independently, or clusters, one at least

    >>> [round(unseen_share(n), 4) for n in (10, 50, 149)]
    [0.2589, 0.0582, 0.0199]
    """
    return float(-math.expm1(math.log(alpha) / n))


@dataclass(frozen=True, eq=False)
class UnseenLoss:
    """Chances of the mean of (g,) questions, or clusters, and one more that loses all it can, weighted at random.

    Weights are Dirichlet's: 1 for each question, and for the one more how far two questions agree on average (see
    `near_pairs`; the range is from the largest loss to as large a gain).  That is 1 where all differences are equal,
    little less where they scatter by a few hundredths of the range, and 0 where they lie wide apart: a loss of all is
    then no larger than what was seen.  With a weight of 1 the limit holds for any bounded differences, that of values
    of two kinds is Clopper and Pearson's, and that of equal ones the rule of three.

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
        return cls(sums, sizes, -width, _agreement(sums / sizes, 2 * width))

    def p(self, bound: float, *, copies: float = 1.0) -> float:
        """The chance that the mean is the bound or less; copies says how many questions, or clusters, each counts for.

        >>> round(UnseenLoss.of(np.zeros(149), width=1.0).p(-0.02), 4)
        0.0493
        """
        away = np.append(self.sums - bound * self.sizes, self.sizes.mean() * (self.worst - bound))
        weights = np.append(np.full(len(self.sums), copies), self.weight)
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


def _agreement(values: Floats, range_: float) -> float:
    """Average agreement of two of the values: 1 where all are equal, 0 where each is far from all others."""
    n = len(values)
    return 1.0 if n < 2 or not range_ else float(near_pairs(values[None], np.array([range_]))[0] - n) / (n * (n - 1))


def _below_zero(away: Floats, weights: Floats) -> float:
    """P(sum of gamma variables of shape weights times away < 0), by inverting its transform through the saddle point.

    The path bends as the steepest one does: the integrand is largest in the middle and hardly waves, so that small
    chances are as exact as large ones.
    """
    if weights @ away < 0:
        return 1 - _below_zero(-away, weights)
    away, places = np.unique(away, return_inverse=True)
    weights = np.bincount(places, weights=weights).astype(float)
    s = _saddle(away, weights)
    ratio = away / (1 - s * away)
    second, third = (weights * ratio**2).sum() + 1 / s**2, 2 * (weights * ratio**3).sum() - 2 / s**3
    scale = 1 / math.sqrt(second)
    bend = min(max(third * scale / second / 3, -_MOST_BENT), _MOST_BENT)
    total = scale / -s / 2
    for u in np.split(np.arange(_STEP, _END, _STEP), range(_AT_ONCE, round(_END / _STEP), _AT_ONCE)):
        along = scale * (bend * (np.cosh(u) - 1) + 1j * np.sinh(u))
        slope = scale * (bend * np.sinh(u) + 1j * np.cosh(u))
        # Relative to the middle, the transform is the product of (1 - along ratio) ** -weights.
        terms = slope / -(s + along) * np.exp(-(weights * np.log1p(-along[:, None] * ratio)).sum(axis=1))
        total += float(terms.imag.sum())
        if abs(terms[-1]) < _NEGLIGIBLE * total:
            break
    return float(_STEP / math.pi * total * np.exp(-(weights * np.log1p(-s * away)).sum()))


def _saddle(away: Floats, weights: Floats) -> float:
    """Point of the least transform over its argument, between the pole below 0 and 0: by Newton, halving where it errs.

    away   (n,) ascending, the first below 0
    """
    low, high = 1 / float(away[0]), 0.0
    s = low / 2
    for _ in range(_MOST_STEPS):
        ratio = away / (1 - s * away)
        slope = float((weights * ratio).sum()) - 1 / s
        low, high = (s, high) if slope < 0 else (low, s)
        step = slope / (float((weights * ratio**2).sum()) + 1 / s**2)
        if abs(step) < _PRECISION * abs(s):
            break
        s = s - step if low < s - step < high else (low + high) / 2
    return s
