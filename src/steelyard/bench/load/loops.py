"""Load on a system, in an open loop or a closed one.

In an open loop requests go out at their times, whether earlier ones are answered or not, as users come.  In a closed
loop so many users each wait for the answer before the next question.  A system that stalls is asked less by them while
it does, so that few requests see the stall: percentiles of a closed loop say what its users waited, and nothing about
users who come when they like.
"""

from __future__ import annotations

import gc
import math
import sys
import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from queue import SimpleQueue
from time import perf_counter, sleep
from typing import NamedTuple

import polars as pl

from steelyard.base.errors import InputError
from steelyard.bench.arrivals import Schedule
from steelyard.bench.load.served import Ask, Request, Task, requests_frame
from steelyard.services.loops import cancel_requests

SWITCH_INTERVAL_S = 0.0005
"""After so long, a thread that computes lets another one on; Python's own 5 ms would delay whoever sends."""


def allow_open_files(n: int) -> None:
    """Raise this process's own limit of open files to n, where the system allows: each connection is one."""
    try:
        import resource
    except ImportError:  # A system that has no such limit.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = n if hard == resource.RLIM_INFINITY else min(n, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextmanager
def quiet_interpreter() -> Iterator[None]:
    """While requests are under way: threads take turns ten times as often, and garbage collection looks at new objects.

    What was there before, such as texts of a corpus, would be walked through again and again, for tenths of a second.
    """
    before = sys.getswitchinterval()
    gc.freeze()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
        gc.unfreeze()


MOST_UNDER_WAY = 2_000
"""Requests that this computer has under way at once; more wait here, which their dispatch delay shows."""
_LEAD_S = 0.02
"""From laying down the schedule to its start: threads are started meanwhile."""
_POLL_S = 0.002


@dataclass(frozen=True, eq=False)
class LoadTarget:
    """Systems that load is put on, and the questions that are sent.

    ask        is called by several threads at once
    queries    query_id -> question, asked in turn, from the first again after the last
    timeout_s  from sending; a request without an answer by then is a timeout, and is never dropped, as is one that this
               computer cannot send within as long after its time
    workers    requests that the system takes at once; the others wait in its queue, which is its own time.  None for
               all that come
    ended      to which requests are added as they end, for those who watch
    """

    ask: Ask
    queries: Mapping[str, str]
    timeout_s: float = 60.0
    workers: int | None = None
    ended: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.queries:
            raise InputError("no question to ask; expected one at least")

    @cached_property
    def _asked(self) -> Sequence[tuple[str, str]]:
        return list(self.queries.items())

    def task(self, number: int, intended: float | None = None) -> Task:
        """The request of a number."""
        return Task(number, *self._asked[number % len(self._asked)], self.timeout_s, intended)


def offer(target: LoadTarget, schedule: Schedule) -> pl.DataFrame:
    """Send requests at their times, and wait for none before the next: what users of a service do.

    Returns    of schema REQUESTS; latency counts from the intended start.  system and depth are null
    """
    crew = _Crew(target)
    with quiet_interpreter():
        start = crew.work(schedule.times.tolist())
    return requests_frame(crew.finished(), loop="open", start=start, rate=schedule.rate)


class _HandedOver(NamedTuple):
    task: Task
    at: float


class _Crew:
    """Threads that ask: one more is started where all are busy, up to a limit."""

    def __init__(self, target: LoadTarget) -> None:
        self._target, self._finished, self._timeout_s = target, target.ended, target.timeout_s
        self._has_queue = target.workers is not None
        self._limit = MOST_UNDER_WAY if target.workers is None else target.workers
        self._tasks = SimpleQueue[_HandedOver | None]()
        self._handed: list[_HandedOver] = []
        self._sent: dict[int, float] = {}
        self._threads: list[threading.Thread] = []
        self._stopped = False

    def work(self, times: Sequence[float]) -> float:
        """Hand over each request at its time, and wait for the last answer, no longer than it may take.

        Returns   when time 0 of the schedule was
        """
        n_before = bisect_left(times, 0.0)  # The first question is that of the first request that counts.
        start = perf_counter() + _LEAD_S - (times[0] if n_before else 0.0)
        try:
            self._start(min(self._limit, len(times), 4 + math.isqrt(len(times))))
            for number, after_s in enumerate(times, -n_before):
                task = self._target.task(number, start + after_s)
                if (wait_s := start + after_s - perf_counter()) > 0:
                    sleep(wait_s)
                handed = _HandedOver(task, perf_counter())
                self._handed.append(handed)
                if handed.at <= start + after_s + self._timeout_s:  # Else whoever wanted an answer is gone.
                    if len(self._handed) - len(self._finished) > len(self._threads) < self._limit:
                        self._start(1)
                    self._tasks.put(handed)
            last = self._handed[-1].at + self._timeout_s if self._handed else 0.0
            while len(self._finished) < len(self._handed) and perf_counter() < last:
                sleep(_POLL_S)
        finally:
            self._stopped = True
            for _ in self._threads:
                self._tasks.put(None)
            cancel_requests(self._threads)  # What nobody waits for any longer.
        return start

    def finished(self) -> list[Request]:
        """The outcome of each request; one that is still under way had no answer in time."""
        done = list(self._finished)
        numbers = {request.number for request in done}
        return done + [self._given_up(handed) for handed in self._handed if handed.task.number not in numbers]

    def _given_up(self, handed: _HandedOver) -> Request:
        """A request that had no answer in time; one that no thread was free to send was never in service."""
        until = handed.at + self._timeout_s
        sent = handed.at if self._has_queue else self._sent.get(handed.task.number, until)
        return handed.task.given_up(sent, until if sent == until else None)

    def _start(self, n: int) -> None:
        for _ in range(n):
            # A daemon: what never returns must not keep the process alive.
            thread = threading.Thread(target=self._take, name="steelyard-load", daemon=True)
            thread.start()
            self._threads.append(thread)

    def _take(self) -> None:
        while (handed := self._tasks.get()) is not None and not self._stopped:
            self._finished.append(self._do(handed))

    def _do(self, handed: _HandedOver) -> Request:
        if perf_counter() > handed.at + self._timeout_s:
            return self._given_up(handed)  # It waited so long that whoever sent it is gone.
        # Waiting for one of few workers is the system's own time; waiting for a thread of ours is a late dispatch.
        self._sent[handed.task.number] = sent = handed.at if self._has_queue else perf_counter()
        return handed.task.send(self._target.ask, sent)


