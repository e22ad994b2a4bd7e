"""A trend in every format: its page has a chart a line."""

from __future__ import annotations

from steelyard.history.trend import Trend
from steelyard.reports.charts.plot import page_colours, spec_of, svg_of
from steelyard.reports.charts.trend import STYLE, draw_line, shown_rows, with_titles
from steelyard.reports.html.sections import Drawing, sections_page
from steelyard.reports.html.shell import Page, in_each_language, page_html
from steelyard.reports.views.trend import brief_trend, levels_sheet, trend_data, trend_sections
from steelyard.reports.views.view import Look, Paragraph, View
from steelyard.reports.words import Words


def _html(trend: Trend, look: Look) -> str:
    pages = {code: _page(trend, own) for code, own in in_each_language(look.words).items()}
    return page_html(pages, look.words.code, style=page_colours() + STYLE)


def _page(trend: Trend, words: Words) -> Page:
    sections = trend_sections(trend, Look("html", words))
    drawings = dict[str, list[Drawing]]()
    for section, line in zip(sections, trend.lines, strict=True):
        chart, name, total = draw_line(line, words), f"{section.name}-chart", len(line.frame)
        spec, shown = spec_of(chart), len(shown_rows(line))
        section.paragraphs.append(Paragraph(words("trend.note.chart"), is_faint=True))
        if shown < total:
            section.paragraphs.append(Paragraph(words("trend.note.thinned", shown=shown, total=total), is_faint=True))
        svg = with_titles(svg_of(chart, name))
        drawings[section.name] = [Drawing(name, svg, spec["title"], spec["description"])]
    return sections_page(sections, drawings, named=words("trend.page", store=trend.store))


VIEWS = {
    Trend: View[Trend](
        "a trend",
        blocks=trend_sections,
        brief=brief_trend,
        data=lambda trend, words: trend_data(trend),
        rows=lambda trend: trend.frame,
        papers=lambda trend, words: [levels_sheet(line, words) for line in trend.lines],
        label="trend",
        texts={"html": _html},
    )
}
