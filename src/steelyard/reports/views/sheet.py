"""Columns, sheets and sections, the same for every format: tables of texts, notes below them, and paragraphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from steelyard.reports.views.numbers import best_places

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


@dataclass
class Sheet:
    """A header, rows of texts, the cells that deserve emphasis, and notes below.

    n_labels   how many of the first columns say what a row is of; where a wide sheet is cut, each part has them
    """

    header: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    n_labels: int = 1


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
    """

    text: str
    title: str = ""
    is_command: bool = False


@dataclass(frozen=True)
class Section:
    """A title, and what belongs to it; name is what the section is called in code."""

    name: str
    title: str
    paragraphs: list[Paragraph] = field(default_factory=list)
    sheets: list[Sheet] = field(default_factory=list)
