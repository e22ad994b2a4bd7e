"""Every measure of answers against its slow twin, and what must hold for all of them."""

import math
from dataclasses import replace as changed
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.judges.verdict import JudgedAnswer
from steelyard.measures import Measure, make
from tests.hypothesis_profiles import examples
from tests.judges.strategies import arrays_of, completions, records, records_with_holes
from tests.measures import naive_answers
from tests.measures.random_collections import of_answers

OF_TEXTS = {"exact_match", "token_f1", "content_f1", "contains"}
"""Measures that read no verdicts; they have tests of their own."""


def all_specs() -> list[Measure]:
    """Every measure of answers with every choice of its words."""
    specs = []
    for definition in of_answers():
        words = [[(key, word) for word in parameter.words] for key, parameter in definition.parameters.items()]
        specs += [make(definition.name, None, dict(choice)) for choice in product(*words)]
    return specs


JUDGED = [spec for spec in all_specs() if spec.name not in OF_TEXTS]


def naive(spec: Measure, record: JudgedAnswer) -> float:
    value = naive_answers.evaluate(spec.name, record, **dict(spec.params))  # type: ignore[arg-type]
    return math.nan if value is None else float(value)


def value(spec: Measure | str, record: JudgedAnswer) -> float:
    return float(sy.parse(spec)(arrays_of([record]))[0])


def test_every_measure_has_a_twin() -> None:
    assert {d.name for d in of_answers()} - OF_TEXTS == set(naive_answers.MEASURES)


@examples(400)
@given(st.lists(records(), min_size=1, max_size=3))
def test_the_slow_twin_agrees(several: list[JudgedAnswer]) -> None:
    several = [renamed(record, f"q{n}") for n, record in enumerate(several)]
    arrays = arrays_of(several)
    for spec in JUDGED:
        want = [naive(spec, record) for record in several]
        np.testing.assert_allclose(spec(arrays), want, rtol=1e-12, err_msg=str(spec))
        np.testing.assert_array_equal(spec.undefined_reasons(arrays) > 0, np.isnan(want), err_msg=str(spec))


@examples(200)
@given(records_with_holes())
def test_bounds_hold_whatever_was_not_judged(holed: tuple[JudgedAnswer, list]) -> None:  # type: ignore[type-arg]
    record, holes = holed
    arrays, complete = arrays_of([record]), list(completions(record, holes))
    for spec in JUDGED:
        low, high = (float(end[0]) for end in spec.bounds(arrays))
        possible = [naive(spec, answer) for answer in complete]
        check_bounds(low, high, possible, value(spec, record))


def check_bounds(low: float, high: float, possible: list[float], known: float) -> None:
    """Of a value that is known or not, and every value that it may have."""
    defined = [number for number in possible if not math.isnan(number)]
    assert all(low - 1e-12 <= number <= high + 1e-12 for number in defined)
    if not math.isnan(known):
        assert possible == pytest.approx([known] * len(possible))
        assert low == known == high
    elif len(defined) == len(possible):
        # Kleene's logic takes each verdict by itself, so it may not see that all come to the same.
        assert low < high


@examples(200)
@given(records())
def test_shares_of_units_add_up(record: JudgedAnswer) -> None:
    names = ("faithfulness", "answer_precision", "noise_sensitivity(relevant)", "noise_sensitivity(irrelevant)",
             "hallucination", "self_knowledge")  # fmt: skip
    faithful, precise, relevant, irrelevant, hallucinated, remembered = (value(name, record) for name in names)
    if not math.isnan(relevant):
        assert 1 - precise == pytest.approx(relevant + irrelevant + hallucinated)
    if not math.isnan(hallucinated):
        assert 1 - faithful == pytest.approx(hallucinated + remembered)


@examples(200)
@given(records())
def test_what_is_supported_in_a_narrower_way_is_supported(record: JudgedAnswer) -> None:
    faithful = value("faithfulness", record)
    for narrower in ("faithfulness(by=chunk)", "citation_support"):
        assert not value(narrower, record) > faithful, narrower


@examples(120)
@given(records(), st.data())
def test_the_order_of_the_chunks_is_immaterial(record: JudgedAnswer, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(record.context or ()))))
    arrays, others = arrays_of([record]), arrays_of([reordered(record, order)])
    for spec in JUDGED:
        if not spec.name.startswith("ragas.context_"):
            np.testing.assert_array_equal(spec(arrays), spec(others), err_msg=str(spec))


@examples(120)
@given(record=records())
def test_values_lie_in_the_range(record: JudgedAnswer) -> None:
    arrays = arrays_of([record])
    for spec in JUDGED:
        number = float(spec(arrays)[0])
        assert not number < 0, spec
        assert not number > 1, spec


def test_no_question_at_all() -> None:
    for spec in JUDGED:
        assert spec(arrays_of([])).shape == (0,)


def renamed(record: JudgedAnswer, query_id: str) -> JudgedAnswer:
    return changed(record, query_id=query_id)


def reordered(record: JudgedAnswer, order: list[int]) -> JudgedAnswer:
    """The same answer, from the same chunks in another order; order: which chunk comes at each place."""
    if record.context is None:
        return record
    context = tuple(record.context[chunk] for chunk in order)
    citations = tuple(changed(c, chunk=None if c.chunk is None else order.index(c.chunk)) for c in record.citations)
    support, reach = (
        tuple(tuple(row[chunk] for chunk in order) if row else () for row in table)
        for table in (record.support, record.reach)
    )
    relevance = tuple(record.context_relevance[chunk] for chunk in order)
    return changed(
        record, context=context, citations=citations, support=support, reach=reach, context_relevance=relevance
    )
