"""`steelyard bench load`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard.bench.run.load_tests import load_test
from steelyard.cli.benching import measuring
from steelyard.cli.terminal import write_result
from steelyard.gates.loads import Loads
from steelyard.reports.words import read_words

MISSED = 1
"""What `steelyard bench load` exits with where a rate that was asked for does not hold the objective."""


def run(
    system: str, *, output: Path | None, headers_env: Sequence[tuple[str, str]] = (), lang: str | None = None,
    **options: Any,
) -> None:  # fmt: skip
    """Put load on systems, print what they bear, and exit with 1 where the objective is missed."""
    words = read_words(lang)
    with measuring(words, "levels of load") as bars:
        bench = load_test(system, folder=output, headers_env=dict(headers_env) or None, progress=bars, **options)
    write_result(bench, "table", None, lang=words.code)
    if any(check.outcome == "fail" for check in Loads.read(bench.folder).checks()):
        sys.exit(MISSED)
