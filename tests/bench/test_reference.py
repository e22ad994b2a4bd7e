"""Rules of thumb beside own figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from steelyard.bench.choice.reference import (
    latency_beside,
    levels_beside,
    rates_beside,
    reference_note,
    rules_of_thumb,
)
from steelyard.bench.frames import LATENCY, REFERENCE_LATENCY, REFERENCE_LEVELS, REFERENCE_RATES, THROUGHPUT
from steelyard.bench.run.rerankers import bench_rerankers
from tests.bench.test_running import bench_config


def timed(**row: Any) -> dict[str, Any]:
    return {"system": "words", "depth": 50, "loop": "sequential", "p50": 1.0, "p95": 2.0, "p99": 3.0, **row}


def latency(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=LATENCY)


def test_the_tables_are_those_in_circulation() -> None:
    tables = rules_of_thumb()
    assert [tuple(row.values()) for row in tables["latency"]] == [
        (20, 80, 120, 150), (50, 200, 300, 400), (100, 400, 600, 800), (200, 800, 1200, 1500),
    ]  # fmt: skip
    assert [row["rate"] for row in tables["rates"]] == [50, 180, 40, 150, 20, 70]
    limits = {(row["scenario"], row["measure"]): row.get("below", row.get("above")) for row in tables["levels"]}
    assert limits == {
        ("real_time", "latency_ms:p95"): 500, ("batch", "latency_ms:p95"): 2000,
        ("first_stage", "recall@50"): 0.85, ("reranked", "precision@5"): 0.8,
    }  # fmt: skip


def test_they_say_that_their_origin_is_not_known() -> None:
    assert "origin is not known" in reference_note("en")
    assert "出处不明" in reference_note("zh")


def test_latency_of_as_many_candidates() -> None:
    beside = latency_beside(latency(timed(), timed(depth=10), timed(loop="open", rate=2.0, p50=99.0)))
    assert beside.schema == REFERENCE_LATENCY
    assert beside.rows() == [
        ("words", 50, 1.0, 2.0, 3.0, 200.0, 300.0, 400.0),
        ("words", 10, 1.0, 2.0, 3.0, None, None, None),
    ]
    assert latency_beside(latency()).schema == REFERENCE_LATENCY


def test_rates_of_as_many_users_as_threads() -> None:
    row = {"system": "words", "depth": 50, "loop": "closed", "users": 4, "achieved": 33.0}
    rows = [row, row | {"users": 2}, row | {"loop": "open", "users": None, "rate": 4.0}]
    beside = rates_beside(pl.DataFrame(rows, schema=THROUGHPUT))
    assert beside.schema == REFERENCE_RATES
    assert beside.row(0) == ("bge-reranker-base", None, 1, 50.0, False)
    assert beside.filter("is_own").rows() == [("words", 50, 4, 33.0, True)]
    assert rates_beside(pl.DataFrame(schema=THROUGHPUT)).height == 6


def test_levels_of_production() -> None:
    means = pl.DataFrame(
        [("none", None, "recall@50", 0.9), ("none", None, "precision@5", 0.5), ("words", 50, "precision@5", 0.6)],
        schema={"system": pl.String, "depth": pl.Int64, "measure": pl.String, "mean": pl.Float64}, orient="row",
    )  # fmt: skip
    beside = levels_beside(means, latency(timed()), "none")
    assert beside.schema == REFERENCE_LEVELS
    assert beside.rows() == [
        ("real_time", "latency_ms:p95", 500.0, None, "words", 50, 2.0),
        ("batch", "latency_ms:p95", 2000.0, None, "words", 50, 2.0),
        ("first_stage", "recall@50", None, 0.85, "none", None, 0.9),
        ("reranked", "precision@5", None, 0.8, "words", 50, 0.6),
    ]
    unmeasured = levels_beside(means.filter(pl.col("measure") != "recall@50"), latency(timed()), "none")
    assert unmeasured.filter(scenario="first_stage")["value"].to_list() == [None]


def test_beside_a_bench(tmp_path: Path) -> None:
    config = bench_config(tmp_path, measures=["precision@5", "recall@50"], repetitions=1, warm_up=0, depths=[3, 20])
    bench = bench_rerankers(config)
    beside = bench.reference
    assert beside.latency.filter(depth=20)["reference_p95"].to_list() == [120.0, 120.0]
    assert not beside.rates["is_own"].any()
    levels = beside.levels
    assert levels["scenario"].value_counts().sort("scenario").rows() == [
        ("batch", 4), ("first_stage", 1), ("real_time", 4), ("reranked", 4),
    ]  # fmt: skip
    own = levels.filter(scenario="reranked", system="words", depth=20)["value"].item()
    assert own == bench.scores.mean().filter(system="words@20", measure="precision@5")["mean"].item()
    assert levels.filter(scenario="first_stage").select("system", "value").rows() == [("none", 1.0)]
