"""The report: its contents, and every way to write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import polars as pl

from steelyard.base.errors import InputError
from steelyard.base.result import Result
from steelyard.experiment.table.json import as_json
from steelyard.report.charts.saving import FORMATS, save_charts
from steelyard.report.contents import Contents
from steelyard.report.formats.sheets import sheet_latex
from steelyard.report.page.page import render
from steelyard.report.parts import from_parts, parts_of
from steelyard.report.views.gate import gate_data, gate_sheet, heading, out_of_reach
from steelyard.report.views.notes import signature_note
from steelyard.report.views.report import paper_sheet, report_sections, subtitle_text, title_text
from steelyard.report.views.sheet import Paragraph, Section
from steelyard.report.views.view import Block, Look, Text, View
from steelyard.report.visible import visible
from steelyard.report.words import Words, read_words


class Report(Contents, Result):
    """What is known of one or several systems, and how it is written.

    Make one with `Report.of(weigh(truth, runs))`; its parts are those of Contents.
    """

    VIEW = "report"

    def __new__(cls, *parts: object, **named: object) -> Self:
        """Refuse what a report is computed from.

        Raises   InputError
        """
        if parts:
            raise InputError("a Report holds what was computed; call sy.Report.of(truth, runs)")
        return super().__new__(cls)

    @property
    def frame(self) -> pl.DataFrame:
        """The scores behind it, one row for each system, question and measure."""
        return self.scores.frame

    def parts(self) -> dict[str, Any]:
        """The report as plain data that JSON holds: scores, comparison, ratings, diagnosis and so on, by name."""
        return parts_of(self)

    @classmethod
    def from_parts(cls, parts: Mapping[str, Any]) -> Self:
        """The report that `parts` took apart, without weighing again: every format of it has the same bytes.

        Raises   InputError for parts of another version, or ones that are missing.
        """
        return from_parts(cls, parts)

    def save_charts(
        self, folder: str | Path, *, lang: str | None = None, formats: Sequence[str] = FORMATS
    ) -> list[Path]:  # fmt: skip
        """Write every chart as FOLDER/NAME.FORMAT, on white paper; PNG at twice the size.

        Raises   InputError for an unknown format or a folder that cannot be written; MissingExtraError.
        """
        return save_charts(self, folder, words=read_words(lang), formats=formats)

    def __repr__(self) -> str:
        return f"Report(of {self.scores!r}, {self.date})"


def _blocks(report: Report, look: Look) -> Iterator[Block]:
    """Title and date, the sections of every report, and the gate behind the ratings."""
    words = look.words
    if look.format == "table":
        yield Text(_head(report, words))
    else:
        yield Text(title_text(report, words), "heading")
        yield Text(f"{subtitle_text(report, words)}{words('diagnose.between')}{report.date}")
    for section in report_sections(report, words):
        yield section
        if section.name == "ratings" and report.gate is not None:
            lines = [*out_of_reach(report.gate, words), heading(report.gate, words)]
            sheets = [gate_sheet(report.gate, words)]
            yield Section("gate", words("page.gate.title"), list(map(Paragraph, lines)), sheets)


def _head(report: Report, words: Words) -> str:
    return f"{title_text(report, words)} · {report.date}"


def _latex(report: Report, look: Look) -> str:
    """One table for a paper: all measures, best in bold, marks explained in the caption; what it is of as comments."""
    head = [_head(report, look.words), *signature_note(report.scores.signature, look.words)]
    comments = "".join(f"% {line}\n" for line in visible("\n".join(head)).split("\n"))
    return comments + sheet_latex(paper_sheet(report, look.words), words=look.words, label="report")


def _data(report: Report, words: Words) -> dict[str, Any]:
    """What `evaluate`, `compare` and `diagnose` write, under one roof."""
    names = ("system", "measure", "level", "could_be", "out_of_reach", "value", "low", "high", "reachable")
    return {
        "title": title_text(report, words),
        "date": report.date,
        "scores": json.loads(as_json(report.scores)),
        "comparison": None if report.comparison is None else report.comparison.data(),
        "profile": report.profile.name,
        "ratings": [{name: getattr(rating, name) for name in names} for rating in report.ratings],
        "gate": None if report.gate is None else gate_data(report.gate),
        "diagnosis": report.diagnosis.data(lang=words.code),
    }


VIEWS = {
    Report: View[Report](
        "a report",
        blocks=_blocks,
        data=_data,
        has_parts=True,
        rows=lambda report: report.scores.per_query,
        texts={"html": lambda report, look: render(report, words=look.words), "latex": _latex},
    )
}
