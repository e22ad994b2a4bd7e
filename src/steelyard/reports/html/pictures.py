"""Pictures as inline SVG that needs no library, no script and no style sheet: ink is that of the text around them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from unicodedata import east_asian_width

from steelyard.reports.html.shell import escaped
from steelyard.reports.views.colours import GOOD, NEUTRAL, POOR
from steelyard.reports.views.numbers import percent, rounded
from steelyard.reports.views.picture import Course, Intervals, Kind, Mark, Part, Picture, Shares
from steelyard.reports.visible import single_line

MOST = 20
"""Rows that a picture shows: more are for a table."""
_WIDTH, _ROW, _SIZE, _GAP, _AXIS, _TALL = 640, 26, 12, 14, 24, 190
_LONGEST = 230
"""Pixels that a name at the left or a text at the right takes at most."""
_LETTER, _WIDE = 0.62, "mwMW@%"
"""Width of a letter in its size, rather too much, as no font is at hand to measure it; and letters of width 1."""
_N_TICKS, _BEYOND, _LABEL_FROM = 5, 0.04, 0.07
"""Ticks at most, the room beyond the values as a share of the axis, and the share from which on a bar is labelled."""
_COLOURS: dict[Kind, str] = {"plain": GOOD, "better": GOOD, "worse": POOR, "unclear": NEUTRAL}


def picture_html(picture: Picture) -> str:
    """A figure: its title, the drawing, and of bars what their classes are called."""
    alternative = f' role="img" aria-label="{escaped(single_line(picture.description))}"'
    key = _key(picture) if isinstance(picture, Shares) else ""
    return (
        f"<figure>\n<figcaption>{escaped(picture.title)}</figcaption>\n{picture_svg(picture, alternative)}\n"
        f"{key}</figure>"
    )


def picture_svg(picture: Picture, attributes: str = "") -> str:
    """The drawing alone;   attributes   of it, such as what readers hear that do not see it"""
    if isinstance(picture, Intervals):
        drawing, n = _intervals(picture), len(picture.marks[:MOST])
        height = n * _ROW + (4 if picture.scale == "none" else _AXIS)
    elif isinstance(picture, Course):
        drawing, height = _course(picture), _TALL + _AXIS
    else:
        drawing, height = _bars(picture), len(picture.bars[:MOST]) * _ROW
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}"{attributes} font-size="{_SIZE}" '
        f'fill="currentColor">\n{"".join(drawing)}</svg>'
    )


def ems(text: str) -> float:
    """About how wide a text is, in its size.

    >>> ems("秤"), ems("mm")
    (1.0, 2.0)
    """
    return sum(1.0 if c in _WIDE or east_asian_width(c) in "WF" else _LETTER for c in text)


# Values with their intervals -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Axis:
    """Where values are in a drawing: from `low` at `left` to `high` at `right`, which are pixels across, or up."""

    left: float
    right: float
    low: float
    high: float

    @classmethod
    def of(cls, picture: Intervals, marks: Sequence[Mark]) -> _Axis:
        """The axis between the names and the texts of the marks, which has room for all that is finite."""
        left, right = (max((_width(text) for text in texts), default=0.0) + _GAP
                       for texts in ([mark.name for mark in marks], [mark.text for mark in marks]))  # fmt: skip
        return cls(left, _WIDTH - right, *_range(marks, picture.line, *(picture.band or ())))

    def at(self, value: float) -> float:
        """The place of a value; one beyond the axis, such as an endless end, is at that end."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.left + min(max(share, 0.0), 1.0) * (self.right - self.left), 1)


