"""Anchors of two judges: what both judged of the same texts, and what each makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.judges.drift import anchor_shift
from steelyard.judges.verdict import CitedChunk, JudgedAnswer
from steelyard.measures import parse
from tests.experiment.judged import LETTERS, PEOPLE
from tests.experiment.judged import record as small

MODEL = {"judge": {"name": "model"}}


def record(
    query_id: str, units: dict[str, str], *, gold: str = "", context: tuple[str, ...] = ("d1",), **fields: Any
) -> JudgedAnswer:
    """An answer: the text of each unit, and the letter of its verdict."""
    made = small(query_id, "".join(units.values()), gold=gold)
    texts = tuple(replace(unit, text=text) for unit, text in zip(made.units, units, strict=True))
    answer = {"answer": " ".join(units), "context_digests": context, "query": f"q{query_id}"}
    return replace(made, units=texts, **{**answer, **fields})


def shift_of(measure: str, before: list[Any], after: list[Any]) -> Any:
    """Of runs of one record each, or of several records."""
    one, other = (
        [sy.Verdicts(run if isinstance(run, list) else [run], how) for run in runs]
        for runs, how in ((before, PEOPLE), (after, MODEL))
    )
    return anchor_shift(parse(measure), one, other, ["1"])


@pytest.mark.parametrize(
    ("before", "after", "shift", "anchored", "count"),
    [
        ({"a": "Y", "b": "N"}, {"a": "Y", "b": "Y"}, 0.5, 1.0, 2),
        ({"a": "Y", "b": "Y"}, {"b": "N", "c": "Y"}, -0.5, 0.5, 1),
        ({"a": "Y"}, {"b": "N"}, 0.0, 0.0, 0),
        ({"a": "?", "b": "N"}, {"a": "Y", "b": "N"}, 0.0, 0.5, 1),
        ({"a": "Y", "b": "C"}, {"a": "?", "b": "N"}, 0.0, 0.5, 1),
    ],
)
def test_sentences_with_the_same_texts_are_anchors(
    before: dict[str, str], after: dict[str, str], shift: float, anchored: float, count: int
) -> None:
    anchors = shift_of("faithfulness", [record("1", before)], [record("1", after)])
    assert [part.tolist() for part in (anchors.shift, anchors.anchored, anchors.count)] == [
        [shift],
        [anchored],
        [count],
    ]
    assert anchors.exposed.tolist() == [1]


def test_other_texts_are_none() -> None:
    answer = record("1", {"a": "Y"})
    for other in (replace(answer, context_digests=("d2",)), replace(answer, query="another"),
                  replace(answer, context_digests=()), replace(answer, query_id="2")):  # fmt: skip
        assert shift_of("faithfulness", [answer], [other]).n_anchors == 0


def test_measures_of_two_tables_need_both() -> None:
    before = record("1", {"a": "N", "b": "N"}, gold="Y", correctness=((LETTERS["N"],), (LETTERS["?"],)))
    after = record("1", {"a": "Y", "b": "N"}, gold="Y", correctness=((LETTERS["N"],), (LETTERS["N"],)))
    anchors = shift_of("hallucination", [before], [after])
    assert (anchors.shift.tolist(), anchors.anchored.tolist()) == ([-0.5], [0.5])
    assert shift_of("answer_precision", [before], [after]).count.tolist() == [1]


def test_what_cites_nothing_does_not_shift() -> None:
    cited = {"citations": (CitedChunk(0, 5, 8, "[1]", 0),), "without": (None,)}
    before = record("1", {"a": "Y", "b": "Y"}, **cited, joint=(LETTERS["N"], None))
    after = record("1", {"a": "Y", "b": "Y"}, **cited, joint=(LETTERS["Y"], None))
    anchors = shift_of("citation_support", [before], [after])
    assert (anchors.shift.tolist(), anchors.anchored.tolist(), anchors.exposed.tolist()) == ([0.5], [0.5], [0.5])


def test_of_other_measures_whole_answers_are_anchors() -> None:
    before = small("1", "YN", gold="YN")
    after = small("1", "YN", gold="YY")
    anchors = shift_of("answer_recall", [before], [after])
    assert (anchors.shift.tolist(), anchors.count.tolist()) == ([0.5], [1])
    assert shift_of("answer_recall", [before], [replace(after, answer="Ten.")]).n_anchors == 0
    # Context is no part of what answer_recall reads, and is of what context_recall does.
    moved = replace(after, context_digests=("d9",))
    assert shift_of("answer_recall", [before], [moved]).n_anchors == 1
    assert shift_of("context_recall", [replace(before, context_digests=("d1",))], [moved]).n_anchors == 0


def test_answers_that_are_not_there_do_not_shift() -> None:
    anchors = shift_of(
        "answer_recall", [small("1", state="missing", gold="N")], [small("1", state="missing", gold="N")]
    )
    assert (anchors.exposed.tolist(), anchors.count.tolist()) == ([0], [0])


def test_claims_of_two_judges_are_compared_by_whole_answers() -> None:
    before, after = record("1", {"a": "Y", "b": "N"}), record("1", {"a b": "Y"}, answer="a b")
    claims = {**MODEL, "units": "claims"}
    anchors = anchor_shift(parse("faithfulness"), [sy.Verdicts([before])], [sy.Verdicts([after], claims)], ["1"])
    assert (anchors.shift.tolist(), anchors.anchored.tolist()) == ([0.5], [1])


def test_runs_are_averaged() -> None:
    before = [record("1", {"a": "Y"}), record("1", {"b": "N"})]
    after = [record("1", {"a": "N"}), record("1", {"b": "N", "c": "Y"})]
    anchors = shift_of("faithfulness", before, after)
    assert anchors.shift.tolist() == [-0.5]
    assert np.allclose([anchors.anchored, anchors.count], [[0.75], [1]])
