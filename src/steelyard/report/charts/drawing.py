"""Every chart of a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from steelyard.report.charts import (
    ceilings,
    curves,
    differences,
    distribution,
    funnel,
    heatmap,
    leaderboard,
    outcomes,
    scatter,
)
from steelyard.report.contents import Contents
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

CHARTS: dict[str, Callable[[Contents, Words], TopLevelMixin | None]] = {
    "leaderboard": leaderboard.draw, "differences": differences.draw, "curves": curves.draw,
    "distribution": distribution.draw, "scatter": scatter.draw, "funnel": funnel.draw, "ceilings": ceilings.draw,
    "heatmap": heatmap.draw, "outcomes": outcomes.draw,
}  # fmt: skip
"""What draws each chart; None where there is nothing to draw."""

_OF_GOLD = frozenset({"funnel", "ceilings", "curves"})
_OF_PRIMARY = frozenset({"scatter", "heatmap"})
"""Charts of the values of the primary measure alone."""


def draw_charts(contents: Contents, *, words: Words) -> dict[str, TopLevelMixin]:
    """Every chart that a report has something to draw for, by name.

    leaderboard   mean and interval of every system;   differences   to the baseline;   curves   measures by depth
    distribution  shares of questions by their value;   scatter   two systems, question by question
    funnel        where the gold was lost;   ceilings   what could be reached
    heatmap       the questions on which systems differ most;   outcomes   what became of the questions

    Those of gold are left out where no question has any, and those of values where there are none.
    Raises   MissingExtraError without altair.
    """
    scores, left_out = contents.scores, set[str]() if contents.diagnosis.has_gold else {*_OF_GOLD}
    left_out |= _OF_PRIMARY if scores.primary in scores.without_gold else set()
    left_out |= {"distribution"} if scores.lacks_gold.all() else set()
    charts = ((name, draw(contents, words)) for name, draw in CHARTS.items() if name not in left_out)
    return {name: chart for name, chart in charts if chart is not None}
