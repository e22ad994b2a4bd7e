"""Agreement of the people of a review with each other, and of a judge, as it judged, with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.judges.people.calibration import UNDEFINED, Confusion, Estimate
from steelyard.judges.people.labels import ADJUDICATION, IN_TWO, Decision
from steelyard.reviewing.decided_items import DecidedItem
from steelyard.stats.intervals.resampling import Statistics, cluster_bootstrap
from steelyard.stats.labels.raters import (
    alpha_of_coincidences,
    auc_of_counts,
    balanced_accuracy_of_counts,
    coincidences,
    kappa_of_counts,
    pair_counts,
    wilson_ends,
    wilson_interval,
    worth_of_share,
)
from steelyard.stats.labels.rogan_gladen import CorrectedRate, corrected_rate

LABELS = ("supported", "contradicted", "not_found")
"""What raters may agree on; who cannot say has given no label."""


@dataclass(frozen=True)
class RaterPair:
    """Two raters, on the items that both decided.

    n        of these items;   n_same   with the same label
    kappa    Cohen's, of the labels; NaN where both gave all items the same label
    labels   that kappa tells apart
    """

    first: str
    second: str
    n: int
    n_same: int
    kappa: Estimate
    labels: Sequence[str] = LABELS


@dataclass(frozen=True)
class RaterAgreement:
    """All raters.

    raters   by name;   pairs   those with items in common
    alpha    Krippendorff's, nominal, of all of them;   n   items that two or more decided
    """

    raters: Sequence[str]
    pairs: Sequence[RaterPair]
    alpha: Estimate
    n: int


def resampled(sums: Floats, statistics: Statistics, seed: int) -> list[Estimate]:
    """Estimates of statistics of (q, ...) sums of each question, by resampling questions."""
    bootstrap = cluster_bootstrap(sums, statistics, seed=seed)
    parts = zip(bootstrap.values, bootstrap.low, bootstrap.high, strict=True)
    return [Estimate(*map(float, part)) for part in parts]


def rate_of(right: Bools, weights: Floats, clusters: Ints, flattery: float = 0.0) -> Estimate:
    """Share of items that are right, less a flattery, with Wilson's interval; undefined without items.

    Weights and several items of one question make the items worth fewer than they are.
    """
    if not len(right):
        return UNDEFINED
    value, worth = worth_of_share(right, weights, clusters)
    value = min(max(value - flattery, 0.0), 1.0)
    return Estimate(value, *wilson_ends(value, worth))


def tables_of_questions(first: Bools, second: Bools, weights: Floats, clusters: Ints) -> Floats:
    """(q, 2, 2) weights of each question's items, by what two say of them."""
    cells = (clusters * 2 + first) * 2 + second
    return np.bincount(cells, weights, minlength=4 * (int(clusters.max()) + 1)).reshape(-1, 2, 2).astype(np.float64)


def confusion_of(people: Bools, calls: Bools) -> Confusion:
    """Counts of items by what people and a judge say of them."""
    pairs = ((people & calls), (people & ~calls), (~people & calls), (~people & ~calls))
    return Confusion(*(int(pair.sum()) for pair in pairs))


def clusters_of(decided: Sequence[DecidedItem]) -> Ints:
    """(n,) the question of each item, from 0."""
    return np.unique([item.query_id for item in decided], return_inverse=True)[1].astype(np.int64)


