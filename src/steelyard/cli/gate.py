"""`steelyard gate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from steelyard.cli.given import inputs_of, keywords
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import screen_view, show
from steelyard.gates.gating import gate
from steelyard.io.write import refuse_overwriting, write_text
from steelyard.report.formats.gating import gate_markdown, gate_text
from steelyard.report.formats.junit import junit as as_junit
from steelyard.report.words import read_words


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
        write_text(junit, as_junit(verdict, words))
    if summary is not None:
        write_text(summary, gate_markdown(verdict, words))
    show(gate_text(verdict, words, **screen_view()))
    sys.exit(verdict.exit_code)
