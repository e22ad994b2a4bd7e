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

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "abstentions.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("row", ROWS, ids=[row["label"] for row in ROWS])
def test_cases(row: dict[str, Any]) -> None:
    assert is_abstention(answer_units(row["input"])) is row["want"], row["comment"]


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
