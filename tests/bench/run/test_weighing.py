"""Lists that rerankers make, weighed: the tail, one candidate, failures, repetitions, ceilings; by hand and by rule."""

import math

import numpy as np
import polars as pl
import pytest

from steelyard.base.errors import InputError
from steelyard.bench.candidates import open_candidates
from steelyard.bench.load.latency import time_percentiles
from steelyard.bench.quality.lists import COLUMNS
from steelyard.bench.run.preparing import weigh
from steelyard.experiment.table.json import as_json, read_scores
from steelyard.stats.intervals.percentiles import percentile_interval
from tests.bench.blocks_of_scores import blocks, config_of, value, weighed

TRUTH = {"a": {"d2": 1, "d4": 1}, "b": {"d9": 1}, "c": {"d1": 2, "d3": 1}}
RUN = {"a": ["d1", "d2", "d3", "d4"], "b": ["d1", "d9"], "c": []}
MEASURES = ["mrr@10", "precision@2"]


def config(tmp_path, **settings):
    return config_of(tmp_path, TRUTH, RUN, **{"measures": MEASURES, "depths": [1, 3], **settings})


def oracle(query_id, docs, repetition):
    return [TRUTH[query_id].get(doc, 0.0) for doc in docs]


def test_the_tail_stays_and_relevant_documents_below_the_depth_are_not_brought_up(tmp_path):
    scores, ceilings = weighed(config(tmp_path), oracle)
    assert scores.systems == ["none", "mine@1", "mine@3"]
    # d4 is at 4, below the three that are reranked: d2 d1 d3 | d4.
    assert value(scores, "mine@3", "mrr@10", "a") == 1.0
    assert value(scores, "mine@3", "precision@2", "a") == 0.5
    assert value(scores, "mine@3", "mrr@10", "b") == 1.0
    assert value(ceilings, "ceiling@3", "precision@2", "a") == 0.5
    assert ceilings.systems == ["ceiling@1", "ceiling@3"]


def test_one_candidate_is_the_base_to_the_bit(tmp_path):
    truth = {f"q{i}": {"d1": 1, "d7": 1, f"d{i}": 2} for i in range(7)}
    run = {f"q{i}": [f"d{(i * j + j) % 11}" for j in range(1, 11)] for i in range(7)}
    measured = config_of(tmp_path, truth, run, depths=[1], measures=["ndcg@10", "map", "rbp"])
    scores, ceilings = weighed(measured, lambda q, docs, r: [-3.0 for _ in docs], repetitions=3)
    for others in (scores.values[1, :3], ceilings.values[0], *scores.repeats["mine@1"][:, :3]):
        assert np.array_equal(others, scores.values[0, :3])
    assert scores.run_digest("mine@1") == scores.run_digest("none") != ceilings.run_digest("ceiling@1")


def test_a_question_without_candidates_counts_zero_and_did_not_fail(tmp_path):
    scores, ceilings = weighed(config(tmp_path), oracle)
    c = scores.query_ids.index("c")
    assert not scores.values[:, :2, c].any()
    assert not scores.failed[:, c].any()
    assert scores.missing[:, c].all()
    assert np.isnan(scores.values[1:, 2 + COLUMNS.index("latency_ms"), c]).all()
    assert not ceilings.values[:, :, c].any()


def test_the_ceiling_counts_documents_below_the_depth_where_they_are(tmp_path):
    truth, run = {"a": {"d2": 1, "d4": 3}}, {"a": ["d1", "d2", "d3", "d4"]}
    measured = config_of(tmp_path, truth, run, depths=[3, 4], measures=["dcg@10"])
    _, ceilings = weighed(measured, lambda q, docs, r: [0.0 for _ in docs])
    assert value(ceilings, "ceiling@3", "dcg@10") == pytest.approx(1 + 3 / math.log2(5))
    assert value(ceilings, "ceiling@4", "dcg@10") == pytest.approx(3 + 1 / math.log2(3))


def test_a_failure_in_one_repetition_has_the_base_order_there_and_no_mean_latency(tmp_path):
    def flaky(query_id, docs, repetition):
        return None if (query_id, repetition) == ("a", 2) else oracle(query_id, docs, repetition)

    scores, _ = weighed(config(tmp_path), flaky, repetitions=3)
    a, latency = scores.query_ids.index("a"), 2 + COLUMNS.index("latency_ms")
    assert value(scores, "mine@3", "mrr@10", "a") == pytest.approx((1 + 0.5 + 1) / 3)
    assert scores.repeats["mine@3"][:, 0, a].tolist() == [1.0, 0.5, 1.0]
    assert value(scores, "mine@3", "first_changed", "a") == 1.0
    assert math.isnan(value(scores, "mine@3", "latency_ms", "a"))
    assert value(scores, "mine@3", "latency_ms", "b") == pytest.approx(2.0)
    assert scores.failed[1:, a].all()
    assert not scores.failed[0].any()
    assert np.isnan(scores.repeats["mine@3"][:, latency, a]).tolist() == [False, True, False]
    status = scores.frame.filter(system="mine@3", query_id="a", measure="latency_ms")["status"].item()
    assert status == "failed"


