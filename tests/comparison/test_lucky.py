"""Luck of the best of a comparison: as so many were tried by an option, or as a store counts them."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.stats.luck import luck, scatter

IDS = [f"q{i}" for i in range(40)]
TRUTH = {q: {"d": 1} for q in IDS}


def run(seed: int) -> dict[str, list[str]]:
    rng = np.random.default_rng(seed)
    return {q: ["d"] if rng.random() < 0.5 else ["x", "d"] for q in IDS}


RUNS = {"a": run(1), "b": run(2), "c": run(3)}


def test_luck_is_of_the_primary_measure_and_so_many_configurations() -> None:
    comparison = sy.compare(TRUTH, RUNS, ["mrr", "recall@1"], n_tried=25)
    values = sy.evaluate(TRUTH, RUNS, "mrr").values[:, 0]
    error = scatter(values)
    assert error is not None
    assert comparison.luck == luck(values.mean(axis=1), error, 25, seed=0)
    assert comparison.data()["luck"]["n_systems"] == 25
    assert "25 configurations were tried on these questions" in comparison.text(lang="en")
    assert "25 个配置" in comparison.text(lang="zh", explain=True)


def test_a_measure_that_is_better_low() -> None:
    values = {f"q{i}": i % 7 for i in range(30)}
    rows = [
        {"query_id": q, "system": name, "measure": "latency_ms", "value": value + offset * (1 + value)}
        for name, offset in (("slow", 1.0), ("fast", 0.0), ("middle", 0.5))
        for q, value in values.items()
    ]
    comparison = sy.compare(sy.Scores.of(pl.DataFrame(rows)), n_tried=3)
    assert comparison.luck is not None
    assert comparison.luck.over_next.lead == pytest.approx(0.5 * (1 + np.mean(list(values.values()))))


def test_fewer_than_are_here_are_as_many_as_are_here() -> None:
    luck_of_three = sy.compare(TRUTH, RUNS, "mrr", n_tried=1).luck
    assert luck_of_three is not None
    assert luck_of_three.n_systems == 3


def test_nothing_is_said_where_no_number_is_known_or_nothing_scatters() -> None:
    assert sy.compare(TRUTH, RUNS, "mrr").luck is None
    assert "luck" not in sy.compare(TRUTH, RUNS, "mrr").data()
    assert sy.compare(TRUTH, {"a": RUNS["a"], "b": RUNS["a"]}, "mrr", n_tried=9).luck is None


def test_a_store_counts_what_was_tried(tmp_path: Path) -> None:
    with sy.Store(tmp_path / "history.db") as store:
        for seed in range(3, 9):  # The first one is c.
            store.add(sy.evaluate(TRUTH, {"s": run(seed)}, "mrr"))
        store.add(sy.evaluate({**TRUTH, "q99": {"d": 1}}, {"s": run(99)}, "mrr"))
        for named in (store, tmp_path / "history.db"):
            explained = sy.compare(TRUTH, RUNS, "mrr", store=named).luck
            assert explained is not None
            assert explained.n_systems == 8
    new = sy.compare(TRUTH, RUNS, "mrr", store=tmp_path / "new.db").luck
    assert new is not None
    assert new.n_systems == 3
    assert not (tmp_path / "new.db").exists()
