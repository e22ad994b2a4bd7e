"""Items that people and a judge decided: agreement of people with each other, and of the judge with them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.choices import ItemTable
from steelyard.judges.people.calibration import UNDEFINED, Confusion, Estimate
from steelyard.judges.people.review import ADJUDICATION, IN_TWO, Decision, Review, StratifiedSample
from steelyard.judges.registry import JUDGES
from steelyard.judges.tables.items import items, verdicts_on
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import Verdict
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
from steelyard.text.folding import STEPS, fold
from steelyard.text.scripts import UNSPACED

_FOLDED = tuple(step for step in STEPS if step != "line_wraps")
_KEYS = ("examples", "prompt", "prompts")
_LONG, _LONG_UNSPACED = 20, 8
"""Characters from which on a sentence within a longer text is no chance; fewer where no blanks part words."""
_HAS_UNSPACED = re.compile(f"[{UNSPACED}]").search


@dataclass(frozen=True)
class PromptExamples:
    """Texts of a prompt, folded: lines, and all of them as one.

    >>> examples = PromptExamples.of({"name": "own", "examples": [{"statement": "It opens at 9.", "verdict": "yes"}]})
    >>> examples.hold("It  opens at 9."), examples.hold("It closes at 5.")
    (True, False)
    """

    lines: frozenset[str]
    texts: Sequence[str]

    @classmethod
    def of(cls, judge: Mapping[str, Any], more: Sequence[str] = ()) -> PromptExamples:
        """Examples that `recipe["judge"]` holds under `examples` or `prompt`, however nested, and more of them."""
        texts = [*_strings([judge.get(key) for key in _KEYS]), *more]
        lines = {_fold(line) for text in texts for line in text.splitlines()}
        return cls(frozenset(lines - {""}), [_fold(text) for text in texts])

    def hold(self, text: str) -> bool:
        """True for a sentence that is a line of them, or, if long enough to be no chance, a part of one of them."""
        folded = _fold(text)
        if not folded:
            return False
        is_long = len(folded) >= (_LONG_UNSPACED if _HAS_UNSPACED(folded) else _LONG)
        return folded in self.lines or (is_long and any(folded in whole for whole in self.texts))


def _fold(text: str) -> str:
    return fold(text, _FOLDED).strip()


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)


_NEVER = -math.inf
"""The score of what no threshold makes supported."""


@dataclass(frozen=True)
class DecidedItem:
    """An item that people and the judge decided.

    label    of people;   is_supported   what the judge says;   score   by which a threshold would say it, or None
    weight   how many items it speaks for
    """

    item_id: str
    query_id: str
    label: str
    is_supported: bool
    score: float | None
    weight: float = 1.0


def decided_items(
    verdicts: Sequence[Verdicts], review: Review, table: ItemTable, examples: PromptExamples
) -> tuple[list[DecidedItem], dict[str, int]]:
    """Each item that people and the judge decided, once, and how many labels do not count, by cause."""
    consensus = review.labels.support
    decided: dict[str, DecidedItem] = {}
    causes: dict[str, str] = dict.fromkeys(consensus, "no_verdict")
    for by_judge in verdicts:
        of_class = (
            getattr(JUDGES.get(by_judge.judge), "may_support", None) if by_judge.judge in JUDGES.names() else None
        )
        # Whether some threshold makes a verdict of this judge "supported".
        may_support: Callable[[Verdict], bool] = of_class or (lambda verdict: verdict.label != "not_judged")
        for record in by_judge.records.values():
            for item in items(record, table):
                if causes.get(item.item_id) != "no_verdict":
                    continue
                unit = (record.gold_units if table == "said" else record.units)[item.unit]
                label, own = verdicts_on(record, table, item.unit)
                cause = (
                    "not_judged" if label in (None, "not_judged") else "in_prompt" if examples.hold(unit.text) else ""
                )
                causes[item.item_id] = cause
                if not cause:
                    decided[item.item_id] = DecidedItem(
                        item.item_id,
                        item.query_id,
                        consensus[item.item_id],
                        label == "supported",
                        _score(own, may_support),
                    )
    systems = [str(by_judge.recipe.get("system", "")) for by_judge in verdicts]
    if samples := [sample for system in systems if (sample := review.sample(table, system)) is not None]:
        decided = _weighted(decided, samples)
        causes |= {item_id: "not_drawn" for item_id, cause in causes.items() if not cause and item_id not in decided}
    return list(decided.values()), dict(sorted(Counter(filter(None, causes.values())).items()))


def _weighted(decided: Mapping[str, DecidedItem], samples: Sequence[StratifiedSample]) -> dict[str, DecidedItem]:
    """The items that were drawn, with how many each speaks for."""
    weighted: dict[str, DecidedItem] = {}
    for sample in samples:
        members = {id: item.query_id if sample.unit == "answer" else id for id, item in decided.items()}
        weights = {
            member: len(stratum.members) / len(stratum.drawn)
            for stratum in sample.merged(set(members.values()) & set(sample.drawn))
            for member in stratum.drawn
        }
        weighted |= {
            id: replace(decided[id], weight=weights[member])
            for id, member in members.items()
            if member in weights and id not in weighted
        }
    return weighted


def _score(verdicts: Sequence[Verdict], may_support: Callable[[Verdict], bool]) -> float | None:
    """The score that a threshold is held against, over all premises; None where the judge gives none."""
    scores = [verdict.score for verdict in verdicts if verdict.score is not None and may_support(verdict)]
    return max(scores) if scores else None if all(verdict.score is None for verdict in verdicts) else _NEVER


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
