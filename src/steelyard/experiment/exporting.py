"""Samples for other tools: each question with what a system gave for it and what that is worth, in their formats."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard._version import __version__
from steelyard.base.errors import InputError
from steelyard.base.json_text import json_text
from steelyard.base.nearest import nearest
from steelyard.base.progress import Progress, usual_progress
from steelyard.data.histories import CONVERSATION
from steelyard.data.outputs import Outputs
from steelyard.data.question import Question
from steelyard.data.questions import Questions
from steelyard.data.run import ranked
from steelyard.experiment.door.choices import VerdictChoice, judged_run
from steelyard.experiment.door.evaluation import evaluate
from steelyard.experiment.door.opening import System, open_answers
from steelyard.io.write import write_text
from steelyard.judges.tables.items import explanation
from steelyard.judges.tables.verdicts import Verdicts, overall
from steelyard.judges.verdict import JudgedAnswer, Label, Verdict
from steelyard.measures import Measure, parse


@dataclass(frozen=True, slots=True)
class Value:
    """Value that a measure gives to a sample.

    value    None where it is undefined, or was not measured
    reason   which sentences count against it; or why there is no value
    """

    value: float | None
    reason: str = ""


@dataclass(frozen=True)
class AnsweredQuestion:
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
) -> list[AnsweredQuestion]:
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
        AnsweredQuestion(
            question,
            lists.get(question.query_id),
            outputs.answers.get(question.query_id),
            values.get(question.query_id, {}),
            None if verdicts is None else verdicts.records.get(question.query_id),
        )
        for question in questions
    ]


def _values(
    questions: Questions, system: System, measures: Sequence[Measure], verdicts: Verdicts | None
) -> dict[str, dict[str, Value]]:
    """Question -> measure -> value."""
    run = system.answered() if system.folder is None else system.folder.path
    scores = evaluate(questions, {system.name: run}, measures, verdicts=verdicts, labels=False)
    tables = {str(measure): measure.items for measure in measures}
    values: dict[str, dict[str, Value]] = {}
    for row in scores.frame.iter_rows(named=True):
        reason, table = row["reason"] or "", tables[row["measure"]]
        if row["status"] == "ok" and table is not None and verdicts is not None:
            reason = explanation(verdicts.records[row["query_id"]], table)
        values.setdefault(row["query_id"], {})[row["measure"]] = Value(row["value"], reason)
    return values


def _lists(outputs: Outputs) -> dict[str, list[tuple[str, str | None]]]:
    """Lists retrieved for each question of which they are known."""
    texts, row_of = outputs.table.texts, outputs.table.row_of
    lists: dict[str, list[tuple[str, str | None]]] = {
        query_id: [] for query_id in outputs.run.frame["query_id"].unique() if query_id not in outputs.unlisted
    }
    for query_id, doc_id in _rows(outputs):
        lists[query_id].append((doc_id, texts[row_of[doc_id]] if doc_id in row_of else None))
    return lists


def _rows(outputs: Outputs) -> Iterator[tuple[str, str]]:
    return ranked(outputs.run.frame).select("query_id", "doc_id").iter_rows()


_RAGCHECKER_LABELS: Mapping[Label, str] = {
    "supported": "Entailment",
    "contradicted": "Contradiction",
    "not_found": "Neutral",
}


def ragas(samples: Sequence[AnsweredQuestion], system: str) -> str:
    """JSONL, a row a sample with the columns of ragas, and one more for each measure."""
    return "".join(map(_line, map(_ragas_row, samples)))


def deepeval(samples: Sequence[AnsweredQuestion], system: str) -> str:
    """A JSON list of test cases; measures are in `metrics_data`, as deepeval writes what it measured."""
    return json_text([_deepeval_case(sample) for sample in samples])


def ragchecker(samples: Sequence[AnsweredQuestion], system: str) -> str:
    """RAGChecker's JSON; verdicts are its claims and labels, which it then does not ask for again."""
    return json_text({"results": [_ragchecker_result(sample) for sample in samples], "metrics": {}})


def mtrag(samples: Sequence[AnsweredQuestion], system: str) -> str:
    """The JSON of MTRAG and InspectorRAGet: documents, tasks, and evaluations with annotations by measure."""
    names = list(dict.fromkeys(name for sample in samples for name in sample.values))
    texts = {id: text for sample in samples for id, text in sample.retrieved or () if text is not None}
    return json_text(
        {
            "name": system,
            "models": [{"model_id": system, "name": system, "owner": ""}],
            "metrics": list(map(_mtrag_metric, names)),
            "documents": [{"document_id": id, "text": text} for id, text in texts.items()],
            "tasks": [_mtrag_task(sample) for sample in samples],
            "evaluations": [_mtrag_evaluation(sample, system) for sample in samples if sample.answer is not None],
        }
    )


