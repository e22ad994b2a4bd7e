"""What must hold for every registered measure, whatever the data."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.measures import Measure
from tests.hypothesis_profiles import examples
from tests.measures import naive
from tests.measures.random_collections import (
    DOCS,
    Collection,
    collections,
    frame,
    labels,
    some_specs,
    values,
    without_evidence,
)

GRADES = (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
CUT = ("recall", "hit_rate", "mrr", "map", "ndcg", "dcg", "err", "rbp", "ndcg(gain=exp)", "n_relevant_retrieved",
       "evidence_recall")  # fmt: skip
PLAIN = [definition.name + "@0.5" * definition.cutoff_required for definition in without_evidence()]
EMPTY_IS_NOT_ZERO = {
    "n_relevant": 2.0,
    "rbp_residual": 1.0,
    "ideal_dcg": 2 + 1 / math.log2(3),
    "yaap": math.log(1 / 3),
    "n_queries": 1.0,
}

quick = examples(100)
ranked_lists = st.permutations(DOCS).flatmap(lambda docs: st.integers(1, len(docs)).map(lambda n: list(docs[:n])))


def score(measure: str, ranked: Sequence[str], gains: dict[str, float]) -> float:
    return sy.plain.score(measure, ranked, gains)


@examples(300)
@given(collections(GRADES), some_specs())
def test_values_lie_in_the_range(collection: Collection, specs: list[Measure]) -> None:
    measures = list(dict.fromkeys([*map(sy.parse, PLAIN), *specs]))
    for spec, row in zip(measures, values(collection, measures), strict=True):
        low, high = spec.definition.range
        unmeasured = spec.definition.relevant and np.isnan(row).all()
        assert unmeasured or ((row >= low) & (row <= high * (1 + 1e-12))).all(), f"{spec}: {row}"


@quick
@given(collections(), some_specs(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_moves_no_bit(
    collection: Collection, specs: list[Measure], shuffler: random.Random
) -> None:
    as_dicts, as_frame = values(collection, specs), None
    for _ in range(3):
        run = {query: dict(shuffled(scores.items(), shuffler)) for query, scores in collection.run.items()}
        truth = {query: dict(shuffled(gains.items(), shuffler)) for query, gains in collection.truth.items()}
        truth = dict(shuffled(truth.items(), shuffler))
        assert (
            sy.evaluate(truth, dict(shuffled(run.items(), shuffler)), specs).values[0].tobytes() == as_dicts.tobytes()
        )
        rows = frame(run)
        if set(rows["query_id"]) & truth.keys():
            mixed = rows[shuffled(range(len(rows)), shuffler)]
            again = sy.evaluate(truth, mixed, specs).values.tobytes()
            assert as_frame in (None, again)
            as_frame = again


def shuffled(items: object, shuffler: random.Random) -> list:  # type: ignore[type-arg]
    listed = list(items)  # type: ignore[call-overload]
    shuffler.shuffle(listed)
    return listed


@quick
@given(collections(min_size=1), some_specs())
def test_dict_and_frame_agree_to_the_bit(collection: Collection, specs: list[Measure]) -> None:
    assert values(collection, specs).tobytes() == values(collection, specs, frame(collection.run)).tobytes()


@quick
@given(collections(), some_specs())
def test_queries_without_a_truth_change_nothing(collection: Collection, specs: list[Measure]) -> None:
    more = {"0": {"A1": 1.0}, **collection.run, "q1b": {"d": 2.0, "A1": 2.0}}
    assert values(collection, specs).tobytes() == values(collection, specs, more).tobytes()


@quick
@given(collections(), some_specs(), labels())
def test_queries_not_retrieved_leave_the_others_alone(
    collection: Collection, specs: list[Measure], gains: dict[str, float]
) -> None:
    more = sy.evaluate({"0": gains, **collection.truth, "q1b": gains}, collection.run, specs)
    kept = [query in collection.truth for query in more.query_ids]
    few, of_more = values(collection, specs), more.values[0][:, kept]
    bare = np.isnan(few).all(axis=1)  # Without gold nothing is measured; beside a question with gold each counts 0.
    assert of_more[~bare].tobytes() == few[~bare].tobytes()
    assert (np.isnan(of_more[bare]) | (of_more[bare] == 0)).all()


@pytest.mark.parametrize("measure", CUT)
@examples(40)
@given(ranked=ranked_lists, gains=labels(GRADES), beyond=st.integers(0, 3))
def test_k_beyond_the_list_is_no_k(measure: str, ranked: list[str], gains: dict[str, float], beyond: int) -> None:
    # ndcg@k cuts the ideal list as well, so k must lie beyond both.
    k = max(len(ranked), len(gains)) + beyond
    assert score(f"{measure}@{max(k, 1)}", ranked, gains) == score(measure, ranked, gains)


@pytest.mark.parametrize("measure", PLAIN)
def test_an_empty_list(measure: str) -> None:
    want = EMPTY_IS_NOT_ZERO.get(measure, 0.0)
    assert score(measure, [], {"a": 1, "b": 2, "c": 0, "d": -1}) == want
    assert sy.evaluate({"q": {"a": 1, "b": 2, "c": 0, "d": -1}}, {"q": {}}, measure).values.item() == want


@pytest.mark.parametrize("measure", PLAIN)
def test_a_truth_without_labels(measure: str) -> None:
    """The smallest input of all: one query, nothing judged, nothing or something retrieved."""
    undefined = sy.parse(measure).definition.relevant
    for ranked in ([], ["a"], ["a", "b", "c"]):
        value = sy.evaluate({"q": {}}, {"q": ranked}, measure).values.item()
        alone = score(measure, ranked, {})
        assert (math.isnan(value), alone) == (True, 0) if undefined else value == alone


@pytest.mark.parametrize("measure", [m for m in PLAIN if sy.parse(m).definition.relevant])
@examples(20)
@given(ranked=ranked_lists, gains=labels((-0.5, -1.0, -2.0)))
def test_negative_gains_alone_are_worth_nothing(measure: str, ranked: list[str], gains: dict[str, float]) -> None:
    assert score(measure, ranked, gains) == 0


@pytest.mark.parametrize("measure", CUT)
@examples(40)
@given(ranked=ranked_lists, gains=labels(GRADES))
def test_a_deeper_cut_never_costs(measure: str, ranked: list[str], gains: dict[str, float]) -> None:
    if measure.startswith("ndcg"):  # its ideal grows as well
        measure = measure.removeprefix("n")
    at = [score(f"{measure}@{k}", ranked, gains) for k in range(1, len(ranked) + 2)]
    assert at == sorted(at)


@quick
@given(ranked_lists, labels(GRADES), st.integers(1, 13), st.sampled_from([0.0, 0.5, 1.0, 3.0]))
def test_set_measures_hold_together(ranked: list[str], gains: dict[str, float], k: int, min_gain: float) -> None:
    p, r, f, hit, cap, found, rr, ap, ap_cap = (
        score(f"{name}(min_gain={min_gain})@{k}", ranked, gains)
        for name in (
            "precision",
            "recall",
            "f1",
            "hit_rate",
            "recall_cap",
            "n_relevant_retrieved",
            "mrr",
            "map",
            "map_cap",
        )
    )
    n_relevant = score(f"n_relevant(min_gain={min_gain})", ranked, gains)
    assert p * k == pytest.approx(found)
    assert r * n_relevant == pytest.approx(found)
    assert min(p, r) - 1e-12 <= f <= max(p, r) + 1e-12
    assert cap == pytest.approx(max(p, r))
    assert hit == (found > 0) == (p > 0) == (r > 0) == (f > 0) == (rr > 0) == (ap > 0)
    assert hit / k <= rr <= hit
    assert ap <= r + 1e-12
    assert ap <= ap_cap <= cap + 1e-12
    assert ap_cap * min(k, n_relevant) == pytest.approx(ap * n_relevant)
    assert score(f"f(beta=1,min_gain={min_gain})@{k}", ranked, gains) == f


@quick
@given(ranked_lists, labels(GRADES))
def test_judged_and_unjudged_share_the_list(ranked: list[str], gains: dict[str, float]) -> None:
    pooled = sum(gains.get(doc, 0.0) < 0 for doc in ranked) / len(ranked)
    assert score("judged", ranked, gains) + score("unjudged", ranked, gains) == pytest.approx(1 + pooled)


@quick
@given(ranked_lists, labels((0.0, 1.0, 2.0)), st.sampled_from([0.5, 0.8, 0.95]))
def test_rbp_stays_below_one_whatever_is_found_out(ranked: list[str], gains: dict[str, float], p: float) -> None:
    """The residual is what rbp gains if every unknown document turns out relevant, and the list goes on for ever."""
    learnt = dict.fromkeys(ranked, 1.0) | gains
    known, residual = score(f"rbp(p={p})", ranked, gains), score(f"rbp_residual(p={p})", ranked, gains)
    tail = p ** len(ranked)
    assert score(f"rbp(p={p})", ranked, learnt) + tail == pytest.approx(known + residual)
    assert known + residual <= 1 + 1e-12


@pytest.mark.parametrize("gain", ["linear", "exp", "{0.5:2,1:2,2:5,3:1}"])
@examples(60)
@given(gains=labels(GRADES, min_size=1), k=st.integers(1, 14))
def test_the_ideal_order_has_ndcg_one(gain: str, gains: dict[str, float], k: int) -> None:
    mapping = {0.5: 2.0, 1.0: 2.0, 2.0: 5.0, 3.0: 1.0} if gain.startswith("{") else gain
    value = {doc: naive.gain_of(label, mapping) for doc, label in gains.items()}
    best = sorted(gains, key=lambda doc: -value[doc])
    want = float(any(v > 0 for v in value.values()))
    for measure in (f"ndcg(gain={gain})", f"ndcg(gain={gain})@{k}", f"ndcg(gain={gain},ideal=retrieved)@{k}"):
        assert score(measure, best, gains) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize(
    "measure",
    ["map", "ndcg", "ndcg(gain=exp)", "mrr", "dcg", "rbp", "bpref", "bin_g", "r_precision", "map@3", "ndcg@3"],
)
@examples(60)
@given(ranked=ranked_lists, gains=labels(GRADES, min_size=4), data=st.data())
def test_moving_a_better_document_up_never_costs(
    measure: str, ranked: list[str], gains: dict[str, float], data: st.DataObject
) -> None:
    one, other = data.draw(st.sampled_from(ranked)), data.draw(st.sampled_from(ranked))
    good, bad = sorted([one, other], key=lambda doc: -gains.get(doc, 0.0))
    assume(gains.get(good, 0.0) >= 1 and gains[good] > gains.get(bad, 0.0))
    places = sorted([ranked.index(good), ranked.index(bad)])
    better, worse = ranked.copy(), ranked.copy()
    better[places[0]], better[places[1]] = good, bad
    worse[places[0]], worse[places[1]] = bad, good
    assert score(measure, better, gains) >= score(measure, worse, gains) - 1e-12


@quick
@given(ranked_lists, labels((0.0, 1.0)))
def test_binary_labels_make_graded_measures_binary(ranked: list[str], gains: dict[str, float]) -> None:
    assert score("ndcg(gain=exp)", ranked, gains) == pytest.approx(score("ndcg", ranked, gains), abs=1e-12)
    first_relevant = score("mrr", ranked, gains)
    assert score("err(max_gain=1)@1", ranked, gains) == (0.5 if first_relevant == 1 else 0)


def test_err_refuses_a_label_above_its_highest() -> None:
    with pytest.raises(sy.MeasureError, match=r"label of 5 exceeds max_gain=4; try err\(max_gain=5\)"):
        score("err", ["a"], {"a": 5})
    with pytest.raises(sy.MeasureError, match="label of 5"):
        score("err", ["a"], {"a": 1, "b": 5})
    assert score("err(max_gain=5)", ["a"], {"a": 5}) == 31 / 32
