"""A whole report as sections, in the order in which it is read; the same for every format of text."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.report.contents import Contents
from steelyard.report.sheets.comparing import comparison_sheets
from steelyard.report.sheets.corrections import corrected_sheet
from steelyard.report.sheets.diagnosis import diagnosis_sections
from steelyard.report.sheets.drift import drift_sheet
from steelyard.report.sheets.judge_card import judge_card
from steelyard.report.sheets.paper import differences_sheet
from steelyard.report.sheets.rating import rating_sheets, ratings_overview
from steelyard.report.sheets.scores import scores_sheet
from steelyard.report.sheets.section import Paragraph, Section
from steelyard.report.sheets.summary import care, facts, verdict
from steelyard.report.sheets.titles import leaderboard_title
from steelyard.report.words import Words


def report_sections(contents: Contents, words: Words) -> Iterator[Section]:
    """Summary, leaderboard, comparison, ratings, diagnosis, who judged answers; those that have anything to say."""
    answers = [Paragraph(fact.text, fact.title) for fact in facts(contents, words)]
    yield Section("short", words("page.summary.title"), [*map(Paragraph, verdict(contents, words)), *answers])
    if warnings := care(contents, words):
        yield Section("care", words("page.care.title"), list(map(Paragraph, warnings)))
    leaderboard = [scores_sheet(contents.scores, words), corrected_sheet(contents.scores, words)]
    sheets = [sheet for sheet in leaderboard if sheet is not None]
    yield Section("leaderboard", leaderboard_title(contents, words), sheets=sheets)
    if contents.comparison is not None:
        sheets = [next(comparison_sheets(contents.comparison, words))]
        sheets += [differences_sheet(contents.comparison, words)] if len(contents.comparison.measures) > 1 else []
        sheets += [drift] if (drift := drift_sheet(contents.comparison, words)) is not None else []
        yield Section("comparison", words("page.comparison.title"), sheets=sheets)
    if contents.ratings:
        several = len(contents.scores.systems) > 1
        sheets = (ratings_overview if several else rating_sheets)(contents.ratings, contents.profile, words)
        yield Section("ratings", words("page.ratings.title"), sheets=sheets)
    yield from diagnosis_sections(contents.diagnosis, words)
    if contents.judging:
        yield Section(
            "judging",
            words("judge_card.title"),
            sheets=[judge_card(contents.judging, words, contents.scores.corrections)],
        )