def rater_agreement(
    decisions: Mapping[str, Sequence[Decision]], query_of: Mapping[str, str], *, seed: int = 0
) -> RaterAgreement:
    """Agreement of raters before conflicts are settled, with intervals by resampling questions.

    decisions   item -> what was decided about it;   query_of   item -> its question; other items do not count
    """
    ids = [item_id for item_id in decisions if item_id in query_of]
    raters = sorted({own.rater for item_id in ids for own in decisions[item_id]} - {ADJUDICATION})
    codes = np.full((len(raters), len(ids)), -1)
    for place, item_id in enumerate(ids):
        for own in decisions[item_id]:
            if own.rater != ADJUDICATION and own.label in LABELS:
                codes[raters.index(own.rater), place] = LABELS.index(own.label)
    questions = np.unique([query_of[item_id] for item_id in ids] or [""], return_inverse=True)[1][: len(ids)]
    pairs = [
        _pair(raters[a], raters[b], codes[[a, b]], questions, seed) for a, b in combinations(range(len(raters)), 2)
    ]
    several = (codes >= 0).sum(axis=0) > 1
    alpha = UNDEFINED
    if several.any():
        tables = coincidences(codes[:, several], len(LABELS), np.unique(questions[several], return_inverse=True)[1])
        alpha = resampled(tables, lambda sums: alpha_of_coincidences(sums, "nominal")[:, None], seed)[0]
    return RaterAgreement(raters, [pair for pair in pairs if pair.n], alpha, int(several.sum()))


def _pair(first: str, second: str, codes: Ints, questions: Ints, seed: int) -> RaterPair:
    both = (codes >= 0).all(axis=0)
    n, n_same = int(both.sum()), int((codes[0, both] == codes[1, both]).sum())
    if not n:
        return RaterPair(first, second, 0, 0, UNDEFINED)
    k = len(LABELS)
    owners = np.unique(questions[both], return_inverse=True)[1]
    tables = np.stack(
        [
            pair_counts(codes[0, both][owners == owner], codes[1, both][owners == owner], (k, k))[0]
            for owner in range(int(owners.max()) + 1)
        ]
    )
    kappa = resampled(tables.astype(float), lambda sums: kappa_of_counts(sums)[:, None], seed)[0]
    return RaterPair(first, second, n, n_same, kappa)


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
    """Agreement of a judge with people, each item counted by how many it speaks for.

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
    questions = clusters_of(decided)
    kappa, accuracy = _both(tables_of_questions(people, judge, weights, questions), people, seed)
    scores = np.array([math.nan if item.score is None else item.score for item in decided])
    scored, finite = ~np.isnan(scores), np.isfinite(scores)
    return JudgeAgreement(
        confusion_of(people, judge),
        kappa,
        accuracy,
        rate_of(judge[people], weights[people], questions[people]),
        rate_of(~judge[~people], weights[~people], questions[~people]),
        _auc(scores[scored], people[scored], weights[scored], questions[scored], seed),
        _curve(scores[finite], people[finite]),
    )


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
        name = (
            ("hits" if item.is_supported else "misses")
            if is_positive
            else ("false_alarms" if item.is_supported else "rejections")
        )
        cells[name] += item.weight / weights.sum() * worth
    counts = {name: round(count) for name, count in cells.items()}
    return corrected_rate(n_called, n, **counts, n_shared=min(n, sum(counts.values())))


def _both(tables: Floats, people: Bools, seed: int) -> tuple[Estimate, Estimate]:
    """Kappa and balanced accuracy; undefined where people say the same of all."""
    if people.all() or not people.any():
        return UNDEFINED, UNDEFINED

    def statistics(sums: Floats) -> Floats:
        return np.stack([kappa_of_counts(sums), balanced_accuracy_of_counts(sums)], axis=1)

    kappa, accuracy = resampled(tables, statistics, seed)
    return kappa, accuracy


def _auc(scores: Floats, people: Bools, weights: Floats, questions: Floats, seed: int) -> Estimate:
    if not len(scores) or people.all() or not people.any():
        return UNDEFINED
    _, places = np.unique(scores, return_inverse=True)
    _, owners = np.unique(questions, return_inverse=True)
    sums = np.zeros((int(owners.max()) + 1, 2, int(places.max()) + 1))
    np.add.at(sums, (owners, people.astype(int), places), weights)
    return resampled(sums, lambda tables: auc_of_counts(tables)[:, None], seed)[0]


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
