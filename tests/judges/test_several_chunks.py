"""Sentences that cite several chunks: what these support together, by the lexical judge."""

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "several_chunks.jsonl").read_text("utf-8").splitlines()
]


def judged(row: dict[str, Any]) -> tuple[sy.Verdicts, dict[str, float | None]]:
    questions = [{"qid": "q", "query": "?", "answers": [row["gold"]]}]
    retrieved = [{"id": f"d{n}#0", "text": text} for n, text in enumerate(row["context"])]
    outputs = [{"qid": "q", "retrieved": retrieved, "answer": row["answer"]}]
    verdicts = sy.judge(questions, outputs)
    scores = sy.evaluate(questions, outputs, [*row["want"]], verdicts=verdicts)
    return verdicts, dict(scores.frame.select("measure", "value").iter_rows())


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_measures_of_several_chunks(row: dict[str, Any]) -> None:
    _, values = judged(row)
    assert values == row["want"], row["comment"]


def test_the_sentence_counts_as_supported_wherever_it_is_counted() -> None:
    verdicts, _ = judged(next(row for row in ROWS if row["id"] == "two-places-zh"))
    assert verdicts.units["verdict"].to_list() == ["supported"]
    assert verdicts.counts["supported"] == 1
