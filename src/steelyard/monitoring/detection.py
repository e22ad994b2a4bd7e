"""What a series of one segment says: its level and rhythm, its limits, and the windows that break them.

`detect(points, series, share, *, restarts=(), excluded=())`: at a restart (a corpus update, an update of the judge, a
level that the user accepted) the level is learned again from the windows after it, while spread, rhythm and likeness of
neighbours stay as they were learned, so that the chart is blind for a few windows alone; a `Shift` with rule "restart"
compares the levels before and after, and is no alarm.  `excluded` are spans of time, such as holidays, of which nothing
is learned and in which nothing alarms; their windows are in the chart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from steelyard.base.notes import Note
from steelyard.monitoring.alerts import Shift, State
from steelyard.traffic.schema import TIME
from steelyard.traffic.series import Series

CHART = pl.Schema(
    {
        "start": TIME, "end": TIME, "value": pl.Float64, "error": pl.Float64, "n": pl.Int64, "expected": pl.Float64,
        "low": pl.Float64, "high": pl.Float64, "z": pl.Float64, "cusum": pl.Float64, "is_reference": pl.Boolean,
        "is_alarm": pl.Boolean,
    }
)  # fmt: skip
"""One window a row, in the order of time.

expected    level and rhythm at this window, from windows before it;   low, high   limits of one window around it
z           (value - expected) in standard deviations between windows, after neighbours' likeness is taken out
cusum       the larger of both sums, or that of the bad direction
is_reference   whether the window taught the chart what is usual; is_alarm   whether a rule was broken in it
"""


@dataclass(frozen=True, eq=False)
class Detection:
    """A series of one segment, watched.

    state    of its newest window
    chart    schema CHART
    alarms   shifts that were raised, oldest first: those over by now among them
    note     why there is no chart yet, such as Note("monitor_few_windows", {"n": 14, "least": 20}), or what weakens it;
             the catalogues have a text for each code
    cusum_limit   the sum at which the chart alarms; None without sums
    """

    series: Series
    segment: str
    state: State
    chart: pl.DataFrame
    alarms: Sequence[Shift] = ()
    note: Note | None = None
    cusum_limit: float | None = None
