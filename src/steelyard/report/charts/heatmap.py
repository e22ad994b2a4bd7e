"""Where systems differ most: systems down, questions across, the value as colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steelyard.report.charts.plot import altair, finite, height_of, plot, systems_axis, titled, tooltips
from steelyard.report.contents import Contents
from steelyard.report.details.singled import widest_questions
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin


def draw(contents: Contents, words: Words) -> TopLevelMixin | None:
    """The questions of `widest_questions`; None for one system."""
    scores = contents.scores
    if len(scores.systems) < 2:
        return None
    alt, shown, order = altair(), widest_questions(contents.scores.values[:, 0]), contents.by_mean()
    # Questions by number: two ids may look alike once control characters are made visible.
    names, ids = ([single_line(text) for text in texts] for texts in (scores.systems, scores.query_ids))
    singled = np.searchsorted(contents.details.places, shown).tolist()
    rows = [
        {"system": names[i], "place": place, "question": ids[q], "q": number, "value": finite(scores.values[i, 0, q])}
        for place, (q, number) in enumerate(zip(shown.tolist(), singled, strict=True)) for i in order
    ]  # fmt: skip
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
