"""Checks of what could not be measured: shares of questions, documents and gold pieces against their bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from steelyard.experiment.score_arrays import ANSWERS_FAILED
from steelyard.experiment.scores import Scores
from steelyard.gates.checks import Check, CheckReason
from steelyard.gates.profiles import Profile
from steelyard.gates.ratings import reaches


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
