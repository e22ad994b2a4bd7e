"""Levels of load: so many requests a second, or so many users at once, each on one system."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Literal, cast

import numpy as np
import polars as pl

from steelyard.base.choices import Arrivals
from steelyard.bench.arrivals import Schedule
from steelyard.bench.blocks import block_name
from steelyard.bench.config import BenchConfig, LoadTable
from steelyard.bench.frames import system_label
from steelyard.bench.load.loops import occupy, offer
from steelyard.bench.load.request_scores import load_name
from steelyard.bench.load.served import Request
from steelyard.bench.load.sustaining import MOST_PROBES, probe_seconds
from steelyard.bench.load.systems import LoadedSystem
from steelyard.bench.load.throughput import Objective, middle_rate
from steelyard.rag.fingerprint import digest

_NOT_MEASURED = {
    "arrivals", "concurrency", "depth", "max_error", "ramp", "rates", "slo", "speeds", "sustained", "sweep",
}  # fmt: skip
"""Keys of [load] that change no level."""
_MOST_SWEPT = 256
"""Users at once that a sweep ends with."""
_SWEPT = (0.25, 0.5, 0.75)
"""Of the ceiling, the rates of a sweep."""
LEAST_GROWTH = 1.2
"""Of what is answered, with four times the users: with less, more users only wait longer."""


@dataclass(frozen=True)
class Level:
    """One level of load on one system: a rate in an open loop, the last rate of a ramp, or users in a closed loop.

    duration_s   in which requests are counted
    first        rate of a ramp
    speed        of the log that requests come by; None where a rate is offered
    probe        how often the search for the sustained rate had offered this rate before; None where it is configured
    """

    system: str
    depth: int | None
    loop: Literal["open", "closed", "ramp"]
    amount: float
    duration_s: float
    first: float | None = None
    speed: float | None = None
    probe: int | None = None

    @property
    def name(self) -> str:
        """The name of its file."""
        kind = "probe" if self.probe is not None else self.loop if self.speed is None else "log"
        amount = self.amount if self.speed is None else self.speed
        again = [self.probe] if self.probe else []
        first = [] if self.first is None else [f"{self.first:g}"]
        return block_name(kind, system_label(self.system, self.depth), *first, f"{amount:g}", *again)

    @property
    def load(self) -> str:
        """The load as scores name it."""
        if self.loop == "closed":
            return load_name(None, int(self.amount))
        return load_name(self.amount, None) if self.first is None else f"{self.first:g}..{self.amount:g}/s"

    def digest(self, system: LoadedSystem, config: BenchConfig) -> str:
        """A digest of all that is measured; where it differs, it is another level."""
        table, log = config.load or LoadTable(), config.arrival_log
        load = table.model_dump(exclude=_NOT_MEASURED) | {"duration": self.duration_s}
        load["arrivals"] = table.arrivals if log is None else [log.digest, self.speed]
        at_once = system.users_at_once if self.loop == "closed" else system.workers
        return digest(
            system.digest, at_once, list(system.queries.items()), load, self.load, config.timeout, config.seed
        )

    def measure(self, system: LoadedSystem, config: BenchConfig, ended: list[Request] | None = None) -> pl.DataFrame:
        """Put this load on the system; its requests, of schema REQUESTS;   ended   they are added to as they end"""
        load = config.load or LoadTable()
        if self.loop != "closed":
            system.prepare(system.workers or 1)
            schedule = self._schedule(config)
            requests = offer(
                system.ask, system.queries, schedule, workers=system.workers, timeout_s=config.timeout, ended=ended
            )
            if self.first is not None:
                rate = middle_rate(self.duration_s, self.first, self.amount)
                requests = requests.with_columns(loop=pl.lit("ramp"), rate=rate)
        else:
            system.prepare(int(self.amount))
            requests = occupy(
                system.ask, system.queries, users=int(self.amount), think_time_s=load.think_time,
                workers=system.users_at_once, duration_s=self.duration_s, timeout_s=config.timeout,
                warm_up_s=load.warm_up, ended=ended,
            )  # fmt: skip
        # A rate may be measured as it is configured, and once more for as long as a probe takes.
        repetition = 1 if self.probe is None else 2 + self.probe
        return system.labelled(requests).with_columns(repetition=pl.lit(repetition, pl.Int64))

    def _schedule(self, config: BenchConfig) -> Schedule:
        """When requests of an open loop are sent; systems meet the same arrivals, so that they can be compared."""
        load, log = config.load or LoadTable(), config.arrival_log
        rng = np.random.default_rng([config.seed, *self.load.encode(), *([self.probe] if self.probe else [])])
        if log is not None and self.speed is not None:
            return log.schedule(self.speed, rng, duration_s=self.duration_s, warm_up_s=load.warm_up)
        arrivals = cast("Arrivals", load.arrivals)
        if self.first is not None:
            return Schedule.ramp(self.first, self.amount, self.duration_s, arrivals, rng, warm_up_s=load.warm_up)
        return Schedule.at_rate(self.amount, self.duration_s, arrivals, rng, warm_up_s=load.warm_up)


def plan_levels(config: BenchConfig, systems: Iterable[LoadedSystem]) -> list[Level]:
    """The levels that are configured, system by system, rates or a log before users, ascending."""
    load, log = config.load or LoadTable(), config.arrival_log
    loads: list[tuple[Literal["open", "closed"], float]] = [("open", rate) for rate in sorted(set(load.rates))]
    alone = {1} if load.sweep else set[int]()
    loads += [("closed", users) for users in sorted(alone | set(load.concurrency))]
    levels = list[Level]()
    for system in systems:
        if log is not None:
            levels += [
                Level(system.name, system.depth, "open", log.rate(speed), log.seconds(speed, load.log_s), speed=speed)
                for speed in sorted(set(load.speeds or [1.0]))
            ]
        levels += [Level(system.name, system.depth, loop, amount, load.duration) for loop, amount in loads]
        if load.ramp is not None:
            levels.append(Level(system.name, system.depth, "ramp", load.ramp[1], load.duration, first=load.ramp[0]))
    return levels


def more_users(system: LoadedSystem) -> list[int]:
    """Users at once that a sweep goes on with after one, fourfold each time, as far as the system takes them."""
    most = _MOST_SWEPT if system.workers is None else min(system.workers, _MOST_SWEPT)
    users = list(takewhile(lambda users: users < most, (4**step for step in count(1))))
    return [*users, most] if most > 1 else []


def swept_rates(ceiling: float, duration_s: float) -> list[float]:
    """Rates between nothing and the ceiling that a sweep offers, as far as they send anything.

    >>> swept_rates(41.37, 10)
    [10.3, 20.7, 31.0]
    """
    rates = [float(f"{ceiling * share:.3g}") for share in _SWEPT]
    return [rate for rate in rates if rate * duration_s >= 1]


def search_seconds(load: LoadTable, lowest: float | None = None) -> float:
    """The longest time of the search for a system's sustained rate: all probes at the lowest rate, or one a second.

    >>> search_seconds(LoadTable(rates=[10], duration=10, slo={"p95": 0.5}, warm_up=2))
    739.2
    """
    if load.has_log or not load.sustained:
        return 0.0
    slowest = probe_seconds(
        lowest or min([*load.rates, *(load.ramp or [])], default=1.0), Objective.of(load), least_s=load.duration
    )
    return MOST_PROBES * (slowest + load.warm_up)


def plan_probe(system: LoadedSystem, rate: float, load: LoadTable, probe: int) -> Level:
    """The level that shows whether a system sustains a rate; it was offered so often before by the search."""
    duration_s = probe_seconds(rate, Objective.of(load), least_s=load.duration)
    return Level(system.name, system.depth, "open", rate, duration_s, probe=probe)
