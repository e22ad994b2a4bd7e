"""One sheet as text: terminal table, Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO

from steelyard.report.sheets.sheet import Sheet
from steelyard.report.visible import single_line, visible
from steelyard.report.words import Words, read_words
from steelyard.report.wrapping import wrapped

_LATEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
          "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "<": "$<$", ">": "$>$",
          "≥": r"$\geq$", "≤": r"$\leq$", "†": r"$^{\dagger}$", "‡": r"$^{\ddagger}$", "−": "$-$",
          "…": r"\dots{}"}  # fmt: skip


def sheet_terminal(sheet: Sheet, *, width: int | None = None, colour: bool = False) -> str:
    """Aligned columns for a terminal; nothing in it can act on the terminal, whatever names hold.

    width   columns of the terminal, None for as many as it takes: a wide sheet is then cut into several tables
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    sheet, out = _printable(sheet), StringIO()
    console = Console(file=out, width=width or 10_000, force_terminal=colour, no_color=not colour, highlight=False)
    for columns in _column_groups(sheet, width):
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for c in columns:
            table.add_column(
                Text(sheet.header[c]), justify="left" if c == 0 else "right", no_wrap=c > 0, overflow="fold"
            )
        for r, row in enumerate(sheet.rows):
            table.add_row(*(Text(row[c], style="bold" if (r, c) in sheet.best else "") for c in columns))
        console.print(table)
    for note in sheet.notes:
        for line in (row for part in note.split("\n") for row in wrapped(part, width)):
            console.print(Text(line, style="dim"))
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _printable(sheet: Sheet) -> Sheet:
    """The same sheet, each cell on one line, and control characters visible everywhere."""
    rows = [list(map(single_line, row)) for row in sheet.rows]
    return replace(sheet, header=list(map(single_line, sheet.header)), rows=rows, notes=list(map(visible, sheet.notes)))


_GAP = 3
"""Blanks between columns."""


def _column_groups(sheet: Sheet, width: int | None) -> Iterator[list[int]]:
    """Columns in groups that fit the width, each beginning with the first column."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, [head, *(row[c] for row in sheet.rows)])) + _GAP for c, head in enumerate(sheet.header)]
    group, used = [0], widths[0]
    for c in range(1, len(widths)):
        if width and used + widths[c] > width and len(group) > 1:
            yield group
            group, used = [0], widths[0]
        group.append(c)
        used += widths[c]
    yield group


def sheet_markdown(sheet: Sheet) -> str:
    """A table for a README or an issue; the best value of each column is bold."""

    def cell(text: str) -> str:
        return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")

    sheet = _printable(sheet)
    lines = [list(map(cell, sheet.header)), ["---", *["---:"] * (len(sheet.header) - 1)]]
    for r, row in enumerate(sheet.rows):
        lines.append([f"**{cell(t)}**" if (r, c) in sheet.best else cell(t) for c, t in enumerate(row)])
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return text + "".join(f"\n{cell(note)}\n" for note in sheet.notes)


def sheet_latex(sheet: Sheet, *, words: Words | None = None) -> str:
    """A booktabs table; the best value of each column is bold, the notes are the caption.

    words   of what is added to the caption; the locale's by default
    """

    def cell(text: str) -> str:
        return "".join(_LATEX.get(character, character) for character in text)

    sheet = _printable(sheet)
    rows = [
        " & ".join(rf"\textbf{{{cell(t)}}}" if (r, c) in sheet.best else cell(t) for c, t in enumerate(row))
        for r, row in enumerate(sheet.rows)
    ]
    words = words or read_words()
    notes = words("scores.between").join([*sheet.notes, *([words("scores.best")] if sheet.best else [])])
    caption = [rf"\caption{{{cell(notes)}}}"] if notes else []
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            *caption,
            rf"\begin{{tabular}}{{l{'r' * (len(sheet.header) - 1)}}}",
            r"\toprule",
            " & ".join(map(cell, sheet.header)) + r" \\",
            r"\midrule",
            *(row + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def sheet_csv(sheet: Sheet) -> str:
    """Header and rows, without the notes."""
    out = StringIO()
    csv.writer(out, lineterminator="\n").writerows([sheet.header, *sheet.rows])
    return out.getvalue()


def sheet_json(sheet: Sheet) -> str:
    """Rows as objects by the header's names, and the notes."""
    rows = [dict(zip(sheet.header, row, strict=True)) for row in sheet.rows]
    return json.dumps({"rows": rows, "notes": sheet.notes}, ensure_ascii=False, indent=2) + "\n"


SHEET_FORMATS: dict[str, Callable[..., str]] = {
    "table": sheet_terminal, "markdown": sheet_markdown, "latex": sheet_latex, "csv": sheet_csv, "json": sheet_json,
}  # fmt: skip
"""Every way to write one sheet; latex takes `words`, in which it adds to the caption."""
