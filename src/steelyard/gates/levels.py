"""Checks of values against the levels of a profile."""

from __future__ import annotations

import math
from dataclasses import replace

from steelyard.experiment.scores import LEVEL
from steelyard.gates.checks import Check, CheckReason
from steelyard.gates.ratings import in_reach, reaches
from steelyard.gates.values import StandardValue
from steelyard.measures import Measure, make, parse
from steelyard.measures.registry import Direction
from steelyard.stats.unseen import unseen_share

_BOUNDED_BY_ONE = (("r_precision", False), ("recall_cap", True), ("ndcg", True))
"""Measures of which a perfect ranking has 1 wherever anything is relevant; and whether they have a k."""


def level_check(value: StandardValue, level: str, min_questions: int) -> Check:
    """Whether the whole interval of a value reaches a level; fewer questions than asked for are too few data."""
    limit, better = value.standard.levels[level], value.standard.better
    reason = _reason(value, limit, better, min_questions)
    share = unseen_share(value.n_units, 1 - LEVEL) if reason == "reached" and value.n_units else math.nan
    return Check(
        value.system, value.measure, "level", reason,
        value=value.value, low=value.low, high=value.high, limit=limit, n=value.n, better=better, level=level,
        reachable=value.reachable, n_failed=value.n_failed, n_labels=value.n_labels, n_undecided=value.n_undecided,
        unseen_share=share, unseen_loss=share * abs(value.value - value.worst),
    )  # fmt: skip


def _reason(value: StandardValue, limit: float, better: Direction, min_questions: int) -> CheckReason:
    if math.isnan(value.value):
        return "no_gold" if value.lacks_gold else "not_measured"
    if value.is_handed_in:
        return "reached" if reaches(value.value, limit, better) else "missed"
    if not in_reach(limit, value.reachable, better):
        return "beyond_candidates" if value.of_candidates else "out_of_reach"
    if value.n < min_questions:
        return "few_questions"
    if math.isnan(value.low) or math.isnan(value.high):
        return "no_interval"
    return side_of(limit, value.low, value.high, better)


def side_of(limit: float, low: float, high: float, better: Direction) -> CheckReason:
    """On which side of a limit a whole interval lies."""
    ends = reaches(low, limit, better), reaches(high, limit, better)
    return "reached" if all(ends) else "spans" if any(ends) else "missed"


def measures_in_reach(name: str) -> list[str]:
    """Measures that judge the same lists, and of which a perfect ranking has 1 on any question that has an answer.

    >>> measures_in_reach("precision(min_gain=2)@5")
    ['r_precision(min_gain=2)', 'recall_cap(min_gain=2)@5', 'ndcg@5']
    """
    measure = parse(name)
    return [str(_like(measure, other, measure.depth if has_k else None)) for other, has_k in _BOUNDED_BY_ONE]


def _like(measure: Measure, name: str, k: int | None) -> Measure:
    bare = replace(make(name, k), share=measure.share)
    return bare.with_default(**{key: value for key, value in measure.params if key == "min_gain"})
