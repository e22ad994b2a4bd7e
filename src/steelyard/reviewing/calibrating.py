"""A judge held against labels of people: its threshold, how often it is right, and how well people agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError
from steelyard.base.machine import timestamp
from steelyard.base.options import ReviewKeywords, ReviewOptions, check_names
from steelyard.judges.people.calibration import UNDEFINED, Calibration, Estimate, HumanAgreement, Rule, labels_digest
from steelyard.judges.people.review import ADJUDICATION, Decision, Labels, Review
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.reviewing.agreement import (
    DecidedItem,
    PromptExamples,
    clusters_of,
    confusion_of,
    decided_items,
    rate_of,
    resampled,
    tables_of_questions,
)
from steelyard.reviewing.systems import ReviewedSystem, open_reviewed
from steelyard.stats.labels.raters import balanced_accuracy_of_counts, kappa_of_counts, wilson_ends
from steelyard.stats.labels.thresholds import choose_threshold, optimism


def agreement_of_people(
    verdicts: Sequence[Verdicts], review: Review, table: ItemTable, examples: PromptExamples,
    threshold: Estimate | None, seed: int,
) -> HumanAgreement | None:  # fmt: skip
    """Kappa of the two raters who decided most items together, and the judge's with either; None without two.

    Items that the two disagree on count, settled or not: without them, people would always agree.
    """
    by_rater = _support_by_rater(review.labels)
    several = [[decision for decision in own if _counts(decision)] for own in review.labels.by_item.values()]
    # Any decision on each item that two can say something of: which one is of no matter.
    labels = Labels(own[0] for own in several if len(own) > 1)
    decided, _ = decided_items(verdicts, Review(review.samples, labels), table, examples)
    common = {
        pair: [item for item in decided if all(rater in by_rater[item.item_id] for rater in pair)]
        for pair in combinations(review.labels.raters, 2)
    }
    pair = max(common, key=lambda pair: len(common[pair]), default=None)
    if pair is None or not common[pair]:
        return None
    of_both = common[pair]
    first, second = (np.array([by_rater[item.item_id][rater] for item in of_both]) for rater in pair)
    calls = np.array(
        [
            item.is_supported if threshold is None or item.score is None else item.score >= threshold.value
            for item in of_both
        ]
    )
    return _human_agreement(of_both, (first, second, calls), seed)


def _support_by_rater(labels: Labels) -> dict[str, dict[str, bool]]:
    """Item -> rater -> whether that one says supported, of those who can say."""
    return {
        item_id: {decision.rater: decision.label == "supported" for decision in decisions if _counts(decision)}
        for item_id, decisions in labels.by_item.items()
    }


def _counts(decision: Decision) -> bool:
    return decision.rater != ADJUDICATION and decision.label != "cannot_say"


def _human_agreement(items: Sequence[DecidedItem], calls: Sequence[Bools], seed: int) -> HumanAgreement:
    """Agreement of two people and the judge, by resampling questions."""
    weights = np.array([item.weight for item in items])
    clusters = clusters_of(items)
    tables = np.stack(
        [tables_of_questions(a, b, weights / weights.mean(), clusters) for a, b in combinations(calls, 2)], axis=1
    )

    def statistics(tables: Floats) -> Floats:
        kappa = kappa_of_counts(tables)
        judge = kappa[:, 1:].mean(axis=1)
        return np.stack([kappa[:, 0], judge, judge - kappa[:, 0]], axis=1)

    return HumanAgreement(len(items), *resampled(tables, statistics, seed))


LEAST = 10
"""Labels below which a note says that they are few."""


def calibrate(
    verdicts: Verdicts | str | Path | Sequence[Verdicts | str | Path], labels: Labels | Review | str | Path,
    table: ItemTable = "grounded", *,
    min_precision: float | None = None, examples: Sequence[str] = (), date: str | None = None, seed: int = 0,
) -> Calibration:  # fmt: skip
    """Hold a judge against labels of people, and choose its threshold by them.

    verdicts    of one judge, on the answers of one system or of several; or the paths of their files
    labels      of items, by id; a Review, or the path of one, also says with which probability each was drawn, and
                labels of what it did not draw do not count
    table       what the items ask
    min_precision   the threshold is the lowest at which so large a share of what is called supported is; by default
                that of the greatest sensitivity + specificity
    examples    texts that the judge was shown in its prompt; those in its recipe (`examples`, `prompt`) are added.
                Items whose sentence is among them do not count
    A judge without scores, or one whose labels are not by a threshold, gets none; all else is said of its labels.
    Raises      InputError where no label is of these verdicts, and for verdicts of several judges.
    """
    several = [verdicts] if isinstance(verdicts, Verdicts | str | Path) else verdicts
    listed = [part if isinstance(part, Verdicts) else Verdicts.read(part) for part in several]
    labels = Review.read(labels) if isinstance(labels, str | Path) else labels
    judge = _one_judge(listed)
    rule: Rule = "youden" if min_precision is None else "precision"
    review = labels if isinstance(labels, Review) else Review(labels=labels)
    shown = PromptExamples.of(judge, examples)
    decided, left_out = decided_items(listed, review, table, shown)
    if not decided:
        raise InputError(
            f"no label is of an item that {judge['name']} judged ({_listed(left_out)}); give the labels of these "
            "verdicts, or judge the answers that people saw"
        )
    sample = _Sample.of(decided, judge)
    notes = [code for code, holds in (("few_labels", sample.n < LEAST), ("equal_labels", sample.is_equal)) if holds]
    threshold, calls, flattery = _by_threshold(sample, rule, min_precision, seed, notes)
    kappa, accuracy = _of_calls(sample, calls, flattery, seed)
    has_own = threshold is None
    return Calibration(
        judge={key: value for key, value in judge.items() if has_own or key != "threshold"}, table=table,
        n=sample.n, n_questions=sample.n_questions, date=date or timestamp(),
        digest=labels_digest({item.item_id: item.label for item in decided}),
        confusion=confusion_of(sample.people, calls), kappa=kappa, balanced_accuracy=accuracy,
        sensitivity=_rate(sample, calls, flattery[2], positive=True),
        specificity=_rate(sample, calls, flattery[3], positive=False), threshold=threshold,
        rule=None if has_own else rule, target=None if has_own else min_precision,
        human=agreement_of_people(listed, review, table, shown, threshold, seed),
        left_out=left_out, notes=tuple(notes),
    )  # fmt: skip


def _one_judge(verdicts: Sequence[Verdicts]) -> Mapping[str, Any]:
    """`recipe["judge"]` of all.

    Raises   InputError for none, and for several.
    """
    if not verdicts:
        raise InputError("there are no verdicts to calibrate; give those of one judge")
    first = verdicts[0].recipe["judge"]
    for other in verdicts[1:]:
        if other.recipe["judge"] != first:
            raise InputError(
                f"verdicts by {verdicts[0].judge} and by {other.judge} are not of one judge with one threshold; "
                "calibrate each by itself"
            )
    return dict(first)


@dataclass(frozen=True)
class _Sample:
    """Decided items as arrays.

    people, judge   (n,) whether they say supported;   scores   (n,), or None where no threshold decides
    weights         (n,) of mean 1;   clusters   (n,) the question of each, from 0
    """

    people: Bools
    judge: Bools
    scores: Floats | None
    weights: Floats
    clusters: Ints

    @classmethod
    def of(cls, decided: Sequence[DecidedItem], judge: Mapping[str, Any]) -> _Sample:
        calls = np.array([item.is_supported for item in decided])
        weights = np.array([item.weight for item in decided])
        return cls(
            np.array([item.label == "supported" for item in decided]),
            calls,
            _scores([item.score for item in decided], calls, judge.get("threshold")),
            weights / weights.mean(),
            clusters_of(decided),
        )

    @property
    def n(self) -> int:
        return len(self.people)

    @property
    def n_questions(self) -> int:
        return int(self.clusters.max()) + 1

    @property
    def is_equal(self) -> bool:
        """True where people say the same of all."""
        return bool(self.people.all() or not self.people.any())

    def tables(self, calls: Bools) -> Floats:
        """(q, 2, 2) weights of each question's items, by people's label and by call."""
        return tables_of_questions(self.people, calls, self.weights, self.clusters)


def _scores(scores: Sequence[float | None], calls: Bools, threshold: object) -> Floats | None:
    """The scores, where what the judge says is whether they reach its threshold; else None."""
    if not isinstance(threshold, int | float) or any(score is None for score in scores):
        return None
    values = np.array(scores, np.float64)
    return values if ((values >= threshold) == calls).all() else None


def _by_threshold(
    sample: _Sample, rule: Rule, target: float | None, seed: int, notes: list[str]
) -> tuple[Estimate | None, Bools, Floats]:
    """The threshold, what the judge says by it, and by how much kappa, balanced accuracy and both rates flatter it."""
    nothing = np.zeros(4)
    if sample.scores is None:
        notes.append("no_threshold")
        return None, sample.judge, nothing
    options: dict[str, Any] = {
        "rule": rule, "target": target, "weights": sample.weights, "clusters": sample.clusters, "seed": seed
    }  # fmt: skip
    threshold = choose_threshold(sample.scores, sample.people, **options)
    if threshold.undefined is not None:
        if threshold.undefined not in notes:
            notes.append(threshold.undefined)
        return None, sample.judge, nothing
    flattery = np.nan_to_num(optimism(sample.scores, sample.people, _statistics, **options))
    return Estimate(threshold.value, threshold.low, threshold.high), sample.scores >= threshold.value, flattery


def _statistics(tables: Floats) -> Floats:
    """(b, 4) kappa, balanced accuracy, sensitivity and specificity of (b, 2, 2) tables."""
    n = tables.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = [tables[:, 1, 1] / n[:, 1], tables[:, 0, 0] / n[:, 0]]
    return np.stack([kappa_of_counts(tables), balanced_accuracy_of_counts(tables), *rates], axis=1)


def _of_calls(sample: _Sample, calls: Bools, flattery: Floats, seed: int) -> tuple[Estimate, Estimate]:
    """Kappa and balanced accuracy, undefined where people say the same of all, by resampling questions."""
    if sample.is_equal:
        return UNDEFINED, UNDEFINED
    if calls.all() or not calls.any():
        # A judge that always says the same agrees by chance alone, whatever people say.
        return Estimate(0.0, 0.0, 0.0), Estimate(0.5, 0.5, 0.5)
    estimates = resampled(sample.tables(calls), lambda sums: _statistics(sums)[:, :2], seed)
    kappa, accuracy = (
        Estimate(*(max(float(part - flattery[place]), least) for part in astuple(estimate)))
        for place, (estimate, least) in enumerate(zip(estimates, (-1.0, 0.0), strict=True))
    )
    if (calls == sample.people).all():
        kappa, accuracy = _never_wrong(sample, kappa, -1.0), _never_wrong(sample, accuracy, 0.0)
    return kappa, accuracy


def _never_wrong(sample: _Sample, estimate: Estimate, least: float) -> Estimate:
    """With an interval, which resampling cannot give where nothing is wrong: down to where as many are as may be."""
    positive = float((sample.weights * sample.people).sum() / sample.weights.sum())
    most_wrong = wilson_ends(0.0, sample.n_questions)[1]
    return Estimate(estimate.value, max(estimate.value - most_wrong / (2 * positive * (1 - positive)), least), 1.0)


def _rate(sample: _Sample, calls: Bools, flattery: float, *, positive: bool) -> Estimate:
    """Share of what people call supported, or not, of which the judge says the same."""
    members = sample.people if positive else ~sample.people
    right = (calls == sample.people)[members]
    return rate_of(right, sample.weights[members], sample.clusters[members], flattery)


def _listed(left_out: Mapping[str, int]) -> str:
    return ", ".join(f"{cause}: {n}" for cause, n in left_out.items()) or "there are no labels"


def calibrate_review(
    questions: object,
    runs: object,
    *,
    table: ItemTable = "grounded",
    min_precision: float | None = None,
    **options: Unpack[ReviewKeywords],
) -> Calibration:
    """Hold the judge of some answers against what people decided about them, and choose its threshold.

    questions, runs   as `sy.judge` takes them; of several systems, all were judged by the same judge
    table             what people were asked: "grounded", "joint", "correctness" or "said"
    min_precision     the threshold is the lowest at which so large a share of what is called supported is; by
                      default that of the greatest sensitivity + specificity
    judge, verdicts   whose verdicts count, as `sy.evaluate` takes them
    labels            where reviews are kept: a path or a Review, or system -> these; by default the run folders
    examples          texts that the judge was shown in its prompt; items with these do not count
    Raises            InputError where nobody decided anything
    """
    check_names("review.calibrate", options, ReviewOptions)
    own = ReviewOptions.of(options)
    _, systems = open_reviewed(questions, runs, own)
    verdicts = [system.verdicts for system in systems]
    review, of = together(systems), own.examples
    return calibrate(verdicts, review, table, min_precision=min_precision, examples=of, seed=own.seed)


def together(systems: Sequence[ReviewedSystem]) -> Review:
    """One review with the samples and decisions of all of some systems.

    Raises   InputError where nobody decided anything.
    """
    samples = {(sample.table, sample.system): sample for own in systems for sample in own.review.samples}
    labels = Labels(decision for own in systems for decision in own.review.labels.decisions)
    if not labels:
        names = ", ".join(own.name for own in systems)
        raise InputError(
            f"{names}: no one has decided about these answers yet; draw a sample (`steelyard review sample`), "
            "decide in its form, and take the saved file in (`steelyard review import`)"
        )
    return Review(samples.values(), labels)
