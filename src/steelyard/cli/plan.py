"""`steelyard plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError
from steelyard.cli.given import inputs_of, keywords
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import write_result
from steelyard.comparison.design import Design, plan
from steelyard.io.write import refuse_overwriting
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format


def run(
    truth: str | None, runs: list[str], measures: list[str], *, format: str | None, output: Path | None,
    safe_csv: bool, lang: str | None, **options: Any,
) -> None:  # fmt: skip
    """Plan from the pilot, or from a standard deviation, and write the result."""
    words, format = read_words(lang), chosen_format(Design, output, format)
    if truth is not None and not runs:
        raise InputError(f"{truth}: a truth without a run; name one run or several behind it, better two")
    refuse_overwriting(output or "-", inputs_of(truth, runs, options))
    with progress_bars(words, after=SOON) as bars:
        design = plan(truth, runs or None, measures, **keywords(options), progress=bars)
    write_result(design, format, output, lang=words.code, safe_csv=safe_csv)
