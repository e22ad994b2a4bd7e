"""`steelyard compare`."""

from __future__ import annotations

import sys
from pathlib import Path

from steelyard.base.errors import InputError
from steelyard.cli.terminal import terminal_width
from steelyard.comparison.comparison import compare
from steelyard.comparison.result import Comparison
from steelyard.experiment import defaults
from steelyard.experiment.defaults import Policy
from steelyard.experiment.evaluation import weigh
from steelyard.io.write import refuse_overwriting, write_text
from steelyard.report.formats.comparison import comparison_csv, comparison_json
from steelyard.report.formats.sheets import SHEET_FORMATS
from steelyard.report.formats.suffix import format_of
from steelyard.report.sheets.changing import changes_sheets, changes_text
from steelyard.report.sheets.comparing import comparison_sheets
from steelyard.report.words import Words, read_words

_FORMATS = (*SHEET_FORMATS, "json", "csv")
_WIDE = 120
"""Columns from which on a table has room for the relative change."""


def run(
    truth: str, runs: list[str], measures: list[str], *, baseline: str | None, test: str | None,
    correction: str | None, margin: float | None, alpha: float, strict: bool, format: str | None, output: Path | None,
    seed: int, min_gain: float | None, rule: str, fold: str | None, corpus: str | None, segment: str | None = None,
    movers: int | None = None, queries: str | None = None, lang: str | None = None, missing: Policy = defaults.MISSING,
) -> None:  # fmt: skip
    """Compare the runs and write the result."""
    given = [truth, *runs, *([queries] if queries else [])]
    if given.count("-") > 1:
        raise InputError("standard input (-) can be given once only")
    words, format = read_words(lang), format_of(output, format)
    if format not in _FORMATS:
        raise InputError(f"a comparison cannot be written as {format}; choose table, markdown, latex, csv or json")
    if movers and format in ("csv", "latex"):
        raise InputError(f"--movers: rankings are not written as {format}; choose table, markdown or json")
    refuse_overwriting(output or "-", given)
    weighing = weigh(
        truth, runs, rule=rule, steps=fold.split(",") if fold is not None else None,
        corpus=corpus, queries=queries,
    )  # fmt: skip
    n_movers = movers if movers is not None else int(len(runs) == 2 and format == "table")
    comparison = compare(
        weighing, measures, baseline=baseline, test=test, correction=correction, margin=margin, alpha=alpha,
        strict=strict, seed=seed, segments=segment, movers=n_movers, min_gain=min_gain, missing=missing,
    )  # fmt: skip
    if format == "json":
        text = comparison_json(comparison)
    elif format == "csv":
        text = comparison_csv(comparison)
    else:
        text = _sheets(comparison, words, format, on_screen=format == "table" and output is None)
    write_text(output or "-", text)


def _sheets(comparison: Comparison, words: Words, format: str, *, on_screen: bool) -> str:
    width, colour = (terminal_width(), sys.stdout.isatty()) if on_screen else (None, False)
    relative = format == "markdown" or (format == "table" and (width is None or width >= _WIDE))
    made = list(comparison_sheets(comparison, words, relative=relative, marks=format == "latex"))
    if format == "markdown":
        made += [sheet for each in comparison.changes for sheet in changes_sheets(each, words)]
    if format != "table":
        options = {"words": words} if format == "latex" else {}
        return "\n".join(SHEET_FORMATS[format](sheet, **options) for sheet in made)
    tables = [SHEET_FORMATS["table"](sheet, width=width, colour=colour) for sheet in made]
    return "\n".join([*tables, *(changes_text(each, words, width=width) for each in comparison.changes)])
