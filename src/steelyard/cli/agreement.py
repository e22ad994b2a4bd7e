"""`steelyard agreement`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import screen_view, write_result
from steelyard.comparison.agreement import agreement
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.report.charts.agreement import draw_agreement
from steelyard.report.charts.saving import save_drawings
from steelyard.report.formats.agreement import AGREEMENT_FORMATS
from steelyard.report.formats.suffix import format_of
from steelyard.report.words import read_words


def run(
    labels: list[str], *, runs: list[str], charts: Path | None, format: str | None, output: Path | None,
    safe_csv: bool, lang: str | None, **settings: Any,
) -> None:  # fmt: skip
    """Read the labels, compare the raters, and write the result."""
    words, format = read_words(lang), format_of(output, format)
    if format not in AGREEMENT_FORMATS:
        raise InputError(f"agreement cannot be written as {format}; choose table, markdown, latex, csv or json")
    refuse_overwriting(output or "-", run_paths([*labels, *runs]))
    with progress_bars(words, after=SOON) as bars:
        result = agreement(labels, runs=runs or None, progress=bars, **settings)
    if charts is not None:
        save_drawings(lambda: draw_agreement(result, words=words), charts)
    view = screen_view(output) if format == "table" else {}
    write_result(AGREEMENT_FORMATS[format](result, words, **view), format, output, safe_csv=safe_csv)
