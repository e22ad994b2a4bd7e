"""Checks of values against the levels of a profile."""

from __future__ import annotations

import math

from steelyard.gates.checks import Check, CheckReason
from steelyard.gates.ratings import StandardValue, reaches
from steelyard.measures.registry import Direction


def level_check(value: StandardValue, level: str, min_questions: int) -> Check:
    """Whether the whole interval of a value reaches a level; fewer questions than asked for are too few data."""
    limit, better = value.standard.levels[level], value.standard.better
    reason = _reason(value, limit, better, min_questions)
    return Check(
        value.system, value.measure, "level", reason,
        value=value.value, low=value.low, high=value.high, limit=limit, n=value.n, better=better, level=level,
    )  # fmt: skip


def _reason(value: StandardValue, limit: float, better: Direction, min_questions: int) -> CheckReason:
    if math.isnan(value.value):
        return "not_measured"
    if value.is_handed_in:
        return "reached" if reaches(value.value, limit, better) else "missed"
    if value.n < min_questions:
        return "few_questions"
    if math.isnan(value.low) or math.isnan(value.high):
        return "no_interval"
    return side_of(limit, value.low, value.high, better)


def side_of(limit: float, low: float, high: float, better: Direction) -> CheckReason:
    """On which side of a limit a whole interval lies."""
    ends = reaches(low, limit, better), reaches(high, limit, better)
    return "reached" if all(ends) else "spans" if any(ends) else "missed"
