"""Sections of a report for a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from steelyard.report.formats.sheets import sheet_markdown, sheet_terminal
from steelyard.report.views.sheet import Section
from steelyard.report.visible import visible
from steelyard.report.wrapping import wrapped


def sections_terminal(sections: Iterable[Section], *, width: int | None = None, colour: bool = False) -> str:
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
            if paragraph.is_command:
                console.print(Text(visible(paragraph.text)), soft_wrap=True)
            else:
                line(paragraph.text)
        tables = [sheet_terminal(sheet, width=width, colour=colour) for sheet in section.sheets]
        out.write("\n".join(tables) + "\n")
    return "\n".join(row.rstrip() for row in out.getvalue().rstrip("\n").split("\n")) + "\n"


def sections_markdown(sections: Iterable[Section]) -> str:
    """Sections with headings, for a wiki or an issue."""
    parts = []
    for section in sections:
        parts.append(f"## {escaped(section.title)}\n")
        for paragraph in section.paragraphs:
            title = [f"### {escaped(paragraph.title)}\n"] if paragraph.title else []
            text = f"```\n{visible(paragraph.text)}\n```" if paragraph.is_command else escaped(paragraph.text)
            parts += [*title, f"{text}\n"]
        parts += map(sheet_markdown, section.sheets)
    return "\n".join(parts)


def escaped(text: str) -> str:
    """A text that Markdown shows as it is."""
    return "".join(f"\\{character}" if character in "\\`*_<>[]|" else character for character in visible(text))
