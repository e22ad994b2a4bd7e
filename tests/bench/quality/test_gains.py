"""Quality and diagnostics of rerankers: identity, oracle and noise, pairs, corrections, bounds."""

import math

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.bench.candidates import open_candidates
from steelyard.bench.frames import DIAGNOSTICS, QUALITY
from steelyard.bench.quality.gains import quality
from steelyard.bench.quality.lists import diagnostics, reranked_list
from steelyard.bench.run.preparing import weigh
from steelyard.comparison.comparison import compare
from steelyard.comparison.sensitivity import sensitivity
from tests.bench.blocks_of_scores import blocks, config_of, weighed

DOCS = [f"d{i}" for i in range(12)]


def _collection(n=40, seed=1, n_relevant=3):
    rng = np.random.default_rng(seed)
    truth = {f"q{i}": dict.fromkeys(rng.choice(DOCS, n_relevant, replace=False).tolist(), 1) for i in range(n)}
    return truth, {q: rng.permutation(DOCS).tolist() for q in truth}


def _bench(tmp_path, score, *, repetitions=1, collection=None, **settings):
    truth, run = collection or _collection()
    config = config_of(tmp_path, truth, run, **{"depths": [1, 5, 12], "measures": ["ndcg@5", "mrr"], **settings})
    candidates = open_candidates(config)
    rankings, requests = blocks(
        config, candidates, lambda q, docs, r: score(truth[q], docs, r), repetitions=repetitions
    )
    scores, ceilings = weigh(config, candidates, rankings, requests)
    return config, scores, ceilings, rankings, requests


def _oracle(gains, docs, repetition):
    return [gains.get(doc, 0) for doc in docs]


def test_the_frame_has_a_row_for_each_reranker_depth_and_measure(tmp_path):
    config, scores, ceilings, *_ = _bench(tmp_path, _oracle)
    frame = quality(config.options, scores, ceilings)
    assert frame.schema == QUALITY
    assert frame.select("depth", "measure").rows() == [(n, m) for n in (1, 5, 12) for m in ("ndcg@5", "mrr")]
    assert set(frame["n"]) == {40}


def test_what_so_many_questions_show_is_as_of_the_comparison(tmp_path):
    bench = _bench(tmp_path, _oracle, measures=["ndcg@5"])
    frame, compared = (
        quality(bench[0].options, *bench[1:3]),
        compare(bench[1].filter(measures="ndcg@5"), baseline="none").frame,
    )
    for depth, measure, detectable in frame.select("depth", "measure", "detectable").iter_rows():
        least = compared.filter(system=f"mine@{depth}", measure=measure)["detectable"].item()
        assert detectable == (pytest.approx(least) if depth > 1 else None)


def test_one_candidate_is_the_base(tmp_path):
    config, scores, ceilings, *_ = _bench(tmp_path, lambda gains, docs, r: [0.1 * r for _ in docs], repetitions=3)
    row = quality(config.options, scores, ceilings).filter(depth=1, measure="mrr").row(0, named=True)
    assert row["difference"] == 0
    assert (row["won"], row["tied"], row["lost"]) == (0, 40, 0)
    assert row["reranked"] == row["base"] == row["ceiling"]
    assert row["captured"] is None
    assert (row["p_corrected"], row["verdict"]) == (1.0, "not_shown")


def test_an_oracle_captures_all_of_the_headroom(tmp_path):
    config, scores, ceilings, *_ = _bench(tmp_path, _oracle)
    rows = quality(config.options, scores, ceilings).filter(pl.col("depth") > 1)
    assert rows["captured"].to_list() == pytest.approx([1.0] * 4)
    assert rows["captured_high"].to_list() == [1.0] * 4
    assert rows["captured_low"].min() > 0.5
    assert rows["reranked"].to_list() == pytest.approx(rows["ceiling"].to_list())
    assert set(rows["verdict"]) == {"better"}
    assert rows.filter(depth=12)["ceiling"].to_list() == [1.0, 1.0]


