"""What these questions could have shown, and how many would show the effect observed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.comparison.plan import Plan
from steelyard.measures import Measure
from steelyard.stats.power import fewest_questions, min_detectable_difference
from steelyard.stats.samples import mean_error
from steelyard.stats.student import t_quantile

_POWER, _MOST_QUESTIONS = 0.8, 10**9


def fewest_to_show(test: str, *, correction: str, n_comparisons: int, alpha: float) -> int:
    """How many questions a test needs to show anything: of n signs the rarest pattern and its opposite have 2**(1 - n).

    Tukey's p are never below the pair's own of sign flips.  BH may have all comparisons at alpha itself.

    >>> fewest_to_show("randomization", correction="holm", n_comparisons=1, alpha=0.05)
    6
    """
    if test == "t":
        return 2
    shared = alpha / n_comparisons if correction in ("holm", "bonferroni") else alpha
    return max(2, math.ceil(1 - math.log2(shared)))


def detectable_difference(
    d: Floats, measure: Measure, plan: Plan, critical: float | None, *, clusters: Ints | None = None
) -> float:
    """The smallest difference that these questions show in 80 of 100 cases.

    d          (n,) differences;   critical   Tukey's critical difference, None for other tests
    clusters   (n,) of differences that count as one, or None
    Returns    in the unit of the measure, alpha shared among all comparisons of the family; infinite where values of
               the measure cannot differ by so much, and where no difference could be shown; NaN below two questions or
               clusters
    """
    average, n = mean_error(d, clusters=clusters), len(d) if clusters is None else len(np.unique(clusters))
    if n < fewest_to_show(plan.test, correction=plan.correction, n_comparisons=plan.n_comparisons, alpha=plan.alpha):
        return math.inf if n > 1 else math.nan
    if critical is None:
        difference = min_detectable_difference(
            d, alpha=plan.alpha, n_comparisons=plan.n_comparisons, clusters=clusters
        )  # fmt: skip
    else:
        # Chance lifts or lowers a difference by its standard error; and no pair is surer than by its own test.
        beyond = critical + t_quantile(_POWER, average.df) * average.error
        difference = max(beyond, min_detectable_difference(d, alpha=plan.alpha, clusters=clusters))
    return math.inf if difference > measure.definition.width else difference


@dataclass(frozen=True)
class Units:
    """What clusters are worth: each of as many as leave t its degrees of freedom has this many questions.

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
    """How many questions show the observed effect in 80 of 100 cases, were it the true one.

    effect     in standard deviations;   n, difference, detectable   of the comparison
    units      of the questions, were further ones clustered alike
    Returns    None where there is no effect, or none that 10**9 questions would show
    """
    if not (math.isfinite(effect) and effect):
        return None
    if plan.test != "tukey":
        needed = fewest_questions(effect * units.effect, alpha=plan.alpha, n_comparisons=plan.n_comparisons)
        return None if needed is None else math.ceil(needed * units.size)
    # Critical difference and standard error both shrink with the root of the number of questions.
    times = (detectable / abs(difference)) ** 2 if np.isfinite(detectable) else math.inf
    return math.ceil(n * times) if n * times <= _MOST_QUESTIONS else None
