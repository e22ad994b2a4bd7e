"""Benches of rerankers whose configuration names load: in virtual time, and for once in real time."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.bench.arrivals import Schedule
from steelyard.bench.bench import Bench
from steelyard.bench.blocks import block_names
from steelyard.bench.config import BenchConfig
from steelyard.bench.load import levels
from steelyard.bench.run.loads import BenchInterrupted
from steelyard.bench.run.rerankers import bench_rerankers
from tests.bench.queueing import Queue
from tests.bench.run.test_rerankers import bench_config

LOAD = {"rates": [20, 80], "concurrency": [1, 2, 4], "duration": 60, "warm_up": 0, "slo": {"p95": 0.2}}


class Offers:
    """A queue of 100 requests a second in virtual time in place of each system; remembers what was put on it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, queue: Queue) -> None:
        self.rates, self.users = list[float](), list[int]()
        self._queue = queue
        monkeypatch.setattr(levels, "offer", self._offer)
        monkeypatch.setattr(levels, "occupy", self._occupy)

    def _offer(self, target: object, schedule: Schedule) -> pl.DataFrame:
        self.rates.append(schedule.rate)
        duration_s = len(schedule.times) / schedule.rate
        return self._queue.offer(schedule.rate, duration_s, np.random.default_rng(len(self.rates)))

    def _occupy(self, target: object, *, users: int, duration_s: float, **options: Any) -> pl.DataFrame:
        self.users.append(users)
        return self._queue.occupy(users, duration_s, np.random.default_rng(users))


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Offers:
    return Offers(monkeypatch, Queue(0.01, service="constant"))


def config_of(folder: Path, **load: Any) -> BenchConfig:
    systems = {"none": {}, "words": {"rerank": "lexical"}}
    return bench_config(folder, systems=systems, repetitions=1, load=LOAD | load)


def test_load_joins_what_was_measured_one_after_the_other(tmp_path: Path, queue: Offers) -> None:
    stages: dict[str, int] = {}
    totals: dict[str, int] = {}

    def progress(stage: str, done: int, total: int) -> None:
        stages[stage], totals[stage] = done, total

    bench = bench_rerankers(config_of(tmp_path), progress=progress)
    assert bench.folder.kind == "rerank"
    assert set(bench.requests["loop"]) == {"sequential", "open", "closed"}
    assert bench.requests.filter(pl.col("loop") != "sequential").select("system", "depth").unique().rows() == [
        ("words", 6)
    ]
    assert bench.scores.systems == ["none", "words@3", "words@6"]
    (row,) = bench.sustained.to_dicts()
    assert (row["system"], row["depth"]) == ("words", 6)
    assert 80 <= row["rate"] < row["failing_rate"] <= 1.1 * row["rate"]
    assert row["failing_rate"] <= 115
    seconds = stages.pop("seconds")
    assert seconds == totals["seconds"]  # What the search did not take is no longer expected.
    assert stages == {"requests": 12, "levels": len(queue.rates) + len(queue.users)}
    assert queue.rates[:2] == [20, 80]
    assert queue.users == [1, 2, 4]
    (law,) = bench.scalability.to_dicts()
    assert law["gamma"] == pytest.approx(100, rel=0.1)
    assert len(bench.throughput) == len(set(queue.rates)) + 3  # A rate may be offered in parts.


def test_another_objective_asks_only_for_what_is_not_known(tmp_path: Path, queue: Offers) -> None:
    bench = bench_rerankers(config_of(tmp_path))
    n = len(queue.rates)
    again = bench_rerankers(config_of(tmp_path))
    assert (len(queue.rates), len(queue.users)) == (n, 3)
    assert again.sustained.equals(bench.sustained)
    without = bench_rerankers(config_of(tmp_path, sustained=False))
    assert len(queue.rates) == n
    assert without.sustained["failing_rate"].to_list() == [None]
    assert bench_rerankers(config_of(tmp_path)).sustained.equals(bench.sustained)
    assert len(queue.rates) == n
    bench_rerankers(config_of(tmp_path, rates=[20, 40]))
    assert queue.rates[n] == 40


def test_a_search_that_was_interrupted_goes_on(tmp_path: Path, queue: Offers) -> None:
    def stop_at(n: int) -> Callable[[str, int, int], None]:
        def stop(stage: str, done: int, total: int) -> None:
            if stage == "levels" and done == n:
                raise KeyboardInterrupt

        return stop

    for n in (2, 6):
        with pytest.raises(BenchInterrupted) as interrupted:
            bench_rerankers(config_of(tmp_path), progress=stop_at(n))
        assert interrupted.value.n_done == n
    bench = bench_rerankers(config_of(tmp_path))
    assert len(queue.users) == 3
    in_parts, queue.rates = queue.rates, []
    bench_rerankers(config_of(tmp_path / "whole"))
    assert queue.rates == in_parts  # Nothing was offered again.
    assert bench.sustained["rate"][0] >= 80


