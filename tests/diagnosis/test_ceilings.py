from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.corpus import Chunks, Document
from steelyard.data.outputs import Outputs
from steelyard.diagnosis.ceilings import curves
from steelyard.diagnosis.diagnosing import diagnose
from steelyard.diagnosis.lists import is_head, lists_of
from steelyard.experiment.door.evaluation import evaluate, weigh
from steelyard.measures import parse
from steelyard.measures.perfect import perfect_reranking
from tests.diagnosis import library
from tests.hypothesis_profiles import examples

NAMES = ("precision@2", "recall@2", "hit_rate@1", "mrr", "ndcg@3", "ndcg(gain=exp)@2", "map")


@examples(60)
@given(
    gains=st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([-1.0, 0.0, 1.0, 2.0, 3.0]), min_size=1),
    listed=st.permutations("abcdef"),
    n=st.integers(1, 5),
)
def test_no_order_of_the_first_n_is_better(gains: dict[str, float], listed: list[str], n: int) -> None:
    """By brute force over all orders; a truth by ids."""
    best = perfect_reranking(weigh({"q": gains}, {"q": listed}).alignments[0], n)
    orders = {f"q{i}": [*head, *listed[n:]] for i, head in enumerate(permutations(listed[:n]))}
    every = weigh(dict.fromkeys(orders, gains), orders).alignments[0]
    for name in NAMES:
        spec = parse(name)
        assert spec(best)[0] == pytest.approx(spec(every).max())


@examples(40)
@given(
    spans=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), min_size=1, max_size=3),
    listed=st.permutations([f"d#{i}" for i in range(1, 6)]),
    n=st.integers(1, 5),
    k=st.integers(1, 3),
)
def test_of_pieces_it_lies_between_the_list_and_the_best_order(
    spans: list[tuple[int, int]], listed: list[str], n: int, k: int
) -> None:
    """Chunks share pieces, so a perfect order of pieces is a lower bound; without sharing it is exact.

    It is a lower bound too where chunks hold a piece together, as chunks down to there keep their order.
    """
    evidence = [{"doc": "d", "start": a, "end": a + b} for a, b in spans]
    orders = {"q": listed} | {f"q{i}": [*head, *listed[n:]] for i, head in enumerate(permutations(listed[:n]))}
    asked = [{"qid": qid, "query": "?", "evidence": evidence} for qid in orders]
    lines = [{"qid": qid, "retrieved": order} for qid, order in orders.items()]
    spec = parse(f"evidence_recall@{k}")
    for step, rule in ((15, "any"), (15, "share>=0.5"), (20, "contains")):
        chunks = Chunks.of(
            [Document("d", "x" * 100)], lambda text, step=step: [(a * step, a * step + 20) for a in range(5)]
        )
        a = weigh(asked, Outputs(lines), documents=chunks, rule=rule).alignments[0]
        got, value = spec(perfect_reranking(a, n))[0], spec(a)
        assert value[0] <= got + 1e-12
        assert got <= value[1:].max() + 1e-12
        if rule == "contains" and a.evidence is not None and not a.evidence.together.any():
            assert got == pytest.approx(value[1:].max())


def test_the_tail_stays_and_what_is_judged_bad_goes_behind_the_unjudged() -> None:
    a = weigh({"q": {"bad": 0, "good": 1, "better": 2, "late": 3}}, {"q": ["bad", "x", "good", "better", "late"]})
    best = perfect_reranking(a.alignments[0], 4)
    assert best.hit_rank.tolist() == [1, 2, 4, 5]
    assert best.hit_gain.tolist() == [2, 1, 0, 3]


def test_nothing_judged_nothing_moved() -> None:
    a = weigh({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["x"], "r": []}).alignments[0]
    assert perfect_reranking(a, 10).hit_rank.tolist() == []


def test_unknown_depths_are_not_a_number() -> None:
    weighing = library.weighed(library.questions(20), library.outputs("a", [3] * 20, depth=20))
    found = diagnose(weighing, k=2).ceilings
    assert found.ns == (10, 20, 50, 100)
    assert np.isnan(found.perfect).tolist() == [[[False, False, True, True]] * 5]
    assert found.perfect[0, 0, 0] == 1.0
    assert found.reached[0, 0] == 0.0
    assert found.depth == [20]
    assert np.isnan(found.deeper[0, 0]).tolist() == [False, False, True, True]


def test_lists_that_hold_the_corpus_are_known_to_any_depth() -> None:
    weighing = library.weighed(library.questions(2), library.outputs("a", [3, 4], depth=1000))
    assert not np.isnan(diagnose(weighing, k=2).ceilings.perfect).any()


