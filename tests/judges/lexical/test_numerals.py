"""Numerals: which words of a text are numbers, in one form; and before which measure words."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.judged.stated_amounts import AS_COUNTED, CHANGED, supports
from hypothesis import given
from hypothesis import strategies as st

from steelyard.judges.lexical.numerals import ONE, chinese_number, number_form
from steelyard.judges.lexical.words import MONTHS, UNITS, forms, is_number
from tests.hypothesis_profiles import examples

CASES = Path(__file__).resolve().parents[2] / "cases"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").split("\n") if line]


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in rows("numerals.jsonl")])
def test_numbers_of_a_text(row: dict[str, Any]) -> None:
    shown = {*UNITS.values(), *MONTHS.values()} | ({ONE} if row["id"].startswith("zh") else set())
    assert [form for form in forms(row["text"]) if is_number(form) or form in shown] == row["want"], row["why"]


@pytest.mark.parametrize("row", [pytest.param(row, id=row["measure"]) for row in rows("measure_words.jsonl")])
def test_a_measure_word_is_counted_by_any_numeral(row: dict[str, Any]) -> None:
    text = row["text"]
    for one, other in AS_COUNTED:
        assert supports(text.format(one), text.format(other)), (one, other)
    for one, other in CHANGED:
        assert not supports(text.format(one), text.format(other)), (one, other)


DIGITS = "零一二三四五六七八九"


def in_chinese(value: int) -> str:
    """A number below 10,000 as Chinese writes it, from the definition."""
    numeral, gap = "", False
    for scale, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = value // scale % 10
        if digit:
            numeral += ("零" if gap and numeral else "") + DIGITS[digit] + name
        gap = digit == 0
    return numeral or "零"


@given(st.integers(0, 9999), st.sampled_from([("", 1), ("万", 10**4), ("亿", 10**8)]))
@examples(300)
def test_a_numeral_has_its_value(value: int, magnitude: tuple[str, int]) -> None:
    if value:
        assert chinese_number(in_chinese(value) + magnitude[0]) == number_form(str(value * magnitude[1]))
