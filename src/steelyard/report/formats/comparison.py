"""A comparison in words, as tables; and as CSV and JSON, in full precision and in English, whatever the locale."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from io import StringIO
from typing import Any

import numpy as np

from steelyard.comparison.plan import Family
from steelyard.comparison.result import COLUMNS, Comparison, ComparisonRow
from steelyard.comparison.sensitivity import Sensitivity
from steelyard.report.formats.sections import escaped
from steelyard.report.formats.sheets import SHEET_FORMATS
from steelyard.report.views.changes import changes_json, changes_sheets, changes_text, settings_json
from steelyard.report.views.comparison import comparison_sheets, drift_json
from steelyard.report.views.corrections import labels_json
from steelyard.report.views.headline import headline
from steelyard.report.views.notes import notes_json
from steelyard.report.views.verdicts import group_letters, verdict_text
from steelyard.report.words import Words, read_words
from steelyard.report.wrapping import wrapped

FORMAT = 1
"""Of the JSON; it rises where a key is renamed or goes."""

_WIDE = 120
"""Columns from which on a table has room for the relative change."""

_OF_ROWS = [name for name in COLUMNS if name not in ("segment", "measure", "groups")]


def comparison_terminal(
    comparison: Comparison, words: Words, *, width: int | None = None, colour: bool = False
) -> str:  # fmt: skip
    """The verdict, tables of so many columns, and the questions that moved; None for as many columns as it takes."""
    sheets = comparison_sheets(comparison, words, relative=width is None or width >= _WIDE)
    head = "\n".join(wrapped(headline(comparison, words), width))
    tables = [SHEET_FORMATS["table"](sheet, width=width, colour=colour) for sheet in sheets]
    return "\n".join(
        [f"{head}\n", *tables, *(changes_text(changes, words, width=width) for changes in comparison.changes)]
    )


def comparison_markdown(comparison: Comparison, words: Words) -> str:
    """The verdict and tables, with those of the questions that moved, for a wiki or an issue."""
    sheets = [*comparison_sheets(comparison, words, relative=True)]
    sheets += [sheet for changes in comparison.changes for sheet in changes_sheets(changes, words)]
    head = f"**{escaped(headline(comparison, words))}**\n"
    return "\n".join([head, *map(SHEET_FORMATS["markdown"], sheets)])


def comparison_latex(comparison: Comparison, words: Words) -> str:
    """Tables for a paper, with significance marks that the caption explains."""
    sheets = comparison_sheets(comparison, words, marks=True)
    return "\n".join(SHEET_FORMATS["latex"](sheet, words=words) for sheet in sheets)


def comparison_csv(comparison: Comparison) -> str:
    """One row for each measure and system, then the same of each segment: the columns of `Comparison.frame`.

    `in_words` is the verdict in English, `group` the letters of groups of systems that are not shown to differ.
    """
    lines = []
    for segment, part in [("", comparison), *comparison.segments.items()]:
        for measure, rows in part.rows.items():
            letters = group_letters(part.groups.get(measure, []))
            lines += [
                {"measure": measure, **_row(row, part), "group": letters.get(row.system), "segment": segment}
                for row in rows
            ]
    out = StringIO()
    writer = csv.DictWriter(out, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def comparison_json(comparison: Comparison) -> str:
    """Everything; null where there is no number.  Rows have the columns of `Comparison.frame`."""
    sensitivity, settings = comparison.sensitivity, comparison.settings
    content: dict[str, Any] = {
        "format": FORMAT,
        "signature": str(comparison.signature),
        "headline": headline(comparison, read_words("en")),
        "baseline": comparison.baseline,
        "reference": comparison.reference,
        "test": comparison.test,
        "correction": comparison.correction,
        "primary": comparison.primary,
        **_families(comparison.families),
        "alpha": comparison.alpha,
        "margin": comparison.margin,
        "seed": comparison.seed,
        "missing": comparison.missing,
        **({"notes": notes_json(comparison.notes)} if comparison.notes else {}),
        "measures": _measures(comparison),
        "agreement": [
            {name: _finite(value) for name, value in asdict(agreement).items()} for agreement in comparison.agreement
        ],
        "components": comparison.components.to_dicts(),
        **({} if comparison.labels is None else {"labels": labels_json(comparison.labels)}),
        **({} if comparison.drift is None else {"drift": drift_json(comparison.drift)}),
        "segments": _segments(comparison),
        "sensitivity": None if sensitivity is None else _sensitivity(sensitivity),
        "changes": [changes_json(change) for change in comparison.changes],
        "settings": None if settings is None else settings_json(settings),
        "recipe": comparison.recipe,
    }
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _measures(comparison: Comparison) -> dict[str, Any]:
    return {
        measure: {
            "questions": comparison.n[measure],
            "left_out": comparison.left_out[measure],
            "lacking": comparison.lacking[measure],
            "systems": [_row(row, comparison) for row in rows],
            "groups": comparison.groups.get(measure),
        }
        for measure, rows in comparison.rows.items()
    }


def _families(families: Sequence[Family]) -> dict[str, Any]:
    """What the correction of the primary measure covers, and that of the secondary ones; null without any."""
    return {"family": families[0].covers, "secondary": asdict(families[1]) if len(families) > 1 else None}


def _row(row: ComparisonRow, comparison: Comparison) -> dict[str, Any]:
    return {
        **{name: _finite(getattr(row, name)) for name in _OF_ROWS},
        "in_words": verdict_text(row, comparison, read_words("en")),
    }


def _finite(value: object) -> object:
    """The value; None for a number that is not finite."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _segments(comparison: Comparison) -> dict[str, Any] | None:
    segmentation = comparison.segmentation
    if segmentation is None:
        return None
    return {
        "by": segmentation.by,
        "test": segmentation.test,
        "correction": segmentation.correction,
        **_families(segmentation.families),
        "lengths": segmentation.lengths,
        "parts": {name: {"measures": _measures(part)} for name, part in comparison.segments.items()},
    }


def _sensitivity(sensitivity: Sensitivity) -> dict[str, Any]:
    left_out = {"measure", "system", "mean", *(() if sensitivity.labelled else ("low", "high", "judged"))}
    content: dict[str, Any] = {}
    for row in sensitivity.frame.iter_rows(named=True):
        figures = {name: _finite(value) for name, value in row.items() if name not in left_out}
        content.setdefault(row["measure"], {})[row["system"]] = figures
    return content


COMPARISON_FORMATS: dict[str, Callable[..., str]] = {
    "table": comparison_terminal,
    "markdown": comparison_markdown,
    "latex": comparison_latex,
    "csv": lambda comparison, words: comparison_csv(comparison),
    "json": lambda comparison, words: comparison_json(comparison),
}
"""Every way to write a comparison: a function of it and the words; that of tables takes `width` and `colour` too."""
