"""How far the order of systems by one rater's grades agrees with that by another's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.data.ratings import Ratings, truth_of
from steelyard.experiment import defaults
from steelyard.experiment.evaluation import evaluate
from steelyard.experiment.opening import open_inputs
from steelyard.experiment.scores import Scores
from steelyard.measures import Measure
from steelyard.stats.rankings import kendall_tau, tau_ap
from steelyard.stats.resampling import cluster_bootstrap
from steelyard.stats.samples import ROUNDING

_FEWEST_SYSTEMS, _FEWEST_QUESTIONS = 3, 10


@dataclass(frozen=True)
class SystemAgreement:
    """How far the order of systems by a rater's grades agrees with that by the reference's.

    kendall       tau-b, and the ends of its interval over questions;   tau_ap   the same with the weight at the top
    n_questions   that both raters judged;   means   system -> mean by the rater's grades, and by the reference's
    """

    rater: str
    kendall: tuple[float, float, float]
    tau_ap: float
    n_questions: int
    means: Mapping[str, tuple[float, float]]


def system_agreement(
    ratings: Ratings,
    against: str,
    runs: object,
    measure: str | Measure,
    *,
    level: float,
    n_resamples: int,
    seed: int,
) -> list[SystemAgreement]:
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
    rows = [
        _of_rater(
            rater, by_reference, evaluate(truth, systems, measure), level=level, n_resamples=n_resamples, seed=seed
        )
        for rater, truth in others.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: -row.kendall[0] if not math.isnan(row.kendall[0]) else math.inf)


def _of_rater(
    rater: str, reference: Scores, judged: Scores, *, level: float, n_resamples: int, seed: int
) -> SystemAgreement:
    """From the questions of which all systems have a value by both."""
    values = _common(reference, judged)
    n, s = len(values), len(judged.systems)
    means = values.mean(axis=0) if n else np.full((2, s), np.nan)
    kendall, top = (math.nan, math.nan, math.nan), math.nan
    if n:
        sign = 1 if judged.measures[0].definition.higher_is_better else -1
        kendall, top = (kendall_tau(*means), math.nan, math.nan), tau_ap(*(sign * means))
    if n >= _FEWEST_QUESTIONS:
        resampled = cluster_bootstrap(values, _taus, level=level, n_resamples=n_resamples, seed=seed)
        kendall = (kendall[0], float(resampled.low[0]), float(resampled.high[0]))
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


def _taus(sums: Floats) -> Floats:
    """(b, 1) Kendall's tau-b of (b, 2, s) sums."""
    first, second = (_signs(sums[:, side]) for side in (0, 1))
    both = np.einsum("bij,bij->b", first, second)
    pairs = [np.einsum("bij,bij->b", signs, signs) for signs in (first, second)]
    product = np.sqrt(pairs[0] * pairs[1])
    taus = np.divide(both, product, out=np.full(len(both), np.nan), where=product > 0)
    return np.asarray(taus[:, None])


def _signs(sums: Floats) -> Floats:
    """(b, s, s) at [i, j]: 1 where i is above j, -1 below, 0 where they differ by rounding alone."""
    apart = sums[:, :, None] - sums[:, None, :]
    size = np.abs(sums)
    differs = np.abs(apart) > ROUNDING * np.maximum(size[:, :, None], size[:, None, :])
    return np.asarray(np.sign(apart) * differs)
