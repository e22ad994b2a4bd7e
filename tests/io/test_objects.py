"""Named tuples and iterators as truths and runs, as ir_measures and ir_datasets give them."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

import steelyard as sy


class Qrel(NamedTuple):
    """As in ir_measures."""

    query_id: Any
    doc_id: Any
    relevance: Any
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    """As in ir_measures."""

    query_id: Any
    doc_id: Any
    score: Any


LABELS = [Qrel("q1", "d1", 2), Qrel("q1", "d2", 0), Qrel("2", "d1", 1)]
RETRIEVED = [ScoredDoc("q1", "d2", 1.0), ScoredDoc("q1", "d1", 0.5), ScoredDoc("2", "d1", 3)]
WAYS: list[Callable[[Iterable[Any]], Any]] = [list, tuple, iter, lambda rows: (row for row in rows)]


@pytest.mark.parametrize("way", WAYS)
def test_named_tuples_are_rows_of_truths_and_runs(way: Callable[[Iterable[Any]], Any]) -> None:
    assert sorted(sy.Truth(way(LABELS)).frame.rows()) == [("2", "d1", 1.0), ("q1", "d1", 2.0), ("q1", "d2", 0.0)]
    assert sy.Run(way(RETRIEVED)).frame.rows() == [("q1", "d2", 1.0), ("q1", "d1", 0.5), ("2", "d1", 3.0)]
    assert sy.evaluate(way(LABELS), way(RETRIEVED), "map").means.tolist() == [[0.75]]
    named = sy.evaluate(LABELS, {"a": way(RETRIEVED), "b": way(RETRIEVED[:1])}, "map")
    assert (named.systems, named.means.tolist()) == (["a", "b"], [[0.75], [0.0]])


def test_ids_may_be_whole_numbers() -> None:
    run = [ScoredDoc(1, 7, 0.5), ScoredDoc("1", "8", 0.25)]
    assert sy.evaluate([Qrel("1", 8, 1)], run, "mrr").means.tolist() == [[0.5]]


def test_iterators_are_read_wherever_runs_and_truths_may_be() -> None:
    want = sy.evaluate({"q": ["b"]}, {"q": ["a", "b"]}, "mrr").means.tolist()
    assert sy.evaluate({"q": iter(["b"])}, {"q": iter(["a", "b"])}, "mrr").means.tolist() == want == [[0.5]]
    questions = ({"qid": "q", "rel_map": {"b": 1}} for _ in range(1))
    assert sy.evaluate(questions, {"mine": iter([{"qid": "q", "retrieved": ["a", "b"]}])}, "mrr").means.tolist() == want


REFUSED: list[tuple[Any, Any, str]] = [
    ([*LABELS, RETRIEVED[0]], RETRIEVED, "is among rows of query_id, doc_id, relevance, iteration"),
    ([Qrel("q1", "d1", "x")], RETRIEVED, "gain 'x' is not a finite number"),
    ([Qrel("q1", 1.5, 1)], RETRIEVED, "a doc_id is 1.5 (float); ids are text or whole numbers"),
    ([Qrel("q1", "d1", 1), Qrel("q1", "d2", "x")], RETRIEVED, "have values of several kinds"),
    (LABELS, [ScoredDoc("q1", "d1", float("nan"))], "score nan is not a finite number"),
    (LABELS, [ScoredDoc("q1", "d1", None)], "score (empty) is not a finite number"),
    ([("q1", "d1", 1)], RETRIEVED, "is no dict with `qid` and `query`; where these are labels, give them names"),
    (LABELS, [("q1", "d1", 1.0)], "cannot be read from tuple"),
    (iter(()), RETRIEVED, "holds no question"),
    (LABELS, iter(()), "there is no run"),
    (LABELS, 5, "cannot be read from int"),
    (None, RETRIEVED, "cannot be read from NoneType"),
]


@pytest.mark.parametrize(("truth", "run", "reason"), REFUSED)
def test_what_is_no_truth_or_run_is_refused_by_name(truth: Any, run: Any, reason: str) -> None:
    with pytest.raises(sy.InputError) as refusal:
        sy.evaluate(truth, run, "map")
    assert reason in str(refusal.value)


def test_a_document_twice_is_refused() -> None:
    with pytest.raises(sy.DuplicateError, match="document 'd1' is judged twice"):
        sy.evaluate(LABELS * 2, RETRIEVED, "map")
