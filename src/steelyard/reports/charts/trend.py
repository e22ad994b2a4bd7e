"""A trend in a picture: means of entries over time, levels, breaks, and what is known of each point."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from steelyard.history.trend import Level, TrendLine
from steelyard.reports.charts.plot import altair, dots, plot, titled
from steelyard.reports.views.colours import GOOD, NEUTRAL, POOR
from steelyard.reports.views.numbers import ends, number, signed
from steelyard.reports.views.trend import place_text
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

MOST_POINTS = 1000
"""Entries that a chart shows; of more, those in which something changed and every so many of the others."""
_HEIGHT = 300
_FEW_DAYS = timedelta(days=5)
_LONGEST = 60
_NAMED_SETTINGS = 12
_COLOURS = {"pass": GOOD, "fail": POOR, "insufficient": NEUTRAL}
_SHAPES = {"pass": "triangle-up", "fail": "triangle-down", "insufficient": "diamond"}


def shown_rows(line: TrendLine) -> list[int]:
    """Places of the entries that a chart shows."""
    n = len(line.frame)
    if n <= MOST_POINTS:
        return list(range(n))
    starts = {level.place for stretch in line.stretches for level in stretch.levels}
    ends = {level.place + level.n - 1 for stretch in line.stretches for level in stretch.levels}
    gated = [place for place, outcome in enumerate(line.frame["outcome"]) if outcome is not None]
    marked = starts | ends | {*line.new_corpora} | {*gated[-(MOST_POINTS // 2) :]}
    step = -(-n // max(MOST_POINTS - len(marked), 1))
    return sorted(marked | {*range(0, n, step)})


def draw_line(line: TrendLine, words: Words) -> TopLevelMixin:
    """Time across, the mean up with its interval as a band; levels as lines, a rule where the gold changed.

    A point whose entry a gate judged has the shape and colour of the outcome.  Each has a description: when, which
    commit and entry, mean, interval, questions, outcome, and the settings that differ between entries.
    """
    alt, stretches = altair(), sorted({stretch.place for stretch in line.stretches})
    rows = [_point(line, place, words) for place in shown_rows(line)]
    x = alt.X("time:T", title=None, axis=alt.Axis(grid=False, format=_axis_format(line), tickCount=5))
    y = alt.Y("mean:Q", title=line.measure, scale=alt.Scale(zero=False, padding=8), axis=alt.Axis(tickCount=6))
    by_stretch, base = alt.Detail("stretch:N"), plot(rows).encode(x=x)
    level_rows = [_level(line, level) for stretch in line.stretches for level in stretch.levels]
    changes = [{"time": _time(line, level.place)} for level in line.changes]
    breaks = [{"time": _time(line, place)} for place in stretches[1:]]
    plain, gated = ([row for row in rows if (row["outcome"] is None) == own] for own in (True, False))
    description = alt.Description("text:N")
    layers = [
        base.mark_area(opacity=0.14, aria=False).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), detail=by_stretch),
        base.mark_line(strokeWidth=1, opacity=0.6, aria=False).encode(y=y, detail=by_stretch),
        plot(level_rows)
        .mark_rule(strokeWidth=3, opacity=0.55, aria=False)
        .encode(x=alt.X("time:T"), x2=alt.X2("end:T"), y=y),
        plot(changes).mark_rule(strokeDash=[4, 4], aria=False).encode(x=alt.X("time:T")),
        plot(breaks).mark_rule(strokeWidth=2, aria=False).encode(x=alt.X("time:T")),
        dots(plain, size=28, x=x, y=y, description=description),
    ]
    if gated:
        names = [name for name in _COLOURS if any(row["outcome"] == name for row in gated)]
        texts = [words(f"gate.outcome.{name}") for name in names]
        domain = {"domain": texts}
        colour = alt.Color("gate:N", title=None, scale=alt.Scale(range=[_COLOURS[name] for name in names], **domain))
        shape = alt.Shape("gate:N", title=None, scale=alt.Scale(range=[_SHAPES[name] for name in names], **domain))
        layers.append(dots(gated, size=70, x=x, y=y, color=colour, shape=shape, description=description))
    listed = [_level_text(line, level, words) for stretch in line.stretches for level in stretch.levels]
    values = {"measure": line.measure, "system": single_line(line.system)}
    return titled(layers, "trend", words, values, height=_HEIGHT, listed=listed)


def _axis_format(line: TrendLine) -> str:
    """How the axis names a time: its day, or of a few days the minute."""
    times = line.frame["time"].to_list()
    return "%Y-%m-%d" if max(times) - min(times) > _FEW_DAYS else "%m-%d %H:%M"


def _time(line: TrendLine, place: int) -> str:
    return str(line.frame["time"][place].strftime("%Y-%m-%dT%H:%M:%SZ"))


def _point(line: TrendLine, place: int, words: Words) -> dict[str, Any]:
    row = line.frame.row(place, named=True)
    return {
        "time": _time(line, place), "mean": row["mean"], "low": row["low"], "high": row["high"],
        "stretch": row["stretch"], "outcome": row["outcome"], "text": "\n".join(_facts(line, row, words)),
        "gate": None if row["outcome"] is None else words(f"gate.outcome.{row['outcome']}"),
    }  # fmt: skip


def _facts(line: TrendLine, row: Mapping[str, Any], words: Words) -> Iterator[str]:
    """What is known of an entry, a fact a line."""
    yield f"{row['time']:%Y-%m-%d %H:%M} UTC"
    yield f"{line.measure} {number(row['mean'])} [{ends(row['low'], row['high'])}]"
    facts = {"entry": row["entry"], "commit": row["commit"] and row["commit"][:12], "questions": f"{row['n']:,}"}
    facts["gate"] = row["outcome"] and words(f"gate.outcome.{row['outcome']}")
    for name, fact in facts.items():
        if fact is not None:
            yield words("charts.trend.fact", name=words(f"charts.trend.{name}"), value=fact)
    for name, value in [*line.settings.get(row["config"] or "", {}).items()][:_NAMED_SETTINGS]:
        yield words("charts.trend.fact", name=single_line(name), value=single_line(value)[:_LONGEST])


def _level(line: TrendLine, level: Level) -> dict[str, Any]:
    return {
        "time": _time(line, level.place), "end": _time(line, level.place + level.n - 1), "mean": level.mean,
    }  # fmt: skip


def _level_text(line: TrendLine, level: Level, words: Words) -> str:
    """A level in words: since when, its mean, and by how much it changed."""
    text = f"{place_text(line, level.place, words)} {number(level.mean, 3)}"
    return text if math.isnan(level.difference) else f"{text} ({signed(level.difference, 3)})"


STYLE = """.plot path[role="graphics-symbol"]:hover { stroke: var(--ink); stroke-width: 4; }
"""
"""CSS of a page with a trend: the point whose description is shown."""


def with_titles(svg: str) -> str:
    """A drawing in which browsers show the description of a point where the pointer rests on it.

    >>> with_titles('<path aria-label="2026-05-01" d="M0"/>')
    '<path aria-label="2026-05-01" d="M0"><title>2026-05-01</title></path>'
    """

    def titled_path(path: re.Match[str]) -> str:
        title = html.escape(html.unescape(path[1]))
        return f'<path aria-label="{path[1]}"{path[2]}><title>{title}</title></path>'

    return re.sub(r'<path aria-label="([^"]*)"([^>]*?)/>', titled_path, svg)