def _range(marks: Sequence[Mark], *lines: float | None) -> tuple[float, float]:
    """The ends of an axis that has room for all marks and lines that are finite."""
    ends = [end for mark in marks for end in (mark.value, mark.low, mark.high, mark.limit)]
    ends += [end for end in lines if end is not None]
    finite = [end for end in ends if math.isfinite(end)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    room = _BEYOND * (high - low) or abs(high) / 3 or 1.0
    return low - room, high + room


def ticks_of(low: float, high: float) -> tuple[list[float], int]:
    """Up to five values between two others that are easily read, and the decimals that they are written with.

    >>> ticks_of(0.31, 0.87), ticks_of(-0.012, 0.031)
    (([0.4, 0.6, 0.8], 1), ([-0.01, 0.0, 0.01, 0.02, 0.03], 2))
    """
    power = 10.0 ** math.floor(math.log10((high - low) / _N_TICKS))
    step = next(lead * power for lead in (1, 2, 5, 10) if (high - low) / (lead * power) <= _N_TICKS)
    decimals = max(-math.floor(math.log10(step) + 1e-9), 0)
    return [
        round(place * step, decimals) for place in range(math.ceil(low / step), math.floor(high / step) + 1)
    ], decimals


def _intervals(picture: Intervals) -> Iterator[str]:
    """What is behind the rows, then the rows, each a line for the interval and a mark for the value."""
    marks = picture.marks[:MOST]
    axis, bottom = _Axis.of(picture, marks), len(marks) * _ROW
    if picture.band is not None:
        low, high = map(axis.at, picture.band)
        yield f'<rect x="{low}" width="{high - low:.1f}" height="{bottom}" opacity="0.12"/>\n'
    for tick, text in _ticks(picture, axis.low, axis.high) if picture.scale != "none" else ():
        yield f'<path d="M{axis.at(tick)} 0V{bottom}" stroke="currentColor" opacity="0.12"/>'
        yield _text(text, axis.at(tick), bottom + 17, "middle", muted=True)
    if picture.line is not None:
        yield f'<path d="M{axis.at(picture.line)} 0V{bottom}" stroke="currentColor" opacity="0.7"/>\n'
    for row, mark in enumerate(marks):
        y, colour = row * _ROW + _ROW / 2, _COLOURS[mark.kind]
        yield f"<g><title>{escaped(single_line(f'{mark.name} {mark.text}'))}</title>"
        yield _text(mark.name, axis.left - _GAP, y + 4, "end")
        if not (math.isnan(mark.low) or math.isnan(mark.high)):
            ends = f"M{axis.at(mark.low)} {y}H{axis.at(mark.high)}"
            yield f'<path d="{ends}" stroke="{colour}" stroke-width="3" opacity="0.6"/>'
        if not math.isnan(mark.limit):
            yield f'<path d="M{axis.at(mark.limit)} {y - 9}v18" stroke="currentColor" stroke-dasharray="3 3"/>'
        if not math.isnan(mark.value):
            yield _mark(mark.kind, axis.at(mark.value), y, colour)
        yield _text(mark.text, _WIDTH, y + 4, "end")
        yield "</g>\n"


def _ticks(picture: Intervals | Course, low: float, high: float) -> Iterator[tuple[float, str]]:
    """Values that are marked along an axis, and how they are written."""
    ticks, decimals = ticks_of(low, high)
    for tick in ticks:
        sign = "+" if picture.scale == "differences" and tick > 0 else ""
        yield tick, sign + rounded(tick, decimals)


def _mark(kind: Kind, x: float, y: float, colour: str, *, small: bool = False) -> str:
    """A mark whose shape says what its colour says: up for better, down for worse, round for all else."""
    if kind not in ("better", "worse"):
        return f'<circle cx="{x}" cy="{y}" r="{3 if small else 5}" fill="{colour}"/>'
    up = -1 if kind == "better" else 1
    return f'<path d="M{x} {y + up * 6}l6 {-up * 11}h-12z" fill="{colour}"/>'


# Values one after another --------------------------------------------------------------------------------------------


def _course(picture: Course) -> Iterator[str]:
    """Lines of the values that are marked, then the band or the bars, and the values with what they are."""
    points, (low, high) = picture.points, _range(picture.points, picture.line)
    ticks, axis = list(_ticks(picture, low, high)), _Axis(_TALL, _SIZE, low, high)
    left = max((_width(text) for _, text in ticks), default=0.0) + 2 * _GAP
    named = max((_width(point.name) for point in points), default=0.0)
    for tick, text in ticks:
        yield f'<path d="M{left} {axis.at(tick)}H{_WIDTH}" stroke="currentColor" opacity="0.12"/>'
        yield _text(text, left - _GAP, axis.at(tick) + 4, "end", muted=True)
    if picture.line is not None:
        yield f'<path d="M{left} {axis.at(picture.line)}H{_WIDTH}" stroke="currentColor" opacity="0.7"/>\n'
    step = (_WIDTH - left - named) / max(len(points), 1)
    x = [round(left + named / 2 + step * (place + 0.5), 1) for place in range(len(points))]
    if picture.joined:
        yield from _band(axis, x, points)
    every = math.ceil((named + _GAP) / step)
    for place, (at, point) in enumerate(zip(x, points, strict=True)):
        yield f"<g><title>{escaped(single_line(f'{point.name}: {point.text}'))}</title>"
        if not (picture.joined or math.isnan(point.low) or math.isnan(point.high)):
            ends = f"M{at} {axis.at(point.low)}V{axis.at(point.high)}"
            yield f'<path d="{ends}" stroke="{_COLOURS[point.kind]}" stroke-width="3" opacity="0.6"/>'
        if not math.isnan(point.value):
            yield _mark(point.kind, at, axis.at(point.value), _COLOURS[point.kind], small=picture.joined)
        if place % every == 0:
            yield _text(point.name, at, _TALL + 17, "middle", muted=True)
        yield "</g>\n"


def _band(axis: _Axis, x: Sequence[float], points: Sequence[Mark]) -> Iterator[str]:
    """A band of the intervals and a line of the values, for each stretch in which all of them are there."""
    is_there = [math.isfinite(point.value) and not math.isnan(point.low + point.high) for point in points]
    for there, group in groupby(range(len(points)), is_there.__getitem__):
        if there:
            run = list(group)
            ends = [f"{x[place]} {axis.at(points[place].low)}" for place in run]
            ends += [f"{x[place]} {axis.at(points[place].high)}" for place in reversed(run)]
            yield f'<path d="M{"L".join(ends)}Z" fill="{NEUTRAL}" opacity="0.25"/>'
            line = "L".join(f"{x[place]} {axis.at(points[place].value)}" for place in run)
            yield f'<path d="M{line}" fill="none" stroke="{NEUTRAL}" stroke-width="2"/>\n'


# Bars of shares ------------------------------------------------------------------------------------------------------


def _bars(picture: Shares) -> Iterator[str]:
    bars = picture.bars[:MOST]
    left = max((_width(name) for name, _ in bars), default=0.0) + _GAP
    for row, (name, parts) in enumerate(bars):
        y, total, begin = row * _ROW, sum(part.n for part in parts), left
        yield _text(name, left - _GAP, y + _ROW / 2 + 4, "end")
        for part in parts:
            share = part.n / total if total else 0.0
            width = share * (_WIDTH - left)
            if not part.n:
                continue
            yield (
                f"<g><title>{escaped(single_line(f'{name}, {part.name}: {part.n:,} ({percent(share)})'))}</title>"
                f'<rect x="{begin:.1f}" y="{y + 3}" width="{width:.1f}" height="{_ROW - 6}" fill="{part.fill}"/>'
            )
            if share >= _LABEL_FROM:
                yield _text(percent(share), begin + width / 2, y + _ROW / 2 + 4, "middle", colour=part.ink)
            yield "</g>\n"
            begin += width


def _key(picture: Shares) -> str:
    """The classes with their colours, as a line of text that wraps."""
    names = (_swatch(part) for part in picture.classes)
    return f'<p class="key">{" ".join(names)}</p>\n'


def _swatch(part: Part) -> str:
    return (
        f'<span><svg width="11" height="11" viewBox="0 0 11 11" aria-hidden="true"><rect width="11" height="11" '
        f'fill="{part.fill}"/></svg> {escaped(part.name)}</span>'
    )


# Text, which SVG does not measure ------------------------------------------------------------------------------------


def _width(text: str) -> float:
    return min(_SIZE * ems(single_line(text)), _LONGEST)


def _text(text: str, x: float, y: float, anchor: str, *, colour: str = "", muted: bool = False) -> str:
    """A text at a place, cut with an ellipsis where it is too long."""
    shown = single_line(text)
    if _SIZE * ems(shown) > _LONGEST:
        while _SIZE * ems(f"{shown}…") > _LONGEST:
            shown = shown[:-1]
        shown += "…"
    style = f' fill="{colour}"' if colour else ' opacity="0.75"' if muted else ""
    return f'<text x="{x:.1f}" y="{y:g}" text-anchor="{anchor}"{style}>{escaped(shown)}</text>'
