"""`steelyard compare`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from steelyard.cli.evaluate import corpus_of
from steelyard.cli.terminal import terminal_width
from steelyard.comparison import compare
from steelyard.errors import InputError
from steelyard.evaluation import evaluate
from steelyard.io.write import refuse_overwriting, write_text
from steelyard.report.comparing import as_csv, as_json, sheets
from steelyard.report.formats import SHEET_FORMATS, format_of

MEASURES = ("ndcg@10",)


def run(
    truth: str, runs: list[str], measures: list[str], *, baseline: str | None, test: str | None,
    correction: str | None, margin: float | None, alpha: float, strict: bool, format: str | None, output: Path | None,
    seed: int, min_gain: float | None, rule: str, fold: str | None, corpus: str | None,
) -> None:  # fmt: skip
    """Compare the runs and write the result."""
    if [truth, *runs].count("-") > 1:
        raise InputError("standard input (-) can be given once only")
    refuse_overwriting(output or "-", [truth, *runs])
    scores = evaluate(
        truth, runs, measures or MEASURES, min_gain=min_gain, missing="skip", seed=seed, rule=rule,
        steps=fold.split(",") if fold is not None else None, corpus=None if corpus is None else corpus_of(corpus),
    )  # fmt: skip
    found = compare(
        scores, baseline=baseline, test=test, correction=correction, margin=margin, alpha=alpha, strict=strict,
        seed=seed,
    )  # fmt: skip
    format = format_of(output, format)
    if format == "json":
        text = as_json(found)
    elif format == "csv":
        text = as_csv(found)
    elif format in SHEET_FORMATS:
        on_screen = format == "table" and output is None
        view: dict[str, Any] = {"width": terminal_width(), "colour": sys.stdout.isatty()} if on_screen else {}
        text = "\n".join(SHEET_FORMATS[format](sheet, **view) for sheet in sheets(found))
    else:
        raise InputError(f"a comparison cannot be written as {format}; choose table, markdown, latex, csv or json")
    write_text(output or "-", text)
