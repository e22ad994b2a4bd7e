"""`steelyard label`."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from steelyard.base.choices import Unit
from steelyard.cli.judge import INTERRUPTED
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import terminal_width
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.rag.labelling import label, plan_labelling
from steelyard.report.formats.labelling import check_format, labelling_text
from steelyard.report.words import read_words


def run(
    questions: str, sources: list[str], *, judge: str, scale: str, depth: int, keep: str | None, corpus: str | None,
    unit: Unit, cache: bool, dry_run: bool, format: str | None, output: Path, lang: str | None, **settings: Any,
) -> None:  # fmt: skip
    """Draw up a truth and write it, and print what it is; or what that would take."""
    words, format = read_words(lang), format or "table"
    check_format(format)
    refuse_overwriting(output, [questions, *run_paths(sources)])
    settings = {name: value for name, value in settings.items() if value is not None}
    settings |= {} if cache else {"cache": None}
    what: dict[str, Any] = {
        "scale": scale, "depth": depth, "keep": keep, "corpus": corpus, "unit": unit, "save": output,
        **settings,
    }  # fmt: skip
    try:
        # What a judge of the user's own prints must not stand among the result.
        with progress_bars(words, after=SOON) as bars, redirect_stdout(sys.stderr):
            if dry_run:
                result: Any = plan_labelling(questions, sources, judge, **what)
            else:
                result = label(questions, sources, judge, progress=bars, **what)
    except KeyboardInterrupt:
        print(
            "steelyard: interrupted; no truth was written. What a model answered is in the cache, and the same command "
            "does not ask it again",
            file=sys.stderr,
        )
        sys.exit(INTERRUPTED)
    text = labelling_text(
        result, format, words, file=str(output), sources=sources, width=terminal_width(), colour=sys.stdout.isatty()
    )
    print(text, end="")