def test_the_worst_order_is_worse_and_captures_less_than_nothing(tmp_path):
    config, scores, ceilings, *_ = _bench(tmp_path, lambda gains, docs, r: [-gains.get(doc, 0) for doc in docs])
    row = quality(config.options, scores, ceilings).filter(depth=12, measure="ndcg@5").row(0, named=True)
    assert row["verdict"] == "worse"
    assert row["captured_high"] < 0
    assert row["lost"] > 30


def test_p_and_intervals_are_those_of_compare(tmp_path):
    def noisy(gains, docs, r):
        weight = 0.5 if len(docs) == 12 else 0.03
        return [gains.get(doc, 0) * weight + (hash_of(doc, len(docs)) % 97) / 97 for doc in docs]

    def hash_of(doc, n):
        return int(doc[1:]) * 31 + n * 17

    config, scores, ceilings, *_ = _bench(tmp_path, noisy, measures=["ndcg@5"])
    frame = quality(config.options, scores, ceilings)
    assert {"better", "not_shown"} <= set(frame.filter(pl.col("depth") > 1)["verdict"])
    compared = compare(scores.filter(measures="ndcg@5"), baseline="none").frame
    for depth, measure, low, high, p, adjusted in frame.select(
        "depth", "measure", "difference_low", "difference_high", "p", "p_corrected"
    ).iter_rows():
        row = compared.filter(system=f"mine@{depth}", measure=measure).row(0, named=True)
        assert (p, adjusted) == pytest.approx((row["p"], row["adjusted"]))
        assert [low, high] == pytest.approx([row["low"], row["high"]])
        if low is not None:
            assert (low > 0 or high < 0) == (adjusted <= 0.05)


def test_questions_that_failed_have_the_base_order_so_that_all_rows_are_of_the_same_questions(tmp_path):
    truth, run = _collection()
    config = config_of(tmp_path, truth, run, depths=[5], measures=["mrr"],
                       systems={"none": {}, "mine": {"rerank": "lexical"}, "other": {"rerank": "lexical"}})  # fmt: skip
    candidates = open_candidates(config)

    def fails(query_id, docs, r):
        return None if query_id < "q2" else _oracle(truth[query_id], docs, r)

    parts = [
        blocks(config, candidates, fails),
        blocks(config, candidates, lambda q, docs, r: _oracle(truth[q], docs, r), system="other"),
    ]
    rankings, requests = (pl.concat(frames) for frames in zip(*parts, strict=True))
    scores, ceilings = weigh(config, candidates, rankings, requests)
    mine, other = quality(config.options, scores, ceilings).iter_rows(named=True)
    n_failed = sum(q < "q2" for q in truth)
    assert (mine["n"], other["n"]) == (40, 40)
    assert mine["base"] == other["base"]
    assert mine["base"] == pytest.approx(scores.values[0, 0].mean())
    failed = [q < "q2" for q in scores.query_ids]
    assert np.array_equal(scores.values[1, 0, failed], scores.values[0, 0, failed])
    assert diagnostics(config.options, scores, rankings, requests)["n_failed"].to_list() == [n_failed, 0]


def test_a_reranker_that_always_fails_is_no_loser(tmp_path):
    config, scores, ceilings, rankings, requests = _bench(tmp_path, lambda gains, docs, r: None)
    frame = quality(config.options, scores, ceilings)
    assert set(frame["verdict"]) == {"not_shown"}
    assert set(frame["n"]) == {40}
    assert frame["reranked"].equals(frame["base"])
    assert diagnostics(config.options, scores, rankings, requests)["overlap"].null_count() == 3


def test_measures_without_a_known_best_order_have_no_ceiling(tmp_path):
    config, scores, ceilings, *_ = _bench(tmp_path, _oracle, measures=["mrr(min_gain=0)", "gm_map", "unjudged@3"])
    frame = quality(config.options, scores, ceilings).filter(depth=12)
    assert frame["ceiling"].is_null().to_list() == [True, False, True]
    assert frame["captured"].null_count() == 3
    # No test of a geometric mean; and fewer unjudged documents are better.
    assert frame["p"].is_null().to_list() == [False, True, False]
    assert frame.filter(measure="unjudged@3")["verdict"].item() == "better"


