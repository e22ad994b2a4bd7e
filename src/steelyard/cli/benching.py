"""What both commands of benches have in common while they measure."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from steelyard.base.notes import Note
from steelyard.base.progress import Progress
from steelyard.bench.run.live import BenchInterrupted
from steelyard.bench.run.loads import NOTICES
from steelyard.bench.run.planning import BenchPlan
from steelyard.cli.progress import progress_bars
from steelyard.cli.run import INTERRUPTED
from steelyard.reports.views.bench_plan import announcement
from steelyard.reports.views.notes import note_text
from steelyard.reports.words import Words

_LONG_S = 60
"""Seconds from which on a reader should know before."""


def announced(words: Words) -> Progress:
    """A line on standard error where load takes long, before the first of it, for readers without bars."""
    is_announced = False

    def say(stage: str, done: int, total: int) -> None:
        nonlocal is_announced
        if stage == "seconds" and not is_announced and total - done >= _LONG_S:
            is_announced = True
            print(f"steelyard: {words('progress.load_takes', seconds=total - done)}", file=sys.stderr, flush=True)

    return say


def announce(plan: BenchPlan, words: Words) -> None:
    """A line on standard error on what a bench takes, where it takes long or asks a system elsewhere."""
    if plan.callers or (plan.total("seconds") or 0) >= _LONG_S:
        print(f"steelyard: {words('diagnose.between').join(announcement(plan, words))}", file=sys.stderr, flush=True)


def _notice(words: Words, note: Note) -> None:
    print(f"steelyard: {note_text(note, words)}", file=sys.stderr, flush=True)


@contextmanager
def measuring(words: Words, blocks: str) -> Iterator[Progress]:
    """Bars while a bench is measured.

    blocks   what its parts are called, such as "levels of load"
    Raises   SystemExit where the user interrupts it, after a line on what is kept.
    """
    try:
        with progress_bars(words, between_calls=True) as bars, NOTICES.listening(partial(_notice, words)):
            yield bars if sys.stderr.isatty() else announced(words)
    except KeyboardInterrupt as interrupted:
        measured = "what was measured is kept"
        if isinstance(interrupted, BenchInterrupted):
            measured = f"{interrupted.n_done} of {interrupted.n} {blocks} are measured and kept"
        print(f"steelyard: interrupted; {measured}. The same command goes on from there", file=sys.stderr)
        sys.exit(INTERRUPTED)
