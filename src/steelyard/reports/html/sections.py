"""Sections of a result as a page: paragraphs, charts and tables, complete without a script."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
    sections: Sequence[Section], drawings: Mapping[str, Sequence[Drawing | str]] | None = None, *, fold: str = "",
    named: str = "", closed: Collection[str] = (),
) -> Page:  # fmt: skip
    """Sections below each other; no text of them can act, whatever names and sentences hold.

    The first one opens the page: its title is the page's, and its drawing is beside its paragraphs.

    drawings   those of each section by its name, above its tables; a text is HTML of our own making
    fold       as of `table_writer`
    named      what stands above the title;   closed   names of sections that are folded at first
    """
    write, ids = table_writer(fold), _ids(sections)
    parts = list[str]()
    for id, section in zip(ids, sections, strict=True):
        own = (drawings or {}).get(section.name, ())
        if not parts:
            parts.append(_opening(id, section, own, write, named))
        else:
            parts.append(_folding(id, section, own, write, is_open=section.name not in closed))
    links = [(id, section.title) for id, section in zip(ids, sections, strict=True)]
    return Page(sections[0].title, "\n".join(parts) + "\n", links if len(links) > 1 else ())


def _ids(sections: Sequence[Section]) -> list[str]:
    """What each section is linked by: its name, with a number from the second one of that name on."""
    names = [section.name for section in sections]
    counts = [names[:place].count(name) for place, name in enumerate(names)]
    return [f"{name}-{n + 1}" if n else name for name, n in zip(names, counts, strict=True)]


def _opening(
    id: str, section: Section, drawings: Sequence[Drawing | str], write: Callable[..., str], named: str
) -> str:
    above = f'<p class="named">{escaped(named)}</p>' if named else ""
    heading = f'{above}<h1 id="{escaped(id)}-title">{prose(section.title)}</h1>'
    first, *rest = [_paragraph(own, "h2") for own in section.paragraphs] or [""]
    beside, below = "\n".join(map(_drawing, drawings)), "\n".join(rest)
    return (
        f'<section id="{escaped(id)}" aria-labelledby="{escaped(id)}-title">\n'
        f'<div class="opening"><header>{heading}\n{first}</header>\n{beside}\n<div>{below}</div></div>\n'
        + "\n".join(_tables(section, write))
        + "\n</section>"
    )


def _folding(
    id: str, section: Section, drawings: Sequence[Drawing | str], write: Callable[..., str], *, is_open: bool
) -> str:
    heading = f'<summary><h2 id="{escaped(id)}-title">{escaped(section.title)}</h2></summary>'
    return (
        f'<section id="{escaped(id)}" aria-labelledby="{escaped(id)}-title">\n'
        f'<details class="fold"{" open" if is_open else ""}>{heading}\n'
        + "\n".join(_blocks(section, drawings, write))
        + "\n</details>\n</section>"
    )


def sections_html(sections: Callable[[Words], Sequence[Section]], words: Words) -> str:
    """Sections in every language as one HTML document."""
    pages = {
        code: sections_page(sections(own), fold=own("page.how.tested")) for code, own in in_each_language(words).items()
    }
    return page_html(pages, words.code)


def _blocks(section: Section, drawings: Sequence[Drawing | str], write: Callable[..., str]) -> Iterator[str]:
    yield from map(_paragraph, section.paragraphs)
    yield from map(_drawing, drawings)
    yield from _tables(section, write)


def _tables(section: Section, write: Callable[..., str]) -> Iterator[str]:
    for place, sheet in enumerate(section.sheets, 1):
        several = f" {place}" if len(section.sheets) > 1 else ""
        yield write(sheet_table(sheet, f"{section.title}{several}"), csv=f"{section.name}{several}")


def _paragraph(paragraph: Paragraph, heading: str = "h3") -> str:
    title = f"<{heading}>{escaped(paragraph.title)}</{heading}>\n" if paragraph.title else ""
    if paragraph.is_command:
        return f'{title}<pre class="command" tabindex="0">{escaped(paragraph.text)}</pre>'
    opening = '<p class="faint">' if paragraph.is_faint else "<p>"
    return f"{title}{opening}{prose(paragraph.text)}</p>"


def _drawing(drawing: Drawing | str) -> str:
    if isinstance(drawing, str):
        return drawing
    return (
        f'<figure data-name="{escaped(drawing.name)}"><div class="plot" tabindex="0">'
        f'<div role="img" aria-label="{escaped(drawing.description)}">{drawing.svg}</div></div>\n'
        f"<figcaption>{escaped(drawing.title)}</figcaption></figure>"
    )
