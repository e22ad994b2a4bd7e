"""What is asked about an answer, and where what was said goes."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest

from steelyard.data.outputs import Outputs
from steelyard.data.question import Question
from steelyard.data.questions import Questions
from steelyard.judges.answers.cases import NOT_ASKED, TABLES, Draft, PremiseKey, asked_cases, drafts, filled
from steelyard.judges.judging import judge_answers
from steelyard.judges.lexical import LexicalJudge
from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Unit, Verdict, VerdictTable, check_record

UNITS = (Unit(0, 2, "Hi", "greeting"), Unit(2, 4, "A."), Unit(4, 6, "B."))
DRAFT = Draft(
    JudgedAnswer(
        "q", "answered", answer="Hi A. B.", context=("c0", "c1", "c2"), units=UNITS,
        citations=(
            CitedChunk(1, 0, 1, "[2]", 1),
            CitedChunk(2, 0, 1, "[3]", 2),
            CitedChunk(2, 0, 1, "[1]", 0),
            CitedChunk(2, 0, 1, "[2]", 1),
            CitedChunk(2, 0, 1, "[9]", None, "out_of_range"),
            CitedChunk(0, 0, 1, "[1]", 0),
        ),
        gold_answers=("G. H?", "I."),
        gold_units=(Unit(0, 2, "G."), Unit(3, 5, "H?", "question"), Unit(0, 2, "I.", "", 1)),
    ),
    "why?", ("zero", "one", "two"), "Hi A. B.",
)  # fmt: skip


def _answered(draft: Draft, tables: Collection[VerdictTable] = TABLES) -> dict[PremiseKey, dict[int, Verdict]]:
    """Verdicts that say by which premise and hypothesis they are."""
    return {
        request.key: {
            unit: Verdict("supported", 1.0, f"{request.case.premise} | {text}")
            for unit, text in zip(request.units, request.case.hypotheses, strict=True)
        }
        for request in asked_cases(draft, tables)
    }


def _reasons(verdicts: Collection[Verdict | None]) -> list[str]:
    return ["-" if verdict is None else verdict.reason for verdict in verdicts]


def test_every_verdict_goes_to_its_premise_and_unit() -> None:
    record = filled(DRAFT, _answered(DRAFT))
    check_record(record)
    assert [_reasons(row) for row in record.support] == [
        [],
        ["zero | A.", "one | A.", "two | A."],
        ["zero | B.", "one | B.", "two | B."],
    ]
    assert _reasons(record.joint) == ["-", "one | A.", "zero\n\none\n\ntwo | B."]
    assert _reasons(record.without) == ["-", "zero\n\none | B.", "one\n\ntwo | B.", "zero\n\ntwo | B.", "-", "-"]
    assert [_reasons(row) for row in record.correctness] == [[], ["G. H? | A.", "I. | A."], ["G. H? | B.", "I. | B."]]
    assert _reasons(record.said) == ["Hi A. B. | G.", "-", "Hi A. B. | I."]
    assert [_reasons(row) for row in record.reach] == [
        ["zero | G.", "one | G.", "two | G."],
        [],
        ["zero | I.", "one | I.", "two | I."],
    ]
    assert record.grounded == ()


def test_one_cited_chunk_is_not_asked_again_and_a_case_has_all_units_of_its_premise() -> None:
    keys = [request.key for request in asked_cases(DRAFT)]
    assert len(keys) == len(set(keys))
    assert [key for key in keys if key[0] == "joint"] == [
        ("joint", (0, 1, 2)),
        ("joint", (1, 2)),
        ("joint", (0, 2)),
        ("joint", (0, 1)),
    ]
    first = next(asked_cases(DRAFT))
    assert (first.case.hypotheses, first.case.query, first.case.table) == (("A.", "B."), "why?", "support")


def test_a_judge_that_reads_the_whole_context_is_asked_once_and_about_each_cited_chunk() -> None:
    tables: tuple[VerdictTable, ...] = ("grounded", "joint")
    answers = _answered(DRAFT, tables)
    record = filled(DRAFT, answers)
    assert _reasons(record.grounded) == ["-", "zero\n\none\n\ntwo | A.", "zero\n\none\n\ntwo | B."]
    assert ("joint", (1,)) in answers
    assert _reasons(record.joint) == ["-", "one | A.", "zero\n\none\n\ntwo | B."]
    assert {verdict for row in record.support for verdict in row} == {NOT_ASKED}
    assert {verdict for row in (*record.reach, *record.correctness) for verdict in row} == {NOT_ASKED}


@pytest.mark.parametrize("state", ["abstained", "empty", "failed", "missing"])
def test_no_answer_says_nothing_and_no_judge_is_asked_whether_it_does(state: str) -> None:
    silent = replace(DRAFT, record=replace(DRAFT.record, state=state, units=(), citations=()))  # type: ignore[arg-type]
    answers = _answered(silent)
    assert {key[0] for key in answers} == {"reach"}
    record = filled(silent, answers)
    check_record(record)
    assert [verdict and (verdict.label, verdict.reason) for verdict in record.said] == [
        ("not_found", state),
        None,
        ("not_found", state),
    ]


def test_without_a_context_nothing_is_asked_of_it() -> None:
    bare = Draft(replace(DRAFT.record, context=None, citations=()), "why?", (), "Hi A. B.")
    answers: Mapping[PremiseKey, Mapping[int, Verdict]] = _answered(bare, (*TABLES, "grounded"))
    assert {key[0] for key in answers} == {"correctness", "said", "relevance"}
    record = filled(bare, answers)
    check_record(record)
    assert (record.support, record.joint, record.grounded) == (((), (), ()), (None, None, None), ())


def test_a_page_is_that_of_the_retrieved_chunks() -> None:
    lines = [{
        "qid": "q1", "answer": "九点开门（手册.pdf，第3页）。周日休息（第9页）。",
        "retrieved": [
            {"id": "c1", "doc": "docs/手册.pdf", "page": 2, "text": "十点开门。"},
            {"id": "c2", "doc": "docs/手册.pdf", "page": 3, "text": "九点开门。"},
        ],
    }]  # fmt: skip
    (draft,) = drafts([Question("q1", "几点开门？", where="line 1")], Outputs(lines))
    assert [(cited.chunk, cited.problem) for cited in draft.record.citations] == [(1, None), (None, "out_of_range")]
    assert [unit.text for unit in draft.record.units] == ["九点开门。", "周日休息。"]


FORMS = [
    "（第12页）",
    "(p. 12)",
    "（来源：手册.pdf，第12页）",
    "[手册.pdf, p.12]",
    "（见资料1）",
    "[ID:0]",
    "##0$$",
    "(1)",
    "①",
    "〖1〗",
]


@pytest.mark.parametrize("form", FORMS)
def test_digits_of_a_mark_are_no_fact(form: str) -> None:
    """The sentence is supported as it is without a mark, and cites the chunk."""
    retrieved = [
        {"id": "m1", "doc": "手册.pdf", "page": 12, "text": "图书馆周一至周五上午九点开门。"},
        {"id": "m2", "doc": "手册.pdf", "page": 13, "text": "读者证工本费十元。"},
    ]
    outputs = Outputs([{"qid": "q1", "answer": f"图书馆上午九点开门{form}。", "retrieved": retrieved}])
    questions = Questions([{"qid": "q1", "query": "几点开门？"}])
    (record,) = judge_answers(questions, outputs, LexicalJudge()).records.values()
    assert [(cited.unit, cited.chunk) for cited in record.citations] == [(0, 0)]
    assert record.support[0][0].label == "supported"
