"""Checks of values against the levels of a profile, and of shares that could not be measured against their bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from steelyard.experiment.table.arrays import ANSWERS_FAILED
from steelyard.experiment.table.scores import LEVEL, Scores
from steelyard.gates.checks import Check, CheckReason
from steelyard.gates.profiles import Profile
from steelyard.gates.ratings import in_reach, reaches
from steelyard.gates.values import StandardValue
from steelyard.measures import Measure, make, parse
from steelyard.measures.registry import Direction
from steelyard.stats.intervals.unseen import unseen_share

_BOUNDED_BY_ONE = (("r_precision", False), ("recall_cap", True), ("ndcg", True))
"""Measures of which a perfect ranking has 1 wherever anything is relevant; and whether they have a k."""


def level_check(value: StandardValue, level: str, min_questions: int) -> Check:
    """True if the whole interval of a value reaches a level; fewer questions than asked for are too few data."""
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


def share_checks(
    scores: Scores, system: str, profile: Profile | None, most: Mapping[str, float | None]
) -> Iterator[Check]:
    """Each share that most bounds, by the names of SHARES, of one system; unjudged documents by what profile covers."""
    i, n = list(scores.systems).index(system), len(scores.query_ids)
    values = {
        "failed": (int(scores.failed[i].sum()) + _n_unanswered(scores, system)) / n if n else math.nan,
        "missing": float(scores.missing[i].mean()) if n else math.nan,
        "unjudged": _unjudged(scores, i, profile),
        "unmapped": _unmapped(scores, i),
        "not_judged": _not_judged(scores, i, profile),
    }
    for name, bound in most.items():
        if bound is not None:
            value = values[name]
            reason: CheckReason = (
                "not_measured" if math.isnan(value) else "within" if reaches(value, bound, "lower") else "exceeded"
            )
            mapping = scores.gold[i]
            behind = mapping.n_pieces if name == "unmapped" and mapping is not None else n
            yield Check(system, name, "share", reason, value=value, limit=bound, n=behind, better="lower")


def _n_unanswered(scores: Scores, system: str) -> int:
    """Questions whose answer alone failed: they are weighed by what was retrieved."""
    notes = (note for note in scores.notes.get(system, ()) if note.code == ANSWERS_FAILED)
    return sum(int(note.values["n"]) for note in notes)


def _unjudged(scores: Scores, i: int, profile: Profile | None) -> float:
    """The largest mean share of documents without a label, of the measures that are judged; NaN without any.

    A measure without a k looks down the whole list, most of which is never read: it counts where no other does.
    """
    judged = _covered(scores, profile)
    cut = [j for j in judged if scores.measures[j].depth is not None]
    shares = []
    for j in cut or judged:
        # An absent list has no document that could lack a label.
        there = ~scores.missing[i] & ~np.isnan(scores.values[i, j]) & ~np.isnan(scores.judged[i, j])
        judged_shares = scores.judged[i, j][there]
        if len(judged_shares):
            shares.append(1 - float(judged_shares.mean()))
    return max(shares, default=math.nan)


def _covered(scores: Scores, profile: Profile | None) -> list[int]:
    """Places of the measures that are judged."""
    return [j for j, measure in enumerate(scores.measures) if profile is None or profile.covers(measure)]


def _not_judged(scores: Scores, i: int, profile: Profile | None) -> float:
    """The largest share of questions whose answer was not judged, of the measures of answers that are judged."""
    counts = [int(scores.n_not_judged[i, j]) for j in _covered(scores, profile) if scores.of_answers[j]]
    return max(counts) / len(scores.query_ids) if counts and len(scores.query_ids) else math.nan


def _unmapped(scores: Scores, i: int) -> float:
    mapping = scores.gold[i]
    return len(mapping.lost) / mapping.n_pieces if mapping is not None and mapping.n_pieces else math.nan
