"""Every measure equals its naive twin on random collections, whichever way the run comes in."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.measures import Measure
from tests.hypothesis_profiles import examples
from tests.measures import naive
from tests.measures.random_collections import Collection, collections, frame, some_specs, values, without_evidence


def test_every_measure_has_a_naive_twin() -> None:
    assert {definition.name for definition in without_evidence()} == set(naive.MEASURES)


def expected(spec: Measure, collection: Collection, query: str, *, empty_is_missing: bool) -> float:
    params = {key: dict(value) if isinstance(value, tuple) else value for key, value in spec.params}
    if spec.definition.cutoff:
        params[spec.definition.cutoff] = spec.k
    scores = collection.run.get(query)
    absent = scores is None or (empty_is_missing and not scores)
    return naive.evaluate(
        spec.name, None if absent else naive.canonical(scores or {}), collection.truth[query], **params
    )


def check(collection: Collection, specs: list[Measure], run: object, *, empty_is_missing: bool) -> None:
    scores = sy.evaluate(collection.truth, run, specs)
    assert list(scores.query_ids) == sorted(collection.truth, key=str.encode)
    for spec, row in zip(scores.measures, scores.values[0], strict=True):
        for query, got in zip(scores.query_ids, row.tolist(), strict=True):
            want = expected(spec, collection, query, empty_is_missing=empty_is_missing)
            if spec in scores.without_gold:  # Where no question has gold, nothing is measured.
                assert (math.isnan(got), want) == (True, 0), f"{spec} of {query}"
                continue
            assert math.isclose(got, want, rel_tol=1e-12, abs_tol=1e-12), f"{spec} of {query}: {got}, not {want}"


@examples(400)
@given(collections(), some_specs())
def test_run_as_dict(collection: Collection, specs: list[Measure]) -> None:
    check(collection, specs, collection.run, empty_is_missing=False)


@examples(200)
@given(collections(min_size=1), some_specs())
def test_run_as_frame(collection: Collection, specs: list[Measure]) -> None:
    check(collection, specs, frame(collection.run), empty_is_missing=True)


@examples(100)
@given(collections(), some_specs())
def test_run_as_lists(collection: Collection, specs: list[Measure]) -> None:
    lists = {query: naive.canonical(scores) for query, scores in collection.run.items()}
    check(collection, specs, lists, empty_is_missing=False)


@examples(100)
@given(collections(), st.sampled_from([0.0, 0.5, 2.0, 3.0]))
def test_min_gain_of_evaluate_is_a_default(collection: Collection, min_gain: float) -> None:
    takers = [d.name for d in without_evidence() if "min_gain" in d.parameters and not d.cutoff_required]
    scores = sy.evaluate(collection.truth, collection.run, takers, min_gain=min_gain)
    named = values(collection, [f"{name}(min_gain={min_gain})" for name in takers])
    assert scores.values[0].tobytes() == named.tobytes()


@pytest.mark.parametrize("own", [0.5, 1, 2])
def test_a_measure_that_names_its_min_gain_keeps_it(own: float) -> None:
    scores = sy.evaluate({"q": {"a": 3, "b": own}}, {"q": ["b"]}, f"recall(min_gain={own})", min_gain=3)
    assert scores.values.tolist() == [[[0.5]]]


def test_a_list_of_two_thousand() -> None:
    """Small lists cannot show a slip in a rank far down."""
    ranked = [f"d{i}" for i in range(2000)]
    gains = {f"d{i}": float(i % 5) - (i % 7 == 0) for i in range(0, 2600, 13)}
    for spec in [sy.parse(d.name + "@0.4" * d.cutoff_required) for d in without_evidence()]:
        params = {"recall": 0.4} if spec.definition.cutoff == "recall" else {}
        assert sy.plain.score(spec, ranked, gains) == pytest.approx(
            naive.evaluate(spec.name, ranked, gains, **params), rel=1e-12
        ), str(spec)
