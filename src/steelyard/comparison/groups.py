"""Groups of systems that the tests of all pairs cannot part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.comparison.plan import Plan
from steelyard.comparison.samples import Sample
from steelyard.stats.corrections import correct
from steelyard.stats.grouping import indistinguishable
from steelyard.stats.pairs import Pairs, t_pairs

MOST_GROUPED = 100
"""Pairs grow with the square of the systems; of more systems, none are grouped."""


def system_groups(
    samples: Sequence[Sample], all_pairs: Sequence[Pairs | None], plan: Plan
) -> list[list[list[int] | None]]:
    """By sample and system: the numbers, from 0 and best first, of the groups that the system is in.

    The groups of t tests are of all pairs by all measures under one correction, which covers the comparisons with the
    baseline too: by Holm, no two systems are parted here that are not parted there.

    all_pairs  Tukey's, by sample; None for other tests
    Returns    None for each system where there are no groups: of two systems, of segments, of more than MOST_GROUPED
               systems, by tests other than t and Tukey's, below two questions, and where differences from the baseline
               are corrected, or some are of percentiles
    """
    s = len(plan.systems)
    if any(sample.errors or sample.runs for sample in samples):
        return [[None] * s for _ in samples]
    if plan.test == "t" and plan.n_segments is None and 2 < s <= MOST_GROUPED:
        all_pairs = _corrected(
            [t_pairs(sample.values, clusters=sample.clusters, correction="none") for sample in samples], plan
        )
    return [_numbers(sample, pairs, plan) for sample, pairs in zip(samples, all_pairs, strict=True)]


def _corrected(all_pairs: Sequence[Pairs], plan: Plan) -> list[Pairs]:
    p = np.concatenate([pairs.p for pairs in all_pairs])
    adjusted = correct(p, method=plan.correction, family="all pairs by all measures").adjusted
    return [
        replace(pairs, adjusted=part) for pairs, part in zip(all_pairs, np.split(adjusted, len(all_pairs)), strict=True)
    ]


def _numbers(sample: Sample, pairs: Pairs | None, plan: Plan) -> list[list[int] | None]:
    if pairs is None or pairs.reason is not None:
        return [None] * len(plan.systems)
    groups = indistinguishable(sample.sign * sample.values.mean(axis=1), pairs, alpha=plan.alpha)
    return [[number for number, group in enumerate(groups) if i in group] for i in range(len(plan.systems))]
