"""Bars of shares: of every system one bar of all its questions, cut into classes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.diagnosis.funnel import Funnel
from steelyard.measures import Measure
from steelyard.report.charts.plot import (
    LISTED,
    ON_STEPS,
    STEPS,
    altair,
    height_of,
    plot,
    systems_axis,
    titled,
    tooltips,
)
from steelyard.report.contents import Contents
from steelyard.report.views.diagnosis import stage_name, worst_stage
from steelyard.report.views.numbers import percent
from steelyard.report.views.outcomes import outcome_name
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_LABEL_FROM = 0.08


def stacked(
    area: str, systems: Sequence[str], classes: Sequence[str], counts: Ints, *, fills: Sequence[str],
    inks: Sequence[str], words: Words,
) -> Any:  # fmt: skip
    """A bar for each system.

    area     the chart, whose texts the catalogue has
    counts   (s, c) questions of each system and class;   fills, inks   (c,) colours of bars and of their labels
    """
    alt = altair()
    rows = [
        row for system, n in zip(systems, counts.tolist(), strict=True) for row in _segments(system, classes, n, inks)
    ]
    y, title = systems_axis(systems), words(f"charts.{area}.class")
    colour = alt.Color(
        "class:N", sort=list(classes), title=title, scale=alt.Scale(domain=list(classes), range=list(fills))
    )
    x = alt.X("from:Q", title=words(f"charts.{area}.share"), scale=alt.Scale(domain=[0, 1], nice=False),
              axis=alt.Axis(format="%", tickCount=5))  # fmt: skip
    tooltip = tooltips(words, system="N", n="Q:,d", share="Q:.1%")
    tooltip.insert(1, alt.Tooltip("class:N", title=title))
    bars = plot(rows).mark_bar(height={"band": 0.74}).encode(y=y, x=x, x2="to:Q", color=colour, tooltip=tooltip)
    wide = plot(rows).transform_filter(alt.datum.share >= _LABEL_FROM)
    labels = wide.mark_text(fontSize=11, baseline="middle").encode(
        y=y, x=alt.X("middle:Q"), text="label:N", color=alt.Color("ink:N", scale=None), tooltip=tooltip
    )
    return alt.layer(bars, labels)


def _segments(
    system: str, classes: Sequence[str], counts: Sequence[int], inks: Sequence[str]
) -> list[dict[str, Any]]:  # fmt: skip
    """The pieces of one bar, from left to right; classes without questions have none."""
    total, begin, rows = sum(counts), 0, []
    for name, ink, n in zip(classes, inks, counts, strict=True):
        if n:
            rows.append({"system": system, "class": name, "n": n, "share": n / total, "label": percent(n / total),
                         "from": begin / total, "to": (begin + n) / total,
                         "middle": (begin + n / 2) / total, "ink": ink})  # fmt: skip
        begin += n
    return rows


def draw_distribution(contents: Contents, words: Words, measure: int = 0) -> TopLevelMixin:
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


_STAGE_COLOURS = {
    "found": ("#1d5a88", "#ffffff"), "unused": ("#6ea2cb", "#23282d"), "reranked_out": ("#f3dcb5", "#23282d"),
    "below_k": ("#efb98e", "#23282d"), "not_retrieved": ("#de8c5c", "#23282d"), "cut": ("#b5481c", "#ffffff"),
    "not_in_corpus": ("#7d2f12", "#ffffff"), "missing": ("#6d757d", "#ffffff"), "failed": ("#43494f", "#ffffff"),
    "no_gold": ("#c3c9ce", "#23282d"),
}  # fmt: skip
"""Fill and ink of each stage, from what is won over what was lost late to what was lost early."""


def draw_funnel(contents: Contents, words: Words) -> TopLevelMixin:
    """Shares of questions by stage, best system first."""
    by_system = {funnel.system: funnel for funnel in contents.diagnosis.funnels}
    funnels = [by_system[contents.scores.systems[i]] for i in contents.by_mean()]
    stages = [stage for stage in _STAGE_COLOURS if any(funnel.counts()[stage] for funnel in funnels)]
    counts = np.array([[funnel.counts()[stage] for stage in stages] for funnel in funnels]).reshape(len(funnels), -1)
    names, systems = [stage_name(stage, words) for stage in stages], [single_line(funnel.system) for funnel in funnels]
    fills, inks = zip(*(_STAGE_COLOURS[stage] for stage in stages), strict=True)
    bars = stacked("funnel", systems, names, counts, fills=fills, inks=inks, words=words)
    losses = [text for funnel in funnels if (text := _loss_text(funnel, words))]
    return titled(bars, "funnel", words, {"listed": words.listed(losses, LISTED)}, height=height_of(len(funnels)))


def _loss_text(funnel: Funnel, words: Words) -> str:
    worst = worst_stage(funnel)
    if worst is None:
        return ""
    stage, n = worst
    return words("charts.funnel.of", system=single_line(funnel.system), stage=stage_name(stage, words), n=n,
                 total=funnel.n_queries)  # fmt: skip


_COLOURS = {
    "works": ("#1d5a88", "#ffffff"), "beyond_context": ("#4a86b5", "#ffffff"), "other_support": ("#8fb9d9", "#23282d"),
    "rightly_abstained": ("#c9dded", "#23282d"), "unanswerable_abstained": ("#dfeaf3", "#23282d"),
    "over_cautious": ("#f6e3c5", "#23282d"), "self_knowledge": ("#f0cda6", "#23282d"),
    "context_unused": ("#e6a878", "#23282d"), "wrong_chunk": ("#d98452", "#23282d"),
    "noise_followed": ("#bf5a2b", "#ffffff"), "unanswerable_answered": ("#9c3f19", "#ffffff"),
    "hallucination": ("#74290f", "#ffffff"), "no_answer": ("#43494f", "#ffffff"),
    "not_judged": ("#8a929a", "#23282d"), "unknown": ("#c3c9ce", "#23282d"),
}  # fmt: skip
"""Fill and ink of each outcome, from what is right over what is lost to what harms; grey is unread."""


def draw_outcomes(contents: Contents, words: Words) -> TopLevelMixin | None:
    """Shares of questions by outcome, best system first; None without verdicts."""
    by_system = {of_system.system: of_system for of_system in contents.diagnosis.outcomes}
    names = [contents.scores.systems[i] for i in contents.by_mean()]
    outcomes = [by_system[name] for name in names if name in by_system]
    if not outcomes:
        return None
    codes = [code for code in _COLOURS if any(of_system.counts()[code] for of_system in outcomes)]
    counts = np.array([[of_system.counts()[code] for code in codes] for of_system in outcomes])
    fills, inks = zip(*(_COLOURS[code] for code in codes), strict=True)
    systems = [single_line(of_system.system) for of_system in outcomes]
    classes = [outcome_name(code, words) for code in codes]
    bars = stacked("outcomes", systems, classes, counts, fills=fills, inks=inks, words=words)
    listed = [
        words("charts.outcomes.of", system=system, n=of_system.counts()["works"], total=of_system.n_queries)
        for system, of_system in zip(systems, outcomes, strict=True)
    ]
    return titled(bars, "outcomes", words, {"listed": words.listed(listed, LISTED)}, height=height_of(len(outcomes)))
