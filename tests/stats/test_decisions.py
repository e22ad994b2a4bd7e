"""The benchmark of decisions: every table is whole."""

import numpy as np
import pytest
from benchmarks.decisions import TABLES
from benchmarks.simulated import gates
from benchmarks.simulated.answers import answer_rows
from benchmarks.simulated.intervals import misses
from benchmarks.simulated.power import normal
from benchmarks.simulated.tables import Table, percent

from tests.shared_data import shared

pytest.importorskip("scipy", reason="the tests need the extra stats")


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_whole(name: str) -> None:
    shared("trec_topic_scores")
    table = TABLES[name](4, 1)
    assert table.rows
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_tables_are_markdown() -> None:
    table = Table("Of two", ["name", "share"], [["a", percent(0.0512)]])
    assert list(table.lines()) == ["Of two\n", "| name | share |", "|---|---:|", "| a | 5.1% |"]


def test_intervals_seldom_leave_out_a_true_0() -> None:
    assert misses("t", normal(2), 15, n_others=1, draws=40, seed=1) <= 0.15


def test_hits_are_lost_and_gained() -> None:
    assert np.bincount((gates.hits(10, 2, 1) + 1).astype(int)).tolist() == [2, 7, 1]
    assert gates.passes(10, 0, 0, 0.02, alone=True)
    assert not gates.passes(10, 0, 0, 0.02)


@pytest.mark.slow
def test_intervals_of_measures_of_answers_hold_their_level() -> None:
    rows = answer_rows(1_000, 7)
    # Three standard errors of a simulated .95 are .02.
    assert {name: cells for name, cells in rows.items() if min(held for held, _ in cells) < 0.93} == {}
