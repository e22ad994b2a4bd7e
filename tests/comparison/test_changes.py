import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.comparison.changes import Changes, ListChange, Listed, Moved, changes, list_change
from steelyard.experiment.door.evaluation import weigh
from steelyard.stats.rankings import rank_biased_overlap
from tests.hypothesis_profiles import examples

IDS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@examples(200)
@given(IDS, IDS)
def test_every_id_has_entered_left_moved_or_stayed(before: list[str], after: list[str]) -> None:
    found = list_change(before, after)
    stayed = {a for a, b in zip(before, after, strict=False) if a == b}
    moved = {each.doc_id for each in found.moved}
    assert set(after) == set(found.entered) | moved | stayed
    assert set(before) == set(found.left) | moved | stayed
    assert sum(map(len, (found.entered, moved, stayed))) == len(after)
    for each in found.moved:
        assert (before[each.before - 1], after[each.after - 1]) == (each.doc_id, each.doc_id)
        assert each.before != each.after
    back = list_change(after, before)
    assert (back.entered, back.left) == (found.left, found.entered)
    assert {(each.doc_id, each.after, each.before) for each in back.moved} == {
        (each.doc_id, each.before, each.after) for each in found.moved
    }


def test_list_change_by_hand() -> None:
    assert list_change([], []) == ListChange((), (), ())
    assert list_change("abc", "abc") == ListChange((), (), ())
    assert list_change("abc", "cxb") == ListChange(("x",), ("a",), (Moved("c", 3, 1), Moved("b", 2, 3)))


def test_an_id_that_stands_twice() -> None:
    with pytest.raises(sy.InputError, match="'b' is in a list twice"):
        list_change("a", "bab")


TRUTH = {f"q{i}": {"gold": 2, "poor": 0} for i in range(5)}
A = {"q0": ["x", "gold"], "q1": ["gold", "x"], "q2": ["x", "y", "gold"], "q3": ["gold"], "q4": ["gold", "z"]}
B = {"q0": ["gold", "x"], "q1": ["x", "gold"], "q2": ["gold", "x", "poor"], "q3": ["gold"], "q4": ["z", "gold"]}


def of(runs: Mapping[str, Mapping[str, Sequence[str]]], measure: str = "mrr@3", **options) -> Changes:
    queries = options.pop("questions", None)
    weighing = weigh(TRUTH, runs, questions=queries)
    scores = weighing.scores(measure, missing="skip")
    first, *others = runs
    (found,) = changes(weighing, scores, baseline=first, systems=others, **options)
    return found


def test_who_gained_and_lost_most() -> None:
    found = of({"a": A, "b": B})
    assert (found.baseline, found.system, found.measure, found.k) == ("a", "b", "mrr@3", 3)
    assert [(each.query_id, round(each.difference, 3)) for each in found.gained] == [("q2", 0.667), ("q0", 0.5)]
    # Equal losses: the lesser id first.
    assert [(each.query_id, each.before, each.after) for each in found.lost] == [("q1", 1, 0.5), ("q4", 1, 0.5)]
    first = found.gained[0]
    assert first.first == (Listed("x", None), Listed("y", None), Listed("gold", 2))
    assert first.second == (Listed("gold", 2), Listed("x", None), Listed("poor", 0))
    assert first.change == ListChange(("poor",), ("y",), (Moved("gold", 3, 1), Moved("x", 1, 2)))
    assert first.query is None
    assert found.same_chunks is None


def test_no_more_than_asked() -> None:
    found = of({"a": A, "b": B}, n=1)
    assert [each.query_id for each in found.gained + found.lost] == ["q2", "q1"]
    assert of({"a": A, "b": B}, n=0).gained == ()
    with pytest.raises(sy.InputError, match="is -1, expected 0 or more"):
        of({"a": A, "b": B}, n=-1)


def test_overlap_and_rbo_are_means_over_all_questions() -> None:
    found = of({"a": A, "b": B})
    pairs = [(A[query], B[query]) for query in TRUTH]
    assert (found.n, found.n_same) == (5, 1)
    assert found.overlap == pytest.approx(np.mean([len(set(a) & set(b)) / max(len(a), len(b)) for a, b in pairs]))
    assert found.rbo == pytest.approx(np.mean([rank_biased_overlap(a, b).extrapolated for a, b in pairs]))


def test_the_first_k_alone() -> None:
    found = of({"a": A, "b": B}, "recall@1")
    assert found.k == 1
    assert found.gained[0].first == (Listed("x", None),)
    assert of({"a": A, "b": B}, "map").k == 10


def test_a_question_without_any_list_is_no_agreement() -> None:
    found = of({"a": {"q0": ["x"], "q1": []}, "b": {"q0": [], "q1": []}})
    assert (found.n, found.n_same, found.overlap, found.rbo) == (1, 0, 0, 0)
    nothing = of({"a": {"q0": []}, "b": {"q0": []}})
    assert nothing.n == 0
    assert math.isnan(nothing.overlap)
    assert math.isnan(nothing.rbo)


def test_questions_that_one_system_lacks_do_not_count() -> None:
    found = of({"a": A, "b": {query: B[query] for query in ("q0", "q3")}})
    assert found.n == 2
    assert [each.query_id for each in found.gained + found.lost] == ["q0"]


def test_the_text_of_a_question() -> None:
    asked = sy.Questions([{"qid": query, "query": f"{query}?"} for query in TRUTH])
    assert of({"a": A, "b": B}, questions=asked).gained[0].query == "q2?"


GOLD = [{"qid": "q", "query": "?", "evidence": [{"doc": "d", "start": 0, "end": 5}]}]


@pytest.mark.parametrize(("end", "same"), [(10, True), (12, False)])
def test_chunks_that_are_cut_differently_are_told(end: int, same: bool) -> None:
    def outputs(end: int) -> list[dict[str, object]]:
        return [{"qid": "q", "retrieved": [{"id": "c", "doc": "d", "start": 0, "end": end}]}]

    weighing = weigh(GOLD, {"a": outputs(10), "b": outputs(end)})
    scores = weighing.scores("mrr")
    (found,) = changes(weighing, scores, baseline="a", systems=["b"])
    assert found.same_chunks is same


def test_movers_of_a_measure_of_answers_have_the_answers() -> None:
    questions = [{"qid": id, "query": "When?", "answer": "It opens at nine."} for id in ("q1", "q2")]
    context = [{"id": "c", "text": "It opens at nine."}]
    outputs = {
        "old": [{"qid": id, "retrieved": context, "answer": "It is closed."} for id in ("q1", "q2")],
        "new": [
            {"qid": "q1", "retrieved": context, "answer": "It opens at nine."},
            {"qid": "q2", "retrieved": context},
        ],
    }
    weighing = sy.weigh(questions, outputs)
    (change,) = changes(weighing, weighing.scores("answer_recall"), baseline="old", systems=["new"])
    assert [(mover.query_id, mover.answers) for mover in change.gained] == [
        ("q1", ("It is closed.", "It opens at nine."))
    ]
    weighing = sy.weigh({"q1": {"c": 1}}, {"old": {"q1": ["d", "c"]}, "new": {"q1": ["c"]}})
    (change,) = changes(weighing, weighing.scores("mrr"), baseline="old", systems=["new"])
    assert [mover.answers for mover in change.gained] == [None]
