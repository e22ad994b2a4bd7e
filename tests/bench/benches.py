"""Benches put together by hand: what each axis says is written here, so that reports of it can be held against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from steelyard.bench import frames
from steelyard.bench.bench import Bench
from steelyard.bench.config import BenchConfig
from steelyard.bench.frames import RANKINGS, REQUESTS, system_label
from steelyard.data.folders.manifests import BenchFolder
from steelyard.experiment.table.scores import Scores

MEASURE = "ndcg@10"
CONFIG: dict[str, Any] = {
    "name": "halls", "depths": [10, 50], "repetitions": 3,
    "systems": {
        "bm25": {}, "words": {"rerank": "lexical"}, "api": {"rerank": "lexical", "price": "cohere/rerank-v3.5"},
    },
    "load": {"rates": [4, 8, 16, 32], "concurrency": [1, 4], "slo": {"p95": "500ms"}},
    "value": {"value_per_success": 0.01, "queries_per_day": 100_000},
}  # fmt: skip
_QUALITY = {("words", 10): 0.31, ("words", 50): 0.32, ("api", 10): 0.36, ("api", 50): 0.42}
_BASE, _CEILINGS = 0.30, {10: 0.45, 50: 0.62}
_P95 = {("words", 10): 1.5, ("words", 50): 6.25, ("api", 10): 120.0, ("api", 50): 310.0}
_PER_QUERY = {"words": 0.00004, "api": 0.002}
_RATE = {"words": 96.0, "api": 11.5}
REASONS = {("words", 10): "inferior", ("words", 50): "inferior", ("api", 10): "inferior", ("api", 50): "recommended"}
ROWS = list(_QUALITY)


def frame(schema: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of a schema; what a row does not name is null."""
    names = set(schema)
    assert all(set(row) <= names for row in rows), "a row names a column that the schema does not have"
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def with_interval(name: str, value: float, width: float) -> dict[str, float]:
    """A value with both ends, so far away on either side."""
    return {name: value, f"{name}_low": value - width, f"{name}_high": value + width}


def label(system: str, depth: int) -> dict[str, Any]:
    """The columns that say what a row is of."""
    return {"system": system, "depth": depth}


@cache
def axes() -> Mapping[str, pl.DataFrame]:
    """Every axis of a bench of two rerankers over two depths."""
    quality = [
        {**label(*row), "measure": MEASURE, "n": 40, "base": _BASE, "reranked": value,
         **with_interval("difference", value - _BASE, 0.025), "p": 0.001, "p_corrected": 0.004 if value > 0.35 else 0.4,
         "won": 12, "tied": 20, "lost": 8, "ceiling": _CEILINGS[row[1]],
         **with_interval("captured", (value - _BASE) / (_CEILINGS[row[1]] - _BASE), 0.1),
         "verdict": "better" if value > 0.35 else "not_shown"}
        for row, value in _QUALITY.items()
    ]  # fmt: skip
    diagnostics = [
        {**label(*row), "n": 40, "first_changed": 0.4, "k": 10, "overlap": 0.7, "tau": 0.35, "ties": 0.02,
         "truncated": 0.1 if row[0] == "api" else None, "judged_before": 0.9, "judged_after": 0.88,
         "worst": value - 0.01, "best": value + 0.02, "n_short": 0, "n_failed": 0, "n_unstable": 0, "n_repaired": 0}
        for row, value in _QUALITY.items()
    ]  # fmt: skip
    return {
        "quality": frame(frames.QUALITY, quality), "diagnostics": frame(frames.DIAGNOSTICS, diagnostics),
        "latency": frame(frames.LATENCY, [*_sequential(), *_open(), *_closed()]),
        "stages": frame(frames.STAGES, []),
        "token_fit": frame(frames.TOKEN_FIT, [
            {"system": "api", "n": 240, "fixed_ms": 40.0, **with_interval("ms_per_1k_tokens", 16.0, 0.5)}
        ]),
        "throughput": frame(frames.THROUGHPUT, _levels()),
        "sustained": frame(frames.SUSTAINED, [
            {**label(system, 50), "rate": rate, "failing_rate": rate * 1.1, "reason": "latency"}
            for system, rate in _RATE.items()
        ]),
        "scalability": frame(frames.SCALABILITY, [
            {**label("api", 50), "n": 6, **with_interval("gamma", 4.0, 0.2), **with_interval("sigma", 0.05, 0.01),
             **with_interval("kappa", 0.001, 0.0004), "peak_users": 30.8, "peak_rate": 36.2}
        ]),
        "costs": frame(frames.COSTS, _costs()), "returns": frame(frames.RETURNS, _returns()),
        "choice": frame(frames.CHOICE, _choice()),
    }  # fmt: skip


