"""Processes that deliver messages, which are forked from one that has no threads and all modules already."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from datetime import datetime
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from steelyard.monitoring.outbox import Outbox
from steelyard.monitoring.sinks.declared import parse_sink
from steelyard.store.database import Database
from tests.monitoring.messages import message


def started(work: Callable[..., None], *arguments: Any) -> BaseProcess:
    """A process that has begun."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "sqlalchemy.dialects.sqlite", "steelyard.store.schema"])
    process = context.Process(target=work, args=arguments)
    process.start()
    return process


def run_all(processes: Sequence[BaseProcess]) -> list[int | None]:
    """How each ended."""
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


def append(path: Path, writer: int) -> None:
    """Append twenty messages to a file."""
    sink = parse_sink({"type": "json", "path": str(path)})
    for n in range(20):
        sink.send(message(f"{writer}-{n}"), 5)


def deliver(url: str, lines: Path, moment: str, now: datetime) -> None:
    """Deliver what is due to a file of lines; the process kills itself at a moment: claimed, sent or noted."""

    def die(at: str) -> None:
        if at == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    class Dying(Outbox):
        def _claim(self, names: Any) -> Any:
            claims = super()._claim(names)
            die("claimed")
            return claims

        def _note(self, rows: Any, **values: Any) -> None:
            die("sent")
            super()._note(rows, **values)
            die("noted")

    Dying(Database(url), "search", lambda: now).deliver([parse_sink({"type": "json", "path": str(lines)})])
