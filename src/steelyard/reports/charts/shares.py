"""Bars of shares: of every system one bar of all its questions, cut into classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.measures import Measure
from steelyard.reports.charts.plot import altair, height_of, plot, systems_axis, titled, tooltips
from steelyard.reports.contents import Contents
from steelyard.reports.views.colours import ON_STEPS, OUTCOME_COLOURS, STAGE_COLOURS, STEPS
from steelyard.reports.views.diagnosis import stage_name, worst_stage
from steelyard.reports.views.numbers import percent
from steelyard.reports.views.outcomes import outcome_name
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_LABELLED = "datum.share >= 0.08 && datum.share * width >= 26"
"""Pieces that have room for their share, on narrow pages too."""


def _stacked(
    area: str, systems: Sequence[str], classes: Mapping[str, tuple[str, str]], counts: Sequence[Sequence[int]], *,
    words: Words, values: Mapping[str, object], listed: Iterable[str],
) -> TopLevelMixin:  # fmt: skip
    """A bar for each system, from left to right in classes; those without questions have no piece.

    area     the chart, whose texts the catalogue has;   classes   name -> colours of a bar and of its label
    counts   (s, c) questions of each system and class
    """
    alt, rows = altair(), list[dict[str, Any]]()
    for system, of_system in zip(systems, counts, strict=True):
        begin, total = 0, sum(of_system)
        for (name, (_, ink)), n in zip(classes.items(), of_system, strict=True):
            if n:
                rows.append({"system": system, "class": name, "n": n, "share": n / total, "label": percent(n / total),
                             "from": begin / total, "to": (begin + n) / total,
                             "middle": (begin + n / 2) / total, "ink": ink})  # fmt: skip
            begin += n
    y, title, names = systems_axis(systems), words(f"charts.{area}.class"), list(classes)
    fills = alt.Scale(domain=names, range=[fill for fill, _ in classes.values()])
    colour = alt.Color("class:N", sort=names, title=title, scale=fills)
    x = alt.X("from:Q", title=words(f"charts.{area}.share"), scale=alt.Scale(domain=[0, 1], nice=False),
              axis=alt.Axis(format="%", tickCount=5))  # fmt: skip
    tooltip = tooltips(words, system="N", n="Q:,d", share="Q:.1%")
    tooltip.insert(1, alt.Tooltip("class:N", title=title))
    bars = plot(rows).mark_bar(height={"band": 0.74}).encode(y=y, x=x, x2=alt.X2("to:Q"), color=colour, tooltip=tooltip)
    wide = plot(rows).transform_filter(_LABELLED)
    labels = wide.mark_text(fontSize=11, baseline="middle").encode(
        y=y, x=alt.X("middle:Q"), text=alt.Text("label:N"), color=alt.Color("ink:N", scale=None), tooltip=tooltip
    )
    return titled([bars, labels], area, words, values, height=height_of(len(systems)), listed=listed)


def draw_distribution(contents: Contents, words: Words, measure: int = 0) -> TopLevelMixin:
    """Are all questions alike: of every system a bar of shares of questions, by the class of their value."""
    scores, order, spec = contents.scores, contents.by_mean(measure), contents.scores.measures[measure]
    names, of = value_classes(scores.values[:, measure], spec)
    counts = [[int((of[i] == c).sum()) for c in range(len(names))] for i in order]
    systems = [single_line(scores.systems[i]) for i in order]
    ends = [[percent(n / sum(row) if sum(row) else None) for n in (row[0], row[-1])] for row in counts]
    listed = [
        words("charts.distribution.of", system=system, none=none, all=everything)
        for system, (none, everything) in zip(systems, ends, strict=True)
    ]
    classes = dict(zip(names, zip(STEPS, ON_STEPS, strict=True), strict=True))
    return _stacked("distribution", systems, classes, counts, words=words, values={"measure": str(spec)}, listed=listed)


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


def draw_funnel(contents: Contents, words: Words) -> TopLevelMixin:
    """A chart of where questions are lost: shares by the stage that their gold reached, best system first."""
    by_system = {funnel.system: funnel for funnel in contents.diagnosis.funnels}
    funnels = [by_system[contents.scores.systems[i]] for i in contents.by_mean()]
    stages = [stage for stage in STAGE_COLOURS if any(funnel.counts()[stage] for funnel in funnels)]
    counts = [[funnel.counts()[stage] for stage in stages] for funnel in funnels]
    classes = {stage_name(stage, words): STAGE_COLOURS[stage] for stage in stages}
    systems = [single_line(funnel.system) for funnel in funnels]
    listed = [
        words("charts.funnel.of", system=single_line(funnel.system), stage=stage_name(worst[0], words), n=worst[1],
              total=funnel.n_queries)
        for funnel in funnels if (worst := worst_stage(funnel)) is not None
    ]  # fmt: skip
    return _stacked("funnel", systems, classes, counts, words=words, values={}, listed=listed)


def draw_outcomes(contents: Contents, words: Words) -> TopLevelMixin | None:
    """A chart of the outcomes of questions: shares by outcome, best system first; None without verdicts."""
    by_system = {of_system.system: of_system for of_system in contents.diagnosis.outcomes}
    names = [contents.scores.systems[i] for i in contents.by_mean()]
    outcomes = [by_system[name] for name in names if name in by_system]
    if not outcomes:
        return None
    codes = [code for code in OUTCOME_COLOURS if any(of_system.counts()[code] for of_system in outcomes)]
    counts = [[of_system.counts()[code] for code in codes] for of_system in outcomes]
    systems = [single_line(of_system.system) for of_system in outcomes]
    classes = {outcome_name(code, words): OUTCOME_COLOURS[code] for code in codes}
    listed = [
        words("charts.outcomes.of", system=system, n=of_system.counts()["works"], total=of_system.n_queries)
        for system, of_system in zip(systems, outcomes, strict=True)
    ]
    return _stacked("outcomes", systems, classes, counts, words=words, values={}, listed=listed)
