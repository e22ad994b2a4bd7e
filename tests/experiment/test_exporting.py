"""What is written for other tools: it reads back as what it was, and has the names that they look for."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.experiment.exporting import export
from tests.cli.command import steelyard

QUESTIONS = [
    {"qid": "q1", "query": "When is it open?", "answer": "From 9 to 17.",
     "evidence": [{"text": "Opening hours: 9 to 17."}]},
    {"qid": "q2", "query": "几点开门？", "answer": "九点开门。", "rel_map": {"h#3": 1, "h#9": 0}},
    {"qid": "q3", "query": "What does it cost?"},
]  # fmt: skip
HOURS = {"id": "h#1", "text": "Opening hours: 9 to 17."}
OUTPUTS = [
    {
        "qid": "q1",
        "retrieved": [HOURS, {"id": "h#2", "text": "There is a café."}],
        "answer": "It is open from 9 to 17 [h#1]. It has a garden. Opening hours: 9 to 18.",
    },
    {"qid": "q2", "retrieved": [{"id": "h#3", "text": "九点开门，周一休息。"}], "answer": "九点开门。"},
    {"qid": "q3", "retrieved": [HOURS], "answer": "I don't know."},
]
MEASURES = ["faithfulness", "answer_f1", "context_recall"]
READ_BACK = ["ragas", "deepeval", "ragchecker", "mtrag"]


def values(questions: object, outputs: object, **options: Any) -> dict[tuple[str, str], float | None]:
    scores = sy.evaluate(questions, outputs, MEASURES, **options)
    return {(row["query_id"], row["measure"]): row["value"] for row in scores.frame.iter_rows(named=True)}


def file_of(tmp_path: Path, to: str, **options: Any) -> Path:
    path = tmp_path / f"run.{'jsonl' if to in ('ragas', 'otel') else 'json'}"
    export(QUESTIONS, OUTPUTS, to, save=path, **options)
    return path


@pytest.mark.parametrize("to", READ_BACK)
def test_questions_outputs_and_values_read_back(tmp_path: Path, to: str) -> None:
    path = file_of(tmp_path, to)
    questions, outputs = sy.Questions.read(path), sy.Outputs.read(path)
    assert [(q.query_id, q.query, q.answer) for q in questions] == [
        (line["qid"], line["query"], line.get("answer")) for line in QUESTIONS
    ]
    assert outputs.answers == {line["qid"]: line["answer"] for line in OUTPUTS}
    retrieved = outputs.run.frame.group_by("query_id", maintain_order=True).len()["len"].to_list()
    assert retrieved == [2, 1, 1]
    assert values(path, path) == values(QUESTIONS, OUTPUTS)


@pytest.mark.parametrize("to", ["ragchecker", "mtrag"])
def test_ids_of_chunks_read_back(tmp_path: Path, to: str) -> None:
    ids = sy.Outputs.read(file_of(tmp_path, to)).run.frame["doc_id"].to_list()
    assert ids == ["h#1", "h#2", "h#3", "h#1"]


def test_gold_texts_and_ids_read_back(tmp_path: Path) -> None:
    first, second, third = sy.Questions.read(file_of(tmp_path, "ragas"))
    assert [piece.text for piece in first.evidence] == ["Opening hours: 9 to 17."]
    assert second.labels == {"h#3": 1.0}
    assert (third.labels, third.evidence) == (None, ())


def test_a_row_of_ragas_has_its_columns_and_values(tmp_path: Path) -> None:
    lines = file_of(tmp_path, "ragas", measures=MEASURES).read_text(encoding="utf-8").splitlines()
    first, _, third = map(json.loads, lines)
    assert first == {
        "query_id": "q1", "user_input": "When is it open?", "retrieved_contexts": [HOURS["text"], "There is a café."],
        "retrieved_context_ids": ["h#1", "h#2"], "reference_contexts": ["Opening hours: 9 to 17."],
        "response": OUTPUTS[0]["answer"], "reference": "From 9 to 17.", "faithfulness": pytest.approx(1 / 3),
        "answer_f1": pytest.approx(0.5), "context_recall": 1.0,
    }  # fmt: skip
    assert third["faithfulness"] is None


def test_a_test_case_of_deepeval_says_why(tmp_path: Path) -> None:
    first = json.loads(file_of(tmp_path, "deepeval", measures="faithfulness").read_text(encoding="utf-8"))[0]
    assert first["metrics_data"] == [
        {
            "name": "faithfulness",
            "score": pytest.approx(1 / 3),
            "reason": "1 of 3 supported; not_found: It has a garden. (missing: garden); "
            "contradicted: Opening hours: 9 to 18. (numbers: 18)",
        }
    ]


def test_verdicts_go_to_ragchecker_and_come_back(tmp_path: Path) -> None:
    path = file_of(tmp_path, "ragchecker", measures=MEASURES)
    first = json.loads(path.read_text(encoding="utf-8"))["results"][0]
    assert first["retrieved2response"] == [
        ["Entailment", "Neutral"],
        ["Neutral", "Neutral"],
        ["Contradiction", "Neutral"],
    ]
    assert first["response_claims"][1] == ["It has a garden."]
    assert first["metrics"]["faithfulness"] == pytest.approx(1 / 3)
    assert values(path, path, verdicts=path) == values(QUESTIONS, OUTPUTS)


def test_a_table_that_was_not_judged_is_left_to_ragchecker(tmp_path: Path) -> None:
    verdicts = sy.judge(QUESTIONS, OUTPUTS, tables=["support"])
    first = json.loads(export(QUESTIONS, OUTPUTS, "ragchecker", verdicts=verdicts).text)["results"][0]
    assert {key for key in first if "2" in key} == {"retrieved2response"}


def test_mtrag_has_annotations_by_metric(tmp_path: Path) -> None:
    content = json.loads(file_of(tmp_path, "mtrag", measures="faithfulness").read_text(encoding="utf-8"))
    assert [metric["name"] for metric in content["metrics"]] == ["faithfulness"]
    assert content["metrics"][0]["range"][:2] == [0.0, 1.0]
    assert [evaluation["annotations"] for evaluation in content["evaluations"]] == [
        {"faithfulness": {"system": {"value": pytest.approx(1 / 3)}}},
        {"faithfulness": {"system": {"value": 1.0}}},
        {},
    ]


def attributes(record: Mapping[str, Any]) -> dict[str, Any]:
    return {item["key"]: next(iter(item["value"].values())) for item in record["attributes"]}


def test_events_have_the_names_of_the_conventions() -> None:
    text = export(QUESTIONS, OUTPUTS, "otel", measures=["faithfulness", "mrr@10"]).text
    logs = [log for line in text.splitlines() for log in json.loads(line)["resourceLogs"]]
    events = [event for log in logs for scope in log["scopeLogs"] for event in scope["logRecords"]]
    assert {event["eventName"] for event in events} == {"gen_ai.evaluation.result"}
    assert all(int(event["timeUnixNano"]) > 1.7e18 for event in events)
    assert attributes(logs[0]["resource"]) == {"service.name": "run"}
    faithfulness = [
        attributes(event) for event in events if attributes(event)["gen_ai.evaluation.name"] == "faithfulness"
    ]
    assert faithfulness[1] == {
        "gen_ai.evaluation.name": "faithfulness",
        "gen_ai.evaluation.score.value": 1.0,
        "gen_ai.evaluation.explanation": "1 of 1 supported",
        "gen_ai.response.id": "q2",
    }
    assert faithfulness[2] == {
        "gen_ai.evaluation.name": "faithfulness",
        "gen_ai.response.id": "q3",
        "error.type": "abstained",
    }


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [(("excel",), "nothing is written for 'excel'"), (("otel",), "events are about values of measures")],
)
def test_mistakes(arguments: tuple[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        export(QUESTIONS, OUTPUTS, *arguments)


def test_the_command_writes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, lines in (("q.jsonl", QUESTIONS), ("o.jsonl", OUTPUTS)):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for to in ("ragas", "deepeval", "ragchecker", "mtrag"):
        done = steelyard("export", "q.jsonl", "run=o.jsonl", "--to", to, "-m", "answer_f1")
        assert done.stdout.decode() == export(QUESTIONS, OUTPUTS, to, measures=["answer_f1"]).text
    done = steelyard("export", "q.jsonl", "o.jsonl", "--to", "ragas", "-o", "x.jsonl")
    assert done.stdout.decode() == "x.jsonl: ragas: 3 questions, 0 values\n"
    assert steelyard("export", "q.jsonl", "o.jsonl", "--to", "ragas", "-o", "q.jsonl").returncode == 2
