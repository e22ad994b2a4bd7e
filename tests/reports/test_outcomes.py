"""What became of the questions, as tables and JSON, in both languages."""

import json
import re
from functools import cache

import pytest
from rich.cells import cell_len

import steelyard as sy
from steelyard.diagnosis.diagnosing import Diagnosis, diagnose
from steelyard.diagnosis.outcomes import OUTCOMES
from steelyard.reports.charts.drawing import draw_charts
from steelyard.reports.formats.blocks import blocks_markdown, blocks_terminal
from steelyard.reports.views.diagnosis import diagnosis_sections, stage_lists
from steelyard.reports.views.outcomes import (
    abstention_sheet,
    faithfulness_sheet,
    outcome_name,
    outcome_sections,
    outcome_tags_sheet,
    outcomes_sheet,
)
from steelyard.reports.words import Words, read_words
from tests.diagnosis.judged_library import judged_diagnosis, record, with_verdicts
from tests.diagnosis.library import outputs, questions, weighed
from tests.reports.untranslated import untranslated

EN, ZH = read_words("en"), read_words("zh")
BOTH = pytest.mark.parametrize("lang", [EN, ZH], ids=["en", "zh"])
COUNTS = ["works"] * 6 + ["over_cautious"] + ["hallucination"] * 2 + ["unanswerable_answered"]


@cache
def one_system() -> Diagnosis:
    return judged_diagnosis(*COUNTS, tags={**{i: ["odd"] for i in range(4, 10)}, 0: ["seldom"]})


@cache
def two_systems() -> Diagnosis:
    records = {
        "a": [record(i, outcome) for i, outcome in enumerate(COUNTS)],
        "b": [record(i, "works") for i in range(10)],
    }
    tags = {i: ["odd"] for i in range(4, 10)}
    weighing = weighed(questions(10, tags=tags), outputs("a", [1] * 10), outputs("b", [1] * 10))
    return diagnose(with_verdicts(weighing, records))


@BOTH
def test_every_outcome_has_a_name_of_its_own(lang: Words) -> None:
    rows = {tuple(lang(f"outcomes.{part}.{code}") for part in ("context", "answer", "name")) for code in OUTCOMES}
    assert len(rows) == len(OUTCOMES)
    assert all(outcome_name(code, lang) for code in OUTCOMES)


def test_one_system_has_intervals() -> None:
    sheet = outcomes_sheet(one_system().outcomes, EN)
    assert sheet.header == ["gold", "answer", "says", "a"]
    rows = {row[2]: row for row in sheet.rows}
    assert rows["works"][:3] == ["yes", "correct, faithful", "works"]
    assert re.fullmatch(r"6 \(60%; \d+%–\d+%\)", rows["works"][3])
    assert rows["hallucination"][3].startswith("2 (20%; ")
    assert rows["wrong chunk followed"][3].startswith("0 (0%; 0%–")
    assert rows["should have abstained"][3].startswith("1 (10%; ")
    assert "not judged" not in rows
    assert sheet.rows[-1] == ["all", "", "", "10"]
    assert sheet.notes[1] == "Correct: answer_recall is 0.5 or more. Faithful: faithfulness is 1 or more."


def test_several_systems_are_columns() -> None:
    sheet = outcomes_sheet(two_systems().outcomes, EN)
    assert sheet.header[3:] == ["a", "b"]
    assert next(row for row in sheet.rows if row[2] == "works")[3:] == ["6 (60%)", "10 (100%)"]


def test_faithfulness_with_and_without_gold() -> None:
    (row,) = faithfulness_sheet(one_system().outcomes, EN).rows
    assert row[:4] == ["a", "1.000 (6)", "0.000 (3)", "+1.000"]
    row = faithfulness_sheet(two_systems().outcomes, EN).rows[1]
    assert row[1:] == ["1.000 (10)", "–", "–", "–"]


