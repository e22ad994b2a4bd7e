"""The schema of JSON results: every file that is written fits it, and it describes every key that is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.notes import Note
from steelyard.experiment.table.json import as_json
from tests.experiment import judged
from tests.monitoring.looks import look
from tests.reports.reports import MEASURES, ids_report, ids_weighing, texts_report, texts_weighing

jsonschema = pytest.importorskip("jsonschema", reason="holding JSON against a schema needs jsonschema")
SCHEMA = json.loads((files("steelyard.reports.formats") / "schema.json").read_text("utf-8"))
KINDS = ("scores", "comparison", "diagnosis", "report", "plan", "sweep", "look")


def closed(schema: Any) -> Any:
    """The same schema, in which an object has no key but those described."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(part) for key, part in schema.items()}
    return parts | ({"additionalProperties": False} if isinstance(schema.get("required"), list) else {})


def validator(kind: str, *, strict: bool = True) -> Any:
    of_kind = SCHEMA | {"$ref": f"#/$defs/{kind}"}
    del of_kind["anyOf"]
    return jsonschema.Draft202012Validator(closed(of_kind) if strict else of_kind)


def outputs() -> Iterator[tuple[str, str]]:
    """JSON of every kind: of ids and of evidence, of one system and of several, with segments, changes and a gate."""
    parted = (ids_weighing(3), ("ndcg@3", "mrr"), None), (texts_weighing(), MEASURES, "length")
    for weighing, measures, segments in parted:
        comparison = sy.compare(
            weighing, measures=measures, baseline=weighing.systems[0], margin=0.1, segments=segments, movers=2
        )
        yield "scores", as_json(weighing.scores(measures))
        yield "comparison", comparison.text("json")
        yield "diagnosis", sy.diagnose(weighing).text("json", lang="en")
        yield "plan", sy.plan(weighing, measures=measures[0], difference=0.1).text("json")
    clustered = texts_weighing(cluster={"q1": "a", "q2": "a"})
    yield "scores", as_json(clustered.scores(MEASURES))
    yield "comparison", sy.compare(clustered, measures=MEASURES).text("json")
    repeated = repeated_weighing()
    yield "scores", as_json(repeated.scores("mrr"))
    yield "comparison", sy.compare(repeated, measures="mrr").text("json")
    yield from of_answers()
    for report in (ids_report(1), ids_report(3, baseline="system-0", margin=0.05), texts_report(), gated()):
        yield "report", report.text("json", lang="en")
    yield "look", look("alert", notes=[Note("files_skipped", {"n": 1, "names": ["x"]})]).text("json", lang="en")


def of_answers() -> Iterator[tuple[str, str]]:
    """Answers beside rankings, of which some are left out for their causes."""
    weighing = sy.weigh(
        judged.questions(gold_evidence=["c"]),
        {"a": judged.outputs(), "b": judged.outputs()},
        verdicts=dict.fromkeys("ab", judged.verdicts(*judged.FOUR)),
    )
    yield "scores", as_json(weighing.scores(["faithfulness", "ndcg@5"]))
    yield "comparison", sy.compare(weighing, measures=["faithfulness", "ndcg@5"]).text("json")


def repeated_weighing() -> sy.Weighing:
    """A system of several runs beside another, of questions in clusters."""
    truth, run = {q: {"d": 1} for q in "abcd"}, {q: ["d", "x"] for q in "abcd"}
    runs = {"twice": sy.Repeats([run, {**run, "a": ["x", "d"]}]), "once": {**run, "b": ["x", "d"]}}
    return sy.weigh(truth, runs, cluster={"a": 1, "b": 1, "c": 2})


def gated() -> sy.Report:
    return sy.report(
        ids_weighing(3), measures=("ndcg@5", "recall@5"), baseline="system-0", profile="document-qa", margin=0.05
    )


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert [part["$ref"] for part in SCHEMA["anyOf"]] == [f"#/$defs/{kind}" for kind in KINDS]


def test_what_is_written_fits_and_nothing_is_left_undescribed() -> None:
    for kind, text in outputs():
        document = json.loads(text)
        errors = [f"{kind} {error.json_path}: {error.message[:200]}" for error in validator(kind).iter_errors(document)]
        assert errors == []
        assert isinstance(document["format"], int)


def test_other_files_do_not_fit() -> None:
    document = json.loads(gated().text("json"))
    assert not validator("report").is_valid({key: part for key, part in document.items() if key != "gate"})
    assert not validator("report").is_valid(document | {"format": 2})
    assert not validator("report").is_valid(document | {"further": 1})
    assert validator("report", strict=False).is_valid(document | {"further": 1})
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid({"format": 1})
