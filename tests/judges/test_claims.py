"""Sentences split into claims: whose place, citations and gold answer they have."""

from collections.abc import Sequence
from typing import Any

import pytest

from steelyard.base.errors import InputError
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.judges.answers.cases import drafts
from steelyard.judges.answers.refining import Refined, ability, sentences_of, with_claims
from steelyard.judges.judging import JudgeOptions, judge_answers
from tests.judges.fakes import Within

CHUNKS = [{"id": "h#1", "text": "The hall opens at 9 and has a garden."}]
ANSWER = "Hello! The hall opens at 9 and it has a garden [h#1]. It is free [h#1][h#7]. Is it."
QUESTIONS = Questions([{"qid": "q1", "query": "When?", "answers": ["At 9 and daily.", "Nine and free."]}])
OUTPUTS = Outputs([{"qid": "q1", "retrieved": CHUNKS, "answer": ANSWER}])


class Splitting(Within):
    """Splits at "and"; says nothing of sentences with "free", and that "Is it." has no claims."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Refined] = []

    def split(self, answers: Sequence[Refined]) -> list[list[tuple[str, ...] | None]]:
        self.asked += answers
        return [[self._claims(text) for text in answer.texts] for answer in answers]

    def _claims(self, text: str) -> tuple[str, ...] | None:
        if "free" in text:
            return None
        return () if text == "Is it." else tuple(text.split(" and "))


def test_claims_have_place_and_citations_of_their_sentence() -> None:
    judge, [draft] = Splitting(), list(drafts(QUESTIONS, OUTPUTS))
    [split] = with_claims([draft], judge)
    assert [answer.texts for answer in judge.asked] == [
        tuple(unit.text for unit in draft.record.units if unit.checkable),
        ("At 9 and daily.",),
        ("Nine and free.",),
    ]
    units = split.record.units
    assert [(unit.text, unit.no_claim) for unit in units] == [
        ("Hello!", "greeting"),
        ("The hall opens at 9", ""),
        ("it has a garden.", ""),
        ("It is free.", ""),
        ("Is it.", "no_claims"),
    ]
    assert (units[1].start, units[1].end) == (units[2].start, units[2].end)
    assert ANSWER[units[1].start : units[1].end].startswith("The hall opens")
    assert [(c.unit, c.mark, c.chunk) for c in split.record.citations] == [
        (1, "[h#1]", 0),
        (2, "[h#1]", 0),
        (3, "[h#1]", 0),
        (3, "[h#7]", None),
    ]
    golds = [(unit.text, unit.alternative) for unit in split.record.gold_units]
    assert golds == [("At 9", 0), ("daily.", 0), ("Nine and free.", 1)]


@pytest.mark.parametrize(
    ("claim", "lead"),
    [
        ("dental care", "The following are NOT covered:"),
        ("Dental care.", "The following are NOT covered:"),
        ("It costs ten euros.", "The following are NOT covered:"),
        ("Dental care is not covered.", ""),
        ("The plan does not cover dental care.", ""),
    ],
)
def test_a_claim_that_was_written_out_needs_no_lead(claim: str, lead: str) -> None:
    class Writing(Within):
        def split(self, answers: Sequence[Refined]) -> list[list[tuple[str, ...] | None]]:
            assert answers[0].leads == ("The following are NOT covered:",)
            return [[(claim,) for _ in answer.texts] for answer in answers]

    outputs = Outputs([{"qid": "q1", "retrieved": CHUNKS, "answer": "The following are NOT covered:\n- dental care"}])
    [split] = with_claims(list(drafts(Questions([{"qid": "q1", "query": "?"}]), outputs)), Writing())
    assert [(unit.text, unit.lead) for unit in split.record.units if unit.checkable] == [(claim, lead)]


def test_claims_are_judged_one_by_one() -> None:
    verdicts = judge_answers(QUESTIONS, OUTPUTS, Splitting(), JudgeOptions(answer_units="claims"))
    record = verdicts.records["q1"]
    assert verdicts.recipe["units"] == "claims"
    assert [row[0].label if row else "" for row in record.support] == ["", "supported", "not_found", "not_found", ""]
    assert len(record.joint) == len(record.units) == 5


def test_without_answers_nothing_is_split() -> None:
    outputs = Outputs([{"qid": "q1", "retrieved": CHUNKS, "answer": ""}])
    assert [s.texts for s in sentences_of(list(drafts(Questions([{"qid": "q1", "query": "?"}]), outputs)))] == [()]


@pytest.mark.parametrize("judge", [None, Within()])
def test_a_judge_that_splits_nothing_is_refused(judge: Any) -> None:
    with pytest.raises(InputError, match="splits no sentences into claims"):
        ability(judge, "split")
