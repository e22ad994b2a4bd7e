"""A comparison as sheets: one for each measure, then those of segments and of settings."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.comparison.result import Comparison
from steelyard.report.sheets.cautions import label_notes, tie_notes
from steelyard.report.sheets.changing import settings_notes, settings_sheet
from steelyard.report.sheets.comparing_segments import segment_sheets
from steelyard.report.sheets.comparison_notes import (
    left_out_notes,
    letter_notes,
    method_notes,
    missing_notes,
    needed_notes,
    weighing_notes,
)
from steelyard.report.sheets.drift import drift_sheet
from steelyard.report.sheets.labels import label_correction_notes
from steelyard.report.sheets.sheet import Sheet, number, p_text
from steelyard.report.sheets.signatures import signature_note
from steelyard.report.sheets.verdicts import (
    column_head,
    counts_text,
    difference_text,
    effect_text,
    group_letters,
    interval_text,
    relative_text,
    verdict_text,
)
from steelyard.report.words import Words, read_words

MARKS = {"better": "†", "worse": "‡"}
"""Signs of systems that differ from the reference, for papers."""


def comparison_sheets(
    comparison: Comparison, words: Words | None = None, *, relative: bool = False, marks: bool = False
) -> Iterator[Sheet]:
    """One sheet a measure, the first one with what holds for all; then of judge drift, of segments and of settings.

    words       English by default
    relative   with a column for the difference as a share of the baseline's mean
    marks      † and ‡ at the means of better and worse systems, for a paper; explained in the notes
    """
    words = words or read_words("en")
    for position, measure in enumerate(map(str, comparison.measures)):
        sheet = _measure_sheet(comparison, measure, words, relative=relative, marks=marks)
        if comparison.sensitivity is not None:
            sheet.notes += label_notes(comparison.sensitivity, position, words)
            sheet.notes += tie_notes(comparison.sensitivity, position, words)
        if position == 0:
            sheet.notes += [*missing_notes(comparison, words), *weighing_notes(comparison, words)]
            sheet.notes += [*method_notes(comparison, words)]
            sheet.notes += [words("compare.marks", reference=comparison.reference)] if marks else []
            sheet.notes += settings_notes(comparison.settings, words) if comparison.settings is not None else []
            sheet.notes += signature_note(comparison.signature, words)
        yield sheet
    if (drift := drift_sheet(comparison, words)) is not None:
        yield drift
    yield from segment_sheets(comparison, words)
    if comparison.settings is not None and (differing := settings_sheet(comparison.settings, words)) is not None:
        yield differing


def _measure_sheet(comparison: Comparison, measure: str, words: Words, *, relative: bool, marks: bool) -> Sheet:
    rows = comparison.rows[measure]
    letters = group_letters(comparison.groups.get(measure, []))
    columns = {
        "mean": [number(row.mean) + (MARKS.get(row.verdict, "") if marks else "") for row in rows],
        "difference": [difference_text(row) for row in rows],
        **({"relative": [relative_text(row) for row in rows]} if relative else {}),
        "interval": [interval_text(row, comparison, words) for row in rows],
        "p": [p_text(row.adjusted) for row in rows],
        "effect": [effect_text(row) for row in rows],
        "counts": [counts_text(row) for row in rows],
        **({"group": [letters.get(row.system, "") for row in rows]} if letters else {}),
        "verdict": [verdict_text(row, comparison, words, in_table=True) for row in rows],
    }
    apart = any(row.reason == "other judge" for row in rows)
    best = {(r, 1) for r, row in enumerate(rows) if rows[0].mean == row.mean != rows[-1].mean and not apart}
    is_percentile = any(str(spec) == measure and spec.share is not None for spec in comparison.measures)
    names = ("value" if name == "mean" and is_percentile else name for name in columns)
    header = [measure, *(column_head(name, comparison, words) for name in names)]
    cells = [[row.system, *(column[r] for column in columns.values())] for r, row in enumerate(rows)]
    notes = [
        *label_correction_notes(comparison, measure, words), *left_out_notes(comparison, measure, words),
        *letter_notes(comparison, measure, words), *needed_notes(rows, words),
    ]  # fmt: skip
    return Sheet(header, cells, best, notes)
