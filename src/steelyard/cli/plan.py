"""`steelyard plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError
from steelyard.cli.given import inputs_of, keywords
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import screen_view, write_result
from steelyard.comparison.design import plan
from steelyard.io.write import refuse_overwriting
from steelyard.report.formats.design import DESIGN_FORMATS
from steelyard.report.formats.suffix import format_of
from steelyard.report.words import read_words


def run(
    truth: str | None, runs: list[str], measures: list[str], *, format: str | None, output: Path | None,
    safe_csv: bool, lang: str | None, **options: Any,
) -> None:  # fmt: skip
    """Plan from the pilot, or from a standard deviation, and write the result."""
    words, format = read_words(lang), format_of(output, format)
    if format not in DESIGN_FORMATS:
        raise InputError(f"a plan cannot be written as {format}; choose table, markdown, latex, csv or json")
    if truth is not None and not runs:
        raise InputError(f"{truth}: a truth without a run; name one run or several behind it, better two")
    refuse_overwriting(output or "-", inputs_of(truth, runs, options))
    with progress_bars(words, after=SOON) as bars:
        design = plan(truth, runs or None, measures, **keywords(options), progress=bars)
    view = screen_view(output) if format == "table" else {}
    write_result(DESIGN_FORMATS[format](design, words, **view), format, output, safe_csv=safe_csv)
