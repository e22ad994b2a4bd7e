"""Judged sample of traffic: a judge that is updated, with and without a word, and answers that are worse."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.monitoring.budget import Budget
from steelyard.monitoring.detection import Watched, detect_all
from steelyard.monitoring.streams.sample import MOVED, ODD, anchor_shift
from steelyard.stats.samples import mean_error
from steelyard.traffic.series import POINTS, Series
from steelyard.traffic.windows import Windows

N, ANCHORS, SENTENCES, QUIET, LATER, EVERY, BEFORE = 50, 50, 3, 30, 14, 7, 7
START, DAY = datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=1)


@dataclass(frozen=True)
class Event:
    """What happens after so many quiet windows.

    strict   share of supported sentences that the judge does not support any more;   is_named   by its recipe
    loss     fall of the share of sentences that are supported in truth
    """

    strict: float = 0.0
    is_named: bool = False
    loss: float = 0.0


EVENTS: Mapping[str, Event] = {
    "nothing": Event(),
    "the judge is another by its recipe, .1 lower": Event(strict=0.119, is_named=True),
    "the judge moves without a word by .1": Event(strict=0.119),
    "the judge moves without a word by .15": Event(strict=0.178),
    "answers are worse by .1": Event(loss=0.1),
    "answers are worse by .15": Event(loss=0.15),
}


def answers(rng: np.random.Generator, n: int, loss: float) -> Floats:
    """(n, s) chance of each sentence that judges support it: answers differ, and sentences of one are alike."""
    level = np.where(rng.random((n, 1)) < (0.2 + loss / 0.55), 0.4, 0.95)
    return np.broadcast_to(level, (n, SENTENCES))


def judged(chance: Floats, strict: float, rng: np.random.Generator, luck: Floats | None = None) -> Floats:
    """(n,) shares of sentences that the judge supports;   luck   (n, s) of sentences that are judged again"""
    drawn = rng.random(chance.shape) if luck is None else luck
    again = np.where(rng.random(chance.shape) < 0.02, rng.random(chance.shape), drawn)
    return np.asarray((again < chance * (1 - strict)).mean(axis=1))


@dataclass(frozen=True, eq=False)
class History:
    """Values of the windows less what is known of the judge, and the windows at which it is called the judge's."""

    values: Floats
    errors: Floats
    calls: list[int]


def history(event: Event, rng: np.random.Generator) -> History:
    """The windows of one history, as the stream has them."""
    chance, luck = answers(rng, ANCHORS, 0.0), rng.random((ANCHORS, SENTENCES))
    first, shift, since = judged(chance, 0.0, rng, luck), (0.0, 0.0), 0
    values, errors, calls = list[float](), list[float](), list[int]()
    for window in range(QUIET + LATER):
        is_on, since = window >= QUIET, since + 1
        strict, named = (event.strict if is_on else 0.0), event.is_named and window == QUIET
        average = mean_error(judged(answers(rng, N, event.loss * is_on), strict, rng))
        past = values[-BEFORE:]
        is_odd = bool(past) and abs(average.mean - shift[0] - np.mean(past)) > ODD * math.hypot(
            average.error, np.std(past) / math.sqrt(len(past)) if len(past) > 1 else average.error
        )
        if named or is_odd or since >= EVERY:
            since = 0
            moved, p = anchor_shift(judged(chance, strict, rng, luck) - first, shift[0])
            if named or p < MOVED:
                shift = moved.mean, moved.error
                calls.append(window)
        values.append(average.mean - shift[0])
        errors.append(math.hypot(average.error, shift[1]))
    return History(np.array(values), np.array(errors), calls)


def rates(event: Event, *, draws: int, seed: int) -> tuple[float, float, float]:
    """Shares of histories: called the judge's and alarmed for (its calls being restarts), within 14 windows of the
    event; and the median window of an alarm.
    """
    rng = np.random.default_rng(seed)
    histories = [history(event, rng) for _ in range(draws)]
    watched, rows = [], []
    for h, own in enumerate(histories):
        name = str(h)
        restarts = [START + window * DAY for window in own.calls]
        watched.append(Watched(Series(name, "sample"), "", Budget(1 / 1200), restarts))
        rows += [
            {"series": name, "segment": "", "start": START + i * DAY, "end": START + (i + 1) * DAY, "value": value,
             "error": error, "p": None, "n": N}
            for i, (value, error) in enumerate(zip(own.values.tolist(), own.errors.tolist(), strict=True))
        ]  # fmt: skip
    detections = detect_all(pl.DataFrame(rows, schema=POINTS), watched, windows=Windows.parse("1d"))
    begin = START + QUIET * DAY
    first = []
    for detection in detections:
        alarms = detection.chart.filter(pl.col("is_alarm"), pl.col("start") >= begin)["start"]
        first.append((alarms[0] - begin) / DAY + 1 if len(alarms) else math.inf)
    called = np.mean([any(window >= QUIET for window in own.calls) for own in histories])
    return float(called), float(np.isfinite(first).mean()), float(np.median(first))


def judged_sample_table(draws: int, seed: int) -> Table:
    """What a change of a judged sample is called."""
    rows = []
    for name, event in EVENTS.items():
        called, alarmed, median = rates(event, draws=draws, seed=seed)
        rows.append([name, percent(called), percent(alarmed), f"{median:g}"])
    return Table(
        f"{N} answers a window and {ANCHORS} anchors, 1 false alarm in 1,200 windows: what is found in {LATER} windows",
        ["from window 31 on", "called the judge", "alarm of the answers", "median window of the alarm"],
        rows,
    )
