"""`steelyard sweep`."""

from __future__ import annotations

import sys
from pathlib import Path

from steelyard.base.choices import Unit
from steelyard.cli.progress import progress_bars
from steelyard.cli.run import INTERRUPTED, QUESTIONS_FAILED
from steelyard.cli.terminal import write_result
from steelyard.rag.config import Config
from steelyard.rag.sweeping import Swept, sweep
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format


def run(
    config: Path, *, unit: Unit | None, measures: list[str], cluster: str | None, holdout: bool, seed: int,
    concurrency: int | None, overwrite: bool, strict: bool, format: str | None, output: Path | None,
    safe_csv: bool, lang: str | None = None,
) -> None:  # fmt: skip
    """Run a grid of pipelines and print one table."""
    words, format = read_words(lang), chosen_format(Swept, output, format)
    try:
        with progress_bars(words) as bars:
            swept = sweep(
                Config.of_options(config, unit=unit, concurrency=concurrency), measures=measures or None,
                cluster=cluster, holdout=holdout, seed=seed, overwrite=overwrite, progress=bars,
            )  # fmt: skip
    except KeyboardInterrupt:
        print("steelyard: interrupted; what was run is kept. The same command goes on from there", file=sys.stderr)
        sys.exit(INTERRUPTED)
    write_result(swept, format, output, lang=words.code, safe_csv=safe_csv, seed=seed)
    if strict and swept.n_failed:
        sys.exit(QUESTIONS_FAILED)
