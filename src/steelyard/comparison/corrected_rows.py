"""Rows of systems whose difference from the baseline is corrected: by its mean, error and degrees of freedom alone."""

from __future__ import annotations

import math

from steelyard.comparison.intervals import NO_INTERVAL
from steelyard.comparison.plan import Plan
from steelyard.comparison.power import reportable
from steelyard.comparison.samples import Sample
from steelyard.stats.detectable import detectable_errors
from steelyard.stats.paired import PairedTest, t_test
from steelyard.stats.samples import MeanError, t_sf
from steelyard.stats.student import t_quantile


def corrected_columns(sample: Sample, i: int, plan: Plan) -> dict[str, object]:
    """The columns of one system beside the baseline; those of single questions are null, but where none differs."""
    average = sample.errors[plan.reference, i]
    nothing, test = _is_nothing(average), corrected_test(average)
    return {
        "n_wins": 0 if nothing else None, "n_ties": average.n if nothing else None, "n_losses": 0 if nothing else None,
        "difference": average.mean, "p": test.p, "reason": None if test.reason is None else sample.lack,
        "effect": math.nan, "detectable": _detectable(sample, average, plan), "unit_size": 1.0, "unit_effect": 1.0,
        "lean": sample.sign * average.mean if test.p <= plan.alpha else None, **_margins(sample, average, plan),
    }  # fmt: skip


def corrected_test(average: MeanError) -> PairedTest:
    """The t test of a corrected difference, as near to 0 as it may be; p is 1 where nothing differs."""
    return PairedTest("t", 0.0, 1.0, average.n) if _is_nothing(average) else t_test(average.toward(0.0))


def _is_nothing(average: MeanError) -> bool:
    return average.mean == average.error == average.below == average.above == 0


def corrected_ends(sample: Sample, i: int, plan: Plan, alpha: float) -> dict[str, float]:
    """Ends of the interval of the difference, and the difference as a share of the baseline's mean."""
    average, baseline = sample.errors[plan.reference, i], float(sample.values[plan.reference].mean())
    low, high = NO_INTERVAL
    if average.error > 0:
        width, quantile = max(sample.measure.definition.width, abs(average.mean)), t_quantile(1 - alpha / 2, average.df)
        low, high = average.ends(quantile, quantile)
        low, high = max(low, -width), min(high, width)
    return {"low": low, "high": high, "relative": average.mean / baseline if baseline else math.nan}


def _detectable(sample: Sample, average: MeanError, plan: Plan) -> float:
    if not average.error >= 0:
        return math.nan
    errors = detectable_errors(average.n, df=average.df, alpha=plan.alpha, n_comparisons=plan.n_comparisons)
    return reportable(errors * average.error, average.n, sample.measure.definition.width)


def _margins(sample: Sample, average: MeanError, plan: Plan) -> dict[str, float]:
    """p of both tests against the margin; see `margin_tests`."""
    if plan.margin is None or not average.error > 0:
        return {}
    gains = [sign * average.toward(-sign * math.inf).mean for sign in (sample.sign, -sample.sign)]
    losses = [t_sf((gain + plan.margin) / average.error, average.df) for gain in gains]
    return {"not_worse_p": losses[0], "equivalent_p": max(losses)}
