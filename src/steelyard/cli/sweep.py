"""`steelyard sweep`."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.base.errors import InputError
from steelyard.cli.run import INTERRUPTED, progress_bars
from steelyard.cli.terminal import terminal_width
from steelyard.io.write import write_text
from steelyard.rag.config import Config
from steelyard.rag.sweeping import Swept, setting_text, sweep
from steelyard.report.formats.sheets import SHEET_FORMATS
from steelyard.report.formats.suffix import format_of
from steelyard.report.sheets.sheet import Sheet, number
from steelyard.report.words import Words, read_words


def run(
    config: Path, *, measures: list[str], holdout: bool, seed: int, overwrite: bool, format: str | None,
    output: Path | None, lang: str | None = None,
) -> None:  # fmt: skip
    """Run a grid of pipelines and print one table."""
    words, format = read_words(lang), format_of(output, format)
    if format not in SHEET_FORMATS:
        raise InputError(f"a sweep cannot be written as {format}; choose one of {', '.join(SHEET_FORMATS)}")
    if format in _EXACT:
        words = read_words("en")  # Programs read the same in every locale.
    try:
        with progress_bars() as bars:
            swept = sweep(
                Config.read(config), measures=measures or None, holdout=holdout, seed=seed, overwrite=overwrite,
                progress=bars, lang=words,
            )  # fmt: skip
    except KeyboardInterrupt:
        print("steelyard: interrupted; what was run is kept. The same command goes on from there", file=sys.stderr)
        sys.exit(INTERRUPTED)
    if format in _EXACT:
        text = _EXACT[format](swept, seed)
    else:
        sheet, view = sheet_of(swept, seed=seed, lang=words), dict[str, Any]()
        if format == "table":
            sheet = _settings_joined(sheet, len(swept.settings[0]))
            view = {} if output else {"width": terminal_width(), "colour": sys.stdout.isatty()}
        elif format == "latex":
            view = {"words": words}
        text = SHEET_FORMATS[format](sheet, **view)
    write_text(output or "-", text)


def sheet_of(swept: Swept, *, seed: int, lang: Words | None = None) -> Sheet:
    """A row for each pipeline and k, best first by the first measure.

    lang   that of the locale by default
    """
    varied, means, order = list(swept.settings[0]), swept.means(), _order(swept)
    rows = [[*(setting_text(swept.settings[i][key]) for key in varied), *map(number, means[i].tolist())] for i in order]
    best = {
        (r, len(varied) + j)
        for j in range(means.shape[1])
        for r, i in enumerate(order)
        if means[i, j] == np.nanmax(means[:, j], initial=-np.inf)
    }
    return Sheet([*varied, *swept.measures], rows, best, list(_notes(swept, seed, lang or read_words())))


def _settings_joined(sheet: Sheet, n: int) -> Sheet:
    """The first n columns as one: a table that is cut into several repeats the first, and each names its rows so."""
    from rich.cells import cell_len, set_cell_size

    lines = [sheet.header, *sheet.rows]
    widths = [max(cell_len(line[c]) for line in lines) for c in range(n)]
    joined = [["  ".join(set_cell_size(line[c], widths[c]) for c in range(n)).rstrip(), *line[n:]] for line in lines]
    return Sheet(joined[0], joined[1:], {(r, c - n + 1) for r, c in sheet.best}, sheet.notes)


def _order(swept: Swept) -> list[int]:
    """Rows, best first by the first measure, equals as they are in the grid."""
    first = swept.means()[:, 0]
    return sorted(range(len(first)), key=lambda i: (-np.nan_to_num(first[i], nan=-np.inf), i))


def _rows(swept: Swept) -> list[dict[str, Any]]:
    """The rows for a program: settings as they are, means in full precision, None where there is none."""
    means = swept.means()
    rows = []
    for i in _order(swept):
        row: dict[str, Any] = {
            key: value if isinstance(value, int | float | str) else setting_text(value)
            for key, value in swept.settings[i].items()
        }
        for name, mean in zip(swept.measures, means[i].tolist(), strict=True):
            row[name] = None if np.isnan(mean) else mean
        rows.append({**row, "folder": str(swept.folders[i])})
    return rows


def _json(swept: Swept, seed: int) -> str:
    made = {"rows": _rows(swept), "notes": list(_notes(swept, seed, read_words("en")))}
    return json.dumps(made, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _csv(swept: Swept, seed: int) -> str:
    out, rows = io.StringIO(), _rows(swept)
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


_EXACT = {"json": _json, "csv": _csv}


def _notes(swept: Swept, seed: int, lang: Words) -> Iterator[str]:
    n, rows, first = int((~swept.held_out).sum()), len(swept.settings), swept.measures[0]
    yield lang("scores.sweep.means", n=n)
    luck = swept.luck(seed=seed)
    if rows > 1:
        yield lang("scores.sweep.luck", n=n, rows=rows, luck=f"{luck:.3f}", measure=first)
    if swept.held_out.any():
        kept, held = swept.means(~swept.held_out)[swept.best, 0], swept.means(swept.held_out)[swept.best, 0]
        yield lang(
            "scores.sweep.held_out", n=n, measure=first, held=number(held), held_n=swept.held_out.sum(), seed=seed,
            kept=number(kept),
        )  # fmt: skip
    elif rows > 1:
        yield lang("scores.sweep.holdout")
    yield from swept.notes
