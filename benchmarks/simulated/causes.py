"""How often an alert of a monitor names the right cause first, where a simulated service had one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import polars as pl
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.monitoring.alerts import Alert, Change
from steelyard.monitoring.budget import Budget
from steelyard.monitoring.causes import alerts
from steelyard.monitoring.detection import Watched, detect_all
from steelyard.traffic.series import POINTS, Series
from steelyard.traffic.windows import Windows

DAYS, EVENT, FOUND_WITHIN = 66, 56, 8
USERS, SHARES = 2000, {"language=en": 0.7, "language=zh": 0.3}
DAY, START = timedelta(days=1), datetime(2026, 1, 5, tzinfo=UTC)
QUESTIONS, PAIRED_SD = 120, 0.15
LIKENESS = 0.5
"""Of what neighbouring days share."""
WEEK = np.array([0.05, 0.05, 0.03, 0.0, -0.03, -0.06, -0.04])


@dataclass(frozen=True)
class Watch:
    """A series of the service: its level in each language, its spread within a user, and between days.

    users   share of the users of a day that it comes from;   spread   of a day, as a share of the level
    """

    series: Series
    levels: Sequence[float]
    sd: float
    spread: float = 0.01
    users: float = 1.0


WATCHES = [
    Watch(Series("ctr", "feedback", scale="share", floor=0.01), (0.42, 0.36), 0.5),
    Watch(Series("first_click_rr", "feedback", scale="share", floor=0.01), (0.31, 0.27), 0.4),
    Watch(Series("bad_abandonment", "feedback", "lower", "share", floor=0.01), (0.4, 0.46), 0.5),
    Watch(Series("reformulation", "feedback", "lower", "share", floor=0.01), (0.12, 0.14), 0.33),
    Watch(Series("empty", "label_free", "lower", "share", floor=0.005), (0.03, 0.04), 0.18),
    Watch(Series("top_score", "label_free", "either"), (0.62, 0.58), 0.12, 0.005),
    Watch(Series("query_length", "label_free", "either", "positive", floor=0.05), (24.0, 11.0), 8.0),
    Watch(Series("latency_ms:p95", "operations", "lower", "positive", floor=0.1), (800.0, 820.0), 900.0),
    Watch(Series("error_rate", "operations", "lower", "share", floor=0.002), (0.004, 0.004), 0.06),
    Watch(Series("faithfulness", "sample", scale="share", floor=0.02), (0.86, 0.84), 0.35, 0.005, 0.05),
]
RECALL = Series("recall@10", "replay", floor=0.01)
ZH = Series("language=zh", "label_free", "either", "share", floor=0.01)
REQUESTS = Series("requests", "operations", "either", "positive", floor=0.1)


@dataclass(frozen=True)
class Event:
    """Something that happens on day 56, and what is to be said of it.

    factors    "SERIES" or "SERIES language=zh" -> by what its level is multiplied
    added      the same -> what is added to it
    days       that it lasts;   ahead   days by which what changed came before it
    restarts   streams whose charts are restarted, as the monitor does where documents or the judge change
    holiday    whether charts leave these days out
    """

    name: str
    cause: str
    factors: Mapping[str, float] = field(default_factory=dict)
    added: Mapping[str, float] = field(default_factory=dict)
    changes: Sequence[str] = ()
    days: int = DAYS
    ahead: int = 0
    restarts: Sequence[str] = ()
    holiday: bool = False


WORSE = {"ctr": 0.93, "first_click_rr": 0.93, "bad_abandonment": 1.07, "top_score": 0.96}
FAILING = {"ctr language=zh": 0.35, "first_click_rr language=zh": 0.3, "bad_abandonment language=zh": 1.7}
QUALITY = ("feedback", "label_free", "sample")
EVENTS = [
    Event("recall of replays falls by .05", "regression", added={"recall@10": -0.05}),
    Event("CTR falls by a fifth", "regression", {"ctr": 0.8, "first_click_rr": 0.8, "bad_abandonment": 1.18}),
    Event(
        "a reranker breaks", "regression",
        {"ctr": 0.88, "first_click_rr": 0.78, "top_score": 0.9, "latency_ms:p95": 0.8}, changes=["config"],
    ),
    Event("a language fails", "segment", FAILING, {"empty language=zh": 0.4}),
    Event("a language fails in part", "segment", {"ctr language=zh": 0.75, "first_click_rr language=zh": 0.75}),
    Event("6 of 10 requests fail", "outage", {"requests": 0.9}, {"error_rate": 0.6}, days=2),
    Event("times rise by half", "operations", {"latency_ms:p95": 1.5}),
    Event("half of the users ask in Chinese, not .3", "traffic", {"language=zh": 5 / 3}),
    Event("clicks are not logged", "logging", {"ctr": 0.0, "first_click_rr": 0.0}),
    Event("a corpus update", "corpus", WORSE, changes=["corpus"], restarts=QUALITY),
    Event("a corpus update, charts not restarted", "corpus", WORSE, changes=["corpus"]),
    Event("another judge", "judge", {"faithfulness": 0.9}, changes=["judge"], restarts=["sample"]),
    Event("another judge, charts not restarted", "judge", {"faithfulness": 0.85}, changes=["judge"]),
    Event(
        "a week of holidays, and a slow return", "holiday",
        {"requests": 0.5, "ctr": 0.85, "first_click_rr": 0.85, "query_length": 0.9}, changes=["holiday"], days=8,
        holiday=True,
    ),
    Event("a corpus update, and a language fails", "segment", FAILING, changes=["corpus"], restarts=QUALITY),
    Event("a corpus update, and CTR falls 10 days later", "regression", {"ctr": 0.8, "first_click_rr": 0.8},
          changes=["corpus"], restarts=QUALITY, ahead=10),
]  # fmt: skip


def likeness(rng: np.random.Generator, n: int) -> Floats:
    """(n,) standard normal days, each like the one before it."""
    noise = rng.standard_normal(n)
    for day in range(1, n):
        noise[day] = LIKENESS * noise[day - 1] + math.sqrt(1 - LIKENESS**2) * noise[day]
    return noise


def effect(event: Event, name: str, segment: str) -> tuple[Floats, Floats]:
    """(days,) factors of a level, and what is added to it."""
    factor, more = np.ones(DAYS), np.zeros(DAYS)
    days = slice(EVENT, min(EVENT + event.days, DAYS))
    for key in (name, f"{name} {segment}"):
        factor[days] *= event.factors.get(key, 1.0)
        more[days] += event.added.get(key, 0.0)
    return factor, more


def points(event: Event, rng: np.random.Generator) -> pl.DataFrame:
    """Points of all series and segments of a service with an event."""
    frames = []
    volume = USERS * (1 + 4 * WEEK[np.arange(DAYS) % 7]) * (1 + 0.03 * likeness(rng, DAYS))
    volume *= effect(event, "requests", "")[0]
    chinese = SHARES["language=zh"] * effect(event, "language=zh", "")[0] * (1 + 0.01 * likeness(rng, DAYS))
    frames.append(of_series(REQUESTS, "", volume, volume * math.nan, volume))
    frames.append(of_series(ZH, "", chinese, np.sqrt(chinese * (1 - chinese) / volume), volume))
    for watch in WATCHES:
        shared = 1 + WEEK[np.arange(DAYS) % 7] / 2 + watch.spread * likeness(rng, DAYS)
        values, errors, n = [], [], []
        for segment, level, share in zip(SHARES, watch.levels, (1 - chinese, chinese), strict=True):
            factor, more = effect(event, watch.series.name, segment)
            users = np.maximum(volume * share * watch.users, 10)
            value = level * shared * factor * (1 + watch.spread * likeness(rng, DAYS)) + more
            if watch.series.scale == "share":
                value = rng.binomial(users.astype(np.int64), np.clip(value, 0, 1)) / users.astype(np.int64)
                error = np.sqrt(value * (1 - value) / users)
            else:
                error = watch.sd / np.sqrt(users)
                value = value + error * rng.standard_normal(DAYS)
            frames.append(of_series(watch.series, segment, value, error, users))
            values.append(value), errors.append(error), n.append(users)
        total = sum(n)
        whole = sum(value * users for value, users in zip(values, n, strict=True)) / total
        error = np.sqrt(sum((own * users) ** 2 for own, users in zip(errors, n, strict=True))) / total
        frames.append(of_series(watch.series, "", whole, error, total))
    return pl.concat([*frames, replayed(event, rng)])


def replayed(event: Event, rng: np.random.Generator) -> pl.DataFrame:
    """Replays against a baseline; none after the documents changed, as they are not compared then."""
    error = PAIRED_SD / math.sqrt(QUESTIONS)
    value = effect(event, RECALL.name, "")[1] + error * rng.standard_normal(DAYS)
    if "corpus" in event.changes:
        value[EVENT - event.ahead :] = math.nan
    return of_series(RECALL, "", value, np.full(DAYS, error), np.full(DAYS, QUESTIONS))


def of_series(series: Series, segment: str, value: Floats, error: Floats, n: Floats) -> pl.DataFrame:
    starts = [START + day * DAY for day in range(DAYS)]
    columns = {
        "series": [series.name] * DAYS, "segment": [segment] * DAYS, "start": starts,
        "end": [start + DAY for start in starts], "value": value, "error": error,
        "p": [None] * DAYS, "n": np.asarray(n).astype(np.int64),
    }  # fmt: skip
    return pl.DataFrame(columns, schema=POINTS).with_columns(pl.col("value", "error").fill_nan(None))


@cache
def budget() -> Budget:
    """One false alarm a month over all series."""
    return Budget.shared(1, n_series=3 * len(WATCHES) + 3, windows_per_month=30.4)


def raised(event: Event, rng: np.random.Generator) -> list[Alert]:
    """Alerts about the series that the event changes, and that may have begun with it."""
    at, changed = START + EVENT * DAY, START + (EVENT - event.ahead) * DAY
    segments = [(watch.series, segment) for watch in WATCHES for segment in ("", *SHARES)]
    watched = [
        Watched(series, segment, budget(), [changed] if series.stream in event.restarts else [])
        for series, segment in [*segments, (RECALL, ""), (ZH, ""), (REQUESTS, "")]
    ]
    holiday, late = (at, at + 7 * DAY), event.holiday * 8 * DAY
    changes = [Change(kind, changed, "1 -> 2", holiday[1] if kind == "holiday" else None) for kind in event.changes]
    excluded = [holiday] if event.holiday else []
    detections = detect_all(points(event, rng), watched, windows=Windows(DAY), excluded=excluded)
    affected = {key.split()[0] for key in (*event.factors, *event.added)}
    return [
        alert
        for alert in alerts(detections, changes, monitor="simulated")
        if affected & {shift.series for shift in alert.shifts}
        and alert.clearest.since_low - DAY <= at + late
        and alert.clearest.since_high + DAY >= at
        and at < alert.time <= at + late + FOUND_WITHIN * DAY
    ]


def first_cause(found: Sequence[Alert]) -> str:
    """The cause that is named first: of alarms before notices, the one raised first; "" where nothing is raised."""
    order = sorted(found, key=lambda alert: (alert.state != "alert", alert.time))
    return order[0].cause if order else ""


def named(event: Event, draws: int, seed: int) -> tuple[Counter[str], float]:
    """How often each cause is named first, and the mean number of alerts."""
    found = [raised(event, np.random.default_rng([seed, draw])) for draw in range(draws)]
    return Counter(map(first_cause, found)), sum(map(len, found)) / draws


def cause_table(draws: int, seed: int) -> Table:
    """What alerts say of events of a service with 33 series and segments."""
    rows = []
    for event in EVENTS:
        first, n = named(event, draws, seed)
        others = [f"{cause} {percent(n / draws)}" for cause, n in first.most_common() if cause not in (event.cause, "")]
        shares = [percent(first[cause] / draws) for cause in (event.cause, "")]
        rows.append([event.name, event.cause, *shares, ", ".join(others), f"{n:.2f}"])
    heads = ["what happens", "right cause", "named first", "nothing raised", "other causes first", "alerts"]
    return Table("Cause of alerts about what happens to a service of 2,000 users a day, by days", heads, rows)