def test_lists_that_end_by_themselves_are_known_to_any_depth() -> None:
    """No common depth cut them: one alone is the longest."""
    asked = library.questions(12)
    lines = [{"qid": q["qid"], "retrieved": [f"f{j}#1" for j in range(3 + i)]} for i, q in enumerate(asked)]
    weighing = library.weighed(asked, Outputs(lines, name="a"))
    assert lists_of(weighing.weighed[0]).reach(100)
    equal = [{"qid": q["qid"], "retrieved": [f"f{j}#1" for j in range(14)]} for q in asked]
    assert not lists_of(library.weighed(asked, Outputs(equal)).weighed[0]).reach(100)


def test_captured() -> None:
    """Gold at 6 before; half of it comes to 1, where all of it could be."""
    before, after = [6] * 10, [1] * 5 + [6] * 5
    weighing = library.weighed(library.questions(10), library.outputs("a", after, before=before))
    found = diagnose(weighing, k=5)
    row = next(row for row in found.captured if (row.measure, row.n) == ("mrr@5", 10))
    assert (row.base, row.reached, row.ceiling, row.share) == (0.0, 0.5, 1.0, 0.5)
    assert found.ceilings.perfect[0, 0, 0] == 1.0


def test_nothing_is_captured_where_there_is_no_headroom() -> None:
    weighing = library.weighed(
        library.questions(10), library.outputs("a", [1] * 9 + [3], before=[1] * 10), library.outputs("b", [1] * 10)
    )
    found = diagnose(weighing, k=5)
    assert {row.system for row in found.captured} == {"a"}
    assert all(np.isnan(row.share) for row in found.captured)


def test_the_better_of_two() -> None:
    a, b = library.outputs("a", [1, 1, None, 2]), library.outputs("b", [None, 1, 1, 1])
    found = diagnose(library.weighed(library.questions(4), a, b), k=5)
    pair = next(pair for pair in found.ceilings.pairs if pair.measure == "mrr@5")
    assert (pair.mean, pair.gain, pair.first_only, pair.second_only) == (1.0, 0.25, 1, 2)


def test_candidates_are_the_list_where_there_is_no_reranker() -> None:
    weighing = library.weighed(library.questions(3), library.outputs("a", [2, 4, 30], before=[2, 4, 30], k=5))
    lists = lists_of(weighing.weighed[0])
    assert (lists.reranked, lists.depth, lists.final_depth) == (False, 100, 100)
    assert lists_of(weighing.weighed[0], reranked=True).reranked
    assert is_head(weighing.weighed[0].alignment, lists.before)


def test_told_to_have_no_reranker_though_the_order_changed() -> None:
    """The user's word counts, and candidates that are not the same list are then of no use."""
    weighing = library.weighed(library.questions(3), library.outputs("a", [1, 1, 1], before=[2, 4, 30], k=5))
    lists = lists_of(weighing.weighed[0], reranked=False)
    assert (lists.reranked, lists.depth) == (False, 5)


def test_questions_without_candidates_count_as_they_were_returned() -> None:
    lines = [
        {"qid": "q000", "retrieved": ["f0#1", "g0#1"], "candidates": ["g0#1", "f0#1", "f1#1"]},
        {"qid": "q001", "retrieved": ["f0#1", "g1#1"]},
    ]
    lists = lists_of(library.weighed(library.questions(2), Outputs(lines)).weighed[0])
    assert lists.reranked
    assert parse("mrr")(lists.before).tolist() == [1.0, 0.5]
    assert parse("evidence_recall@1")(lists.before).tolist() == [1.0, 0.0]
    assert parse("span_recall@1")(lists.before).tolist() == [1.0, 0.0]


@examples(30)
@given(
    ranks=st.lists(st.one_of(st.none(), st.integers(1, 30)), min_size=2, max_size=6),
    min_gain=st.sampled_from([1.0, 2.0]),
)
def test_curves_are_what_evaluate_gives(ranks: list[int | None], min_gain: float) -> None:
    weighing = library.weighed(library.questions(len(ranks)), library.outputs("a", ranks, depth=25))
    drawn = curves(["a"], [lists_of(weighing.weighed[0])], min_gain=min_gain)
    for n, name in enumerate(drawn.names):
        for j, k in enumerate(drawn.ks):
            scores = weighing.scores(f"{name}@{k}", min_gain=min_gain)
            want = 0 if scores.without_gold else scores.means[0, 0]
            assert np.isnan(drawn.values[0, n, j]) if k > 25 else drawn.values[0, n, j] == want
            assert k > 25 or 0 <= drawn.low[0, n, j] <= want <= drawn.high[0, n, j] <= 1


def test_curves_of_one_question_have_no_interval() -> None:
    scores = evaluate({"q": {"a": 1}}, {"q": ["a"]}, "mrr@1")
    drawn = curves(["a"], [lists_of(weigh({"q": {"a": 1}}, {"q": ["a"]}).weighed[0])])
    assert drawn.at(0, "mrr", 1) == scores.means[0, 0] == 1.0
    assert np.isnan(drawn.low[0, :, 0]).all()
