"""Not worse than the margin, and equivalent within it: tests of each system, corrected over the family."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from steelyard.base.arrays import Floats, Ints
from steelyard.comparison.intervals import NO_INTERVAL, interval_alphas
from steelyard.comparison.plan import Plan
from steelyard.comparison.samples import Sample
from steelyard.stats.corrections import correct
from steelyard.stats.equivalence import loss_p, non_inferiority
from steelyard.stats.samples import differences
from steelyard.stats.student import t_quantile

MARGIN_TESTS = ("not_worse", "equivalent")


def margin_correction(correction: str) -> str:
    """The correction of tests against the margin: that of the tests of difference, and Holm beside Tukey."""
    return "holm" if correction == "tukey" else correction


def margin_tests(
    gain: Floats, margin: float | None, *, width: float, identical: bool, clusters: Ints | None = None
) -> dict[str, float | bool | None]:
    """p of both tests of one system, by column; and their answers where both gave the same results, and there is no p.

    gain               (n,) by how much the system is better
    width, identical, clusters   as of `non_inferiority`
    Returns            null where there is no margin, and where there is no test
    """
    if margin is None or len(gain) < 2:
        return {}
    if identical and not gain.any():
        return dict.fromkeys(MARGIN_TESTS, True)
    losses = [loss_p(sign * gain, margin=margin, width=width, clusters=clusters) for sign in (1, -1)]
    return {"not_worse_p": losses[0], "equivalent_p": max(losses)}


def correct_margins(rows: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """The rows with both answers by corrected p; where a test has no p the answer there is holds.

    The p of a test gives way to the alpha of its limit, which rules the margin out exactly where the test does.
    """
    method, alpha = margin_correction(plan.correction), plan.alpha
    for test in MARGIN_TESTS:
        p = rows[f"{test}_p"].fill_null(math.nan).to_numpy()
        corrected = correct(p, method=method, family="with the baseline")
        adjusted = pl.Series(corrected.adjusted, nan_to_null=True)
        alphas = interval_alphas(
            p, corrected.adjusted, correction=method, alpha=alpha, n_shown=int((corrected.adjusted < alpha).sum()),
            n_comparisons=1 if method == "none" else max(corrected.n_tests, 1),
        )  # fmt: skip
        rows = rows.with_columns(
            pl.coalesce(pl.lit(adjusted < alpha), test).alias(test), pl.Series(f"{test}_p", alphas)
        ).rename({f"{test}_p": f"{test}_alpha"})
    return rows


def margin_limits(sample: Sample, i: int, plan: Plan, alphas: Sequence[float]) -> tuple[float, float]:
    """Both limits of a system's difference from the reference, each by the one-sided test of its side.

    alphas   of the limit against a loss, and of that against a gain
    Returns  (least, most), neither beyond the width; NaN where there is no test
    """
    below, above = alphas if sample.sign > 0 else alphas[::-1]
    width = sample.measure.definition.width
    if sample.runs:
        difference = sample.difference(plan.reference, i)
        return max(difference.interval(1 - 2 * below)[0], -width), min(difference.interval(1 - 2 * above)[1], width)
    if (average := sample.errors.get((plan.reference, i))) is not None:
        if not average.error > 0:
            return NO_INTERVAL
        return average.ends(*(t_quantile(1 - alpha, average.df) for alpha in (below, above)))
    d = differences(sample.values[plan.reference], sample.values[i])
    identical = plan.systems[i] in plan.identical
    low, high = (
        side * non_inferiority(
            side * d, margin=plan.margin or width, width=width, alpha=alpha, clusters=sample.clusters,
            identical=identical,
        ).low
        for side, alpha in ((1, below), (-1, above))
    )  # fmt: skip
    return low, high
