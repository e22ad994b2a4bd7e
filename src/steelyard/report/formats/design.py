"""A plan in words, as a table; and as CSV and JSON, in full precision and in English, whatever the locale."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from steelyard.comparison.design import Design
from steelyard.report.formats.sheets import SHEET_FORMATS
from steelyard.report.views.design import answer_text, design_sheet
from steelyard.report.words import Words, read_words

FORMAT = 1
"""Of the JSON; it rises where a key is renamed or goes."""


def design_terminal(design: Design, words: Words, *, width: int | None = None, colour: bool = False) -> str:
    """A table of so many columns, None for as many as it takes, and the answer below it."""
    return SHEET_FORMATS["table"](design_sheet(design, words), width=width, colour=colour)


def design_csv(design: Design) -> str:
    """The columns of `Design.frame`."""
    return design.frame.write_csv()


def design_json(design: Design) -> str:
    """Everything; null where there is no number.  Rows have the columns of `Design.frame`."""
    names = ("difference", "power", "alpha", "n_systems", "n_comparisons", "basis", "sd", "sd_low", "sd_high")
    content: dict[str, Any] = {
        "format": FORMAT,
        "signature": None if design.signature is None else str(design.signature),
        "measure": None if design.measure is None else str(design.measure),
        **{name: _finite(getattr(design, name)) for name in names},
        "pilot": None if design.pilot is None else {k: _finite(v) for k, v in asdict(design.pilot).items()},
        "rows": design.frame.to_dicts(),
        "in_words": answer_text(design, read_words("en")),
        "recipe": design.recipe,
    }
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _finite(value: object) -> object:
    """The value; None for a number that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


DESIGN_FORMATS: dict[str, Callable[..., str]] = {
    "table": design_terminal,
    "markdown": lambda design, words: SHEET_FORMATS["markdown"](design_sheet(design, words)),
    "latex": lambda design, words: SHEET_FORMATS["latex"](design_sheet(design, words), words=words),
    "csv": lambda design, words: design_csv(design),
    "json": lambda design, words: design_json(design),
}
"""Every way to write a plan: a function of it and the words; that of tables takes `width` and `colour` too."""
