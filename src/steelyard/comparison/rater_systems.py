"""How far the order of systems by one rater's grades agrees with that by another's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.base import defaults
from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.data.ratings import Ratings, truth_of
from steelyard.experiment.evaluation import evaluate
from steelyard.experiment.opening import open_inputs
from steelyard.experiment.scores import Scores
from steelyard.measures import Measure
from steelyard.stats.rankings import kendall_tau, tau_ap

_FEWEST_SYSTEMS = 3


@dataclass(frozen=True)
class SystemAgreement:
    """How far the order of systems by a rater's grades agrees with that by the reference's.

    No interval: of systems that are close, the order turns over from sample to sample of questions, and no interval by
    resampling these holds the tau of all questions as often as it should (71 to 97% in simulations, in place of 95).

    kendall       tau-b;   tau_ap   the same with the weight at the top
    n_questions   that both raters judged;   means   system -> mean by the rater's grades, and by the reference's
    """

    rater: str
    kendall: float
    tau_ap: float
    n_questions: int
    means: Mapping[str, tuple[float, float]]


def system_agreement(
    ratings: Ratings, against: str, runs: object, measure: str | Measure
) -> list[SystemAgreement]:  # fmt: skip
    """Of each rater but the reference, best Kendall first.

    Raises   InputError for fewer than three systems, grades that are no numbers, no common query.
    """
    reference = truth_of(ratings, against)
    systems = {
        system.name: system.run for system in open_inputs(reference, runs, on_duplicate=defaults.ON_DUPLICATE).systems
    }
    if len(systems) < _FEWEST_SYSTEMS:
        raise InputError(f"{len(systems)} runs; the order of systems takes {_FEWEST_SYSTEMS} or more")
    by_reference = evaluate(reference, systems, measure)
    others = {rater: truth_of(ratings, rater) for rater in ratings.raters if rater != against}
    rows = [_of_rater(rater, by_reference, evaluate(truth, systems, measure)) for rater, truth in others.items()]
    return sorted(rows, key=lambda row: math.inf if math.isnan(row.kendall) else -row.kendall)


def _of_rater(rater: str, reference: Scores, judged: Scores) -> SystemAgreement:
    """From the questions of which all systems have a value by both."""
    values = _common(reference, judged)
    n, s = len(values), len(judged.systems)
    means = values.mean(axis=0) if n else np.full((2, s), np.nan)
    kendall = top = math.nan
    if n:
        sign = 1 if judged.measures[0].definition.higher_is_better else -1
        kendall, top = kendall_tau(*means), tau_ap(*(sign * means))
    pairs = [(by_rater, by_reference) for by_reference, by_rater in means.T.tolist()]
    return SystemAgreement(rater, kendall, top, n, dict(zip(judged.systems, pairs, strict=True)))


def _common(reference: Scores, judged: Scores) -> Floats:
    """(q, 2, s) values of the questions that all systems have one of by both raters."""
    places = {query_id: place for place, query_id in enumerate(judged.query_ids)}
    shared = [(place, places[query_id]) for place, query_id in enumerate(reference.query_ids) if query_id in places]
    if not shared:
        return np.empty((0, 2, len(judged.systems)))
    of_reference, of_judged = np.array(shared).T
    both = np.stack([reference.values[:, 0, of_reference], judged.values[:, 0, of_judged]]).transpose(2, 0, 1)
    return np.asarray(both[np.isfinite(both).all(axis=(1, 2))])
