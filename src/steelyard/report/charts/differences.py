"""Is the difference real: of every system the difference to the reference and its interval, around a line at zero."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from steelyard.comparison.result import Comparison, ComparisonRow
from steelyard.report.charts.plot import LISTED, altair, finite, height_of, plot, systems_axis, titled, tooltips
from steelyard.report.charts.theme import GOOD, NEUTRAL, POOR
from steelyard.report.contents import Contents
from steelyard.report.sheets.sheet import p_text
from steelyard.report.sheets.verdicts import difference_text, interval_text, verdict_ends, verdict_text
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_KINDS = {"better": (GOOD, "triangle-up"), "worse": (POOR, "triangle-down"), "unclear": (NEUTRAL, "circle")}
"""Colour and shape of what is shown of a system."""


def draw(contents: Contents, words: Words, measure: int = 0) -> TopLevelMixin | None:
    """Systems down, their differences to the baseline or leader across; None without another system with a difference.

    A band shows the margin, where there is one.
    """
    comparison = contents.comparison
    if comparison is None:
        return None
    name = str(comparison.measures[measure])
    compared = [row for row in comparison.rows[name] if not row.is_reference and math.isfinite(row.difference)]
    if not compared:
        return None
    alt, rows = altair(), [_row(row, comparison, words) for row in compared]
    kinds = [kind for kind in _KINDS if any(_kind(row) == kind for row in compared)]
    domain = [words(f"charts.differences.{kind}") for kind in kinds]
    reference = single_line(comparison.reference)
    title = words("charts.differences.axis", measure=name, reference=reference)
    axis = alt.Axis(tickCount=6, labelExpr="datum.value === 0 ? '0' : format(datum.value, '+')")
    x = alt.X("difference:Q", title=title, scale=alt.Scale(zero=True, nice=True, padding=12), axis=axis)
    y = systems_axis([row["system"] for row in rows])
    tooltip = tooltips(words, system="N", difference="Q:+.4f", low="Q:+.4f", high="Q:+.4f", p="N", verdict="N")
    colour = alt.Color("kind:N", sort=domain, title=None, legend=alt.Legend(symbolOpacity=1), scale=alt.Scale(
        domain=domain, range=[_KINDS[kind][0] for kind in kinds]))  # fmt: skip
    shape = alt.Shape("kind:N", sort=domain, title=None, scale=alt.Scale(
        domain=domain, range=[_KINDS[kind][1] for kind in kinds]))  # fmt: skip
    layers = [
        plot([{"zero": 0}]).mark_rule(strokeWidth=1).encode(x=alt.X("zero:Q", title=title)),
        plot([row for row in rows if row["low"] is not None]).mark_rule(strokeWidth=3, opacity=0.6).encode(
            y=y, x=alt.X("low:Q", title=title), x2="high:Q", color=colour, tooltip=tooltip),
        plot(rows).mark_point(filled=True, size=90, opacity=1).encode(
            y=y, x=x, color=colour, shape=shape, tooltip=tooltip),
    ]  # fmt: skip
    if comparison.margin is not None:
        ends = [{"from": -comparison.margin, "to": comparison.margin}]
        band = plot(ends).mark_rect(opacity=0.12, color=NEUTRAL).encode(x=alt.X("from:Q", title=title), x2="to:Q")
        layers.insert(0, band)
    texts = [_text(row, comparison, words) for row in compared]
    values = {"measure": name, "reference": reference, "listed": words.listed(texts, LISTED)}
    return titled(alt.layer(*layers), "differences", words, values, height=height_of(len(rows)))


def _kind(row: ComparisonRow) -> str:
    return row.verdict if row.verdict in _KINDS else "unclear"


def _row(row: ComparisonRow, comparison: Comparison, words: Words) -> dict[str, Any]:
    low, high = verdict_ends(row)
    return {
        "system": single_line(row.system), "difference": row.difference, "low": finite(low), "high": finite(high),
        "p": p_text(row.adjusted), "kind": words(f"charts.differences.{_kind(row)}"),
        "verdict": verdict_text(row, comparison, words),
    }  # fmt: skip


def _text(row: ComparisonRow, comparison: Comparison, words: Words) -> str:
    return words("charts.differences.of", system=single_line(row.system), difference=difference_text(row),
                 interval=interval_text(row, comparison, words),
                 verdict=verdict_text(row, comparison, words))  # fmt: skip
