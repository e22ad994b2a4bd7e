"""The commands that measure benches: rerankers, and systems under load."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.base.progress import Progress
    from steelyard.bench.bench import Bench
    from steelyard.bench.run.planning import BenchPlan
    from steelyard.cli.calls import Call
    from steelyard.reports.words import Words

MISSED = 1
"""Exit status of `steelyard bench load` where a rate that was asked for does not hold the objective."""
_LONG_S = 60
"""Seconds from which on a reader should know before."""


def bench_rerank(
    call: Call, config: Path, *, output: Path | None, dry_run: bool, budget: str | None, **options: Any
) -> None:
    """Measure rerankers, and print what comes of it; or what that would take."""
    from steelyard.bench.run.planning import plan_bench

    if dry_run:
        call.write(plan_bench(config, folder=output, **options))
        return
    with _measuring(call, "blocks") as bars:
        bench = call.function(
            config,
            folder=output,
            budget=budget,
            progress=bars,
            announce=partial(_announce, words=call.words),
            **options,
        )
    call.write(bench, following=_report_of(bench))


def bench_load(
    call: Call, system: str, *, output: Path | None, headers_env: list[tuple[str, str]], **options: Any
) -> int:
    """Put load on systems, print what they sustain, and return 1 where the objective is missed."""
    from steelyard.gates.loads import Loads

    with _measuring(call, "levels of load") as bars:
        bench = call.function(system, folder=output, headers_env=dict(headers_env) or None, progress=bars, **options)
    call.write(bench, following=_report_of(bench))
    return MISSED if any(check.outcome == "fail" for check in Loads.read(bench.folder).checks()) else 0


def _report_of(bench: Bench) -> list[str]:
    """The words behind `steelyard` that write all of a bench into a page."""
    from steelyard.reports.visible import short_path

    return ["report", short_path(bench.folder.path), "-o", "report.html"]


@contextmanager
def _measuring(call: Call, blocks: str) -> Iterator[Progress]:
    """Bars while a bench is measured.

    blocks   what its parts are called, such as "levels of load"
    """
    from steelyard.bench.run.loads import NOTICES, BenchInterrupted
    from steelyard.reports.views.notes import note_text

    def kept(interruption: KeyboardInterrupt) -> str:
        measured = "what was measured is kept"
        if isinstance(interruption, BenchInterrupted):
            measured = f"{interruption.n_done} of {interruption.n} {blocks} are measured and kept"
        return f"{measured}. The same command goes on from there"

    def notice(note: Any) -> None:
        _say(note_text(note, call.words))

    with call.progress(kept, after=0, between_calls=True) as bars, NOTICES.listening(notice):
        yield bars if sys.stderr.isatty() else announced(call.words)


def announced(words: Words) -> Progress:
    """A line on standard error where load takes long, before the first of it, for readers without bars."""
    is_announced = False

    def say(stage: str, done: int, total: int) -> None:
        nonlocal is_announced
        if stage == "seconds" and not is_announced and total - done >= _LONG_S:
            is_announced = True
            _say(words("progress.load_takes", seconds=total - done))

    return say


def _announce(plan: BenchPlan, words: Words) -> None:
    """Say what a bench takes, where it takes long or asks a system elsewhere."""
    from steelyard.reports.views.bench import announcement

    if plan.callers or (plan.total("seconds") or 0) >= _LONG_S:
        _say(words("diagnose.between").join(announcement(plan, words)))


def _say(text: str) -> None:
    print(f"steelyard: {text}", file=sys.stderr, flush=True)
