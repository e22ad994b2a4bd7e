"""`steelyard compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError
from steelyard.cli.given import inputs_of, keywords
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import write_result
from steelyard.comparison.comparison import compare
from steelyard.comparison.result import Comparison
from steelyard.io.write import refuse_overwriting
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format


def run(
    truth: str, runs: list[str], measures: list[str], *, format: str | None, output: Path | None, safe_csv: bool,
    lang: str | None, **options: Any,
) -> None:  # fmt: skip
    """Compare the runs and write the result."""
    words, format = read_words(lang), chosen_format(Comparison, output, format)
    if options.get("movers") and format in ("csv", "latex"):
        raise InputError(f"--movers: rankings are not written as {format}; choose table, markdown or json")
    refuse_overwriting(output or "-", inputs_of(truth, runs, options))
    with progress_bars(words, after=SOON) as bars:
        comparison = compare(truth, runs, measures, **keywords(options), progress=bars)
    write_result(comparison, format, output, lang=words.code, safe_csv=safe_csv)
