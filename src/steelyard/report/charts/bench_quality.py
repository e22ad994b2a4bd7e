"""Quality by the number of candidates that are reranked, between the base and the ceiling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from steelyard.bench.bench import Bench
from steelyard.report.charts.plot import LISTED, WIDTH, altair, beside, plot, series, titled, tooltips
from steelyard.report.sheets.bench_cells import Row, places_of, rows_of
from steelyard.report.sheets.sheet import number
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_HEIGHT = 300


def draw(bench: Bench, words: Words) -> TopLevelMixin | None:
    """A line a reranker with intervals of its differences to the base; None where nothing was reranked."""
    if bench.quality.is_empty():
        return None
    alt, measure = altair(), bench.quality["measure"][0]
    of_measure = rows_of(bench.quality.filter(pl.col("measure") == measure, pl.col("reranked").is_not_nan()))
    if not of_measure:
        return None
    points = [_point(row) for row in of_measure]
    depths = sorted({row["depth"] for row in of_measure})
    ceilings = {row["depth"]: row["ceiling"] for row in of_measure if row["ceiling"] is not None}
    systems = list(dict.fromkeys(point["system"] for point in points))
    points = [{**point, "at": beside(point["depth"], point["system"], systems)} for point in points]
    x = alt.X("depth:Q", title=words("charts.bench_quality.axis"), scale=alt.Scale(type="log", nice=False, padding=24),
              axis=alt.Axis(values=depths, format="d", grid=False))  # fmt: skip
    y = alt.Y("value:Q", title=measure, scale=alt.Scale(zero=False, padding=8), axis=alt.Axis(tickCount=6))
    colour = series("system", systems, places_of(dict.fromkeys(row["system"] for row in of_measure), bench.config))
    at = alt.X("at:Q")
    lines = plot(points).encode(x=at, y=y, color=colour, tooltip=tooltips(
        words, system="N", depth="Q:d", value="Q:.4f", low="Q:.4f", high="Q:.4f"))  # fmt: skip
    ends = plot(points).mark_rule(strokeWidth=2, opacity=0.4).encode(x=at, y=alt.Y("low:Q"), y2="high:Q", color=colour)
    ceiling = plot([{"depth": depth, "value": value} for depth, value in sorted(ceilings.items())]).encode(x=x, y=y)
    base = plot([{"value": of_measure[0]["base"], "depth": depths[0]}]).encode(y=y)
    layers = [
        base.mark_rule(strokeDash=[4, 4]),
        base.mark_text(align="right", dy=9, text=words("charts.bench_quality.base")).encode(x=alt.value(WIDTH)),
        ceiling.mark_line(strokeDash=[2, 3], strokeWidth=1.5, opacity=0.7),
        ceiling.mark_point(filled=True, size=30, opacity=0.7), ends, lines.mark_line(strokeWidth=2),
        lines.mark_point(filled=True, size=60, opacity=1),
    ]  # fmt: skip
    if ceilings:
        label = plot([{"depth": max(ceilings), "value": ceilings[max(ceilings)]}]).mark_text(
            align="right", dy=-10, text=words("charts.bench_quality.ceiling"))  # fmt: skip
        layers.append(label.encode(x=x, y=y))
    values = {"measure": measure, "base": number(of_measure[0]["base"], 3),
              "listed": words.listed([_text(row, words) for row in of_measure], LISTED)}  # fmt: skip
    return titled(alt.layer(*layers), "bench_quality", words, values, height=_HEIGHT)


def _point(row: Row) -> dict[str, Any]:
    """The mean after reranking, with the interval of its difference to the base around it."""
    low, high = paired_ends(row, row["reranked"])
    return {"system": single_line(row["system"]), "depth": row["depth"], "value": row["reranked"], "low": low,
            "high": high}  # fmt: skip


def paired_ends(row: Row, mean: float) -> tuple[float, float]:
    """The interval of the difference of a row of the quality, laid around a mean; the mean where there is none."""
    ends = row["difference_low"], row["difference_high"]
    if row["difference"] is None or None in ends:
        return mean, mean
    low, high = (mean + end - row["difference"] for end in ends)
    return low, high


def _text(row: Row, words: Words) -> str:
    return words("charts.bench_quality.of", system=single_line(row["system"]), depth=row["depth"],
                 value=number(row["reranked"], 3), ceiling=number(row["ceiling"], 3))  # fmt: skip
