import numpy as np
import pytest

from steelyard.base.errors import InputError
from steelyard.base.options import DiagnoseOptions
from steelyard.data.outputs import Outputs
from steelyard.data.segments import length_bounds, segments
from steelyard.diagnosis.diagnosing import Diagnosis, diagnose, diagnose_weighing
from steelyard.diagnosis.facts import question_groups
from steelyard.experiment.door.evaluation import weigh
from tests.diagnosis.library import outputs, questions, weighed


def test_k_comes_from_the_first_measure_or_is_five() -> None:
    weighing = weighed(questions(6), outputs("a", [1] * 6))
    assert diagnose(weighing).k == 5
    assert diagnose_weighing(weighing, DiagnoseOptions(), scores=weighing.scores(["mrr@3", "ndcg@7"])).k == 3
    assert diagnose_weighing(weighing, DiagnoseOptions(), scores=weighing.scores("map")).k == 5
    assert diagnose_weighing(weighing, DiagnoseOptions(k=2), scores=weighing.scores("mrr@3")).k == 2


@pytest.mark.parametrize("k", [0, -1, 2.5, True])
def test_k_is_a_whole_number(k: int) -> None:
    with pytest.raises(InputError, match="whole number from 1"):
        diagnose(weigh({"q": {"a": 1}}, {"q": ["a"]}), k=k)


def test_the_baseline_must_be_there() -> None:
    weighing = weighed(questions(6), outputs("a", [1] * 6), outputs("b", [2] * 6))
    with pytest.raises(InputError, match="'c'; there are a, b"):
        diagnose(weighing, baseline="c")


def test_by_tag_has_each_systems_part() -> None:
    weighing = weighed(questions(4, tags={0: ["x"], 1: ["x", "y"]}), outputs("a", [1, None, 1, 1]))
    found = diagnose(weighing)
    assert list(found.by_tag) == ["x", "y"]
    assert found.by_tag["x"][0].query_ids == ["q000", "q001"]
    assert found.by_tag["x"][0].counts()["found"] == 1


def test_gains_are_in_gold_pieces_where_the_gold_is_evidence() -> None:
    """Chunks that overlap count one piece several times; and without the corpus, no ideal list is known."""
    asked = [{"qid": "q", "query": "?", "evidence": [{"doc": "d", "start": 0, "end": 9}]}]
    item = {"id": "c", "doc": "d", "start": 0, "end": 20}
    weighing = weigh(asked, Outputs([{"qid": "q", "retrieved": [item]}]))
    found = diagnose(weighing)
    assert (found.measure, found.ceilings.measures[0]) == ("evidence_recall@5", "evidence_recall@5")
    assert (found.coverage, found.curves.at(0, "evidence_recall", 1)) == ("evidence_recall", 1.0)
    assert (
        diagnose_weighing(weighing, DiagnoseOptions(), scores=weighing.scores("span_recall@3")).measure
        == "span_recall@3"
    )
    for measure in ("ndcg@5", "span_iou@5"):
        assert (
            diagnose_weighing(weighing, DiagnoseOptions(), scores=weighing.scores(measure)).measure
            == "evidence_recall@5"
        )
        with pytest.raises(InputError, match=f"gains cannot be counted in {measure}: .* such as evidence_recall@5"):
            diagnose(weighing, measure=measure)


@pytest.mark.parametrize("measure", ["ndcg@7", "mrr@3", "recall@4", "map", "precision@2"])
def test_one_measure_runs_through_ceilings_pairs_and_advice(measure: str) -> None:
    truth = {f"q{i}": {"a": 1, "b": 1} for i in range(12)}
    runs = {name: {q: [*(f"x{i}" for i in range(n)), "a", "b"] for q in truth} for name, n in (("x", 8), ("y", 9))}
    weighing = weigh(truth, runs)
    diagnosis = diagnose_weighing(weighing, DiagnoseOptions(), scores=weighing.scores([measure, "hit_rate@1"]))
    assert (diagnosis.measure, diagnosis.ceilings.measures[0]) == (measure, measure)
    assert {advice.measure for advice in diagnosis.advice} == {measure}
    assert diagnose(weighing, measure=measure).measure == measure
    assert (diagnose(weighing).measure, diagnose(weighing).coverage) == ("ndcg@5", "recall")


