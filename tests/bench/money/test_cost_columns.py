"""Costs beside quality in the one table of scores."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from steelyard.bench.config import BenchConfig
from steelyard.bench.run.preparing import weigh
from steelyard.comparison.comparison import compare
from steelyard.experiment.table.scores import Scores
from tests.bench.blocks_of_scores import blocks, config_of, open_candidates, value

TRUTH = {"a": {"d2": 1}, "b": {"d9": 1}, "c": {"d1": 2}}
RUN = {"a": ["d1", "d2", "d3"], "b": ["d1", "d9"], "c": ["d3", "d2", "d1"]}


def config(folder: Path, price: object, **settings: object) -> BenchConfig:
    systems = {"none": {}, "mine": {"rerank": "lexical", **({} if price is None else {"price": price})}}
    return config_of(folder, TRUTH, RUN, **{"depths": [1, 3], "measures": ["mrr@10"], "systems": systems, **settings})


def weighed(bench: BenchConfig, *, repetitions: int = 1, failing: tuple[str, int] | None = None) -> Scores:
    candidates = open_candidates(bench)
    rankings, requests = blocks(
        bench, candidates, lambda q, docs, r: None if (q, r) == failing else [1.0] * len(docs), repetitions=repetitions
    )
    requests = requests.with_columns(tokens_in=pl.col("tokens_in") * pl.col("repetition"))
    return weigh(bench, candidates, rankings, requests)[0]


def test_each_question_has_its_cost(tmp_path: Path) -> None:
    scores = weighed(config(tmp_path, {"per_1m_tokens": 1000}))
    assert str(scores.measures[-1]) == "cost_usd"
    assert scores.measures[-1].definition.direction == "lower"
    assert [value(scores, "mine@3", "cost_usd", q) for q in "abc"] == pytest.approx([0.021, 0.014, 0.021])
    assert value(scores, "mine@1", "cost_usd") == pytest.approx(0.007)
    assert not scores.values[0, -1].any()
    frame = compare(scores.filter(measures="cost_usd"), baseline="none").frame
    assert dict(frame.select("system", "difference").iter_rows()) == pytest.approx(
        {"none": 0, "mine@1": 0.007, "mine@3": 0.056 / 3}
    )


def test_repetitions_are_kept_and_what_failed_is_left_out(tmp_path: Path) -> None:
    scores = weighed(config(tmp_path, {"per_1m_tokens": 1000}), repetitions=3, failing=("b", 2))
    assert scores.repeats["mine@3"].shape == (3, len(scores.measures), 3)
    assert scores.repeats["mine@3"][:, -1, 0] == pytest.approx([0.021, 0.042, 0.063])
    assert np.isnan(scores.repeats["mine@3"][1, -1, 1])
    assert value(scores, "mine@3", "cost_usd", "b") == pytest.approx((0.014 + 0.042) / 2)


def test_without_prices_there_is_no_column_and_with_some_others_have_none(tmp_path: Path) -> None:
    assert str(weighed(config(tmp_path, None)).measures[-1]) == "tokens"
    systems = {"none": {}, "mine": {"rerank": "lexical"}, "api": {"rerank": "lexical", "price": {"per_query": 1}}}
    scores = weighed(config(tmp_path, None, systems=systems))
    assert str(scores.measures[-1]) == "cost_usd"
    assert np.isnan(scores.values[1:, -1]).all()


def test_the_currency_is_in_the_name(tmp_path: Path) -> None:
    scores = weighed(config(tmp_path, {"per_query": 0.01, "currency": "CNY"}))
    assert (str(scores.measures[-1]), scores.measures[-1].definition.direction) == ("cost_cny", "lower")


def test_the_measure_of_success_is_measured_too(tmp_path: Path) -> None:
    value_table = {"value_per_success": 0.01, "queries_per_day": 1000}
    assert [str(m) for m in weighed(config(tmp_path, None, value=value_table)).measures[:2]] == ["mrr@10", "hit_rate@5"]
    named = weighed(config(tmp_path, None, value={**value_table, "success": "recall@3"}))
    assert [str(m) for m in named.measures[:2]] == ["mrr@10", "recall@3"]
