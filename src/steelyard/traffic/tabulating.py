"""Tabulate logs: measures of requests, window by window and segment by segment.

A value is that of its window, whatever else is read with it and in whatever order: counts are whole numbers, and other
values are rounded to multiples of a small power of two, so that their sums are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import numpy as np
import polars as pl
from polars import selectors

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError, quoted
from steelyard.traffic.estimates import Estimates, percentiles, ratios, totals
from steelyard.traffic.logs import Logs
from steelyard.traffic.measures import Percentile, Quantity, Ratio, measurable, traffic_measures
from steelyard.traffic.requests import Abstains, column_type, requests
from steelyard.traffic.schema import TIME
from steelyard.traffic.series import POINTS
from steelyard.traffic.windows import Windows

LEAST_UNITS = 10
"""Users that a ratio or a percentile must come from; a window with fewer has none."""
_MOST_VALUES = 1000
_N = "n_requests"


def tabulate(
    logs: Logs, windows: Windows, measures: Iterable[str] | None = None, segments: Sequence[str] = (),
    after: datetime | None = None, until: datetime | None = None, *, judged: pl.DataFrame | None = None,
    abstains: Abstains | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Points of series, of all traffic and of each value of some columns.

    Errors take users as units, or sessions or requests where those are unknown: that of a ratio is of the delta method,
    that of a percentile Woodruff's.

    measures   names, such as "ctr", "clicks@5", "latency_ms:p95", "language=zh"; None for those that are usual and that
               the logs have data for
    segments   columns of texts, such as language or arm; requests where one is null count for all traffic alone
    after      nothing before it is looked at: the end of the last window of an earlier look
    until      only windows that end at or before it; None takes a last one that may not be whole
    judged, abstains   as of `requests`
    Returns    schema POINTS, by measure as given, segment, and time: a row for each window, also where it has no
               requests (n = 0); the value is null where units are fewer than 10
    Raises     InputError for measures and segments that are none, and for segments of more than 1,000 values
    """
    own = logs.impressions.collect_schema()
    for name in segments:
        if own.get(name) != pl.String:
            raise InputError(f"segment {quoted(name)} is no column of texts of the impressions")
    specs = measurable(logs) if measures is None else list(dict.fromkeys(measures))
    quantities = [measure.quantity for measure in traffic_measures(specs, partial(column_type, logs))]
    columns = _Columns(quantities)
    frame = requests(logs, ["time", "unit", *segments, *columns.roots()], judged=judged, abstains=abstains)
    rows = _read(frame, columns, segments, after, until)
    starts, ends = windows.bounds(np.sort(rows["time"].to_physical().to_numpy()), after=after, until=until)
    rows = _in_windows(rows, starts, ends)
    units = rows.group_by("window", *segments, "unit").agg(
        pl.len().cast(pl.Int64).alias(_N), pl.col(columns.added()).sum()
    )
    frames = [pl.DataFrame(schema=POINTS)]
    for segment in ("", *segments):
        part = _Part.of(segment, rows, units, n_windows=len(starts))
        estimates = [_estimates(quantity, part, columns) for quantity in quantities]
        frames += [_points(spec, part, item, starts, ends) for spec, item in zip(specs, estimates, strict=True)]
    place = pl.col("series").replace_strict(specs, list(range(len(specs))), return_dtype=pl.Int64)
    return pl.concat(frames).sort(place, "segment", "start")


class _Columns:
    """Columns of numbers of which quantities are computed, each once; by name, with the step to which it is rounded."""

    def __init__(self, quantities: Iterable[Quantity]) -> None:
        self.columns: dict[str, tuple[pl.Expr, float | None]] = {}
        for quantity in quantities:
            self.names(quantity)

    def names(self, quantity: Quantity) -> list[str]:
        """Names of numerator and denominator, or of the values of a percentile."""
        if isinstance(quantity, Ratio):
            return [self._name(part, quantity.resolution) for part in (quantity.numerator, quantity.denominator)]
        return [self._name(quantity.values, None)] if isinstance(quantity, Percentile) else []

    def _name(self, column: pl.Expr, step: float | None) -> str:
        for name, (other, its) in self.columns.items():
            if its == step and other.meta.eq(column):
                return name
        name = f"column_{len(self.columns)}"
        self.columns[name] = column, step
        return name

    def roots(self) -> list[str]:
        """Columns of requests that they are computed from."""
        return list(dict.fromkeys(root for column, _ in self.columns.values() for root in column.meta.root_names()))

    def added(self) -> list[str]:
        """Names of those that are added."""
        return [name for name, (_, step) in self.columns.items() if step is not None]


def _read(
    frame: pl.LazyFrame, columns: _Columns, segments: Sequence[str], after: datetime | None, until: datetime | None
) -> pl.DataFrame:
    """Requests between two moments: time, unit (as a number), segments and columns."""
    if after is not None:
        frame = frame.filter(pl.col("time") >= after)
    if until is not None:
        frame = frame.filter(pl.col("time") < until)
    parts = {name: column for name, (column, _) in columns.columns.items()}
    types = frame.select(**parts).collect_schema()
    for name, (_, step) in columns.columns.items():
        if types[name].is_float() and step is not None:
            parts[name] = (parts[name] / step).round() * step
        elif types[name].is_integer():
            parts[name] = parts[name].cast(pl.Int64)
    return frame.select("time", *segments, unit=pl.col("unit").cast(pl.Categorical).to_physical(), **parts).collect()


