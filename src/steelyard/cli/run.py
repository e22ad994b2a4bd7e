"""`steelyard run`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.align.resolver import check_gold
from steelyard.base.errors import InputError
from steelyard.cli.terminal import terminal_width
from steelyard.data.questions import Questions
from steelyard.data.run_folder import RunFolder
from steelyard.experiment import defaults
from steelyard.experiment.evaluation import evaluate
from steelyard.measures import parse_all
from steelyard.rag.config import Config
from steelyard.rag.pipeline import Pipeline
from steelyard.rag.running import n_done
from steelyard.rag.running import run as run_questions
from steelyard.rag.system import Progress, System, TargetSystem
from steelyard.report.formats.scores import table
from steelyard.report.words import Words, read_words

INTERRUPTED = 130


def run(
    config: Path | None, *, documents: Path | None, questions: Path | None, target: str | None, k: int | None,
    measures: list[str], output: Path | None, overwrite: bool, cache: bool, lang: str | None = None,
) -> None:  # fmt: skip
    """Run a pipeline or a target over questions, and weigh what it found."""
    words = read_words(lang)
    chosen = configured(
        config, documents=documents, questions=questions, target=target, k=k, output=output, cache=cache
    )  # fmt: skip
    if chosen.questions is None:
        raise InputError("which questions? Give --questions FILE, or `questions` in the configuration")
    # A misspelt measure is told now, not after the run.
    specs = parse_all(measures or chosen.weigh.measures or defaults.MEASURES)
    system: System = TargetSystem.read(chosen) if chosen.target else Pipeline.read(chosen)
    asked, how = Questions.read(chosen.questions), chosen.weigh.options()
    begun: dict[str, int] = {}
    try:
        with progress_bars() as bars:

            def tell(stage: str, done: int, total: int) -> None:
                begun.setdefault(stage, done)
                bars(stage, done, total)

            system.prepare(tell)
            if system.corpus is not None:
                # A quote that is not in its document is told now, not after the run.
                check_gold(asked, system.corpus, rule=how["rule"], steps=how["steps"])
            folder = run_questions(system, asked, chosen.folder, overwrite=overwrite, progress=tell)
    except KeyboardInterrupt:
        done = n_done(chosen.folder)
        print(
            f"steelyard: interrupted; {done} question{'s are' if done != 1 else ' is'} done and kept. "
            "The same command goes on from there",
            file=sys.stderr,
        )
        sys.exit(INTERRUPTED)
    print("\n".join(_said(folder, begun.get("questions", 0), words)), end="\n\n")
    scores = evaluate(asked, [folder.path], specs, **how)
    print(table(scores, per_query=False, words=words, width=terminal_width(), colour=sys.stdout.isatty()), end="")


def configured(
    config: Path | None, *, documents: Path | None, questions: Path | None, target: str | None, k: int | None,
    output: Path | None, cache: bool,
) -> Config:  # fmt: skip
    """A configuration file with what the command line changes; paths of the command line count from where it runs.

    Raises   InputError where neither names what is to be run.
    """
    paths = {"documents": documents, "questions": questions, "folder": output}
    given: dict[str, Any] = {key: str(Path(path).absolute()) for key, path in paths.items() if path is not None}
    if k is not None:
        given["k"] = k
    if not cache:
        given["cache"] = False
    if target is not None:
        given["target"] = {"url" if "://" in target else "callable": target}
    if config is not None:
        return Config.read(config).with_changes(given)
    if documents is None and target is None:
        raise InputError(
            "what is to be run? Give a CONFIG.toml, or --documents FOLDER, or --target module:function or a URL"
        )
    return Config.of(given)


def _said(folder: RunFolder, n_before: int, lang: Words) -> Iterator[str]:
    """What there is to say of a run, line by line; its notes are told as they were noted, in English."""
    counts = folder.manifest["counts"]
    asked, failed = counts["questions"], counts["failed"]
    for note in folder.manifest["notes"]:
        yield lang("scores.run.note", note=note)
    if n_before == asked:
        yield lang("scores.run.finished")
    elif n_before:
        yield lang("scores.run.kept", n=n_before, total=asked)
    if failed:
        query_id, error = _first_failure(folder)
        yield lang("scores.run.failed", n=failed, total=asked, query_id=query_id, error=error)
    parts = [lang("count.questions", n=asked)]
    if "chunks" in counts:
        chunks, documents = lang("count.chunks", n=counts["chunks"]), lang("count.documents", n=counts["documents"])
        parts.append(lang("scores.run.chunks", chunks=chunks, documents=documents))
    if total := folder.manifest["latency_ms"].get("total"):
        parts.append(lang("scores.run.latency", median=f"{total['p50']:.1f}", p95=f"{total['p95']:.1f}"))
    yield lang("scores.run.summary", folder=folder.path, parts=lang("scores.run.comma").join(parts))


def _first_failure(folder: RunFolder) -> tuple[str, str]:
    with folder.outputs.open(encoding="utf-8") as lines:
        return next((line["qid"], line["error"]) for line in map(json.loads, lines) if line.get("error") is not None)


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Bars on standard error, where that is a terminal; else nothing is shown."""
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description:<9}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield tell
