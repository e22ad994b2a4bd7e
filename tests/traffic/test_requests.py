"""What events and answers say about requests."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.traffic.requests import COLUMNS, requests
from tests.hypothesis_profiles import examples
from tests.traffic.made_logs import chance_rows, logs_of


def in_order(logs, names, **options):
    """Columns of requests, in the order of their ids."""
    return requests(logs, ["request", *names], **options).sort("request").drop("request").collect()


REFORMULATIONS = [
    # seconds later, earlier query, later query, whether the earlier one was reformulated
    (30, "python sort", "python sort list by key", True),
    (30, "python sort list by key", "sort python", True),
    (30, "退款政策", "怎么退款", True),
    (30, "python sort", "  Python  SORT ", True),  # other text, the same words
    (30, "python sort", " Python sort", False),  # asked again, such as by a reload
    (30, "python sort", "weather in Bern", False),
    (30, "退款政策", "天气预报", False),
    (301, "python sort", "python sort list by key", False),
    (300, "python sort", "python sort list by key", True),
    (30, "?", "!", False),  # no words
    (30, "a b c d", "a e f g h", False),  # a quarter
    (30, "a b c d", "a b f g h", True),
]


@pytest.mark.parametrize(("seconds", "before", "behind", "want"), REFORMULATIONS)
def test_the_next_request_of_a_session_in_other_words_is_a_reformulation(seconds, before, behind, want):
    rows = [
        {"request": "1", "session": "s", "query": before},
        {"request": "2", "session": "t", "query": before, "time": 1},
        {"request": "3", "session": "s", "query": behind, "time": seconds},
        {"request": "4", "query": behind, "time": seconds},
        {"request": "5", "query": before + " more", "time": seconds + 1},  # neither session nor user
    ]
    said = in_order(logs_of(rows), ["is_reformulated"])["is_reformulated"]
    assert said.to_list() == [want, False, False, False, False]


def test_a_first_click_has_rank_and_time_also_where_it_names_a_document_alone():
    rows = [{"request": r, "doc_ids": ["x", "y", "x"]} for r in "abcd"]
    events = [
        {"request": "a", "kind": "click", "time": 9, "position": 1},
        {"request": "a", "kind": "click", "time": 5, "doc_id": "y"},
        {"request": "b", "kind": "click", "time": 5, "doc_id": "x"},
        {"request": "c", "kind": "click", "time": -3, "doc_id": "of another request"},
        {"request": "c", "kind": "copy"},
    ]
    frame = in_order(logs_of(rows, events), ["n_clicks", "first_click_rank", "first_click_s", "clicks@1"])
    assert frame.rows() == [(2, 2, 5.0, 1), (1, 1, 5.0, 1), (1, None, 0.0, 0), (0, None, None, 0)]


@pytest.mark.parametrize(
    ("kinds", "well", "badly"),
    [
        (["click"], False, False),
        (["good_abandon"], True, False),
        (["accept"], True, False),
        (["copy"], True, False),
        (["citation_click"], True, False),
        (["success"], True, False),
        (["thumb", "thumb"], True, False),
        (["dwell"], False, True),
        ([], False, True),
    ],
)
def test_a_request_without_a_click_is_abandoned_well_or_badly(kinds, well, badly):
    events = [{"request": "a", "kind": kind, "value": 1.0} for kind in kinds]
    columns = ["is_well_abandoned", "is_badly_abandoned"]
    assert requests(logs_of([{"request": "a"}], events), columns).collect().rows() == [(well, badly)]
    failed = requests(logs_of([{"request": "a", "error": "timeout"}], events), columns).collect()
    assert failed.rows() == [(False, False)]


def test_thumbs_both_ways_are_none_and_success_is_before_acceptance():
    events = [
        {"request": "a", "kind": "thumb", "value": 1.0},
        {"request": "a", "kind": "thumb", "value": -2.0},
        {"request": "a", "kind": "accept", "time": 3},
        {"request": "a", "kind": "success", "time": 7},
        {"request": "b", "kind": "accept", "time": 4},
        {"request": "b", "kind": "purchase", "value": 12.5},
        {"request": "b", "kind": "purchase", "value": 2.5},
    ]
    names = ["thumbs", "n_thumbs", "success_s", "purchase.n", "purchase.value"]
    frame = in_order(logs_of([{"request": "a"}, {"request": "b"}], events), names)
    assert frame.rows() == [(0.0, 2, 7.0, 0, 0.0), (0.0, 0, 4.0, 2, 15.0)]


def test_bots_are_left_out_and_units_are_users_or_sessions_or_requests():
    rows = [
        {"request": "a", "user": "u", "session": "s"}, {"request": "b", "session": "s"}, {"request": "c"},
        {"request": "d", "user": "u", "is_bot": True},
    ]  # fmt: skip
    assert in_order(logs_of(rows), ["unit"])["unit"].to_list() == ["u", "s", "c"]


def test_answers_are_abstentions_by_the_log_or_by_the_function_handed_in():
    answers = [
        {"request": "a", "answer": "I do not know.", "abstained": False, "citations": ["x", "y"]},
        {"request": "b", "answer": "I do not know."},
    ]
    logs = logs_of([{"request": r} for r in "abc"], (), answers)
    logged = in_order(logs, ["has_abstained", "n_citations"])
    assert logged.rows() == [(False, 2), (None, None), (None, None)]
    said = in_order(logs, ["has_abstained"], abstains=lambda texts: texts.str.contains("not know"))
    assert said["has_abstained"].to_list() == [False, True, None]


def test_judged_results_are_counted_for_queries_with_labels():
    rows = [{"request": "a", "query": "q", "doc_ids": ["x", "y", "z"]}, {"request": "b", "query": "other"}]
    labels = pl.DataFrame({"query": ["q", "q", "q"], "doc_id": ["x", "x", "z"]})
    frame = in_order(logs_of(rows), ["judged@2", "shown@2"], judged=labels)
    assert frame.rows() == [(1, 2), (None, None)]
    with pytest.raises(InputError, match="labels"):
        requests(logs_of(rows), ["judged@2"])


def test_an_unknown_column_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="n_clicks"):
        requests(logs_of([{"request": "a"}]), ["n_click"])


@given(seed=st.integers(0, 10_000), wanted=st.sets(st.sampled_from(COLUMNS), min_size=1, max_size=4))
@examples(20)
def test_a_column_is_the_same_alone_and_with_all_others(seed, wanted):
    logs = logs_of(**chance_rows(seed, n=40))
    names = sorted(wanted)
    alone = in_order(logs, names)
    assert alone.equals(requests(logs).sort("request").select(names).collect())
