"""All pairs of systems, and the groups of those that their tests cannot part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.comparison.corrected_rows import corrected_test
from steelyard.comparison.percentile_rows import tested_p
from steelyard.comparison.plan import TESTS, Plan
from steelyard.comparison.samples import Sample
from steelyard.stats.corrections import correct
from steelyard.stats.grouping import indistinguishable
from steelyard.stats.guarded import guarded_tukey
from steelyard.stats.pairs import Pairs, all_pairs, placed, sign_flip_pairs
from steelyard.stats.samples import differences, n_clusters, too_few

MOST_GROUPED = 100
"""Pairs grow with the square of the systems; of more systems, none are grouped."""


def tested_pairs(samples: Sequence[Sample], plan: Plan) -> list[Pairs | None]:
    """Tests of all pairs of systems by sample, corrected over all samples together, or family-wise by Tukey.

    Returns   None for each sample where only the baseline is compared, without letters: of two systems, of segments, of
              more than MOST_GROUPED systems, by tests other than t and Tukey's, and where differences are corrected or
              of percentiles
    """
    if plan.test == "tukey":
        return [_tukey(sample, plan) for sample in samples]
    beside_baseline = plan.test == "t" and plan.n_segments is None and 2 < len(plan.systems) <= MOST_GROUPED
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
    p = np.array([_p(sample, plan, i, j) for i, j in zip(first.tolist(), second.tolist(), strict=True)])
    n = sample.values.shape[1]
    return Pairs(
        plan.test, first, second, difference=sample.means[second] - sample.means[first], p=p, adjusted=p,
        correction="none", family="all pairs", n=n, reason=too_few(n, n_clusters(sample.clusters, n) - 1),
    )  # fmt: skip


def _p(sample: Sample, plan: Plan, i: int, j: int) -> float:
    """p of one pair."""
    if (i, j) in sample.errors:
        return corrected_test(sample.errors[i, j]).p
    if sample.runs:
        return tested_p(sample.difference(i, j), plan.alpha)
    return TESTS[plan.test](differences(sample.values[i], sample.values[j]), plan.seed, sample.clusters).p


def pair_of(pairs: Pairs, i: int, j: int) -> int:
    """The place of two systems among all pairs."""
    return int(np.flatnonzero((pairs.first == min(i, j)) & (pairs.second == max(i, j)))[0])
