"""Judged answers on a page: cut into sentences and marks, with what speaks for each; and the judge card."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.experiment.door.choices import RunVerdicts
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Unit, Verdict
from steelyard.reports.details.answers import AnswerDetails, CitationDetails, UnitDetails, answer_details
from steelyard.reports.details.details import Details, Judging
from steelyard.reports.details.limits import Limits
from steelyard.reports.page.payload import payload
from steelyard.reports.report import Report
from steelyard.reports.views.report import judge_card, report_sections
from steelyard.reports.words import Words, read_words
from tests.hypothesis_profiles import examples
from tests.reports.reports import EVIL, TEXTS, evil, judged_report, judged_verdicts, judged_weighing
from tests.reports.untranslated import untranslated

EN, ZH = read_words("en"), read_words("zh")
BOTH = pytest.mark.parametrize("lang", [EN, ZH], ids=["en", "zh"])
YES, NO, AGAINST, OPEN = (
    Verdict("supported", 0.9),
    Verdict("not_found", 0.2, "missing: noon"),
    Verdict("contradicted", 0.1, "8 is not 9"),
    Verdict("not_judged", None, "budget"),
)


def shown(record: JudgedAnswer, places: dict[str, int] | None = None, limits: Limits | None = None) -> AnswerDetails:
    return answer_details(record, places or {"c1": 0, "c4": 1}, TEXTS.get, limits or Limits())


def english() -> JudgedAnswer:
    return judged_verdicts()["first"].records["q1"]


def answer_of(*support: Verdict, **more: Any) -> JudgedAnswer:
    """One sentence, judged by the chunks c1 and c4."""
    text = "Late fees are waived."
    return JudgedAnswer(
        "q", "answered", answer=text, context=("c1", "c4")[: len(support)], units=(Unit(0, len(text), text),),
        support=(support,), joint=(None,), correctness=((),), **more,
    )  # fmt: skip


def test_an_answer_is_cut_at_sentences_and_marks() -> None:
    details = shown(english())
    assert [tuple(part) for part in details.parts] == [
        ("Hello!", 0, -1), (" ", -1, -1), ("Late fees are waived after a hospital stay ", 1, -1), ("[c1]", 1, 0),
        (".", 1, -1), (" ", -1, -1), ("Ask on Sunday at noon ", 2, -1), ("[c9]", 2, 1), (".", 2, -1), (" ", -1, -1),
        ("Or write to us ", 3, -1), ("[c4]", 3, 2), (".", 3, -1),
    ]  # fmt: skip
    assert list(details.labels) == ["no_claim", "supported", "not_found", "not_judged"]
    assert details.citations == [
        CitationDetails(["c1"], [0]),
        CitationDetails([], [], "dangling"),
        CitationDetails(["c4"], [1]),
    ]


def test_a_sentence_names_the_chunk_and_the_sentence_that_support_it() -> None:
    (unit,) = shown(english()).sentences[1]
    assert (unit.label, unit.chunk, unit.place, unit.correct, unit.claim) == ("supported", "c1", 0, "supported", "")
    assert TEXTS["c1"][unit.start : unit.end] == TEXTS["c1"]
    two = answer_details(
        answer_of(YES), {}, lambda _: "We open at nine. Late fees are waived after a stay. Ask us.", Limits()
    ).sentences[0][0]
    assert (two.place, two.start, two.end) == (-1, 17, 51)


def test_what_nothing_supports_names_the_nearest_chunk_and_the_reason() -> None:
    (unit,) = shown(english()).sentences[2]
    assert (unit.label, unit.chunk, unit.reason) == ("not_found", "c1", "missing: Sunday, noon")
    assert (unit.start, unit.end) == (-1, -1)


@pytest.mark.parametrize(
    ("support", "label", "chunk"),
    [
        ((NO, YES), "supported", "c4"),
        ((Verdict("supported", 0.7), YES), "supported", "c4"),
        ((YES, YES), "supported", "c1"),
        ((AGAINST, NO), "contradicted", "c1"),
        ((AGAINST, YES), "supported", "c4"),
        ((NO, Verdict("not_found", 0.4)), "not_found", "c4"),
        ((Verdict("supported"), Verdict("not_found")), "supported", "c1"),
        ((NO, OPEN), "not_judged", ""),
        ((OPEN, YES), "supported", "c4"),
        ((), "not_found", ""),
    ],
)
def test_the_best_chunk(support: tuple[Verdict, ...], label: str, chunk: str) -> None:
    (unit,) = shown(answer_of(*support)).sentences[0]
    assert (unit.label, unit.chunk) == (label, chunk)


def test_a_judge_of_whole_answers_explains() -> None:
    whole = Verdict("not_found", None, "nothing says so (grade 2)")
    details = shown(answer_of(grounded=(whole,), grade=Verdict("supported", 0.5, "half of it is answered")))
    assert details.sentences[0][0].reason == "nothing says so (grade 2)"
    assert details.explanation == "half of it is answered\nnothing says so (grade 2)"
    assert shown(answer_of(OPEN, OPEN, grounded=(whole,))).labels == ["not_found"]
    assert shown(answer_of(NO, OPEN, grounded=(whole,))).explanation == ""  # The reason of the sentence is beside it.


def test_without_a_context_nothing_is_held_against_it() -> None:
    unknown = replace(answer_of(), context=None)
    assert shown(unknown).sentences == [[UnitDetails("no_context")]]
    assert shown(unknown).labels == ["no_context"]


def test_a_sentence_has_its_lead_and_is_no_claim_for_its_signs() -> None:
    text = "Not covered:\n- **Dental** care [c1].\n"
    units = (Unit(0, 12, "Not covered:", "lead_in"), Unit(13, 35, "Dental care.", lead="Not covered:"))
    record = JudgedAnswer(
        "q", "answered", answer=text, context=("c1",), units=units, support=((), (NO,)), joint=(None, NO),
        correctness=((), ()), citations=(CitedChunk(1, 31, 35, "[c1]", 0),), without=(None,),
    )  # fmt: skip
    [[_], [sentence]] = shown(record).sentences
    assert (sentence.label, sentence.claim, sentence.lead) == ("not_found", "", "Not covered:")


def test_claims_are_listed_beneath_their_sentence_which_has_the_worst_of_their_labels() -> None:
    text = "Late fees are waived and doubled [c1]."
    claims = (Unit(0, len(text), "Late fees are waived."), Unit(0, len(text), "Late fees are doubled."))
    record = JudgedAnswer(
        "q", "answered", answer=text, context=("c1",), units=claims, support=((YES,), (NO,)), joint=(YES, NO),
        correctness=((), ()), citations=(CitedChunk(0, 33, 37, "[c1]", 0),), without=(None,),
    )  # fmt: skip
    details = shown(record)
    assert [unit.claim for unit in details.sentences[0]] == [claim.text for claim in claims]
    assert details.labels == ["not_found"]


def test_a_mark_of_several_chunks_is_one() -> None:
    text = "It is so [1-2, 9]."
    cited = tuple(
        CitedChunk(0, 9, 17, "[1-2, 9]", chunk, None if chunk is not None else "out_of_range") for chunk in (0, 1, None)
    )
    record = JudgedAnswer(
        "q", "answered", answer=text, context=("c1", "x"), units=(Unit(0, 18, "It is so."),), support=((YES, NO),),
        joint=(YES,), correctness=((),), citations=cited, without=(None,) * 3,
    )  # fmt: skip
    assert shown(record).citations == [CitationDetails(["c1", "x"], [0, -1], "out_of_range")]


def test_the_gold_answer_is_said_or_not_and_was_there_or_not() -> None:
    units = shown(english()).gold
    assert [(unit.text, unit.said, unit.reached) for unit in units] == [
        ("After a hospital stay.", "supported", "supported"),
        ("A letter of the doctor is needed.", "not_found", "not_found"),
    ]
    greeting = replace(english(), gold_units=(Unit(0, 5, "Hello", "greeting"),), said=(None,), reach=((),))
    assert [unit.said for unit in shown(greeting).gold] == ["no_claim"]


@st.composite
def records(draw: st.DrawFn) -> JudgedAnswer:
    """Units and marks anywhere in a text, even overlapping."""
    text = draw(st.text(max_size=40))

    def span() -> tuple[int, int]:
        start = draw(st.integers(0, len(text)))
        return start, draw(st.integers(start, len(text)))

    spans = [span() for _ in range(draw(st.integers(0, 4)))]
    units = tuple(Unit(start, end, text[start:end], draw(st.sampled_from(["", "greeting"]))) for start, end in spans)
    marks = [(draw(st.integers(0, len(units) - 1)), *span()) for _ in range(draw(st.integers(0, 3)) if units else 0)]
    return JudgedAnswer(
        "q", "answered", answer=text, context=("c1",), units=units,
        support=tuple((draw(st.sampled_from([YES, NO, OPEN])),) if unit.checkable else () for unit in units),
        joint=(None,) * len(units), correctness=((),) * len(units),
        citations=tuple(CitedChunk(u, start, end, "[]", 0) for u, start, end in marks), without=(None,) * len(marks),
    )  # fmt: skip


@examples(200)
@given(record=records())
def test_the_parts_are_the_answer_whatever_the_places(record: JudgedAnswer) -> None:
    details = shown(record)
    assert len("".join(text for text, _, _ in details.parts)) == len(record.answer)
    assert all(s < len(details.sentences) and c < len(details.citations) for _, s, c in details.parts)
    assert sum(map(len, details.sentences)) == len(record.units)
    assert len(details.labels) == len(details.sentences)


def test_long_and_hostile_texts_are_cut_and_visible() -> None:
    text = evil("x" * 3_000)
    record = replace(
        answer_of(Verdict("not_found", 0.2, evil("why") + "y" * 900)),
        answer=text,
        units=(Unit(0, len(text), "another claim"),),
        context=(evil("chunk"),),
    )
    details = shown(record)
    said = json.dumps([str(details)])
    assert "\\u202e" not in said
    assert "\\u0000" not in said
    (unit,) = details.sentences[0]
    assert len(unit.reason) == Limits().reason
    assert unit.claim == "another claim"
    assert EVIL[:20] in "".join(text for text, _, _ in details.parts)


# In the details of a page ------------------------------------------------------------------------------------------


def test_only_as_many_judged_answers_as_there_is_room_for() -> None:
    weighing = judged_weighing()
    of_system = Details.of(weighing).systems[0]
    assert list(of_system.judged) == [0, 1, 2]
    assert (of_system.answers, of_system.judged_left_out) == ({}, 0)
    assert of_system.judged[2].state == "abstained"
    size = of_system.judged[0].size
    narrow = Details.of(weighing, replace(Limits(), judged_bytes=3 * size)).systems[0]
    assert (list(narrow.judged), narrow.judged_left_out) == ([0], 2)
    assert narrow.answers.keys() == set()


@pytest.mark.parametrize(
    ("lang", "reason"), [(EN, "missing: Sunday, noon"), (ZH, "缺少“Sunday、noon”")], ids=["en", "zh"]
)
def test_reasons_of_the_lexical_judge_are_in_the_reader_s_language(lang: Words, reason: str) -> None:
    judged = payload(judged_report(), lang)["of"][0]["judged"][0]
    assert judged["sentences"][2][0][1] == reason
    assert judged["gold"][1][3] == reason


# The judge card ----------------------------------------------------------------------------------------------------


def test_the_judge_card_of_the_lexical_judge() -> None:
    sheet = judge_card(judged_report().judging, EN)
    assert sheet.header == ["fact", "first"]
    assert dict(sheet.rows) == {
        "judge": "lexical 1",
        "threshold": "0.7 (uncalibrated)",
        "date": "2026-11-22T12:00:00+00:00",
        "answers": "answered 2, abstained 1, missing 1",
        "sentences": "supported 2, contradicted 1, not in the context 1, not judged 1, asserting nothing 1",
        "verdicts lacking, by cause": "budget 1",
        "citations": "in all 4, naming no chunk of the context 1",
    }
    assert sheet.notes
    assert sheet.notes[0].startswith("Uncalibrated:")


def test_the_judge_card_of_a_model() -> None:
    recipe = {
        "judge": {"name": "llm", "version": 2, "model": "m-1", "base_url": "http://127.0.0.1:9", "temperature": 0.0,
                  "epochs": 3, "prompts": {"support.en": "sha256:0123456789abcdef"}},
        "units": "claims", "calibration": None,
        "calls": {"calls": 1200, "tokens_in": 50_000, "cost_usd": 0.25, "price": {"usd_in": 1.0}, "cached": 0},
    }  # fmt: skip
    model = Judging.of(RunVerdicts(Verdicts([], recipe, errors={"unknown_id": 2}), []))
    sheet = judge_card({"a": model, "b": judged_report().judging["first"]}, EN)
    rows = {row[0]: row[1:] for row in sheet.rows}
    assert rows["model"] == ["m-1 · http://127.0.0.1:9", "–"]
    assert rows["prompts"][0] == "support.en 0123456789ab"
    assert rows["parameters"][0] == "temperature = 0.0, epochs = 3"
    assert rows["calls"][0] == "calls 1,200, tokens in 50,000, US dollars 0.25"
    assert rows["errors of the judge"][0] == "unknown_id 2"
    assert rows["threshold"] == ["–", "0.7 (uncalibrated)"]


@BOTH
def test_the_report_in_text_names_the_judge(lang: Words) -> None:
    names = [section.name for section in report_sections(judged_report(), lang)]
    assert {"outcomes", "judging"} <= set(names)
    markdown = judged_report().text("markdown", lang=lang.code)
    assert lang("judge_card.title") in markdown
    assert lang("outcomes.title") in markdown
    if lang is ZH:
        parts = [text for row in judge_card(judged_report().judging, lang).rows for text in row]
        assert untranslated("\n".join(parts), ["lexical", "budget", "first"]) == []


def test_parts_come_back() -> None:
    report = judged_report(date="2026-11-22")
    again = Report.from_parts(json.loads(json.dumps(report.parts())))
    assert again.text("markdown", lang="en") == report.text("markdown", lang="en")
    assert again.details.systems[0].judged == report.details.systems[0].judged
