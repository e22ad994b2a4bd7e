"""Families of tests in a comparison: not worse than a margin, equivalent within it, and all pairs of systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from steelyard.comparison.differences import Difference, interval_alphas
from steelyard.comparison.plan import Plan
from steelyard.comparison.samples import Sample
from steelyard.stats.samples import n_clusters, too_few
from steelyard.stats.tests.corrections import correct
from steelyard.stats.tests.groups import guarded_tukey, indistinguishable
from steelyard.stats.tests.pairs import Pairs, all_pairs, placed, sign_flip_pairs

MARGIN_TESTS = ("not_worse", "equivalent")


def margin_correction(correction: str) -> str:
    """The correction of tests against the margin: that of the tests of difference, and Holm beside Tukey."""
    return "holm" if correction == "tukey" else correction


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


MOST_GROUPED = 100
"""Pairs grow with the square of the systems; of more systems, none are grouped."""


def tested_pairs(samples: Sequence[Sample], plan: Plan) -> list[Pairs | None]:
    """Tests of all pairs of systems by sample, corrected over all samples together, or family-wise by Tukey.

    Returns   None for each sample where only the baseline is compared, without letters: of two systems, of segments, of
              more than MOST_GROUPED systems, by tests other than t and Tukey's, without pairs of questions, and where
              differences are corrected or of percentiles
    """
    if plan.test == "tukey":
        return [_tukey(sample, plan) for sample in samples]
    beside_baseline = plan.test == "t" and plan.n_segments is None and 2 < len(plan.systems) <= MOST_GROUPED
    beside_baseline &= plan.paired
    if not plan.all_pairs and (not beside_baseline or any(sample.errors or sample.runs for sample in samples)):
        return [None] * len(samples)
    pairs = [_pairs(sample, plan) for sample in samples]
    p = np.concatenate([part.p for part in pairs])
    adjusted = correct(p, method=plan.correction, family="all pairs").adjusted
    return [replace(part, adjusted=own) for part, own in zip(pairs, np.split(adjusted, len(pairs)), strict=True)]


def system_groups(sample: Sample, pairs: Pairs | None, plan: Plan) -> list[list[int] | None]:
    """By system: the numbers, from 0 and best first, of the groups that it is in.

    Returns    None for each system where there are no pairs, of segments, of more than MOST_GROUPED systems, below two
               questions, and where judges differ
    """
    s = len(plan.systems)
    if (
        pairs is None
        or pairs.reason is not None
        or plan.n_segments is not None
        or s > MOST_GROUPED
        or sample.lack == "other judge"
    ):
        return [None] * s
    groups = indistinguishable(np.nan_to_num(sample.sign * sample.means), pairs, alpha=plan.alpha)
    return [[number for number, group in enumerate(groups) if i in group] for i in range(s)]


def _tukey(sample: Sample, plan: Plan) -> Pairs:
    """Tukey's p of all pairs; shuffled by name, so that the order in which systems are listed moves no p."""
    by_name = sorted(range(len(plan.systems)), key=lambda i: plan.systems[i])
    pairs = guarded_tukey(sample.values[by_name], seed=plan.seed, alpha=plan.alpha, clusters=sample.clusters)
    return placed(pairs, by_name)


def _pairs(sample: Sample, plan: Plan) -> Pairs:
    """The test of each pair by itself."""
    if plan.test == "randomization" and not sample.runs and not sample.errors:
        return sign_flip_pairs(sample.values, seed=plan.seed, clusters=sample.clusters, correction="none")
    first, second = all_pairs(len(plan.systems)).T
    places = zip(first.tolist(), second.tolist(), strict=True)
    p = np.array([Difference.of(sample, plan, i, j).p for i, j in places])
    n = sample.values.shape[1]
    return Pairs(
        plan.test, first, second, difference=sample.means[second] - sample.means[first], p=p, adjusted=p,
        correction="none", family="all pairs", n=n, reason=too_few(n, n_clusters(sample.clusters, n) - 1),
    )  # fmt: skip
