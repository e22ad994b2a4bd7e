"""Looks of a monitor by hand: a shop whose reranker broke, among quiet series, short ones and ended alerts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.notes import Note
from steelyard.monitoring.alerts import Alert, Change, Example, Shift, State
from steelyard.monitoring.detection import CHART, Detection
from steelyard.monitoring.looking import Look
from steelyard.traffic.logs import Trouble
from steelyard.traffic.series import Series, Stream

START = datetime(2026, 9, 27, 16, tzinfo=UTC)
"""A Monday at midnight in Shanghai."""
DAY = timedelta(days=1)

CTR = Series("ctr", "feedback", scale="share")
SERIES = [
    CTR, Series("abandonment", "feedback", "lower", "share"), Series("clicks@10", "feedback"),
    Series("recall@10", "replay", scale="share"), Series("faithfulness", "sample", scale="share"),
    Series("latency_ms:p95", "operations", "lower", "positive"), Series("query_length:psi", "label_free", "lower",
    floor=0.1, is_test=True), Series("zero_results", "label_free", "lower", "share"),
]  # fmt: skip


def shift(series: Series, segment: str = "", *, day: int = 50, before: float = 0.3, after: float = 0.24) -> Shift:
    """The level of a series fell on a day."""
    half, since = abs(after - before) / 3, START + day * DAY
    return Shift(
        series.name, segment, series.stream, series.better, before, after, after - before - half, after - before + half,
        since, since - DAY, since + DAY, "cusum", 1680.0,
    )  # fmt: skip


def detection(
    series: Series, segment: str = "", *, n: int = 56, level: float = 0.3, fall: float = 0.0, day: int = 50,
    every: timedelta = DAY, seed: int = 0,
) -> Detection:  # fmt: skip
    """A chart over windows with a weekly rhythm, whose level falls by so much from a day on."""
    rng, times = np.random.default_rng(seed), [START + place * every for place in range(n)]
    spread = 0.03 * level
    expected = level * (1 + 0.1 * np.sin([2 * math.pi * (time - START) / (7 * DAY) for time in times]))
    fallen = np.array([time >= START + day * DAY for time in times])
    value = expected + spread * rng.standard_normal(n) - fall * fallen
    z = (value - expected) / spread
    cusum = np.zeros(n)
    for place in range(n):
        cusum[place] = max(0.0, (cusum[place - 1] if place else 0.0) - z[place] - 0.5)
    alarm = fallen & (cusum > 5) if fall else np.zeros(n, bool)
    chart = pl.DataFrame(
        {
            "start": times, "end": [time + every for time in times], "value": value, "error": np.full(n, spread / 2),
            "n": rng.integers(900, 1100, n), "expected": expected, "low": expected - 3.5 * spread,
            "high": expected + 3.5 * spread, "z": z, "cusum": cusum, "is_reference": np.arange(n) < 20,
            "is_alarm": alarm,
        }, schema=CHART,
    )  # fmt: skip
    alarms = [shift(series, segment, day=day, before=level, after=level - fall)] if fall else []
    return Detection(series, segment, "alert" if fall else "well", chart, alarms, cusum_limit=5.0)


def too_short(series: Series, n: int = 14) -> Detection:
    """A series with fewer windows than a chart needs."""
    chart = detection(series, n=n).chart.with_columns(
        pl.lit(None, pl.Float64).alias(name) for name in ("expected", "low", "high", "z", "cusum")
    )
    return Detection(series, "language=zh", "few", chart, note=Note("monitor_few_windows", {"n": n, "least": 20}))


def quiet(*, segments: Sequence[str] = ("", "language=en", "language=zh")) -> list[Detection]:
    """Every series of every segment, without an alarm."""
    return [
        detection(series, segment, seed=len(segments) * place + own)
        for place, series in enumerate(SERIES)
        for own, segment in enumerate(segments)
    ]


def alert(**values: Any) -> Alert:
    """The reranker broke on the 50th day."""
    return Alert(
        **{
            "key": "5f" * 16, "state": "alert", "cause": "regression", "time": START + 52 * DAY,
            "shifts": [shift(CTR), shift(CTR, "language=zh", after=0.2), shift(SERIES[1], before=0.2, after=0.26)],
            "changes": [Change("config", START + 50 * DAY, "reranker: v7 -> v8")],
            "examples": [Example(f"r{n}", f"how do I return a lamp {n}", "position 9 of 10") for n in range(10)],
        }
        | values
    )  # fmt: skip


CHANGES = [
    Change("holiday", START + 3 * DAY, "Golden Week", START + 9 * DAY),
    Change("corpus", START + 30 * DAY, "c0ffee -> decade"),
    Change("config", START + 50 * DAY, "reranker: v7 -> v8"),
]
ENDED = alert(
    key="aa" * 16, cause="corpus", state="warn", time=START + 31 * DAY, until=START + 40 * DAY,
    shifts=[shift(SERIES[3], day=30, before=0.8, after=0.76)], changes=CHANGES[1:2], examples=[],
)  # fmt: skip


def look(state: State = "well", **values: Any) -> Look:
    """A look of the shop: well, or in alert since the 50th day, or with too few data."""
    detections = quiet()
    alerts: list[Alert] = []
    if state == "alert":
        failing = [detection(CTR, fall=0.06), detection(CTR, "language=zh", fall=0.1), detections.pop(2)]
        detections = [*failing[:2], *(own for own in detections if own.series != CTR)]
        alerts = [alert()]
    elif state == "few":
        detections = [too_short(series) for series in SERIES]
    streams: Mapping[Stream, State] = dict.fromkeys((own.series.stream for own in detections), "well") | (
        dict.fromkeys((own.series.stream for own in detections), state) if state == "few" else {}
    )
    if state == "alert":
        streams = {**streams, "feedback": "alert"}
    return Look(
        **{
            "monitor": "shop", "time": START + 56 * DAY, "state": state, "streams": streams, "detections": detections,
            "alerts": alerts, "past": [ENDED], "changes": CHANGES,
            "troubles": [Trouble("torn_line", 1, "logs/2026-11-01.jsonl, line 1704"), Trouble("duplicate", 37)],
            "budget": 1.0, "n_series": len(detections), "timezone": "Asia/Shanghai",
        }
        | values
    )  # fmt: skip