def test_abstention_where_there_is_any() -> None:
    sheet = abstention_sheet(one_system().outcomes, EN)
    assert sheet is not None
    by_gold, by_context = sheet.rows
    assert by_gold == ["a", "the gold", "0", "1", "0", "0", "–", "0.000", "0.000"]
    assert by_context == ["a", "the context", "6", "3", "0", "1", "0.000", "0.000", "0.000"]
    assert abstention_sheet(judged_diagnosis("works", "works").outcomes, EN) is None


def test_tags() -> None:
    sheet = outcome_tags_sheet(one_system(), EN)
    assert sheet is not None
    assert sheet.header == ["tag", "all", "works", "others"]
    assert sheet.rows == [["odd", "6", "2", "4"]]
    assert sheet.notes == ["1 tag of fewer than 5 questions is left out."]
    several = outcome_tags_sheet(two_systems(), EN)
    assert several is not None
    assert several.rows == [["odd", "6", "2 (33%)", "6 (100%)"]]
    assert outcome_tags_sheet(judged_diagnosis("works"), EN) is None


@BOTH
@pytest.mark.parametrize("width", [60, 100, None])
def test_terminal_and_markdown(lang: Words, width: int | None) -> None:
    text = blocks_terminal(diagnosis_sections(one_system(), lang), width=width)
    assert lang("outcomes.title") in text
    assert width is None or max(map(cell_len, text.splitlines())) <= width
    markdown = blocks_markdown(diagnosis_sections(one_system(), lang))
    assert f"| {lang('outcomes.name.works')} |" in markdown
    if lang is ZH:
        parts = blocks_markdown(outcome_sections(one_system(), lang))
        assert untranslated(parts, ["odd", "answer_recall", "faithfulness", "context_recall", "people"]) == []


def test_questions_of_an_outcome_are_listed() -> None:
    text = stage_lists(two_systems(), ["hallucination", "found"], EN)
    assert text.splitlines()[0] == "a, hallucination: q007, q008"
    assert text.splitlines()[1].startswith("a, found: q000, q001")
    assert text.splitlines()[2] == "b, hallucination: none"
    assert stage_lists(diagnose(weighed(questions(2), outputs("a", [1, 1]))), ["hallucination"], EN) == (
        "a, hallucination: none\n"
    )


def test_without_verdicts_nothing_is_said() -> None:
    diagnosis = diagnose(weighed(questions(2), outputs("a", [1, None])))
    assert list(outcome_sections(diagnosis, EN)) == []
    assert "outcomes" not in json.loads(diagnosis.text("json", lang="en"))


@pytest.mark.parametrize("evidence", [[], ["c"]])
def test_without_gold_nothing_is_said_of_retrieval(evidence: list[str]) -> None:
    gold = [{"qid": "q1", "query": "When?", "answer": "At nine."} | ({"gold_evidence": evidence} if evidence else {})]
    lines = [{"qid": "q1", "retrieved": [{"id": "c", "text": "It opens at nine."}], "answer": "It opens at nine."}]
    report = sy.report(sy.weigh(gold, lines), measures="faithfulness")
    names = [section.name for section in diagnosis_sections(report.diagnosis, EN)]
    assert names == (["funnel", "outcomes", "ceilings", "advice"] if evidence else ["outcomes", "advice"])
    assert bool({"funnel", "ceilings", "curves"} & draw_charts(report, words=EN).keys()) == bool(evidence)


def test_json_has_counts_shares_lists_and_differences() -> None:
    content = json.loads(one_system().text("json", lang="en"))
    assert content["criteria"] == {"correct": 0.5, "faithful": 1.0, "in_context": 0.5}
    of_system = content["outcomes"]["a"]
    assert list(of_system["questions"]) == list(OUTCOMES)
    assert of_system["questions"]["works"] == 6
    assert of_system["shares"]["works"]["share"] == 0.6
    assert 0 < of_system["shares"]["works"]["low"] < 0.6 < of_system["shares"]["works"]["high"] < 1
    assert of_system["lists"]["hallucination"] == ["q007", "q008"]
    assert of_system["faithfulness_by_gold"]["difference"] == 1.0
    assert of_system["abstention"][0]["precision"] is None
    assert content["outcomes_by_tag"]["odd"]["a"]["works"] == 2
