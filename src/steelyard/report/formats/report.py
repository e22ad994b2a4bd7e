"""A whole report as text: for a terminal, in Markdown, as LaTeX tables and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from steelyard.report.contents import Contents
from steelyard.report.formats.blocks import blocks_markdown, blocks_terminal, escaped
from steelyard.report.formats.diagnosis import diagnosis_json
from steelyard.report.formats.gating import gate_json, gate_sheet, heading, out_of_reach
from steelyard.report.formats.scores import FORMATS
from steelyard.report.formats.sheets import sheet_latex
from steelyard.report.views.notes import signature_note
from steelyard.report.views.report import paper_sheet, report_sections, subtitle_text, title_text
from steelyard.report.views.sheet import Paragraph, Section
from steelyard.report.visible import visible
from steelyard.report.words import Words
from steelyard.report.wrapping import wrapped

FORMAT = 1
"""Of the JSON; it rises where a key is renamed or goes."""


def report_terminal(contents: Contents, words: Words, *, width: int | None = None, colour: bool = False) -> str:
    """For a terminal of so many columns; None for as many as it takes."""
    head = "\n".join(wrapped(visible(_head(contents, words)), width))
    return f"{head}\n\n{blocks_terminal(_sections(contents, words), width=width, colour=colour)}"


def report_markdown(contents: Contents, words: Words) -> str:
    """Headings, paragraphs and tables, for a wiki or an issue."""
    title, subtitle = title_text(contents, words), subtitle_text(contents, words)
    between = words("diagnose.between")
    head = f"# {escaped(title)}\n\n{escaped(subtitle)}{between}{contents.date}\n"
    return f"{head}\n{blocks_markdown(_sections(contents, words))}"


def report_latex(contents: Contents, words: Words) -> str:
    """One table for a paper: all measures, best in bold, marks explained in the caption; what it is of as comments."""
    head = [_head(contents, words), *signature_note(contents.scores.signature, words)]
    comments = "".join(f"% {line}\n" for line in visible("\n".join(head)).split("\n"))
    return comments + sheet_latex(paper_sheet(contents, words), words=words, label="report")


def _head(contents: Contents, words: Words) -> str:
    return f"{title_text(contents, words)} · {contents.date}"


def _sections(contents: Contents, words: Words) -> Iterator[Section]:
    """Those of every report, and the gate behind the ratings."""
    for section in report_sections(contents, words):
        yield section
        if section.name == "ratings" and contents.gate is not None:
            lines = [*out_of_reach(contents.gate, words), heading(contents.gate, words)]
            yield Section(
                "gate", words("page.gate.title"), list(map(Paragraph, lines)), [gate_sheet(contents.gate, words)]
            )


def report_csv(contents: Contents, words: Words) -> str:
    """One row for each system, query and measure; the same in every language."""
    return FORMATS["csv"](contents.scores, per_query=True)


def report_json(contents: Contents, words: Words) -> str:
    """Everything in full precision: what `evaluate`, `compare` and `diagnose` write, under one roof."""
    comparison = contents.comparison
    parts = {
        "format": FORMAT,
        "title": title_text(contents, words),
        "date": contents.date,
        "scores": json.loads(FORMATS["json"](contents.scores, per_query=True)),
        "comparison": None if comparison is None else comparison.data(),
        "profile": contents.profile.name,
        "ratings": [
            {"system": rating.system, "measure": rating.measure, "level": rating.level,
             "could_be": list(rating.could_be), "out_of_reach": list(rating.out_of_reach),
             **{name: _finite(getattr(rating, name)) for name in ("value", "low", "high", "reachable")}}
            for rating in contents.ratings
        ],
        "gate": None if contents.gate is None else gate_json(contents.gate),
        "diagnosis": json.loads(diagnosis_json(contents.diagnosis, words)),
    }  # fmt: skip
    return json.dumps(parts, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
