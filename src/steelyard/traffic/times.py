"""Times of logs: with an offset, with Z, without a zone, and seconds, milli-, micro- or nanoseconds since 1970."""

from __future__ import annotations

import re

import polars as pl

from steelyard.traffic.schema import TIME

_ZONED, _NAIVE = "%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M:%S%.f"
_PLAIN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{3}|\d{6}|\d{9}))?(Z?)")
_UNITS = ((1e11, 1_000_000.0), (1e14, 1_000.0), (1e17, 1.0))
"""Below which size a number since 1970 has a unit of so many microseconds; beyond all, nanoseconds."""


def parse_times(column: pl.Series, timezone: str = "UTC") -> pl.Series:
    """Times of a column of any type; null where there is none that can be read.

    timezone   of times without a zone; an hour that its clocks show twice is the first, one that they skip is null

    >>> parse_times(pl.Series(["2026-11-01T09:00:00+08:00", "2026-11-01 01:00:00", "1793494800000"])).to_list()
    [datetime.datetime(2026, 11, 1, 1, 0, tzinfo=zoneinfo.ZoneInfo(key='UTC')), \
datetime.datetime(2026, 11, 1, 1, 0, tzinfo=zoneinfo.ZoneInfo(key='UTC')), \
datetime.datetime(2026, 11, 1, 1, 0, tzinfo=zoneinfo.ZoneInfo(key='UTC'))]
    """
    if column.dtype in (pl.Datetime, pl.Date):
        return _in_utc(column.cast(pl.Datetime("us", getattr(column.dtype, "time_zone", None))), timezone)
    if column.dtype.is_numeric():
        return _since_1970(column)
    text = column.cast(pl.String, strict=False)
    alike = _alike(text, timezone)
    if alike.null_count() == column.null_count():
        return alike
    text = text.set(alike.is_not_null(), None)
    zoned = text.str.to_datetime(_ZONED, time_unit="us", strict=False)
    rest = text.set(zoned.is_not_null(), None).str.strip_chars().str.replace(r"^(\d{4}-\d\d-\d\d)[ t]", "${1}T")
    rest = rest.str.replace(r" ?(UTC|GMT)$", "Z").str.replace(r"(T\d\d:\d\d)(Z|[+-]\d\d:?\d\d)?$", "${1}:00${2}")
    return (
        pl.DataFrame({"alike": alike, "zoned": zoned})
        .with_columns(
            rest.str.to_datetime(_ZONED, time_unit="us", strict=False).alias("spaced"),
            _in_utc(rest.str.to_datetime(_NAIVE, time_unit="us", strict=False), timezone).alias("naive"),
            _since_1970(rest).alias("number"),
        )
        .select(pl.coalesce("alike", "zoned", "spaced", "naive", "number"))
        .to_series()
    )


def _alike(text: pl.Series, timezone: str) -> pl.Series:
    """Times that are written as the first one is, without an offset: eight times as fast as any other way."""
    first = next(iter(text.drop_nulls().head(1)), "")
    match = _PLAIN.fullmatch(first)
    if match is None:
        return pl.Series([None] * len(text), dtype=TIME)
    digits, end = match.groups()
    format = f"%Y-%m-%dT%H:%M:%S{f'.%{len(digits)}f' if digits else ''}{end}"
    times = text.str.to_datetime(format, time_unit="us", strict=False, cache=False)
    return _in_utc(times, "UTC" if end else timezone)


def _in_utc(times: pl.Series, timezone: str) -> pl.Series:
    if getattr(times.dtype, "time_zone", None) is None:
        times = times.dt.replace_time_zone(timezone, ambiguous="earliest", non_existent="null")
    return times.dt.convert_time_zone("UTC")


def _since_1970(numbers: pl.Series) -> pl.Series:
    number = numbers.cast(pl.Float64, strict=False)
    whole = numbers.cast(pl.Int64, strict=False)  # nanoseconds are more than a float holds
    frame = pl.DataFrame({"number": number, "whole": whole})
    size, unit = pl.col("number").abs(), pl.lit(0.001)
    for limit, factor in reversed(_UNITS):
        unit = pl.when(size < limit).then(pl.lit(factor)).otherwise(unit)
    scaled = pl.when((size >= _UNITS[-1][0]) & pl.col("whole").is_not_null()).then(pl.col("whole") // 1000)
    micros = scaled.otherwise((pl.col("number") * unit).round().cast(pl.Int64, strict=False))
    return frame.select(pl.when(pl.col("number").is_finite()).then(micros).cast(TIME)).to_series()
