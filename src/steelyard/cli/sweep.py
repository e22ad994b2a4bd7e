"""`steelyard sweep`."""

from __future__ import annotations

import sys
from pathlib import Path

from steelyard.base.choices import Unit
from steelyard.base.errors import InputError
from steelyard.cli.progress import progress_bars
from steelyard.cli.run import INTERRUPTED, QUESTIONS_FAILED
from steelyard.cli.terminal import screen_view, write_result
from steelyard.rag.config import Config
from steelyard.rag.sweeping import sweep
from steelyard.report.formats.sheets import SHEET_FORMATS
from steelyard.report.formats.suffix import format_of
from steelyard.report.formats.sweep import sweep_text
from steelyard.report.words import read_words


def run(
    config: Path, *, unit: Unit | None, measures: list[str], cluster: str | None, holdout: bool, seed: int,
    concurrency: int | None, overwrite: bool, strict: bool, format: str | None, output: Path | None,
    safe_csv: bool, lang: str | None = None,
) -> None:  # fmt: skip
    """Run a grid of pipelines and print one table."""
    words, format = read_words(lang), format_of(output, format)
    if format not in SHEET_FORMATS:
        raise InputError(f"a sweep cannot be written as {format}; choose one of {', '.join(SHEET_FORMATS)}")
    try:
        with progress_bars(words) as bars:
            swept = sweep(
                Config.of_options(config, unit=unit, concurrency=concurrency), measures=measures or None,
                cluster=cluster, holdout=holdout, seed=seed, overwrite=overwrite, progress=bars,
            )  # fmt: skip
    except KeyboardInterrupt:
        print("steelyard: interrupted; what was run is kept. The same command goes on from there", file=sys.stderr)
        sys.exit(INTERRUPTED)
    text = sweep_text(swept, format, words, seed=seed, **screen_view(output))
    write_result(text, format, output, safe_csv=safe_csv)
    if strict and swept.n_failed:
        sys.exit(QUESTIONS_FAILED)
