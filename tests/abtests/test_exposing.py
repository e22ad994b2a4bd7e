"""Exposed units and their sums, against loops over requests."""

import re
from collections import defaultdict
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.abtests.config import ExperimentConfig
from steelyard.abtests.exposing import day_edges, experiment_columns, exposures
from steelyard.base.errors import InputError
from steelyard.traffic.requests import requests
from steelyard.traffic.windows import time_of
from tests.hypothesis_profiles import examples
from tests.traffic.made_logs import chance_rows, logs_of

BASE = {
    "start": "2026-09-25", "days": 7, "primary": "ctr", "secondary": ["cost_usd", "requests"], "difference": "5%",
    "arms": {"a": 0.5, "b": 0.5}, "segments": "language", "guardrail": [{"metric": "latency_ms:p95", "margin": "5%"}],
}  # fmt: skip


def config_of(**changes):
    return ExperimentConfig.of({**BASE, **changes})


def rows_of(seed, n=500):
    """Rows of twelve days in which users have one arm from the start on, but for a few requests."""
    rows, rng = chance_rows(seed, n=n, n_users=60, hours=12 * 24), np.random.default_rng(seed)
    for row in rows["impressions"]:
        user = int((row["user"] or "u0")[1:])
        row["arm"] = rng.choice([["a", "b"][user % 2], None, "a", "c"], p=[0.9, 0.08, 0.01, 0.01])
        row["differs"] = str(rng.choice(["true", "false"]))
    return rows


def loops(logs, config):
    """Units as (unit, arm, time, day, language), sums by metric, unit and day, those before, and counts, by loops."""
    local = [time_of(int(edge)) for edge in day_edges(config)]
    rows = sorted(requests(logs).collect().to_dicts(), key=lambda row: row["time"])
    inside = [row for row in rows if local[0] <= row["time"] < local[-1]]
    arms = defaultdict(set)
    for row in inside:
        if row[config.unit] is not None and row["arm"] is not None:
            arms[row[config.unit]].add(row["arm"])
    units, sums, before, latencies, n = {}, defaultdict(float), defaultdict(float), [], 0
    for row in inside:
        unit, on = row[config.unit], config.trigger is None or row["differs"] == "true"
        if len(arms.get(unit, ())) != 1 or not arms[unit] <= {"a", "b"}:
            continue
        day = sum(row["time"] >= edge for edge in local) - 1
        if unit not in units and on and row["arm"] is not None:
            units[unit] = (unit, list(config.arms).index(row["arm"]), row["time"], day, row["language"])
        if unit in units and on:
            n += 1
            sums["ctr", unit, day] += row["is_served"] and row["n_clicks"] > 0
            sums["cost_usd", unit, day] += row["cost_usd"]
            sums["requests", unit, day] += 1
            latencies += [(unit, day, row["latency_ms"])] if row["is_served"] else []
    for row in rows:
        if local[0] - config.before <= row["time"] < local[0] and row[config.unit] in units:
            before["ctr", row[config.unit]] += row["is_served"] and row["n_clicks"] > 0
            before["cost_usd", row[config.unit]] += row["cost_usd"]
            before["requests", row[config.unit]] += 1
    return units, sums, before, latencies, n, sum(len(names) > 1 for names in arms.values())


@given(seed=st.integers(0, 10_000), zone=st.sampled_from(["UTC", "Asia/Shanghai"]), trigger=st.booleans())
@examples(30)
def test_units_and_sums_are_those_of_loops(seed, zone, trigger):
    logs = logs_of(**rows_of(seed))
    config = config_of(timezone=zone, before="3d", trigger="differs" if trigger else None)
    exposed = exposures(logs, config)
    units, sums, before, latencies, n, n_mixed = loops(logs, config)
    assert exposed.units.rows() == list(units.values())
    assert (exposed.n_days, exposed.n_requests, exposed.excluded.get("mixed", 0)) == (7, n, n_mixed)
    names = list(units)
    for metric in ("ctr", "cost_usd", "requests"):
        own = exposed.metrics[metric]
        got = {(metric, names[u], d): y for u, d, y in zip(own.unit, own.day, own.numerator, strict=True) if y}
        assert got == pytest.approx({key: y for key, y in sums.items() if key[0] == metric and y}, rel=1e-4)
        assert list(zip(own.day, own.unit, strict=True)) == sorted(set(zip(own.day, own.unit, strict=True)))
        earlier = {(metric, name): y for name, y in zip(names, own.before_numerator, strict=True) if y}
        assert earlier == pytest.approx({key: y for key, y in before.items() if key[0] == metric and y}, rel=1e-4)
    own = exposed.metrics["latency_ms:p95"]
    got = [(names[u], d, y) for u, d, y in zip(own.unit, own.day, own.value, strict=True)]
    assert sorted(got) == sorted(latencies)
    assert (np.diff(own.value) >= 0).all()


