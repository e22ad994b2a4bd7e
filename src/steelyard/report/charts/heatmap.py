"""Where systems differ most: systems down, questions across, the value as colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steelyard.base.arrays import Bools, Ints
from steelyard.report.charts.plot import altair, finite, height_of, plot, systems_axis, titled, tooltips
from steelyard.report.contents import Contents
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_CELLS = 4_500
_MOST_QUESTIONS = 150


def draw(contents: Contents, words: Words) -> TopLevelMixin | None:
    """The questions of `spread_questions`; None for one system."""
    scores = contents.scores
    if len(scores.systems) < 2:
        return None
    alt, shown, order = altair(), spread_questions(contents), contents.by_mean()
    # Questions by number: two ids may look alike once control characters are made visible.
    names, ids = ([single_line(text) for text in texts] for texts in (scores.systems, scores.query_ids))
    rows = [{"system": names[i], "place": place, "question": ids[q], "q": q, "value": finite(scores.values[i, 0, q])}
            for place, q in enumerate(shown.tolist()) for i in order]  # fmt: skip
    measure = str(scores.measures[0])
    colour = alt.Color("value:Q", title=measure, scale=alt.Scale(range="heatmap", interpolate="rgb"),
                       legend=alt.Legend(gradientLength=180, gradientThickness=10, format=".2~f"))  # fmt: skip
    cells = plot(rows).mark_rect(cursor="pointer").encode(
        x=alt.X("place:O", title=words("charts.heatmap.axis"), axis=alt.Axis(labels=False, ticks=False)),
        y=systems_axis([names[i] for i in order]), color=colour,
        tooltip=tooltips(words, question="N", system="N", value="Q:.4f"))  # fmt: skip
    total = len(scores.query_ids)
    questions = words(f"charts.heatmap.{'some' if len(shown) < total else 'all'}", shown=len(shown), n=total)
    values = {"measure": measure, "questions": questions}
    return titled(cells, "heatmap", words, values, height=height_of(len(order)))


def spread_questions(contents: Contents) -> Ints:
    """Places of the questions on which the systems differ most by the first measure, at most 150; best mean first.

    Of equally large differences the first question is taken; questions without a value for some system come last.
    """
    values = contents.scores.values[:, 0]
    most = min(_MOST_QUESTIONS, max(20, _CELLS // max(len(values), 1)))
    there = ~np.isnan(values)
    some: Bools = np.asarray(there.any(axis=0))
    spread = np.where(there, values, -np.inf).max(axis=0) - np.where(there, values, np.inf).min(axis=0)
    order = np.lexsort((np.arange(values.shape[1]), -np.where(some, spread, -1.0), ~there.all(axis=0)))
    widest = order[some[order]][:most]
    mean = np.where(there, values, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.asarray(widest[np.lexsort((widest, -mean[widest]))])
