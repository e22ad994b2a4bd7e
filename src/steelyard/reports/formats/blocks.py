"""Texts, tables and sections for a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from steelyard.reports.formats.sheets import sheet_markdown, sheet_terminal
from steelyard.reports.views.sheet import Section, Sheet
from steelyard.reports.views.view import Block, Text
from steelyard.reports.visible import visible
from steelyard.reports.wrapping import wrapped


def blocks_terminal(blocks: Iterable[Block], *, width: int | None = None, colour: bool = False) -> str:
    """Blocks for a terminal of so many columns, None for as many as it takes; readable without colour."""
    lines = [line for block in blocks for line in (*_terminal(block, width, colour), "")]
    while lines and not lines[-1]:
        lines.pop()
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _terminal(block: Block, width: int | None, colour: bool) -> Iterator[str]:
    if isinstance(block, Sheet):
        yield from sheet_terminal(block, width=width, colour=colour).split("\n")[:-1]
    elif isinstance(block, Text):
        yield from _lines(block.text, None if block.style == "laid out" else width)
    else:
        yield from _section(block, width, colour)


def _section(section: Section, width: int | None, colour: bool) -> Iterator[str]:
    from rich.cells import cell_len

    bold = "\x1b[1m{}\x1b[0m".format if colour else str
    yield from map(bold, _lines(section.title, width))
    yield "━" * min(cell_len(section.title), width or 10_000)
    for place, paragraph in enumerate(section.paragraphs):
        if paragraph.title:
            yield from [""] * (place > 0)
            yield from map(bold, _lines(paragraph.title, width))
        # A command is copied whole, however long it is.
        yield from [visible(paragraph.text)] if paragraph.is_command else _lines(paragraph.text, width)
    for place, sheet in enumerate(section.sheets):
        yield from [""] * (place > 0)
        yield from _terminal(sheet, width, colour)


def _lines(text: str, width: int | None) -> Iterator[str]:
    for line in visible(text).expandtabs(8).split("\n"):
        yield from wrapped(line, width)


def blocks_markdown(blocks: Iterable[Block]) -> str:
    """Blocks with headings, for a wiki or an issue."""
    return "\n".join(part for block in blocks for part in _markdown(block))


def _markdown(block: Block) -> Iterator[str]:
    if isinstance(block, Sheet):
        yield sheet_markdown(block)
    elif isinstance(block, Text):
        before, after = {"heading": ("# ", ""), "bold": ("**", "**")}.get(block.style, ("", ""))
        yield f"{before}{escaped(block.text)}{after}\n"
    else:
        yield f"## {escaped(block.title)}\n"
        for paragraph in block.paragraphs:
            yield from [f"### {escaped(paragraph.title)}\n"] if paragraph.title else []
            yield f"```\n{visible(paragraph.text)}\n```\n" if paragraph.is_command else f"{escaped(paragraph.text)}\n"
        yield from map(sheet_markdown, block.sheets)


def escaped(text: str) -> str:
    """A text that Markdown shows as it is."""
    return "".join(f"\\{character}" if character in "\\`*_<>[]|" else character for character in visible(text))
