"""Ceilings against all orders of the first candidates, tried one by one: for labels by id, and for gold pieces."""

import pickle
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.bench.quality.ceilings import has_ideal_order, ideal_values, most_covered
from steelyard.data.corpus import Chunks, Document
from steelyard.experiment.table.json import as_json, read_scores
from steelyard.measures import Measure, parse
from tests.bench.blocks_of_scores import config_of, value, weighed
from tests.hypothesis_profiles import examples
from tests.measures.random_collections import DOCS, labels, some_specs

WORDS = ("anchor", "beacon", "cable", "drum", "engine")


def _orders(listed: list[str], n: int) -> dict[str, list[str]]:
    """Every order of the first n, the tail as it is: a question each."""
    return {f"q{i}": [*order, *listed[n:]] for i, order in enumerate(permutations(listed[:n]))}


def _ideal(weighing: sy.Weighing, spec: Measure, n: int) -> float:
    weighed_run = weighing.weighed[0]
    counts = np.minimum(weighed_run.alignment.n_retrieved, n)
    return float(ideal_values(weighed_run, spec, counts)[weighing.query_ids.index("q0")])


@examples(150)
@given(labels(min_size=1), st.permutations(DOCS), st.integers(0, 7), st.integers(1, 4), some_specs())
def test_no_order_of_the_first_documents_is_better_and_one_is_as_good(gains, docs, length, n, specs) -> None:
    orders = _orders(list(docs[:length]), n)
    weighing = sy.weigh(dict.fromkeys(orders, gains), orders)
    for spec in specs:
        if not has_ideal_order(spec, weighing.alignments[0]):
            continue
        try:
            values = spec(weighing.alignments[0])
        except sy.MeasureError:
            continue
        assert _ideal(weighing, spec, n) == pytest.approx(values.max(), abs=1e-12), spec


@st.composite
def _chunks(draw: st.DrawFn) -> list[list[str]]:
    """Which gold words each chunk holds: some share chunks, some are in several."""
    return draw(st.lists(st.lists(st.sampled_from(WORDS), max_size=3, unique=True), min_size=1, max_size=6))


@examples(100)
@given(
    _chunks(), st.integers(1, 5), st.integers(1, 4), st.lists(st.sampled_from("gh"), max_size=2),
    st.lists(st.sampled_from([1, 2]), min_size=len(WORDS), max_size=len(WORDS)), st.sampled_from([1, 2]),
)  # fmt: skip
def test_no_order_of_the_first_chunks_shows_more_gold_and_one_shows_as_much(chunks, n, k, groups, gains, least) -> None:
    texts = {f"c{i}": " ".join(["filler", *words]) for i, words in enumerate(chunks)}
    orders = _orders(list(texts), n)
    evidence = [{"text": word, "gain": gain} for word, gain in zip(WORDS, gains, strict=True)]
    for piece, group in zip(evidence, groups, strict=False):
        piece |= {"group": group, "gain": 1}
    questions = [{"qid": q, "query": "?", "evidence": evidence} for q in orders]
    outputs = [{"qid": q, "retrieved": [{"id": id, "text": texts[id]} for id in ids]} for q, ids in orders.items()]
    weighing = sy.weigh(questions, sy.Outputs(outputs))
    assume(weighing.by_evidence)
    for name in ("evidence_recall", "recall", "f1", "recall_cap", "set_map", "precision", "ndcg", "mrr", "map"):
        spec = parse(f"{name}@{k}", min_gain=least)
        values = spec(weighing.alignments[0])
        assert _ideal(weighing, spec, n) == pytest.approx(values.max(), abs=1e-12), spec