def _in_windows(rows: pl.DataFrame, starts: Ints, ends: Ints) -> pl.DataFrame:
    """The rows of a window, with its number in place of their time."""
    times = rows["time"].to_physical().to_numpy()
    window = np.searchsorted(starts, times, side="right") - 1
    is_inside = window >= 0
    is_inside[is_inside] = times[is_inside] < ends[window[is_inside]]
    return rows.drop("time").with_columns(window=pl.Series(window, dtype=pl.Int32)).filter(is_inside)


@dataclass(frozen=True, eq=False)
class _Part:
    """All traffic, or that of a segment, in groups: each window of its first value, each of its second, and so on.

    names      of the values, as points have them
    rows       requests, with their group;   units   sums of each unit in each group
    """

    names: Sequence[str]
    n_groups: int
    rows: pl.DataFrame
    units: pl.DataFrame
    group: Ints
    ordered: dict[str, pl.DataFrame] = field(default_factory=dict)

    @classmethod
    def of(cls, segment: str, rows: pl.DataFrame, units: pl.DataFrame, *, n_windows: int) -> _Part:
        """Raises   InputError for a segment of too many values."""
        names, group = [""], pl.col("window")
        if segment:
            values = units[segment].drop_nulls().unique().sort()
            if len(values) > _MOST_VALUES:
                raise InputError(
                    f"segment {quoted(segment)} has {len(values):,} values; expected at most {_MOST_VALUES:,}"
                )
            names = [f"{segment}={value}" for value in values]
            code = pl.col(segment).replace_strict(values, list(range(len(values))), return_dtype=pl.Int32)
            group = code * n_windows + pl.col("window")
            rows, units = (frame.filter(pl.col(segment).is_not_null()) for frame in (rows, units))
        rows = rows.with_columns(group=group)
        sums = units.with_columns(group=group).select(selectors.numeric().exclude("window"))
        sums = sums.group_by("group", "unit").agg(pl.all().sum())
        return cls(names, len(names) * n_windows, rows, sums, sums["group"].to_numpy())

    def sums(self, name: str) -> Floats:
        """(u,) sum of a column of each unit in each group."""
        return self.units[name].cast(pl.Float64).fill_null(0.0).to_numpy()

    def values(self, name: str) -> pl.DataFrame:
        """Group, unit and value of the requests that have one, by group and value."""
        if name not in self.ordered:
            values = self.rows.select("group", "unit", value=pl.col(name).cast(pl.Float64)).filter(
                pl.col("value").is_finite()
            )
            self.ordered[name] = values.sort("group", "value")
        return self.ordered[name]


def _estimates(quantity: Quantity, part: _Part, columns: _Columns) -> Estimates:
    """Values of all groups of a part; NaN where units are too few."""
    if isinstance(quantity, Ratio):
        numerator, denominator = map(part.sums, columns.names(quantity))
        estimates = ratios(part.group, numerator, denominator, part.n_groups)
    elif isinstance(quantity, Percentile):
        ordered = part.values(columns.names(quantity)[0])

        def per_unit(numbers: Floats) -> tuple[Ints, Floats, Floats]:
            sums = ordered.select("group", "unit", number=pl.Series(numbers)).group_by("group", "unit")
            frame = sums.agg(pl.col("number").sum(), n=pl.len().cast(pl.Float64))
            return frame["group"].to_numpy(), frame["number"].to_numpy(), frame["n"].to_numpy()

        estimates = percentiles(
            ordered["group"].to_numpy(), ordered["value"].to_numpy(), quantity.share, part.n_groups, per_unit
        )
    else:
        n = part.sums(_N)
        return totals(part.group, n if quantity.of == "requests" else np.ones_like(n), part.n_groups)
    few = estimates.n < LEAST_UNITS
    value, error = (np.where(few, np.nan, item) for item in (estimates.value, estimates.error))
    return Estimates(value, error, estimates.n)


def _points(spec: str, part: _Part, estimates: Estimates, starts: Ints, ends: Ints) -> pl.DataFrame:
    """Points of one measure; rows of windows of each value of the segment."""
    columns = {
        "series": pl.repeat(spec, part.n_groups, eager=True),
        "segment": pl.Series(part.names, dtype=pl.String).repeat_by(len(starts)).explode(),
        "start": pl.Series(np.tile(starts, len(part.names))).cast(TIME),
        "end": pl.Series(np.tile(ends, len(part.names))).cast(TIME),
        "value": estimates.value, "error": estimates.error, "n": estimates.n,
    }  # fmt: skip
    frame = pl.DataFrame(columns).with_columns(pl.col("value", "error").fill_nan(None), p=pl.lit(None, pl.Float64))
    return frame.select(pl.col(name).cast(type_) for name, type_ in POINTS.items())
