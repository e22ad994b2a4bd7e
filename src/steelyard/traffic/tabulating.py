"""Tabulate logs: measures of requests, window by window and segment by segment.

A value is that of its window, whatever else is read with it and in whatever order: counts are whole numbers, and other
values are rounded to multiples of a small power of two, so that their sums are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError, quoted
from steelyard.traffic.estimates import Estimates, Units, percentiles, ratios, totals
from steelyard.traffic.logs import Logs
from steelyard.traffic.measures import Percentile, Quantity, Ratio, measurable, traffic_measures
from steelyard.traffic.requests import Abstains, column_type, requests
from steelyard.traffic.schema import TIME
from steelyard.traffic.series import POINTS, Series
from steelyard.traffic.windows import Windows, placed

LEAST_UNITS = 10
"""Users that a ratio or a percentile must come from; a window with fewer has none."""
_MOST_VALUES = 1000


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
    columns = Columns(quantities)
    frame = requests(logs, ["time", "unit", *segments, *columns.roots()], judged=judged, abstains=abstains)
    rows = _read(frame, columns, segments, after, until)
    starts, ends = windows.bounds(np.sort(rows["time"].to_physical().to_numpy()), after=after, until=until)
    coded = _Coded(rows, segments, columns, starts, ends)
    frames = [pl.DataFrame(schema=POINTS)]
    for segment in ("", *segments):
        part = _Part(segment, coded)
        estimates = [_estimates(quantity, part, columns) for quantity in quantities]
        frames += [_points(spec, part, item, starts, ends) for spec, item in zip(specs, estimates, strict=True)]
    place = pl.col("series").replace_strict(specs, list(range(len(specs))), return_dtype=pl.Int64)
    return pl.concat(frames).sort(place, "segment", "start")


def series(logs: Logs, measures: Iterable[str] | None = None) -> list[Series]:
    """What the measures of points are: the same ones, in the same order, as `tabulate` gives points of.

    Raises   InputError for measures that are none
    """
    specs = measurable(logs) if measures is None else list(dict.fromkeys(measures))
    return [measure.series for measure in traffic_measures(specs, partial(column_type, logs))]


def per_user(
    logs: Logs, measure: str, by: Sequence[str] = ("arm",), *, judged: pl.DataFrame | None = None,
    abstains: Abstains | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Sums of a measure of each user, from which tests of ratios are computed.

    measure   a ratio or a mean, such as "ctr" or "cost_usd";   by   columns of impressions: a user has a row in each
    Returns   columns of `by`, unit, numerator and denominator, sorted by `by` and unit
    Raises    InputError for a percentile or a total, which have no sums per user
    """
    (resolved,) = traffic_measures([measure], partial(column_type, logs))
    if not isinstance(resolved.quantity, Ratio):
        raise InputError(f"measure {quoted(measure)} has no sums per user; expected a share or a mean")
    columns = Columns([resolved.quantity])
    frame = requests(logs, ["unit", *by, *columns.roots()], judged=judged, abstains=abstains)
    parts = columns.rounded(frame)
    sums = frame.group_by(*by, "unit").agg(
        parts[name].sum().cast(pl.Float64).alias(part)
        for name, part in zip(columns.names(resolved.quantity), ("numerator", "denominator"), strict=True)
    )
    return sums.sort(*by, "unit").collect()


class Columns:
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

    def rounded(self, frame: pl.LazyFrame) -> dict[str, pl.Expr]:
        """The columns, those that are added rounded to their step."""
        parts = {name: column for name, (column, _) in self.columns.items()}
        types = frame.select(**parts).collect_schema()
        for name, (_, step) in self.columns.items():
            if types[name].is_float() and step is not None:
                parts[name] = (parts[name] / step).round() * step
            elif types[name].is_integer():
                parts[name] = parts[name].cast(pl.Int64)
        return parts


def _read(
    frame: pl.LazyFrame, columns: Columns, segments: Sequence[str], after: datetime | None, until: datetime | None
) -> pl.DataFrame:
    """Requests between two moments: time, unit (as a number), segments and columns."""
    if after is not None:
        frame = frame.filter(pl.col("time") >= after)
    if until is not None:
        frame = frame.filter(pl.col("time") < until)
    parts = columns.rounded(frame)
    unit = pl.col("unit").cast(pl.Categorical).to_physical()
    return frame.select("time", *segments, unit=unit, **parts).collect()


