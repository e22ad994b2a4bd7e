"""Differences from the baseline as columns, intervals and limits: of means, of corrected means and of percentiles."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.comparison.plan import TESTS, Plan
from steelyard.comparison.power import Units, detectable_difference, reportable
from steelyard.comparison.result import NoTestReason
from steelyard.comparison.samples import Sample
from steelyard.stats.intervals.inversion import ByInterval
from steelyard.stats.intervals.means import mean_intervals
from steelyard.stats.intervals.percentiles import PercentileDifference
from steelyard.stats.numerics import t_quantile
from steelyard.stats.power.detectable import detectable_errors
from steelyard.stats.samples import MeanError, differences, mean_error, t_sf
from steelyard.stats.tests.effects import WinTieLoss, relative_change, standardised, win_tie_loss
from steelyard.stats.tests.equivalence import loss_p, non_inferiority
from steelyard.stats.tests.paired import PairedTest, sign_flip_interval, t_test, wilcoxon
from steelyard.stats.tests.pairs import Pairs
from steelyard.stats.unpaired import UnpairedDifference, unpaired_difference

NO_INTERVAL = (math.nan, math.nan)


def interval_alphas(
    p: Floats, adjusted: Floats, *, correction: str, alpha: float, n_comparisons: int, n_shown: int
) -> Floats:
    """(r,) alpha of each interval by itself, so that it leaves 0 out exactly where adjusted p is at most alpha.

    n_comparisons, n_shown   of the family: how many there are, and how many have an adjusted p of at most alpha
    Holm, Bonferroni: alpha shared among all comparisons, so that all intervals hold together; where Holm alone shows a
    difference, at a later step, that step's alpha.  BH with R differences shown: R times that (Benjamini & Yekutieli
    2005), so that of the intervals of these a share alpha misses on average.  None and Tukey: alpha.
    """
    if correction == "tukey":
        return np.full(len(p), alpha)
    shown = adjusted <= alpha
    shared = alpha * (max(1, n_shown) if correction == "bh" else 1) / n_comparisons
    step = np.divide(alpha * p, adjusted, out=np.zeros(len(p)), where=shown)
    return np.where(shown, np.maximum(shared, step), shared)


def difference_interval(
    d: Floats, plan: Plan, *, alpha: float, width: float, clusters: Ints | None = None, half: float = math.nan
) -> tuple[float, float]:
    """Both ends of the interval of the mean of d, neither beyond the width.

    alpha     of this interval by itself
    width     the largest difference that two values can have
    clusters  (n,) of differences that count as one, or None
    half      of Tukey's interval, from the mean to either end
    Returns   Student's t; of sign flips every shift that they do not reject; for Tukey the mean and half on either
              side.  NaN for tests of ranks and signs, which are not about means, for fewer than two questions or
              clusters, for differences that are all equal, and where no shift is rejected
    """
    average = mean_error(d, clusters=clusters)
    if average.reason or average.flat or not plan.is_of_means:
        return NO_INTERVAL
    if plan.test == "t":
        ends = mean_intervals(d[:, None], level=1 - alpha, clusters=clusters)
        low, high = float(ends.low[0]), float(ends.high[0])
    elif plan.test == "randomization":
        low, high = sign_flip_interval(d, seed=plan.seed, level=1 - alpha, clusters=clusters)
        low, high = (low, high) if math.isfinite(low) else NO_INTERVAL
    else:
        low, high = float(d.mean()) - half, float(d.mean()) + half
    largest = max(width, float(np.abs(d).max()))
    return max(low, -largest), min(high, largest)


@dataclass(frozen=True, eq=False)
class Difference(ABC):
    """The second of two systems of a sample less the first: what a comparison shows of it, however it is computed."""

    sample: Sample
    plan: Plan
    first: int
    second: int

    @staticmethod
    def of(sample: Sample, plan: Plan, first: int, second: int) -> Difference:
        """The difference of two systems, by their places; corrected where the sample has its error."""
        if (first, second) in sample.errors:
            return _Corrected(sample, plan, first, second)
        kind = _OfPercentiles if sample.runs else _OfMeans if plan.paired else _Unpaired
        return kind(sample, plan, first, second)

    @property
    @abstractmethod
    def p(self) -> float:
        """The p of the test of these two by itself; NaN where there is no test."""

    @abstractmethod
    def columns(self, pairs: Pairs | None) -> dict[str, object]:
        """Columns of `Comparison.frame`, but for intervals; pairs are those that are tested together, if any."""

    @abstractmethod
    def ends(self, alpha: float, pairs: Pairs | None) -> dict[str, float]:
        """Both ends of the interval at alpha, and the difference as a share of the first system's mean."""

    @abstractmethod
    def limits(self, below: float, above: float) -> tuple[float, float]:
        """One-sided limits, each by the test against the margin at the alpha of its side; NaN where there is none."""

    @property
    def width(self) -> float:
        """The largest difference that two values of the measure can have."""
        return self.sample.measure.definition.width

    def adjusted(self, pairs: Pairs | None) -> dict[str, object]:
        """The column of p that was corrected among all pairs; empty where each is tested beside the baseline alone."""
        if pairs is None or self.first == self.second or not (self.plan.all_pairs or self.plan.test == "tukey"):
            return {}
        return {"adjusted": pairs.adjusted[self._place(pairs)]}

    def _place(self, pairs: Pairs) -> int:
        low, high = sorted((self.first, self.second))
        return int(np.flatnonzero((pairs.first == low) & (pairs.second == high))[0])

    @property
    def _is_identical(self) -> bool:
        return self.plan.systems[self.second] in self.plan.identical


