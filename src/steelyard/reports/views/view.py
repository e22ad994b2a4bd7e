"""How a kind of result is written: blocks of columns, sheets and sections for people, rows and data for programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import polars as pl

from steelyard.base.errors import InputError
from steelyard.base.result import Shown
from steelyard.reports.views.numbers import best_places
from steelyard.reports.views.picture import Picture
from steelyard.reports.words import Words

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column as data.

    head       what it is called, in the reader's language;   text   the cell of a row
    goodness   of a row, higher being better, where the best cells deserve emphasis
    optional   whether it is left out where every row has a dash
    """

    head: str
    text: Callable[[Row], str]
    goodness: Callable[[Row], float | None] | None = None
    optional: bool = False


def headed(words: Words, stem: str, *cells: tuple[str, Callable[[Any], str]]) -> list[Column[Any]]:
    """Columns whose heads are messages below a stem, by name."""
    return [Column(words(f"{stem}.{name}"), text) for name, text in cells]


_NUMBER = re.compile(r"[<>≥≤~≈†$¥+−–-]{0,3} ?[+−]?\d|[+−]?∞")
"""The beginning of a cell with a number, a limit, a change or an amount of money."""


@dataclass
class Sheet:
    """A header, rows of texts, the cells that deserve emphasis, and notes below.

    n_labels   how many of the first columns say what a row is of; where a wide sheet is cut, each part has them
    spare      columns that a terminal leaves out where it has no room for all, the first of these first
    """

    header: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    n_labels: int = 1
    spare: Sequence[int] = ()

    def columns_of_words(self) -> set[int]:
        """Columns without a number, which begin in line; numbers end in line.

        >>> Sheet(["", "", ""], [["bm25", "≥ 0.5", "open (3)"], ["dense", "–", "–"]]).columns_of_words()
        {0, 2}
        """
        columns = [[row[c] for row in self.rows] for c in range(len(self.header))]
        return {c for c, cells in enumerate(columns) if {*cells} - {"–"} and not any(map(_NUMBER.match, cells))}


GAP, USUAL_WIDTH = 3, 80
"""Blanks between columns on a terminal, and columns of one that does not say how many it has."""


