"""Texts, tables and sections for a terminal, in Markdown and in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from steelyard.reports.views.view import GAP, Block, Section, Sheet, Text, cell_size
from steelyard.reports.visible import single_line, visible, wrapped
from steelyard.reports.words import Words, read_words

_LATEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
          "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "<": "$<$", ">": "$>$",
          "≥": r"$\geq$", "≤": r"$\leq$", "†": r"$^{\dagger}$", "‡": r"$^{\ddagger}$", "−": "$-$",
          "…": r"\dots{}"}  # fmt: skip
_STYLES: Mapping[str, Callable[[str], str]] = {
    "bold": "\x1b[1m{}\x1b[0m".format, "heading": "\x1b[1m{}\x1b[0m".format, "faint": "\x1b[2m{}\x1b[0m".format
}  # fmt: skip
_MARKS = ("†", "‡")


def sheet_terminal(sheet: Sheet, *, width: int | None = None, colour: bool = False) -> str:
    """Aligned columns for a terminal; nothing in it can act on the terminal, whatever names hold.

    width   columns of the terminal, None for as many as it takes: a wide sheet is then cut into several tables
    """
    sheet = _printable(sheet)
    # Not a table of rich: that takes a minute for some ten thousand systems.
    bold, dim = (_STYLES["bold"], _STYLES["faint"]) if colour else (str, str)
    sizes = [max(map(cell_size, [head, *(row[c] for row in sheet.rows)])) for c, head in enumerate(sheet.header)]
    lines, left_aligned = [], sheet.columns_of_words()
    for group in _column_groups(_fitting(sizes, width, sheet.spare), sizes, width, sheet.n_labels):
        widths = _widths(group, sizes, width)
        for r, row in enumerate([sheet.header, *sheet.rows], -1):
            parts = [[row[c]] if cell_size(row[c]) <= widths[c] else wrapped(row[c], widths[c]) for c in group]
            for pieces in zip_longest(*parts, fillvalue=""):
                cells = []
                for c, text in zip(group, pieces, strict=True):
                    blanks = " " * (widths[c] - cell_size(text))
                    shown = bold(text) if text and (r < 0 or (r, c) in sheet.best) else text
                    cells.append(shown + blanks if c == group[0] or c in left_aligned else blanks + shown)
                lines.append((" " * GAP).join(cells))
            if r < 0:
                lines.append("─" * (sum(widths.values()) + GAP * (len(group) - 1)))
    lines += [dim(line) for note in sheet.notes for part in note.split("\n") for line in wrapped(part, width)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _widths(group: Sequence[int], sizes: Sequence[int], width: int | None) -> dict[int, int]:
    """Columns that each column of a group takes: the first gives way, and of two of them the other one to the first."""
    first, *others = group
    widths = {c: sizes[c] for c in group}
    if width:
        widths[first] = min(sizes[first], max(1, width - sum(sizes[c] + GAP for c in others)))
        if len(others) == 1 and widths[first] < (least := min(sizes[first], width // 3)):
            widths = {first: least, others[0]: max(1, width - least - GAP)}
    return widths


def _printable(sheet: Sheet) -> Sheet:
    """The same sheet, each cell on one line, and control characters visible everywhere."""
    rows = [list(map(single_line, row)) for row in sheet.rows]
    return replace(sheet, header=list(map(single_line, sheet.header)), rows=rows, notes=list(map(visible, sheet.notes)))


def _fitting(sizes: list[int], width: int | None, spare: Sequence[int]) -> list[int]:
    """Columns that are shown: without those that are to spare, one after the other, until the others fit the width."""
    columns, dropped = list(range(len(sizes))), list(spare)
    while width and dropped and sum(sizes[c] + GAP for c in columns) - GAP > width:
        columns.remove(dropped.pop(0))
    return columns


def _column_groups(columns: list[int], sizes: list[int], width: int | None, n_labels: int) -> Iterator[list[int]]:
    """Columns in groups that fit the width, each beginning with the labels."""
    labels = columns[:n_labels]
    size_of_labels = sum(sizes[c] + GAP for c in labels) - GAP
    group, used = labels[:], size_of_labels
    for c in columns[len(labels) :]:
        if width and used + GAP + sizes[c] > width and len(group) > len(labels):
            yield group
            group, used = labels[:], size_of_labels
        group.append(c)
        used += GAP + sizes[c]
    yield group


def sheet_markdown(sheet: Sheet) -> str:
    """A table for a README or an issue; the best value of each column is bold, and columns of numbers end in line."""

    def cell(text: str) -> str:
        return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")

    sheet = _printable(sheet)
    left_aligned = {0} | sheet.columns_of_words()
    rules = ["---" if c in left_aligned else "---:" for c in range(len(sheet.header))]
    lines = [list(map(cell, sheet.header)), rules]
    for r, row in enumerate(sheet.rows):
        lines.append([f"**{cell(t)}**" if (r, c) in sheet.best else cell(t) for c, t in enumerate(row)])
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return text + "".join(f"\n{cell(note)}\n" for note in sheet.notes)


def _latex(text: str) -> str:
    """Text in LaTeX's spelling; two hyphens would make a dash, and straight quotation marks only close.

    >>> print(_latex('"can show" with --cluster doc: 5% of a_b'))
    ``can show'' with -{}-cluster doc: 5\\% of a\\_b
    """
    curly = re.sub(r'"([^"]*)"', r"``\1''", text)
    return "-{}".join(
        "".join(_LATEX.get(character, character) for character in part) for part in re.split("-(?=-)", curly)
    )


def sheet_latex(sheet: Sheet, *, words: Words | None = None, label: str = "") -> str:
    """A booktabs table; the best value of each column is bold, the notes are the caption.

    words   of what is added to the caption; the locale's by default
    label   to refer to it by, behind "tab:"; by default what the first column is headed
    """

    def marked(text: str) -> str:
        """A mark behind a number takes no room, so that digits stay in line."""
        number, mark = (text[:-1], text[-1]) if text.endswith(_MARKS) else (text, "")
        return _latex(number) + (rf"\rlap{{{_latex(mark)}}}" if mark else "")

    sheet = _printable(sheet)
    rows = [
        " & ".join(rf"\textbf{{{marked(t)}}}" if (r, c) in sheet.best else marked(t) for c, t in enumerate(row))
        for r, row in enumerate(sheet.rows)
    ]
    words = words or read_words()
    notes = words("scores.between").join([*sheet.notes, *([words("scores.best")] if sheet.best else [])])
    caption = [rf"\caption{{{_latex(notes)}}}"] if notes else []
    name = re.sub(r"[^A-Za-z0-9]+", "-", label or sheet.header[0]).strip("-").lower()
    n_labels = max(sheet.n_labels, 1)
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            *caption,
            rf"\label{{tab:{name}}}",
            rf"\begin{{tabular}}{{{'l' * n_labels}{'r' * (len(sheet.header) - n_labels)}}}",
            r"\toprule",
            " & ".join(map(_latex, sheet.header)) + r" \\",
            r"\midrule",
            *(row + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


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
        for n, line in enumerate(block.text.split("\n")):
            styled = _STYLES.get("faint" if n in block.faint else block.style, str) if colour else str
            yield from map(styled, _lines(line, None if block.style == "laid out" else width))
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
        lines = [visible(paragraph.text)] if paragraph.is_command else _lines(paragraph.text, width)
        yield from map(_STYLES["faint"], lines) if colour and paragraph.is_faint else lines
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