class _OfMeans(Difference):
    """The mean of the differences of single questions."""

    @cached_property
    def _d(self) -> Floats:
        return differences(self.sample.values[self.first], self.sample.values[self.second])

    @property
    def p(self) -> float:
        return self._test(None).p

    def _test(self, pairs: Pairs | None) -> PairedTest:
        if pairs is None or self.plan.test != "tukey":
            return TESTS[self.plan.test](self._d, self.plan.seed, self.sample.clusters)
        at = self._place(pairs)
        return PairedTest("tukey", float(pairs.difference[at]), float(pairs.p[at]), pairs.n, reason=pairs.reason)

    def columns(self, pairs: Pairs | None) -> dict[str, object]:
        sample, plan, d = self.sample, self.plan, self._d
        counts = win_tie_loss(sample.sign * d)
        row: dict[str, object] = {"n_wins": counts.n_wins, "n_ties": counts.n_ties, "n_losses": counts.n_losses}
        if self.first == self.second:
            return {**row, "difference": 0.0, "effect": 0.0}
        test, units, effect = self._test(pairs), Units.of(d, sample.clusters), standardised(d).hedges_g
        return {
            **row,
            **self.adjusted(pairs),
            "difference": float(d.mean()) if len(d) else math.nan,
            "p": test.p,
            "reason": None if test.reason is None else self._reason(),
            "effect": effect if math.isfinite(effect) else math.nan,
            "detectable": detectable_difference(sample, self.second, plan, self._critical(pairs)),
            "unit_size": units.size,
            "unit_effect": units.effect,
            "lean": self._lean(counts) if test.p <= plan.alpha else None,
            **self._margins(),
        }

    def _critical(self, pairs: Pairs | None) -> float | None:
        """Tukey's critical difference; None for other tests."""
        return pairs.critical if pairs is not None and self.plan.test == "tukey" else None

    def _reason(self) -> NoTestReason:
        """Why there is no test."""
        if self.sample.lacks_gold:
            return "no gold"
        if len(self._d) < 2:
            return "few questions"
        return "one cluster" if self.sample.n_clusters == 1 else "no spread"

    def _lean(self, counts: WinTieLoss) -> float:
        """Above 0 where the test leans to the system: tests of ranks and of signs may contradict the mean."""
        if self.plan.test == "sign":
            return counts.n_wins - counts.n_losses
        gain = self.sample.sign * self._d
        if self.plan.test == "wilcoxon":
            return wilcoxon(gain).statistic - wilcoxon(-gain).statistic
        return float(gain.mean())

    def _margins(self) -> dict[str, object]:
        """The p of both tests against the margin, or their answers where both systems gave the same results.

        Empty where there is no margin, and where there is no test.
        """
        gain, margin = self.sample.sign * self._d, self.plan.margin
        if margin is None or len(gain) < 2:
            return {}
        if self._is_identical and not gain.any():
            return {"not_worse": True, "equivalent": True}
        losses = [
            loss_p(sign * gain, margin=margin, width=self.width, clusters=self.sample.clusters) for sign in (1, -1)
        ]
        return {"not_worse_p": losses[0], "equivalent_p": max(losses)}

    def ends(self, alpha: float, pairs: Pairs | None) -> dict[str, float]:
        """The ends of the test's own interval; for Tukey as far as 0 where the pair's own test shows nothing."""
        clusters, critical, half = self.sample.clusters, self._critical(pairs), math.nan
        if pairs is not None and critical is not None and len(self._d):
            is_shown = not self._test(pairs).p > alpha
            half = critical if is_shown else max(critical, abs(float(self._d.mean())))
        low, high = difference_interval(self._d, self.plan, alpha=alpha, width=self.width, clusters=clusters, half=half)
        reference, values = self.sample.values[self.first], self.sample.values[self.second]
        change = relative_change(reference, values, level=1 - alpha, clusters=clusters)
        ends = {"low": low, "high": high, "relative": change.change}
        if self.plan.test == "t" and math.isfinite(low):
            ends |= {"relative_low": change.low, "relative_high": change.high}
        return ends

    def limits(self, below: float, above: float) -> tuple[float, float]:
        low, high = (
            side
            * non_inferiority(
                side * self._d,
                margin=self.plan.margin or self.width,
                width=self.width,
                alpha=alpha,
                clusters=self.sample.clusters,
                identical=self._is_identical,
            ).low
            for side, alpha in ((1, below), (-1, above))
        )
        return low, high


