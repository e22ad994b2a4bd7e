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
from itertools import count
from queue import SimpleQueue
from time import perf_counter, sleep
from typing import NamedTuple

import polars as pl

from steelyard.base.errors import InputError
from steelyard.bench.arrivals import Schedule
from steelyard.bench.load.served import Ask, Request, given_up, requests_frame, send
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


def offer(
    ask: Ask, queries: Mapping[str, str], schedule: Schedule, *, timeout_s: float = 60.0, workers: int | None = None,
    ended: list[Request] | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Send requests at their times, and wait for none before the next: what users of a service do.

    ask        is called by several threads at once
    queries    query_id -> question, asked in turn, from the first again after the last
    timeout_s  from sending; a request without an answer by then is a timeout, and is never dropped, as is one that this
               computer cannot send within as long after its time
    workers    requests that the system takes at once; the others wait in its queue, which is its own time.  None for
               all that come
    ended      to which requests are added as they end, for those who watch
    Returns    of schema REQUESTS; latency counts from the intended start.  system and depth are null
    Raises     InputError without queries.
    """
    asked = checked_queries(queries)
    crew = _Crew(ask, timeout_s, workers, [] if ended is None else ended)
    with quiet_interpreter():
        start = crew.work(schedule.times.tolist(), asked)
    return requests_frame(crew.finished(), loop="open", start=start, rate=schedule.rate)


def checked_queries(queries: Mapping[str, str]) -> list[tuple[str, str]]:
    """(query_id, question), in their order.

    Raises   InputError without any.
    """
    if not queries:
        raise InputError("no question to ask; expected one at least")
    return list(queries.items())


class _Task(NamedTuple):
    number: int
    query_id: str
    query: str
    intended: float
    handed_over: float


class _Crew:
    """Threads that ask: one more is started where all are busy, up to a limit."""

    def __init__(self, ask: Ask, timeout_s: float, workers: int | None, ended: list[Request]) -> None:
        self._ask, self._timeout_s, self._finished = ask, timeout_s, ended
        self._has_queue = workers is not None
        self._limit = MOST_UNDER_WAY if workers is None else workers
        self._tasks = SimpleQueue[_Task | None]()
        self._handed: list[_Task] = []
        self._sent: dict[int, float] = {}
        self._threads: list[threading.Thread] = []
        self._stopped = False

    def work(self, times: Sequence[float], asked: Sequence[tuple[str, str]]) -> float:
        """Hand over each request at its time, and wait for the last answer, no longer than it may take.

        Returns   when time 0 of the schedule was
        """
        n_before = bisect_left(times, 0.0)  # The first question is that of the first request that counts.
        start = perf_counter() + _LEAD_S - (times[0] if n_before else 0.0)
        try:
            self._start(min(self._limit, len(times), 4 + math.isqrt(len(times))))
            for number, after_s in enumerate(times, -n_before):
                query_id, query = asked[number % len(asked)]
                if (wait_s := start + after_s - perf_counter()) > 0:
                    sleep(wait_s)
                task = _Task(number, query_id, query, start + after_s, perf_counter())
                self._handed.append(task)
                if task.handed_over <= task.intended + self._timeout_s:  # Else whoever wanted an answer is gone.
                    self._hand_over(task)
            self._await()
        finally:
            self._dismiss()
        return start

    def finished(self) -> list[Request]:
        """The outcome of each request; one that is still under way had no answer in time."""
        done = list(self._finished)
        numbers = {request.number for request in done}
        return done + [self._given_up(task) for task in self._handed if task.number not in numbers]

    def _given_up(self, task: _Task) -> Request:
        """A request that had no answer in time; one that no thread was free to send was never in service."""
        until = task.handed_over + self._timeout_s
        sent = task.handed_over if self._has_queue else self._sent.get(task.number, until)
        return given_up(task.query_id, number=task.number, intended=task.intended, sent=sent,
                        timeout_s=self._timeout_s, end=until if sent == until else None)  # fmt: skip

    def _hand_over(self, task: _Task) -> None:
        if len(self._handed) - len(self._finished) > len(self._threads) < self._limit:
            self._start(1)
        self._tasks.put(task)

    def _await(self) -> None:
        last = self._handed[-1].handed_over + self._timeout_s if self._handed else 0.0
        while len(self._finished) < len(self._handed) and perf_counter() < last:
            sleep(_POLL_S)

    def _start(self, n: int) -> None:
        for _ in range(n):
            # A daemon: what never returns must not keep the process alive.
            thread = threading.Thread(target=self._take, name="steelyard-load", daemon=True)
            thread.start()
            self._threads.append(thread)

    def _dismiss(self) -> None:
        self._stopped = True
        for _ in self._threads:
            self._tasks.put(None)
        cancel_requests(self._threads)  # What nobody waits for any longer.

    def _take(self) -> None:
        while (task := self._tasks.get()) is not None and not self._stopped:
            self._finished.append(self._do(task))

    def _do(self, task: _Task) -> Request:
        if perf_counter() > task.handed_over + self._timeout_s:
            return self._given_up(task)  # It waited so long that whoever sent it is gone.
        # Waiting for one of few workers is the system's own time; waiting for a thread of ours is a late dispatch.
        self._sent[task.number] = sent = task.handed_over if self._has_queue else perf_counter()
        return send(self._ask, task.query, query_id=task.query_id, number=task.number, timeout_s=self._timeout_s,
                    intended=task.intended, sent=sent)  # fmt: skip


def occupy(
    ask: Ask, queries: Mapping[str, str], *, users: int, duration_s: float, think_time_s: float = 0.0,
    timeout_s: float = 60.0, warm_up_s: float = 0.0, workers: int | None = None, ended: list[Request] | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Let so many users ask, each the next question once the last is answered.

    ask           is called by one thread a user
    queries       query_id -> question; users take the next one in turn
    think_time_s  between an answer and the next question of the same user
    timeout_s     from sending; a request without an answer by then is a timeout, and is never dropped
    duration_s    in which requests are sent;   warm_up_s   seconds before, whose requests are left out
    workers       requests that the system takes at once, others wait; None for all
    ended         to which requests are added as they end, for those who watch
    Returns       of schema REQUESTS; system and depth are null
    Raises        InputError for users and durations that cannot be, and without queries.
    """
    if users < 1 or not 0 < duration_s < math.inf or not 0 <= think_time_s < math.inf:
        raise InputError(
            f"{users} users for {duration_s:g} s who think for {think_time_s:g} s; expected one user at least, a "
            "duration above 0, and a think time from 0"
        )
    crowd = _Crowd(ask, checked_queries(queries), timeout_s, workers, [] if ended is None else ended)
    with quiet_interpreter():
        start = crowd.work(users, warm_up_s + duration_s, think_time_s)
    return requests_frame(crowd.finished(), loop="closed", start=start + warm_up_s, users=users)


class _Crowd:
    """Users, a thread each."""

    def __init__(
        self, ask: Ask, asked: list[tuple[str, str]], timeout_s: float, workers: int | None, ended: list[Request]
    ) -> None:
        self._ask, self._asked, self._timeout_s, self._finished = ask, asked, timeout_s, ended
        self._turn: AbstractContextManager[object] = nullcontext() if workers is None else _FairTurns(workers)
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
                thread.join(max(0.0, self._until + self._timeout_s - perf_counter()))
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
        number, sent = next(self._numbers), perf_counter()
        query_id, query = self._asked[number % len(self._asked)]
        lost = given_up(query_id, number=number, intended=sent, sent=sent, timeout_s=self._timeout_s)
        self._under_way[number] = lost
        with self._turn:
            if perf_counter() > lost.end:
                return lost  # It waited so long for its turn that its user is gone.
            return send(self._ask, query, query_id=query_id, number=number, timeout_s=self._timeout_s, sent=sent)


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
