"""The list that a reranker makes of its candidates, against the plain definition."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.quality.lists import kendall_tau, overlap, reranked_list, score_order, tie_share
from tests.hypothesis_profiles import examples

SCORES = st.lists(st.sampled_from([-1.0, 0.0, 0.25, 1.0]), max_size=9)


@examples(200)
@given(SCORES, st.integers(0, 4))
def test_scored_candidates_come_by_score_then_by_former_place_and_the_tail_is_untouched(scores, n_tail):
    doc_ids = [f"d{i}" for i in range(len(scores) + n_tail)]
    reranked = reranked_list(doc_ids, scores)
    expected = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    assert reranked == [doc_ids[place] for place in expected] + doc_ids[len(scores) :]


def test_one_candidate_changes_nothing():
    assert reranked_list(["a", "b", "c"], [-7.0]) == ["a", "b", "c"]
    assert reranked_list([], []) == []


@examples(200)
@given(st.permutations(range(7)), st.integers(1, 9))
def test_tau_and_overlap_are_those_of_the_definition(order, k):
    order = np.array(order)
    pairs = list(combinations(range(7), 2))
    agreeing = sum(1 if order[i] < order[j] else -1 for i, j in pairs)
    assert kendall_tau(order) == pytest.approx(agreeing / len(pairs))
    assert overlap(order, k) == len(set(order[:k].tolist()) & set(range(min(k, 7)))) / min(k, 7)


@examples(100)
@given(SCORES)
def test_ties_are_pairs_of_equal_scores(scores):
    pairs = list(combinations(scores, 2))
    expected = sum(one == other for one, other in pairs) / len(pairs) if pairs else math.nan
    assert tie_share(scores) == pytest.approx(expected, nan_ok=True)


def test_equal_scores_are_one_order_whatever_their_sign():
    assert score_order([0.0, -0.0, 0.0]).tolist() == [0, 1, 2]
    assert tie_share([0.0, -0.0]) == 1.0


def test_undefined_of_lists_that_are_too_short():
    assert math.isnan(kendall_tau(np.array([0])))
    assert math.isnan(tie_share([1.0]))
    assert math.isnan(overlap(np.array([], np.int64), 5))
