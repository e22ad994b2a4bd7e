"""Which questions are no independent evidence."""

from collections.abc import Mapping

import numpy as np
import pytest

from steelyard.base.errors import InputError
from steelyard.data.clusters import Clustering, SharedGold, question_clusters, shared_gold
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth
from steelyard.stats.intervals.means import mean_intervals

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
        InputError, match=r"cluster 'talks': no question has such a field \(did you mean talk\?\).*--questions"
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
    shared = shared_gold(Questions(LINES), IDS)  # type: ignore[arg-type]
    assert shared is not None
    assert (shared.n_questions, shared.n_clusters, shared.n_chained) == (4, 3, 2)
    assert shared_gold(Truth({"a": {"x": 1}, "b": {"y": 1}}), ["a", "b"]) is None
    codes = np.zeros(0, int)
    many = {f"q{i}": {f"d{i}": 1} for i in range(20)}
    assert shared_gold(Truth({**many, "r": {"d0": 1}}), [*many, "r"]) is None
    assert shared_gold(Truth({**many, "r": {"d0": 1}, "s": {"d1": 1}}), [*many, "r", "s"]) == SharedGold(
        4, 20, 20, codes
    )
    pooled = {q: {f"d{i}": 1 for i in range(6)} for q in IDS}
    assert shared_gold(Truth(pooled), IDS) is None


def test_chains_of_shared_documents() -> None:
    gold = {"a": {"x": 1, "y": 1}, "b": {"y": 1, "z": 1}, "c": {"z": 1}, "d": {"z": 1}, "e": {"w": 1}}
    shared = shared_gold(Truth(gold), list(gold))
    assert shared is not None
    assert (shared.codes.tolist(), shared.n_clusters, shared.n_chained) == ([0, 1, 1, 1, 2], 3, 2)


@pytest.mark.parametrize(("alike", "wider"), [(1.0, True), (0.0, False)])
def test_widening_is_that_of_the_intervals(alike: float, wider: bool) -> None:
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(30), 4)
    values = 0.5 + alike * 0.2 * rng.normal(size=30)[codes] + 0.1 * rng.normal(size=(3, 120))
    if not alike:  # Each document has easy and hard questions alike.
        values = np.tile([0.2, 0.8, 0.3, 0.7], 30)[None] + 0.01 * rng.normal(size=(3, 120))
    values[1, 7] = np.nan
    facts = SharedGold(120, 30, 30, codes).facts(values)
    widths = [
        np.ptp([ends.low[0], ends.high[0]])
        for row in values
        for clusters in (None, codes[~np.isnan(row)])
        for ends in [mean_intervals(row[~np.isnan(row)][:, None], clusters=clusters)]
    ]
    ratios = [together / alone for alone, together in zip(widths[::2], widths[1::2], strict=True)]
    assert facts == {"n_questions": 120, "n_clusters": 30, "n_chained": 30, "widening": pytest.approx(max(ratios))}
    assert (max(ratios) > 1.5) == wider
    assert (max(ratios) < 1) != wider
    assert SharedGold(120, 30, 30, codes).facts(np.full((2, 120), 0.5))["widening"] is None


def test_some_of_the_clusters() -> None:
    clustering = Clustering("talk", np.array([0, 1, 2, 1]))
    assert clustering.n == 3
    assert clustering.take(np.array([False, True, True, True])).codes.tolist() == [0, 1, 0]
    assert clustering.take(np.array([3, 2])).codes.tolist() == [0, 1]
