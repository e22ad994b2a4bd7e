"""Differences that these questions could have shown, and how many would show the effect observed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.comparison.plan import WELCH, Plan
from steelyard.comparison.samples import Sample
from steelyard.stats.numerics import t_quantile
from steelyard.stats.power.detectable import min_detectable_difference
from steelyard.stats.power.power import fewest_questions
from steelyard.stats.samples import cluster_sums, differences, mean_error

_POWER, _MOST_QUESTIONS = 0.8, 10**9
LEAST_QUESTIONS = 6
"""Fewer say too little of how far differences scatter: what they could show is not said."""
_ROUNDS, _SETTLED = 100, 1 + 1e-6


def fewest_to_show(test: str, *, correction: str, n_comparisons: int, alpha: float) -> int:
    """Fewest questions by which a test shows anything: of n signs the rarest pattern and its opposite have 2**(1 - n).

    Tukey's p are never below the pair's own of sign flips.  BH may have all comparisons at alpha itself.

    >>> fewest_to_show("randomization", correction="holm", n_comparisons=1, alpha=0.05)
    6
    """
    if test in ("t", WELCH):
        return 2
    shared = alpha / n_comparisons if correction in ("holm", "bonferroni") else alpha
    return max(2, math.ceil(1 - math.log2(shared)))


def detectable_difference(sample: Sample, i: int, plan: Plan, critical: float | None) -> float:
    """The smallest difference of one system from the baseline that these questions show in 80 of 100 cases.

    critical   Tukey's critical difference, None for other tests
    Returns    in the unit of the measure, alpha shared equally among all comparisons of the family, as the first step
               of Holm's has it; infinite where values of the measure cannot differ by so much, and where no difference
               could be shown; NaN for tests of ranks and signs, of which it says nothing, and below LEAST_QUESTIONS
    """
    clusters, n = sample.clusters, sample.n_clusters or sample.values.shape[1]
    if not plan.is_of_means or n < 2:
        return math.nan
    if n < fewest_to_show(plan.test, correction=plan.correction, n_comparisons=plan.n_comparisons, alpha=plan.alpha):
        return math.inf
    d = differences(sample.values[plan.reference], sample.values[i])
    if critical is None:
        difference = min_detectable_difference(
            d, test=plan.test, alpha=plan.alpha, n_comparisons=plan.n_comparisons, clusters=clusters
        )
    else:
        # No pair is surer than by its own test.
        own = min_detectable_difference(d, test="randomization", alpha=plan.alpha, clusters=clusters)
        difference = max(_beyond_critical(sample, i, plan.reference, critical), own)
    return reportable(difference, n, sample.measure.definition.width)


def reportable(difference: float, n: int, width: float) -> float:
    """Difference that n questions are reported to show: infinite beyond the width, NaN below LEAST_QUESTIONS."""
    return math.inf if difference > width else math.nan if n < LEAST_QUESTIONS else difference


def _beyond_critical(sample: Sample, i: int, reference: int, critical: float) -> float:
    """The difference that lies beyond Tukey's critical one by what chance takes from it in 80 of 100 cases.

    A difference widens the shuffles that it is held against: the critical one grows as the root of the variance of the
    systems within a question, which is that on average if system i is by so much better or worse than the baseline.
    """
    average = mean_error(differences(sample.values[reference], sample.values[i]), clusters=sample.clusters)
    if not average.error:
        return 0.0
    beyond = t_quantile(_POWER, average.df) * average.error
    sums = cluster_sums(sample.values, sample.clusters)
    sizes = cluster_sums(np.ones((1, average.n)), sample.clusters)[0]
    # Sorted, so that the order in which systems are listed moves no bit.
    s, ordered = len(sums), np.sort(sums, axis=0)
    variance, away = ordered.var(axis=0).mean(), (sizes * (sums[i] - ordered.mean(axis=0))).mean()
    widening = (sizes**2).mean() * (s - 1) / s**2

    def larger(difference: float) -> float:
        moved = variance - 2 * average.mean * away / s + (difference**2 + average.mean**2) * widening
        return critical * math.sqrt(moved / variance) + beyond

    difference = beyond
    for _ in range(_ROUNDS):
        difference = larger(difference)
    return difference if larger(difference) <= _SETTLED * difference else math.inf


@dataclass(frozen=True)
class Units:
    """Worth of clusters in questions: each of as many as leave t its degrees of freedom has this many questions.

    size     questions a unit;   effect   of one, by how much it is larger than that of a question
    """

    size: float
    effect: float

    @classmethod
    def of(cls, d: Floats, clusters: Ints | None) -> Units:
        """d   (n,) differences;   clusters   (n,), or None for 1 question a unit"""
        alone, together = mean_error(d), mean_error(d, clusters=clusters)
        if clusters is None or together.reason or not together.error:
            return cls(1.0, 1.0)
        size = together.n / (together.df + 1)
        return cls(size, math.sqrt(size) * alone.error / together.error)


def questions_for(
    effect: float, *, n: int, difference: float, detectable: float, plan: Plan, units: Units
) -> int | None:
    """Number of questions that show the observed effect in 80 of 100 cases, were it the true one.

    effect     in standard deviations;   n, difference, detectable   of the comparison
    units      of the questions, were further ones clustered alike
    Without pairs these are questions of the system, where the baseline has more in proportion.
    Returns    None where there is no effect, or none that 10**9 questions would show
    """
    if not (math.isfinite(effect) and effect):
        return None
    if plan.test != "tukey" and plan.paired:
        needed = fewest_questions(effect * units.effect, alpha=plan.alpha, n_comparisons=plan.n_comparisons)
        return None if needed is None else math.ceil(needed * units.size)
    # Critical difference and standard error both shrink with the root of the number of questions.
    times = (detectable / abs(difference)) ** 2 if np.isfinite(detectable) else math.inf
    return math.ceil(n * times) if n * times <= _MOST_QUESTIONS else None