def test_a_question_that_always_fails_has_the_base_order_and_nothing_that_came_with_an_answer(tmp_path):
    scores, ceilings = weighed(config(tmp_path), lambda q, docs, r: None if q == "a" else oracle(q, docs, r))
    a = scores.query_ids.index("a")
    assert np.array_equal(scores.values[1:, :3, a], scores.values[[0, 0], :3, a])
    assert np.isnan(scores.values[1:, 3:, a]).all()
    assert scores.failed[1:, a].all()
    assert value(scores, "none", "mrr@10", "a") == 0.5
    assert value(ceilings, "ceiling@3", "mrr@10", "a") == 1.0


def test_values_are_means_of_repetitions(tmp_path):
    scores, _ = weighed(
        config(tmp_path), lambda q, docs, r: oracle(q, docs, r) if r == 1 else [0.0] * len(docs), repetitions=2
    )
    assert value(scores, "mine@3", "mrr@10", "a") == 0.75
    assert scores.repeats["mine@3"][:, 0, 0].tolist() == [1.0, 0.5]
    assert value(scores, "mine@3", "first_changed", "a") == 0.5
    assert value(scores, "mine@3", "ties", "a") == pytest.approx((1 / 3 + 1) / 2)


def test_columns_by_hand(tmp_path):
    scores, _ = weighed(config(tmp_path), lambda q, docs, r: list(range(len(docs))))
    # d3 d2 d1 | d4 for a; mrr@10 looks at 10 places, more than there are.
    row = {name: value(scores, "mine@3", name, "a") for name in COLUMNS}
    assert row["first_changed"] == 1.0
    assert row["overlap"] == 1.0
    assert row["kendall_tau"] == -1.0
    assert row["ties"] == 0.0
    assert row["tokens"] == 21
    assert row["if_unjudged_relevant"] == 1.0
    assert math.isnan(row["truncated_pairs"])
    assert value(scores, "none", "latency_ms") == value(scores, "none", "tokens") == 0.0


def test_scores_and_ceilings_read_back(tmp_path):
    for scores in weighed(config(tmp_path, measures=["ndcg@10"]), oracle, repetitions=2):
        (tmp_path / "scores.json").write_text(as_json(scores))
        again = read_scores(tmp_path / "scores.json")
        assert np.array_equal(again.values, scores.values, equal_nan=True)
        assert as_json(again) == as_json(scores)


def test_without_rankings_the_candidates_alone_are_weighed(tmp_path):
    measured = config(tmp_path)
    rankings, requests = blocks(measured, open_candidates(measured), oracle)
    scores, ceilings = weigh(measured, open_candidates(measured), rankings.clear(), requests.clear())
    assert scores.systems == ["none"]
    assert len(ceilings.systems) == 2


def test_scores_of_other_candidates_are_refused(tmp_path):
    measured = config(tmp_path)
    rankings, requests = blocks(measured, open_candidates(measured), oracle)
    longer = rankings.with_columns(scores=pl.concat_list("scores", pl.lit(0.5)))
    with pytest.raises(InputError, match="mine@1: gave 2 scores for question 'a', which has 1 candidates"):
        weigh(measured, open_candidates(measured), longer, requests)


def test_questions_without_gold_for_lists_are_refused(tmp_path):
    measured = config(tmp_path)
    lines = "".join(f'{{"qid": "{q}", "query": "{q}?", "answer": "yes"}}\n' for q in TRUTH)
    (tmp_path / "qrels.txt").write_text(lines)
    with pytest.raises(InputError, match=r"qrels: no question has gold for what is retrieved"):
        weighed(measured, oracle)


def test_measures_of_answers_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"faithfulness is of answers, and rerankers change lists alone"):
        weighed(config(tmp_path, measures=["faithfulness"]), oracle)


def test_intervals_of_latencies_are_those_of_the_scores(tmp_path):
    """Which gates read: both take neighbours in time together where they are alike."""
    truth = {f"q{i:03}": {"d": 1} for i in range(200)}
    measured = config_of(tmp_path, truth, {q: ["d", "x"] for q in truth}, depths=[2])
    candidates = open_candidates(measured)
    rankings, requests = blocks(measured, candidates, lambda q, docs, r: [1.0, 0.0], repetitions=2)
    slow = np.random.default_rng(5).normal(0, 1, (2, 10)).repeat(20, axis=1).ravel()  # Twenty at a time.
    requests = requests.with_columns(end_s=pl.Series(0.01 * np.exp(slow)))
    scores, _ = weigh(measured, candidates, rankings, requests)
    scores = scores.with_percentiles("latency_ms:p50")
    i, j = scores.systems.index("mine@2"), [str(measure) for measure in scores.measures].index("latency_ms:p50")
    (interval,) = time_percentiles(requests, [0.5])
    assert (scores.intervals.low[i, j], scores.intervals.high[i, j]) == (interval.low, interval.high)
    plain = percentile_interval(requests["end_s"] * 1000, 0.5, clusters=requests["query_id"])
    assert interval.high - interval.low > 2 * (plain.high - plain.low)
