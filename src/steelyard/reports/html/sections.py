"""Sections of a result as a page: paragraphs, charts and tables, complete without a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from steelyard.reports.html.shell import Page, escaped, in_each_language, page_html
from steelyard.reports.html.tables import prose, sheet_table, table_writer
from steelyard.reports.views.view import Paragraph, Section
from steelyard.reports.words import Words


@dataclass(frozen=True)
class Drawing:
    """A chart as SVG of our own making, in colours that `style` or shell.css names.

    name                 of its file;   title, description   what it shows, in words
    """

    name: str
    svg: str
    title: str
    description: str


def sections_page(
    title: str, sections: Sequence[Section], drawings: Mapping[str, Sequence[Drawing]] | None = None, *, fold: str = "",
    named: str = "",
) -> Page:  # fmt: skip
    """A title, and the sections below it; no text of it can act, whatever names and sentences hold.

    drawings   those of each section by its name, above its tables;   fold   as of `table_writer`
    named      what stands above the title; a first section of that title is not headed again
    """
    write, links = table_writer(fold), list[tuple[str, str]]()
    above = f'<p class="named">{escaped(named)}</p>' if named else ""
    parts = [f"<header>{above}<h1>{escaped(title)}</h1></header>"]
    for place, section in enumerate(sections):
        n = sum(own.name == section.name for own in sections[:place])
        links.append((f"{section.name}-{n + 1}" if n else section.name, section.title))
        id = escaped(links[-1][0])
        heading = f'<summary><h2 id="{id}-title">{escaped(section.title)}</h2></summary>'
        blocks = "\n".join(_blocks(section, (drawings or {}).get(section.name, ()), write))
        if place == 0 and section.title == title:
            heading = f'<h2 class="alternative" id="{id}-title">{escaped(title)}</h2>'
            parts.append(f'<section id="{id}" aria-labelledby="{id}-title">\n{heading}\n{blocks}\n</section>')
            continue
        parts.append(
            f'<section id="{id}" aria-labelledby="{id}-title">\n<details class="fold" open>{heading}\n'
            f"{blocks}\n</details>\n</section>"
        )
    return Page(title, "\n".join(parts) + "\n", links if len(links) > 1 else ())


def sections_html(sections: Callable[[Words], Sequence[Section]], words: Words) -> str:
    """Sections in every language as one HTML document, which has the title of the first of them."""
    pages = {}
    for code, own in in_each_language(words).items():
        in_language = sections(own)
        pages[code] = sections_page(in_language[0].title, in_language, fold=own("page.how.tested"))
    return page_html(pages, words.code)


def _blocks(section: Section, drawings: Sequence[Drawing], write: Callable[..., str]) -> Iterator[str]:
    yield from map(_paragraph, section.paragraphs)
    yield from map(_drawing, drawings)
    for place, sheet in enumerate(section.sheets, 1):
        several = f" {place}" if len(section.sheets) > 1 else ""
        yield write(sheet_table(sheet, f"{section.title}{several}"), csv=f"{section.name}{several}")


def _paragraph(paragraph: Paragraph) -> str:
    title = f"<h3>{escaped(paragraph.title)}</h3>\n" if paragraph.title else ""
    if paragraph.is_command:
        return f'{title}<pre class="command" tabindex="0">{escaped(paragraph.text)}</pre>'
    return f"{title}<p>{prose(paragraph.text)}</p>"


def _drawing(drawing: Drawing) -> str:
    return (
        f'<figure data-name="{escaped(drawing.name)}"><div class="plot" tabindex="0">'
        f'<div role="img" aria-label="{escaped(drawing.description)}">{drawing.svg}</div></div>\n'
        f"<figcaption>{escaped(drawing.title)}</figcaption></figure>"
    )
