"""Answers that say that there is none."""

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.judges.abstaining import is_abstention

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "abstentions.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("row", ROWS, ids=[row["label"] for row in ROWS])
def test_cases(row: dict[str, Any]) -> None:
    assert is_abstention(row["input"]) is row["want"], row["comment"]
