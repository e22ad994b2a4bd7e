"""`steelyard bench load`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard.bench.load_testing import load_test
from steelyard.cli.benching import measuring
from steelyard.cli.terminal import screen_view, show
from steelyard.report.formats.bench import bench_summary
from steelyard.report.words import read_words


def run(
    system: str, *, output: Path | None, headers_env: Sequence[tuple[str, str]] = (), lang: str | None = None,
    **options: Any,
) -> None:  # fmt: skip
    """Put load on systems, and print what they bear."""
    words = read_words(lang)
    with measuring(words, "levels of load") as bars:
        bench = load_test(system, folder=output, headers_env=dict(headers_env) or None, progress=bars, **options)
    show(bench_summary(bench, words, **screen_view()))
