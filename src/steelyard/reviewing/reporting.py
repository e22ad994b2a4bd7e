"""Reports of a review: agreement of its raters, of the judge, and the means that the judge gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Unpack

import polars as pl

from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError
from steelyard.base.options import ReviewKeywords, ReviewOptions, check_names
from steelyard.base.result import Result
from steelyard.experiment.door.evaluation import evaluate
from steelyard.experiment.table.scores import Scores
from steelyard.judges.people.calibration import MEASURE_OF, Calibration
from steelyard.judges.people.review import Review, StratifiedSample
from steelyard.judges.tables.items import judged
from steelyard.measures import Measure
from steelyard.reviewing.agreement import (
    JudgeAgreement,
    PromptExamples,
    RaterAgreement,
    corrected_share,
    decided_items,
    judge_agreement,
    rater_agreement,
)
from steelyard.reviewing.calibrating import calibrate, together
from steelyard.reviewing.rounds import drawn_items
from steelyard.reviewing.systems import ReviewedSystem, open_reviewed
from steelyard.stats.labels.rogan_gladen import CorrectedRate


@dataclass(frozen=True)
class StratumRow:
    """A stratum of a system.

    n, n_drawn   members;   n_decided   of the drawn ones, those with a label, in whole answers those with any
    """

    system: str
    name: str
    n: int
    n_drawn: int
    n_decided: int


@dataclass(frozen=True)
class SupportedShare:
    """The share of the items of a system that are supported: by the judge, and as people would find it.

    n           items that the judge judged;   judged   the share of these that it calls supported
    corrected   by its sensitivity and specificity
    """

    system: str
    n: int
    judged: float
    corrected: CorrectedRate


@dataclass(frozen=True, eq=False)
class TableReview:
    """Decisions of people about the items of one table, over all systems.

    n_asked       items that were drawn;   n_labelled   with a label;   n_open   that nobody decided about
    n_cannot_say  that no rater can say;   n_conflicts   of which raters differ on whether there is support
    n_kinds       with a label, none of them support: raters differ on whether the source says otherwise
    judge         the name;   threshold   by which it judged, if it has one
    agreement     of the judge as it judged;   calibration   with the threshold that labels give; None without labels
    """

    table: ItemTable
    n_asked: int
    n_labelled: int
    n_open: int
    n_cannot_say: int
    n_conflicts: int
    n_kinds: int
    raters: RaterAgreement
    judge: str
    threshold: float | None
    agreement: JudgeAgreement | None
    calibration: Calibration | None
    shares: Sequence[SupportedShare]
    strata: Sequence[StratumRow]


@dataclass(frozen=True, eq=False, repr=False)
class ReviewReport(Result):
    """Report of a review.

    tables   those that people were asked about
    scores   means of measures by the judge, by people, and corrected (`scores.corrections`)
    """

    VIEW = "views.review_report"

    systems: Sequence[str]
    tables: Sequence[TableReview]
    scores: Scores

    def __repr__(self) -> str:
        return f"ReviewReport({', '.join(self.systems)}: {', '.join(own.table for own in self.tables)})"

    @property
    def frame(self) -> pl.DataFrame:
        """The scores, one row for each system, question and measure."""
        return self.scores.frame


def report_review(
    questions: object,
    runs: object,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    **options: Unpack[ReviewKeywords],
) -> ReviewReport:
    """Say how far people agree with each other and with the judge, and what the judge's means are by their labels.

    questions, runs   as `sy.judge` takes them, of one system or of several that one judge judged
    measures          whose means are corrected; by default those that are means of what people were asked
    judge, verdicts   whose verdicts count, as `sy.evaluate` takes them
    labels            where reviews are kept: a path or a Review, or system -> these; by default the run folders
    examples          texts that the judge was shown in its prompt; items with these do not count
    Raises            InputError where nobody decided anything, or nothing was drawn
    """
    check_names("review.report", options, ReviewOptions)
    own_options = ReviewOptions.of(options)
    asked, systems = open_reviewed(questions, runs, own_options)
    review = together(systems)
    tables = list(dict.fromkeys(sample.table for own in systems if (samples := _samples(own)) for sample in samples))
    if not tables:
        names = sorted({sample.system for sample in review.samples})
        others = (
            f" (one was of {', '.join(names)}: name the run so, {names[0]}=RUN, if these are the same)" if names else ""
        )
        raise InputError(
            f"{', '.join(own.name for own in systems)}: no sample was drawn of these answers{others}; labels that are "
            "no random sample say nothing of the rest (`steelyard review sample`)"
        )
    specs = [MEASURE_OF[table] for table in tables] if measures is None else measures
    scores = evaluate(
        asked,
        {own.name: own.system.answered() for own in systems},
        specs,
        verdicts={own.name: own.verdicts for own in systems},
        labels={own.name: own.review for own in systems},
    )
    reviews = [_table_review(systems, review, table, own_options) for table in tables]
    return ReviewReport([own.name for own in systems], reviews, scores)


def _samples(own: ReviewedSystem) -> Sequence[StratifiedSample]:
    return [sample for sample in own.review.samples if sample.system == own.name]


def _table_review(
    systems: Sequence[ReviewedSystem], review: Review, table: ItemTable, options: ReviewOptions
) -> TableReview:
    asked = {item_id for own in systems for item_id in drawn_items(own, table)}
    query_of = {item.item_id: item.query_id for own in systems for _, item in own.items(table)}
    labels, support = review.labels, review.labels.support
    conflicts = {*labels.support_conflicts} & asked
    recipe = systems[0].verdicts.recipe["judge"]
    prompt = PromptExamples.of(recipe, options.examples)
    verdicts = [own.verdicts for own in systems]
    decided, _ = decided_items(verdicts, review, table, prompt)
    threshold = recipe.get("threshold")
    return TableReview(
        table,
        n_asked=len(asked),
        n_labelled=len(support.keys() & asked),
        n_open=len(asked - labels.by_item.keys()),
        n_cannot_say=len(asked & labels.by_item.keys() - support.keys() - conflicts),
        n_conflicts=len(conflicts),
        n_kinds=len(asked & {*labels.conflicts} - conflicts),
        raters=rater_agreement(labels.by_item, {id: query_of[id] for id in query_of if id in asked}, seed=options.seed),
        judge=str(recipe["name"]),
        threshold=float(threshold) if isinstance(threshold, int | float) else None,
        agreement=judge_agreement(decided, seed=options.seed) if decided else None,
        calibration=calibrate(verdicts, review, table, examples=options.examples, seed=options.seed)
        if decided
        else None,
        shares=[_share(own, review, table, prompt) for own in systems],
        strata=[row for own in systems for row in _strata(own, table)],
    )


def _share(own: ReviewedSystem, review: Review, table: ItemTable, prompt: PromptExamples) -> SupportedShare:
    says: dict[str, bool] = {}
    for record, item in own.items(table):
        verdict = judged(record, table, item.unit)
        if verdict is not None and verdict.label != "not_judged":
            says[item.item_id] = verdict.label == "supported"
    decided, _ = decided_items([own.verdicts], review, table, prompt)
    n_called = sum(says.values())
    rate = corrected_share(decided, n_called, len(says))
    return SupportedShare(own.name, len(says), n_called / len(says) if says else float("nan"), rate)


def _strata(own: ReviewedSystem, table: ItemTable) -> list[StratumRow]:
    sample = own.review.sample(table, own.name)
    if sample is None:
        return []
    decided = own.review.labels.support.keys()
    members = {
        item.query_id if sample.unit == "answer" else item.item_id
        for _, item in own.items(table)
        if item.item_id in decided
    }
    return [
        StratumRow(own.name, stratum.name, len(stratum.members), len(stratum.drawn), len(members & {*stratum.drawn}))
        for stratum in sample.strata
    ]
