"""How far the people of a review agree with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.judges.calibration import UNDEFINED, Estimate
from steelyard.judges.labels import ADJUDICATION, Decision
from steelyard.stats.intervals.resampling import Statistics, cluster_bootstrap
from steelyard.stats.labels.raters import alpha_of_coincidences, coincidences, kappa_of_counts, pair_counts

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
        alpha = _resampled(tables, lambda sums: alpha_of_coincidences(sums, "nominal")[:, None], seed)
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
    kappa = _resampled(tables.astype(float), lambda sums: kappa_of_counts(sums)[:, None], seed)
    return RaterPair(first, second, n, n_same, kappa)


def _resampled(sums: Floats, statistic: Statistics, seed: int) -> Estimate:
    resampled = cluster_bootstrap(sums, statistic, seed=seed)
    return Estimate(*(float(part[0]) for part in (resampled.values, resampled.low, resampled.high)))