def otel(samples: Sequence[AnsweredQuestion], system: str) -> str:
    """JSONL of OTLP, which a collector's `otlpjsonfile` receiver reads: an event `gen_ai.evaluation.result` a value."""
    now = str(time.time_ns())
    resource = {"attributes": _attributes({"service.name": system})}
    events = (
        {"timeUnixNano": now, "eventName": "gen_ai.evaluation.result", "attributes": _attributes(attributes)}
        for sample in samples
        for attributes in _event_attributes(sample)
    )
    scope = {"name": "steelyard", "version": __version__}
    logs = ({"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": [event]}]} for event in events)
    return "".join(_line({"resourceLogs": [log]}) for log in logs)


SAMPLE_FORMATS: Mapping[str, Callable[[Sequence[AnsweredQuestion], str], str]] = {
    "ragas": ragas, "deepeval": deepeval, "ragchecker": ragchecker, "mtrag": mtrag, "otel": otel,
}  # fmt: skip
"""By name; each takes samples, and what their system is called."""


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are known."""
    return {name: value for name, value in fields.items() if value is not None}


def _number(value: Value) -> float | None:
    return None if value.value is None or math.isnan(value.value) else value.value


def _texts(sample: AnsweredQuestion) -> list[str] | None:
    """The texts that were retrieved; None where any is unknown."""
    texts = [text for _, text in sample.retrieved or () if text is not None]
    return texts if sample.retrieved is not None and len(texts) == len(sample.retrieved) else None


def _gold_texts(sample: AnsweredQuestion) -> list[str] | None:
    return [piece.text for piece in sample.question.evidence if piece.text] or None


def _gold_ids(sample: AnsweredQuestion) -> list[str] | None:
    """Ids that are gold, where that has no texts."""
    labels = sample.question.labels or {}
    return [id for id, gain in labels.items() if gain > 0] or None if _gold_texts(sample) is None else None


def _ragas_row(sample: AnsweredQuestion) -> dict[str, Any]:
    question = sample.question
    row = _filled(
        {
            "query_id": question.query_id, "user_input": question.query or "", "retrieved_contexts": _texts(sample),
            "retrieved_context_ids": None if sample.retrieved is None else [id for id, _ in sample.retrieved],
            "reference_contexts": _gold_texts(sample), "reference_context_ids": _gold_ids(sample),
            "response": sample.answer, "reference": question.answer,
        }
    )  # fmt: skip
    return row | {name: _number(value) for name, value in sample.values.items()}


def _deepeval_case(sample: AnsweredQuestion) -> dict[str, Any]:
    question = sample.question
    metrics = [
        {"name": name, "score": _number(value), "reason": value.reason or None} for name, value in sample.values.items()
    ]
    return _filled(
        {
            "query_id": question.query_id, "input": question.query or "", "actual_output": sample.answer or "",
            "expected_output": question.answer, "context": _gold_texts(sample), "retrieval_context": _texts(sample),
            "additional_metadata": _deepeval_metadata(sample) or None, "metrics_data": metrics or None,
        }
    )  # fmt: skip


def _deepeval_metadata(sample: AnsweredQuestion) -> dict[str, Any]:
    """What deepeval has no field for: the ids of what was retrieved, where that has texts, and of the conversation."""
    ids = [id for id, _ in sample.retrieved or ()] if _texts(sample) else None
    conversation = sample.question.fields.get(CONVERSATION)
    return _filled({"retrieval_context_ids": ids or None, CONVERSATION: conversation})


def _ragchecker_result(sample: AnsweredQuestion) -> dict[str, Any]:
    record = sample.record
    seen = None if record is None or record.context is None else len(record.context)
    retrieved = [{"doc_id": id, "text": text or ""} for id, text in (sample.retrieved or ())[:seen]]
    base = {
        "query_id": sample.question.query_id,
        "query": sample.question.query or "",
        "gt_answer": sample.question.answer or "",
        "response": sample.answer or "",
        "retrieved_context": retrieved,
    }
    metrics = {name: number for name, value in sample.values.items() if (number := _number(value)) is not None}
    return base | (_checked(record) if record is not None else {}) | {"metrics": metrics}


def _checked(record: JudgedAnswer) -> dict[str, Any]:
    """Claims and labels of the tables that were judged whole; what was not, RAGChecker asks for itself."""
    units = [place for place, unit in enumerate(record.units) if unit.checkable]
    golds = [place for place, unit in enumerate(record.gold_units) if unit.checkable and unit.alternative == 0]
    lists: dict[str, list[Any]] = {
        "answer2response": [_label(record.correctness[n]) for n in units],
        "response2answer": [_label([record.said[n]]) for n in golds],
        "retrieved2response": [[_label([verdict]) for verdict in record.support[n]] for n in units],
        "retrieved2answer": [[_label([verdict]) for verdict in record.reach[n]] for n in golds],
    }
    whole = {name: labels for name, labels in lists.items() if not _lacks(labels)}
    claims = {
        "response_claims": [[record.units[n].text] for n in units],
        "gt_answer_claims": [[record.gold_units[n].text] for n in golds],
    }
    return claims | whole


def _lacks(labels: Sequence[Any]) -> bool:
    return any(_lacks(label) if isinstance(label, list) else label is None for label in labels)


def _label(verdicts: Sequence[Verdict | None]) -> str | None:
    """RAGChecker's word for what verdicts come to; None where they were not judged."""
    label = overall([verdict for verdict in verdicts if verdict is not None])
    return _RAGCHECKER_LABELS.get(label) if label is not None else None


