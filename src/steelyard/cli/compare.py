"""`steelyard compare`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from steelyard.base.errors import InputError
from steelyard.cli.evaluate import corpus_of
from steelyard.cli.terminal import terminal_width
from steelyard.comparison.changes import changes
from steelyard.comparison.comparison import Comparison, compare
from steelyard.comparison.sensitivity import sensitivity
from steelyard.comparison.settings_diff import SettingsDiff, settings_diff
from steelyard.data.run_folder import is_run_folder, read_run_folder
from steelyard.data.segments import length_bounds, segments
from steelyard.experiment import defaults
from steelyard.experiment.defaults import Policy
from steelyard.experiment.evaluation import weigh
from steelyard.experiment.scores import Scores
from steelyard.experiment.weighing import Weighing
from steelyard.io.write import refuse_overwriting, write_text
from steelyard.report.formats.sheets import SHEET_FORMATS
from steelyard.report.formats.suffix import format_of
from steelyard.report.sheets.changing import changes_sheets, changes_text
from steelyard.report.sheets.comparing import Beside, as_csv, as_json, sheets
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
        corpus=None if corpus is None else corpus_of(corpus), queries=queries,
    )  # fmt: skip
    scores = weighing.scores(measures or defaults.COMPARED_MEASURES, min_gain=min_gain, missing=missing, seed=seed)
    parts = None if segment is None else segments(weighing.questions, scores.query_ids, segment)
    found = compare(
        scores, baseline=baseline, test=test, correction=correction, margin=margin, alpha=alpha, strict=strict,
        seed=seed, segments=parts,
    )  # fmt: skip
    n_movers = movers if movers is not None else int(len(runs) == 2 and format == "table")
    beside = _beside(weighing, scores, found, runs, segment, n_movers)
    if format == "json":
        text = as_json(found, beside=beside)
    elif format == "csv":
        text = as_csv(found)
    else:
        text = _sheets(found, beside, words, format, on_screen=format == "table" and output is None)
    write_text(output or "-", text)


def _beside(
    weighing: Weighing, scores: Scores, found: Comparison, runs: Sequence[str], segment: str | None, n_movers: int
) -> Beside:
    common = ~np.isnan(scores.values).any(axis=0, keepdims=True)
    return Beside(
        sensitivity=sensitivity(
            scores.systems, weighing.alignments, scores.measures, kept=np.broadcast_to(common, scores.values.shape)
        ),
        labelled=any(report is None for report in scores.gold),
        changes=changes(
            weighing, scores, baseline=found.baseline, n=n_movers,
            systems=[row.system for row in next(iter(found.rows.values())) if row.verdict != "baseline"],
        ) if n_movers else (),
        settings=_settings(runs, weighing.systems, found.baseline),
        by=segment,
        bounds=length_bounds(weighing.questions, scores.query_ids) if segment == "length" else None,
    )  # fmt: skip


def _settings(runs: Sequence[str], systems: Sequence[str], baseline: str) -> SettingsDiff | None:
    """Where the configurations of run folders part, the baseline's first; None for fewer than two of them."""
    folders = {name: read_run_folder(path) for path, name in zip(runs, systems, strict=True) if is_run_folder(path)}
    ordered = dict(sorted(folders.items(), key=lambda item: item[0] != baseline))
    return settings_diff(ordered) if len(ordered) > 1 else None


def _sheets(found: Comparison, beside: Beside, words: Words, format: str, *, on_screen: bool) -> str:
    width, colour = (terminal_width(), sys.stdout.isatty()) if on_screen else (None, False)
    relative = format == "markdown" or (format == "table" and (width is None or width >= _WIDE))
    made = list(sheets(found, words, beside=beside, relative=relative, marks=format == "latex"))
    if format == "markdown":
        made += [sheet for each in beside.changes for sheet in changes_sheets(each, words)]
    if format != "table":
        options = {"words": words} if format == "latex" else {}
        return "\n".join(SHEET_FORMATS[format](sheet, **options) for sheet in made)
    tables = [SHEET_FORMATS["table"](sheet, width=width, colour=colour) for sheet in made]
    return "\n".join([*tables, *(changes_text(each, words, width=width) for each in beside.changes)])
