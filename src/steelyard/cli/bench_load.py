"""`steelyard bench load`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from steelyard.bench.interrupted import BenchInterrupted
from steelyard.bench.load_testing import load_test
from steelyard.cli.progress import progress_bars
from steelyard.cli.run import INTERRUPTED
from steelyard.cli.terminal import terminal_width
from steelyard.report.formats.bench import bench_summary
from steelyard.report.words import read_words


def run(system: str, *, output: Path | None, lang: str | None = None, **options: Any) -> None:
    """Put load on systems, and print what they bear."""
    words = read_words(lang)
    try:
        with progress_bars(words, between_calls=True) as bars:
            bench = load_test(system, folder=output, progress=bars, **options)
    except BenchInterrupted as interrupted:
        print(
            f"steelyard: interrupted; {interrupted.n_done} of {interrupted.n} levels of load are measured and kept. "
            "The same command goes on from there",
            file=sys.stderr,
        )
        sys.exit(INTERRUPTED)
    print(bench_summary(bench, words, width=terminal_width(), colour=sys.stdout.isatty()), end="")
