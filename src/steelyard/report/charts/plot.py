"""What all charts share: data, size, title, axes and tooltips."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.base.extras import require
from steelyard.report.charts.theme import N_COLOURED
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

WIDTH = 640
LISTED = 40
"""Systems that the description of a chart names."""

_ROW = 26
_APART = 0.015
"""Logarithm of how far series are beside each other."""
_NEAR = 2.5
"""Values on a logarithmic axis whose greatest is not this many times their least are near each other."""


def altair() -> Any:
    """The library, or MissingExtraError."""
    return require("altair", extra="report", what="drawing charts")


def plot(rows: Sequence[dict[str, Any]]) -> Any:
    """A chart of rows, without marks yet."""
    # A plain dict, which altair takes as it is; alt.Data would hold every row against the schema.
    return altair().Chart({"values": list(rows)})


def titled(
    chart: Any, name: str, words: Words, values: Mapping[str, object], *, height: int, width: int = WIDTH
) -> TopLevelMixin:
    """With size, title and a description for readers that do not see it; both are filled with values."""
    title, description = (words(f"charts.{name}.{key}", **values) for key in ("title", "description"))
    result: TopLevelMixin = chart.properties(width=width, height=height, title=title, description=description)
    return result


def height_of(n: int) -> int:
    """Pixels of n rows."""
    return max(n, 1) * _ROW


def systems_axis(order: Sequence[str]) -> Any:
    """Systems down the chart, in an order."""
    alt = altair()
    return alt.Y("system:N", sort=list(order), title=None, axis=alt.Axis(grid=False, ticks=False, labelPadding=10))


def log_ticks(low: float, high: float) -> list[float]:
    """Values to mark on an axis of powers of ten: 1, 2 and 5 of each, or the powers alone where there are many.

    >>> log_ticks(3, 40), log_ticks(0.5, 20_000)
    ([2.0, 5.0, 10.0, 20.0, 50.0], [0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{lead}e{power}") for power in powers for lead in ((1, 2, 5) if len(powers) < 5 else (1,))]
    below, above = max((t for t in ticks if t <= low), default=low), min((t for t in ticks if t >= high), default=high)
    return [tick for tick in ticks if below <= tick <= above]


def log_axis(values: Iterable[float], **settings: Any) -> dict[str, Any]:
    """The scale and axis of values above 0 by powers of ten, for a channel; settings are of the axis.

    Values that are near each other get room on both sides, so that two ticks at least show where they are.
    """
    alt, among = altair(), list(values)
    low, high = min(among), max(among)
    limits: dict[str, Any] = {}
    if high < _NEAR * low:
        low, high = low / _NEAR, high * _NEAR
        limits = {"domain": [low, high]}
    return {
        "scale": alt.Scale(type="log", nice=False, padding=16, **limits),
        "axis": alt.Axis(**{"format": ",~r", "values": log_ticks(low, high), **settings}),
    }


def series(field: str, domain: Sequence[str], places: Sequence[int] = ()) -> Any:
    """The colour of each of several lines, with a legend of full colours.

    places   of the colours among all, where other charts show the same systems in the same colours; else one by one
    """
    alt = altair()
    # Fonts of readers are wider than the one by which places are computed.
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1, columnPadding=36, columns=4,
                        values=list(domain))  # fmt: skip
    names: dict[int, str] = {}
    for name, place in zip(domain, places or range(len(domain)), strict=True):
        while place in names:  # The same system once more: colours come round again after all of them.
            place += N_COLOURED + 1
        names[place] = name
    spaced = [names.get(place, f" {place}") for place in range(max(names, default=-1) + 1)]
    return alt.Color(f"{field}:N", sort=spaced, title=None, scale=alt.Scale(domain=spaced), legend=legend)


def beside(value: float, series: str, domain: Sequence[str]) -> float:
    """A place on an axis of powers of ten, a little beside those of the other series, so that bars do not coincide.

    >>> [round(beside(100, name, ["a", "b", "c"]), 1) for name in "abc"]
    [98.5, 100.0, 101.5]
    """
    return float(value * math.exp(_APART * (list(domain).index(series) - (len(domain) - 1) / 2)))


def tooltips(words: Words, **fields: str) -> list[Any]:
    """One line a field: name=type:format, titles from the catalogue."""
    alt, lines = altair(), []
    for field, shorthand in fields.items():
        kind, _, format = shorthand.partition(":")
        options = {"format": format} if format else {}
        lines.append(alt.Tooltip(f"{field}:{kind}", title=words(f"charts.field.{field}"), **options))
    return lines


def spec_of(chart: TopLevelMixin) -> dict[str, Any]:
    """The Vega-Lite spec of a chart; our own charts are not held against the schema again."""
    return chart.to_dict(validate=False)


def finite(value: float) -> float | None:
    """A value as JSON has it, None for NaN and infinities."""
    return float(value) if math.isfinite(value) else None