def test_a_block_of_the_search_that_is_gone_is_measured_again(tmp_path: Path, queue: Offers) -> None:
    bench = bench_rerankers(config_of(tmp_path))
    n = len(queue.rates)
    (gone,) = [name for name in block_names(bench.folder.path) if name.endswith(f"-{queue.rates[-1]:g}")]
    (bench.folder.path / "blocks" / f"{gone}.parquet").unlink()
    again = bench_rerankers(config_of(tmp_path))
    assert set(queue.rates[n:]) == {queue.rates[n - 1]}
    assert len(again.throughput) == len(bench.throughput)


def test_a_system_that_is_too_slow_alone_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offers = Offers(monkeypatch, Queue(0.3, service="constant"))
    bench = bench_rerankers(config_of(tmp_path, rates=[1]))
    assert offers.rates == [1]
    assert bench.sustained.select("rate", "failing_rate", "reason").row(0) == (None, 1.0, "latency")


def test_users_alone_start_the_search(tmp_path: Path, queue: Offers) -> None:
    bench = bench_rerankers(config_of(tmp_path, rates=[]))
    assert queue.rates[0] == pytest.approx(0.9 * (100 - np.log(20) / 0.2), rel=0.05)  # See `likely_rate`.
    assert 80 <= bench.sustained["rate"][0] <= 105


def test_an_objective_without_load_puts_none_on(tmp_path: Path, queue: Offers) -> None:
    bench = bench_rerankers(config_of(tmp_path, rates=[], concurrency=[]))
    assert (queue.rates, queue.users, len(bench.throughput)) == ([], [], 0)


def test_the_manifest_names_every_block(tmp_path: Path, queue: Offers) -> None:
    bench = bench_rerankers(config_of(tmp_path))
    manifest = json.loads((bench.folder.path / "manifest.json").read_text())
    assert sorted(manifest["blocks"]) == block_names(bench.folder.path)


@pytest.mark.parametrize(("load", "message"), [
    ({"rates": [1e9]}, "more than 10,000,000; lower rate or duration"), ({"rates": [0.01]}, "are less than one"),
    ({"concurrency": [100_000]}, "100,000 users are more than 2,000"), ({"depth": 9}, "expected one of depths: 3, 6"),
    ({"slo": {}}, "an objective has no limit"), ({"slo": {"95": 1}}, "no percentile"), ({"rates": [-1]}, "load.rates"),
    ({"slo": {"p95": "fast"}}, "load.slo.p95"), ({"duration": 0}, "load.duration"), ({"max_error": 2}, "max_error"),
])  # fmt: skip
def test_impossible_load_is_refused_before_anything_is_measured(
    tmp_path: Path, queue: Offers, load: dict[str, Any], message: str
) -> None:
    with pytest.raises(sy.InputError, match=message):
        bench_rerankers(config_of(tmp_path, **load), progress=lambda *counts: pytest.fail("measured"))
    assert queue.rates == queue.users == []


@pytest.mark.slow
def test_in_real_time(tmp_path: Path) -> None:
    """A reranker of ten milliseconds, one instance: at most 100 requests a second."""
    systems = {"none": {}, "slow": {"rerank": "tests.bench.run.test_load_tests:Slow"}}
    load = {"rates": [20], "concurrency": [1, 2, 4], "duration": 1, "warm_up": 0.2, "slo": {"p80": 0.2}}
    config = bench_config(tmp_path, systems=systems, repetitions=1, load=load)
    bench = bench_rerankers(config)
    (row,) = bench.sustained.to_dicts()
    assert 20 <= row["rate"] <= 105
    closed = bench.throughput.filter(loop="closed")
    assert closed["little_gap"].abs().max() < 0.1
    assert Bench.read(config.folder).sustained.equals(bench.sustained)


_KILLED = """
[load]
rates = [50, 100]
concurrency = [1, 2]
duration = 0.3
warm_up = 0
slo = { p50 = "4ms" }
"""


@pytest.mark.slow
def test_killed_again_and_again_it_puts_no_load_on_twice(tmp_path: Path) -> None:
    """SIGKILL at any moment costs the level under way at most, one of the search too."""
    config = config_of(tmp_path)
    keys = ("name", "truth", "candidates", "documents", "depths", "repetitions", "warm_up")
    text = "".join(f"{key} = {json.dumps(config.values[key])}\n" for key in keys)
    (tmp_path / "bench.toml").write_text(text + 'systems.words.rerank = "lexical"\n' + _KILLED)
    code = "import sys, steelyard.bench.run.rerankers as r; r.bench_rerankers(sys.argv[1])"
    written = dict[str, int]()
    for kill_after_s in [0.8 + 0.2 * n for n in range(12)] + [300.0]:
        process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "bench.toml")], env=os.environ.copy())
        with suppress(subprocess.TimeoutExpired):
            process.wait(kill_after_s)
        process.kill()
        process.wait()
        for path in (config.folder / "blocks").glob("*.parquet"):
            assert written.setdefault(path.name, path.stat().st_mtime_ns) == path.stat().st_mtime_ns, path.name
    bench = Bench.read(config.folder)
    assert len(bench.throughput) > 4
    assert len(bench.sustained) == 1
