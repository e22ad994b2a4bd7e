"""A table of a page: its cells, and the HTML of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from steelyard.reports.html.shell import escaped
from steelyard.reports.views.view import Sheet
from steelyard.reports.visible import unbroken

_LONG, _LONG_LABEL = 24, 48
"""Characters of a cell, and of what a row is called, from which on it may break into lines."""


@dataclass(frozen=True)
class Cell:
    """One cell.

    text, small   what it says, and what is added below in small type
    style         classes: best for the best value of a column, text for words that begin at the left, long for those
                  that may break into lines
    pill          low or top for a rating at an end of its levels, plain for one between; "" for no rating
    value         the number, or the ends of its order, that the column is sorted by; of a head, 1 where the lowest
                  value comes first and -1 where the highest does, None where nothing is sorted by it
    ends          of the interval of the value
    bar           low, value and high in per cent of the width of the cell, which all cells of a column share
    """

    text: str
    small: str = ""
    style: str = ""
    pill: str = ""
    value: float | None = None
    ends: tuple[float, float] | None = None
    bar: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class HtmlTable:
    """A caption for readers that do not see the page, a header, rows of cells, and notes below.

    shown_row   where the rows are systems, the row that is always shown (of the baseline, or else the first); where
            there are many, the others are folded in behind a button.  None where rows are something else
    """

    caption: str
    header: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = field(default=())
    shown_row: int | None = None


def sheet_table(sheet: Sheet, caption: str) -> HtmlTable:
    """A sheet as a table."""
    of_words = sheet.columns_of_words() | {*range(sheet.n_labels)}
    words = [["text"] * (c in of_words) for c in range(len(sheet.header))]

    def style(r: int, c: int, text: str) -> str:
        is_long = len(text) > (_LONG_LABEL if c < sheet.n_labels else _LONG)
        return " ".join([*["best"] * ((r, c) in sheet.best), *words[c], *["long"] * is_long])

    rows = [[Cell(text, style=style(r, c, text)) for c, text in enumerate(row)] for r, row in enumerate(sheet.rows)]
    header = [Cell(text, style=" ".join(words[c])) for c, text in enumerate(sheet.header)]
    return HtmlTable(caption, header, rows, sheet.notes)


def table_writer(fold: str = "", *, piece: str = "") -> Callable[..., str]:
    """A writer of the tables of one page, whose captions and notes have numbers.

    fold    what the notes below a table but the first are folded under; "" for none that is folded
    piece   what the numbers begin with, where a page holds several pieces with tables of their own
    """
    n = 0

    def write(table: HtmlTable, id: str = "", csv: str = "") -> str:
        nonlocal n
        n += 1
        return _table(table, f"{piece}{n}", id, csv or table.caption, fold)

    return write


def _table(table: HtmlTable, n: str, id: str, csv: str, fold: str) -> str:
    shown = 1 if fold else len(table.notes)
    first, further = (_listed(part) for part in (table.notes[:shown], table.notes[shown:]))
    notes = f'<ul class="notes" id="notes-{n}">{first}</ul>\n' if first else ""
    if further:
        notes += f'<details class="how"><summary>{escaped(fold)}</summary><ul class="notes">{further}</ul></details>\n'
    if not table.rows:
        return notes
    named = f' id="{id}"' if id else ""
    about = f' aria-describedby="notes-{n}"' if notes else ""
    systems = "" if table.shown_row is None else " data-of-systems"
    head = "".join(
        f'<th scope="col"{_class(cell.style)}{_data("first", cell.value)}>{escaped(cell.text)}</th>'
        if cell.text
        else "<td></td>"
        for cell in table.header
    )
    rows = "\n".join(
        f"<tr{' data-always' if place == table.shown_row else ''}>{_row(row)}</tr>"
        for place, row in enumerate(table.rows)
    )
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-labelledby="table-{n}">\n'
        f'<table{named}{about}{systems} data-csv="{escaped(csv)}">\n'
        f'<caption class="alternative" id="table-{n}">{escaped(table.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>\n{notes}"
    )


def _listed(notes: Sequence[str]) -> str:
    return "".join(f"<li>{prose(note)}</li>" for note in notes)


def _row(row: Sequence[Cell]) -> str:
    name, *cells = row
    shown = f'<span class="name">{_text(name)}</span>{_small(name)}'
    return f'<th scope="row"{_class(name.style)}>{shown}</th>{"".join(map(_cell, cells))}'


def _cell(cell: Cell) -> str:
    if cell.bar is not None and cell.ends is not None:
        low, at, high = cell.bar
        data = _data("value", cell.value) + _data("low", cell.ends[0]) + _data("high", cell.ends[1])
        line = f'<span class="interval" style="--low:{low}%;--at:{at}%;--high:{high}%"></span>'
        return f'<td class="measured"{data}>{_text(cell)} {_small(cell)}{line}</td>'
    return f"<td{_class(cell.style)}{_data('value', cell.value)}>{_text(cell)}{_small(cell)}</td>"


def _text(cell: Cell) -> str:
    if cell.pill:
        return f'<span class="pill {cell.pill}">{escaped(cell.text)}</span>'
    # Sentences alone may name commands: what is between the backticks of a name stays a name.
    text = prose(cell.text) if "long" in cell.style.split() else escaped(cell.text)
    return f"<strong>{text}</strong>" if "best" in cell.style.split() else text


def _small(cell: Cell) -> str:
    return f"<small>{escaped(cell.small)}</small>" if cell.small else ""


def _class(style: str) -> str:
    return f' class="{style}"' if style else ""


def _data(name: str, value: float | None) -> str:
    return "" if value is None else f' data-{name}="{value}"'


def prose(text: str) -> str:
    """A sentence, in which what is between two backticks is code.

    >>> prose("add `--documents` to <it>")
    'add <code>--documents</code> to &lt;it&gt;'
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escaped(unbroken(text))
    return "".join(
        f"<code>{escaped(part)}</code>" if i % 2 else escaped(unbroken(part)) for i, part in enumerate(parts)
    )
