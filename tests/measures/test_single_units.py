"""Units as answers of their own, and people's verdicts in the judge's place: arrays against what records give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.choices import ItemTable
from steelyard.judges.tables.items import decided, restricted
from steelyard.judges.verdict import JudgedAnswer, Verdict
from steelyard.measures import JudgedAnswers
from steelyard.measures.judged_answers import (
    CONTRADICTED,
    NOT_FOUND,
    NOT_JUDGED,
    SUPPORTED,
    owners,
    single_units,
    with_verdicts,
)
from tests.judges.strategies import arrays_of, records

VERDICTS = {
    SUPPORTED: Verdict("supported"),
    NOT_FOUND: Verdict("not_found"),
    CONTRADICTED: Verdict("contradicted"),
    NOT_JUDGED: Verdict("not_judged"),
}


def numbered(answers: Sequence[JudgedAnswer]) -> list[JudgedAnswer]:
    return [replace(record, query_id=str(n)) for n, record in enumerate(answers)]


def places(record: JudgedAnswer, table: ItemTable) -> list[int]:
    units = record.gold_units if table == "said" else record.units
    return [n for n, unit in enumerate(units) if unit.checkable]


def assert_same(one: JudgedAnswers, other: JudgedAnswers) -> None:
    for field in fields(JudgedAnswers):
        own, expected = getattr(one, field.name), getattr(other, field.name)
        if isinstance(expected, np.ndarray):
            assert own.dtype == expected.dtype, field.name
            np.testing.assert_array_equal(own, expected, field.name)
        elif field.name == "criteria":
            for name, shares in expected.items():
                np.testing.assert_array_equal(own[name], shares, name)
        elif field.name not in ("query_id", "unknown"):
            assert own == expected, field.name


@pytest.mark.parametrize("table", get_args(ItemTable))
@given(answers=st.lists(records(), min_size=1, max_size=4))
def test_single_units_are_those_of_records_with_one_unit(table: ItemTable, answers: list[JudgedAnswer]) -> None:
    answers = numbered(answers)
    alone = [(own, restricted(own, table, [n])) for own in answers for n in places(own, table)]
    a = arrays_of(answers)
    assert_same(single_units(a, table), arrays_of(numbered([single for _, single in alone])))
    assert [a.query_id[q] for q in owners(a, table)] == [own.query_id for own, _ in alone]


@pytest.mark.parametrize("table", get_args(ItemTable))
@given(answers=st.lists(records(), min_size=1, max_size=4), data=st.data())
def test_verdicts_stand_where_records_have_them(
    table: ItemTable, answers: list[JudgedAnswer], data: st.DataObject
) -> None:
    answers = numbered(answers)
    a = arrays_of(answers)
    n = len(owners(a, table))
    codes = data.draw(st.lists(st.sampled_from([*VERDICTS]), min_size=n, max_size=n))
    rest = iter(codes)
    by_people = [decided(own, table, {n: VERDICTS[next(rest)] for n in places(own, table)}) for own in answers]
    assert_same(with_verdicts(a, table, np.array(codes, np.int8)), arrays_of(by_people))
