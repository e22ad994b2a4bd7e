"""Answers that say that there is none."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from steelyard.judges.answers.assertions import is_abstention
from steelyard.judges.answers.units import answer_units
from tests.shared_data import shared

_CASES = Path(__file__).parents[1] / "cases"


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_CASES / name).read_text(encoding="utf-8").splitlines()]


ROWS = _rows("abstentions.jsonl")
BY_HALF = _rows("abstentions_by_half.jsonl")


@pytest.mark.parametrize("row", ROWS, ids=[row["label"] for row in ROWS])
def test_cases(row: dict[str, Any]) -> None:
    assert is_abstention(answer_units(row["input"])) is row["want"], row["comment"]


@pytest.mark.parametrize("half", sorted({row["half"] for row in BY_HALF}))
@pytest.mark.parametrize("language", ["en", "zh"])
def test_halves(half: str, language: str) -> None:
    """Of those that abstain 95 % at least are known, and no other answer is taken for one; by half and language."""
    rows = [row for row in BY_HALF if row["half"] == half and row["id"].startswith(language)]
    wrong = [row for row in rows if is_abstention(answer_units(row["input"])) is not row["want"]]
    assert [row["input"] for row in wrong if not row["want"]] == []
    assert len(wrong) <= 0.05 * sum(row["want"] for row in rows), [row["input"] for row in wrong]


def test_real_answers() -> None:
    """MTRAG: answers by people and by two models, those to questions that the passages do not answer among them."""
    path = shared("answers", "mtrag_human", "reference_subset_with_human_evaluations.json.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        data = json.load(file)
    kind = {task["task_id"]: task["Answerability"][0] for task in data["tasks"]}
    n_abstaining = Counter(
        (evaluation["model_id"] == "reference", kind[evaluation["task_id"]])
        for evaluation in data["evaluations"]
        if is_abstention(answer_units(evaluation["model_response"]))
    )
    # Read one by one, all of them say only that; of seven human answers without an answer, the seventh has an opinion.
    assert n_abstaining == {
        (True, "UNANSWERABLE"): 6,
        (False, "UNANSWERABLE"): 5,
        (False, "PARTIAL"): 2,
        (False, "ANSWERABLE"): 2,
    }
