"""Messages and looks for the tests of sinks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from steelyard.monitoring.alerts import Alert
from steelyard.monitoring.detection import CHART, Detection
from steelyard.monitoring.looking import Look
from steelyard.monitoring.sinks.message import Message
from steelyard.traffic.series import Series

TIME = datetime(2026, 3, 2, 6, tzinfo=UTC)


def message(key: str = "k1", **changes: Any) -> Message:
    own = {"title": "search: CTR fell by 21%", "lines": ("since 1 March, 06:00", "language=zh: .31 to .24")}
    return Message(key, "search", TIME, "alert", "segment", **{**own, "data": {"series": "ctr"}, **changes})


def detection(name: str = "ctr", segment: str = "", *, value: float | None = 0.24, z: float | None = -4.5) -> Detection:
    row = dict.fromkeys(CHART) | {"start": TIME - timedelta(hours=1), "end": TIME, "value": value, "z": z}
    chart = pl.DataFrame([row | {"n": 1800, "is_reference": False, "is_alarm": True}], CHART)
    return Detection(Series(name, "feedback"), segment, "alert", chart)


def look(*detections: Detection, monitor: str = "search") -> Look:
    alerts = [
        Alert("a1", "alert", "segment", TIME, ()),
        Alert("a2", "warn", "corpus", TIME, ()),
        Alert("a3", "alert", "segment", TIME, (), until=TIME),
    ]
    return Look(monitor, TIME, "alert", {"feedback": "alert", "operations": "few"}, detections, alerts)