def test_a_load_test_makes_no_lists(tmp_path):
    config, scores, _, rankings, requests = _bench(tmp_path, _oracle)
    of_load = scores.filter(measures="latency_ms")
    assert quality(config.options, of_load, None).is_empty()
    assert diagnostics(config.options, of_load, rankings, requests).is_empty()


def test_percentiles_are_tested_as_compare_tests_them(tmp_path):
    def flaky(gains, docs, r):
        return None if r == 2 and "d1" in docs[:2] else [gains.get(doc, 0) for doc in docs]

    collection, both = _collection(n=150), ["ndcg@5:p50", "ndcg@5"]  # Percentiles alone are refused.
    config, scores, ceilings, *_ = _bench(
        tmp_path, flaky, repetitions=2, collection=collection, measures=both, depths=[5, 12]
    )
    frame = quality(config.options, scores, ceilings.filter(measures=["ndcg@5:p50"]))
    for row in frame.iter_rows(named=True):
        assert row["verdict"] == "better"
        assert row["difference_low"] < row["difference"] < row["difference_high"]
        assert row["captured"] is None
    steady, *others = _bench(tmp_path, _oracle, collection=collection, measures=both, depths=[5, 12])[:3]
    others = [scores.filter(measures=["ndcg@5:p50"]) for scores in others]
    frame, compared = quality(steady.options, *others), compare(others[0], baseline="none").frame
    for depth, low, high, p, adjusted in frame.select(
        "depth", "difference_low", "difference_high", "p", "p_corrected"
    ).iter_rows():
        row = compared.filter(system=f"mine@{depth}").row(0, named=True)
        assert [low, high, p, adjusted] == pytest.approx([row[name] for name in ("low", "high", "p", "adjusted")])


def test_clusters_count_once(tmp_path):
    truth, run = _collection(n=10)
    several = {f"{q}x{i}": gains for q, gains in truth.items() for i in range(4)}
    lists = {f"{q}x{i}": listed for q, listed in run.items() for i in range(4)}
    of_one = _bench(tmp_path, _oracle, collection=(several, lists))
    alone = quality(of_one[0].options, *of_one[1:3])
    queries = "".join(f'{{"qid": "{q}", "query": "?", "topic": "{q[:2]}"}}\n' for q in several)
    (tmp_path / "queries.jsonl").write_text(queries)
    config = config_of(tmp_path, several, lists, depths=[12], measures=["mrr"], cluster="topic")
    (tmp_path / "queries.jsonl").write_text(queries)
    scores, ceilings = weighed(config, lambda q, docs, r: _oracle(several[q], docs, r))
    clustered = quality(config.options, scores, ceilings).row(0, named=True)
    independent = alone.filter(depth=12, measure="mrr").row(0, named=True)
    assert clustered["difference"] == pytest.approx(independent["difference"])
    assert clustered["p"] > independent["p"]


def test_diagnostics_by_hand(tmp_path):
    truth = {"q": {"d1": 1, "d2": 0}, "r": {"d1": 1}, "without": {"d1": 1}}
    collection = (truth, {"q": ["d3", "d2", "d1", "d4"], "r": ["d1"]})
    config, scores, _, rankings, requests = _bench(
        tmp_path,
        lambda gains, docs, r: [gains.get(doc, 0) for doc in docs],
        collection=collection,
        depths=[3],
        measures=["precision@2"],
    )
    requests = requests.with_columns(n_truncated=pl.lit(1, pl.Int64))
    frame = diagnostics(config.options, scores, rankings, requests)
    assert frame.schema == DIAGNOSTICS
    row = frame.row(0, named=True)
    # q: d3 d2 d1 | d4 becomes d1 d3 d2 | d4; r has one document, and the third question none.
    assert row["first_changed"] == 0.5
    assert (row["k"], row["overlap"]) == (2, pytest.approx((0.5 + 1) / 2))
    assert row["tau"] == pytest.approx(1 - 2 * 2 / 3)
    assert row["ties"] == pytest.approx(1 / 3)
    assert row["truncated"] == pytest.approx(2 / 4)
    assert (row["judged_before"], row["judged_after"]) == (0.75, 0.75)
    assert (row["worst"], row["best"]) == pytest.approx((1 / 3, 1.5 / 3))
    assert (row["n"], row["n_short"], row["n_failed"], row["n_unstable"]) == (3, 2, 0, 0)


