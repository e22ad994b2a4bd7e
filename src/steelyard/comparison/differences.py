"""Columns of differences from the baseline, with intervals: of means, of corrected means and of percentiles."""

from __future__ import annotations

import math

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.comparison.plan import Plan
from steelyard.comparison.power import reportable
from steelyard.comparison.samples import Sample
from steelyard.stats.intervals.means import mean_intervals
from steelyard.stats.intervals.percentiles import PercentileDifference
from steelyard.stats.numerics import t_quantile
from steelyard.stats.power.detectable import detectable_errors
from steelyard.stats.samples import MeanError, mean_error, t_sf
from steelyard.stats.tests.effects import WinTieLoss
from steelyard.stats.tests.paired import PairedTest, sign_flip_interval, t_test

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
    d: Floats, plan: Plan, *, alpha: float, p: float, critical: float, width: float, clusters: Ints | None = None
) -> tuple[float, float]:
    """Both ends of the interval of the mean of d, neither beyond the width.

    clusters  (n,) of differences that count as one, or None
    alpha     of this interval by itself;   p   of the test;   critical   Tukey's critical difference
    width     the largest difference that two values can have
    Returns   Student's t; of sign flips every shift that they do not reject; for Tukey the critical difference on
              either side, and as far as 0 where the pair's own test shows nothing.  NaN for tests of ranks and signs,
              which are not about means, for fewer than two questions or clusters, for differences that are all equal,
              and where no shift is rejected
    """
    average = mean_error(d, clusters=clusters)
    if average.reason or average.flat or not plan.is_of_means:
        return NO_INTERVAL
    low, high = _ends(d, plan, alpha, p, critical, clusters)
    largest = max(width, float(np.abs(d).max()))
    return max(low, -largest), min(high, largest)


def _ends(d: Floats, plan: Plan, alpha: float, p: float, critical: float, clusters: Ints | None) -> tuple[float, float]:
    if plan.test == "t":
        ends = mean_intervals(d[:, None], level=1 - alpha, clusters=clusters)
        return float(ends.low[0]), float(ends.high[0])
    if plan.test == "randomization":
        low, high = sign_flip_interval(d, seed=plan.seed, level=1 - alpha, clusters=clusters)
        return (low, high) if math.isfinite(low) else NO_INTERVAL
    mean = float(d.mean())
    half = max(critical, abs(mean)) if p > alpha else critical
    return mean - half, mean + half


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
        **(_percentile_margins(sample, i, plan, difference) if tested else {}),
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


def _percentile_margins(
    sample: Sample, i: int, plan: Plan, difference: PercentileDifference
) -> dict[str, float | bool]:
    """p of both tests against the margin; see `margin_tests`."""
    if plan.margin is None:
        return {}
    if plan.systems[i] in plan.identical and difference.value == 0:
        return {"not_worse": True, "equivalent": True}
    above, below = difference.p_above(-plan.margin), difference.p_below(plan.margin)
    return {"not_worse_p": above if sample.sign > 0 else below, "equivalent_p": max(above, below)}
