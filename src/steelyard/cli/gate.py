"""`steelyard gate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from steelyard.cli.given import inputs_of, keywords
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import write_result
from steelyard.gates.gating import gate
from steelyard.io.write import refuse_overwriting
from steelyard.reports.words import read_words


def run(
    scores: str | None, runs: list[str], *, junit: Path | None, summary: Path | None, lang: str | None, **options: Any
) -> None:
    """Judge scores, write the result, and exit with 0 (pass), 1 (fail) or 3 (too few data)."""
    words = read_words(lang)
    for output in (junit, summary):
        if output is not None:
            refuse_overwriting(output, inputs_of(scores, runs, options))
    with progress_bars(words, after=SOON) as bars:
        given = keywords(options) | ({"progress": bars} if scores is not None else {})
        verdict = gate(scores, runs or None, **given)
    if junit is not None:
        verdict.write(junit, format="junit", lang=words.code)
    if summary is not None:
        verdict.write(summary, format="markdown", lang=words.code)
    write_result(verdict, "table", None, lang=words.code)
    sys.exit(verdict.exit_code)
