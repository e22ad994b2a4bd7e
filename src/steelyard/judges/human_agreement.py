"""How well two people agree with each other, beside how well the judge agrees with either of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.judges.calibration import Estimate, HumanAgreement
from steelyard.judges.decided_items import DecidedItem, decided_items
from steelyard.judges.items import ItemTable
from steelyard.judges.labels import ADJUDICATION, Decision, Labels
from steelyard.judges.prompt_examples import PromptExamples
from steelyard.judges.review import Review
from steelyard.judges.verdicts import Verdicts
from steelyard.stats.intervals.resampling import cluster_bootstrap
from steelyard.stats.labels.raters import kappa_of_counts


def agreement_of_people(
    verdicts: Sequence[Verdicts], review: Review, table: ItemTable, examples: PromptExamples,
    threshold: Estimate | None, seed: int,
) -> HumanAgreement | None:  # fmt: skip
    """Kappa of the two raters who decided most items together, and the judge's with either; None without two.

    Items that the two are at odds about count, settled or not: without them, people would always agree.
    """
    by_rater = _support_by_rater(review.labels)
    decided, _ = decided_items(verdicts, Review(review.samples, _of_several(review.labels)), table, examples)
    common = {
        pair: [item for item in decided if all(rater in by_rater[item.item_id] for rater in pair)]
        for pair in combinations(review.labels.raters, 2)
    }
    pair = max(common, key=lambda pair: len(common[pair]), default=None)
    if pair is None or not common[pair]:
        return None
    of_both = common[pair]
    first, second = (np.array([by_rater[item.item_id][rater] for item in of_both]) for rater in pair)
    return _resampled(of_both, (first, second, np.array([_call(item, threshold) for item in of_both])), seed)


def tables_of_questions(first: Bools, second: Bools, weights: Floats, clusters: Ints) -> Floats:
    """(q, 2, 2) weights of each question's items, by what two say of them."""
    cells = (clusters * 2 + first) * 2 + second
    return np.bincount(cells, weights, minlength=4 * (int(clusters.max()) + 1)).reshape(-1, 2, 2).astype(np.float64)


def _support_by_rater(labels: Labels) -> dict[str, dict[str, bool]]:
    """Item -> rater -> whether that one says supported, of those who can say."""
    return {
        item_id: {decision.rater: decision.label == "supported" for decision in decisions if _counts(decision)}
        for item_id, decisions in labels.by_item.items()
    }


def _of_several(labels: Labels) -> Labels:
    """Any decision on each item that two can say something of: which one is of no matter."""
    several = [[decision for decision in decisions if _counts(decision)] for decisions in labels.by_item.values()]
    return Labels(decisions[0] for decisions in several if len(decisions) > 1)


def _counts(decision: Decision) -> bool:
    return decision.rater != ADJUDICATION and decision.label != "cannot_say"


def _call(item: DecidedItem, threshold: Estimate | None) -> bool:
    return item.is_supported if threshold is None or item.score is None else item.score >= threshold.value


def _resampled(items: Sequence[DecidedItem], calls: Sequence[Bools], seed: int) -> HumanAgreement:
    """Of two people and the judge, by resampling questions."""
    weights = np.array([item.weight for item in items])
    clusters = np.unique([item.query_id for item in items], return_inverse=True)[1].astype(np.int64)
    tables = np.stack(
        [tables_of_questions(a, b, weights / weights.mean(), clusters) for a, b in combinations(calls, 2)], axis=1
    )

    def statistics(tables: Floats) -> Floats:
        kappa = kappa_of_counts(tables)
        judge = kappa[:, 1:].mean(axis=1)
        return np.stack([kappa[:, 0], judge, judge - kappa[:, 0]], axis=1)

    resampled = cluster_bootstrap(tables, statistics, seed=seed)
    estimates = [
        Estimate(float(value), float(low), float(high))
        for value, low, high in zip(resampled.values, resampled.low, resampled.high, strict=True)
    ]
    return HumanAgreement(len(items), *estimates)
