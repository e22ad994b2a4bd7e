"""Units of answers by tables of cases: how many cases have all units, and leads, as people would write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.judged.values import Value

import steelyard as sy
from steelyard.judges.answers.units import answer_units

_TOGETHER_BEFORE = 0.5  # of these cases, on commit 2db421b5
_TEXTS_BEFORE = 19 / 57  # of these cases, on commit 2db421b5
_IDS = ("a#1", "b#2")
_CASES = Path(__file__).resolve().parents[2] / "tests" / "cases"


def unit_values() -> Iterator[Value]:
    """The share of cases that are right."""
    leads = _rows("leads.jsonl")
    right = [[unit.lead for unit in answer_units(row["input"])] == row["want"] for row in leads]
    need_none = [not any(row["want"]) for row in leads]  # no unit had a lead before
    on = f"{len(leads)} answers"
    yield Value("leads of an answer's units", on, _share(right), 0.95, earlier=_share(need_none))


def text_values() -> Iterator[Value]:
    """The share of answers whose units have the texts that people would judge."""
    rows = _rows("unit_texts.jsonl")
    right = [[unit.text for unit in answer_units(row["input"], _IDS) if unit.checkable] == row["want"] for row in rows]
    on = f"{len(rows)} answers"
    yield Value("texts of units: clauses, quotations, markup", on, _share(right), 0.95, earlier=_TEXTS_BEFORE)


def together_values() -> Iterator[Value]:
    """The share of answers with sentences that cite several chunks of which all measures are as worked by hand."""
    rows = _rows("several_chunks.jsonl")
    right = [_values(row) == row["want"] for row in rows]
    on = f"{len(rows)} answers"
    yield Value("measures of sentences that cite several chunks", on, _share(right), 0.95, earlier=_TOGETHER_BEFORE)


def _values(row: Mapping[str, Any]) -> dict[str, float | None]:
    retrieved = [{"id": f"d{n}#0", "text": text} for n, text in enumerate(row["context"])]
    questions = [{"qid": "q", "query": "?", "answers": [row["gold"]]}]
    outputs = [{"qid": "q", "retrieved": retrieved, "answer": row["answer"]}]
    scores = sy.evaluate(questions, outputs, [*row["want"]], verdicts=sy.judge(questions, outputs))
    return dict(scores.frame.select("measure", "value").iter_rows())


def _share(flags: list[bool]) -> float:
    return sum(flags) / len(flags)


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_CASES / name).read_text(encoding="utf-8").splitlines()]
