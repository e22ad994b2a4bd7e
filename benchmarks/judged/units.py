"""Units of answers by tables of cases: how many cases have all units, and leads, as people would write them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.judged.values import Value

from steelyard.judges.answers.units import answer_units

_CASES = Path(__file__).resolve().parents[2] / "tests" / "cases"


def unit_values() -> Iterator[Value]:
    """The share of cases that are right."""
    leads = _rows("leads.jsonl")
    right = [[unit.lead for unit in answer_units(row["input"])] == row["want"] for row in leads]
    need_none = [not any(row["want"]) for row in leads]  # no unit had a lead before
    on = f"{len(leads)} answers"
    yield Value("leads of an answer's units", on, _share(right), 0.95, earlier=_share(need_none))


def _share(flags: list[bool]) -> float:
    return sum(flags) / len(flags)


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_CASES / name).read_text(encoding="utf-8").splitlines()]
