"""How far a judge, as it judged, agrees with people, on the items that both decided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.judges.calibration import UNDEFINED, Confusion, Estimate
from steelyard.judges.decided_items import DecidedItem
from steelyard.judges.labels import IN_TWO
from steelyard.stats.intervals.resampling import Statistics, cluster_bootstrap
from steelyard.stats.labels.raters import (
    auc_of_counts,
    balanced_accuracy_of_counts,
    kappa_of_counts,
    wilson_ends,
    wilson_interval,
    worth_of_share,
)
from steelyard.stats.labels.rogan_gladen import CorrectedRate, corrected_rate

_BINS, _A_BIN = 5, 8


@dataclass(frozen=True)
class CurvePoint:
    """Items of which the judge's score is about the same.

    score_low, score_high   of these;   n   how many;   supported   what share of them people call supported
    """

    score_low: float
    score_high: float
    n: int
    supported: Estimate


@dataclass(frozen=True)
class JudgeAgreement:
    """What people say of a judge's verdicts, each item by how many it speaks for.

    confusion   counts of items, unweighted
    auc         of the score; NaN for a judge without scores
    labels      that kappa tells apart
    curve       where scores are, from the lowest; without items that no threshold makes supported
    """

    confusion: Confusion
    kappa: Estimate
    balanced_accuracy: Estimate
    sensitivity: Estimate
    specificity: Estimate
    auc: Estimate
    curve: Sequence[CurvePoint]
    labels: Sequence[str] = IN_TWO


def judge_agreement(decided: Sequence[DecidedItem], *, seed: int = 0) -> JudgeAgreement:
    """Hold verdicts as they are against people; intervals by resampling questions, of rates by Wilson.

    decided   at least one item
    """
    people = np.array([item.label == "supported" for item in decided])
    judge = np.array([item.is_supported for item in decided])
    weights = np.array([item.weight for item in decided])
    questions = np.unique([item.query_id for item in decided], return_inverse=True)[1]
    cells = (questions * 2 + people) * 2 + judge
    tables = np.bincount(cells, weights, minlength=4 * (int(questions.max()) + 1)).reshape(-1, 2, 2).astype(np.float64)
    kappa, accuracy = _both(tables, people, seed)
    pairs = ((people & judge), (people & ~judge), (~people & judge), (~people & ~judge))
    scores = np.array([math.nan if item.score is None else item.score for item in decided])
    scored, finite = ~np.isnan(scores), np.isfinite(scores)
    return JudgeAgreement(
        Confusion(*(int(pair.sum()) for pair in pairs)), kappa, accuracy,
        _rate(judge[people], weights[people], questions[people]),
        _rate(~judge[~people], weights[~people], questions[~people]),
        _auc(scores[scored], people[scored], weights[scored], questions[scored], seed),
        _curve(scores[finite], people[finite]),
    )  # fmt: skip


def corrected_share(decided: Sequence[DecidedItem], n_called: int, n: int) -> CorrectedRate:
    """The share of items that people would call supported, by how often the judge is right (Rogan & Gladen).

    n_called, n   of all items that the judge judged, how many it calls supported

    Items that were drawn with different probabilities count by these, as so many items as they are worth.  The interval
    is about these n items, and not about more questions.
    """
    weights = np.array([item.weight for item in decided])
    worth = float(weights.sum() ** 2 / np.square(weights).sum()) if decided else 0.0
    cells = dict.fromkeys(("hits", "misses", "false_alarms", "rejections"), 0.0)
    for item in decided:
        is_positive = item.label == "supported"
        name = ("hits" if item.is_supported else "misses") if is_positive else (
            "false_alarms" if item.is_supported else "rejections"
        )  # fmt: skip
        cells[name] += item.weight / weights.sum() * worth
    counts = {name: round(count) for name, count in cells.items()}
    return corrected_rate(n_called, n, **counts, n_shared=min(n, sum(counts.values())))


def _both(tables: Floats, people: Bools, seed: int) -> tuple[Estimate, Estimate]:
    """Kappa and balanced accuracy; undefined where people say the same of all."""
    if people.all() or not people.any():
        return UNDEFINED, UNDEFINED

    def statistics(sums: Floats) -> Floats:
        return np.stack([kappa_of_counts(sums), balanced_accuracy_of_counts(sums)], axis=1)

    kappa, accuracy = _resampled(tables, statistics, seed)
    return kappa, accuracy


def _resampled(sums: Floats, statistics: Statistics, seed: int) -> list[Estimate]:
    resampled = cluster_bootstrap(sums, statistics, seed=seed)
    parts = zip(resampled.values, resampled.low, resampled.high, strict=True)
    return [Estimate(*map(float, part)) for part in parts]


def _rate(right: Bools, weights: Floats, questions: Ints) -> Estimate:
    if not len(right):
        return UNDEFINED
    value, worth = worth_of_share(right, weights, questions)
    return Estimate(value, *wilson_ends(value, worth))


def _auc(scores: Floats, people: Bools, weights: Floats, questions: Floats, seed: int) -> Estimate:
    if not len(scores) or people.all() or not people.any():
        return UNDEFINED
    _, places = np.unique(scores, return_inverse=True)
    _, owners = np.unique(questions, return_inverse=True)
    sums = np.zeros((int(owners.max()) + 1, 2, int(places.max()) + 1))
    np.add.at(sums, (owners, people.astype(int), places), weights)
    return _resampled(sums, lambda tables: auc_of_counts(tables)[:, None], seed)[0]


def _curve(scores: Floats, people: Bools) -> list[CurvePoint]:
    """Items in up to five parts of about the same size; equal scores stay together."""
    order = np.argsort(scores, kind="stable")
    n_bins = max(1, min(_BINS, len(scores) // _A_BIN))
    values, counts = np.unique(scores, return_counts=True)
    bins = np.minimum((np.cumsum(counts) - counts / 2) * n_bins // max(len(scores), 1), n_bins - 1)
    bin_of = dict(zip(values.tolist(), bins.tolist(), strict=True))
    points = []
    for number in dict.fromkeys(bins.tolist()):
        own = [place for place in order.tolist() if bin_of[scores[place]] == number]
        n_supported = int(people[own].sum())
        share = Estimate(n_supported / len(own), *wilson_interval(n_supported, len(own)))
        points.append(CurvePoint(float(scores[own].min()), float(scores[own].max()), len(own), share))
    return points
