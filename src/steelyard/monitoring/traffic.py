"""Logs as a stream: read from where the last look ended, cut into windows that are whole, and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.notes import Note
from steelyard.monitoring.config import MonitorConfig
from steelyard.monitoring.fingerprints import changes_in
from steelyard.monitoring.streams.result import StreamResult
from steelyard.traffic.drift import Reference, drift, reference
from steelyard.traffic.logs import Logs
from steelyard.traffic.measures import measurable, traffic_measures
from steelyard.traffic.reading import LATENESS, read_logs
from steelyard.traffic.requests import column_type
from steelyard.traffic.tabulating import tabulate
from steelyard.traffic.windows import Windows, microseconds, time_of

DAY = timedelta(days=1)
_REFERENCE = timedelta(days=14)
"""What traffic is compared with: so long from its beginning, each weekday twice."""


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


def logs_of(settings: MonitorConfig, now: datetime, *, positions: Mapping[str, Any] | None = None) -> Logs:
    """The logs of a monitor, in which events count for as long after their request as a window waits for them.

    positions   where the last look ended; None reads all
    Raises      InputError for what is no log
    """
    return read_logs(
        settings.logs, segments=settings.segments, positions=positions, now=now, timezone=settings.timezone,
        lateness=max(settings.lateness, LATENESS),
    )  # fmt: skip


def watch_logs(
    settings: MonitorConfig, memory: Mapping[str, Any] | None, now: datetime, *, restarts: Sequence[datetime] = ()
) -> TrafficLook:
    """Points of the windows that ended since the last look.

    A window is whole once `lateness` has passed since its end: a record of it that comes later changes nothing.  Time
    ends with the window of the last record: those behind it are measured once there is a record again.

    memory     what the last look left
    restarts   times from which on what is asked or shown is compared with what came after them
    Raises   InputError for what is no log.
    """
    earlier = dict(memory or {})
    after, last = (datetime.fromisoformat(earlier[name]) if name in earlier else None for name in ("closed", "last"))
    logs = logs_of(settings, now, positions=earlier.get("positions"))
    last = max((moment for moment in (last, logs.last) if moment is not None), default=None)
    if last is None:
        return TrafficLook(StreamResult(memory=earlier), logs)
    earlier["last"] = last.isoformat()
    until = _whole_until(settings.windows, now - settings.lateness, last)
    if logs.last is None or (after is not None and until <= after):
        return TrafficLook(StreamResult(notes=_without_reference(settings, earlier), memory=earlier), logs, last=last)
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
    replaced = [change.until or change.time for change in changes if change.kind == "corpus"]
    drifts = _drifts(settings, logs, earlier.get("drift"), now, until=until, restarts=[*restarts, *replaced])
    compared = drifts.memory.get("closed")
    read_from = min(closed, datetime.fromisoformat(compared)) if compared else closed
    later = {
        **earlier, "closed": closed.isoformat(), "positions": logs.positions(read_from), "measures": names,
        "fingerprints": fingerprints, "drift": drifts.memory,
    }  # fmt: skip
    result = StreamResult(
        pl.concat([points, drifts.points]), [*series, *drifts.series], changes=changes, notes=drifts.notes, memory=later
    )
    return TrafficLook(result, whole, first, closed, last)


def _drifts(
    settings: MonitorConfig, logs: Logs, memory: Mapping[str, Any] | None, now: datetime, *, until: datetime,
    restarts: Sequence[datetime],
) -> StreamResult:  # fmt: skip
    """Points of days that are compared with the first two weeks, or with the two weeks after the last restart."""
    if not settings.drift:
        return StreamResult()
    earlier = dict(memory or {})
    windows = Windows(max(DAY, settings.windows.every) if isinstance(settings.windows.every, timedelta) else DAY,
                      settings.timezone)  # fmt: skip
    against = Reference.of(earlier["reference"]) if earlier.get("reference") else None
    first = datetime.fromisoformat(earlier["begin"]) if "begin" in earlier else logs.first or until
    begin = max(first, *restarts) if restarts else first
    earlier["begin"] = begin.isoformat()
    if against is not None and time_of(against.end) > begin:
        points = drift(logs, windows, against, datetime.fromisoformat(earlier["closed"]), until)
        return _compared(points, against, earlier)
    enough = begin + _REFERENCE
    if until < enough:
        return StreamResult(notes=_without_reference(settings, {}), memory={"begin": earlier["begin"]})
    whole = logs_of(settings, now)
    against = reference(whole, windows, after=begin, until=enough)
    return _compared(drift(whole, windows, against, begin, until), against, earlier)


def _without_reference(settings: MonitorConfig, memory: Mapping[str, Any]) -> list[Note]:
    """What to say where drift is watched, and there is nothing yet to compare with."""
    waits = settings.drift and not memory.get("drift", {}).get("reference")
    return [Note("monitor_no_reference", {"days": _REFERENCE.days})] if waits else []


def _compared(points: pl.DataFrame, against: Reference, memory: Mapping[str, Any]) -> StreamResult:
    end = points["end"].max()
    closed = {"closed": end.isoformat()} if isinstance(end, datetime) else {}
    return StreamResult(points, against.series, memory={**memory, "reference": against.data, **closed})


def _whole_until(windows: Windows, moment: datetime, last: datetime) -> datetime:
    """The moment up to which windows are whole: the one that holds the last record may be, and none behind that."""
    if isinstance(windows.every, int):
        return moment
    _, ends = windows.bounds(np.array([microseconds(last)]))
    return min(moment, time_of(int(ends[-1])))
