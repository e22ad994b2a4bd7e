"""The report: its contents, and every way to write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from steelyard.base.errors import InputError
from steelyard.io.write import write_text
from steelyard.report.contents import Contents
from steelyard.report.formats.report import report_csv, report_json, report_latex, report_markdown, report_terminal
from steelyard.report.formats.suffix import format_of
from steelyard.report.page.page import render
from steelyard.report.parts import from_parts, parts_of
from steelyard.report.words import Words, read_words


class Report(Contents):
    """What is known of one or several systems, and how it is written.

    Make one with `Report.of(weigh(truth, runs))`; its parts are those of Contents.
    """

    def parts(self) -> dict[str, Any]:
        """The report as plain data that JSON holds: scores, comparison, ratings, diagnosis and so on, by name."""
        return parts_of(self)

    @classmethod
    def from_parts(cls, parts: Mapping[str, Any]) -> Self:
        """The report that `parts` took apart, without weighing again: every format of it has the same bytes.

        Raises   InputError for parts of another version, or ones that are missing.
        """
        return from_parts(cls, parts)

    def text(self, format: str = "table", *, lang: str | None = None) -> str:
        """The report in one of REPORT_FORMATS, as `write` puts it into a file.

        lang     "en" or "zh"; the locale's by default
        Raises   InputError for a format that there is not; MissingExtraError where HTML lacks its libraries.
        """
        if format not in REPORT_FORMATS:
            raise InputError(f"a report cannot be written as {format}; choose {', '.join(REPORT_FORMATS)}")
        return REPORT_FORMATS[format](self, read_words(lang))

    def write(self, path: str | Path, *, lang: str | None = None, format: str | None = None) -> None:
        """Write the report into a file, whole or not at all.

        path     its suffix names the format: .html, .md, .tex, .csv, .json, or else plain text
        lang     "en" or "zh"; the locale's by default
        Raises   as `text` does; OutputError.
        """
        write_text(path, self.text(format_of(path, format), lang=lang))


def _html(contents: Contents, words: Words) -> str:
    return render(contents, words=words)


REPORT_FORMATS: dict[str, Callable[[Contents, Words], str]] = {
    "table": report_terminal,
    "html": _html,
    "markdown": report_markdown,
    "latex": report_latex,
    "csv": report_csv,
    "json": report_json,
}
"""Every way to write a report."""
