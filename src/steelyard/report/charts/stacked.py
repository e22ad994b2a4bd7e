"""Bars of shares: of every system one bar of all its questions, cut into classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.base.arrays import Ints
from steelyard.report.charts.plot import altair, plot, systems_axis, tooltips
from steelyard.report.sheets.sheet import percent
from steelyard.report.words import Words

_LABEL_FROM = 0.08


def stacked(
    area: str, systems: Sequence[str], classes: Sequence[str], counts: Ints, *, fills: Sequence[str],
    inks: Sequence[str], words: Words,
) -> Any:  # fmt: skip
    """A bar for each system.

    area     the chart, whose texts the catalogue has
    counts   (s, c) questions of each system and class;   fills, inks   (c,) colours of bars and of their labels
    """
    alt = altair()
    rows = [
        row for system, n in zip(systems, counts.tolist(), strict=True) for row in _segments(system, classes, n, inks)
    ]
    y, title = systems_axis(systems), words(f"charts.{area}.class")
    colour = alt.Color(
        "class:N", sort=list(classes), title=title, scale=alt.Scale(domain=list(classes), range=list(fills))
    )
    x = alt.X("from:Q", title=words(f"charts.{area}.share"), scale=alt.Scale(domain=[0, 1], nice=False),
              axis=alt.Axis(format="%", tickCount=5))  # fmt: skip
    tooltip = tooltips(words, system="N", n="Q:,d", share="Q:.1%")
    tooltip.insert(1, alt.Tooltip("class:N", title=title))
    bars = plot(rows).mark_bar(height={"band": 0.74}).encode(y=y, x=x, x2="to:Q", color=colour, tooltip=tooltip)
    wide = plot(rows).transform_filter(alt.datum.share >= _LABEL_FROM)
    labels = wide.mark_text(fontSize=11, baseline="middle").encode(
        y=y, x=alt.X("middle:Q"), text="label:N", color=alt.Color("ink:N", scale=None), tooltip=tooltip
    )
    return alt.layer(bars, labels)


def _segments(
    system: str, classes: Sequence[str], counts: Sequence[int], inks: Sequence[str]
) -> list[dict[str, Any]]:  # fmt: skip
    """The pieces of one bar, from left to right; classes without questions have none."""
    total, begin, rows = sum(counts), 0, []
    for name, ink, n in zip(classes, inks, counts, strict=True):
        if n:
            rows.append({"system": system, "class": name, "n": n, "share": n / total, "label": percent(n / total),
                         "from": begin / total, "to": (begin + n) / total,
                         "middle": (begin + n / 2) / total, "ink": ink})  # fmt: skip
        begin += n
    return rows