class _Coded:
    """Requests within windows, as numbers.

    window, unit   (n,) of each request
    codes          place of each request's value among the values of a segment, or their number for null, and those
    numbers        (n,) of each column that is added; 0 for null
    ordered        for each column of a percentile, the requests that have a value, ascending by it, and the values
    """

    def __init__(self, rows: pl.DataFrame, segments: Sequence[str], columns: Columns, starts: Ints, ends: Ints) -> None:
        window = placed(rows["time"].to_physical().to_numpy(), starts, ends)
        self.n_windows, self.window, rows = len(starts), window[window >= 0], rows.filter(window >= 0)
        self.unit = rows["unit"].to_numpy().astype(np.int64)
        self.codes = {name: _codes(rows[name]) for name in segments}
        added = columns.added()
        self.numbers = {name: rows[name].fill_null(0).to_numpy() for name in added}
        self.ordered = {name: _ordered(rows[name]) for name in columns.columns if name not in added}


def _codes(texts: pl.Series) -> tuple[Ints, list[str]]:
    values = texts.drop_nulls().unique().sort().to_list()
    if len(values) > _MOST_VALUES:
        raise InputError(f"segment {quoted(texts.name)} has {len(values):,} values; expected at most {_MOST_VALUES:,}")
    code = texts.replace_strict(values, list(range(len(values))), default=None, return_dtype=pl.Int64)
    return code.fill_null(len(values)).to_numpy(), values


def _ordered(column: pl.Series) -> tuple[Ints, Floats]:
    values = column.cast(pl.Float64)
    values = values.set(~values.is_finite(), None)
    order = values.arg_sort(nulls_last=True)[: len(values) - values.null_count()]
    return order.to_numpy(), values.gather(order).to_numpy()


class _Part:
    """All traffic, or that of a segment, in groups: each window of its first value, each of its second, and so on.

    Requests that have none of the values are in groups behind the others, which have no name.

    names         of the values, as points have them
    group, pair   (n,) group of each request, and its pair of group and unit;   units   the pairs
    ordered       of a column: values ascending by group, then value, and the requests that have them
    """

    def __init__(self, segment: str, coded: _Coded) -> None:
        code, values = coded.codes[segment] if segment else (np.zeros_like(coded.window), [""])
        self.numbers = coded.numbers
        self.names = [f"{segment}={value}" if segment else "" for value in values]
        self.n_groups = len(values) * coded.n_windows
        self.group = code * coded.n_windows + coded.window
        n_units = int(coded.unit.max(initial=0)) + 1
        pairs, self.pair = np.unique(self.group * n_units + coded.unit, return_inverse=True)
        self.units = Units(pairs // n_units, self.n_groups + coded.n_windows)
        self.ordered = {name: self._by_group(*ordered) for name, ordered in coded.ordered.items()}

    def _by_group(self, order: Ints, values: Floats) -> tuple[Floats, Ints]:
        key = self.group[order] * len(order) + np.arange(len(order))
        key.sort()
        place = key % max(len(order), 1)
        return values[place], order[place]

    def sums(self, name: str) -> Floats:
        """(u,) sums of a column of each pair."""
        return _sums(self.pair, len(self.units.group), self.numbers[name])


def _sums(pair: Ints, n_pairs: int, numbers: Floats) -> Floats:
    return np.bincount(pair, numbers, n_pairs).astype(np.float64, copy=False)


def _estimates(quantity: Quantity, part: _Part, columns: Columns) -> Estimates:
    """Values of all groups of a part; NaN where units are too few."""
    units = part.units
    if isinstance(quantity, Ratio):
        estimates = ratios(units, *map(part.sums, columns.names(quantity)))
    elif isinstance(quantity, Percentile):
        values, order = part.ordered[columns.names(quantity)[0]]
        per_unit = partial(_sums, part.pair[order], len(units.group))
        estimates = percentiles(units, part.group[order], values, quantity.share, per_unit)
    else:
        n = np.bincount(part.pair, minlength=len(units.group)).astype(np.float64)
        return totals(units, n if quantity.of == "requests" else np.ones_like(n))
    few = estimates.n < LEAST_UNITS
    value, error = (np.where(few, np.nan, item) for item in (estimates.value, estimates.error))
    return Estimates(value, error, estimates.n)


def _points(spec: str, part: _Part, estimates: Estimates, starts: Ints, ends: Ints) -> pl.DataFrame:
    """Points of one measure; rows of windows of each value of the segment."""
    named = slice(part.n_groups)
    columns = {
        "series": pl.repeat(spec, part.n_groups, eager=True),
        "segment": pl.Series(np.repeat(part.names, len(starts)), dtype=pl.String),
        "start": pl.Series(np.tile(starts, len(part.names))).cast(TIME),
        "end": pl.Series(np.tile(ends, len(part.names))).cast(TIME),
        "value": estimates.value[named], "error": estimates.error[named], "n": estimates.n[named],
    }  # fmt: skip
    frame = pl.DataFrame(columns).with_columns(pl.col("value", "error").fill_nan(None), p=pl.lit(None, pl.Float64))
    return frame.select(pl.col(name).cast(type_) for name, type_ in POINTS.items())
