"""Which questions are no independent evidence."""

from collections.abc import Mapping

import numpy as np
import pytest

from steelyard.base.errors import InputError
from steelyard.data.clusters import Clustering, SharedGold, question_clusters, shared_gold
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth

LINES = [
    {"qid": "a", "query": "?", "talk": "t1", "evidence": [{"doc": "one", "quote": "x"}]},
    {
        "qid": "b",
        "query": "?",
        "talk": 7,
        "evidence": [{"doc": "two", "quote": "x"}, {"doc": "one", "start": 1, "end": 2}],
    },
    {"qid": "c", "query": "?", "talk": None, "evidence": [{"doc": "two", "pages": 3, "gain": 0.5}, {"text": "word"}]},
    {"qid": "d", "query": "?", "talk": "7", "evidence": [{"text": "word", "gain": 2}, {"doc": "one", "quote": "y"}]},
    {"qid": "e", "query": "?", "tags": ["x"], "evidence": [{"doc": "one", "quote": "z", "gain": 0}]},
]
IDS = ["a", "b", "c", "d", "e"]


def clusters(cluster: str | Mapping[str, object], lines: list[dict[str, object]] = LINES) -> list[int]:  # type: ignore[assignment]
    questions = Questions(lines)
    named = {question.query_id: question for question in questions}
    return question_clusters(cluster, gold=questions, questions=named, query_ids=IDS).codes.tolist()


def test_questions_with_the_same_gold_document_are_together() -> None:
    """Of several documents the one with the highest gain counts, and of equals the one that most questions have."""
    assert clusters("doc") == [0, 0, 1, 1, 2]


def test_a_field_of_the_questions() -> None:
    """Equal texts and numbers are one cluster; a question without a value is by itself."""
    assert clusters("talk") == [0, 1, 2, 1, 3]


def test_clusters_of_ones_own() -> None:
    assert clusters({"b": "x", "d": "x", "unknown": "x"}) == [0, 1, 2, 1, 3]
    with pytest.raises(InputError, match="clusters name none of the 5 questions"):
        clusters({"unknown": "x"})


def test_an_unknown_field_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        InputError, match=r"cluster 'talks': no question has such a field \(did you mean talk\?\).*--queries"
    ):
        clusters("talks")
    # What has a meaning of its own is no field.
    with pytest.raises(InputError, match="there are doc, talk"):
        clusters("evidence")


def test_labels_by_id() -> None:
    truth = Truth({"a": {"x": 2, "y": 1}, "b": {"y": 1}, "c": {"x": 1, "y": 0}, "d": {"z": 0}})
    of = question_clusters("doc", gold=truth, questions={}, query_ids=["a", "b", "c", "d"])
    assert of.codes.tolist() == [0, 1, 0, 2]
    questions = Questions([{"qid": q, "query": "?", "rel_map": {"x": 1}} for q in IDS[:2]])
    assert question_clusters("doc", gold=questions, questions={}, query_ids=IDS[:2]).n == 1


def test_shared_gold_is_counted_where_questions_have_few_documents() -> None:
    assert shared_gold(Questions(LINES), IDS) == SharedGold(n_questions=4, n_clusters=3)  # type: ignore[arg-type]
    assert shared_gold(Truth({"a": {"x": 1}, "b": {"y": 1}}), ["a", "b"]) is None
    many = {f"q{i}": {f"d{i}": 1} for i in range(20)}
    assert shared_gold(Truth({**many, "r": {"d0": 1}}), [*many, "r"]) is None
    assert shared_gold(Truth({**many, "r": {"d0": 1}, "s": {"d1": 1}}), [*many, "r", "s"]) == SharedGold(4, 20)
    pooled = {q: {f"d{i}": 1 for i in range(6)} for q in IDS}
    assert shared_gold(Truth(pooled), IDS) is None


def test_some_of_the_clusters() -> None:
    clustering = Clustering("talk", np.array([0, 1, 2, 1]))
    assert clustering.n == 3
    assert clustering.take(np.array([False, True, True, True])).codes.tolist() == [0, 1, 0]
    assert clustering.take(np.array([3, 2])).codes.tolist() == [0, 1]
