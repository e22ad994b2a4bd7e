"""Parts of a report: a title with paragraphs and sheets below it, for a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from io import StringIO

from steelyard.report.formats import SHEET_FORMATS
from steelyard.report.sheet import Sheet
from steelyard.report.visible import visible
from steelyard.report.wrapping import wrapped


@dataclass(frozen=True)
class Paragraph:
    """A text, and a title of its own where it has one."""

    text: str
    title: str = ""


@dataclass(frozen=True)
class Section:
    """A title, and what stands below it; name is what the section is called in code."""

    name: str
    title: str
    paragraphs: list[Paragraph] = field(default_factory=list)
    sheets: list[Sheet] = field(default_factory=list)


def in_terminal(sections: Iterable[Section], *, width: int | None = None, colour: bool = False) -> str:
    """Sections for a terminal of so many columns, None for as many as it takes; readable without colour."""
    from rich.console import Console
    from rich.text import Text

    out = StringIO()
    console = Console(file=out, width=width or 10_000, force_terminal=colour, no_color=not colour, highlight=False)

    def line(text: str, style: str = "") -> None:
        for row in wrapped(visible(text), width):
            console.print(Text(row, style=style))

    for section in sections:
        line(section.title, "bold")
        line("━" * min(Text(section.title).cell_len, width or 10_000))
        for place, paragraph in enumerate(section.paragraphs):
            if paragraph.title:
                out.write("\n" if place else "")
                line(paragraph.title, "bold")
            line(paragraph.text)
        tables = [SHEET_FORMATS["table"](sheet, width=width, colour=colour) for sheet in section.sheets]
        out.write("\n".join(tables) + "\n")
    return "\n".join(row.rstrip() for row in out.getvalue().rstrip("\n").split("\n")) + "\n"


def in_markdown(sections: Iterable[Section]) -> str:
    """Sections with headings, for a wiki or an issue."""
    parts = []
    for section in sections:
        parts.append(f"## {_escaped(section.title)}\n")
        for paragraph in section.paragraphs:
            title = [f"### {_escaped(paragraph.title)}\n"] if paragraph.title else []
            parts += [*title, f"{_escaped(paragraph.text)}\n"]
        parts += [SHEET_FORMATS["markdown"](sheet) for sheet in section.sheets]
    return "\n".join(parts)


def _escaped(text: str) -> str:
    return "".join(f"\\{character}" if character in "\\`*_<>[]|" else character for character in visible(text))
