"""What `steelyard sweep` prints: one table of all pipelines, and how far the best one leads, and would by chance."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np

from steelyard.rag.sweeping import Swept, setting_text
from steelyard.report.formats.sheets import SHEET_FORMATS
from steelyard.report.views.sheet import Sheet
from steelyard.report.views.sweep import sweep_notes, sweep_sheet
from steelyard.report.words import Words, read_words

FORMAT = 1
"""Of the JSON; it rises where a key is renamed or goes."""


def sweep_text(
    swept: Swept, format: str, words: Words, *, seed: int = 0, width: int | None = None, colour: bool = False
) -> str:  # fmt: skip
    """A sweep in a format of `SHEET_FORMATS`; JSON and CSV are for programs, and the same in every language.

    seed            of the test of the lead over the average
    width, colour   of the terminal, for the format "table"
    """
    if format in _EXACT:
        return _EXACT[format](swept, seed)
    sheet, view = sweep_sheet(swept, seed=seed, words=words), dict[str, Any]()
    if format == "table":
        sheet, view = _settings_joined(sheet, len(swept.settings[0])), {"width": width, "colour": colour}
    elif format == "latex":
        view = {"words": words}
    return SHEET_FORMATS[format](sheet, **view)


def _settings_joined(sheet: Sheet, n: int) -> Sheet:
    """The first n columns as one: a table that is cut into several repeats the first, which then names its rows."""
    from rich.cells import cell_len, set_cell_size

    lines = [sheet.header, *sheet.rows]
    widths = [max(cell_len(line[c]) for line in lines) for c in range(n)]
    joined = [["  ".join(set_cell_size(line[c], widths[c]) for c in range(n)).rstrip(), *line[n:]] for line in lines]
    return Sheet(joined[0], joined[1:], {(r, c - n + 1) for r, c in sheet.best}, sheet.notes)


def _rows(swept: Swept) -> list[dict[str, Any]]:
    """The rows for a program: settings as they are, means in full precision, None where there is none."""
    means = swept.means()
    rows = []
    for i in swept.order:
        row: dict[str, Any] = {
            key: value if isinstance(value, int | float | str) else setting_text(value)
            for key, value in swept.settings[i].items()
        }
        for name, mean in zip(swept.measures, means[i].tolist(), strict=True):
            row[name] = _or_none(mean)
        rows.append({**row, "lead": _or_none(float(swept.ahead[i])), "folder": str(swept.folders[i])})
    return rows


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value


def _json(swept: Swept, seed: int) -> str:
    leads = swept.leads(seed=seed)
    over = {} if leads is None else dict(zip(("next", "average"), leads, strict=True))
    document = {
        "format": FORMAT,
        "rows": _rows(swept),
        "leads": {name: {key: _or_none(value) for key, value in vars(lead).items()} for name, lead in over.items()},
        "notes": list(sweep_notes(swept, seed, read_words("en"))),
    }
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _csv(swept: Swept, seed: int) -> str:
    out, rows = io.StringIO(), _rows(swept)
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


_EXACT = {"json": _json, "csv": _csv}
