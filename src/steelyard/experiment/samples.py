"""Samples: each question with what a system gave for it and what that is worth, as other tools hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from steelyard.data.outputs import Outputs
from steelyard.data.question import Question
from steelyard.data.questions import Questions
from steelyard.data.run import ranked
from steelyard.experiment.evaluation import evaluate
from steelyard.experiment.opening import System
from steelyard.experiment.verdict_choice import VerdictChoice, judged_run
from steelyard.judges.explaining import explanation
from steelyard.judges.records import JudgedAnswer
from steelyard.judges.verdicts import Verdicts
from steelyard.measures import Measure, parse


@dataclass(frozen=True, slots=True)
class Value:
    """What a measure says of a sample.

    value    None where it is undefined, or was not measured
    reason   which sentences count against it; or why there is no value
    """

    value: float | None
    reason: str = ""


@dataclass(frozen=True)
class Sample:
    """A question, and what one system gave for it.

    retrieved   ids and texts, best first, of a text that is not at hand None; None where nobody knows what they were
    answer      None where there is none
    values      by measure
    record      the verdicts on its answer; None where there are none
    """

    question: Question
    retrieved: Sequence[tuple[str, str | None]] | None
    answer: str | None
    values: Mapping[str, Value]
    record: JudgedAnswer | None = None


def samples_of(
    questions: Questions, system: System, measures: Iterable[str | Measure], choice: VerdictChoice
) -> list[Sample]:
    """The samples of one system, in the order of the questions.

    measures   that are to be in them
    choice     which verdicts: those that are named or kept, else the lexical judge's where measures need some
    """
    outputs, specs = system.answered(), [parse(measure) for measure in measures]
    verdicts = None
    if choice.verdicts is not None or choice.judge is not None or any(spec.definition.of_answers for spec in specs):
        (handed_in,) = choice.of(system)
        verdicts = judged_run(system, questions, handed_in, choice).verdicts
    values = _values(questions, system, specs, verdicts) if specs else {}
    lists = _lists(outputs)
    return [
        Sample(
            question, lists.get(question.query_id), outputs.answers.get(question.query_id),
            values.get(question.query_id, {}), None if verdicts is None else verdicts.records.get(question.query_id),
        )
        for question in questions
    ]  # fmt: skip


def _values(
    questions: Questions, system: System, measures: Sequence[Measure], verdicts: Verdicts | None
) -> dict[str, dict[str, Value]]:
    """Question -> measure -> value."""
    run = system.answered() if system.folder is None else system.folder.path
    scores = evaluate(questions, {system.name: run}, measures, verdicts=verdicts, labels=False)
    tables = {str(measure): measure.definition.items for measure in measures}
    values: dict[str, dict[str, Value]] = {}
    for row in scores.frame.iter_rows(named=True):
        reason, table = row["reason"] or "", tables[row["measure"]]
        if row["status"] == "ok" and table is not None and verdicts is not None:
            reason = explanation(verdicts.records[row["query_id"]], table)
        values.setdefault(row["query_id"], {})[row["measure"]] = Value(row["value"], reason)
    return values


def _lists(outputs: Outputs) -> dict[str, list[tuple[str, str | None]]]:
    """What was retrieved for each question of which that is known."""
    texts, row_of = outputs.table.texts, outputs.table.row_of
    lists: dict[str, list[tuple[str, str | None]]] = {
        query_id: [] for query_id in outputs.run.frame["query_id"].unique() if query_id not in outputs.unlisted
    }
    for query_id, doc_id in _rows(outputs):
        lists[query_id].append((doc_id, texts[row_of[doc_id]] if doc_id in row_of else None))
    return lists


def _rows(outputs: Outputs) -> Iterator[tuple[str, str]]:
    return ranked(outputs.run.frame).select("query_id", "doc_id").iter_rows()
