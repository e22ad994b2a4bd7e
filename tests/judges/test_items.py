"""Items: what people are asked about answers, and what they say in the place of a judge."""

from __future__ import annotations

from dataclasses import replace

import pytest

import steelyard as sy
from steelyard.judges.tables.items import decided, items, judged, restricted
from steelyard.judges.verdict import JudgedAnswer, Verdict
from steelyard.measures import parse

QUESTIONS = [{"qid": "q1", "query": "When is it open?", "answer": "It opens at nine. It closes at 17."}]
CHUNKS = [{"id": "a", "text": "Opening hours: 9 to 17."}, {"id": "b", "text": "Tickets cost 5 euros."}]
ANSWER = "Good question! It is open from 9 to 17 [1]. A ticket is 7 euros [2]."


def record(chunks: list[dict[str, str]] = CHUNKS, answer: str = ANSWER) -> JudgedAnswer:
    return sy.judge(QUESTIONS, [{"qid": "q1", "retrieved": chunks, "answer": answer}]).records["q1"]


def test_items_are_units_that_assert_something() -> None:
    assert [item.unit for item in items(record(), "grounded")] == [1, 2]
    assert [item.unit for item in items(record(), "joint")] == [1, 2]
    assert [item.unit for item in items(record(), "correctness")] == [1, 2]
    assert [item.unit for item in items(record(), "said")] == [0, 1]


def test_ids_are_of_texts_alone() -> None:
    before = {item.item_id for item in items(record(), "grounded")}
    shorter = record(answer="It is open from 9 to 17 [1].")
    assert {item.item_id for item in items(shorter, "grounded")} < before
    renamed = record([{**chunk, "id": chunk["id"] * 2} for chunk in CHUNKS])
    assert {item.item_id for item in items(renamed, "grounded")} == before
    changed = record([CHUNKS[0], {"id": "b", "text": "Tickets cost 7 euros."}])
    assert not {item.item_id for item in items(changed, "grounded")} & before
    # Of what a unit cites, another chunk is no part.
    assert items(changed, "joint")[0] == items(record(), "joint")[0]
    assert items(changed, "joint")[1].item_id != items(record(), "joint")[1].item_id


def test_what_is_not_known_has_no_items() -> None:
    assert items(replace(record(), context_digests=()), "grounded") == ()
    assert items(JudgedAnswer("q", "abstained"), "said") == ()


@pytest.mark.parametrize(
    ("table", "measure"),
    [("grounded", "faithfulness"), ("joint", "citation_support"), ("correctness", "answer_precision"),
     ("said", "answer_recall")],
)  # fmt: skip
def test_decisions_stand_in_the_place_of_verdicts(table: str, measure: str) -> None:
    units = [item.unit for item in items(record(), table)]  # type: ignore[arg-type]
    for label, value in (("supported", 1.0), ("not_found", 0.0)):
        by_people = decided(record(), table, {unit: Verdict(label) for unit in units})  # type: ignore[arg-type]
        assert parse(measure)(sy.Verdicts([by_people]).arrays()).tolist() == [value]
    half = decided(record(), table, {units[0]: Verdict("supported"), units[1]: Verdict("contradicted")})  # type: ignore[arg-type]
    assert parse(measure)(sy.Verdicts([half]).arrays()).tolist() == [0.5]


def test_the_judge_speaks_of_all_premises() -> None:
    verdict = judged(record(), "grounded", 1)
    assert verdict is not None
    assert verdict.label == "supported"
    assert verdict.score == max(v.score for v in record().support[1] if v.score is not None)


MEANS_OVER_UNITS = [
    ("grounded", "faithfulness"),
    ("grounded", "contradiction"),
    ("joint", "citation_support"),
    ("correctness", "answer_precision"),
    ("said", "answer_recall"),
]


@pytest.mark.parametrize(("table", "measure"), MEANS_OVER_UNITS)
def test_measures_are_means_of_those_of_single_units(table: str, measure: str) -> None:
    units = [item.unit for item in items(record(), table)]  # type: ignore[arg-type]
    alone = [restricted(record(), table, [unit]) for unit in units]  # type: ignore[arg-type]
    values = [parse(measure)(sy.Verdicts([one]).arrays())[0] for one in alone]
    assert parse(measure)(sy.Verdicts([record()]).arrays())[0] == pytest.approx(sum(values) / len(values))
    assert parse(measure)(sy.Verdicts([restricted(record(), table, units)]).arrays())[0] == pytest.approx(  # type: ignore[arg-type]
        sum(values) / len(values)
    )


def test_citations_stay_with_their_units() -> None:
    second = restricted(record(), "joint", [2])
    assert [(citation.unit, citation.mark) for citation in second.citations] == [(0, "[2]")]
    assert restricted(record(), "joint", [0]).citations == ()
    assert restricted(record(), "grounded", [2, 1]).units == (record().units[2], record().units[1])
