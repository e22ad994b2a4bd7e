"""A whole report as text: for a terminal, in Markdown, as LaTeX tables and as JSON."""

from __future__ import annotations

import json
import math

from steelyard.report.contents import Contents
from steelyard.report.formats.comparison import comparison_json
from steelyard.report.formats.diagnosis import diagnosis_json
from steelyard.report.formats.scores import FORMATS
from steelyard.report.formats.sections import sections_markdown, sections_terminal
from steelyard.report.formats.sheets import sheet_latex
from steelyard.report.sheets.sections import report_sections
from steelyard.report.words import Words


def report_terminal(contents: Contents, words: Words, *, width: int | None = None, colour: bool = False) -> str:
    """For a terminal of so many columns; None for as many as it takes."""
    return sections_terminal(report_sections(contents, words), width=width, colour=colour)


def report_markdown(contents: Contents, words: Words) -> str:
    """Headings, paragraphs and tables, for a wiki or an issue."""
    return sections_markdown(report_sections(contents, words))


def report_latex(contents: Contents, words: Words) -> str:
    """The tables, for a paper: booktabs, best in bold, significance marks explained in the caption."""
    sections = report_sections(contents, words, marks=True)
    return "\n".join(sheet_latex(sheet, words=words) for section in sections for sheet in section.sheets)


def report_csv(contents: Contents, words: Words) -> str:
    """One row for each system, query and measure; the same in every language."""
    return FORMATS["csv"](contents.scores, per_query=True)


def report_json(contents: Contents, words: Words) -> str:
    """Everything in full precision: what `evaluate`, `compare` and `diagnose` write, under one roof."""
    comparison = contents.comparison
    parts = {
        "scores": json.loads(FORMATS["json"](contents.scores, per_query=True)),
        "comparison": None if comparison is None else json.loads(comparison_json(comparison)),
        "profile": contents.profile.name,
        "ratings": [
            {"system": rating.system, "measure": rating.measure, "level": rating.level,
             "could_be": list(rating.could_be), "out_of_reach": list(rating.out_of_reach),
             "reachable": None if math.isnan(rating.reachable) else rating.reachable}
            for rating in contents.ratings
        ],
        "diagnosis": json.loads(diagnosis_json(contents.diagnosis, words)),
    }  # fmt: skip
    return json.dumps(parts, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
