"""Levels of load on one system, and the search for the highest rate that it sustains."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any, Literal, cast

import numpy as np
import polars as pl

from steelyard.base.choices import Arrivals
from steelyard.base.errors import InputError
from steelyard.base.percentiles import percentile_share
from steelyard.bench.arrivals import Schedule
from steelyard.bench.blocks import block_name
from steelyard.bench.config import BenchConfig, LoadTable
from steelyard.bench.frames import system_label
from steelyard.bench.load.loops import LoadTarget, occupy, offer
from steelyard.bench.load.served import Request, load_name
from steelyard.bench.load.systems import LoadedSystem
from steelyard.bench.load.throughput import UNDECIDED, Objective, limits_of, middle_rate, sustained, throughput
from steelyard.rag.fingerprint import digest

PRECISION = 0.1
"""Precision of the search: the lowest rate that fails is at most so much above the highest that holds."""
MOST_PROBES = 24
"""Number of rates that a search offers at most."""
_MOST_PARTS = 8
"""How often one of them is, where its percentiles are near to their limits, before it counts as not shown to hold."""
_PLENTY = 4
"""Times the requests that a percentile needs at least: fewer only show that a system far below its limit holds."""
_LIMITS = 40
"""A probe lasts so many times the limit, so that a queue has time to grow."""
_MOST_SECONDS = 600.0
_ALONE = 0.25
"""Mean of the requests under way below which they hardly meet: less load makes none of them faster."""
_DIGITS = 3
_STEP = 2.0
_BELOW = 0.9
_FINE_STEP = 1.15
"""From a guess; steps then grow to the ordinary one."""


@dataclass(frozen=True)
class SustainedRate:
    """Outcome of a search.

    rate          the highest that held, None where none did;   failing_rate   the lowest above it that did not
    reason        why that one did not, as THROUGHPUT has it;   n_probes   how often one was offered
    is_precise    whether the two are as near to each other as was asked for
    """

    rate: float | None
    failing_rate: float | None
    reason: str | None
    n_probes: int
    is_precise: bool


def probe_seconds(rate: float, objective: Objective, *, least_s: float) -> float:
    """Seconds for which a rate must be offered to show that it holds; ten minutes at most, or as long as is asked for.

    >>> probe_seconds(10, Objective({"p95": 0.5}), least_s=10), probe_seconds(100, Objective({"p99": 0.5}), least_s=30)
    (28.8, 30)
    """
    enough = max(_PLENTY * objective.least_requests / rate, _LIMITS * objective.limit_s)
    return max(least_s, min(enough, _MOST_SECONDS))


def likely_rate(levels: pl.DataFrame, objective: Objective) -> float | None:
    """About what a system bears, by what users who wait for nothing else had answered; None without closed loops.

    Of one server whose service takes exponential times (M/M/1), the share p of requests is answered within a limit at
    the rate that is ln(1 / (1 - p)) / limit below its peak.  A tenth less is said, as the largest of several rates is
    rather too large, and what lies above the truth may hold by chance; and half of the peak at least.

    levels   of schema THROUGHPUT, of one system

    >>> level = {"loop": "closed", "users": 4, "achieved": 20.0}
    >>> round(likely_rate(pl.DataFrame([level]), Objective({"p95": 0.5})), 2)
    12.61
    """
    peak = levels.filter(loop="closed")["achieved"].max()
    if not isinstance(peak, float) or not peak > 0:
        return None
    spare = max(-math.log1p(-percentile_share(name)) / limit for name, limit in objective.slo.items())
    return max(_BELOW * (peak - spare), peak / 2)


def is_too_slow(requests: pl.DataFrame, objective: Objective) -> bool:
    """True if it is shown that a system misses its objective even where each request is alone.

    requests   of schema REQUESTS, of one system; those one after the other, or of one user, count
    """
    alone = requests.filter((pl.col("loop") == "sequential") | (pl.col("users") == 1))
    return any(
        verdict == "latency" for loop in alone.partition_by("loop") for _, _, verdict in limits_of(loop, objective)
    )


def sustained_rate(
    probe: Callable[[float, int], pl.DataFrame], objective: Objective, *, first: float, is_guess: bool = False,
    levels: pl.DataFrame | None = None, most_probes: int = MOST_PROBES,
) -> SustainedRate:  # fmt: skip
    """Bisect between the highest rate that holds and the lowest above it that does not.

    probe       offers a rate, in requests a second, and returns the requests, of schema REQUESTS; for as long as
                `probe_seconds` says.  It does so again, numbered from 0, while the interval of a percentile that is
                within its limit spans that limit, or has no upper end
    first       rate that is offered where nothing is known
    is_guess    whether the first rate is about what the system bears, as `likely_rate` says: it is offered wherever
                the levels leave it open, and steps begin small
    levels      of schema THROUGHPUT, of one system: what was offered before; what is undecided says nothing
    most_probes   after which the search ends, be the two rates near to each other or not
    Raises      InputError for a first rate that cannot be; and what the probe raises.

    Rates are doubled or halved, by smaller steps from a guess, until one holds and one does not; then the next is their
    geometric mean.  They are rounded to three digits, so that the same results lead to the same rates.  Where not even
    requests that hardly ever meet are answered in time, no lower rate is tried.
    """
    if not (0 < first < math.inf and most_probes > 0):
        raise InputError(f"first rate {first:g} and {most_probes} probes; expected numbers above 0")
    held, failed, reason = _bracket(levels)
    n_probes, step = 0, _FINE_STEP if is_guess else _STEP
    is_open = is_guess and (held or 0.0) < first < (failed or math.inf)
    rate = _rounded(first) if is_open else _next(held, failed, first, step)
    while n_probes < most_probes and not _is_near(held, failed):
        level, n_parts = _offered(probe, rate, objective, min(_MOST_PARTS, most_probes - n_probes))
        n_probes += n_parts
        if level["holds"]:
            held = rate
        else:
            failed, reason = rate, level["reason"]
            if held is None and (level["n"] < objective.least_requests or level["in_flight"] < _ALONE):
                break
        following = _next(held, failed, first, step)
        step = min(step**2, _STEP)
        if following in (rate, held, failed):
            break
        rate = following
    return SustainedRate(held, failed, None if failed is None else reason, n_probes, _is_near(held, failed))


def _offered(
    probe: Callable[[float, int], pl.DataFrame], rate: float, objective: Objective, most: int
) -> tuple[dict[str, Any], int]:
    """The level that a rate came to, offered until that decides, and how often it was; at most so often."""
    parts = list[pl.DataFrame]()
    while True:
        parts.append(probe(rate, len(parts)).with_columns(repetition=pl.lit(1 + len(parts), pl.Int64)))
        requests = pl.concat(parts)
        (level,) = throughput(requests, objective).to_dicts()
        is_decided = level["reason"] not in UNDECIDED or not _may_hold(requests, objective)
        longer_s = level["duration_s"] * (1 + 1 / len(parts))
        if is_decided or len(parts) == most or longer_s > _MOST_SECONDS:
            return level, len(parts)


def _may_hold(requests: pl.DataFrame, objective: Objective) -> bool:
    """True if every percentile is within its limit, as far as its interval leaves that open."""
    return all(interval.value <= 1000 * objective.slo[name] for name, interval, _ in limits_of(requests, objective))


def _bracket(levels: pl.DataFrame | None) -> tuple[float | None, float | None, str | None]:
    """The highest rate that held, the lowest above it that is shown not to, and why not."""
    if levels is None:
        return None, None, None
    rows = sustained(levels.filter(pl.col("holds") | ~pl.col("reason").is_in(UNDECIDED))).to_dicts()
    return (rows[0]["rate"], rows[0]["failing_rate"], rows[0]["reason"]) if rows else (None, None, None)


def _next(held: float | None, failed: float | None, first: float, step: float) -> float:
    if held is not None and failed is not None:
        rate = math.sqrt(held * failed)
    elif held is not None:
        rate = held * step
    else:
        rate = first if failed is None else failed / step
    return _rounded(rate)


def _rounded(rate: float) -> float:
    return float(f"{rate:.{_DIGITS}g}")


def _is_near(held: float | None, failed: float | None) -> bool:
    return held is not None and failed is not None and failed <= held * (1 + PRECISION)


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
        load, is_closed = config.load or LoadTable(), self.loop == "closed"
        workers = system.users_at_once if is_closed else system.workers
        target = LoadTarget(system.ask, system.queries, config.timeout, workers, [] if ended is None else ended)
        if not is_closed:
            system.prepare(system.workers or 1)
            requests = offer(target, self._schedule(config))
            if self.first is not None:
                rate = middle_rate(self.duration_s, self.first, self.amount)
                requests = requests.with_columns(loop=pl.lit("ramp"), rate=rate)
        else:
            system.prepare(int(self.amount))
            requests = occupy(
                target, users=int(self.amount), duration_s=self.duration_s, think_time_s=load.think_time,
                warm_up_s=load.warm_up,
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
