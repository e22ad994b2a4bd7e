"""Checks of percentiles against those of a baseline, on the questions that both have."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from steelyard.base import defaults
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
        bare = lacks_gold(scores, system, measure) or lacks_gold(other, against, measure)
        why: CheckReason = "no_gold" if bare else "few_questions"
        return Check(system, name, "baseline", why, limit=margin, n=n, better=better, left_out=left_out)
    place = {query_id: q for q, query_id in enumerate(scores.query_ids)}
    before, after = (np.stack([of[query_id] for query_id in common], axis=1) for of in (baseline, runs))
    difference = percentile_difference(
        before, after, measure.share, in_time=is_in_time(scores),
        clusters=None if scores.clustering is None else scores.clustering.codes[[place[q] for q in common]],
    )  # fmt: skip
    low, high = difference.interval(1 - 2 * alpha)
    least, most = (low, high) if better == "higher" else (-high, -low)
    reason: CheckReason = "not_worse" if least > -margin else "worse" if most <= -margin else "undecided"
    value = difference.value if better == "higher" else -difference.value
    detectable, needed = (math.nan, None)
    if reason == "undecided":
        detectable, needed = percentile_resolution(value - least, n, measure.share, margin=margin, alpha=alpha)
    return Check(
        system, name, "baseline", reason, value=difference.value, low=low, high=high, limit=margin, n=n, better=better,
        left_out=left_out, detectable=detectable, needed=needed,
    )  # fmt: skip


def lacks_gold(scores: Scores, system: str, measure: Measure) -> bool:
    """Whether no question has the gold that a measure of a system needs."""
    return bool(scores.lacks_gold[list(scores.systems).index(system), list(scores.measures).index(measure)])


def percentile_resolution(
    half: float, n: int, p: float, *, margin: float, alpha: float
) -> tuple[float, int | None]:  # fmt: skip
    """Margin that n questions can hold in 80 of 100 cases where nothing was lost, and how many hold the one asked for.

    half   from the difference to its limit at alpha; it becomes shorter as the root of n.  Where it is infinite, there
           is no such margin, and the questions are those below which the percentile p has no limit
    """
    if not math.isfinite(half):
        fewest = math.ceil(math.log(alpha) / math.log(max(p, 1 - p)))
        return math.nan, fewest if fewest > n else None
    at_alpha, at_power = (NormalDist().inv_cdf(share) for share in (1 - alpha, defaults.POWER))
    detectable = (1 + at_power / at_alpha) * half
    needed = math.ceil(n * (detectable / margin) ** 2) if margin else 0
    return detectable, needed if needed > n else None


def _runs(scores: Scores, system: str, measure: Measure) -> dict[str, Floats]:
    """query_id -> (r,) values in each run, of the questions that have a value in all."""
    rows = run_values(scores, list(scores.systems).index(system), list(scores.measures).index(measure))
    return {scores.query_ids[q]: rows[:, q] for q in np.flatnonzero(~np.isnan(rows).any(axis=0)).tolist()}