def test_bounds_by_labels_and_judged_shares_are_those_of_compare(tmp_path):
    config, scores, _, rankings, requests = _bench(tmp_path, _oracle, depths=[5])
    frame = diagnostics(config.options, scores, rankings, requests)
    truth, run = _collection()
    lists = {q: reranked_list(docs, _oracle(truth[q], docs[:5], 1)) for q, docs in run.items()}
    weighing = sy.weigh(truth, {"none": run, "mine": lists})
    bounds = sensitivity(weighing.systems, weighing.alignments, [sy.parse("ndcg@5")])
    row = frame.row(0, named=True)
    assert [row["worst"], row["best"]] == pytest.approx([bounds.low[1, 0], bounds.high[1, 0]])
    assert [row["judged_before"], row["judged_after"]] == pytest.approx(bounds.judged[:, 0].tolist())


def test_orders_that_differ_between_repetitions_are_counted(tmp_path):
    config, scores, _, rankings, requests = _bench(
        tmp_path, lambda gains, docs, r: [float(i == r) for i in range(len(docs))], repetitions=2, depths=[1, 2, 5]
    )
    assert diagnostics(config.options, scores, rankings, requests)["n_unstable"].to_list() == [0, 40, 40]


def test_questions_with_a_repaired_ranking_are_counted(tmp_path):
    config, scores, _, rankings, requests = _bench(
        tmp_path, lambda gains, docs, r: [float(i == r) for i in range(len(docs))], repetitions=2, depths=[5]
    )
    assert diagnostics(config.options, scores, rankings, requests)["n_repaired"].to_list() == [0]
    first = pl.col("query_id") == requests["query_id"][0]  # In both repetitions.
    repaired = requests.with_columns(n_repaired=pl.when(first).then(2).otherwise(0))
    assert diagnostics(config.options, scores, rankings, repaired)["n_repaired"].to_list() == [1]


@pytest.mark.slow
def test_noise_is_called_better_or_worse_in_five_of_a_hundred_benches(tmp_path):
    """Rerankers that shuffle a random first list: no row of the family may be shown, in 95% of benches."""
    shown = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        config, scores, ceilings, *_ = _bench(
            tmp_path,
            lambda gains, docs, r, rng=rng: rng.random(len(docs)).tolist(),
            collection=_collection(50, seed),
            depths=[3, 6, 12],
        )
        shown += (quality(config.options, scores, ceilings)["verdict"] != "not_shown").any()
    assert shown <= 10 + 3 * math.sqrt(200 * 0.05 * 0.95)


@pytest.mark.slow
def test_an_oracle_with_noise_captures_less_with_more_of_it(tmp_path):
    captured = []
    for noise in (0.0, 0.5, 1.0, 4.0):
        rng = np.random.default_rng(7)
        config, scores, ceilings, *_ = _bench(
            tmp_path,
            lambda gains, docs, r, rng=rng, sd=noise: (
                np.array([gains.get(doc, 0) for doc in docs]) + rng.normal(0, sd, len(docs))
            ).tolist(),
            collection=_collection(150),
            depths=[12],
        )
        captured.append(quality(config.options, scores, ceilings)["captured"][0])
    assert captured == sorted(captured, reverse=True)
    assert captured[0] == pytest.approx(1.0)
    assert abs(captured[-1]) < 0.35
