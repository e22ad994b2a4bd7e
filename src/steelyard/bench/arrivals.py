"""When requests under load are sent: at a rate, at one that rises, or as a log has them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.choices import Arrivals
from steelyard.base.errors import InputError, quoted
from steelyard.io.evaluation_rows import read_rows
from steelyard.io.json_files import QUERY_TEXT_KEYS
from steelyard.io.source import Source

MOST_REQUESTS = 10_000_000
"""Of one schedule: beyond, rate or duration is a slip of the pen."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """When requests of an open loop are to be sent.

    times   (n,) seconds, ascending; requests at times below 0 warm the system up, and are not counted
    rate    requests a second on average, from 0 on
    """

    times: Floats
    rate: float

    @classmethod
    def at_rate(
        cls, rate: float, duration_s: float, arrivals: Arrivals, rng: np.random.Generator, *, warm_up_s: float = 0.0
    ) -> Schedule:
        """One rate throughout, as `arrival_times` lays it down; the warm-up comes before `duration_s`."""
        return cls(arrival_times(rate, warm_up_s + duration_s, arrivals, rng) - warm_up_s, rate)

    @classmethod
    def ramp(
        cls, first: float, last: float, duration_s: float, arrivals: Arrivals, rng: np.random.Generator, *,
        warm_up_s: float = 0.0,
    ) -> Schedule:  # fmt: skip
        """A rate that rises evenly from `first` to `last`; the warm-up before is at `first`.

        Requests of rate 1 are laid over the number that is expected by each time, which a line of rates makes a
        parabola of: that is an inhomogeneous Poisson process, or for "constant" one request for each whole number.

        >>> schedule = Schedule.ramp(1, 3, 4, "constant", np.random.default_rng(0))
        >>> schedule.times.round(2).tolist(), schedule.rate
        ([0.0, 0.83, 1.46, 2.0, 2.47, 2.9, 3.29, 3.66], 2.0)
        """
        mean, slope = (first + last) / 2, (last - first) / duration_s
        expected = arrival_times(1.0, mean * duration_s, arrivals, rng)
        times = 2 * expected / (first + np.sqrt(first**2 + 2 * slope * expected))
        before = arrival_times(first, warm_up_s, arrivals, rng) - warm_up_s if warm_up_s else np.empty(0)
        return cls(np.concatenate([before, times]), mean)


def arrival_times(rate: float, duration_s: float, arrivals: Arrivals, rng: np.random.Generator) -> Floats:
    """(n,) seconds from the start, ascending, all below duration_s.

    rate      requests a second
    arrivals  "poisson": gaps are independent and exponential, as from many users who know nothing of each other;
              "constant": equal gaps, the first request at 0
    Raises    InputError for a rate or duration that is not above 0, and for more than 10 million requests.

    >>> arrival_times(4, 1, "constant", np.random.default_rng(0))
    array([0.  , 0.25, 0.5 , 0.75])
    """
    for name, value in {"rate": rate, "duration": duration_s}.items():
        if not 0 < value < math.inf:
            raise InputError(f"{name} is {value:g}; expected a number above 0")
    n_expected = rate * duration_s
    if n_expected > MOST_REQUESTS:
        raise InputError(
            f"{rate:g} requests a second for {duration_s:g} s are {n_expected:,.0f}, more than {MOST_REQUESTS:,}; "
            "lower rate or duration"
        )
    if arrivals == "constant":
        times = np.arange(math.ceil(n_expected) + 1) / rate
        return times[times < duration_s]
    times = np.empty(0)
    last = 0.0
    while last < duration_s:
        gaps = rng.exponential(1 / rate, math.ceil(n_expected + 4 * math.sqrt(n_expected)) + 1)
        times = np.concatenate([times, last + np.cumsum(gaps)])
        last = float(times[-1])
    return times[times < duration_s]


TIME_KEYS = ("time", "timestamp", "@timestamp", "ts", "datetime", "date", "at", "arrived", "arrival", "start_time")
"""Columns of the time at which a request came, first choice first."""
_SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_LEAST_MS = 1e11
"""As seconds since 1970, the year 5138; as milliseconds, 1973."""
_MOST_S = 86_400.0


@dataclass(frozen=True, eq=False)
class ArrivalLog:
    """When requests came, as a log has it.

    name      of the file
    times     (n,) seconds from the first, ascending;   queries   what each asked, "" where a line does not say
    is_whole  whether times are whole seconds, several requests in one of them: when in that second is not known
    digest    of the file
    """

    name: str
    times: Floats
    queries: Sequence[str]
    is_whole: bool
    digest: str

    @classmethod
    def read(cls, path: str | Path) -> ArrivalLog:
        """Read JSONL, CSV, TSV or Parquet with a column of times, in seconds or ISO 8601, in any order.

        Raises   InputError naming the line, for times that are missing or cannot be read, and for fewer than two.
        """
        source = Source(path)
        rows = list(read_rows(source, _SUFFIXES.get(source.suffix, "jsonl")))
        where, keys = source.name, list(rows[0][1]) if rows else []
        time_key = next((key for name in TIME_KEYS for key in keys if key.lower() == name), None)
        if rows and time_key is None:
            raise InputError(
                f"{where}: has no column of times (columns: {', '.join(keys)}); rename the one that says when a "
                f"request came to {TIME_KEYS[0]!r}"
            )
        if len(rows) < 2:
            raise InputError(f"{where}: holds {len(rows)} requests; expected two at least, so that there is a rate")
        read = [_time(row.get(time_key or ""), at) for at, row in rows]
        if len({kind for kind, _ in read}) > 1:
            at, kind = next((at, kind) for (at, _), (kind, _) in zip(rows, read, strict=True) if kind != read[0][0])
            raise InputError(f"{at}: has {kind}, where lines before have {read[0][0]}; expected the same in all lines")
        times = np.array([seconds for _, seconds in read])
        order = np.argsort(times, kind="stable")
        queries = [_query(row) for _, row in rows]
        is_whole = bool((times % 1 == 0).all() and len(np.unique(times)) < len(times))
        times, queries = times[order] - times.min(), [queries[i] for i in order]
        log = cls(where, times, queries, is_whole, source.digest())
        if not log.span_s > 0:
            raise InputError(f"{where}: all requests came at the same time; expected times that differ")
        return log

    @property
    def span_s(self) -> float:
        """Seconds from the first request to the last, or to the end of the last whole second."""
        return float(self.times[-1]) + self.is_whole

    def rate(self, speed: float) -> float:
        """Requests a second on average, at so many times its speed, in three digits: it names a level."""
        return float(f"{len(self.times) / self.span_s * speed:.3g}")

    def questions(self) -> dict[str, str] | None:
        """The questions of a log in the order of arrival, by its number; None where some line does not say."""
        if not all(query.strip() for query in self.queries):
            return None
        return {f"{number:06d}": query for number, query in enumerate(self.queries)}

    def seconds(self, speed: float, duration_s: float | None) -> float:
        """The time that it takes at so many times its speed: all of it, or its first `duration_s` seconds, sped up.

        Raises   InputError where all of it takes more than a day.
        """
        whole = self.span_s / speed
        if duration_s is None and whole > _MOST_S:
            raise InputError(
                f"{self.name}: takes {whole / 3600:,.0f} hours at {speed:g} times its speed; name how much of it is to "
                "be sent (--duration 10m), or a higher speed (--speed 100)"
            )
        return whole if duration_s is None else min(whole, duration_s)

    def schedule(
        self, speed: float, rng: np.random.Generator, *, duration_s: float | None = None, warm_up_s: float = 0.0
    ) -> Schedule:
        """The requests at so many times their speed, with their bursts; before them, a warm-up at their mean rate.

        Within a whole second, times are drawn evenly: all at its beginning would be bursts that nobody saw.
        Raises   InputError for more than 10 million requests.
        """
        times = np.sort(self.times + rng.random(len(self.times))) if self.is_whole else self.times
        counted = times / speed
        counted = counted[counted <= self.seconds(speed, duration_s)]
        if len(counted) > MOST_REQUESTS:
            raise InputError(f"{self.name}: holds {len(counted):,} requests, more than {MOST_REQUESTS:,}; cut it")
        before = arrival_times(self.rate(speed), warm_up_s, "poisson", rng) - warm_up_s if warm_up_s else np.empty(0)
        return Schedule(np.concatenate([before, counted]), self.rate(speed))


def _time(value: Any, where: str) -> tuple[str, float]:
    """The kind of time that a value is, in words, and its seconds.

    Raises   InputError for anything else than a number of seconds or a date with time.
    """
    problem = "expected seconds such as 12.5, or ISO 8601 such as 2026-03-01T09:30:00.250Z"
    if isinstance(value, datetime):
        return _of_date(value)
    try:
        seconds = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        try:
            return _of_date(datetime.fromisoformat(str(value).strip()))
        except ValueError:
            raise InputError(f"{where}: {quoted(value)} is no time; {problem}") from None
    if not math.isfinite(seconds):
        raise InputError(f"{where}: {quoted(value)} is no time; {problem}")
    if abs(seconds) >= _LEAST_MS:
        raise InputError(f"{where}: {value} seems to be milliseconds; expected seconds: divide by 1,000")
    return "seconds", seconds


def _of_date(moment: datetime) -> tuple[str, float]:
    if moment.tzinfo is not None:
        return "a time with its time zone", moment.timestamp()
    # A local time is read as one without summer time: only differences count.
    return "a time without time zone", (moment - datetime(1970, 1, 1)).total_seconds()


def _query(row: Mapping[str, Any]) -> str:
    text = next((row[key] for key in QUERY_TEXT_KEYS if row.get(key)), "")
    return text if isinstance(text, str) else ""
