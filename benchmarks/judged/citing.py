"""Citations and abstentions of answers by tables of cases: how many are read as people would read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.judged.values import Value

from steelyard.judges.answers.units import units_with_citations
from steelyard.text.cited import Names

_CASES = Path(__file__).resolve().parents[2] / "tests" / "cases"


def citation_values() -> Iterator[Value]:
    """The share of answers of which all citations, and the texts of all sentences, are right."""
    rows = [row for row in _rows("citations.jsonl") if "texts" in row]
    for what, wanted, least, earlier in (
        ("answers that cite by page, file, label, numeral, or as RAGFlow, Cohere and FastGPT do", True, 0.95, 2 / 88),
        ("answers with numerals, pages and remarks that are no citation", False, 0.95, 34 / 37),
    ):
        right = [_is_right(row) for row in rows if bool(row["want"]) is wanted]
        yield Value(what, f"{len(right)} answers", sum(right) / len(right), least, earlier=earlier)


def _is_right(row: dict[str, Any]) -> bool:
    pages = [None if numbers is None else tuple(numbers) for numbers in row.get("pages", ())]
    units, cited = units_with_citations(row["input"], Names(row["context"], docs=row.get("docs", ()), pages=pages))
    marks = [[citation.mark, citation.problem or citation.chunk] for citation in cited]
    return marks == row["want"] and [unit.text for unit in units] == row["texts"]


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_CASES / name).read_text(encoding="utf-8").splitlines()]
