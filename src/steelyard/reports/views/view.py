"""How a kind of result is written: as blocks for people, rows and data for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import polars as pl

from steelyard.base.errors import InputError
from steelyard.base.result import Result
from steelyard.reports.views.sheet import Section, Sheet
from steelyard.reports.words import Words

R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class Text:
    """Lines of text between tables; only Markdown and HTML make headings and bold text of it.

    style   "laid out" is made for the width already, and no line of it is wrapped again
    """

    text: str
    style: Literal["heading", "bold", "plain", "laid out"] = "plain"


Block = Text | Sheet | Section


@dataclass(frozen=True)
class Look:
    """What blocks are made for.

    format   "table", "markdown", "latex" or "html";   words   of the reader's language
    width    columns of a terminal, None for as many as it takes;   colour   whether it shows bold and dim text
    """

    format: str
    words: Words
    width: int | None = None
    colour: bool = False


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

    @property
    def formats(self) -> list[str]:
        """The names of all formats that there are."""
        known = {
            "markdown": True, "latex": self.papers, "csv": self.rows, "json": True, "html": self.has_page,
            "parts": self.has_parts,
        }  # fmt: skip
        there = ["table", *(name for name, part in known.items() if part)]
        return [*there, *(name for name in self.texts if name not in there)]

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
