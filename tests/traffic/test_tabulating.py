"""Measures of windows and segments, against plain loops."""

import math
import random

import numpy as np
import polars as pl
import pytest
from benchmarks.simulated.traffic import series_table
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.traffic.requests import requests
from steelyard.traffic.tabulating import LEAST_UNITS, per_user, series, tabulate
from steelyard.traffic.windows import Windows, time_of
from tests.hypothesis_profiles import examples
from tests.traffic.made_logs import START, chance_rows, logs_of

HOURLY = Windows.parse("1h")
MEASURES = [
    "ctr",
    "clicks@2",
    "thumbs_up",
    "cost_usd",
    "latency_ms:p50",
    "error_rate",
    "language=zh",
    "requests",
    "users",
]
SERVED = "is_served"


def parts_of(name, row):
    """Numerator and denominator of a request; None for one that is in neither."""
    served = row[SERVED]
    return {
        "ctr": (served and row["n_clicks"] > 0, served),
        "clicks@2": (row["clicks@2"] if served else 0, served),
        "thumbs_up": (served and row["thumbs"] > 0, row["thumbs"] != 0),
        "cost_usd": (row["cost_usd"], True),
        "error_rate": (not served, True),
        "language=zh": (row["language"] == "zh", row["language"] is not None),
    }[name]


def naive(name, rows):
    """Value, error and number of units by loops."""
    units = {}
    if name == "latency_ms:p50":
        values = sorted(row["latency_ms"] for row in rows if row[SERVED])
        n = len({row["unit"] for row in rows if row[SERVED]})
        return (float(np.quantile(values, 0.5)) if n >= LEAST_UNITS else None), n
    if name in ("requests", "users"):
        n = len({row["unit"] for row in rows})
        return (float(len(rows) if name == "requests" else n) if rows else None), n
    for row in rows:
        numerator, denominator = parts_of(name, row)
        y, x = units.get(row["unit"], (0.0, 0.0))
        units[row["unit"]] = y + float(numerator), x + float(denominator)
    used = [(y, x) for y, x in units.values() if x > 0]
    if len(used) < LEAST_UNITS:
        return None, len(used)
    return sum(y for y, _ in used) / sum(x for _, x in used), len(used)


@given(seed=st.integers(0, 10_000))
@examples(20)
def test_points_are_those_of_loops_over_windows_segments_and_users(seed):
    logs = logs_of(**chance_rows(seed))
    points = tabulate(logs, HOURLY, MEASURES, ["language"])
    rows = requests(logs).join(requests(logs, ["request", "clicks@2"]), on="request").collect().to_dicts()
    windows = sorted({(row["start"], row["end"]) for row in points.to_dicts()})
    for point in points.to_dicts():
        name, _, value = point["segment"].partition("=")
        inside = [
            row for row in rows
            if point["start"] <= row["time"] < point["end"] and (not name or row["language"] == value)
        ]  # fmt: skip
        want, n = naive(point["series"], inside)
        assert point["n"] == n, point
        assert point["value"] == (want if want is None else pytest.approx(want, rel=1e-4)), point
    assert len(points) == len(MEASURES) * len(windows) * 3


def test_the_error_is_that_of_the_delta_method():
    rng = np.random.default_rng(1)
    counts, clicks = rng.integers(1, 6, 40), rng.random(40)
    rows = [{"request": f"{u}-{i}", "user": f"u{u}"} for u in range(40) for i in range(counts[u])]
    events = [
        {"request": row["request"], "kind": "click"} for row in rows if rng.random() < clicks[int(row["user"][1:])]
    ]
    (point,) = tabulate(logs_of(rows, events), HOURLY, ["ctr"]).to_dicts()
    y = np.array([sum(event["request"].startswith(f"{u}-") for event in events) for u in range(40)])
    covariance, x_mean, y_mean = np.cov(y, counts), counts.mean(), y.mean()
    variance = (
        covariance[0, 0] / x_mean**2 + y_mean**2 * covariance[1, 1] / x_mean**4
        - 2 * y_mean * covariance[0, 1] / x_mean**3
    ) / 40  # fmt: skip
    assert point["value"] == y.sum() / counts.sum()
    assert point["error"] == pytest.approx(math.sqrt(variance), rel=1e-4)


