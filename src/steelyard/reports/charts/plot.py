"""What all charts share: colours and type, data, size, title, axes and tooltips; and as files: SVG and PNG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.base.errors import InputError
from steelyard.base.extras import require
from steelyard.base.own_paths import own_file
from steelyard.reports.views.colours import NEUTRAL, STEPS
from steelyard.reports.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

N_COLOURED = 6
"""Systems with a colour of their own in a line chart; of more, the best ones and the baseline are coloured."""

FONT = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', 'PingFang SC', 'Hiragino Sans GB', "
    "'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"
)


_LIGHT = ("#0077bb", "#d9601a", "#00897b", "#cc3377", "#a87b00", "#6f4fb3")
_DARK = ("#4aa3df", "#ee7733", "#2bb5a0", "#ee6699", "#e0b93a", "#a58be0")


def theme(*, dark: bool) -> dict[str, Any]:
    """The Vega-Lite configuration of all charts, for light or dark paper."""
    ink, muted, rule = ("#e4e7ea", "#a3adb7", "#333b43") if dark else ("#20262c", "#57616b", "#e2e6ea")
    return _theme(ink, muted, rule, "#7db8e2" if dark else "#1d5a88", _DARK if dark else _LIGHT)


def page_theme() -> dict[str, Any]:
    """The same for a drawing inside a page, whose style sheet says what its colours are on light and on dark paper."""
    series = tuple(f"var(--series-{n})" for n in range(1, N_COLOURED + 1))
    return _theme("var(--ink)", "var(--muted)", "var(--rule)", "var(--accent)", series)


def page_colours() -> str:
    """The colours that `page_theme` calls by name and the style sheet of pages does not have, as CSS."""
    pairs = enumerate(zip(_LIGHT, _DARK, strict=True), 1)
    return f":root {{ {' '.join(f'--series-{n}: light-dark({light}, {dark});' for n, (light, dark) in pairs)} }}\n"


def _theme(ink: str, muted: str, rule: str, accent: str, colours: tuple[str, ...]) -> dict[str, Any]:
    # A neutral middle keeps what lies between orange and blue from turning into a third colour.
    ramp = [*STEPS[:3], "#efeae3", *STEPS[3:]]
    axis = {
        "labelColor": muted, "titleColor": muted, "gridColor": rule, "domainColor": rule, "tickColor": rule,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 190, "domain": False,
        "labelPadding": 6, "labelFlush": False, "titlePadding": 10,
    }  # fmt: skip
    legend = {
        "labelColor": ink, "titleColor": muted, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
        "orient": "top", "labelLimit": 420, "symbolType": "square", "symbolStrokeWidth": 0,
        "symbolBaseFillColor": muted,
    }  # fmt: skip
    return {
        "background": None, "font": FONT, "padding": 4, "axis": axis, "legend": legend,
        "title": {"color": ink, "subtitleColor": muted, "fontSize": 15, "anchor": "start", "fontWeight": 600,
                  "offset": 12},
        "view": {"stroke": None}, "mark": {"color": accent}, "text": {"color": ink, "fontSize": 12},
        "rule": {"color": muted}, "range": {"category": [*colours, NEUTRAL], "heatmap": ramp, "ramp": ramp},
    }  # fmt: skip


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


def plot(rows: Iterable[Mapping[str, Any]]) -> Any:
    """A chart of rows, without marks yet."""
    # A plain dict, which altair takes as it is; alt.Data would hold every row against the schema.
    return altair().Chart({"values": list(rows)})


def intervals(rows: Iterable[Mapping[str, Any]], *, width: float = 2, opacity: float = 0.4, **channels: Any) -> Any:
    """A line a row from one end to the other."""
    return plot(rows).mark_rule(strokeWidth=width, opacity=opacity).encode(**channels)


def dots(rows: Iterable[Mapping[str, Any]], *, size: int = 60, **channels: Any) -> Any:
    """A filled mark a row."""
    return plot(rows).mark_point(filled=True, size=size, opacity=1).encode(**channels)


def dashed(rows: Iterable[Mapping[str, Any]], *, opacity: float | None = None, **channels: Any) -> Any:
    """A dashed line a row, across or up the chart."""
    options = {} if opacity is None else {"opacity": opacity}
    return plot(rows).mark_rule(strokeDash=[4, 4], **options).encode(**channels)


def titled(
    chart: Any, name: str, words: Words, values: Mapping[str, object], *, height: int, width: int = WIDTH,
    listed: Iterable[str] | None = None,
) -> TopLevelMixin:  # fmt: skip
    """With size, title and a description for readers that do not see it; both are filled with values.

    chart    a chart, or layers of one;   listed   what the description says of systems, those with anything to say
    """
    if listed is not None:
        values = {**values, "listed": words.listed([text for text in listed if text], LISTED)}
    title, description = (words(f"charts.{name}.{key}", **values) for key in ("title", "description"))
    chart = altair().layer(*chart) if isinstance(chart, list) else chart
    result: TopLevelMixin = chart.properties(width=width, height=height, title=title, description=description)
    return result


def values_axis(field: str, title: str) -> Any:
    """Values across the chart, with some room beyond the marks."""
    alt = altair()
    scale = alt.Scale(zero=False, nice=True, padding=12)
    return alt.X(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6))


def named_colours(field: str, domain: Sequence[str], **scale: Any) -> Any:
    """A colour for each name, in their order, with a legend of full colours;   scale   such as its range"""
    alt = altair()
    return alt.Color(
        f"{field}:N", sort=list(domain), title=None, scale=alt.Scale(domain=list(domain), **scale),
        legend=alt.Legend(symbolOpacity=1),
    )  # fmt: skip


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
    legend = alt.Legend(
        symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1, columnPadding=36, columns=4, values=list(domain)
    )
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


FORMATS = ("svg", "png")


def save_drawings(
    draw: Callable[[], Mapping[str, TopLevelMixin]], folder: str | Path, *, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write every chart as FOLDER/NAME.FORMAT, on white paper; PNG at twice the size.

    draw     name -> chart; called where all that saving takes is there
    Raises   InputError for an unknown format or a folder that cannot be written; MissingExtraError.
    """
    odd = [name for name in formats if name not in FORMATS]
    if odd:
        raise InputError(f"charts are not written as {', '.join(odd)}; there are {' and '.join(FORMATS)}")
    converter = require("vl_convert", extra="report", what="saving charts")
    paths = []
    for name, chart in draw().items():
        spec = spec_of(chart) | {"config": theme(dark=False) | {"background": "white"}}
        for format in formats:
            path = own_file(Path(folder), f"{name}.{format}")
            svg = format == "svg"
            _write(
                path,
                str(converter.vegalite_to_svg(spec)).encode()
                if svg
                else bytes(converter.vegalite_to_png(spec, scale=2)),
            )
            paths.append(path)
    return paths


def svg_of(chart: TopLevelMixin, name: str) -> str:
    """A chart as SVG for the inside of a page, in the colours of its style sheet.

    name    what its ids begin with, as a page may hold several
    Raises  MissingExtraError without vl-convert.
    """
    converter = require("vl_convert", extra="report", what="drawing charts")
    spec = {key: value for key, value in spec_of(chart).items() if key != "title"} | {"config": page_theme()}
    svg = str(converter.vegalite_to_svg(spec))
    return svg.replace('id="', f'id="{name}-').replace("url(#", f"url(#{name}-")


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); name another folder") from None
