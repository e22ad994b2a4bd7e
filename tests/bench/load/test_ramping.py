"""A rate that rises, from the schedule to the sentence that says where it was too high."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from steelyard.base.errors import InputError
from steelyard.bench.bench import Bench
from steelyard.bench.blocks import block_names
from steelyard.bench.config import LoadTable
from steelyard.bench.frames import REQUESTS
from steelyard.bench.load.throughput import middle_rate, ramp, ramp_ends
from steelyard.bench.run.load_tests import load_test
from steelyard.reports.benching import BenchReport
from steelyard.reports.views.bench_tables import load_text
from steelyard.reports.words import read_words
from tests.bench.load.sleepy import SleepySettings, sleepy_server

LOAD = LoadTable(ramp=[10, 110], duration=50, slo={"p95": 0.5})


def risen(ms_of_stretch: list[float], *, n: int = 40) -> pl.DataFrame:
    """So many requests in each of ten stretches of five seconds, which take so long."""
    at = np.arange(10 * n) * 5 / n
    same = {"system": "m", "loop": "ramp", "repetition": 1, "outcome": "ok"}
    took = np.repeat(ms_of_stretch, n) / 1000
    frame = pl.DataFrame({"intended_s": at, "sent_s": at, "end_s": at + took, "number": range(10 * n)})
    columns = frame.with_columns(**{name: pl.lit(value) for name, value in same.items()})
    named = columns.with_columns(rate=middle_rate(50, 10, 110))
    return named.match_to_schema(REQUESTS, missing_columns="insert", integer_cast="upcast")


def test_stretches_are_named_by_their_rates() -> None:
    stretches = ramp(risen([100.0] * 10), LOAD)
    assert stretches["rate"].to_list() == [15.0 + 10 * i for i in range(10)]
    assert stretches.select("low_rate", "high_rate").row(3) == (40, 50)
    assert stretches["n"].to_list() == [40] * 10
    assert set(stretches["verdict"]) == {"held"}


@pytest.mark.parametrize(
    ("ms", "ends"),
    [
        ([100.0] * 10, (110, None, None)),
        ([100.0] * 6 + [600.0] * 4, (70, 70, 80)),
        ([100.0] * 6 + [600.0, 400, 600, 600], (70, 70, 80)),
        ([600.0] * 10, (None, 10, 20)),
    ],
)
def test_the_first_stretch_that_misses_the_objective_is_said(ms: list[float], ends: tuple[Any, ...]) -> None:
    row = ramp_ends(ramp(risen(ms), LOAD), LOAD).row(0, named=True)
    assert (row["first"], row["last"]) == (10, 110)
    assert (row["held"], row["missed_low"], row["missed_high"]) == ends


def test_errors_miss_the_objective_and_few_requests_say_nothing() -> None:
    requests = risen([100.0] * 10)
    failed = requests.with_columns(outcome=pl.when(pl.col("rate") == 35).then(pl.lit("error")).otherwise("outcome"))
    assert ramp(failed, LOAD).filter(verdict="missed")["rate"].to_list() == [35]
    assert set(ramp(risen([100.0] * 10, n=19), LOAD)["verdict"]) == {"few"}
    only_late = risen([100.0] * 10, n=19).filter(pl.col("rate") > 60)
    assert ramp_ends(ramp(only_late, LOAD), LOAD).row(0)[2:] == (10, 110, None, None, None)


def test_a_server_is_offered_a_ramp(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "rate": "20..220", "duration": 0.5, "warm_up": 0, "arrivals": "constant", "slo": "p50=2s",
        "folder": tmp_path / "bench",
    }  # fmt: skip
    with sleepy_server(SleepySettings(service_s=0.001)) as server:
        bench = load_test(f"{server.url}ask", **options)
        n_asked = server.n_requests
        assert load_test(f"{server.url}ask", **options).requests.equals(bench.requests)
        assert server.n_requests == n_asked
    assert block_names(bench.folder.path) == ["ramp-ask-20-220"]
    assert bench.requests.height == 60
    assert bench.ramp["n"].sum() == 60
    assert bench.throughput.is_empty()
    assert bench.sustained.is_empty()
    assert len(json.loads(bench.text("json"))["ramp"]) == 10
    assert shown(bench, "en").startswith(
        "ask holds P50 ≤ 2,000 ms up to 220 requests a second, as the rate rose from 20"
    )
    assert "在每秒 220 个请求以内满足 P50" in shown(bench, "zh")


def shown(bench: Bench, lang: str) -> str:
    words = read_words(lang)
    assert words("bench.ramp.note") in BenchReport(bench).text(lang=words.code)
    assert [load_text(row, read_words("en")) for row in bench.latency.head(2).to_dicts()] == [
        "about 30/s",
        "about 50/s",
    ]
    return bench.text(lang=words.code)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": "50..1"}, "does not rise"),
        ({"rate": "1..x"}, "no ramp"),
        ({"rate": "1..2..3"}, "no ramp"),
        ({"rate": "0..3"}, "above 0"),
        ({"rate": "1..1e9", "duration": 60}, "10,000,000"),
    ],
)
def test_ramps_that_cannot_be_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_test("http://127.0.0.1:9/", folder=tmp_path / "bench", **options)