class _Corrected(Difference):
    """A mean difference whose error is known apart from single questions, as labels or another judge correct it."""

    @property
    def _average(self) -> MeanError:
        return self.sample.errors[self.first, self.second]

    @property
    def _is_nothing(self) -> bool:
        average = self._average
        return average.mean == average.error == average.below == average.above == 0

    @property
    def p(self) -> float:
        return self._test().p

    def _test(self) -> PairedTest:
        """The t test of the difference, as near to 0 as it may be; p is 1 where nothing differs."""
        return PairedTest("t", 0.0, 1.0, self._average.n) if self._is_nothing else t_test(self._average.toward(0.0))

    def columns(self, pairs: Pairs | None) -> dict[str, object]:
        """The columns of the difference; those of single questions are null, but where none differs."""
        average, test, nothing = self._average, self._test(), self._is_nothing
        return {
            "n_wins": 0 if nothing else None,
            "n_ties": average.n if nothing else None,
            "n_losses": 0 if nothing else None,
            "difference": average.mean,
            "p": test.p,
            "reason": None if test.reason is None else self.sample.lack,
            "effect": math.nan,
            "detectable": self._detectable(),
            "unit_size": 1.0,
            "unit_effect": 1.0,
            "lean": self.sample.sign * average.mean if test.p <= self.plan.alpha else None,
            **self._margins(),
            **(self.adjusted(pairs) if self.sample.lack != "other judge" else {}),
        }

    def _detectable(self) -> float:
        average, plan = self._average, self.plan
        if not average.error >= 0:
            return math.nan
        errors = detectable_errors(average.n, df=average.df, alpha=plan.alpha, n_comparisons=plan.n_comparisons)
        return reportable(errors * average.error, average.n, self.width)

    def _margins(self) -> dict[str, float]:
        average, margin, sign = self._average, self.plan.margin, self.sample.sign
        if margin is None or not average.error > 0:
            return {}
        gains = [side * average.toward(-side * math.inf).mean for side in (sign, -sign)]
        losses = [t_sf((gain + margin) / average.error, average.df) for gain in gains]
        return {"not_worse_p": losses[0], "equivalent_p": max(losses)}

    def ends(self, alpha: float, pairs: Pairs | None) -> dict[str, float]:
        average, baseline = self._average, float(self.sample.means[self.first])
        low, high = NO_INTERVAL
        if average.error > 0:
            width, quantile = max(self.width, abs(average.mean)), t_quantile(1 - alpha / 2, average.df)
            low, high = average.ends(quantile, quantile)
            low, high = max(low, -width), min(high, width)
        return {"low": low, "high": high, "relative": average.mean / baseline if baseline else math.nan}

    def limits(self, below: float, above: float) -> tuple[float, float]:
        average = self._average
        if not average.error > 0:
            return NO_INTERVAL
        return average.ends(*(t_quantile(1 - alpha, average.df) for alpha in (below, above)))