def test_requests_are_per_unit_and_day_since_its_exposure():
    rows = [{"request": f"r{i}", "user": f"u{i % 2}", "arm": "ab"[i % 2], "time": 86400 * (i + 1)} for i in range(6)]
    own = exposures(logs_of(rows), config_of(start="2026-09-22", days=5, primary="requests", secondary=[])).metrics[
        "requests"
    ]
    assert (own.day.tolist(), own.unit.tolist()) == ([0, 1, 1, 2, 2, 3, 3, 4, 4], [0, 0, 1, 0, 1, 0, 1, 0, 1])
    assert own.numerator.tolist() == [1, 0, 1, 1, 0, 0, 1, 1, 0]
    assert own.denominator.tolist() == [1] * 9


def test_days_that_the_log_does_not_hold_whole_do_not_count():
    rows = rows_of(1)
    half = [row for row in rows["impressions"] if row["time"] < 6.9 * 86400]  # until noon of the fourth day
    exposed = exposures(logs_of(half), config_of())
    assert (exposed.n_days, exposed.end.isoformat()) == (3, "2026-09-28T00:00:00+00:00")
    assert exposed.excluded["partial_day"] > 0
    assert max(exposed.metrics["ctr"].day) == 2


def test_what_does_not_count_is_counted():
    logs = logs_of(**rows_of(2))
    excluded = exposures(logs, config_of()).excluded
    seen = logs.impressions.collect().filter(pl.col("arm").is_not_null())
    start, end = config_of().begins, config_of().ends
    inside = seen.filter(pl.col("time").is_between(start, end, closed="left"))
    people = inside.filter(~pl.col("is_bot"))
    assert excluded["bots"] == inside.height - people.height > 0
    assert excluded["unknown_unit"] == people["user"].null_count() > 0
    assert excluded["unknown_arm"] == people.filter(pl.col("arm") == "c").height > 0
    assert excluded["after_end"] == seen.filter(pl.col("time") >= end).height > 0


def test_events_of_requests_before_the_exposure_do_not_count():
    day = 86400
    rows = [
        {"request": f"r{i}", "user": f"u{i % 20}", "arm": None if i < 5 else "ab"[i % 2], "time": day + 10_000 * i}
        for i in range(60)
    ]
    events = [{"request": row["request"], "kind": "click", "time": row["time"] + 9} for row in rows]
    exposed = exposures(logs_of(rows, events), config_of(start="2026-09-22"))
    assert (exposed.excluded["before_exposure"], exposed.units.height) == (5, 20)
    assert exposed.metrics["ctr"].numerator.sum() == exposed.n_requests


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arm": "variant"}, "impressions have no column 'variant'"),
        ({"trigger": "differ"}, "impressions have no column 'differ'; did you mean differs?"),
        ({"arms": {"x": 0.5, "y": 0.5}}, "(its values: 'a', 'b', 'c')"),
        ({"start": "2026-11-01"}, "it has no request since then"),
        ({"start": "2026-10-03T12:00:00"}, "the log holds no whole day"),
        ({"primary": "users"}, "metric 'users' has no value per unit"),
        ({"primary": "crt"}, "ctr"),
    ],
)
def test_what_cannot_be_analysed_says_what_was_found(changes, message):
    with pytest.raises(InputError, match=re.escape(message)):
        exposures(logs_of(**rows_of(3)), config_of(**changes))


def test_sessions_and_requests_are_units_too_and_have_no_time_before():
    logs = logs_of(**rows_of(4))
    for unit in ("session", "request"):
        config = config_of(unit=unit)
        exposed = exposures(logs, config)
        assert exposed.units.rows() == list(loops(logs, config)[0].values())
        assert exposed.metrics["ctr"].before_numerator is None


def test_the_time_before_is_none_where_it_is_not_asked_for_or_not_in_the_log():
    logs = logs_of(**rows_of(4))
    for changes in ({"before": "0d"}, {"start": logs.impressions.select("time").min().collect().item()}):
        exposed = exposures(logs, config_of(**changes))
        assert exposed.metrics["ctr"].before_denominator is None


def test_days_follow_the_clocks_of_the_time_zone():
    edges = day_edges(config_of(start="2026-10-23", timezone="Europe/Berlin"))
    assert {timedelta(microseconds=int(gap)) for gap in np.diff(edges)} == {timedelta(hours=24), timedelta(hours=25)}


def test_columns_to_be_read_are_those_that_the_declaration_names():
    config = config_of(trigger="differs", strata=["country"], other_arms=["arm_layout"])
    assert experiment_columns(config) == ["arm", "differs", "language", "country", "arm_layout"]
