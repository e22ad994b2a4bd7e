"""A round of review: items drawn for people, or conflicts of theirs that are to be settled, with their texts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats
from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError
from steelyard.base.result import Result
from steelyard.base.short_repr import one_line
from steelyard.data.chunk_table import Place
from steelyard.judges.answers.cases import ContextChunk, contexts
from steelyard.judges.asking import whole_characters
from steelyard.judges.lexical.readings import best_sentence, evidence_scores
from steelyard.judges.people.calibration import MEASURE_OF
from steelyard.judges.people.review import Decision, Drawn, Review, StratifiedSample
from steelyard.judges.tables.items import Item, items, judged
from steelyard.judges.verdict import JudgedAnswer, Unit, Verdict, text_digest
from steelyard.measures import parse
from steelyard.reviewing.sampling import (
    WORST_VARIANCE,
    draw,
    in_random_order,
    items_digest,
    members,
    residual_variance,
    size_for_width,
    strata_of,
    undrawn,
)
from steelyard.reviewing.systems import ReviewedSystem, all_labels
from steelyard.text.spans import Span


@dataclass(frozen=True, eq=False)
class AskedItem:
    """An item with its texts.

    record      of the answer that it is of;   premises   (id, text) of what it is decided by
    systems     the names of all that have it;   judge   whose verdict it is
    decisions   of people so far, for those who settle conflicts
    places      of each premise where it is from; empty of those that are no chunks
    """

    item: Item
    record: JudgedAnswer
    premises: Sequence[tuple[str, str]]
    systems: Sequence[str]
    judge: str
    decisions: Sequence[Decision] = ()
    places: Sequence[Place | None] = ()

    @property
    def unit(self) -> Unit:
        """The unit that is decided about."""
        units = self.record.gold_units if self.item.table == "said" else self.record.units
        return units[self.item.unit]

    @property
    def answer(self) -> str:
        """The text that the unit is of."""
        if self.item.table == "said":
            return self.record.gold_answers[self.unit.alternative]
        return self.record.answer

    @property
    def verdict(self) -> Verdict | None:
        """Verdict of the judge."""
        return judged(self.record, self.item.table, self.item.unit)

    @cached_property
    def candidate(self) -> tuple[int, int, int] | None:
        """The sentence of the premises that is nearest to the unit, by its words: its premise, start and end."""
        spans = [(n, best_sentence(self.unit.text, text)) for n, (_, text) in enumerate(self.premises)]
        near: list[tuple[int, Span]] = [(n, span) for n, span in spans if span is not None]
        scores = evidence_scores(self.unit.text, [self.premises[n][1][start:end] for n, (start, end) in near])
        if not near:
            return None
        n, (start, end) = near[max(range(len(near)), key=scores.__getitem__)]
        return n, start, end


def asked_items(
    systems: Sequence[ReviewedSystem], table: ItemTable, wanted: Mapping[str, Sequence[Decision]], seed: int
) -> list[AskedItem]:
    """The wanted items of some systems, each once, in an order that says nothing of systems and verdicts.

    wanted   item -> the decisions to show
    Items of one question follow each other, as who decides has read its texts then; questions, and the items of each,
    are in random order.
    Raises   InputError where the texts of a run are not those that were judged.
    """
    names: dict[str, list[str]] = {}
    first: dict[str, tuple[ReviewedSystem, JudgedAnswer, Item]] = {}
    for own in systems:
        for record, item in own.items(table):
            if item.item_id in wanted and own.name not in names.setdefault(item.item_id, []):
                names[item.item_id].append(own.name)
                first.setdefault(item.item_id, (own, record, item))
    used = {own.name: own for own, _, _ in first.values()}
    texts = {name: contexts(own.system.answered()) for name, own in used.items()}
    tables = {name: own.system.answered().table for name, own in used.items()}
    asked = {
        item_id: AskedItem(
            item, record, premises, names[item_id], own.verdicts.judge, wanted[item_id],
            [tables[own.name].place(id) for id, _ in premises] if table in ("grounded", "joint") else (),
        )
        for item_id, (own, record, item) in first.items()
        for premises in [_premises(own, record, item, texts[own.name])]
    }  # fmt: skip
    places = {
        query_id: n for n, query_id in enumerate(in_random_order([*{a.item.query_id for a in asked.values()}], seed))
    }
    order = {item_id: n for n, item_id in enumerate(in_random_order(list(asked), seed + 1))}
    return sorted(asked.values(), key=lambda own: (places[own.item.query_id], order[own.item.item_id]))


def _premises(
    own: ReviewedSystem, record: JudgedAnswer, item: Item, texts: Mapping[str, Sequence[ContextChunk] | None]
) -> list[tuple[str, str]]:
    """(id, text) of what an item is decided by."""
    if item.table == "correctness":
        return [(str(n), text) for n, text in enumerate(record.gold_answers, 1)]
    if item.table == "said":
        return [("", record.answer)]
    chunks = [(chunk_id, whole_characters(text)) for chunk_id, text in texts.get(record.query_id) or ()]
    if tuple(text_digest(text) for _, text in chunks) != record.context_digests:
        raise InputError(
            f"{own.name}: the texts retrieved for {record.query_id!r} are not those that {own.verdicts.judge} judged; "
            "judge the run again (`steelyard judge`)"
        )
    if item.table == "grounded":
        return chunks
    cited = {c.chunk for c in record.citations if c.unit == item.unit}
    return [chunk for n, chunk in enumerate(chunks) if n in cited]


DEFAULT_N = 100


@dataclass(frozen=True, eq=False)
class Round:
    """Items that people are asked about in a round.

    table    what the items ask;   seed   of draws and order
    systems  with their reviews after the draw
    asked    items in the order of the form
    n_new    of each system, how many items or answers were drawn now;   n_decided   how many drawn items had a decision
    adjudicating   whether the items are conflicts to be settled
    """

    table: ItemTable
    seed: int
    systems: Sequence[ReviewedSystem]
    asked: Sequence[AskedItem]
    n_new: Mapping[str, int]
    n_decided: int = 0
    adjudicating: bool = False

    @property
    def reviews(self) -> Mapping[Path, Review]:
        """Review to be kept in each file, of which several systems may share one."""
        reviews: dict[Path, Review] = {}
        for own in self.systems:
            if own.file is not None:
                review = reviews.get(own.file, own.review)
                sample = own.review.sample(self.table, own.name)
                review = review if sample is None else review.with_sample(sample)
                reviews[own.file] = review.with_decisions(own.review.labels.decisions)
        return reviews


@dataclass(frozen=True, eq=False, repr=False)
class SampledReview(Result):
    """A round of review, and where it is.

    form    the file that people open;   items   the list of what it asks
    files   that the samples, and later the decisions, are kept in
    """

    VIEW = "views.review"

    round: Round
    form: Path
    items: Path
    files: Sequence[Path]

    @property
    def frame(self) -> pl.DataFrame:
        """One row a system, and how many of its items were drawn now."""
        return pl.DataFrame(list(self.round.n_new.items()), ["system", "n_new"], orient="row")

    def __repr__(self) -> str:
        names = ", ".join(own.name for own in self.round.systems)
        n, kind = len(self.round.asked), "conflicts" if self.round.adjudicating else "items"
        return one_line(f"SampledReview({n} {kind} of {names} by {self.round.table}, in {self.form})")


def next_round(
    systems: Sequence[ReviewedSystem],
    table: ItemTable,
    *,
    n: int | None = None,
    width: float | None = None,
    unit: Drawn = "item",
    seed: int = 0,
) -> Round:
    """Draw items of each system, and ask those drawn, now or before, that nobody has decided about.

    n       of each system, how many more to draw; 100 unless a width is wished
    width   of the interval of the corrected mean, in place of a number
    unit    items, or whole answers
    Raises  InputError for a sample that was drawn by other verdicts, and where there is nothing to ask.
    """
    if n is not None and (width is not None or n < 0):
        raise InputError(f"n is {n}" + (": give n or a width, not both" if width is not None else ", not 0 or more"))
    if width is not None and not 0 < width < 1:
        raise InputError(f"the width of an interval is from 0 to 1, not {width:g}; for ± 5 points, take 0.1")
    drawn, n_new = [], {}
    for own in systems:
        earlier = _earlier(own, table, unit)
        more = DEFAULT_N if n is None else n
        if width is not None:
            more = _n_for_width(own, table, unit, width) - (0 if earlier is None else len(earlier.drawn))
        more = max(0, more)
        if (begun := earlier) is None:
            strata = strata_of(members(own.verdicts, table, unit, own.others), more, unit)
            begun = undrawn(own.verdicts, table, strata, system=own.name, seed=seed, unit=unit)
        sample = draw(begun, more)
        n_new[own.name] = len(sample.drawn) - (0 if earlier is None else len(earlier.drawn))
        drawn.append(own.with_review(own.review.with_sample(sample)))
    labels, wanted = all_labels(drawn), {item_id for own in drawn for item_id in drawn_items(own, table)}
    undecided = {item_id: () for item_id in wanted if item_id not in labels.by_item}
    if not undecided:
        samples = [_sample(own, table) for own in drawn]
        is_all = all(len(sample.drawn) == sample.n_members for sample in samples)
        advice = ", and there are no others" if is_all else "; draw more of them: -n 100 (n=100)"
        raise InputError(f"people decided about all {len(wanted)} items that were drawn{advice}")
    asked = asked_items(drawn, table, undecided, seed)
    return Round(table, seed, drawn, asked, n_new, len(wanted) - len(undecided))


def conflicts_round(systems: Sequence[ReviewedSystem], table: ItemTable, *, seed: int = 0) -> Round:
    """Ask for what people disagree on.

    Raises   InputError where they are not.
    """
    labels = all_labels(systems)
    wanted = {item_id: labels.by_item[item_id] for item_id in labels.conflicts}
    asked = asked_items(systems, table, wanted, seed)
    if not asked:
        raise InputError(f"there is no conflict among {len(labels)} decisions about items of the table {table}")
    return Round(table, seed, systems, asked, {own.name: 0 for own in systems}, adjudicating=True)


def drawn_items(own: ReviewedSystem, table: ItemTable) -> set[str]:
    """The items of a system that were drawn, or are of an answer that was."""
    sample = own.review.sample(table, own.name)
    drawn = set(sample.drawn) if sample is not None else set()
    if sample is not None and sample.unit == "answer":
        return {item.item_id for _, item in own.items(table) if item.query_id in drawn}
    return drawn


def _sample(own: ReviewedSystem, table: ItemTable) -> StratifiedSample:
    sample = own.review.sample(table, own.name)
    assert sample is not None
    return sample


def _earlier(own: ReviewedSystem, table: ItemTable, unit: Drawn) -> StratifiedSample | None:
    """The sample that is there, to go on with.

    Raises   InputError where it is one of other verdicts, or of other units.
    """
    sample = own.review.sample(table, own.name)
    if sample is None:
        return None
    if sample.unit != unit:
        whole = "whole answers" if sample.unit == "answer" else "single items"
        option = "add" if sample.unit == "answer" else "leave out"
        raise InputError(
            f"{own.name}: its sample of {table} is of {whole}; go on with that ({option} --whole-answers), or begin "
            "another one in a file of its own: --labels FILE"
        )
    if sample.verdicts_digest != items_digest(own.verdicts, table):
        by = own.verdicts.judge if own.verdicts.judge == sample.judge else f"{own.verdicts.judge}, not {sample.judge}"
        raise InputError(
            f"{own.name}: its sample of {table} was drawn by other verdicts than these (by {by}); name those that it "
            "was drawn by (--judge, --verdicts), or begin another sample in a file of its own: --labels FILE. Labels "
            "of the first are good for both judges"
        )
    return sample


def _n_for_width(own: ReviewedSystem, table: ItemTable, unit: Drawn, width: float) -> int:
    """Count of items, or answers, to be drawn in all for the wished width of the interval."""
    spec = parse(MEASURE_OF[table])
    values = spec(own.run.arrays)
    values = values[~np.isnan(values)]
    variance = _variance(own, table) or WORST_VARIANCE
    weights = _weights(own, table, unit)
    try:
        return size_for_width(width, values, weights, variance=variance)
    except InputError as error:
        raise InputError(f"{own.name}: {error}") from None


def _variance(own: ReviewedSystem, table: ItemTable) -> float | None:
    """Variance of people's verdicts about the judge's, by labels that are there."""
    sample = own.review.sample(table, own.name)
    if sample is None or sample.unit == "answer":
        return None
    by_judge = {}
    for record, item in own.items(table):
        verdict = judged(record, table, item.unit)
        if verdict is not None and verdict.label != "not_judged":
            by_judge[item.item_id] = verdict.label == "supported"
    people = {item_id: label == "supported" for item_id, label in own.review.labels.support.items()}
    return residual_variance(sample, by_judge, people)


def _weights(own: ReviewedSystem, table: ItemTable, unit: Drawn) -> Floats:
    """The weight of each item, or answer, in the mean over the questions that have any."""
    weights: dict[str, float] = {}
    n_questions = 0
    for record in own.verdicts.records.values():
        listed = items(record, table)
        n_questions += bool(listed)
        for item in listed:
            key = record.query_id if unit == "answer" else item.item_id
            weights[key] = weights.get(key, 0.0) + 1 / len(listed)
    return np.array(list(weights.values())) / (math.fsum(weights.values()) or 1.0)
