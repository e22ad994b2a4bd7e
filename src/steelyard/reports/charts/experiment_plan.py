"""What a planned A/B test can show by its length: a curve of one look, a curve of many, and what is to be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.abtests.planning import ExperimentPlan, PlannedLength
from steelyard.reports.charts.plot import altair, dashed, named_colours, plot, titled
from steelyard.reports.views.experiment_plan import difference_text
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_HEIGHT = 280
_ANALYSES = {"fixed": "detectable", "always_valid": "always_valid"}
"""Analyses, and the field of a length that has what each shows."""


def draw_plan(plan: ExperimentPlan, words: Words) -> TopLevelMixin:
    """Days across, the smallest difference up; the dashed line is the difference that is to be shown."""
    alt = altair()
    scale = 100 / abs(plan.baseline) if plan.is_relative else 1.0
    names = {analysis: words(f"ab_plan.head.{analysis}") for analysis in _ANALYSES}
    rows = [_point(plan, row, analysis, names[analysis], scale) for analysis in _ANALYSES for row in plan.lengths]
    title = words("charts.ab_plan.y_relative" if plan.is_relative else "charts.ab_plan.y")
    x = alt.X("days:Q", title=words("ab_plan.head.days"), scale=alt.Scale(zero=False, padding=12), axis=alt.Axis(
        values=[row.days for row in plan.lengths][:: max(len(plan.lengths) // 8, 1)], grid=False
    ))  # fmt: skip
    y = alt.Y("difference:Q", title=title, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=6))
    colour = named_colours("analysis", list(names.values()))
    layers = [
        plot(rows).mark_line(aria=False).encode(x=x, y=y, color=colour),
        plot(rows)
        .mark_point(filled=True, size=45, opacity=1)
        .encode(x=x, y=y, color=colour, description=alt.Description("text:N")),
        dashed([{"difference": plan.difference * scale}]).encode(y=alt.Y("difference:Q")),
    ]
    values = {"metric": single_line(plan.metric), "difference": difference_text(plan, plan.difference)}
    listed = [row["text"] for row in rows[: len(plan.lengths)]]
    return titled(layers, "ab_plan", words, values, height=_HEIGHT, listed=listed)


def _point(plan: ExperimentPlan, row: PlannedLength, analysis: str, name: str, scale: float) -> dict[str, Any]:
    difference = float(getattr(row, _ANALYSES[analysis]))
    text = f"{name}: {row.days} – {difference_text(plan, difference)}"
    return {"days": row.days, "difference": difference * scale, "analysis": name, "text": text}