class _ByInterval(Difference):
    """A difference that is tested by its own interval."""

    @property
    @abstractmethod
    def _difference(self) -> ByInterval: ...

    @property
    @abstractmethod
    def _value(self) -> float:
        """The difference itself."""

    @property
    def p(self) -> float:
        """The p of the difference; NaN where there are too few values for either end of its interval."""
        return self._difference.p if self._has_end(self.plan.alpha) else math.nan

    def _has_end(self, alpha: float) -> bool:
        low, high = self._difference.interval(1 - alpha)
        return low > -math.inf or high < math.inf

    def _margins(self) -> dict[str, object]:
        margin, difference = self.plan.margin, self._difference
        if margin is None:
            return {}
        if self._is_identical and self._value == 0:
            return {"not_worse": True, "equivalent": True}
        above, below = difference.p_above(-margin), difference.p_below(margin)
        return {"not_worse_p": above if self.sample.sign > 0 else below, "equivalent_p": max(above, below)}

    def ends(self, alpha: float, pairs: Pairs | None) -> dict[str, float]:
        """The ends of the interval, infinite or as wide as the range where there is none."""
        baseline = float(self.sample.means[self.first])
        low, high = self._difference.interval(1 - alpha) if self._has_end(alpha) else NO_INTERVAL
        return {
            "low": max(low, -self.width),
            "high": min(high, self.width),
            "relative": self._value / baseline if baseline else math.nan,
        }

    def limits(self, below: float, above: float) -> tuple[float, float]:
        low, high = (self._difference.interval(1 - 2 * alpha) for alpha in (below, above))
        return max(low[0], -self.width), min(high[1], self.width)


class _Unpaired(_ByInterval):
    """The difference of means of different questions."""

    @cached_property
    def _difference(self) -> UnpairedDifference:
        return unpaired_difference(
            self.sample.values,
            (self.first, self.second),
            clusters=self.sample.clusters,
            bounds=self.sample.measure.definition.range,
        )

    @property
    def _value(self) -> float:
        return self._difference.average.mean

    def columns(self, pairs: Pairs | None) -> dict[str, object]:
        """The columns of the difference; those of single questions are null."""
        if self.first == self.second:
            return {"difference": 0.0}
        difference, plan, p = self._difference, self.plan, self.p
        average = difference.average
        return {
            "difference": average.mean,
            "p": p,
            "reason": self._reason() if math.isnan(p) else None,
            "effect": difference.effect,
            "detectable": self._detectable(),
            "unit_size": 1.0,
            "unit_effect": 1.0,
            "lean": self.sample.sign * average.mean if p <= plan.alpha else None,
            **({} if math.isnan(p) else self._margins()),
        }

    def _reason(self) -> NoTestReason:
        """Why there is no test."""
        counts = [self.sample.counts(i) for i in (self.first, self.second)]
        if self.sample.lacks_gold:
            return "no gold"
        if min(n for n, _ in counts) < 2:
            return "few questions"
        return "one cluster" if any(clusters == 1 for _, clusters in counts) else "no spread"

    def _detectable(self) -> float:
        counts = [clusters or n for n, clusters in map(self.sample.counts, (self.first, self.second))]
        able = self._difference.detectable(alpha=self.plan.alpha, n_comparisons=self.plan.n_comparisons)
        return reportable(able, min(counts), self.width)


class _OfPercentiles(_ByInterval):
    """The difference of two percentiles, by the ranks of all values."""

    @cached_property
    def _difference(self) -> PercentileDifference:
        return self.sample.difference(self.first, self.second)

    @property
    def _value(self) -> float:
        return self._difference.value

    def columns(self, pairs: Pairs | None) -> dict[str, object]:
        """The columns of the difference; what is of means alone is null.

        An infinite value is worse than any other.
        """
        sample = self.sample
        own, reference = (sample.sign * sample.values[place] for place in (self.second, self.first))
        wins = {"n_wins": own > reference, "n_ties": own == reference, "n_losses": own < reference}
        row: dict[str, object] = {name: int(there.sum()) for name, there in wins.items()} if self.plan.paired else {}
        if self.first == self.second:
            return {**row, "difference": 0.0}
        value, p = self._value, self.p
        low, high = self._difference.interval(1 - self.plan.alpha)
        return {
            **row,
            "difference": value,
            "p": p,
            "reason": "few values" if math.isnan(p) else None,
            "unit_size": 1.0,
            "unit_effect": 1.0,
            "lean": sample.sign * (low + high if math.isnan(value) else value),
            **({} if math.isnan(p) else self._margins()),
            **self.adjusted(pairs),
        }