@given(seed=st.integers(0, 10_000))
@examples(10)
def test_a_window_is_the_same_in_any_order_and_whatever_else_is_read(seed):
    rows = chance_rows(seed, n=150)
    points = tabulate(logs_of(**rows), HOURLY, segments=["arm"])
    shuffled = {name: random.Random(seed).sample(part, len(part)) for name, part in rows.items()}
    assert tabulate(logs_of(**shuffled), HOURLY, segments=["arm"]).equals(points)
    second = time_of(START).replace(hour=15, minute=0, second=0, microsecond=0)
    third = second.replace(hour=17)
    some = tabulate(logs_of(**rows), HOURLY, segments=["arm"], after=second, until=third)
    assert some.equals(points.filter(pl.col("start") >= second, pl.col("end") <= third))


def test_windows_without_requests_between_others_are_there_and_have_no_value():
    rows = [{"request": f"{hour}-{i}", "time": 3600 * hour} for hour in (0, 3) for i in range(20)]
    points = tabulate(logs_of(rows), HOURLY, ["error_rate", "requests"])
    assert points["n"].to_list() == [20, 0, 0, 20] * 2
    assert points["value"].to_list() == [0.0, None, None, 0.0, 20.0, None, None, 20.0]
    nothing = tabulate(logs_of([]), HOURLY, ["ctr"], after=time_of(START), until=time_of(START + 7_200_000_000))
    assert nothing["n"].to_list() == [0, 0]
    assert tabulate(logs_of([]), HOURLY).is_empty()


def test_windows_of_a_count_hold_so_many_requests():
    rows = [{"request": f"{i}", "time": i} for i in range(50)]
    points = tabulate(logs_of(rows), Windows(20), ["requests"])
    assert points["value"].to_list() == [20.0, 20.0, 10.0]
    whole = tabulate(logs_of(rows), Windows(20), ["requests"], until=time_of(START + 100_000_000))
    assert whole["value"].to_list() == [20.0, 20.0]


def test_scores_of_evaluators_are_measures_where_there_are_some():
    rows = [{"request": f"{i}"} for i in range(20)]
    events = [{"request": f"{i}", "kind": "score:tone", "value": i / 4} for i in range(12)]
    points = tabulate(logs_of(rows, events), HOURLY)
    assert points.filter(series="score:tone").select("value", "n").row(0) == (11 / 8, 12)
    assert "score:tone" not in tabulate(logs_of(rows), HOURLY)["series"]


def test_few_values_have_no_percentile_in_their_tail():
    rows = [{"request": f"{i}", "latency_ms": float(i)} for i in range(100)]
    points = tabulate(logs_of(rows), HOURLY, ["latency_ms:p50", "latency_ms:p95", "latency_ms:p99"])
    assert points["value"].to_list() == [49.5, pytest.approx(94.05), None]
    assert points["error"][0] == pytest.approx(math.sqrt(0.25 / 100) * 99, rel=0.02)


@pytest.mark.parametrize(
    ("measures", "segments", "message"),
    [
        (["ctrr"], [], "ctr"),
        (["clicks"], [], "clicks@k"),
        (["ctr@5"], [], "expected ctr"),
        (["ctr:p95"], [], "no percentile"),
        (["query"], [], "without numbers"),
        (["a b"], [], "expected a name"),
        (["ctr"], ["latency_ms"], "no column of texts"),
        (["ctr"], ["place"], "no column of texts"),
        (["judged@5"], [], "labels"),
    ],
)
def test_measures_and_segments_that_are_none_are_refused(measures, segments, message):
    with pytest.raises(InputError, match=message):
        tabulate(logs_of([{"request": "a"}]), HOURLY, measures, segments)


def test_sums_of_users_add_up_to_the_value_and_series_say_what_points_are():
    rows = chance_rows(3)
    logs = logs_of(**rows)
    for measure in ("ctr", "cost_usd", "clicks@2"):
        sums = per_user(logs, measure)
        value = sums["numerator"].sum() / sums["denominator"].sum()
        (point,) = tabulate(logs, Windows.parse("1d"), [measure]).to_dicts()
        assert value == point["value"]
        assert sums.select("arm", "unit").is_unique().all()
    assert [item.name for item in series(logs)] == tabulate(logs, HOURLY)["series"].unique(
        maintain_order=True
    ).to_list()
    with pytest.raises(InputError, match="no sums per user"):
        per_user(logs, "latency_ms:p95")


@pytest.mark.slow
def test_intervals_hold_the_truth_with_users_as_units_and_not_with_requests():
    names, *shares = zip(*series_table(500, seed=3).rows, strict=True)
    held = np.array([[float(cell.rstrip("%")) for cell in column] for column in shares])
    wanted = np.array([int(name.replace(",", "")) >= 100 for name in names])
    assert ((held[:-1, wanted] >= 91.5) & (held[:-1, wanted] <= 97)).all(), held
    assert (held[-1] < 90).all()
