"""Checks of percentiles against those of a baseline, on the questions that both have."""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.experiment.percentiles import is_in_time, run_values
from steelyard.experiment.scores import Scores
from steelyard.gates.checks import Check, CheckReason
from steelyard.measures import Measure
from steelyard.measures.registry import Direction
from steelyard.stats.percentile_differences import percentile_difference


def percentile_check(
    scores: Scores, system: str, other: Scores, against: str, measure: Measure, *, margin: float, min_questions: int,
    alpha: float, better: Direction,
) -> Check:  # fmt: skip
    """Whether a percentile is shown not to be worse by the margin, or to be: by its one-sided limits at alpha."""
    assert measure.share is not None
    runs, baseline = _runs(scores, system, measure), _runs(other, against, measure)
    common = [query_id for query_id in runs if query_id in baseline]
    left_out = len(runs) - len(common), len(baseline) - len(common)
    n, name = len(common), str(measure)
    if n < max(min_questions, 1):
        return Check(system, name, "baseline", "few_questions", limit=margin, n=n, better=better, left_out=left_out)
    place = {query_id: q for q, query_id in enumerate(scores.query_ids)}
    before, after = (np.stack([of[query_id] for query_id in common], axis=1) for of in (baseline, runs))
    difference = percentile_difference(
        before, after, measure.share, in_time=is_in_time(scores),
        clusters=None if scores.clustering is None else scores.clustering.codes[[place[q] for q in common]],
    )  # fmt: skip
    low, high = difference.interval(1 - 2 * alpha)
    least, most = (low, high) if better == "higher" else (-high, -low)
    reason: CheckReason = "not_worse" if least > -margin else "worse" if most <= -margin else "undecided"
    return Check(
        system, name, "baseline", reason, value=difference.value, low=low, high=high, limit=margin, n=n, better=better,
        left_out=left_out,
    )  # fmt: skip


def _runs(scores: Scores, system: str, measure: Measure) -> dict[str, Floats]:
    """query_id -> (r,) values in each run, of the questions that have a value in all."""
    rows = run_values(scores, list(scores.systems).index(system), list(scores.measures).index(measure))
    return {scores.query_ids[q]: rows[:, q] for q in np.flatnonzero(~np.isnan(rows).any(axis=0)).tolist()}