def rerank_bench(
    path: Path, *, config: Mapping[str, Any] | None = None, notes: Sequence[Any] = (), **changed: Any
) -> Bench:
    """The bench; changed are axes in place of these, or what else a bench has."""
    folder = BenchFolder(path, {
        "kind": "rerank", "name": "halls", "base": "bm25", "finished": "2026-11-22T12:00:00+00:00",
        "notes": list(notes), "machine": {"cpu": "a processor", "cores": 2}, "steelyard": "0.4", "python": "3.12",
    })  # fmt: skip
    bench = Bench(
        folder, BenchConfig.of(CONFIG if config is None else config), changed.pop("scores", None) or scores(), None,
        changed.pop("requests", requests()), pl.DataFrame(schema=RANKINGS),
    )  # fmt: skip
    bench.__dict__.update({**axes(), **changed})
    return bench


@cache
def scores() -> Scores:
    """Values by question: quality of all, and milliseconds of what was timed."""
    rng = np.random.default_rng(1)
    systems = {"bm25": _BASE, **{system_label(*row): value for row, value in _QUALITY.items()}}
    rows = [
        {"system": system, "query_id": f"q{n}", "measure": MEASURE, "value": value}
        for system, mean in systems.items()
        for n, value in enumerate(rng.beta(2 * mean, 2 * (1 - mean), 40).tolist())
    ]
    return Scores.of(pl.DataFrame(rows))


@cache
def requests() -> pl.DataFrame:
    """Three repetitions of 40 requests of each system, one after the other; the last of each times out."""
    rng, rows = np.random.default_rng(2), []
    for (system, depth), p95 in _P95.items():
        for repetition in (1, 2, 3):
            begin = 0.0
            for n, seconds in enumerate((p95 / 1000 * rng.lognormal(-0.5, 0.3, 40)).tolist()):
                rows.append({
                    **label(system, depth), "loop": "sequential", "repetition": repetition, "number": n,
                    "query_id": f"q{n}", "intended_s": begin, "sent_s": begin, "end_s": begin + seconds,
                    "outcome": "timeout" if n == 39 else "ok", "n_pairs": depth,
                })  # fmt: skip
                begin += seconds
    return frame(REQUESTS, rows)


def _times(p95: float) -> dict[str, float]:
    return {
        **with_interval("p50", p95 / 2, p95 / 50), **with_interval("p95", p95, p95 / 10),
        "p99": p95 * 1.3, "p99_low": p95 * 1.1, "p99_high": float("inf"), "service_p50": p95 / 2, "service_p95": p95,
        "service_p99": p95 * 1.3, "dispatch_p99": 0.4,
    }  # fmt: skip


def _sequential() -> list[dict[str, Any]]:
    return [
        {**label(*row), "loop": "sequential", "repetitions": 3, "n": 120, "n_censored": 0, **_times(p95),
         "p95_least": p95 * 0.97, "p95_greatest": p95 * 1.04, "ms_per_pair": p95 / row[1], "tokens_per_s": 51_234.0}
        for row, p95 in _P95.items()
    ]  # fmt: skip


def _open() -> list[dict[str, Any]]:
    return [
        {**label(system, 50), "loop": "open", "rate": rate, "repetitions": 1, "n": 80, "n_censored": 0,
         **_times(_P95[system, 50] / max(0.05, 1 - rate / (1.3 * capacity)))}
        for system, capacity in _RATE.items() for rate in (4.0, 8.0, 16.0, 32.0)
    ]  # fmt: skip


def _closed() -> list[dict[str, Any]]:
    return [
        {**label(system, 50), "loop": "closed", "users": users, "repetitions": 1, "n": 80, "n_censored": 0,
         **_times(_P95[system, 50] * users ** 0.5)}
        for system in _RATE for users in (1, 4)
    ]  # fmt: skip


def _levels() -> list[dict[str, Any]]:
    rows = []
    for system, capacity in _RATE.items():
        for rate in (4.0, 8.0, 16.0, 32.0):
            holds = rate <= capacity
            rows.append({
                **label(system, 50), "loop": "open", "rate": rate, "duration_s": 10.0, "n": int(10 * rate),
                "offered": rate, "achieved": min(rate, capacity),
                "goodput": min(rate, capacity) * (1.0 if holds else 0.4),
                "error_rate": 0.0 if holds else 0.125, "in_flight": rate * 0.2, "little_gap": 0.01,
                "backlog_slope": 0.0 if holds else 3.0, "backlog_p": 0.5 if holds else 0.001, "holds": holds,
                "reason": None if holds else "latency",
            })  # fmt: skip
        rows += [
            {**label(system, 50), "loop": "closed", "users": users, "duration_s": 10.0, "n": 80, "offered": None,
             "achieved": capacity * users / (users + 3), "goodput": capacity * users / (users + 3), "error_rate": 0.0,
             "in_flight": float(users), "little_gap": 0.004}
            for users in (1, 4)
        ]  # fmt: skip
    return rows


