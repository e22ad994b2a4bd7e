"""Runs commands over mutated files, in this process, and counts what becomes of them."""

from __future__ import annotations

import contextlib
import io
import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from steelyard.base.errors import SteelyardError
from steelyard.cli.app import app
from tests.fuzz.mutations import mutated
from tests.fuzz.target import Target

SECONDS = 20
LONGEST = 2_100


class Hang(BaseException):
    """A case took longer than it may."""


@dataclass
class Counts:
    """What became of the cases; those that went wrong with what repeats them."""

    n_cases: int = 0
    n_accepted: int = 0
    refusals: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)
    hangs: list[str] = field(default_factory=list)
    long_messages: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.n_cases} cases, {len(self.refusals)} refusals, {self.n_accepted} accepted, "
            f"{len(self.tracebacks)} tracebacks, {len(self.hangs)} hangs, {len(self.long_messages)} long messages"
        )

    @property
    def problems(self) -> list[str]:
        """All that went wrong."""
        return [*self.tracebacks, *self.hangs, *self.long_messages]


def fuzz(folder: Path, targets: list[Target], *, n_cases: int, seed: int) -> Counts:
    """Mutate one file a case, run one command that reads it, and put the file back.

    The same seed gives the same cases.
    """
    rng, counts = random.Random(seed), Counts()
    with contextlib.chdir(folder):
        for number in range(n_cases):
            target = rng.choice(targets)
            path = Path(target.file)
            good = path.read_bytes()
            bad = mutated(good, path.suffix, rng)
            words = list(rng.choice(target.commands))
            path.write_bytes(bad)
            run_case(words, f"case {number} of seed {seed}: steelyard {' '.join(words)} with {path}", counts)
            path.write_bytes(good)
    return counts


def run_case(words: list[str], label: str, counts: Counts) -> str:
    """Run one command; what it printed, and its refusal."""
    counts.n_cases += 1
    began, said = time.perf_counter(), ""
    printed: list[io.TextIOWrapper] = []
    try:
        with _limited(), _quiet() as printed:
            app(words)
        counts.n_accepted += 1
    except SteelyardError as error:
        said = str(error)
        counts.refusals.append(f"{label}: {error}")
        if len(str(error)) > LONGEST or "\n" in str(error):
            counts.long_messages.append(f"{label}: {str(error)[:LONGEST]}")
    except SystemExit:
        counts.n_accepted += 1
    except Hang:
        counts.hangs.append(f"{label}: over {SECONDS} s")
    except BaseException:
        counts.tracebacks.append(f"{label}\n{traceback.format_exc(limit=-4)}")
    if time.perf_counter() - began > SECONDS and not counts.hangs:
        counts.hangs.append(f"{label}: {time.perf_counter() - began:.0f} s")
    return said + "".join(_text(stream) for stream in printed)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined, no-any-return]


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Raise Hang in a case that takes too long; native code ends first."""

    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _quiet() -> Iterator[list[io.TextIOWrapper]]:
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    with (
        mock.patch.object(sys, "stdout", streams[0]),
        mock.patch.object(sys, "stderr", streams[1]),
        mock.patch.object(sys, "path", list(sys.path)),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield streams
