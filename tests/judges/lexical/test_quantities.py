"""Quantities in other words: their table of cases, and what holds for every amount."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.judged.stated_amounts import supports
from hypothesis import given
from hypothesis import strategies as st

from steelyard.judges.lexical.quantities import quantities
from steelyard.judges.lexical.words import ALL_UNITS, UNITS
from tests.hypothesis_profiles import examples

CASES = Path(__file__).resolve().parents[2] / "cases"


def rows(name: str) -> list[Any]:
    lines = (CASES / name).read_text(encoding="utf-8").split("\n")
    return [pytest.param(row, id=row["id"]) for row in map(json.loads, filter(None, lines))]


@pytest.mark.parametrize("row", rows("quantities.jsonl"))
def test_equal_quantities_support_each_other_and_no_others_do(row: dict[str, Any]) -> None:
    one, other = (row["text"].format(row[side]) for side in ("one", "other"))
    assert (supports(one, other), supports(other, one)) == (row["equal"], row["equal"])


@pytest.mark.parametrize("row", rows("quantity_owners.jsonl"))
def test_a_quantity_is_of_what_the_premise_says_it_is_of(row: dict[str, Any]) -> None:
    assert supports(row["premise"], row["sentence"]) == row["supported"]


@given(st.integers(1, 5000), st.sampled_from(sorted(name for name in UNITS if name not in ("年", "$", "€", "£", "¥"))))
@examples(200)
def test_an_amount_with_a_unit_is_its_value_in_base_units(value: int, name: str) -> None:
    keys = {key for quantity in quantities(f"about {value} {name}.") for key in quantity.keys}
    assert {f"{value * unit.factor:.8g} {unit.dimension}" for unit in ALL_UNITS[name]} <= keys


PIECES = "3 三 half 点 年 pm : 半 个 元 $ / % 成 an hour 至 -".split()


@given(st.text(max_size=40) | st.lists(st.sampled_from(PIECES)).map("".join))
@examples(500)
def test_quantities_have_a_place_and_a_dimension(text: str) -> None:
    for quantity in quantities(text):
        assert 0 <= quantity.start < quantity.end <= len(text)
        assert quantity.keys
        assert all(len(key.split(" ")) >= 2 for key in quantity.keys)
