"""Reports into files and onto the terminal: the same sections as text, Markdown and LaTeX; HTML, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from steelyard.base.errors import InputError
from steelyard.io.write import write_text
from steelyard.report import comparing, diagnosing
from steelyard.report.contents import Report
from steelyard.report.formats import FORMATS, SHEET_FORMATS, format_of
from steelyard.report.section import in_markdown, in_terminal
from steelyard.report.sections import sections
from steelyard.report.words import Words, read_words


def write(report: Report, path: str | Path, *, lang: str | None = None, format: str | None = None) -> None:
    """Write a report in the format that is named, or that the path's suffix tells; see `Report.write`."""
    chosen = format_of(path, format)
    if chosen not in REPORT_FORMATS:
        raise InputError(f"a report cannot be written as {chosen}; choose {', '.join(REPORT_FORMATS)}")
    write_text(path, REPORT_FORMATS[chosen](report, read_words(lang)))


def as_text(report: Report, lang: Words, *, width: int | None = None, colour: bool = False) -> str:
    """For a terminal of so many columns; None for as many as it takes."""
    return in_terminal(sections(report, lang), width=width, colour=colour)


def as_markdown(report: Report, lang: Words) -> str:
    """Headings, paragraphs and tables, for a wiki or an issue."""
    return in_markdown(sections(report, lang))


def as_latex(report: Report, lang: Words) -> str:
    """The tables, for a paper: booktabs, best in bold, significance marks explained in the caption."""
    made = [sheet for section in sections(report, lang) if section.sheets for sheet in section.sheets]
    if report.comparison is not None:
        marked = list(comparing.sheets(report.comparison, lang, marks=True))
        plain = len(list(comparing.sheets(report.comparison, lang)))
        # The leaderboard comes first, and behind it the comparison.
        made[1 : 1 + plain] = marked
    return "\n".join(SHEET_FORMATS["latex"](sheet, lang=lang) for sheet in made)


def as_json(report: Report, lang: Words) -> str:
    """Everything in full precision: what `evaluate`, `compare` and `diagnose` write, under one roof."""
    made = {
        "scores": json.loads(FORMATS["json"](report.scores, per_query=True)),
        "comparison": None if report.comparison is None else json.loads(comparing.as_json(report.comparison)),
        "profile": report.profile.name,
        "ratings": [
            {"system": r.system, "measure": r.measure, "level": r.level, "could_be": list(r.could_be)}
            for r in report.ratings
        ],
        "diagnosis": json.loads(diagnosing.as_json(report.diagnosis, lang)),
    }
    return json.dumps(made, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _as_html(report: Report, lang: Words) -> str:
    from steelyard.report.page import render

    return render(report, lang=lang)


REPORT_FORMATS: dict[str, Callable[[Report, Words], str]] = {
    "table": as_text,
    "html": _as_html,
    "markdown": as_markdown,
    "latex": as_latex,
    "csv": lambda report, lang: FORMATS["csv"](report.scores, per_query=True),
    "json": as_json,
}
"""Every way to write a report."""
