"""How long systems take, from requests written by hand."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from steelyard.bench.frames import LATENCY, REQUESTS, STAGES, TOKEN_FIT
from steelyard.bench.load.latency import latency, stages, token_fit
from steelyard.stats.intervals.percentiles import percentile_interval

DEFAULTS = {"system": "minilm", "depth": 50, "loop": "sequential", "repetition": 1, "outcome": "ok"}


def request(
    number: int, ms: float, *, sent: float | None = None, late_ms: float = 0.0, **columns: Any
) -> dict[str, Any]:
    sent = float(number) if sent is None else sent
    return DEFAULTS | {
        "number": number, "query_id": f"q{number}", "intended_s": sent - late_ms / 1000, "sent_s": sent,
        "end_s": sent + ms / 1000,
    } | columns  # fmt: skip


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=REQUESTS)


def repeated(n: int = 100) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    times = rng.lognormal(3, 0.5, n) * rng.lognormal(0, 0.1, (3, n))
    rows = [
        request(q, times[r, q], repetition=r + 1, n_pairs=50, tokens_in=1000 + 10 * q)
        for r in range(3)
        for q in range(n)
    ]
    return frame(rows), times


def test_repetitions_are_pooled_and_count_as_their_questions_do() -> None:
    requests, times = repeated()
    table = latency(requests)
    assert table.schema == LATENCY
    row = table.row(0, named=True)
    assert (row["system"], row["depth"], row["loop"], row["repetitions"], row["n"]) == (
        "minilm",
        50,
        "sequential",
        3,
        300,
    )
    assert row["p95"] == pytest.approx(np.quantile(times, 0.95))
    interval = percentile_interval(times.ravel(), 0.95, clusters=np.tile(np.arange(100), 3))
    assert (row["p95_low"], row["p95_high"]) == pytest.approx((interval.low, interval.high))
    assert interval.n_effective < 150
    assert row["p99_high"] == math.inf
    spread = [np.quantile(run, 0.95) for run in times]
    assert (row["p95_least"], row["p95_greatest"]) == pytest.approx((min(spread), max(spread)))
    assert row["service_p50"] == pytest.approx(row["p50"])
    assert row["ms_per_pair"] == pytest.approx(times.mean() / 50)
    assert row["tokens_per_s"] == pytest.approx(3 * sum(1000 + 10 * q for q in range(100)) / times.sum() * 1000)


def test_what_has_no_answer_is_slower_than_all_else() -> None:
    rows = [request(q, 10 + q, n_pairs=5) for q in range(100)]
    for q in range(4):
        rows[q] |= {"outcome": "timeout", "error": "no answer within 1 s", "end_s": q + 1.0}
    row = latency(frame(rows)).row(0, named=True)
    assert row["n_censored"] == 4
    assert row["p50"] == pytest.approx(10 + 3.5 + 50)
    assert row["p99"] == row["service_p99"] == math.inf
    assert row["ms_per_pair"] == pytest.approx(np.mean([10 + q for q in range(4, 100)]) / 5)
    failed = latency(frame([request(0, 10, outcome="error", error="refused")])).row(0, named=True)
    assert (failed["p50"], failed["ms_per_pair"], failed["tokens_per_s"]) == (math.inf, None, None)


def test_loops_and_loads_are_never_put_together() -> None:
    rows = [request(q, 10) for q in range(5)]
    rows += [request(q, 10, loop="open", rate=rate, sent=q / rate, late_ms=3) for rate in (1.0, 2.0) for q in range(20)]
    rows += [request(q, 30, loop="closed", users=4) for q in range(20)]
    table = latency(frame(rows))
    assert table.select("loop", "rate", "users", "n").rows() == [
        ("sequential", None, None, 5),
        ("open", 1.0, None, 20),
        ("open", 2.0, None, 20),
        ("closed", None, 4, 20),
    ]
    assert table.filter(rate=2.0).select("p50", "service_p50", "dispatch_p99").row(0) == pytest.approx((13, 10, 3))


def test_a_stall_makes_neighbours_alike_under_load() -> None:
    """A second of stall among 60 says less than 40 slow requests that are spread over all of them."""
    rng = np.random.default_rng(5)
    tables = []
    for slow in (np.arange(1200) // 20 == 7, rng.permutation(1200) < 40):
        rows = [request(q, 10 + 500 * slow[q] + rng.random(), sent=q / 20, loop="open", rate=20.0) for q in range(1200)]
        tables.append(latency(frame(rows)).row(0, named=True))
    stalled, spread = tables
    assert stalled["p99"] > 500
    assert spread["p99_low"] > 500
    assert stalled["p99_low"] < 20


def test_tokens_a_second_are_of_the_time_in_which_something_was_under_way() -> None:
    rows = [request(q, 1000, sent=[0.0, 0.5, 5.0][q], loop="closed", users=2, tokens_in=100) for q in range(3)]
    assert latency(frame(rows))["tokens_per_s"].item() == pytest.approx(300 / 2.5)


def test_stages_and_what_none_of_them_accounts_for() -> None:
    rows = [
        request(q, 100 + q, loop="open", rate=1.0, stages_ms=[
            {"stage": stage, "ms": ms} for stage, ms in (("search", 40.0), ("rerank", 50.0 + q), ("total", 99.0))
        ])
        for q in range(11)
    ]  # fmt: skip
    table = stages(frame([*rows, request(11, 5, outcome="error"), request(12, 5)]))
    assert table.schema == STAGES
    assert table.select("loop", "stage", "n", "p50", "p95").rows() == [
        ("open", "search", 11, 40.0, 40.0),
        ("open", "rerank", 11, 55.0, 59.5),
        ("open", "rest", 11, pytest.approx(10.0), pytest.approx(10.0)),
    ]
    assert stages(frame([request(0, 5)])).is_empty()


def test_the_line_by_tokens_is_recovered() -> None:
    rng = np.random.default_rng(7)
    rows = []
    for depth in (10, 50):
        for r in (1, 2):
            for q in range(60):
                tokens = int(depth * (80 + q))
                ms = 12 + 4.5 * tokens / 1000 + rng.normal(0, 0.3)
                rows.append(request(q, ms, depth=depth, repetition=r, tokens_in=tokens))
    rows += [request(q, 900, depth=50, loop="open", rate=1.0, tokens_in=10) for q in range(20)]
    table = token_fit(frame(rows))
    assert table.schema == TOKEN_FIT
    assert table.select("depth", "n").rows() == [(None, 240), (10, 120), (50, 120)]
    whole = table.row(0, named=True)
    assert whole["fixed_ms"] == pytest.approx(12, abs=0.2)
    assert whole["ms_per_1k_tokens_low"] < 4.5 < whole["ms_per_1k_tokens_high"]
    assert whole["ms_per_1k_tokens_high"] - whole["ms_per_1k_tokens_low"] < 0.2


def test_no_line_without_tokens_or_with_equal_ones() -> None:
    assert token_fit(frame([request(0, 5)])).is_empty()
    alike = token_fit(frame([request(q, 5 + q, tokens_in=100) for q in range(5)])).row(0, named=True)
    assert (alike["n"], alike["fixed_ms"], alike["ms_per_1k_tokens"]) == (5, None, None)


def test_requests_one_after_the_other_that_are_slow_together_say_less() -> None:
    rng, n = np.random.default_rng(5), 400
    slow = np.exp(np.repeat(rng.normal(0, 0.5, n // 20), 20)) * rng.lognormal(3, 0.2, n)
    together, apart = (
        latency(frame([request(q, ms) for q, ms in enumerate(times)])).row(0, named=True)
        for times in (slow, rng.permutation(slow))
    )
    assert together["p50"] == pytest.approx(apart["p50"])
    assert together["p50_high"] - together["p50_low"] > 2 * (apart["p50_high"] - apart["p50_low"])
    shuffled = latency(frame([request(q, slow[q]) for q in range(n)]).sample(n, shuffle=True, seed=1)).row(
        0, named=True
    )
    assert shuffled == together
