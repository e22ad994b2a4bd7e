"""Systems whose answers people decide about: their verdicts, and what was decided so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError
from steelyard.base.options import ReviewOptions
from steelyard.data.questions import Questions
from steelyard.experiment.door.choices import (
    RunVerdicts,
    VerdictChoice,
    check_labels,
    judged_run,
    review_file,
    review_of,
)
from steelyard.experiment.door.opening import System, open_all_answers
from steelyard.judges.people.review import Decision, Labels, Review
from steelyard.judges.tables.items import Item, items
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import JudgedAnswer


@dataclass(frozen=True, eq=False)
class ReviewedSystem:
    """A system with the verdicts that people are to check.

    run      its verdicts, on the questions that were named
    others   verdicts of further judges, to see where they differ
    file     where its review is kept; None where there is no place
    review   its samples, and all decisions about its items, of whichever system they were asked
    """

    system: System
    run: RunVerdicts
    others: Sequence[Verdicts]
    file: Path | None
    review: Review

    @property
    def name(self) -> str:
        """Name of the system."""
        return self.system.name

    @property
    def verdicts(self) -> Verdicts:
        """Verdicts of its judge."""
        return self.run.verdicts

    def items(self, table: ItemTable) -> Iterator[tuple[JudgedAnswer, Item]]:
        """The items of a table, each with the record that it is of."""
        for record in self.verdicts.records.values():
            for item in items(record, table):
                yield record, item

    def with_review(self, review: Review) -> ReviewedSystem:
        """A system with another review."""
        return replace(self, review=review)


def open_reviewed(
    questions: object, runs: object, options: ReviewOptions | None = None, *, begin: bool = False
) -> tuple[Questions, list[ReviewedSystem]]:
    """Open the answers of systems, with verdicts and reviews.

    options   judge, verdicts: whose verdicts count, as `evaluate` takes them;  labels: where reviews are kept, by
              default in the run folders;  against: further judges, by name, whose verdicts are in the run folders too
    begin     whether a file of labels that is named need not be there yet
    Raises    InputError and its children.
    """
    options = options or ReviewOptions()
    asked, systems = open_all_answers(questions, runs)
    names = [system.name for system in systems]
    check_labels(options.labels, names)
    VerdictChoice(options.verdicts, options.judge).checked(names)
    return asked, _sharing([_reviewed(asked, system, options, begin=begin) for system in systems])


def reread(systems: Sequence[ReviewedSystem], labels: object) -> list[ReviewedSystem]:
    """Systems with their reviews as they are kept now."""
    return _sharing([own.with_review(_kept_review(labels, own.system, begin=True)) for own in systems])


def _reviewed(questions: Questions, system: System, options: ReviewOptions, *, begin: bool) -> ReviewedSystem:
    if system.repeats:
        raise InputError(
            f"{system.name}: has {len(system.runs)} runs; people decide about one of them, name that alone"
        )
    choice = VerdictChoice(options.verdicts, options.judge)
    run = judged_run(system, questions, choice.of(system)[0], choice)
    others = [judged_run(system, questions, None, VerdictChoice(judge=name)) for name in options.other_judges]
    return ReviewedSystem(
        system,
        run.restricted(),
        [other.restricted().verdicts for other in others],
        review_file(options.labels, system.name, system.folder),
        _kept_review(options.labels, system, begin=begin),
    )


def _kept_review(labels: object, system: System, *, begin: bool) -> Review:
    """The review of a system; an empty one where its file is not there yet, even if it is named and may `begin`."""
    file = review_file(labels, system.name, system.folder)
    if begin and file is not None and not file.exists():
        return Review()
    return review_of(labels, system.name, system.folder) or Review()


def _sharing(systems: Sequence[ReviewedSystem]) -> list[ReviewedSystem]:
    """Each system with what was decided about its items for others."""
    decisions = [decision for own in systems for decision in own.review.labels.decisions]
    return [own.with_review(_shared(own, decisions)) for own in systems]


def _shared(own: ReviewedSystem, decisions: Sequence[Decision]) -> Review:
    """The review of a system with what was decided about the same items for others."""
    ids = {item.item_id for sample in own.review.samples for _, item in own.items(sample.table)}
    own_keys = {(decision.item_id, decision.rater) for decision in own.review.labels.decisions}
    return own.review.with_decisions(
        decision
        for decision in decisions
        if decision.item_id in ids and (decision.item_id, decision.rater) not in own_keys
    )


def all_labels(systems: Sequence[ReviewedSystem]) -> Labels:
    """Labels of items of any of these systems."""
    return Labels(decision for own in systems for decision in own.review.labels.decisions)
