"""Commands that are killed (SIGKILL) at any moment and given again: what must hold is one mechanism for all of them."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import polars as pl

_MOST_IN_A_ROW = 4
_FIRST = 0.3
"""Share of an undisturbed run before which a process is still importing."""


@dataclass
class Killed:
    """Commands of one kind.

    prepare    writes what they read into a new folder
    commands   given together: several are processes at the same time
    result     what they leave, the same however often they were killed
    kept       what is written for good: a later start neither takes it away nor changes it
    """

    prepare: Callable[[Path], None]
    commands: Sequence[Sequence[str]]
    result: Callable[[Path], object]
    kept: Callable[[Path], Mapping[object, object]] = lambda folder: {}
    seconds: float = field(default=0.0, init=False)

    def undisturbed(self, folder: Path) -> object:
        """The result of the commands in a new folder; how long they take is noted."""
        self.prepare(folder)
        started = time.monotonic()
        self._finish(folder)
        self.seconds = time.monotonic() - started
        return self.result(folder)

    def attack(self, folder: Path, want: object, n: int, rng: random.Random) -> int:
        """Kill processes n times; each folder is left in peace after some kills, and must then have the result.

        Returns   how many processes were killed before they had ended
        """
        n_killed = n_folders = 0
        while n_killed < n:
            n_folders += 1
            here = folder / str(n_folders)
            self.prepare(here)
            for _ in range(rng.randint(1, _MOST_IN_A_ROW)):
                before = self.kept(here)
                n_killed += self._kill(here, rng)
                check_whole(here)
                after = self.kept(here)
                assert before.items() <= after.items(), "a later start took away what was kept"
            before = self.kept(here)
            self._finish(here)
            assert before.items() <= self.kept(here).items(), "the last start took away what was kept"
            check_whole(here)
            assert self.result(here) == want
        return n_killed

    @contextmanager
    def _started(self, folder: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
        """All commands, each with what it says of errors in a file of its own."""
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        with ExitStack() as stack:
            processes = list[subprocess.Popen[bytes]]()
            for i, command in enumerate(self.commands):
                errors = stack.enter_context((folder.parent / f"{folder.name}.errors.{i}").open("wb"))
                process = subprocess.Popen(
                    [sys.executable, "-m", "steelyard", *command],
                    cwd=folder,
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                )
                stack.callback(process.wait)
                stack.callback(process.kill)
                processes.append(process)
            yield processes

    def _finish(self, folder: Path) -> None:
        with self._started(folder) as processes:
            assert [process.wait() for process in processes] == [0] * len(processes), said(folder)

    def _kill(self, folder: Path, rng: random.Random) -> int:
        """Start all commands and kill each at a moment of its own; how many were alive."""
        n_killed = 0
        with self._started(folder) as processes:
            started = time.monotonic()
            moments = sorted((rng.uniform(_FIRST, 1.0) * self.seconds, i) for i in range(len(processes)))
            for moment, i in moments:
                with suppress(subprocess.TimeoutExpired):
                    processes[i].wait(max(0.0, started + moment - time.monotonic()))
                processes[i].kill()
                status = processes[i].wait()
                assert status in (0, -signal.SIGKILL), said(folder)
                n_killed += status != 0
        return n_killed


def said(folder: Path) -> str:
    """What the commands of a folder wrote of errors."""
    return "".join(path.read_text() for path in sorted(folder.parent.glob(f"{folder.name}.errors.*")))


def check_whole(folder: Path) -> None:
    """Every file that is there by its own name can be read; what is being written has another one."""
    for path in folder.rglob("*"):
        if path.name.endswith(".json"):
            orjson.loads(path.read_bytes())
        elif path.name.endswith(".jsonl") and ".partial" not in path.name:
            for line in path.read_bytes().splitlines():
                orjson.loads(line)
        elif path.suffix == ".parquet":
            pl.read_parquet(path)
        elif path.suffix == ".sqlite":
            with closing(sqlite3.connect(path)) as file:
                assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)], path


def lines_of(folder: Path) -> Mapping[object, object]:
    """The whole lines of all outputs."""
    return {
        (path.parent.name, line): True
        for path in folder.rglob("outputs*.jsonl")
        for line in path.read_bytes().split(b"\n")[:-1]
    }


def times_of(pattern: str) -> Callable[[Path], Mapping[object, object]]:
    """When files of a pattern were written."""
    return lambda folder: {path.name: path.stat().st_mtime_ns for path in folder.glob(pattern)}
