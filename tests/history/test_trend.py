"""Trends: lines of entries that can be compared, where they break, and where their level changed."""

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from steelyard.base.errors import InputError
from steelyard.history.trend import Trend, TrendLine, trend
from tests.history.frames import Means, noisy


def line_of(*data: Any, **options: Any) -> TrendLine:
    [line] = trend(Means(*data, **options)).lines  # type: ignore[arg-type]
    return line


def test_levels_are_where_they_are() -> None:
    line = line_of(noisy(0.7, 0.6, 0.65))
    assert [level.place for level in line.changes] == [20, 40]
    assert [round(level.mean, 2) for level in line.changes] == [0.6, 0.65]
    for level, difference in zip(line.changes, (-0.1, 0.05), strict=True):
        assert level.low < difference < level.high
        assert level.high - level.low < 0.03
    assert line.stretches[0].basis == "noise"
    assert line.frame["level"].to_list() == [1] * 20 + [2] * 20 + [3] * 20


def test_a_line_breaks_where_the_gold_changes() -> None:
    """A lower level of other gold is no change; what changed after it is."""
    means = noisy(0.7, 0.4, 0.3)
    line = line_of(means, truths=dict.fromkeys(range(20, 60), "other"), corpora=dict.fromkeys(range(50, 60), "new"))
    assert [(stretch.truth, stretch.place, stretch.n) for stretch in line.stretches] == [
        ("gold", 0, 20), ("other", 20, 40),
    ]  # fmt: skip
    assert [level.place for level in line.changes] == [40]
    assert line.frame["stretch"].to_list() == [1] * 20 + [2] * 40
    assert line.new_corpora == [50]
    assert not line.is_interleaved


def test_entries_of_two_golds_that_alternate_are_two_stretches() -> None:
    means = [value for pair in zip(noisy(0.7, n=20), noisy(0.4, n=20, seed=1), strict=True) for value in pair]
    line = line_of(means, truths=dict.fromkeys(range(1, 40, 2), "other"))
    assert [stretch.n for stretch in line.stretches] == [20, 20]
    assert not line.changes
    assert line.is_interleaved
    assert line.frame["entry"].to_list()[:3] == ["e0", "e2", "e4"]


def values_of(n_entries: int, *losses: tuple[int, float]) -> tuple[list[float], Any]:
    """Means and values of a system that repeats itself but for losses from some entries on."""
    rng = np.random.default_rng(2)
    values = np.tile(rng.uniform(0.3, 0.9, 40), (n_entries, 1))
    for place, loss in losses:
        values[place:] += rng.normal(0, 0.02, 40) - loss
    return values.mean(axis=1).tolist(), values


def test_a_system_that_repeats_itself_is_tested_question_by_question() -> None:
    means, values = values_of(30, (9, 0.0), (20, 0.05))
    line = line_of(means, values=values)
    assert [level.place for level in line.changes] == [20]
    [change], [stretch] = line.changes, line.stretches
    assert change.low < -0.05 < change.high < 0
    assert stretch.basis == "questions"
    assert math.isnan(stretch.noise)
    assert stretch.levels[0].mean == pytest.approx(np.mean(means[:20]))


def test_measures_that_are_no_means_of_questions_show_no_step() -> None:
    means, values = values_of(12, (6, 0.1))
    [stretch] = line_of(means, values=values, measure="latency_ms:p90").stretches
    assert (stretch.basis, len(stretch.levels)) == ("none", 1)


def test_entries_without_a_mean_are_left_out_and_counted() -> None:
    line = line_of([None, *noisy(0.7, 0.6)[:39], None])
    assert line.n_undefined == 2
    assert len(line.frame) == 39


def test_outcomes_and_settings_are_those_of_entries() -> None:
    line = line_of(noisy(0.7), outcomes={3: "fail"})
    assert line.frame["outcome"].to_list()[2:5] == [None, "fail", None]
    assert line.settings == {"config 0": {"k": "5"}, "config 1": {"k": "6"}}


def test_what_is_asked_for() -> None:
    store: Any = Means(noisy(0.7, 0.6))
    whole = trend(store)
    assert isinstance(whole, Trend)
    assert whole.frame.columns[:3] == ["measure", "system", "entry"]
    since = trend(store, "rr", since="2026-01-20T12:00+00:00")  # Another spelling of mrr.
    assert since.frame["entry"][0] == "e20"
    assert not since.lines[0].changes
    assert trend(store, since=datetime(2026, 1, 21, tzinfo=UTC)).frame.equals(since.frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measures": "ndcg@10"}, r"history.db: no entry has the measure 'ndcg@10'; there are mrr"),
        ({"system": "rum"}, r"no entry has the system 'rum'; did you mean run\?"),
        ({"since": "May"}, r"since 'May': expected a date or time, such as 2026-05-01"),
        ({"since": "2030-01-01"}, r"no entry of that time has a mean of mrr"),
        ({"false_alarms": 0.5}, r"from 0.01 to 0.2, not 0.5"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    store: Any = Means(noisy(0.7))
    with pytest.raises(InputError, match=message):
        trend(store, **options)
