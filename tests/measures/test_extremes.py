"""The best and the worst order of ties, and unjudged documents taken for relevant, against lists made so by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.align.rankings import align as align_run
from steelyard.data.run import Run
from steelyard.data.truth import Truth
from steelyard.measures import Alignment, Measure, make, parse
from steelyard.measures.alignment import Evidence
from steelyard.measures.graded import gains_of
from steelyard.measures.perfect import ties_best, ties_worst, unjudged_relevant
from tests.hypothesis_profiles import examples
from tests.measures import naive
from tests.measures.test_ties import AVERAGED, DOCS, averaged, labelled, orders, scored

Changed = Callable[[Alignment], Alignment]


def align(scores: Mapping[str, Mapping[str, float]], gains: Mapping[str, Mapping[str, float]]) -> Alignment:
    return align_run(Truth(gains), Run(scores)).alignment


def hits(a: Alignment) -> list[tuple[int, int, float]]:
    return list(zip(a.hit_query.tolist(), a.hit_rank.tolist(), a.hit_gain.tolist(), strict=True))


# Ties ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "want"),
    [
        # w stands alone at rank 1; of the tied five b has gain 2, a 1, zero 0, low -1, and u no label.
        (ties_best, [(0, 1, 1.0), (0, 2, 2.0), (0, 3, 1.0), (0, 4, 0.0), (0, 6, -1.0), (1, 1, 1.0)]),
        (ties_worst, [(0, 1, 1.0), (0, 2, -1.0), (0, 4, 0.0), (0, 5, 1.0), (0, 6, 2.0), (1, 2, 1.0)]),
    ],
)
def test_orders_worked_by_hand(change: Changed, want: list[tuple[int, int, float]]) -> None:
    run = {"p": {"w": 2.0, "a": 1.0, "b": 1.0, "zero": 1.0, "low": 1.0, "u": 1.0}, "q": {"a": 0.0, "u": 0.0}}
    a = align(run, {"p": {"w": 1, "a": 1, "b": 2, "zero": 0, "low": -1}, "q": {"a": 1}})
    changed = change(a)
    assert hits(changed) == want
    assert changed.ties is None
    assert changed.starts.tolist() == a.starts.tolist()


def test_another_worth() -> None:
    a = align({"q": {"a": 1.0, "b": 1.0, "u": 1.0}}, {"q": {"a": 3, "b": 1}})
    worth = np.where(a.hit_gain == 1, 5.0, -1.0)
    assert hits(ties_best(a, worth=worth)) == [(0, 1, 1.0), (0, 3, 3.0)]
    assert hits(ties_worst(a, worth=worth)) == [(0, 1, 3.0), (0, 3, 1.0)]


@examples(150)
@given(scored, labelled, averaged())
def test_they_are_the_largest_and_the_smallest_value_of_all_orders(
    scores: dict[str, float], gains: dict[str, float], spec: Measure
) -> None:
    a = align({"q": scores}, {"q": gains})
    params = {key: dict(value) if isinstance(value, tuple) else value for key, value in spec.params if key != "ties"}
    values = [naive.evaluate(spec.name, ranked, gains, k=spec.k, **params) for ranked in orders(scores)]
    worth = gains_of(a.hit_gain, spec.param("gain")) if spec.name == "ndcg" else a.hit_gain
    assert spec(ties_best(a, worth=worth)).item() == pytest.approx(max(values), rel=1e-12, abs=1e-12)
    assert spec(ties_worst(a, worth=worth)).item() == pytest.approx(min(values), rel=1e-12, abs=1e-12)


def test_without_ties_all_stays() -> None:
    a = align({"q": {"a": 1.0, "b": 0.5}}, {"q": {"b": 1}})
    assert hits(ties_best(a)) == hits(ties_worst(a)) == hits(a)


def test_evidence_is_let_go() -> None:
    a = align({"q": {"a": 1.0, "b": 1.0}}, {"q": {"b": 1}})
    a = replace(a, evidence=Evidence(a, a, a, a, np.ones(1, bool), np.zeros(1, int)))
    assert ties_best(a).evidence is None
    assert ties_worst(a).evidence is None


# Unjudged documents --------------------------------------------------------------------------------------------------


def relabelled(scores: Mapping[str, float], gains: Mapping[str, float], gain: float, k: int | None) -> dict[str, float]:
    """The truth as it would be: what has no label, or one below 0, among the first k gets the gain."""
    new = {doc: gain for doc in naive.top(naive.canonical(scores), k) if gains.get(doc, -1) < 0}
    return {**gains, **new}


@examples(150)
@given(
    st.lists(st.tuples(scored, labelled), min_size=1, max_size=3),
    st.sampled_from([None, 1, 2, 4, 10]),
    st.sampled_from([None, 1.0, 7.0]),
)
def test_it_is_a_truth_with_more_labels(
    queries: list[tuple[dict[str, float], dict[str, float]]], k: int | None, gain: float | None
) -> None:
    run = {f"q{i}": scores for i, (scores, _) in enumerate(queries)}
    truth = {f"q{i}": gains for i, (_, gains) in enumerate(queries)}
    highest = max([0.0, *(g for gains in truth.values() for g in gains.values())])
    want_gain = gain if gain is not None else highest or 1.0
    got = unjudged_relevant(align(run, truth), gain=gain, k=k)
    want = align(run, {q: relabelled(run[q], truth[q], want_gain, k) for q in truth})
    assert hits(got) == hits(want)
    assert got.starts.tolist() == want.starts.tolist()
    assert got.n_retrieved.tolist() == want.n_retrieved.tolist()
    # A label below 0 stays among the ideal ones, where nothing counts it.
    for a in (got, want):
        assert (np.diff(a.ideal_gain)[np.diff(a.ideal_query) == 0] <= 0).all()
    kept = [
        [(q, g) for q, g in zip(a.ideal_query.tolist(), a.ideal_gain.tolist(), strict=True) if g >= 0]
        for a in (got, want)
    ]
    assert kept[0] == kept[1]


@examples(100)
@given(scored, labelled, st.sampled_from([1, 2, 3, 6, 10]), st.sampled_from(["precision", "recall", "hit_rate", "mrr"]))
def test_binary_measures_at_k_only_gain(scores: dict[str, float], gains: dict[str, float], k: int, name: str) -> None:
    a, spec = align({"q": scores}, {"q": gains}), make(name, k)
    assert spec(unjudged_relevant(a, gain=1.0, k=k)).item() >= spec(a).item()


@examples(100)
@given(scored, labelled, averaged())
def test_values_stay_in_their_range(scores: dict[str, float], gains: dict[str, float], spec: Measure) -> None:
    if spec.name == "ndcg" and isinstance(spec.param("gain"), tuple):
        return  # a map that gives a positive gain to a label below 0 has no range
    value = spec(unjudged_relevant(align({"q": scores}, {"q": gains}), k=3)).item()
    assert -1e-12 <= value <= 1 + 1e-12


def test_nothing_is_unjudged_after_it() -> None:
    a = unjudged_relevant(align({"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {}}, {"q": {"c": -1}, "r": {"a": 1}}))
    assert parse("unjudged")(a).tolist() == [0.0, 0.0]
    assert parse("judged")(a).tolist() == [1.0, 0.0]
    assert hits(a) == [(0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.0)]


def test_of_tied_documents_all_become_relevant() -> None:
    a = unjudged_relevant(align({"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, {"q": {"a": 0}}))
    assert make("precision", 1, {"ties": "average"})(a).item() == pytest.approx(2 / 3)


def test_with_evidence_nothing_is_unjudged() -> None:
    a = align({"q": {"a": 1.0, "b": 0.5}}, {"q": {"b": 1}})
    a = replace(a, evidence=Evidence(a, a, a, a, np.ones(1, bool), np.zeros(1, int)))
    assert unjudged_relevant(a) is a


def test_every_averaged_measure_lies_between_the_orders() -> None:
    """Every assignment of five labels to six tied documents, for every measure at every cut."""
    for gains in itertools.product((0.0, 1.0, 2.0), repeat=3):
        a = align({"q": dict.fromkeys(DOCS, 1.0)}, {"q": dict(zip(DOCS, gains, strict=False))})
        for name, k in itertools.product(AVERAGED, (None, 1, 2, 5)):
            spec = make(name, k, {"ties": "average"})
            low, value, high = (spec(b).item() for b in (ties_worst(a), a, ties_best(a)))
            assert low - 1e-12 <= value <= high + 1e-12, str(spec)
