"""The report of a bench, in every format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.base.errors import InputError
from steelyard.bench.bench import Bench
from steelyard.io.write import write_text
from steelyard.report.charts.bench import BENCH_CHARTS, draw_bench
from steelyard.report.charts.plot import page_colours, spec_of
from steelyard.report.charts.saving import FORMATS, save_drawings, svg_of
from steelyard.report.formats.bench import (
    bench_csv,
    bench_json,
    bench_latex,
    bench_markdown,
    bench_summary,
    bench_terminal,
    bench_title,
)
from steelyard.report.formats.suffix import format_of
from steelyard.report.html.sections import Drawing, sections_html
from steelyard.report.views.bench import bench_sections
from steelyard.report.words import Words, read_words


@dataclass(frozen=True, eq=False)
class BenchReport:
    """What a bench comes to, and how it is written.

    title   of one's own, "" for the one in the language of the report
    """

    bench: Bench
    title: str = ""

    @classmethod
    def read(cls, path: str | Path, *, title: str = "") -> BenchReport:
        """The report of a bench's folder.

        Raises   InputError for what is no finished bench.
        """
        return cls(Bench.read(path), title)

    def summary(self, *, lang: str | None = None) -> str:
        """What the commands of `steelyard bench` print: the recommendation and why, and one row a system."""
        return bench_summary(self.bench, read_words(lang))

    def text(self, format: str = "table", *, lang: str | None = None) -> str:
        """The report in one of BENCH_FORMATS, as `write` puts it into a file.

        lang     "en" or "zh"; the locale's by default
        Raises   InputError for a format that there is not; MissingExtraError where HTML lacks its libraries.
        """
        if format not in BENCH_FORMATS:
            raise InputError(f"the report of a bench cannot be written as {format}; choose {', '.join(BENCH_FORMATS)}")
        return BENCH_FORMATS[format](self, read_words(lang))

    def write(self, path: str | Path, *, lang: str | None = None, format: str | None = None) -> None:
        """Write the report into a file, whole or not at all.

        path     its suffix names the format: .html, .md, .tex, .csv, .json, or else plain text
        lang     "en" or "zh"; the locale's by default
        Raises   as `text` does; OutputError.
        """
        write_text(path, self.text(format_of(path, format), lang=lang))

    def save_charts(
        self, folder: str | Path, *, lang: str | None = None, formats: Sequence[str] = FORMATS
    ) -> list[Path]:  # fmt: skip
        """Write every chart as FOLDER/NAME.FORMAT, on white paper; PNG at twice the size.

        Raises   InputError for an unknown format or a folder that cannot be written; MissingExtraError.
        """
        return save_drawings(lambda: draw_bench(self.bench, words=read_words(lang)), folder, formats=formats)


def _html(report: BenchReport, words: Words) -> str:
    drawings: dict[str, list[Drawing]] = {}
    for name, chart in draw_bench(report.bench, words=words).items():
        spec = spec_of(chart)
        drawing = Drawing(svg_of(chart, name), spec["title"], spec["description"])
        drawings.setdefault(BENCH_CHARTS[name][0], []).append(drawing)
    title = report.title or bench_title(report.bench, words)
    sections, style = bench_sections(report.bench, words), page_colours()
    return sections_html(title, sections, words, drawings=drawings, style=style, nav=True)


BENCH_FORMATS: dict[str, Callable[[BenchReport, Words], str]] = {
    "table": lambda report, words: bench_terminal(report.bench, words, title=report.title),
    "html": _html,
    "markdown": lambda report, words: bench_markdown(report.bench, words, title=report.title),
    "latex": lambda report, words: bench_latex(report.bench, words),
    "csv": lambda report, words: bench_csv(report.bench),
    "json": lambda report, words: bench_json(report.bench),
}
"""Every way to write the report of a bench."""
