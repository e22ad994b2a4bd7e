"""One look of a monitor: what is watched, how it stands against its past, and what is to be alarmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import polars as pl

from steelyard.base.notes import Note
from steelyard.base.result import Result
from steelyard.monitoring.alerts import Alert, Change, State
from steelyard.monitoring.detection import CHART, Detection
from steelyard.traffic.logs import Trouble
from steelyard.traffic.series import Stream


@dataclass(frozen=True, eq=False, repr=False)
class Look(Result):
    """A look of a monitor.

    monitor      its name;   time   of the newest window that is whole;   state   the gravest of the streams
    streams      state by stream, of those that are watched
    detections   every series and segment, those in alarm first
    alerts       open ones, and those that were raised or ended in this look; gravest first
    past         earlier ones, newest first
    changes      what else changed: deployments, fingerprints, corpus, judge, holidays; oldest first
    troubles     what was wrong with the logs
    budget       false alarms that may be raised a month over all series;   n_series   among which it is shared
    notes        what was not looked at, and why
    timezone     IANA name, in which people read its times
    """

    VIEW: ClassVar[str] = "looking"

    monitor: str
    time: datetime | None
    state: State
    streams: Mapping[Stream, State]
    detections: Sequence[Detection]
    alerts: Sequence[Alert] = ()
    past: Sequence[Alert] = ()
    changes: Sequence[Change] = ()
    troubles: Sequence[Trouble] = ()
    budget: float = 1.0
    n_series: int = 0
    notes: Sequence[Note] = ()
    timezone: str = "UTC"

    @property
    def frame(self) -> pl.DataFrame:
        """One window of one series of one segment a row: series, segment, and the columns of CHART."""
        charts = [
            detection.chart.select(
                pl.lit(detection.series.name).alias("series"), pl.lit(detection.segment).alias("segment"), pl.all()
            )
            for detection in self.detections
        ]
        schema = pl.Schema([("series", pl.String), ("segment", pl.String), *CHART.items()])
        return pl.concat(charts) if charts else pl.DataFrame(schema=schema)