def occupy(
    target: LoadTarget, *, users: int, duration_s: float, think_time_s: float = 0.0, warm_up_s: float = 0.0
) -> pl.DataFrame:
    """Let so many users ask, each the next question once the last is answered.

    think_time_s  between an answer and the next question of the same user
    duration_s    in which requests are sent;   warm_up_s   seconds before, whose requests are left out
    Returns       of schema REQUESTS; system and depth are null
    Raises        InputError for users and durations that cannot be.
    """
    if users < 1 or not 0 < duration_s < math.inf or not 0 <= think_time_s < math.inf:
        raise InputError(
            f"{users} users for {duration_s:g} s who think for {think_time_s:g} s; expected one user at least, a "
            "duration above 0, and a think time from 0"
        )
    crowd = _Crowd(target)
    with quiet_interpreter():
        start = crowd.work(users, warm_up_s + duration_s, think_time_s)
    return requests_frame(crowd.finished(), loop="closed", start=start + warm_up_s, users=users)


class _Crowd:
    """Users, a thread each."""

    def __init__(self, target: LoadTarget) -> None:
        self._target, self._finished = target, target.ended
        self._turn: AbstractContextManager[object] = (
            nullcontext() if target.workers is None else _FairTurns(target.workers)
        )
        self._numbers = count()
        self._under_way: dict[int, Request] = {}
        self._until = math.inf

    def work(self, users: int, duration_s: float, think_time_s: float) -> float:
        """Let users ask for so long, and wait for the last answers, no longer than they may take.

        Returns   when they began
        """
        start = perf_counter()
        self._until = start + duration_s
        threads = [
            threading.Thread(target=self._use, args=(think_time_s,), name="steelyard-user", daemon=True)
            for _ in range(users)
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(max(0.0, self._until + self._target.timeout_s - perf_counter()))
        finally:
            self._until = -math.inf  # Whoever is interrupted asks nothing more.
            cancel_requests(threads)
        return start

    def finished(self) -> list[Request]:
        """The outcome of each request; one that is still under way had no answer in time."""
        under_way, done = dict(self._under_way), list(self._finished)
        numbers = {request.number for request in done}
        return done + [request for number, request in under_way.items() if number not in numbers]

    def _use(self, think_time_s: float) -> None:
        while perf_counter() < self._until:
            request = self._request()
            self._finished.append(request)
            del self._under_way[request.number]  # Only now: it must be in one of the two at any moment.
            if think_time_s:
                sleep(max(0.0, min(think_time_s, self._until - perf_counter())))

    def _request(self) -> Request:
        task, sent = self._target.task(next(self._numbers)), perf_counter()
        self._under_way[task.number] = lost = task.given_up(sent)
        with self._turn:
            # One that waited so long for its turn that its user is gone is lost.
            return lost if perf_counter() > lost.end else task.send(self._target.ask, sent)


class _FairTurns:
    """At most n inside at once, in the order in which they came; a semaphore lets who leaves in again at once."""

    def __init__(self, n: int) -> None:
        self._n_free = n
        self._lock = threading.Lock()
        self._waiting = deque[threading.Event]()

    def __enter__(self) -> None:
        with self._lock:
            if self._n_free:
                self._n_free -= 1
                return
            turn = threading.Event()
            self._waiting.append(turn)
        turn.wait()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._n_free += 1
