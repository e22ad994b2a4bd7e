"""Results of RAGChecker as verdicts: the same measures, worked by hand from its labels."""

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from tests.cli.command import steelyard

E, N, C = "Entailment", "Neutral", "Contradiction"
ROW: dict[str, Any] = {
    "query_id": "0",
    "query": "Where is the hall?",
    "gt_answer": "In Main Street. It is red.",
    "response": "The hall is in Main Street, is blue, and is old. It is big.",
    "retrieved_context": [{"doc_id": "a", "text": "Main Street 1."}, {"doc_id": "b", "text": "An old hall."}],
    "response_claims": [
        ["The hall", "is in", "Main Street"],
        ["The hall", "is", "blue"],
        "The hall is old",
        ["It", "is", "big"],
    ],
    "gt_answer_claims": [["The hall", "is in", "Main Street"], ["The hall", "is", "red"]],
    "answer2response": [E, C, N, N],
    "response2answer": [E, N],
    "retrieved2response": [[E, N], [N, N], [N, E], [N, N]],
    "retrieved2answer": [[E, N], [N, N]],
    "metrics": {"precision": 0.25},
}
WANT = {
    "answer_precision": 1 / 4, "answer_recall": 1 / 2, "answer_f1": 1 / 3, "faithfulness": 2 / 4,
    "context_recall": 1 / 2, "context_precision": 1 / 2, "context_utilization": 1.0,
    "hallucination": 2 / 4, "self_knowledge": 0.0,
    "noise_sensitivity(relevant)": 0.0, "noise_sensitivity(irrelevant)": 1 / 4,
}  # fmt: skip
"""The old hall is from a chunk without anything of the gold answer, and the gold answer does not say it."""


def file_of(tmp_path: Path, *rows: dict[str, Any]) -> Path:
    path = tmp_path / "checked.json"
    path.write_text(json.dumps({"results": rows, "metrics": {}}, ensure_ascii=False), encoding="utf-8")
    return path


def test_measures_are_those_of_its_labels(tmp_path: Path) -> None:
    path = file_of(tmp_path, ROW)
    scores = sy.evaluate(path, path, list(WANT), verdicts=path)
    assert dict(zip(WANT, scores.means[0].tolist(), strict=True)) == pytest.approx(WANT)
    verdicts = sy.Verdicts.read(path)
    assert verdicts.judge == "ragchecker"
    assert verdicts.units["text"].to_list()[2:] == ["The hall is old", "It is big"]
    assert verdicts.correctness["verdict"].to_list() == ["supported", "contradicted", "not_found", "not_found"]


def test_they_are_kept_as_others_are(tmp_path: Path) -> None:
    verdicts = sy.Verdicts.read(file_of(tmp_path, ROW))
    verdicts.write(tmp_path / "v.parquet")
    assert sy.Verdicts.read(tmp_path / "v.parquet") == verdicts


def test_the_command_line_takes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file_of(tmp_path, ROW)
    monkeypatch.chdir(tmp_path)
    done = steelyard(
        "evaluate", "checked.json", "checked.json", "-m", "faithfulness", "--verdicts", "checked.json", "-v"
    )
    assert done.returncode == 0, done.stderr
    assert b"ragchecker" in done.stdout


def test_what_was_not_checked_is_not_judged(tmp_path: Path) -> None:
    row = {key: value for key, value in ROW.items() if "2" not in key}
    row["retrieved2response"] = [[E, "Abstain"], *[[N, N]] * 3]
    verdicts = sy.Verdicts.read(file_of(tmp_path, row))
    assert verdicts.recipe["tables"] == ["support"]
    assert dict(verdicts.not_judged) == {"not asked": 4 + 2 + 4, "RAGChecker says Abstain": 1}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"answer2response": [E]}, "row 1: `answer2response` has 1 results for 4 claims"),
        ({"retrieved2response": [[E]] * 4}, "`retrieved2response` has 1 labels of one claim; expected 2"),
        ({"response2answer": "all"}, "`response2answer` has 'all' results"),
        ({"response_claims": "one"}, "`response_claims` must be a list of claims"),
        ({"response_claims": [[1]]}, "is no claim"),
        ({"response_claims": None, "gt_answer_claims": []}, "holds no claims"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        sy.Verdicts.read(file_of(tmp_path, {**ROW, **change}))


def test_json_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"q1": {"d1": 1}}')
    with pytest.raises(InputError, match="holds no claims of RAGChecker"):
        sy.Verdicts.read(path)
