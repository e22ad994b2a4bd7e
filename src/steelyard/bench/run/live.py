"""How a bench does while it is measured, for a terminal that shows it, and how it is interrupted."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from steelyard.bench.load.served import Request
from steelyard.services.announcements import Announcements

_EVERY_S = 0.25
_LAST = 1_000
"""Requests that the percentile is of: those before are of another moment, and sorting takes time from what is timed."""


@dataclass(frozen=True, slots=True)
class LiveRequests:
    """How the requests of a block did by now.

    label      of what is asked, such as "words@50";   n   requests that have ended;   n_failed   without an answer
    per_second   that were answered;   p95_ms   of the last ones, infinite where too many failed
    """

    label: str
    n: int
    n_failed: int
    per_second: float
    p95_ms: float


LIVE = Announcements[LiveRequests]()
"""How the block does that is measured, some four times a second."""


@contextmanager
def watching(label: str, ended: Sequence[Request], show: Callable[[float], object]) -> Iterator[None]:
    """Announce how requests do while load is put on a system, by a thread of its own.

    ended   grows as requests end;   show   is called with the seconds since this began, as often
    """
    live, is_over, began = LiveBlock(label), threading.Event(), time.perf_counter()

    def watch() -> None:
        n = 0
        while not is_over.wait(_EVERY_S):
            for request in ended[n:]:
                live.add(request.end - request.intended, is_answered=request.outcome == "ok")
                n += 1
            show(time.perf_counter() - began)

    watcher = threading.Thread(target=watch, name="steelyard-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


class LiveBlock:
    """Announces how the requests of a block do, as they end; called by one thread at a time.

    label   of what is asked;   clock   seconds
    """

    def __init__(self, label: str, clock: Callable[[], float] = time.perf_counter) -> None:
        self._label, self._clock, self._began = label, clock, clock()
        self._n = self._n_failed = 0
        self._last_ms, self._announced = deque[float](maxlen=_LAST), -math.inf

    def add(self, latency_s: float, *, is_answered: bool) -> None:
        """Count a request that has ended.

        latency_s   from its intended start
        """
        self._n += 1
        self._n_failed += not is_answered
        self._last_ms.append(1000 * latency_s if is_answered else math.inf)
        now = self._clock()
        if now - self._announced < _EVERY_S:
            return
        self._announced = now
        p95_ms = sorted(self._last_ms)[math.ceil(0.95 * len(self._last_ms)) - 1]
        elapsed_s = max(now - self._began, 1e-9)
        LIVE.announce(
            LiveRequests(self._label, self._n, self._n_failed, (self._n - self._n_failed) / elapsed_s, p95_ms)
        )


class BenchInterrupted(KeyboardInterrupt):
    """Ctrl-C while a bench was measured.

    n_done, n   blocks that are on disk, and all of them
    """

    def __init__(self, n_done: int, n: int) -> None:
        super().__init__(n_done, n)
        self.n_done, self.n = n_done, n
