"""Bars that show how far a command is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from steelyard.base.progress import Progress, no_progress
from steelyard.report.words import Words

SOON = 0.5
"""Seconds in which a command may be ready that draws nothing until then, nor imports what draws."""


@contextmanager
def progress_bars(words: Words, *, after: float = 0.0) -> Iterator[Progress]:
    """Bars on standard error, where that is a terminal; else nothing is shown.

    after   seconds before the first one
    """
    if not sys.stderr.isatty():
        yield no_progress
        return
    tasks: dict[str, Any] = {}
    bars: Any = None
    started = time.monotonic()
    with ExitStack() as stack:

        def show(stage: str, done: int, total: int) -> None:
            nonlocal bars
            if bars is None and (done == total or time.monotonic() - started < after):
                return
            bars = bars or stack.enter_context(_bars())
            if stage not in tasks:
                name = words(f"progress.{stage}") if f"progress.{stage}" in words else stage
                tasks[stage] = bars.add_task(name, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield show


def _bars() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<9}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
