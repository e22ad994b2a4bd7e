"""Numerals and quantities in other words: how many rows of the tables of cases the lexical judge decides rightly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.judged.values import Value

from steelyard.judges.lexical import LexicalJudge
from steelyard.judges.verdict import Case

CASES = Path(__file__).resolve().parents[2] / "tests" / "cases"
AS_COUNTED = (("三", "3"), ("3", "三"), ("两", "2"), ("一", "1"), ("十二", "12"))
CHANGED = (("三", "五"), ("3", "五"), ("三", "5"), ("两", "三"), ("三", "一"), ("一", "两"))
"""Numerals before a measure word, in the premise and in the hypothesis."""
EARLIER = {
    "measure words, numerals equal (zh)": 0.106,
    "measure words, numerals changed (zh)": 0.106,
    "quantities, equal (zh)": 0.25,
    "quantities, unequal (zh)": 0.724,
    "quantities, equal (en)": 0.268,
    "quantities, unequal (en)": 0.69,
    "quantities of the thing or of another": 0.286,
}
"""Shares at commit 2db421b5, before numerals and quantities were read as now."""
LEAST = 0.95


def table(name: str) -> list[dict[str, Any]]:
    text = (CASES / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def supports(premise: str, hypothesis: str) -> bool:
    [[verdict]] = LexicalJudge().judge([Case(premise, (hypothesis,))])
    return verdict.label == "supported"


def measure_word_rows() -> Iterator[tuple[str, bool, bool]]:
    """Of each measure word: itself, whether all equal numerals support each other, and whether no other one does."""
    for row in table("measure_words.jsonl"):
        text = row["text"]
        equal = all(supports(text.format(one), text.format(other)) for one, other in AS_COUNTED)
        changed = any(supports(text.format(one), text.format(other)) for one, other in CHANGED)
        yield row["measure"], equal, not changed


def quantity_rows() -> Iterator[tuple[str, bool, bool]]:
    """Of each pair of quantities: its id, whether it is equal, and whether the judge says so in both directions."""
    for row in table("quantities.jsonl"):
        one, other = (row["text"].format(row[side]) for side in ("one", "other"))
        said = (supports(one, other), supports(other, one))
        yield row["id"], row["equal"], said == (row["equal"], row["equal"])


def amount_values() -> Iterator[Value]:
    """Shares of the rows that are decided rightly."""
    measures = list(measure_word_rows())
    yield _value("measure words, numerals equal (zh)", [equal for _, equal, _ in measures])
    yield _value("measure words, numerals changed (zh)", [changed for _, _, changed in measures])
    rows = list(quantity_rows())
    for language in ("zh", "en"):
        for is_equal, what in ((True, "equal"), (False, "unequal")):
            right = [ok for id_, equal, ok in rows if id_.startswith(language) and equal is is_equal]
            yield _value(f"quantities, {what} ({language})", right)
    owners = table("quantity_owners.jsonl")
    right = [supports(row["premise"], row["sentence"]) == row["supported"] for row in owners]
    yield _value("quantities of the thing or of another", right)


def _value(what: str, right: list[bool]) -> Value:
    on = f"{len(right)} rows; {EARLIER[what]:.3f} at 2db421b5"
    return Value(what, on, sum(right) / len(right), least=LEAST)
