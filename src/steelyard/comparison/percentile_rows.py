"""Rows of percentiles: their differences, with intervals and tests by ranks."""

from __future__ import annotations

import math

from steelyard.base.arrays import Bools
from steelyard.comparison.intervals import NO_INTERVAL
from steelyard.comparison.plan import Plan
from steelyard.comparison.samples import Sample
from steelyard.stats.effects import WinTieLoss
from steelyard.stats.percentile_differences import PercentileDifference


def percentile_columns(sample: Sample, i: int, plan: Plan) -> dict[str, object]:
    """The columns of one system beside the baseline; what is of means alone is null.

    Where there are too few values for either end of an interval, there is no test.
    """
    counts = _counts(sample, i, plan)
    row: dict[str, object] = {"n_wins": counts.n_wins, "n_ties": counts.n_ties, "n_losses": counts.n_losses}
    if i == plan.reference:
        return {**row, "difference": 0.0}
    difference = sample.difference(plan.reference, i)
    p = tested_p(difference, plan.alpha)
    tested = not math.isnan(p)
    low, high = difference.interval(1 - plan.alpha)
    return {
        **row, "difference": difference.value, "p": p,
        "reason": None if tested else "few values", "unit_size": 1.0, "unit_effect": 1.0,
        "lean": sample.sign * (low + high if math.isnan(difference.value) else difference.value),
        **(_margins(sample, i, plan, difference) if tested else {}),
    }  # fmt: skip


def percentile_ends(sample: Sample, i: int, plan: Plan, alpha: float) -> dict[str, float]:
    """Ends of the interval of the difference, infinite or as wide as the range where there is none; and its share."""
    difference, baseline = sample.difference(plan.reference, i), float(sample.means[plan.reference])
    low, high = difference.interval(1 - alpha) if _has_end(difference, alpha) else NO_INTERVAL
    width = sample.measure.definition.width
    return {
        "low": max(low, -width),
        "high": min(high, width),
        "relative": difference.value / baseline if baseline else math.nan,
    }


def tested_p(difference: PercentileDifference, alpha: float) -> float:
    """p of a difference; NaN where there are too few values for either end of its interval."""
    return difference.p if _has_end(difference, alpha) else math.nan


def _has_end(difference: PercentileDifference, alpha: float) -> bool:
    low, high = difference.interval(1 - alpha)
    return low > -math.inf or high < math.inf


def _counts(sample: Sample, i: int, plan: Plan) -> WinTieLoss:
    """On how many questions the system is better, level and worse; an infinite value is worse than any other."""
    own, reference = (sample.sign * sample.values[place] for place in (i, plan.reference))
    return WinTieLoss(_n(own > reference), _n(own == reference), _n(own < reference))


def _n(there: Bools) -> int:
    return int(there.sum())


def _margins(sample: Sample, i: int, plan: Plan, difference: PercentileDifference) -> dict[str, float | bool]:
    """p of both tests against the margin; see `margin_tests`."""
    if plan.margin is None:
        return {}
    if plan.systems[i] in plan.identical and difference.value == 0:
        return {"not_worse": True, "equivalent": True}
    above, below = difference.p_above(-plan.margin), difference.p_below(plan.margin)
    return {"not_worse_p": above if sample.sign > 0 else below, "equivalent_p": max(above, below)}
