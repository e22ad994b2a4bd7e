"""Logs of requests that are sent again as they came."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from steelyard.base.errors import InputError
from steelyard.bench.arrivals import ArrivalLog


def rng() -> np.random.Generator:
    return np.random.default_rng(25)


def log_of(folder: Path, text: str, name: str = "log.jsonl") -> ArrivalLog:
    path = folder / name
    path.write_text(text)
    return ArrivalLog.read(path)


def lines(*rows: dict[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


BURST = [100.0, 100.25, 100.25, 100.25, 104.0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.jsonl", lines(*({"time": at, "query": f"what is {i}?"} for i, at in enumerate(BURST)))),
        ("log.csv", "query,time\n" + "".join(f"what is {i}?,{at}\n" for i, at in enumerate(BURST))),
        ("log.tsv", "Timestamp\tquestion\n" + "".join(f"{at}\twhat is {i}?\n" for i, at in enumerate(BURST))),
        (
            "log.jsonl",
            lines(*({"ts": f"2026-03-01T09:00:{at - 70:06.3f}Z", "q": 1, "query": f"what is {i}?"}
                    for i, at in enumerate(BURST))),
        ),
    ],
)  # fmt: skip
def test_requests_come_as_they_were_logged_with_their_bursts(tmp_path: Path, name: str, text: str) -> None:
    log = log_of(tmp_path, text, name)
    assert log.times.tolist() == [0.0, 0.25, 0.25, 0.25, 4.0]
    assert log.rate(1) == 5 / 4
    assert log.questions() == {f"{i:06d}": f"what is {i}?" for i in range(5)}
    assert log.schedule(2, rng()).times.tolist() == [0.0, 0.125, 0.125, 0.125, 2.0]
    assert log.schedule(2, rng()).rate == 2.5


def test_lines_may_be_in_any_order_and_keep_their_questions(tmp_path: Path) -> None:
    log = log_of(tmp_path, lines({"time": 7.5, "query": "last"}, {"time": 0.25, "query": "first"}))
    assert log.times.tolist() == [0.0, 7.25]
    assert list((log.questions() or {}).values()) == ["first", "last"]


def test_a_warm_up_comes_before_and_a_duration_cuts(tmp_path: Path) -> None:
    log = log_of(tmp_path, lines(*({"time": n / 10} for n in range(101))))
    schedule = log.schedule(1, rng(), duration_s=2, warm_up_s=3)
    before = schedule.times[schedule.times < 0]
    assert schedule.times[schedule.times >= 0].tolist() == [n / 10 for n in range(21)]
    assert -3 <= before[0] < before[-1]
    assert len(before) == pytest.approx(30, abs=16)
    assert log.questions() is None


def test_whole_seconds_are_no_bursts(tmp_path: Path) -> None:
    log = log_of(tmp_path, lines(*({"time": 1_700_000_000 + n // 20} for n in range(200))))
    times = log.schedule(1, rng()).times
    assert log.is_whole
    assert (log.rate(1), log.rate(1 / 3)) == (20, 6.67)
    assert np.floor(times).tolist() == [n // 20 for n in range(200)]
    assert np.diff(times).max() < 0.5
    assert (times == log.schedule(1, rng()).times).all()


def test_a_local_clock_and_one_with_a_zone_say_the_same(tmp_path: Path) -> None:
    rows = [f"2026-10-25T0{hour}:30:00.5" for hour in (1, 2, 3)]
    local = log_of(tmp_path, lines(*({"time": row} for row in rows)))
    zoned = log_of(tmp_path, lines(*({"time": row + "+08:00"} for row in rows)))
    assert local.times.tolist() == zoned.times.tolist() == [0, 3600, 7200]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds 0 requests"),
        (lines({"time": 1}), "holds 1 request"),
        (lines({"when": 1}, {"when": 2}), r"no column of times \(columns: when\); rename .* 'time'"),
        (lines({"time": 1}, {"time": "soon"}), "line 2: 'soon' is no time"),
        (lines({"time": 1}, {"query": "a"}), "line 2: None is no time"),
        (lines({"time": 1}, {"time": True}), "line 2: True is no time"),
        (lines({"time": 1}, {"time": 1e400}), "line 2: inf is no time"),
        (lines({"time": 1}, {"time": "2026-03-01T09:00:00"}), "line 2: has a time without time zone, .* have seconds"),
        (lines({"time": 1_700_000_000_000}, {"time": 1_700_000_000_001}), "milliseconds"),
        (lines({"time": 3.5}, {"time": 3.5}), "at the same time"),
    ],
)
def test_logs_that_say_no_times_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        log_of(tmp_path, text)


def test_a_log_of_weeks_needs_a_speed_or_a_duration(tmp_path: Path) -> None:
    log = log_of(tmp_path, lines({"time": 0.0}, {"time": 1e6}))
    with pytest.raises(InputError, match=r"takes 278 hours at 1 times its speed; .*--speed"):
        log.seconds(1, None)
    assert log.seconds(1000, None) == 1000
    assert log.seconds(1, 60) == 60
