"""Percentiles of scores: of measures and of columns of numbers, of several runs, in clusters, with failures."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.experiment.table.json import as_json, read_scores
from steelyard.stats.intervals.means import skewed_intervals
from steelyard.stats.intervals.percentiles import percentile_interval

RNG = np.random.default_rng(8)
TRUTH = {f"q{i:03}": {"d": 1} for i in range(120)}
RUN = {q: ["x"] * int(RNG.integers(0, 5)) + ["d"] for q in TRUTH}
RUN = {q: [f"x{i}" for i in range(len(docs) - 1)] + ["d"] for q, docs in RUN.items()}
TIMES = RNG.lognormal(4, 0.6, 120)


def times(values: np.ndarray = TIMES, failed: int = 0, system: str = "s") -> sy.Scores:
    n = len(values)
    frame = pl.DataFrame({
        "query_id": [f"q{i:03}" for i in range(n)], "measure": "latency_ms",
        "value": [None] * failed + values[failed:].tolist(), "status": ["failed"] * failed + ["ok"] * (n - failed),
    })  # fmt: skip
    return sy.Scores.of(frame, system=system)


def row(scores: sy.Scores, measure: str) -> dict[str, float]:
    return scores.mean().filter(measure=measure).row(0, named=True)


def test_a_measure_has_percentiles_beside_its_mean() -> None:
    scores = sy.evaluate(TRUTH, RUN, ["mrr", "mrr:p10", "mrr:p50"])
    values = scores.values[0, 0]
    assert [str(measure) for measure in scores.measures] == ["mrr", "mrr:p10", "mrr:p50"]
    assert scores.means[0].tolist() == [values.mean(), np.quantile(values, 0.1), np.quantile(values, 0.5)]
    interval = percentile_interval(values, 0.1)
    assert (scores.intervals.low[0, 1], scores.intervals.high[0, 1]) == (interval.low, interval.high)
    assert scores.reachable[0].tolist() == [1.0, 1.0, 1.0]
    assert scores.recipe["interval"]["percentiles"] == "binomial_ranks"
    assert "percentiles" not in sy.evaluate(TRUTH, RUN, "mrr").recipe["interval"]


def test_means_without_a_highest_value_allow_for_skew() -> None:
    scores = times(TIMES).with_percentiles("latency_ms:p95")
    skewed = skewed_intervals(TIMES[:, None])
    assert (scores.intervals.low[0, 0], scores.intervals.high[0, 0]) == (skewed.low[0], skewed.high[0])
    assert [str(measure) for measure in scores.unbounded] == ["latency_ms"]
    assert scores.recipe["interval"]["unbounded"] == "skewed_t"
    for lang, sentence in {"en": "latency_ms: no highest value is known", "zh": "latency_ms：最大值未知"}.items():
        assert sentence in scores.text(lang=lang)
    assert sy.evaluate(TRUTH, RUN, ["mrr", "dcg@5"]).unbounded == []


def test_an_end_that_is_not_there_is_that_of_the_range() -> None:
    scores = sy.evaluate({"a": {"d": 1}, "b": {"d": 1}}, {"a": ["d"], "b": ["x", "d"]}, "mrr:p50")
    assert (scores.intervals.low.item(), scores.intervals.high.item()) == (0.0, 1.0)
    assert row(times(TIMES[:4]).with_percentiles("latency_ms:p50"), "latency_ms:p50")["high"] == math.inf


def test_percentiles_are_taken_of_columns_that_are_there() -> None:
    scores = times().filter(measures=["latency_ms:p95", "latency_ms:p50"])
    assert [str(measure) for measure in scores.measures] == ["latency_ms:p95", "latency_ms:p50"]
    interval = percentile_interval(TIMES, 0.95)
    row_95 = row(scores, "latency_ms:p95")
    assert (row_95["mean"], row_95["low"], row_95["high"]) == (interval.value, interval.low, interval.high)
    assert times().with_percentiles("clicks:p95").measures == times().measures
    with pytest.raises(sy.InputError, match="no measure is called 'clicks:p95'"):
        times().filter(measures="clicks:p95")


def test_what_failed_is_slower_than_any_limit_and_stays_in() -> None:
    scores = times(failed=3).with_percentiles(["latency_ms:p95", "latency_ms:p99"])
    want = percentile_interval(np.where(np.arange(120) < 3, np.inf, TIMES), 0.95)
    at_95 = row(scores, "latency_ms:p95")
    assert (at_95["mean"], at_95["low"], at_95["high"], at_95["n"]) == (want.value, want.low, want.high, 120)
    assert row(scores, "latency_ms:p99")["mean"] == math.inf
    assert row(scores, "latency_ms")["n"] == 117
    tokens = scores.frame.filter(measure="latency_ms").with_columns(measure=pl.lit("tokens"))
    assert row(sy.Scores.of(tokens).with_percentiles("tokens:p95"), "tokens:p95")["n"] == 117


def repeated() -> tuple[sy.Scores, np.ndarray]:
    runs = np.stack([TIMES * factor for factor in RNG.lognormal(0, 0.05, (3, 120))])
    runs[1, 5] = np.nan
    scores = times(runs.mean(axis=0))
    return replace(scores, repeats={"s": runs[:, None]}), runs


def test_all_runs_of_a_system_are_pooled_and_count_as_the_questions_do() -> None:
    scores, runs = repeated()
    scores = scores.with_percentiles("latency_ms:p95")
    pooled = np.where(np.isnan(runs), np.inf, runs).ravel()
    want = percentile_interval(pooled, 0.95, clusters=np.tile(np.arange(120), 3))
    assert want.n_effective < 150
    at_95 = row(scores, "latency_ms:p95")
    assert (at_95["mean"], at_95["low"], at_95["high"]) == (want.value, want.low, want.high)
    components = scores.components.filter(measure="latency_ms:p95").row(0, named=True)
    whole = np.delete(runs, 5, axis=1)
    assert components["least"] == min(np.quantile(run, 0.95) for run in whole)


def test_clusters_widen_the_interval() -> None:
    alike = np.repeat(RNG.lognormal(4, 0.6, 40), 3)
    frame = times(alike).frame.with_columns(conversation=pl.Series([f"c{i // 3}" for i in range(120)]))
    alone, together = (
        sy.Scores.of(frame, cluster=cluster).with_percentiles("latency_ms:p50") for cluster in (None, "conversation")
    )
    widths = [
        row(scores, "latency_ms:p50")["high"] - row(scores, "latency_ms:p50")["low"] for scores in (alone, together)
    ]
    assert widths[1] > widths[0]


def test_seconds_of_a_load_count_as_far_as_neighbours_are_alike() -> None:
    slow = np.repeat(RNG.random(12) < 0.3, 10)
    values = 40 + RNG.random(120) + 100 * slow
    frame = times(values).frame.with_columns(second=pl.Series([f"20/s:{i // 2}" for i in range(120)]))
    scores = sy.Scores.of(frame, cluster="second").with_percentiles("latency_ms:p50")
    want = percentile_interval(values, 0.5, clusters=np.arange(120) // 2, in_time=True)
    median = row(scores, "latency_ms:p50")
    assert (median["low"], median["high"]) == (want.low, want.high)
    assert want.n_effective < 30


def test_json_holds_them_and_gives_them_back(tmp_path: Path) -> None:
    scores = times(failed=10).with_percentiles(["latency_ms:p95", "latency_ms:p5"])
    path = tmp_path / "scores.json"
    path.write_text(as_json(scores), encoding="utf-8")
    again = read_scores(path)
    assert again.measures == scores.measures
    assert again.mean().equals(scores.mean())
    assert '"latency_ms:p95": null' in path.read_text(encoding="utf-8")


def test_several_scores_put_together_keep_them() -> None:
    both = sy.Scores.concat([times().with_percentiles("latency_ms:p95"), times(TIMES * 2, system="t")])
    assert row(both.filter(systems="s"), "latency_ms:p95")["mean"] == np.quantile(TIMES, 0.95)


def test_tables_say_which_intervals_are_by_ranks() -> None:
    scores = sy.evaluate(TRUTH, RUN, ["mrr", "mrr:p10"])
    for code, note in (("en", "by ranks whatever the distribution: mrr:p10."), ("zh", "与分布无关：mrr:p10。")):
        assert note in scores.text(lang=code, width=500, explain=True)
    assert "by ranks" not in sy.evaluate(TRUTH, RUN, "mrr").text(lang="en", width=500, explain=True)
