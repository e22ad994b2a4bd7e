import pickle
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given

import steelyard as sy
from steelyard.data.corpus import Chunks, Document
from steelyard.data.outputs import Outputs
from steelyard.experiment.table.json import as_json, read_scores
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Alignment
from tests.align.random_evidence import Case, cases
from tests.hypothesis_profiles import examples
from tests.measures.registered import forget_afterwards

TRUTH = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}, "q3": {"d": 0}}
RUNS = {"good": {"q1": ["a", "b"], "q2": ["c"]}, "bad": {"q1": ["x"], "q3": ["y"]}}
MEASURES = ["precision@2", "recall@1", "ndcg@5", "n_retrieved", "gm_map"]


def weighed(**options: str) -> Scores:
    return sy.evaluate(TRUTH, RUNS, MEASURES, **options)  # type: ignore[arg-type]


def test_means_over_the_questions_that_are_counted() -> None:
    # q1 1, q2 .5, q3 0 for precision@2; .5, 1, 0 for recall@1; 1, 1, 0 for ndcg.
    want = [0.5, 0.5, 2 / 3, np.nan, 1e-5 ** (1 / 3)]
    np.testing.assert_allclose(weighed().reachable, [want, want])
    assert (weighed().means[0, :3] <= weighed().reachable[0, :3]).all()


def test_questions_that_are_skipped_do_not_count() -> None:
    np.testing.assert_allclose(weighed(no_relevant="skip").reachable[:, :3], [[0.75, 0.75, 1]] * 2)
    np.testing.assert_allclose(weighed(missing="skip").reachable[:, :3], [[0.75, 0.75, 1], [0.5, 0.25, 0.5]])


def test_parts_have_what_their_questions_allow() -> None:
    scores = weighed()
    part = scores.filter(query_ids=["q1"], systems="bad", measures=["recall@1", "precision@2"])
    np.testing.assert_allclose(part.reachable, [[1.0, 0.5]])
    others = [scores.filter(query_ids=[query]) for query in scores.query_ids]
    np.testing.assert_allclose(Scores.concat(others).reachable, scores.reachable)
    columns = Scores.of(scores.frame)
    assert np.isnan(columns.reachable).all()
    mixed = Scores.concat([columns.filter(systems="bad"), scores.filter(systems="good")])
    assert np.isnan(mixed.reachable[1]).all() != np.isnan(mixed.reachable[0]).all()


def test_files_and_pickles_keep_it(tmp_path: Path) -> None:
    scores = weighed()
    (path := tmp_path / "scores.json").write_text(as_json(scores), encoding="utf-8")
    for again in (read_scores(path), pickle.loads(pickle.dumps(scores))):
        np.testing.assert_array_equal(again.reachable, scores.reachable)
    assert as_json(read_scores(path)) == as_json(scores)


def test_a_file_from_before_says_nothing(tmp_path: Path) -> None:
    text = as_json(weighed())
    start = text.index('  "perfect": ')
    (path := tmp_path / "scores.json").write_text(text[:start] + text[text.index("\n", start) + 1 :], encoding="utf-8")
    assert np.isnan(read_scores(path).reachable).all()


def test_a_measure_whose_values_are_larger_has_no_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_afterwards(monkeypatch)

    @sy.measure()
    def worst_first(a: Alignment) -> npt.NDArray[np.float64]:
        """More for a list with less."""
        return 1.0 / (1.0 + np.diff(a.starts))

    assert np.isnan(sy.evaluate(TRUTH, RUNS["bad"], "worst_first").reachable).all()


def of_evidence(evidence: list[object], retrieved: list[object], *, whole: bool) -> Scores:
    """One question about ten letters, which chunks of two letters hold; the corpus is at hand where it is whole."""
    corpus = Chunks.of([Document("d", "abcdefghij")], lambda text: [(i, i + 2) for i in range(0, 10, 2)])
    measures = ["precision@2", "recall@2", "ndcg@2", "evidence_recall@1", "span_recall@1"]
    outputs = {"s": Outputs([{"qid": "q", "retrieved": retrieved}])}
    questions = [{"qid": "q", "evidence": evidence}]
    return sy.evaluate(questions, outputs, measures, **({"documents": corpus} if whole else {}))


def test_gold_evidence_allows_what_the_chunks_of_the_corpus_hold() -> None:
    span = {"doc": "d", "start": 0, "end": 6}
    scores = of_evidence([span], ["d#1"], whole=True)  # three chunks have parts of it, and two hold it together
    np.testing.assert_allclose(scores.reachable, [[0.5, 1.0, 1.0, np.nan, np.nan]])
    scores = of_evidence([{**span, "end": 3}, {**span, "start": 4}], ["d#1"], whole=True)  # d#1 and d#2 or 3
    np.testing.assert_allclose(scores.reachable, [[1.0, 1.0, 1.0, np.nan, np.nan]])
    scores = of_evidence([{**span, "end": 1}], ["d#1"], whole=True)
    np.testing.assert_allclose(scores.reachable, [[0.5, 1.0, 1.0, np.nan, np.nan]])


def test_texts_may_all_be_in_one_chunk() -> None:
    scores = of_evidence(["a", "b", "c"], ["d#1"], whole=True)
    assert scores.reachable[0, 1] == 1.0
    assert scores.means[0, 1] <= 1.0


def test_chunks_that_nobody_retrieved_may_hold_more() -> None:
    item = {"id": "c", "doc": "d", "start": 0, "end": 2, "text": "ab"}
    assert np.isnan(of_evidence([{"doc": "d", "start": 0, "end": 6}], [item], whole=False).reachable).all()


BOUNDED = [
    "precision@1",
    "precision@3",
    "recall@1",
    "recall@3",
    "recall_cap@2",
    "f1@2",
    "set_map@2",
    "map",
    "mrr",
    "ndcg@3",
]


@examples(60)
@given(cases(corpus=True))
def test_no_ranking_of_chunks_has_more_than_a_perfect_one(case: Case) -> None:
    outputs = Outputs(case.outputs(whole=False))
    weighing = sy.weigh(case.questions, {"s": outputs}, documents=case.chunks, rule=case.rule, unit="chunk")
    (weighed,) = weighing.weighed
    for spec in map(sy.parse, BOUNDED):
        perfect = weighed.perfect_values(spec)
        assert (spec(weighed.alignment) <= perfect + 1e-12).all(), spec
        assert perfect.max() <= 1.0 + 1e-12
