"""A forest plot: the mean of every system and its interval, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.report.charts.plot import LISTED, altair, finite, height_of, plot, systems_axis, titled, tooltips
from steelyard.report.contents import Contents
from steelyard.report.sheets.sheet import number
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin


def draw(contents: Contents, words: Words, measure: int = 0) -> TopLevelMixin:
    """Systems down, the mean of a measure across, its interval as a line."""
    alt, scores, reported = altair(), contents.scores, contents.scores.reported
    means, low, high = (values[:, measure] for values in (reported.mean, reported.low, reported.high))
    rows = [{"system": single_line(scores.systems[i]), "mean": finite(means[i]), "low": finite(low[i]),
             "high": finite(high[i])} for i in contents.by_mean(measure)]  # fmt: skip
    name = str(scores.measures[measure])
    x = alt.X("mean:Q", title=name, scale=alt.Scale(zero=False, nice=True, padding=12), axis=alt.Axis(tickCount=6))
    tooltip = tooltips(words, system="N", mean="Q:.4f", low="Q:.4f", high="Q:.4f")
    y = systems_axis([str(row["system"]) for row in rows])
    interval = plot(rows).mark_rule(strokeWidth=3, opacity=0.45).encode(
        y=y, x=alt.X("low:Q", title=name, scale=alt.Scale(zero=False)), x2="high:Q", tooltip=tooltip)  # fmt: skip
    mean = plot(rows).mark_point(filled=True, size=90, opacity=1).encode(y=y, x=x, tooltip=tooltip)
    values = {"measure": name, "listed": words.listed([_with_interval(row) for row in rows], LISTED)}
    return titled(alt.layer(interval, mean), "leaderboard", words, values, height=height_of(len(rows)))


def _with_interval(row: dict[str, Any]) -> str:
    mean, low, high = (number(row[key]) for key in ("mean", "low", "high"))
    return f"{row['system']} {mean} [{low}, {high}]"
