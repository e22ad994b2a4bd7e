"""`steelyard agreement`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import write_result
from steelyard.comparison.raters.agreement import Agreement, agreement
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.reports.charts.agreement import draw_agreement
from steelyard.reports.charts.saving import save_drawings
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format


def run(
    labels: list[str], *, runs: list[str], charts: Path | None, format: str | None, output: Path | None,
    safe_csv: bool, lang: str | None, **settings: Any,
) -> None:  # fmt: skip
    """Read the labels, compare the raters, and write the result."""
    words, format = read_words(lang), chosen_format(Agreement, output, format)
    refuse_overwriting(output or "-", run_paths([*labels, *runs]))
    with progress_bars(words, after=SOON) as bars:
        result = agreement(labels, runs=runs or None, progress=bars, **settings)
    if charts is not None:
        save_drawings(lambda: draw_agreement(result, words=words), charts)
    write_result(result, format, output, lang=words.code, safe_csv=safe_csv)