def cell_size(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def sheet_width(sheet: Sheet) -> int:
    """Columns that a sheet takes on a terminal."""
    rows = [sheet.header, *sheet.rows]
    return sum(max(cell_size(row[c]) for row in rows) + GAP for c in range(len(sheet.header))) - GAP


def sheet_of(
    rows: Iterable[Row], columns: Sequence[Column[Row]], notes: Iterable[str] = (), *, n_labels: int = 1
) -> Sheet:
    """The cells that columns have of rows, and the best ones of columns that say how good a row is.

    >>> length, p95 = Column("n", lambda row: str(len(row)), len), Column("p95", "–".format, optional=True)
    >>> sheet = sheet_of(["a", "be"], [Column("system", str), length, p95])
    >>> sheet.header, sheet.rows, sheet.best
    (['system', 'n'], [['a', '1'], ['be', '2']], {(1, 1)})
    """
    listed = list(rows)
    texts = [(column, [column.text(row) for row in listed]) for column in columns]
    shown = [(column, cells) for column, cells in texts if not column.optional or {*cells} - {"–"}]
    best = {
        (r, c)
        for c, (column, _) in enumerate(shown)
        if column.goodness is not None
        for r in best_places(np.array([column.goodness(row) for row in listed], dtype=float))
    }
    cells = [[column[r] for _, column in shown] for r in range(len(listed))]
    return Sheet([column.head for column, _ in shown], cells, best, list(notes), n_labels)


@dataclass(frozen=True)
class Paragraph:
    """A text, and a title of its own where it has one.

    is_command   whether it is to be copied into a shell, and is one line, however long
    is_faint     whether it only helps to read the one before: grey, where there are colours
    """

    text: str
    title: str = ""
    is_command: bool = False
    is_faint: bool = False


@dataclass(frozen=True)
class Section:
    """A title, and what belongs to it; name is what the section is called in code."""

    name: str
    title: str
    paragraphs: list[Paragraph] = field(default_factory=list)
    sheets: list[Sheet] = field(default_factory=list)


R = TypeVar("R", bound=Shown)


@dataclass(frozen=True)
class Text:
    """Lines of text between tables; only Markdown and HTML make headings and bold text of it.

    style   "laid out" is made for the width already, and no line of it is wrapped again
    faint   numbers of lines that only help to read the one before: grey, where there are colours
    """

    text: str
    style: Literal["heading", "bold", "plain", "laid out"] = "plain"
    faint: Collection[int] = ()


Block = Text | Sheet | Section


@dataclass(frozen=True)
class Look:
    """What blocks are made for.

    format   "table", "markdown", "latex" or "html";   words   of the reader's language
    width    columns of a terminal, None for as many as it takes;   colour   whether it shows bold and dim text
    explain  whether a terminal shows everything, or the verdict, the table, and what to be careful with
    """

    format: str
    words: Words
    width: int | None = None
    colour: bool = False
    explain: bool = False


@dataclass(frozen=True)
class View(Generic[R]):
    """How one kind of result is written.  Every function takes the options as keywords.

    name      what messages call it: "a comparison"
    blocks    (result, look) -> what people read, in its order
    data      (result, words) -> what programs read, in English but for titles and advice; `base/json_text.py` writes it
    rows      (result) -> the rows of CSV; None where there is none
    papers    (result, words) -> tables for LaTeX; None where there are none
    label     what LaTeX refers to its table by; by default what the first column is headed
    has_page  whether it is written as a page of HTML;   has_parts   whether its parts are written, to be read again
    texts     format -> (result, look) -> text, of what is not made of blocks and rows
    options   names of options, such as "per_query"
    format    number of the data; it rises where a key is renamed or goes
    stored    (path) -> the result, where a file holds everything
    brief     (result, look) -> what a terminal shows unless it is asked to explain; `blocks` where it is None
    picture   (result, words) -> the one picture that a notebook shows; None, or it returns None, where none helps
    """

    name: str
    blocks: Callable[..., Iterable[Block]]
    data: Callable[..., Mapping[str, Any]]
    rows: Callable[..., pl.DataFrame | Sequence[Mapping[str, Any]]] | None = None
    papers: Callable[..., Iterable[Sheet]] | None = None
    label: str = ""
    has_page: bool = False
    has_parts: bool = False
    texts: Mapping[str, Callable[..., str]] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    format: int = 1
    stored: Callable[[Any], R] | None = None
    brief: Callable[..., Iterable[Block]] | None = None
    picture: Callable[[R, Words], Picture | None] | None = None

    @property
    def formats(self) -> list[str]:
        """The names of all formats that there are."""
        known = {
            "markdown": True, "latex": self.papers, "csv": self.rows, "json": True, "html": self.has_page,
            "parts": self.has_parts,
        }  # fmt: skip
        there = ["table", *(name for name, part in known.items() if part)]
        return [*there, *(name for name in self.texts if name not in there)]

    def blocks_for(self, result: R, look: Look, **options: Any) -> Iterable[Block]:
        """What people read in a format: on a terminal the brief view, where there is one, unless it is to explain."""
        is_brief = look.format == "table" and not look.explain and self.brief is not None
        return (self.brief if is_brief and self.brief is not None else self.blocks)(result, look, **options)

    def check(self, format: str, options: Iterable[str] = ()) -> str:
        """The format, where this kind has it and takes these options.

        Raises   InputError with those that there are.
        """
        if format not in self.formats:
            *some, last = self.formats
            raise InputError(f"{self.name} cannot be written as {format}; choose {', '.join(some)} or {last}")
        if odd := [name for name in options if name not in self.options]:
            there = f"; there are {', '.join(self.options)}" if self.options else ""
            raise InputError(f"{self.name} has no option {odd[0]!r}{there}")
        return format


def view_of(kind: type[Shown]) -> View[Any]:
    """The view of a kind of result."""
    views: Mapping[type[Shown], View[Any]] = import_module(f"steelyard.reports.{kind.VIEW}").VIEWS
    return next(views[base] for base in kind.__mro__ if base in views)
