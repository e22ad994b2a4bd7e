"""`steelyard run`."""

from __future__ import annotations

import sys
from pathlib import Path

from steelyard.base.choices import Unit
from steelyard.cli.progress import progress_bars
from steelyard.cli.terminal import write_result
from steelyard.rag.config import Config
from steelyard.rag.runs.writer import RunInterrupted
from steelyard.rag.weighed_run import run_and_weigh
from steelyard.reports.words import read_words

INTERRUPTED, QUESTIONS_FAILED = 130, 1


def run(
    config: Path | None, *, documents: Path | None, questions: Path | None, target: str | None, corpus: Path | None,
    k: int | None, unit: Unit | None, measures: list[str], cluster: str | None, concurrency: int | None,
    output: Path | None, overwrite: bool, strict: bool, cache: bool, lang: str | None = None,
) -> None:  # fmt: skip
    """Run a pipeline or a target over questions, and weigh what it found."""
    words = read_words(lang)
    settings = Config.of_options(
        config, documents=documents, questions=questions, target=target, corpus=corpus, k=k, unit=unit,
        concurrency=concurrency,
        folder=output, cache=cache,
    )  # fmt: skip
    try:
        with progress_bars(words) as bars:
            weighed = run_and_weigh(settings, measures=measures, cluster=cluster, overwrite=overwrite, progress=bars)
    except RunInterrupted as interrupted:
        n = interrupted.n_answered
        print(
            f"steelyard: interrupted; {n} question{'s are' if n != 1 else ' is'} done and kept. "
            "The same command goes on from there",
            file=sys.stderr,
        )
        sys.exit(INTERRUPTED)
    except KeyboardInterrupt:
        print("steelyard: interrupted; what was answered is kept. The same command goes on from there", file=sys.stderr)
        sys.exit(INTERRUPTED)
    write_result(weighed, "table", None, lang=words.code)
    if strict and weighed.folder.n_failed:
        sys.exit(QUESTIONS_FAILED)
