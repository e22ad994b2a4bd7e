"""What all charts share: data, size, title, axes and tooltips."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.base.extras import require
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

WIDTH = 640
LISTED = 40
"""Systems that the description of a chart names."""

_ROW = 26


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
