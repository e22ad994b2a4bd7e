"""What all results have in common: data for programs, texts for people, files, and how a notebook shows them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from steelyard.base.extras import require
from steelyard.base.short_repr import short_repr

if TYPE_CHECKING:
    import polars as pl


class Shown:
    """Something that has a view: data for programs, texts for people, and what a notebook shows.

    VIEW names the module below steelyard.reports whose `VIEWS` say how it is written; that is imported when something
    is first written, so that what computes loads nothing of what shows.
    """

    VIEW: ClassVar[str]

    def data(self, *, lang: str | None = None, **options: Any) -> dict[str, Any]:
        """Everything as plain data that JSON holds, in full precision; null where there is no number.

        lang      of titles and advice; all else is in English
        options   those of its kind, such as per_query of scores
        """
        data: dict[str, Any] = _writing().data_of(self, options, lang=lang)
        return data

    def text(
        self, format: str = "table", *, lang: str | None = None, width: int | None = None, colour: bool = False,
        explain: bool = False, **options: Any,
    ) -> str:  # fmt: skip
        """The result in a format: "table", "markdown", "json" and what else its kind has.

        lang      "en" or "zh"; the locale's by default
        width     columns of a terminal, None for as many as it takes;   colour   bold and dim, for a terminal
        explain   a table with all notes: how it was computed, what could change it, the signature to quote; without it
                  the verdict, the table and what to be careful with.  Other formats have everything.
        options   those of its kind, such as per_query of scores
        Raises    InputError for a format that its kind does not have, with those that it has.
        """
        view = {"lang": lang, "width": width, "colour": colour, "explain": explain}
        text: str = _writing().text_of(self, format, options, **view)
        return text

    def show(self, *, lang: str | None = None, explain: bool = False, **options: Any) -> None:
        """Display the result below the cell of a notebook; elsewhere print it at the width of the terminal.

        lang, explain, options   as of `text`; a notebook has the rest folded, or unfolded with explain
        """
        _writing().show(self, options, lang=lang, explain=explain)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        html: str = _writing().html_of(self)
        return html


class Result(Shown):
    """A result: what it holds is its own, how it is written is the business of its view.

    A subclass is a dataclass with `repr=False`, and has a frame.
    """

    if TYPE_CHECKING:

        @property
        def frame(self) -> pl.DataFrame:
            """The rows of the result."""

    def to_pandas(self) -> Any:
        """The frame as a pandas DataFrame; null is NaN or None.

        Raises   MissingExtraError without pandas and PyArrow.
        """
        require("pandas", extra="pandas", what="to_pandas")
        require("pyarrow", extra="pandas", what="to_pandas")
        return self.frame.to_pandas()

    def write(self, path: str | Path, *, format: str | None = None, lang: str | None = None, **options: Any) -> None:
        """Write the result into a file, whole or not at all.

        path     its suffix names the format: .html, .md, .tex, .csv, .json, .parts.json for `read`, or else plain text;
                 .gz and .zst compress
        Raises   as `text` does; OutputError.
        """
        _writing().write(self, path, format, options, lang=lang)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The result of a file that holds everything: scores in JSON, others in NAME.parts.json, as `write` made it.

        Raises   InputError for what is no such file, and for a kind of which no file holds everything.
        """
        result: Self = _writing().read(cls, path)
        return result

    def __repr__(self) -> str:
        return short_repr(self)


def _writing() -> Any:
    """The module that writes results, which is above all that compute them."""
    return import_module("steelyard.reports.writing")
