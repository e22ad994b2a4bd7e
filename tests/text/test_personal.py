"""Personal data: their table of cases, and what holds for every text."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.text.personal import mask, masked
from tests.hypothesis_profiles import examples

CASES = Path(__file__).resolve().parents[1] / "cases" / "personal.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
parts = st.sampled_from([row["input"] for row in ROWS] + ["电话", "order ", "+", "138", " ", "-", "@", "2.", "(0", "v"])
texts = st.lists(parts | st.text("0123456789+-.@:ab 转", max_size=12), max_size=4).map("".join)


@pytest.mark.parametrize("row", [pytest.param(row, id=row["label"]) for row in ROWS])
def test_cases(row: dict[str, Any]) -> None:
    assert mask(row["input"]) == row.get("want", row["input"])


@examples(300)
@given(text=texts)
def test_masked_twice_is_masked_once_in_a_column_as_alone(text: str) -> None:
    once = mask(text)
    assert mask(once) == once
    assert masked(pl.Series([text, None, text])).to_list() == [once, None, once]


@given(digits=st.integers(0, 10**16))
def test_a_card_is_one_by_its_check_digit_alone(digits: int) -> None:
    """Of ten last digits, that of Luhn alone makes a card, as the textbook's loop says."""
    stem = f"4{digits % 10**14:014d}"
    total = sum(sum(divmod(int(digit) * (2 if place % 2 == 0 else 1), 10)) for place, digit in enumerate(stem[::-1]))
    cards = [last for last in range(10) if mask(f"{stem}{last}") == "[card]"]
    assert cards == [-total % 10]
