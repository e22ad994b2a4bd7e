"""Reports of systems whose means labels of people correct: leaderboard, comparison, judge card, table for a paper."""

from __future__ import annotations

from functools import cache

import pytest

import steelyard as sy
from steelyard.report.formats.report import report_latex
from steelyard.report.sheets.judge_card import judge_card
from steelyard.report.sheets.sections import report_sections
from steelyard.report.words import read_words
from tests.comparison.test_labels import labels_of, weighing

pytest.importorskip("scipy.stats", reason="comparing needs the extra stats")


@cache
def report(labelled: bool = True) -> sy.Report:
    return sy.Report.of(weighing(labels_of() if labelled else {}), ["faithfulness"])


def test_the_leaderboard_shows_judge_people_and_both() -> None:
    sections = {section.name: section for section in report_sections(report(), read_words("en"))}
    _, corrected = sections["leaderboard"].sheets
    assert corrected.header[:4] == ["system", "measure", "judge", "people alone"]
    assert [row[0] for row in corrected.rows] == ["a", "b"]
    plain = {section.name: section for section in report_sections(report(labelled=False), read_words("en"))}
    assert len(plain["leaderboard"].sheets) == 1


@pytest.mark.parametrize(
    ("lang", "title", "fact"),
    [
        ("en", "corrected by people", "labels of people that correct means"),
        ("zh", "校正的均值", "用于校正均值的人工标注"),
    ],
)
def test_page_and_markdown_hold_it_in_both_languages(lang: str, title: str, fact: str) -> None:
    page, text = (report().text(name, lang=lang) for name in ("html", "markdown"))
    assert title in page
    assert fact in page
    assert fact in text
    assert fact not in report(labelled=False).text("html", lang=lang)


def test_the_judge_card_counts_labels() -> None:
    sheet = judge_card(report().judging, read_words("en"), report().scores.corrections)
    assert sheet.rows[-1] == ["labels of people that correct means", "faithfulness 80", "faithfulness 80"]


def test_a_table_for_a_paper_has_corrected_means() -> None:
    latex = report_latex(report(), read_words("en"))
    for system in "ab":
        mean = report().scores.corrections[system]["faithfulness"].mean.corrected.mean
        assert f"{mean:.4f}" in latex
    assert "corrected by labels of people where there are some: faithfulness" in latex
    assert "corrected" not in report_latex(report(labelled=False), read_words("en"))
