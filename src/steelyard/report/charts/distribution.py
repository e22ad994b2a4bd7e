"""Are all questions alike: shares of the questions of every system, by their value."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.measures import Measure
from steelyard.report.charts.plot import LISTED, height_of, titled
from steelyard.report.charts.stacked import stacked
from steelyard.report.charts.theme import ON_STEPS, STEPS
from steelyard.report.contents import Contents
from steelyard.report.sheets.sheet import percent
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin


def draw(contents: Contents, words: Words, measure: int = 0) -> TopLevelMixin:
    """Of every system a bar of shares of questions, by the class of their value."""
    scores, order = contents.scores, contents.by_mean(measure)
    spec = scores.measures[measure]
    names, of = value_classes(scores.values[:, measure], spec)
    counts = np.array([[int((of[i] == c).sum()) for c in range(len(names))] for i in order]).reshape(len(order), -1)
    systems = [single_line(scores.systems[i]) for i in order]
    shares = [
        words("charts.distribution.of", system=system, none=_percent(row[0], sum(row)), all=_percent(row[-1], sum(row)))
        for system, row in zip(systems, counts.tolist(), strict=True)
    ]
    bars = stacked("distribution", systems, names, counts, fills=STEPS, inks=ON_STEPS, words=words)
    values = {"measure": str(spec), "listed": words.listed(shares, LISTED)}
    return titled(bars, "distribution", words, values, height=height_of(len(order)))


def value_classes(values: Floats, measure: Measure) -> tuple[list[str], Ints]:
    """Names of the value classes of a measure, lowest first, and the class of each value; -1 where there is none.

    A measure from 0 to 1 has 0 and 1 as classes of their own, for these are what most questions get, and four quarters
    between them; any other has six classes of equal width.

    >>> from steelyard.measures import parse
    >>> names, of = value_classes(np.array([0, 0.1, 0.25, 1, np.nan]), parse("recall@5"))
    >>> names[1], of.tolist()
    ('0–0.25', [0, 1, 2, 5, -1])
    """
    there = ~np.isnan(values)
    classes = np.full(values.shape, -1, np.int64)
    if measure.definition.range == (0.0, 1.0):
        edges, names = np.array([0.25, 0.5, 0.75]), ["0", "0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1", "1"]
        inside = 1 + np.searchsorted(edges, values[there], side="right")
        classes[there] = np.where(values[there] <= 0, 0, np.where(values[there] >= 1, 5, inside))
        return names, classes
    low, high = (float(values[there].min()), float(values[there].max())) if there.any() else (0.0, 1.0)
    ends = np.linspace(low, high if high > low else low + 1, len(STEPS) + 1)
    classes[there] = np.clip(np.searchsorted(ends, values[there], side="right") - 1, 0, len(STEPS) - 1)
    return [f"{a:.4g}–{b:.4g}" for a, b in pairwise(ends.tolist())], classes


def _percent(part: float, whole: float) -> str:
    return percent(part / whole if whole else None)
