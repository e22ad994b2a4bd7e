"""Files of MTRAG: conversations, contexts by id, and the answers of several models."""

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from tests.shared_data import shared

CONTENT: dict[str, Any] = {
    "name": "two models",
    "models": [{"model_id": "a", "name": "A"}, {"model_id": "b", "name": "B"}],
    "metrics": [],
    "documents": [{"document_id": "d1", "text": "Bees dance."}, {"document_id": "d2", "text": "鲸鱼游泳。"}],
    "tasks": [
        {"task_id": "c<::>1", "input": [{"speaker": "user", "text": "Who dances?"}],
         "contexts": [{"document_id": "d2"}, {"document_id": "d1"}], "targets": [{"speaker": "agent", "text": "Bees."}],
         "Answerability": ["ANSWERABLE"]},
        {"task_id": "c<::>2", "Answerability": ["UNANSWERABLE"], "contexts": [],
         "input": [{"speaker": "user", "text": "Who dances?"}, {"speaker": "agent", "text": "Bees."},
                   {"speaker": "user", "text": "为什么？"}]},
    ],
    "evaluations": [
        {"task_id": "c<::>1", "model_id": "a", "model_response": "Bees dance."},
        {"task_id": "c<::>1", "model_id": "b", "model_response": "Whales."},
        {"task_id": "c<::>2", "model_id": "a", "model_response": "I don't know."},
        {"task_id": "c<::>2", "model_id": "b", "model_response": "For fun."},
    ],
}  # fmt: skip


def file_of(tmp_path: Path, **change: Any) -> Path:
    path = tmp_path / "human.json"
    path.write_text(json.dumps({**CONTENT, **change}, ensure_ascii=False), encoding="utf-8")
    return path


def test_questions_are_the_last_of_each_conversation(tmp_path: Path) -> None:
    first, second = sy.Questions.read(file_of(tmp_path))
    assert (first.query, first.answer, first.answerable, first.fields) == (
        "Who dances?",
        "Bees.",
        True,
        {"conversation": "c"},
    )
    assert (second.query, second.answer, second.answerable) == ("为什么？", None, False)


def test_the_answers_are_those_of_the_model_that_is_named(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    outputs = sy.Outputs.read(path, name="b")
    assert outputs.answers == {"c<::>1": "Whales.", "c<::>2": "For fun."}
    assert outputs.run.frame["doc_id"].to_list() == ["d2", "d1", None]
    scores = sy.evaluate(path, [f"a={path}", f"b={path}"], ["faithfulness", "content_f1"])
    assert scores.systems == ["a", "b"]
    assert scores.means[:, 0].tolist() == [1.0, 0.0]


def test_without_a_name_the_models_are_listed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds the answers of 2 models \\('a', 'b'\\); say whose: MODEL="):
        sy.Outputs.read(file_of(tmp_path))
    only = file_of(tmp_path, evaluations=CONTENT["evaluations"][:1])
    assert sy.Outputs.read(only).answers == {"c<::>1": "Bees dance."}


@pytest.mark.parametrize(
    "change", [{"tasks": 3}, {"tasks": [{"task_id": 1}]}, {"tasks": [{"task_id": "t", "input": "x"}]}]
)
def test_another_shape_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"human\.json: .* expected the JSON of MTRAG"):
        sy.Questions.read(file_of(tmp_path, **change))


def test_the_whole_file_is_read() -> None:
    path = shared("answers", "mtrag_human", "reference_subset_with_human_evaluations.json.gz")
    questions, outputs = sy.Questions.read(path), sy.Outputs.read(path, name="gpt-4o")
    assert (len(questions), len(outputs.answers)) == (159, 159)
    assert sum(question.answerable is False for question in questions) == 7
