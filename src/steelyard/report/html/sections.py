"""Sections of a report as one HTML page without script, which loads nothing."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from steelyard._version import __version__
from steelyard.report.html.document import HTML_LANG, read_part
from steelyard.report.views.sheet import Paragraph, Section, Sheet
from steelyard.report.views.view import Block, Text
from steelyard.report.visible import visible
from steelyard.report.words import Words

_LONG, _LONG_LABEL = 24, 48
"""Characters of a cell, and of what a row is called, from which on it may break into lines."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True)
class Drawing:
    """A chart as SVG of our own making, in colours that `style` or base.css names; what is seen of it, in words."""

    svg: str
    title: str
    description: str


def sections_html(
    title: str, sections: Iterable[Section], words: Words, *, drawings: Mapping[str, Sequence[Drawing]] | None = None,
    style: str = "", nav: bool = False,
) -> str:  # fmt: skip
    """A page with headings, paragraphs, charts and tables; no text of it can act, whatever names and sentences hold.

    drawings   those of each section by its name, above its tables;   style   what they need of CSS
    nav        whether links to the sections, whose names differ, are below the title
    """
    style = read_part("html/base.css") + read_part("html/sections.css") + style
    sections, of = list(sections), drawings or {}
    links = "".join(f'<a href="#{html.escape(own.name)}">{_text(own.title)}</a>\n' for own in sections) if nav else ""
    contents = f'<nav aria-label="{_text(words("page.contents"))}">\n{links}</nav>\n' if nav else ""
    body = "\n".join(part for section in sections for part in _section(section, of.get(section.name, ())))
    return (
        f'<!doctype html>\n<html lang="{HTML_LANG[words.code]}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<meta name="generator" content="Steelyard {__version__}">\n<title>{_text(title)}</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n<main>\n<h1>{_text(title)}</h1>\n{contents}{body}\n</main>\n</body>\n</html>\n"
    )


def blocks_html(blocks: Iterable[Block]) -> str:
    """Blocks as a piece of a page, without style: what a notebook shows of a result."""
    return "\n".join(part for block in blocks for part in _block(block))


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Sheet):
        yield _table(block)
    elif isinstance(block, Text):
        tag = {"heading": "h2", "bold": "h3", "plain": "p"}.get(block.style, "pre")
        yield f"<{tag}>{_text(block.text)}</{tag}>"
    else:
        yield from _section(block, ())


def _section(section: Section, drawings: Sequence[Drawing]) -> Iterator[str]:
    yield f'<section id="{html.escape(section.name)}">\n<h2>{_text(section.title)}</h2>'
    yield from map(_paragraph, section.paragraphs)
    yield from map(_drawing, drawings)
    yield from map(_table, section.sheets)
    yield "</section>"


def _paragraph(paragraph: Paragraph) -> str:
    title = f"<h3>{_text(paragraph.title)}</h3>\n" if paragraph.title else ""
    return title + (
        f"<pre>{_text(paragraph.text)}</pre>" if paragraph.is_command else f"<p>{_text(paragraph.text)}</p>"
    )


def _drawing(drawing: Drawing) -> str:
    return (
        f'<figure><div class="scroll" tabindex="0"><div role="img" aria-label="{_text(drawing.description)}">'
        f"{drawing.svg}</div></div>\n<figcaption>{_text(drawing.title)}</figcaption></figure>"
    )


def _table(sheet: Sheet) -> str:
    head = "".join(f'<th scope="col"{_label(sheet, c)}>{_text(cell)}</th>' for c, cell in enumerate(sheet.header))
    rows = [
        "".join(
            f"<td{_label(sheet, c, best=(r, c) in sheet.best, length=len(cell))}>{_text(cell)}</td>"
            for c, cell in enumerate(row)
        )
        for r, row in enumerate(sheet.rows)
    ]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    notes = "".join(f'\n<p class="note">{_text(note)}</p>' for note in sheet.notes)
    return (
        f'<div class="scroll" tabindex="0"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n'
        f"</table></div>{notes}"
    )


def _label(sheet: Sheet, column: int, *, best: bool = False, length: int = 0) -> str:
    is_label = column < sheet.n_labels
    names = ["label"] * is_label + ["best"] * best + ["long"] * (length > (_LONG_LABEL if is_label else _LONG))
    return f' class="{" ".join(names)}"' if names else ""


def _text(text: str) -> str:
    return html.escape(visible(text))
