"""Costs, returns and choice of a bench that was measured, and of its folder read back."""

import json
from dataclasses import replace

import polars as pl
import pytest

from steelyard.base.choices import Prefer
from steelyard.base.errors import InputError
from steelyard.bench.bench import Bench
from steelyard.bench.run.rerankers import bench_rerankers
from tests.bench.blocks_of_scores import config_of

TRUTH = {f"q{i}": {f"d{i}": 1} for i in range(12)}
RUN = {f"q{i}": [f"d{(i + j) % 12}" for j in (3, 1, 0, 2)] for i in range(12)}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("bench")
    systems = {
        "none": {},
        "own": {"rerank": "lexical", "price": "self-host"},
        "api": {"rerank": "lexical", "price": "cohere/rerank-v3.5"},
        "unknown": {"rerank": "lexical"},
    }
    config = config_of(
        folder, TRUTH, RUN, systems=systems, depths=[2, 4], repetitions=2, warm_up=0, self_host={"per_hour": 3.6},
        value={"value_per_query": 0.01, "queries_per_day": 1000},
    )  # fmt: skip
    bench_rerankers(config, folder=folder / "out")
    (folder / "qrels.txt").unlink()
    return Bench.read(folder / "out")


def test_costs_are_the_means_of_what_scores_have(bench: Bench) -> None:
    means = bench.scores.mean().filter(measure="cost_usd").select("system", "mean")
    of_scores = dict(means.iter_rows())
    assert of_scores["none"] == 0
    for row in bench.costs.iter_rows(named=True):
        assert of_scores[f"{row['system']}@{row['depth']}"] == pytest.approx(row["per_query"])
    statuses = dict(bench.costs.select("system", "status").iter_rows())
    assert statuses == {"own": "sequential", "api": "known", "unknown": "no_price"}
    assert bench.costs.filter(system="api")["counted"].to_list() == ["estimate"] * 2


def test_prices_are_kept_with_the_bench(bench: Bench) -> None:
    stored = json.loads(bench.folder.config.read_text(encoding="utf-8"))["prices"]
    assert list(stored) == ["cohere/rerank-v3.5"]
    assert (stored["cohere/rerank-v3.5"]["per_search_unit"], stored["cohere/rerank-v3.5"]["date"]) == (
        0.002,
        "2026-11-22",
    )


def test_returns_and_choice_have_a_row_for_each(bench: Bench) -> None:
    assert bench.returns.select("system", "depth").rows() == [(s, d) for s in ("own", "api", "unknown") for d in (2, 4)]
    paid = bench.returns.filter(system="api")
    assert paid["net_per_day"].to_list() == pytest.approx((1000 * (0.01 * paid["relative_gain"] - 0.002)).to_list())
    assert bench.returns.filter(system="unknown")["net_per_day"].to_list() == [None, None]
    assert bench.choice["net"].to_list()[0] == 0
    assert bench.choice["net"].to_list()[1:] == pytest.approx(bench.returns["net_per_day"].to_list())
    assert bench.choice.height == 7
    assert bench.choice["recommended"].sum() == 1
    assert bench.choice.filter(system="unknown")["reason"].is_in(["unknown", "inferior"]).all()
    assert bench.choice.filter(pl.col("depth").is_null())["cost"].item() == 0


def test_a_finished_bench_may_be_asked_by_another_preference(bench: Bench) -> None:
    preferences: list[Prefer] = ["auto", "cheap", "quality", "net"]
    for prefer in preferences:
        asked = bench.preferring(prefer)
        rows = asked.choice.filter("recommended")
        assert rows["preferred_by"].item().to_list().count(prefer) == 1
        assert asked.choice["preferred_by"].to_list() == bench.choice["preferred_by"].to_list()
    assert bench.config.prefer == "auto"
    without = replace(bench, config=bench.config.model_copy(update={"value": None}))
    with pytest.raises(InputError, match="net benefit needs"):
        without.preferring("net")
    assert without.choice["net"].null_count() == 7
