"""Losses that questions like some can rule out where nothing was lost: by the test that `non_inferiority` makes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.stats.intervals.unseen import UnseenLoss
from steelyard.stats.numerics import t_quantile
from steelyard.stats.power.detectable import stretch
from steelyard.stats.power.power import fewest
from steelyard.stats.samples import Clusters, cluster_sums, mean_error, t_sf
from steelyard.stats.spread import spread_df

_NORMAL = NormalDist()


@dataclass(frozen=True, eq=False)
class Resolution:
    """The test of differences like these, moved to a mean of 0, of as many questions, or clusters, or of more.

    In a share `power` of cases the mean of n such questions lies above -`lower(n)`.  A loss is ruled out where both
    tests rule it out from there: t, and that of a loss not seen yet, for which each of the questions counts as often as
    n has it.  The error is larger than these questions estimate it, by as much as makes the share hold on average over
    what others would have estimated: these scatter more where few of the questions hold most of the spread.

    unseen    the differences around 0;   error   of their mean;   df   its degrees of freedom
    n_units   questions, or clusters;   n_each   questions in one, on average
    """

    unseen: UnseenLoss
    error: float
    df: float
    n_units: int
    n_each: float
    alpha: float
    power: float

    @classmethod
    def of(
        cls, d: Floats, *, width: float, alpha: float = 0.05, power: float = 0.8, clusters: Clusters | None = None
    ) -> Resolution:
        """d   (n,) differences of two units at least;   width, alpha, clusters   as of `non_inferiority`."""
        average = mean_error(d, clusters=clusters)
        unseen = UnseenLoss.of(d, width=width, clusters=clusters)
        around = cluster_sums((d - average.mean)[None], clusters)[0]
        df = spread_df(around**2, most=average.df)
        error = average.error * stretch(df, power=power, alpha=alpha)
        spread = math.sqrt(float((around**2).sum())) / len(d)
        around = around * (error / spread) if error else np.zeros(len(around))
        return cls(replace(unseen, sums=around), error, average.df, len(around), len(d) / len(around), alpha, power)

    def lower(self, n: float) -> float:
        """Distance below 0 at which the mean of n units lies with chance 1 - power."""
        return _NORMAL.inv_cdf(self.power) * self._error(n)

    @property
    def margin(self) -> float:
        """The smallest loss that as many questions as these rule out.

        >>> round(Resolution.of(np.zeros(149), width=1.0).margin, 4)
        0.0199
        """
        by_t = t_quantile(1 - self.alpha, self.df) * self.error
        return self.lower(self.n_units) + max(by_t, -self.unseen.low(self.alpha))

    def questions(self, margin: float) -> int | None:
        """Fewest questions that rule the margin out; None where hundreds of millions do not.

        >>> Resolution.of(np.zeros(20), width=1.0).questions(0.02)
        149
        """
        scatter = (_NORMAL.inv_cdf(1 - self.alpha) + _NORMAL.inv_cdf(self.power)) * self._error(1)
        rare = -4 * margin * self.unseen.worst * math.log(1 / self.alpha) * self.unseen.weight
        guess = (scatter + math.sqrt(scatter**2 + rare)) / (2 * margin)
        n = fewest(lambda n: self._rules_out(margin, n), guess**2)
        return None if n is None else math.ceil(n * self.n_each)

    def _rules_out(self, margin: float, n: int) -> bool:
        beyond = margin - self.lower(n)
        if beyond <= 0:
            return False
        df = max((self.df + 1) * n / self.n_units - 1, 1.0)
        by_t = not self.error or t_sf(beyond / self._error(n), df) < self.alpha
        return by_t and self.unseen.p(-beyond, copies=n / self.n_units) < self.alpha

    def _error(self, n: float) -> float:
        return self.error * math.sqrt(self.n_units / n)
