"""`steelyard run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError
from steelyard.cli.progress import progress_bars
from steelyard.cli.terminal import terminal_width
from steelyard.rag.config import Config
from steelyard.rag.run_writer import n_answered
from steelyard.rag.weighed_run import run_and_weigh
from steelyard.report.formats.run import weighed_run_text
from steelyard.report.words import read_words

INTERRUPTED = 130


def run(
    config: Path | None, *, documents: Path | None, questions: Path | None, target: str | None, k: int | None,
    measures: list[str], output: Path | None, overwrite: bool, cache: bool, lang: str | None = None,
) -> None:  # fmt: skip
    """Run a pipeline or a target over questions, and weigh what it found."""
    words = read_words(lang)
    settings = configured(
        config, documents=documents, questions=questions, target=target, k=k, output=output, cache=cache
    )  # fmt: skip
    try:
        with progress_bars() as bars:
            weighed = run_and_weigh(settings, measures=measures, overwrite=overwrite, progress=bars)
    except KeyboardInterrupt:
        n = n_answered(settings.folder)
        print(
            f"steelyard: interrupted; {n} question{'s are' if n != 1 else ' is'} done and kept. "
            "The same command goes on from there",
            file=sys.stderr,
        )
        sys.exit(INTERRUPTED)
    print(weighed_run_text(weighed, words, width=terminal_width(), colour=sys.stdout.isatty()), end="")


def configured(
    config: Path | None, *, documents: Path | None, questions: Path | None, target: str | None, k: int | None,
    output: Path | None, cache: bool,
) -> Config:  # fmt: skip
    """A configuration file with what the command line changes; paths of the command line count from where it runs.

    Raises   InputError where neither names what is to be run.
    """
    paths = {"documents": documents, "questions": questions, "folder": output}
    changes: dict[str, Any] = {key: str(Path(path).absolute()) for key, path in paths.items() if path is not None}
    if k is not None:
        changes["k"] = k
    if not cache:
        changes["cache"] = False
    if target is not None:
        changes["target"] = {"url" if "://" in target else "callable": target}
    if config is not None:
        return Config.read(config).with_changes(changes)
    if documents is None and target is None:
        raise InputError(
            "what is to be run? Give a CONFIG.toml, or --documents FOLDER, or --target module:function or a URL"
        )
    return Config.of(changes)