@pytest.mark.parametrize("measure", ["rbp_residual", "evidence_recall@5", "num_ret", "faithfulness"])
def test_measures_that_no_gain_can_be_counted_in_are_refused(measure: str) -> None:
    weighing = weigh({"q": {"a": 1}}, {"q": ["a"]})
    with pytest.raises(InputError, match=r"gains cannot be counted in .*; name another measure, such as ndcg@5"):
        diagnose(weighing, measure=measure)


def test_min_gain_is_what_counts() -> None:
    weighing = weigh({"q": {"a": 1, "b": 2}}, {"q": ["a", "x", "b"]})
    assert diagnose(weighing, k=1).funnels[0].counts()["found"] == 1
    assert diagnose(weighing, k=1, min_gain=2).funnels[0].counts()["below_k"] == 1


def test_the_same_again() -> None:
    weighing = weighed(questions(30), outputs("a", [1, 9, None] * 10), outputs("b", [9, 1, None] * 10))
    one, two = diagnose(weighing), diagnose(weighing)
    assert one.advice == two.advice
    assert np.array_equal(one.curves.low, two.curves.low, equal_nan=True)


def test_an_interval_is_told_for_every_mean() -> None:
    drawn = diagnose(weighed(questions(12), outputs("a", [1, 9, None] * 4))).curves
    assert (np.isnan(drawn.low) == np.isnan(drawn.values)).all()


def test_a_streamed_run_and_gold_by_ids() -> None:
    truth = {f"q{i}": {"a": 1, "b": 0} for i in range(8)}
    found = diagnose(weigh(truth, {"x": {q: ["b", "a"] for q in truth}, "y": {q: ["a"] for q in truth}}), k=1)
    assert [one.counts()["found"] for one in found.funnels] == [0, 8]
    assert found.captured == []


def test_long_questions_are_those_of_the_segments() -> None:
    texts = [" ".join(["word"] * (1 + i % 9)) for i in range(24)] + ["退款" * (1 + i % 5) for i in range(12)]
    weighing = weighed(questions(36, texts=texts), outputs("a", [1] * 36))
    longest = {group.name: group for group in question_groups(weighing, {}) if group.code == "long"}
    parts = segments(weighing.questions, weighing.query_ids, "length")
    assert (longest["en"].mask | longest["zh"].mask).tolist() == parts["long"].tolist()
    bounds = length_bounds(weighing.questions, weighing.query_ids)
    assert {code: group.length for code, group in longest.items()} == {code: bounds[code]["long"][0] for code in bounds}


def test_frames_have_what_the_arrays_have() -> None:
    weighing = weighed(
        questions(12), outputs("a", [1, 9, None] * 4, before=[9] * 12), outputs("b", [2, None, 1] * 4, depth=20)
    )
    diagnosis = diagnose(weighing, k=5)
    funnel = diagnosis.funnels[0]
    names = ["system", "query_id", "stage", "n_gold", "n_found", "n_split", "cited", "judged"]
    assert funnel.frame.columns == names
    assert dict(funnel.frame.group_by("stage").len().iter_rows()) == {s: n for s, n in funnel.counts().items() if n}
    assert funnel.frame["n_found"].sum() == funnel.n_at_stage["found"]
    assert funnel.frame["cited"].null_count() == funnel.frame["judged"].null_count() == funnel.frame.height
    ceilings, frame = diagnosis.ceilings, diagnosis.ceilings.frame
    assert frame.columns == ["system", "measure", "lists", "n", "mean"]
    rows = {row[:4]: row[4] for row in frame.iter_rows()}
    assert len(rows) == frame.height
    assert rows["a", "mrr@5", "before_reranking", None] == ceilings.base[0, 2]
    assert rows["a", "mrr@5", "returned", None] == ceilings.reached[0, 2]
    assert rows["a", "mrr@5", "perfect_order", 50] == ceilings.perfect[0, 2, 2]
    assert rows["b", "mrr@5", "perfect_order", 50] is None
    assert rows["b", "evidence_recall@20", "more_results", 20] == ceilings.deeper[1, 0, 1]
    curves = diagnosis.curves.frame
    assert curves.columns == ["system", "measure", "k", "mean", "low", "high"]
    values = {row[:3]: row[3:] for row in curves.iter_rows()}
    assert values["b", "ndcg", 3] == tuple(float(x[1, 3, 2]) for x in diagnosis_arrays(diagnosis))
    assert values["b", "ndcg", 50] == (None, None, None)


def diagnosis_arrays(diagnosis: Diagnosis) -> tuple[np.ndarray, ...]:
    return diagnosis.curves.values, diagnosis.curves.low, diagnosis.curves.high
