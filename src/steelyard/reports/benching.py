"""The report of a bench, in every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from steelyard.base.result import Result
from steelyard.bench.bench import Bench
from steelyard.reports.charts.bench import BENCH_CHARTS, draw_bench
from steelyard.reports.charts.plot import FORMATS, page_colours, save_drawings, spec_of, svg_of
from steelyard.reports.html.sections import Drawing, sections_page
from steelyard.reports.html.shell import Page, in_each_language, page_html
from steelyard.reports.views.bench import bench_data, bench_papers, bench_sections, brief_bench
from steelyard.reports.views.bench_summary import bench_picture
from steelyard.reports.views.view import Block, Look, Text, View
from steelyard.reports.words import Words, read_words


@dataclass(frozen=True, eq=False, repr=False)
class BenchReport(Result):
    """What a bench comes to, and how it is written.

    title   of one's own, "" for the one in the language of the report
    """

    VIEW = "benching"

    bench: Bench
    title: str = ""

    @classmethod
    def read(cls, path: str | Path, *, title: str = "") -> BenchReport:
        """The report of a bench's folder.

        Raises   InputError for what is no finished bench.
        """
        return cls(Bench.read(path), title)

    @property
    def frame(self) -> pl.DataFrame:
        """The scores behind it, one row for each system, question and measure."""
        return self.bench.frame

    def summary(self, *, lang: str | None = None) -> str:
        """The summary that commands of `steelyard bench` print: the recommendation and why, and one row a system."""
        return self.bench.text(lang=lang)

    def save_charts(
        self, folder: str | Path, *, lang: str | None = None, formats: Sequence[str] = FORMATS
    ) -> list[Path]:
        """Write every chart as FOLDER/NAME.FORMAT, on white paper; PNG at twice the size.

        Raises   InputError for an unknown format or a folder that cannot be written; MissingExtraError.
        """
        return save_drawings(lambda: draw_bench(self.bench, words=read_words(lang)), folder, formats=formats)

    def __repr__(self) -> str:
        return f"BenchReport({self.bench!r})"


def _title(report: BenchReport, words: Words) -> str:
    return report.title or words(f"bench.title.{report.bench.folder.kind}", name=report.bench.config.name)


def _blocks(report: BenchReport, look: Look) -> Iterator[Block]:
    yield Text(_title(report, look.words), "heading")
    yield from bench_sections(report.bench, look.words)


def _html(report: BenchReport, look: Look) -> str:
    pages = {code: _page(report, own) for code, own in in_each_language(look.words).items()}
    return page_html(pages, look.words.code, style=page_colours())


_OPENING = ("front_latency", "load", "quality", "shares")
"""The charts that open the page of a bench, the first that there is."""


def _page(report: BenchReport, words: Words) -> Page:
    sections, charts = bench_sections(report.bench, words), draw_bench(report.bench, words=words)
    opening, drawings = next((name for name in _OPENING if name in charts), ""), dict[str, list[Drawing]]()
    for name, chart in charts.items():
        spec, section = spec_of(chart), sections[0].name if name == opening else BENCH_CHARTS[name][0]
        drawing = Drawing(name, svg_of(chart, name), spec["title"], spec["description"])
        drawings.setdefault(section, []).append(drawing)
    named = _title(report, words)
    return sections_page(sections, drawings, fold=words("page.how.tested"), named=named, closed=["about"])


VIEWS = {
    BenchReport: View[BenchReport](
        "the report of a bench",
        blocks=_blocks,
        brief=lambda report, look: brief_bench(report.bench, look),
        data=lambda report, words: bench_data(report.bench),
        rows=lambda report: report.bench.scores.per_query,
        papers=lambda report, words: bench_papers(report.bench, words),
        label="bench",
        texts={"html": _html},
        picture=lambda report, words: bench_picture(report.bench, words),
    )
}
