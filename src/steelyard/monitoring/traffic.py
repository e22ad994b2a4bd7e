"""Logs as a stream: read from where the last look ended, cut into windows that are whole, and measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from steelyard.monitoring.config import MonitorConfig
from steelyard.monitoring.fingerprints import changes_in
from steelyard.monitoring.streams.result import StreamResult
from steelyard.traffic.logs import Logs
from steelyard.traffic.measures import measurable, traffic_measures
from steelyard.traffic.reading import read_logs
from steelyard.traffic.requests import column_type
from steelyard.traffic.tabulating import tabulate
from steelyard.traffic.windows import Windows, microseconds, time_of


@dataclass(frozen=True, eq=False)
class TrafficLook:
    """What logs say at one look.

    result         points of the windows that are whole by now
    logs           those of these windows
    after, until   start of the first of these windows, and end of the last one; None without any
    last           time of the newest request of this look and all before
    """

    result: StreamResult
    logs: Logs
    after: datetime | None = None
    until: datetime | None = None
    last: datetime | None = None


def watch_logs(settings: MonitorConfig, memory: Mapping[str, Any] | None, now: datetime) -> TrafficLook:
    """Points of the windows that ended since the last look.

    A window is whole once `lateness` has passed since its end: a record of it that comes later changes nothing.  Time
    ends with the window of the last record: those behind it are measured once there is a record again.

    memory   what the last look left
    Raises   InputError for what is no log.
    """
    earlier = dict(memory or {})
    after, last = (datetime.fromisoformat(earlier[name]) if name in earlier else None for name in ("closed", "last"))
    logs = read_logs(
        settings.logs, segments=settings.segments, positions=earlier.get("positions"), now=now,
        timezone=settings.timezone,
    )  # fmt: skip
    last = max((moment for moment in (last, logs.last) if moment is not None), default=None)
    if last is None:
        return TrafficLook(StreamResult(memory=earlier), logs)
    earlier["last"] = last.isoformat()
    until = _whole_until(settings.windows, now - settings.lateness, last)
    if logs.last is None or (after is not None and until <= after):
        return TrafficLook(StreamResult(memory=earlier), logs, last=last)
    names = settings.measures or list(dict.fromkeys([*earlier.get("measures", []), *measurable(logs)]))
    points = tabulate(logs, settings.windows, names, settings.segments, after, until)
    series = [measure.series for measure in traffic_measures(names, lambda name: column_type(logs, name))]
    if points.is_empty():
        return TrafficLook(StreamResult(series=series, memory=earlier), logs, last=last)
    first, closed = points["start"].min(), points["end"].max()
    assert isinstance(first, datetime)
    assert isinstance(closed, datetime)
    whole = logs.between(after, closed)
    changes, fingerprints = changes_in(whole, settings.windows, state=earlier.get("fingerprints"))
    later = {
        **earlier, "closed": closed.isoformat(), "positions": logs.positions(closed), "measures": names,
        "fingerprints": fingerprints,
    }  # fmt: skip
    return TrafficLook(StreamResult(points, series, changes=changes, memory=later), whole, first, closed, last)


def _whole_until(windows: Windows, moment: datetime, last: datetime) -> datetime:
    """The moment up to which windows are whole: the one that holds the last record may be, and none behind that."""
    if isinstance(windows.every, int):
        return moment
    _, ends = windows.bounds(np.array([microseconds(last)]))
    return min(moment, time_of(int(ends[-1])))