@examples(60)
@given(
    st.lists(st.tuples(st.integers(0, 55), st.integers(1, 25)), min_size=1, max_size=4, unique=True),
    st.permutations(range(6)),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_spans_in_a_whole_corpus_count_relevant_chunks(spans, order, n, k) -> None:
    """Six chunks of ten characters: recall counts the chunks that hold a span, and evidence_recall the spans."""
    document = Document("d", "0123456789" * 6)
    chunks = Chunks([document], np.zeros(6, np.int64), np.arange(0, 60, 10), np.arange(10, 61, 10))
    orders = _orders([chunks.ids[i] for i in order], n)
    evidence = [{"doc": "d", "start": start, "end": min(start + length, 60)} for start, length in spans]
    questions = [{"qid": q, "query": "?", "evidence": evidence} for q in orders]
    outputs = [{"qid": q, "retrieved": [{"id": id} for id in ids]} for q, ids in orders.items()]
    weighing = sy.weigh(questions, sy.Outputs(outputs), documents=chunks)
    for name in ("evidence_recall", "recall", "f1", "recall_cap", "set_map", "ndcg"):
        spec = parse(f"{name}@{k}")
        values = spec(weighing.alignments[0])
        if weighing.alignments[0].evidence.together.any():
            assert np.isnan(
                _ideal(weighing, spec, n)
            )  # Three chunks have some of a span: which choice is best is open.
            continue
        assert _ideal(weighing, spec, n) == pytest.approx(values.max(), abs=1e-12), spec


@examples(200)
@given(st.lists(st.integers(0, 63), max_size=6), st.integers(1, 4))
def test_the_chunks_that_cover_most_are_those_of_all_choices(masks, k):
    unions = [0]
    for some in combinations(masks, min(k, len(masks))):
        union = 0
        for mask in some:
            union |= mask
        unions.append(union)
    assert most_covered(masks, k) == max(union.bit_count() for union in unions)


def test_too_many_choices_are_not_known():
    pairs = [1 << i | 1 << j for i, j in combinations(range(30), 2)]
    assert most_covered(pairs, 15) == 30
    triples = [1 << i | 1 << j | 1 << 30 for i, j in combinations(range(30), 2)]
    assert most_covered(triples, 1) == 3
    assert most_covered(triples, 6) is None


@pytest.mark.parametrize(
    "name",
    [
        "span_recall@5",
        "n_retrieved",
        "unjudged@5",
        "dcg(gain={1:5,2:3})@5",
        "dcg(gain={0:1,1:2,2:3})@5",
        "mrr(min_gain=0)",
    ],
)
def test_where_the_best_order_is_not_known_nothing_is_said(name):
    weighing = sy.weigh({"q0": {"a": 1, "b": 2, "c": 0}}, {"q0": ["b", "a"]})
    assert not has_ideal_order(parse(name), weighing.alignments[0])
    assert np.isnan(_ideal(weighing, parse(name), 2))


@pytest.mark.parametrize(
    "name", ["ndcg", "ndcg(gain=exp)@3", "err", "map", "rbp", "recall@2", "dcg(gain={0.25:1,0.5:1})"]
)
def test_labels_of_any_size_have_a_best_order(name):
    weighing = sy.weigh({"q0": {"a": 0.25, "b": 0.5, "c": 0, "d": -1}}, {"q0": ["a", "b"]})
    assert has_ideal_order(parse(name), weighing.alignments[0])


def test_labels_that_gain_alike_may_change_places():
    weighing = sy.weigh({"q0": {"a": 1, "b": 2}}, {"q0": ["x", "a", "b"]})
    spec = parse("dcg(gain={1:3,2:3})@2")
    assert has_ideal_order(spec, weighing.alignments[0])
    assert _ideal(weighing, spec, 2) == 3.0


def test_documents_count_where_chunks_share_them(tmp_path):
    """Three chunks of two documents: the first two chunks are one document, so nothing can change places with it."""
    config = config_of(tmp_path, {"q": {"b": 1}}, {"q": ["c1", "c2", "c3"]}, depths=[2, 3], measures=["mrr"])
    docs = {"c1": "a", "c2": "a", "c3": "b"}
    items = ", ".join(f'{{"id": "{c}", "doc": "{d}", "text": "{c}"}}' for c, d in docs.items())
    (tmp_path / "first.run").write_text(f'{{"qid": "q", "retrieved": [{items}]}}\n')
    (tmp_path / "qrels.txt").write_text('{"qid": "q", "query": "q?", "evidence": [{"doc": "b"}]}\n')
    scores, ceilings = weighed(config, lambda q, listed, r: [float(len(listed))] * len(listed))
    assert value(scores, "none", "mrr") == 0.5
    assert value(ceilings, "ceiling@2", "mrr") == 0.5
    assert value(ceilings, "ceiling@3", "mrr") == 1.0


def _deep(folder: Path) -> sy.Scores:
    """A bench of 20 questions, the relevant document of every second one behind the first 10 candidates."""
    run = {f"q{i:02}": [f"d{i}-{j}" for j in range(20)] for i in range(20)}
    truth = {q: {listed[15 if i % 2 else 5]: 1} for i, (q, listed) in enumerate(run.items())}
    config = config_of(folder, truth, run, depths=[10, 20], measures=["mrr", "recall@5"])
    return weighed(config, lambda q, first, repetition: [float(doc in truth[q]) for doc in first])[0]


def test_scores_know_the_best_order_of_what_each_system_reranks(tmp_path):
    scores = _deep(tmp_path)
    assert scores.systems == ["none", "mine@10", "mine@20"]
    want = [[np.nan, np.nan], [0.5 + 0.5 / 16, 0.5], [1.0, 1.0]]
    np.testing.assert_allclose(scores.ceiling[:, :2], want)
    assert np.isnan(scores.ceiling[:, 2:]).all()
    assert (scores.reachable[:, :2] == 1).all()
    (path := tmp_path / "scores.json").write_text(as_json(scores), encoding="utf-8")
    parts = [scores.filter(query_ids=ids) for ids in (scores.query_ids[:7], scores.query_ids[7:])]
    for again in (read_scores(path), sy.Scores.concat(parts), pickle.loads(pickle.dumps(scores))):
        np.testing.assert_array_equal(again.ceiling, scores.ceiling)
    np.testing.assert_allclose(scores.filter(systems="mine@10", query_ids=["q00", "q02"]).ceiling[0, :2], [1, 1])
    assert scores.filter(measures="recall@5:p50").ceiling.tolist()[1:] == [[0.5], [1.0]]
    assert '"ceilings"' not in as_json(sy.evaluate({"q": {"d": 1}}, {"q": ["d"]}, "mrr"))
