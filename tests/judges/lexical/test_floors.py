"""Figures of the lexical judge and of measures of answers on sets with human labels."""

from pathlib import Path

import pytest
from benchmarks.answers import TABLES
from benchmarks.judged.lexical import FLOORS, judge_auc

from steelyard.judges.lexical import LexicalJudge
from tests.shared_data import shared


@pytest.mark.parametrize("name", ["MTRAG", "HAGRID", "Stanford"])
def test_the_judge_reaches_its_floor(name: str) -> None:
    assert judge_auc(LexicalJudge(), name, shared("answers")) >= FLOORS[name]


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_every_figure_is_as_it_must_be(table: str) -> None:
    folder: Path = shared("answers")
    rows = TABLES[table](folder).rows
    assert rows
    assert [row for row in rows if row["met"] is False] == []