def _mtrag_metric(name: str) -> dict[str, Any]:
    low, high = parse(name).definition.range
    return {
        "name": name, "display_name": name, "description": parse(name).definition.summary, "author": "algorithm",
        "type": "numerical", "aggregator": "average",
        **({"range": [low, high, 0.1]} if math.isfinite(high - low) else {}),
    }  # fmt: skip


def _mtrag_task(sample: AnsweredQuestion) -> dict[str, Any]:
    targets = [{"speaker": "agent", "text": answer} for answer in sample.question.answers]
    return {
        "task_id": sample.question.query_id,
        "task_type": "rag",
        "input": [*_earlier(sample), {"speaker": "user", "text": sample.question.query or ""}],
        "contexts": [{"document_id": id} for id, _ in sample.retrieved or ()],
        **({"targets": targets} if targets else {}),
    }


def _earlier(sample: AnsweredQuestion) -> list[dict[str, str]]:
    speakers = {"assistant": "agent"}
    return [{"speaker": speakers.get(role, role), "text": content} for role, content in sample.question.history]


def _mtrag_evaluation(sample: AnsweredQuestion, system: str) -> dict[str, Any]:
    numbers = {name: _number(value) for name, value in sample.values.items()}
    return {
        "task_id": sample.question.query_id,
        "model_id": system,
        "model_response": sample.answer,
        "annotations": {name: {"system": {"value": number}} for name, number in numbers.items() if number is not None},
    }


def _event_attributes(sample: AnsweredQuestion) -> Iterator[dict[str, Any]]:
    """Attributes of each value, by the names of the semantic conventions for generative AI."""
    for name, value in sample.values.items():
        number = _number(value)
        yield _filled(
            {
                "gen_ai.evaluation.name": name,
                "gen_ai.evaluation.score.value": number,
                "gen_ai.evaluation.explanation": value.reason or None if number is not None else None,
                "gen_ai.response.id": sample.question.query_id,
                "error.type": value.reason or "undefined" if number is None else None,
            }
        )


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Attributes as OTLP has them in JSON."""
    return [
        {"key": key, "value": {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}}
        for key, value in values.items()
    ]


@dataclass(frozen=True)
class Export:
    """Counts of what was written.

    text        the file;   n_samples   questions in it;   n_values   values of measures, those that are null included
    """

    text: str
    format: str
    n_samples: int
    n_values: int

    def __str__(self) -> str:
        return f"{self.format}: {self.n_samples} questions, {self.n_values} values"


def export(
    questions: object,
    outputs: object,
    to: str,
    *,
    measures: Iterable[str | Measure] | str | Measure = (),
    verdicts: object = None,
    judge: str | None = None,
    save: str | Path | None = None,
    progress: Progress = usual_progress,
) -> Export:
    """Write what another tool reads: questions, what one system gave for them, and values of measures.

    questions   Questions, a path to them, or dicts with `qid` and `query`
    outputs     those of one system: a run folder, Outputs, a path, or dicts with `retrieved` and `answer`
    to          "ragas" (JSONL), "deepeval" (test cases), "ragchecker", "mtrag", or "otel" (events
                `gen_ai.evaluation.result`, one a value)
    measures    whose values are to be in it
    verdicts, judge   of measures of answers, as `evaluate` takes them
    save        the file to write; "-" is standard output
    Raises      InputError and its children; OutputError where it cannot be written

    >>> chunks = [{"id": "h#1", "text": "Opening hours: 9 to 17."}]
    >>> outputs = [{"qid": "q1", "retrieved": chunks, "answer": "It is open from 9 to 17."}]
    >>> print(export([{"qid": "q1", "query": "When?"}], outputs, "ragas", measures="faithfulness").text, end="")
    {"query_id": "q1", "user_input": "When?", ... "response": "It is open from 9 to 17.", "faithfulness": 1.0}
    """
    if to not in SAMPLE_FORMATS:
        raise InputError(f"nothing is written for {to!r}; {nearest(to, SAMPLE_FORMATS)}")
    specs = [measures] if isinstance(measures, str | Measure) else list(measures)
    if to == "otel" and not specs:
        raise InputError("events are about values of measures; name some: -m faithfulness (measures=[...])")
    asked, system = open_answers(questions, outputs)
    samples = samples_of(asked, system, specs, VerdictChoice(verdicts, judge, progress).checked([system.name]))
    text = SAMPLE_FORMATS[to](samples, system.name)
    if save is not None:
        write_text(os.fspath(save), text)
    return Export(text, to, len(samples), sum(len(sample.values) for sample in samples))
