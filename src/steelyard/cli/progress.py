"""Bars that show how far a command is, and what it waits for."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from steelyard.base.progress import Progress, no_progress
from steelyard.cli.terminal import drawn_on
from steelyard.reports.views.numbers import milliseconds
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words
from steelyard.services.announcements import LIVE, SPENDING, WAITS, LiveRequests, Spending, Wait

SOON = 0.5
"""Seconds in which a command may be ready that draws nothing until then, nor imports what draws."""
_WORTH_SAYING_S = 1.0
_REDRAWN_S = 0.25


@contextmanager
def progress_bars(words: Words, *, after: float = 0.0, between_calls: bool = False) -> Iterator[Progress]:
    """Bars on standard error, where that is a terminal.

    Below them: how the requests of a bench do, what is spent, and the wait that ends last.

    Anywhere else there are no bars, and a line says what is waited for, once for each service and reason.

    after          seconds before the first one
    between_calls  whether they are drawn when somebody calls, and not by a thread: that would disturb what is timed
    """
    if not sys.stderr.isatty():
        with printed_waits(words):
            yield no_progress
        return
    tasks: dict[str, Any] = {}
    bars: Any = None
    started = drawn = time.monotonic()
    waiting, spending, live = _Waiting(words), _Spending(words), _Live(words)
    with ExitStack() as stack:
        stack.enter_context(WAITS.listening(waiting.add))
        stack.enter_context(SPENDING.listening(spending.add))
        stack.enter_context(LIVE.listening(live.add))

        def show(stage: str, done: int, total: int) -> None:
            nonlocal bars, drawn
            if bars is None and (done == total or time.monotonic() - started < after):
                return
            bars = bars or stack.enter_context(_bars(live, spending, waiting, auto_refresh=not between_calls))
            if stage not in tasks:
                name = words(f"progress.{stage}") if f"progress.{stage}" in words else single_line(stage)
                tasks[stage] = bars.add_task(name, total=total)
            bars.update(tasks[stage], completed=done, total=total)
            if between_calls and (done == total or time.monotonic() - drawn > _REDRAWN_S):
                bars.refresh()
                drawn = time.monotonic()

        yield show


@contextmanager
def printed_waits(words: Words) -> Iterator[None]:
    """A line on standard error for what is waited for, once for each service and reason."""
    announced = set[tuple[str, object]]()

    def say(wait: Wait) -> None:
        if wait.seconds >= _WORTH_SAYING_S and (wait.host, wait.reason) not in announced:
            announced.add((wait.host, wait.reason))
            print(f"steelyard: {_text(wait, wait.seconds, words)}", file=sys.stderr, flush=True)

    with WAITS.listening(say):
        yield


class _Waiting:
    """The wait that ends last, of those that are worth a word."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._ends, self._wait = -math.inf, Wait("", 0.0, "timeout")

    def add(self, wait: Wait) -> None:
        """Take a wait that begins."""
        ends = time.monotonic() + wait.seconds
        if wait.seconds >= _WORTH_SAYING_S and ends > self._ends:
            self._ends, self._wait = ends, wait

    def text(self) -> str:
        """The wait and the seconds that are left of it; nothing where it is over."""
        left_s = self._ends - time.monotonic()
        return _text(self._wait, left_s, self._words) if left_s > 0 else ""


class _Spending:
    """What was spent last."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._last: Spending | None = None

    def add(self, spending: Spending) -> None:
        """Take what is spent by now."""
        self._last = spending

    def text(self) -> str:
        """Tokens and, where it is known, their cost; nothing where nothing is spent."""
        if self._last is None or not self._last.usage.total:
            return ""
        tokens = f"{self._last.usage.total:,}"
        if self._last.cost_usd is None:
            return self._words("progress.tokens", tokens=tokens)
        return self._words("progress.cost", tokens=tokens, cost=f"{self._last.cost_usd:.2f}")


class _Live:
    """How the block of requests does that is measured."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._last: LiveRequests | None = None

    def add(self, live: LiveRequests) -> None:
        """Take how it does by now."""
        self._last = live

    def text(self) -> str:
        """Questions, answers a second, requests without one, and P95; nothing before the first request."""
        live = self._last
        if live is None:
            return ""
        return self._words(
            "progress.live", system=single_line(live.label), rate=f"{live.per_second:.3g}", n=f"{live.n:,}",
            failed=f"{live.n_failed:,}", p95=milliseconds(live.p95_ms),
        )  # fmt: skip


def _text(wait: Wait, seconds: float, words: Words) -> str:
    reason = wait.reason if isinstance(wait.reason, int) else words(f"progress.reason.{wait.reason.replace(' ', '_')}")
    return words("progress.waiting", seconds=math.ceil(seconds), host=single_line(wait.host), reason=reason)


def _bars(*lines: _Live | _Spending | _Waiting, auto_refresh: bool = True) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.3g}/s" if task.speed else "")

    class Bars(Progress):
        def get_renderables(self) -> Iterator[Any]:
            yield from super().get_renderables()
            yield from (Text(text) for line in lines if (text := line.text()))

    columns = (
        TextColumn("{task.description:<9}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        Remaining(),
    )
    return Bars(*columns, console=Console(file=drawn_on(sys.stderr)), transient=True, auto_refresh=auto_refresh)
