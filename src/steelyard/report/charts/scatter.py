"""Do two systems fail on the same questions: two systems against each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.measures import Measure
from steelyard.report.charts.plot import altair, plot, titled, tooltips
from steelyard.report.contents import Contents
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_SIDE = 440


def scatter_pair(contents: Contents) -> tuple[int, int] | None:
    """The system that others are shown beside, and the best other one; None for one system."""
    order = contents.by_mean()
    if len(order) < 2:
        return None
    first = order[1]
    if contents.comparison is not None:
        first = list(contents.scores.systems).index(contents.comparison.reference)
    return first, next(i for i in order if i != first)


def draw(contents: Contents, words: Words) -> TopLevelMixin | None:
    """A point for each question that is shown one by one, larger where several questions coincide."""
    pair = scatter_pair(contents)
    if pair is None:
        return None
    alt, scores = altair(), contents.scores
    details = contents.details
    across, up = (scores.values[i, 0, details.places] for i in pair)
    both = ~(np.isnan(across) | np.isnan(up))
    points, n = np.unique(np.round(np.stack([across[both], up[both]], axis=1), 3), axis=0, return_counts=True)
    rows = [{"x": x, "y": y, "n": count} for (x, y), count in zip(points.tolist(), n.tolist(), strict=True)]
    low, high = _ends(scores.measures[0], points)
    names = [single_line(scores.systems[i]) for i in pair]
    scale = alt.Scale(domain=[low, high], nice=False)
    x = alt.X("x:Q", title=names[0], scale=scale, axis=alt.Axis(tickCount=5))
    y = alt.Y("y:Q", title=names[1], scale=scale, axis=alt.Axis(tickCount=5))
    diagonal = (
        plot([{"x": low, "y": low, "to": high}]).mark_rule(strokeDash=[4, 4]).encode(x=x, y=y, x2="to:Q", y2="to:Q")
    )
    size = alt.Size("n:Q", title=words("charts.field.n"), legend=None, scale=alt.Scale(range=[36, 420], domainMin=1))
    dots = plot(rows).mark_point(filled=True, opacity=0.55, cursor="pointer").encode(
        x=x, y=y, size=size, tooltip=tooltips(words, x="Q:.3f", y="Q:.3f", n="Q:,d"))  # fmt: skip
    above, below = (int(n[side].sum()) for side in (points[:, 1] > points[:, 0], points[:, 1] < points[:, 0]))
    values = {"measure": str(scores.measures[0]), "across": names[0], "up": names[1], "above": above, "below": below,
              "even": int(both.sum()) - above - below}  # fmt: skip
    if len(details.places) < details.n_questions:
        values |= {"n": f"{len(details.places):,}", "total": f"{details.n_questions:,}"}
        return titled(alt.layer(diagonal, dots), "sampled_scatter", words, values, height=_SIDE, width=_SIDE)
    return titled(alt.layer(diagonal, dots), "scatter", words, values, height=_SIDE, width=_SIDE)


def _ends(measure: Measure, points: Floats) -> tuple[float, float]:
    """Both ends of the axes: the range of the measure, or else that of the points (p, 2)."""
    low, high = measure.definition.range
    if math.isfinite(low) and math.isfinite(high):
        return low, high
    return (float(points.min()), float(points.max())) if len(points) else (0.0, 1.0)
