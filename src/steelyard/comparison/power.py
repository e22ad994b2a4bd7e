"""What these questions could have shown, and how many would show the effect observed."""

from __future__ import annotations

import math

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.comparison.plan import Plan
from steelyard.measures import Measure
from steelyard.stats.power import fewest_questions, min_detectable_difference
from steelyard.stats.samples import mean_error, t_quantile

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


def detectable_difference(d: Floats, measure: Measure, plan: Plan, critical: float | None) -> float:
    """The smallest difference that these questions show in 80 of 100 cases.

    d          (n,) differences;   critical   Tukey's critical difference, None for other tests
    Returns    in the unit of the measure, alpha shared among all comparisons of the family; infinite where values of
               the measure cannot differ by so much, and where no difference could be shown; NaN below two questions
    """
    if len(d) < fewest_to_show(
        plan.test, correction=plan.correction, n_comparisons=plan.n_comparisons, alpha=plan.alpha
    ):
        return math.inf if len(d) > 1 else math.nan
    if critical is None:
        difference = min_detectable_difference(d, alpha=plan.alpha, n_comparisons=plan.n_comparisons)
    else:
        # Chance lifts or lowers a difference by its standard error; and no pair is surer than by its own test.
        beyond = critical + t_quantile(_POWER, len(d) - 1) * mean_error(d).error
        difference = max(beyond, min_detectable_difference(d, alpha=plan.alpha))
    return math.inf if difference > measure.definition.width else difference


def questions_for(effect: float, *, n: int, difference: float, detectable: float, plan: Plan) -> int | None:
    """How many questions show the observed effect in 80 of 100 cases, were it the true one.

    effect     in standard deviations;   n, difference, detectable   of the comparison
    Returns    None where there is no effect, or none that 10**9 questions would show
    """
    if not (math.isfinite(effect) and effect):
        return None
    if plan.test != "tukey":
        return fewest_questions(effect, alpha=plan.alpha, n_comparisons=plan.n_comparisons)
    # Critical difference and standard error both shrink with the root of the number of questions.
    times = (detectable / abs(difference)) ** 2 if np.isfinite(detectable) else math.inf
    return math.ceil(n * times) if n * times <= _MOST_QUESTIONS else None
