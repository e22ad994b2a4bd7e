"""The closed loop: so many users, each of whom waits for the answer before the next question.

A system that stalls is asked less while it does, so that few requests see the stall: percentiles of a closed loop say
what its users waited, and nothing about users who come when they like.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from time import perf_counter, sleep

import polars as pl

from steelyard.base.errors import InputError
from steelyard.bench.load.open_loop import checked_queries
from steelyard.bench.load.quiet import quiet_interpreter
from steelyard.bench.load.served import Ask, Request, given_up, requests_frame, send
from steelyard.services.loops import cancel_requests


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
    ) -> None:  # fmt: skip
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
        """What came of each request; one that is still under way had no answer in time."""
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
