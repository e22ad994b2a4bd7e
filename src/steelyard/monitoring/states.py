"""How a look turns out: the state of every stream, and of the look, and streams whose windows have too few users."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches

import polars as pl

from steelyard.base.notes import Note
from steelyard.monitoring.alerts import Alert, State
from steelyard.monitoring.detection import Detection
from steelyard.monitoring.examples import LOGGED
from steelyard.stats.seasons import LEAST_WINDOWS
from steelyard.traffic.schema import IMPRESSIONS
from steelyard.traffic.series import Stream
from steelyard.traffic.tabulating import LEAST_UNITS
from steelyard.traffic.windows import Windows

GRAVITY: Sequence[State] = ("alert", "warn", "well", "few")
FEW_USERS = ("monitor_few_users", "monitor_few_users_longer")
"""Codes of notes of streams that are blind: without, and with, a window that would do."""
_LONGER: Mapping[str, timedelta] = {"6h": timedelta(hours=6), "1d": timedelta(days=1), "1w": timedelta(days=7)}
_ROOM = 2 * LEAST_UNITS
"""Users that a longer window is to have, as far as they can be added up: one of two windows counts twice."""
_FULL = 0.9
"""Share of the longer windows that are to have them."""


def states_of(detections: Iterable[Detection], now: Sequence[Alert]) -> dict[Stream, State]:
    """The state of every stream: alert where an alert lasts that one of its series is in, else the gravest of them."""
    lasting = [alert for alert in now if alert.until is None and alert.state == "alert"]
    silence: list[Stream] = ["service"]
    alarmed = {stream for alert in lasting for stream in [shift.stream for shift in alert.shifts] or silence}
    states = dict[Stream, State]()
    for own in detections:
        state: State = "warn" if own.state == "alert" else own.state
        before = states.get(own.series.stream, state)
        states[own.series.stream] = min(before, state, key=GRAVITY.index)
    return {**states, **dict.fromkeys(alarmed, "alert")}


def state_of(streams: Mapping[Stream, State], blind: Iterable[Note]) -> State:
    """The state of a look: the gravest of its streams; but few, not well, where a stream is blind."""
    gravest: State = min(streams.values(), key=GRAVITY.index, default="few")
    return "few" if gravest == "well" and any(blind) else gravest


def few_users(
    detections: Iterable[Detection], streams: Mapping[Stream, State], points: pl.DataFrame, windows: Windows
) -> Iterator[Note]:
    """A note for a stream of logs that has no chart, as 20 windows or more have requests, but of too few users.

    points   schema POINTS, of all windows so far
    """
    for stream, state in streams.items():
        names = {own.series.name for own in detections if own.series.stream == stream and not own.series.is_test}
        if state != "few" or stream not in LOGGED or not names:
            continue
        own = points.filter(pl.col("series").is_in(names), pl.col("segment") == "", pl.col("n") > 0)
        busy = own.filter(pl.col("value").count().over("series") < LEAST_WINDOWS)
        name = busy.group_by("series").agg(pl.col("n").sum(), is_low=(pl.col("n") < LEAST_UNITS).sum())
        blind = name.filter(pl.col("is_low") >= LEAST_WINDOWS).sort("n", "series", descending=True)
        if len(blind):
            yield _note(stream, busy.filter(pl.col("series") == blind["series"][0]), windows)


def _note(stream: Stream, busy: pl.DataFrame, windows: Windows) -> Note:
    """How many users half of the windows of a series have at most, and what other window would have enough."""
    median = busy["n"].median()
    assert isinstance(median, float)
    values = {"stream": stream, "users": math.floor(median), "least": LEAST_UNITS}
    if isinstance(windows.every, int):
        times = math.ceil(_ROOM / max(median, 1.0))
        return Note(FEW_USERS[1], {**values, "window": f"{windows.every * times} requests",
                                   "most": math.floor(median * times)})  # fmt: skip
    for text, length in _LONGER.items():
        if length > windows.every:
            own = busy.sort("start").group_by_dynamic("start", every=text).agg(pl.col("n").sum())["n"]
            n_full = (own >= _ROOM).sum()
            if n_full >= _FULL * math.ceil((busy["end"].max() - busy["start"].min()) / length):  # type: ignore[operator]
                return Note(FEW_USERS[1], {**values, "window": text, "most": math.floor(own.median())})  # type: ignore[arg-type]
    return Note(FEW_USERS[0], values)


def unknown_segments(segments: Iterable[str], points: pl.DataFrame) -> Iterator[Note]:
    """A note for a segment of which no window so far has a value, with the column that may be meant."""
    if points.is_empty():
        return
    there = {text.partition("=")[0] for text in points["segment"].unique()}
    for name in segments:
        if name not in there:
            texts = [column for column, kind in IMPRESSIONS.items() if kind == pl.String]
            near = get_close_matches(name, texts, n=1)
            yield Note("monitor_near_segment" if near else "monitor_no_segment", {"name": name, "near": "".join(near)})


def looked_later(points: pl.DataFrame, now: datetime) -> Iterator[Note]:
    """A note where a look is at a time before the end of windows that an earlier one has seen.

    points   of earlier looks
    """
    end = points["end"].max()
    if isinstance(end, datetime) and end > now:
        yield Note("monitor_later", {"time": f"{end:%Y-%m-%d %H:%M} UTC"})
