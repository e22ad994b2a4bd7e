"""Queues in virtual time, whose capacity is known: what they answer, as requests of a bench."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats
from steelyard.bench.frames import REQUESTS


@dataclass(frozen=True)
class Queue:
    """So many servers before one line: first come, first served.

    mean_s    of the service time;   service   its distribution, of which "lognormal" has a heavy tail (sigma 1)
    latency_s that is added to the service, without a server being busy
    """

    mean_s: float = 0.05
    servers: int = 1
    service: Literal["exponential", "constant", "lognormal"] = "exponential"
    latency_s: float = 0.0

    @property
    def capacity(self) -> float:
        """Requests a second beyond which it cannot keep up."""
        return self.servers / self.mean_s

    def late(self, rate: float, limit_s: float) -> float:
        """The share of requests that take longer than the limit, of servers with exponential service (M/M/c).

        Source   Gross, Shortle, Thompson & Harris, Fundamentals of Queueing Theory, 2008, section 2.3.
        """
        assert (self.service, self.latency_s) == ("exponential", 0)
        c, load = self.servers, rate * self.mean_s
        waiting = load**c / math.factorial(c) * c / (c - load)
        waiting /= sum(load**k / math.factorial(k) for k in range(c)) + waiting
        services, spare = limit_s / self.mean_s, c - 1 - load
        return math.exp(-services) * (1 + waiting * (1 - math.exp(-services * spare)) / spare)

    def sustained(self, share: float, limit_s: float) -> float:
        """The rate at which that share is answered within the limit, by bisection; 0 where none is."""
        low, high = 0.0, self.capacity * 0.999999
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.late(middle, limit_s) <= 1 - share else (low, middle)
        return low

    def services(self, n: int, rng: np.random.Generator) -> Floats:
        """(n,) service times."""
        if self.service == "constant":
            return np.full(n, self.mean_s)
        if self.service == "lognormal":
            return rng.lognormal(math.log(self.mean_s) - 0.5, 1.0, n)
        return rng.exponential(self.mean_s, n)

    def ends(self, arrivals: Floats, services: Floats) -> Floats:
        """(n,) when answers are there, of requests that come in this order."""
        if self.servers == 1:
            before = np.concatenate([[0.0], np.cumsum(services)[:-1]])
            return np.maximum.accumulate(arrivals - before) + before + services + self.latency_s
        free, ends = [0.0] * self.servers, []
        for arrival, service in zip(arrivals.tolist(), services.tolist(), strict=True):
            end = max(arrival, free[0]) + service
            heapq.heapreplace(free, end)
            ends.append(end)
        return np.array(ends) + self.latency_s

    def offer(
        self, rate: float, duration: float, rng: np.random.Generator, *, arrivals: str = "poisson",
        timeout_s: float = math.inf,
    ) -> pl.DataFrame:  # fmt: skip
        """Requests of an open loop: at the times of a schedule, whether the others are answered or not."""
        starts = schedule(rate, duration, rng, arrivals=arrivals)
        ends = self.ends(starts, self.services(len(starts), rng))
        return requests(starts, ends, rate=rate, timeout_s=timeout_s)

    def occupy(self, users: int, duration: float, rng: np.random.Generator, think_time_s: float = 0.0) -> pl.DataFrame:
        """Requests of a closed loop: each user thinks, asks, and waits for the answer."""
        free, ready = [0.0] * self.servers, [(0.0, user) for user in range(users)]
        starts, ends = [], []
        while ready and ready[0][0] < duration:
            start, user = heapq.heappop(ready)
            end = max(start, free[0]) + float(self.services(1, rng)[0])
            heapq.heapreplace(free, end)
            starts.append(start)
            ends.append(end + self.latency_s)
            heapq.heappush(ready, (end + self.latency_s + think_time_s, user))
        return requests(np.array(starts), np.array(ends), users=users)


def schedule(rate: float, duration: float, rng: np.random.Generator, *, arrivals: str = "poisson") -> Floats:
    """(n,) seconds at which requests are to be sent."""
    if arrivals == "constant":
        return np.arange(math.ceil(rate * duration)) / rate
    gaps = rng.exponential(1 / rate, int(rate * duration * 1.5) + 50)
    times = np.cumsum(gaps)
    return np.asarray(times[times < duration])


def requests(
    starts: Floats, ends: Floats, *, rate: float | None = None, users: int | None = None, timeout_s: float = math.inf,
    system: str = "queue", depth: int | None = None, failed: Floats | None = None,
) -> pl.DataFrame:  # fmt: skip
    """The frame of a block of load.  A request that takes longer than the timeout is given up, and is served yet."""
    late = ends - starts > timeout_s
    outcomes = np.where(late, "timeout", "ok")
    if failed is not None:
        outcomes = np.where(failed, "error", outcomes)
    n = len(starts)
    columns = {
        "system": [system] * n, "depth": [depth] * n, "loop": ["closed" if rate is None else "open"] * n,
        "repetition": [1] * n, "rate": [rate] * n, "users": [users] * n, "number": range(n),
        "query_id": [f"q{number}" for number in range(n)], "intended_s": starts, "sent_s": starts,
        "end_s": np.where(late, starts + timeout_s, ends), "outcome": outcomes,
    }  # fmt: skip
    return pl.DataFrame({name: columns.get(name, [None] * n) for name in REQUESTS}, schema=REQUESTS, strict=False)
