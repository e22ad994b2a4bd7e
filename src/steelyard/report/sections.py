"""A whole report as sections, in the order in which it is read; the same for every format of text."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.report import comparing, diagnosing
from steelyard.report.contents import Report
from steelyard.report.rating import rating_sheets
from steelyard.report.section import Paragraph, Section
from steelyard.report.sheet import sheet
from steelyard.report.summary import care, facts, verdict
from steelyard.report.words import Words


def sections(report: Report, lang: Words) -> Iterator[Section]:
    """Summary, leaderboard, comparison, ratings, funnel, ceilings, advice; those that have anything to say."""
    told = [Paragraph(fact.text, fact.title) for fact in facts(report, lang)]
    yield Section("short", lang("page.summary.title"), [Paragraph(verdict(report, lang)), *told])
    if warnings := care(report, lang):
        yield Section("care", lang("page.care.title"), list(map(Paragraph, warnings)))
    yield Section("leaderboard", lang("page.leaderboard.title"), sheets=[sheet(report.scores, lang)])
    if report.comparison is not None:
        compared = list(comparing.sheets(report.comparison, lang))
        yield Section("comparison", lang("page.comparison.title"), sheets=compared)
    if report.ratings:
        rated = rating_sheets(report.ratings, report.profile, lang)
        yield Section("ratings", lang("page.ratings.title"), sheets=rated)
    yield from diagnosing.sections(report.diagnosis, lang)
