"""Alignments put together from queries, and taken apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.measures import Alignment
from steelyard.measures.alignment import best_first, by_query
from tests.align.random_evidence import Case, cases
from tests.align.test_resolver import assert_same
from tests.hypothesis_profiles import examples
from tests.measures.random_collections import Collection, collections

TRUTH = {"b": {"d1": 1, "d2": 0}, "a": {"d3": 2, "d4": 2}, "问": {"d5": 1}, "c": {}}
RUN = {"b": {"d1": 1.0, "d2": 1.0, "x": 1.0}, "a": {"d3": 2.0, "d4": 1.0}, "c": {"d1": 1.0}}


def aligned(truth: object, run: object) -> Alignment:
    (alignment,) = sy.weigh(truth, run).alignments
    return alignment


def same(one: Alignment, other: Alignment) -> None:
    """To the bit, down through evidence and ties; ids in whatever sequence."""
    assert list(one.query_id) == list(other.query_id)
    for name in ("pieces", "counted", "gold", "shown"):
        if one.evidence is not None and other.evidence is not None:
            same(getattr(one.evidence, name), getattr(other.evidence, name))
    assert (one.evidence is None) == (other.evidence is None)
    if one.evidence is not None and other.evidence is not None:
        assert_same(one.evidence.placed, other.evidence.placed)
    assert_same(replace(one, query_id=(), evidence=None), replace(other, query_id=(), evidence=None))


def split(n: int, data: st.DataObject) -> list[np.ndarray]:
    """Places of n queries in parts, some of which may be empty, in any order."""
    order = np.array(data.draw(st.permutations(range(n))), np.int64)
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=3)))
    return [order[a:b] for a, b in pairwise([0, *cuts, n])]


@examples(150)
@given(collections(), st.data())
def test_parts_of_the_queries_put_together_equal_all_at_once(collection: Collection, data: st.DataObject) -> None:
    whole = aligned(collection.truth, collection.run)
    places = split(whole.n_queries, data)
    same(Alignment.concat([whole.take(part) for part in places]), whole)


@examples(100)
@given(collections(), st.data())
def test_queries_aligned_apart_equal_queries_aligned_at_once(collection: Collection, data: st.DataObject) -> None:
    whole = aligned(collection.truth, collection.run)
    parts = []
    for part in split(whole.n_queries, data):
        ids = [whole.query_id[q] for q in part]
        run = {query_id: collection.run[query_id] for query_id in ids if query_id in collection.run}
        if run:
            parts.append(aligned({query_id: collection.truth[query_id] for query_id in ids}, run))
        elif ids:
            parts.append(whole.take(part))
    same(Alignment.concat(parts), whole)


@examples(60)
@given(cases(corpus=True), st.data())
def test_evidence_aligned_apart_equals_evidence_aligned_at_once(case: Case, data: st.DataObject) -> None:
    lines = {line["qid"]: line for line in case.outputs(whole=False)}

    def weighed(questions: list[dict[str, object]]) -> Alignment:
        own = [lines[str(question["qid"])] for question in questions if question["qid"] in lines]
        return sy.weigh(questions, {"s": own}, rule=case.rule, unit="chunk", documents=case.chunks).alignments[0]

    together = weighed(case.questions)
    parts = [
        weighed([question]) if question["qid"] in lines else together.take(np.array([place]))
        for place, question in ((list(together.query_id).index(str(q["qid"])), q) for q in case.questions)
    ]
    same(Alignment.concat(data.draw(st.permutations(parts))), together)


def test_a_worked_case() -> None:
    whole = aligned(TRUTH, RUN)
    assert list(whole.query_id) == ["a", "b", "c", "问"]
    part = whole.take(np.array([3, 1]))
    assert list(part.query_id) == ["问", "b"]
    assert (part.missing.tolist(), part.starts.tolist(), part.hit_rank.tolist()) == ([True, False], [0, 0, 2], [2, 3])
    assert part.ties is not None
    assert (part.ties.starts.tolist(), part.ties.first.tolist(), part.ties.size.tolist()) == ([0, 0, 1], [1], [3])
    assert whole.take(np.array([0, 2])).ties is None
    assert list(Alignment.concat([part, whole.take(np.array([0]))]).query_id) == ["a", "b", "问"]


def test_one_alignment_or_the_other_query_by_query() -> None:
    yes, no = aligned(TRUTH, RUN), aligned(TRUTH, {"a": {"d4": 1.0}, "b": {"d2": 3.0, "d1": 1.0}, "问": {"d5": 1.0}})
    chosen = by_query(np.array([False, True, False, False]), yes, no)
    assert chosen.hit_rank.tolist() == [1, 2, 3, 1]
    assert chosen.hit_gain.tolist() == [2.0, 0.0, 1.0, 1.0]
    assert (chosen.n_retrieved.tolist(), chosen.missing.tolist()) == ([1, 3, 0, 1], [False, False, True, False])
    assert chosen.ties is None


def test_what_cannot_be_put_together() -> None:
    whole = aligned(TRUTH, RUN)
    with pytest.raises(InputError, match="there are no alignments to put together"):
        Alignment.concat([])
    with pytest.raises(InputError, match="question 'b' is in two alignments"):
        Alignment.concat([whole, whole.take(np.array([1]))])
    asked = [{"qid": "z", "evidence": ["cat"]}]
    evidence = aligned(asked, [{"qid": "z", "retrieved": [{"id": "c", "text": "a cat"}]}])
    with pytest.raises(InputError, match="some alignments have gold evidence and others have none"):
        Alignment.concat([whole, evidence])


def test_best_first_keeps_the_order_of_equal_gains() -> None:
    gain, query = np.array([1.0, 2.0, 1.0, 0.0, 3.0]), np.array([1, 1, 1, 0, 0])
    assert best_first(gain, query).tolist() == [4, 3, 1, 0, 2]


@examples(100)
@given(
    rows=st.lists(st.tuples(st.sampled_from([-1.0, -0.0, 0.0, 0.5, 1e300]), st.integers(0, 5)), max_size=20),
    stretch=st.sampled_from([1, 2**40, 2**60]),
)
def test_best_first_is_a_stable_sort_by_query_and_falling_gain(rows: list[tuple[float, int]], stretch: int) -> None:
    gain, query = (
        np.array([gain for gain, _ in rows], float),
        np.array([query * stretch for _, query in rows], np.int64),
    )
    order = sorted(range(len(rows)), key=lambda i: (query[i], -gain[i]))
    assert best_first(gain, query).tolist() == order
