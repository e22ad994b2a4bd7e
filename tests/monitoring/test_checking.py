"""Simulated quiet traffic: whether a monitor keeps its budget, and what is said of it."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from steelyard.base.errors import InputError
from steelyard.monitoring.budget import Budget, windows_per_month
from steelyard.monitoring.checking import check
from steelyard.monitoring.detection import Watched
from steelyard.traffic.series import POINTS, Series
from steelyard.traffic.windows import Windows

DAY, BEGIN = timedelta(days=1), datetime(2026, 1, 5, tzinfo=UTC)
PER_MONTH = 1.0


def points_of(values):
    """(t, s) values of days as points of series "0", "1", …"""
    starts = [BEGIN + i * DAY for i in range(len(values))]
    frames = [
        pl.DataFrame(
            {
                "series": str(i), "segment": "", "start": starts, "end": [start + DAY for start in starts],
                "value": column, "error": None, "p": None, "n": 100,
            },
            schema=POINTS,
        )
        for i, column in enumerate(values.T)
    ]  # fmt: skip
    return pl.concat(frames)


def watched(n):
    budget = Budget.shared(PER_MONTH, n, windows_per_month(DAY))
    return [Watched(Series(str(i), "feedback", floor=1.0 if i == 1 else 0.0), "", budget) for i in range(n)]


def test_quiet_series_keep_the_budget_and_losses_are_found():
    values = np.random.default_rng(2).normal(size=(250, 8))
    result = check(points_of(values), watched(8), windows=Windows.parse("1d"), per_month=PER_MONTH)
    assert result.per_month == pytest.approx(PER_MONTH, rel=0.5)
    assert result.error < 0.2 * PER_MONTH
    assert sum(row.per_month for row in result.rows) == pytest.approx(result.per_month)
    rows = {row.series: row for row in result.rows}
    assert rows["0"].to_floor is None
    assert rows["1"].to_floor < rows["1"].to_sd < 20
    assert rows["1"].sd == pytest.approx(1, abs=0.15)
    assert "The budget is kept" in result.text()
    assert "预算" in result.text(lang="zh", explain=True)
    assert result.data()["series"] == result.frame.to_dicts()


def test_series_without_a_chart_are_counted_and_without_any_it_is_refused():
    values = np.random.default_rng(2).normal(size=(60, 2))
    values[10:, 1] = math.nan
    points = points_of(values).with_columns(pl.col("value").fill_nan(None))
    result = check(points, watched(2), windows=Windows.parse("1d"), per_month=PER_MONTH)
    assert (result.n_few, len(result.rows)) == (1, 1)
    with pytest.raises(InputError, match="no series has a chart yet"):
        check(points.head(12), watched(2), windows=Windows.parse("1d"), per_month=PER_MONTH)