def _costs() -> list[dict[str, Any]]:
    api = {"price": "cohere/rerank-v3.5", "unit": "per_search_unit", "unit_price": 0.002, "date": "2026-11-01",
           "source": "https://example.com/pricing"}  # fmt: skip
    own = {"price": "self-host", "unit": "per_gpu_hour", "unit_price": 13.824}
    return [
        {**label(*row), **(own if row[0] == "words" else api), "currency": "USD", "tokens": 300.0 * row[1],
         "counted": "estimate", **with_interval("per_query", _PER_QUERY[row[0]], 0.0),
         "per_day": 1e5 * _PER_QUERY[row[0]], "per_1m_tokens": _PER_QUERY[row[0]] / (300 * row[1]) * 1e6,
         "status": "known"}
        for row in ROWS
    ]  # fmt: skip


def _returns() -> list[dict[str, Any]]:
    return [
        {**label(*row), "success": "hit@1", **with_interval("gain", value - _BASE, 0.03),
         **with_interval("relative_gain", value / _BASE - 1, 0.1), "cost": _PER_QUERY[row[0]], "saving": 0.0,
         **with_interval("net_per_day", 2000 * (value - _BASE) - 1e5 * _PER_QUERY[row[0]], 30.0),
         **with_interval("roi", 4.0, 1.5), **with_interval("break_even", 0.004, 0.001), "p_positive": 0.93,
         "worth_measure": MEASURE,
         **with_interval("worth_gain", value / _BASE - 1, 0.1), "worth": "yes" if value > 0.4 else "open"}
        for row, value in _QUALITY.items()
    ]  # fmt: skip


def _choice() -> list[dict[str, Any]]:
    base = {"system": "bm25", "measure": MEASURE, "quality": _BASE, "p95": 0.0, "cost": 0.0, "on_front": True,
            "not_told_apart": ["words@10"], "not_inferior": "no", "holds_slo": "yes", "recommended": False,
            "net": 0.0, "net_not_told_apart": [], "preferred_by": ["net"], "reason": "inferior"}  # fmt: skip
    return [base] + [
        {**label(*row), "measure": MEASURE, "quality": value, "p95": _P95[row], "cost": _PER_QUERY[row[0]],
         "on_front": row != ("words", 10), "not_told_apart": ["bm25"] if row == ("words", 10) else [],
         "not_inferior": "yes" if row == ("api", 50) else "no", "holds_slo": "yes", "recommended": row == ("api", 50),
         "net": 2000 * (value - _BASE) - 1e5 * _PER_QUERY[row[0]],
         "net_not_told_apart": ["words@10"] if row == ("words", 50) else ["words@50"] if row == ("words", 10) else [],
         "preferred_by": ["cheap", "quality", "auto"] if row == ("api", 50) else [], "reason": REASONS[row]}
        for row, value in _QUALITY.items()
    ]  # fmt: skip


def load_bench(path: Path, *, holds: bool = True, system: str = "slow-server") -> Bench:
    """A load test of one system at one rate."""
    of = {"system": system, "loop": "open", "rate": 20.0}
    folder = BenchFolder(path, {"kind": "load", "name": "halls", "finished": "2026-11-22T12:00:00+00:00"})
    config = BenchConfig.of({"name": "halls", "systems": {system: {"target": {"url": "http://localhost:1"}}},
                             "load": {"rates": [20], "slo": {"p95": "500ms"}}})  # fmt: skip
    sent = [
        {**of, "repetition": 1, "number": n, "query_id": f"q{n}", "intended_s": n / 20, "sent_s": n / 20,
         "end_s": n / 20 + 0.04, "outcome": "ok"} for n in range(40)
    ]  # fmt: skip
    values = [{"system": system, "query_id": f"q{n}", "measure": "latency_ms", "value": 40.0} for n in range(40)]
    bench = Bench(
        folder, config, Scores.of(pl.DataFrame(values)), None, frame(REQUESTS, sent), pl.DataFrame(schema=RANKINGS)
    )
    times = {**of, "repetitions": 1, "n": 200, "n_censored": 0, **_times(120.0), "p50": 40.0}
    level = {**of, "duration_s": 10.0, "n": 200, "offered": 20.0, "achieved": 20.0, "goodput": 19.8, "error_rate": 0.0,
             "in_flight": 0.8, "little_gap": 0.01, "backlog_slope": 0.0, "backlog_p": 0.5, "holds": holds,
             "reason": None if holds else "backlog"}  # fmt: skip
    empty = {name: axis.clear() for name, axis in axes().items()}
    bench.__dict__.update(empty | {
        "latency": frame(frames.LATENCY, [times]), "throughput": frame(frames.THROUGHPUT, [level]),
        "sustained": frame(frames.SUSTAINED, [{"system": system, "rate": 20.0 if holds else None,
                                               "failing_rate": None if holds else 20.0,
                                               "reason": None if holds else "backlog"}]),
    })  # fmt: skip
    return bench
