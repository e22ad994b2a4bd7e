"""Scores as text: terminal table, Markdown, LaTeX, CSV, JSON and trec_eval's lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from steelyard.base.errors import InputError
from steelyard.experiment.table.json import as_json
from steelyard.experiment.table.scores import Scores
from steelyard.report.formats.sheets import SHEET_FORMATS, sheet_latex, sheet_markdown, sheet_terminal
from steelyard.report.views.corrections import corrected_sheet
from steelyard.report.views.numbers import number
from steelyard.report.views.scores import per_query_sheet, scores_sheet
from steelyard.report.views.sheet import Sheet
from steelyard.report.words import Words, read_words

if TYPE_CHECKING:
    from steelyard.gates.profiles import Profile


def table(
    scores: Scores, *, per_query: bool, words: Words | None = None, width: int | None = None, colour: bool = False
) -> str:  # fmt: skip
    """Aligned columns for a terminal.

    words   the locale's by default
    width   columns of the terminal, None for as many as it takes: a wide table is then cut into several
    """
    sheets = _sheets(scores, words or read_words(), per_query=per_query)
    return "\n".join(sheet_terminal(sheet, width=width, colour=colour) for sheet in sheets)


def _sheets(scores: Scores, words: Words, *, per_query: bool) -> list[Sheet]:
    sheets = [per_query_sheet(scores, words) if per_query else None, scores_sheet(scores, words)]
    return [sheet for sheet in (*sheets, corrected_sheet(scores, words)) if sheet is not None]


def markdown(scores: Scores, *, per_query: bool, words: Words | None = None) -> str:
    """Tables for a README or an issue; the best value of each column is bold.

    words   the locale's by default
    """
    return "\n".join(map(sheet_markdown, _sheets(scores, words or read_words(), per_query=per_query)))


def latex(scores: Scores, *, per_query: bool, words: Words | None = None) -> str:
    """A booktabs table; the best value of each column is bold, the notes are the caption.

    words   the locale's by default
    """
    words = words or read_words()
    return "\n".join(sheet_latex(sheet, words=words) for sheet in _sheets(scores, words, per_query=per_query))


def csv(scores: Scores, *, per_query: bool) -> str:
    """One row a value: of every query when asked, of every mean otherwise."""
    return (scores.per_query if per_query else scores.mean()).write_csv()


def trec(scores: Scores, *, per_query: bool) -> str:
    """Lines of `measure query value` as trec_eval prints them, system after system."""
    lines = []
    for i, system in enumerate(scores.systems):
        labels = [str(measure) for measure in scores.measures]
        if per_query:
            lines += [
                f"{label:<22}\t{query}\t{number(scores.values[i, j, q])}"
                for q, query in enumerate(scores.query_ids)
                for j, label in enumerate(labels)
                if not np.isnan(scores.values[i, j, q])
            ]
        lines.append(f"{'runid':<22}\tall\t{system}")
        lines += [f"{label:<22}\tall\t{number(scores.means[i, j])}" for j, label in enumerate(labels)]
    return "\n".join(lines) + "\n"


FORMATS: dict[str, Callable[..., str]] = {
    "table": table,
    "json": as_json,
    "csv": csv,
    "markdown": markdown,
    "latex": latex,
    "trec": trec,
}
"""Every way to write Scores; all take `per_query`, and those IN_WORDS `words`."""

IN_WORDS = ("table", "markdown", "latex")
"""Formats for people; the others have English keys and full precision."""


def check_format(format: str) -> None:
    """Raises   InputError for a format that scores are not written in."""
    if format not in FORMATS:
        raise InputError(f"scores cannot be written as {format}; choose {', '.join(FORMATS)}")


def scores_text(
    scores: Scores, format: str, words: Words | None = None, *, per_query: bool = False,
    profile: Profile | str | None = None, width: int | None = None, colour: bool = False,
) -> str:  # fmt: skip
    """Scores in a format, and what a profile rates them; the latter for people, as programs have levels of their own.

    words           the locale's by default
    width, colour   of a terminal, for a table
    Raises          InputError for a format that there is none of, and for an unknown profile.
    """
    check_format(format)
    view = {"width": width, "colour": colour} if format == "table" else {}
    if format not in IN_WORDS:
        return FORMATS[format](scores, per_query=per_query)
    words = words or read_words()
    text = FORMATS[format](scores, per_query=per_query, words=words, **view)
    if profile is None:
        return text
    from steelyard.gates.profiles import Profile
    from steelyard.gates.ratings import rate
    from steelyard.report.views.ratings import rating_sheets

    profile = profile if isinstance(profile, Profile) else Profile.read(profile)
    sheets = rating_sheets(rate(scores, profile), profile, words)
    return "\n".join([text, *(SHEET_FORMATS[format](sheet, **view) for sheet in sheets)])
