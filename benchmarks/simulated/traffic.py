"""Series of logs: how often intervals of a window hold the truth, and how often quiet days look like drift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats, Ints
from steelyard.traffic.drift import drift, reference
from steelyard.traffic.logs import Logs
from steelyard.traffic.schema import ANSWERS, EVENTS, IMPRESSIONS, TIME
from steelyard.traffic.tabulating import tabulate
from steelyard.traffic.windows import Windows, time_of

_HOUR = 3_600_000_000
_START = 1_790_553_600_000_000
"""2026-09-28 UTC, a Monday, in microseconds."""
_Z = 1.96
_WORDS = np.array([f"word{i}" for i in range(400)])


def logs_of(window: Ints, user: pl.Series, columns: dict[str, object], clicked: Ints, *, length: int = _HOUR) -> Logs:
    """Logs of requests by window, from the start of which a request is a second behind the other; with clicks."""
    n = len(window)
    time = _START + window * length + np.arange(n) % 3000 * 1_000_000
    impressions = pl.DataFrame({"time": time, "request": np.arange(n).astype(str), "user": user, **columns})
    events = pl.DataFrame({"time": time[clicked], "request": clicked.astype(str), "kind": ["click"] * len(clicked)})
    return Logs(
        _filled(impressions, {**IMPRESSIONS, "is_bot": pl.Boolean}).with_columns(is_bot=False).lazy(),
        _filled(events, EVENTS).lazy(),
        pl.DataFrame(schema=ANSWERS).lazy(),
    )


def _filled(frame: pl.DataFrame, schema: dict[str, pl.DataType] | pl.Schema) -> pl.DataFrame:
    more = [pl.lit(None, type_).alias(name) for name, type_ in schema.items() if name not in frame.columns]
    return frame.with_columns(pl.col("time").cast(TIME), *more).select(*schema)


@dataclass(frozen=True)
class Users:
    """Users of a window: few ask a lot, who ask a lot click less, and each has a line of its own speed."""

    n: int

    def draw(self, rng: np.random.Generator, n_windows: int) -> tuple[Ints, Ints, Floats, Floats]:
        """(r,) user of each request, numbered through all windows, window, click as 0 or 1, and milliseconds."""
        n_users = self.n * n_windows
        n_requests = 1 + rng.poisson(rng.lognormal(0, 1, n_users))
        chance = rng.beta(2, 2 + n_requests / 3)
        speed = rng.normal(0, 0.5, n_users)
        user = np.repeat(np.arange(n_users), n_requests)
        clicks = (rng.random(len(user)) < chance[user]).astype(float)
        return user, user // self.n, clicks, np.exp(5 + speed[user] + rng.normal(0, 0.7, len(user)))


def series_table(draws: int, seed: int) -> Table:
    """How often 95% intervals of a window hold the truth, with users as units, and of a share as if requests were."""
    rng = np.random.default_rng(seed)
    _, _, clicks, latency = Users(1000).draw(rng, 1000)
    truths = {"ctr": clicks.mean(), **{f"latency_ms:{name}": np.quantile(latency, share)
              for name, share in (("p50", 0.5), ("p95", 0.95))}}  # fmt: skip
    rows = []
    for n in (30, 100, 300, 1000):
        points = _series_points(rng, n, draws, list(truths))
        held = list[float]()
        for name, truth in truths.items():
            part = points.filter(series=name)
            held.append(float(np.mean(((part["value"] - truth).abs() <= _Z * part["error"]).to_numpy())))
        ctr = points.filter(series="ctr")
        requests = points.filter(series="requests")["value"].to_numpy()
        value = ctr["value"].to_numpy()
        plain = np.abs(value - truths["ctr"]) <= _Z * np.sqrt(value * (1 - value) / requests)
        rows.append([f"{n:,}", *map(percent, held), percent(float(plain.mean()))])
    columns = ["users of a window", "ctr", "median latency", "P95 latency", "ctr, requests as units"]
    return Table("How often 95% intervals of a window hold the truth", columns, rows)


def _series_points(rng: np.random.Generator, n: int, n_windows: int, names: list[str]) -> pl.DataFrame:
    user, window, clicks, latency = Users(n).draw(rng, n_windows)
    logs = logs_of(window, pl.Series(user.astype(str)), {"latency_ms": latency}, np.flatnonzero(clicks))
    return tabulate(logs, Windows.parse("1h"), [*names, "requests"])


@dataclass(frozen=True)
class Days:
    """Days of a service on which nothing changes.

    n          requests a day, of users who come again
    weekend    share of requests that are in another language, or about other things, on Saturdays and Sundays alone
    faithful   how much of a user's language, length of queries and words is the user's own: 0 for nothing, 1 for all
    """

    n: int
    weekend: float = 0.0
    faithful: float = 0.0

    def logs(self, rng: np.random.Generator, n_days: int) -> Logs:
        """Logs of days."""
        n = self.n * n_days
        day, user = np.repeat(np.arange(n_days), self.n), (rng.pareto(1.2, n) * 20).astype(np.int64) % (3 * self.n)
        own = np.random.default_rng(9).random((3 * self.n, 3))[user]
        drawn = np.where(rng.random((n, 3)) < self.faithful, own, rng.random((n, 3)))
        language = np.where(drawn[:, 0] < 0.3 + self.weekend * (day % 7 > 4), "zh", "en")
        is_other = (rng.random(n) < self.weekend) & (day % 7 > 4)
        place = (400 * drawn[:, 2:] ** 2).astype(int) + 200 * is_other[:, None]
        words = _WORDS[(place + rng.integers(0, 30, (n, 6))) % 400]
        lengths = 1 + (5 * drawn[:, 1]).astype(int)
        query = pl.Series([" ".join(row[:k]) for row, k in zip(words, lengths, strict=True)])
        columns = {"query": query, "language": language, "latency_ms": rng.lognormal(5, 1, n)}
        return logs_of(day, pl.Series(user.astype(str)), columns, np.empty(0, np.int64), length=24 * _HOUR)


DRIFTS = {"psi:query_length": "PSI of lengths", "ks:latency_ms": "KS of latencies",
          "chi_square:language": "chi-square of languages", "mmd:query": "MMD of queries"}  # fmt: skip


def quiet_days_table(draws: int, seed: int) -> Table:
    """How often the p of a quiet day is below 5% and 1%, against a reference of 28 days."""
    worlds = [
        ("requests alike", Days(400)),
        ("users with habits of their own", Days(400, faithful=0.8)),
        ("other languages and topics at weekends", Days(400, weekend=0.2)),
    ]
    rows = []
    for title, world in worlds:
        p = quiet_p(world, np.random.default_rng(seed), max(draws // 20, 2))
        cells = [f"{percent(float((p[name] < 0.05).mean()))}, {percent(float((p[name] < 0.01).mean()))}"
                 for name in DRIFTS]  # fmt: skip
        rows.append([title, *cells])
    return Table("How often a quiet day has p < .05, and p < .01", ["days", *DRIFTS.values()], rows)


def quiet_p(world: Days, rng: np.random.Generator, n_logs: int) -> dict[str, Floats]:
    """Values of p of 28 days behind the reference, of several logs."""
    windows, values = Windows.parse("1d"), {name: list[float]() for name in DRIFTS}
    middle = time_of(_START + 28 * 24 * _HOUR)
    for _ in range(n_logs):
        logs = world.logs(rng, 56)
        before = reference(logs, windows, list(DRIFTS), until=middle)
        for (name,), part in drift(logs, windows, before, after=middle).partition_by("series", as_dict=True).items():
            values[str(name)] += part["p"].to_list()
    return {name: np.array(part) for name, part in values.items()}
