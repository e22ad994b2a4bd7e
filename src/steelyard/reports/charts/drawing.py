"""Every chart of a report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.comparison.result import Comparison, ComparisonRow
from steelyard.diagnosis.ceilings import Ceilings
from steelyard.reports.charts.plot import (
    N_COLOURED,
    altair,
    dashed,
    dots,
    finite,
    height_of,
    intervals,
    named_colours,
    plot,
    systems_axis,
    titled,
    tooltips,
    values_axis,
)
from steelyard.reports.charts.shares import draw_distribution, draw_funnel, draw_outcomes
from steelyard.reports.contents import Contents
from steelyard.reports.details.limits import widest_questions
from steelyard.reports.views.colours import GOOD, NEUTRAL, POOR
from steelyard.reports.views.numbers import number, p_text
from steelyard.reports.views.verdicts import difference_text, interval_text, verdict_ends, verdict_text
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_KINDS = {"better": (GOOD, "triangle-up"), "worse": (POOR, "triangle-down"), "unclear": (NEUTRAL, "circle")}
"""Colour and shape of what is shown of a system."""
_HEIGHT, _SIDE = 300, 440


def draw_leaderboard(contents: Contents, words: Words, measure: int = 0) -> TopLevelMixin:
    """Systems down, best first; the mean of a measure across, its interval as a line."""
    alt, scores, reported = altair(), contents.scores, contents.scores.reported
    means, low, high = (values[:, measure] for values in (reported.mean, reported.low, reported.high))
    rows: list[dict[str, Any]] = [
        {"system": single_line(scores.systems[i]), "mean": finite(means[i]), "low": finite(low[i]),
         "high": finite(high[i])}
        for i in contents.by_mean(measure)
    ]  # fmt: skip
    name = str(scores.measures[measure])
    x = values_axis("mean", name)
    low_x = alt.X("low:Q", title=name, scale=alt.Scale(zero=False))
    y = systems_axis([str(row["system"]) for row in rows])
    tooltip = tooltips(words, system="N", mean="Q:.4f", low="Q:.4f", high="Q:.4f")
    layers = [
        intervals(rows, width=3, opacity=0.45, y=y, x=low_x, x2=alt.X2("high:Q"), tooltip=tooltip),
        dots(rows, size=90, y=y, x=x, tooltip=tooltip),
    ]
    listed = [f"{row['system']} {number(row['mean'])} [{number(row['low'])}, {number(row['high'])}]" for row in rows]
    return titled(layers, "leaderboard", words, {"measure": name}, height=height_of(len(rows)), listed=listed)


def draw_differences(contents: Contents, words: Words, measure: int = 0) -> TopLevelMixin | None:
    """Systems down, their differences to the baseline or leader across; None without another system with a difference.

    A band shows the margin, where there is one.
    """
    comparison = contents.comparison
    if comparison is None:
        return None
    name = str(comparison.measures[measure])
    compared = [row for row in comparison.rows[name] if not row.is_reference and math.isfinite(row.difference)]
    if not compared:
        return None
    alt, rows = altair(), [_difference(row, comparison, words) for row in compared]
    kinds = [kind for kind in _KINDS if any(row["code"] == kind for row in rows)]
    domain = [words(f"charts.differences.{kind}") for kind in kinds]
    rows = [{name: value for name, value in row.items() if name != "code"} for row in rows]
    reference = single_line(comparison.reference)
    title = words("charts.differences.axis", measure=name, reference=reference)
    # From the end: on phones a centred title is longer than the plot, and would be cut.
    axis = alt.Axis(tickCount=6, titleAnchor="end", labelExpr="datum.value === 0 ? '0' : format(datum.value, '+')")
    x = alt.X("difference:Q", title=title, scale=alt.Scale(zero=True, nice=True, padding=12), axis=axis)
    low_x, y = alt.X("low:Q", title=title), systems_axis([row["system"] for row in rows])
    tooltip = tooltips(words, system="N", difference="Q:+.4f", low="Q:+.4f", high="Q:+.4f", p="N", verdict="N")
    colour = named_colours("kind", domain, range=[_KINDS[kind][0] for kind in kinds])
    shapes = alt.Scale(domain=domain, range=[_KINDS[kind][1] for kind in kinds])
    shape = alt.Shape("kind:N", sort=domain, title=None, scale=shapes)
    bounded = [row for row in rows if row["low"] is not None]
    layers = [
        plot([{"zero": 0}]).mark_rule(strokeWidth=1).encode(x=alt.X("zero:Q", title=title)),
        intervals(bounded, width=3, opacity=0.6, y=y, x=low_x, x2=alt.X2("high:Q"), color=colour, tooltip=tooltip),
        dots(rows, size=90, y=y, x=x, color=colour, shape=shape, tooltip=tooltip),
    ]
    if comparison.margin is not None:
        band = plot([{"from": -comparison.margin, "to": comparison.margin}]).mark_rect(opacity=0.12, color=NEUTRAL)
        layers.insert(0, band.encode(x=alt.X("from:Q", title=title), x2=alt.X2("to:Q")))
    listed = [
        words("charts.differences.of", system=single_line(row.system), difference=difference_text(row),
              interval=interval_text(row, comparison, words), verdict=verdict_text(row, comparison, words))
        for row in compared
    ]  # fmt: skip
    values = {"measure": name, "reference": reference}
    return titled(layers, "differences", words, values, height=height_of(len(rows)), listed=listed)


def _difference(row: ComparisonRow, comparison: Comparison, words: Words) -> dict[str, Any]:
    low, high = verdict_ends(row)
    code = row.verdict if row.verdict in _KINDS else "unclear"
    return {
        "system": single_line(row.system), "difference": row.difference, "low": finite(low), "high": finite(high),
        "p": p_text(row.adjusted), "kind": words(f"charts.differences.{code}"),
        "verdict": verdict_text(row, comparison, words), "code": code,
    }  # fmt: skip


def draw_ceilings(contents: Contents, words: Words) -> TopLevelMixin | None:
    """A chart of how much there is to win: a line for each system from its lowest to its highest value, with marks.

    None where no ceiling has a value.
    """
    ceilings = contents.diagnosis.ceilings
    rows = [row for i in range(len(ceilings.systems)) for row in _ceilings(ceilings, i, words)]
    if all(row["kind"] == words("charts.ceilings.now") for row in rows):
        return None
    alt, order = altair(), [single_line(contents.scores.systems[i]) for i in contents.by_mean()]
    kinds = list(dict.fromkeys(row["kind"] for row in sorted(rows, key=lambda row: row["place"])))
    name, of_system = ceilings.measures[0], {name: [row for row in rows if row["system"] == name] for name in order}
    ends = [
        {"system": system, "from": min(row["value"] for row in own), "to": max(row["value"] for row in own)}
        for system, own in of_system.items()
        if own
    ]
    x = values_axis("value", name)
    from_x, y = alt.X("from:Q", title=name, scale=alt.Scale(zero=False)), systems_axis(order)
    colour, shape = (
        channel("kind:N", sort=kinds, title=None, scale=alt.Scale(domain=kinds)) for channel in (alt.Color, alt.Shape)
    )
    tooltip = tooltips(words, system="N", ceiling="N", value="Q:.4f", gain="Q:+.4f")
    layers = [
        intervals(ends, opacity=0.3, y=y, x=from_x, x2=alt.X2("to:Q")),
        dots(rows, size=110, y=y, x=x, tooltip=tooltip, color=colour, shape=shape),
    ]
    listed = [_ceiling_text(system, own, words) for system, own in of_system.items()]
    return titled(layers, "ceilings", words, {"measure": name}, height=height_of(len(order)), listed=listed)


def _ceilings(ceilings: Ceilings, i: int, words: Words) -> Iterator[dict[str, Any]]:
    """Marks of one system: the mean now, perfect orders of the fewest and of the most candidates, the best pair."""
    system, now = ceilings.systems[i], float(ceilings.reached[i, 0])
    perfect = zip(ceilings.ns, ceilings.perfect[i, 0].tolist(), strict=True)
    orders = [(n, value) for n, value in perfect if math.isfinite(value)]
    marks = [(0, words("charts.ceilings.now"), "", now)]
    marks += [
        (place, words("charts.ceilings.perfect", n=n), "", value)
        for place, (n, value) in enumerate([*orders[:1], *orders[1:][-1:]], 1)
    ]
    own = [
        pair for pair in ceilings.pairs if pair.measure == ceilings.measures[0] and system in (pair.first, pair.second)
    ]
    if best := max(own, key=lambda pair: pair.mean, default=None):
        partner = best.second if best.first == system else best.first
        marks.append((3, words("charts.ceilings.pair"), single_line(partner), best.mean))
    for place, kind, partner, value in marks:
        ceiling = words("charts.ceilings.with", kind=kind, partner=partner) if partner else kind
        yield {"system": single_line(system), "place": place, "kind": kind, "ceiling": ceiling, "value": value,
               "gain": value - now}  # fmt: skip


def _ceiling_text(system: str, rows: Sequence[dict[str, Any]], words: Words) -> str:
    now, best = rows[0], max(rows, key=lambda row: row["value"])
    if best is now:
        return words("charts.ceilings.of_now", system=system, mean=number(best["value"]))
    return words("charts.ceilings.of", system=system, mean=number(now["value"]), ceiling=best["ceiling"],
                 value=number(best["value"]))  # fmt: skip


def curve_measures(contents: Contents) -> list[str]:
    """Measures that have values by depth: recall, which alone shows what a larger k brings, then the primary measure.

    Recall is that of gold pieces where the gold is evidence.
    """
    curves = contents.diagnosis.curves
    names = [name for n, name in enumerate(curves.names) if not np.isnan(curves.values[:, n]).all()]
    first = contents.scores.measures[0].name
    return sorted(names, key=lambda name: (name != contents.diagnosis.coverage, name != first))


def draw_curves(contents: Contents, words: Words, measure: int = 0) -> TopLevelMixin | None:
    """One of `curve_measures` by depth, a line a system; of more than there are colours, the best and the baseline."""
    measures = curve_measures(contents)
    if not measures:
        return None
    alt, name, curves = altair(), measures[measure], contents.diagnosis.curves
    systems, others = [single_line(system) for system in curves.systems], words("charts.curves.others")
    coloured = contents.by_mean()[:N_COLOURED]
    if contents.comparison is not None and len(systems) > N_COLOURED:
        reference = list(contents.scores.systems).index(contents.comparison.reference)
        coloured = coloured if reference in coloured else [*coloured[:-1], reference]
    rows = [
        {"system": system, "colour": system if i in coloured else others, "k": k, "value": value}
        for i, (system, by_depth) in enumerate(
            zip(systems, curves.values[:, curves.names.index(name)].tolist(), strict=True)
        )
        for k, value in zip(curves.ks, by_depth, strict=True)
        if math.isfinite(value)
    ]
    domain = [*(systems[i] for i in coloured), *([others] if len(coloured) < len(systems) else [])]
    colour = named_colours("colour", domain)
    ks = [k for k in curves.ks if any(row["k"] == k for row in rows)]
    x = alt.X("k:Q", title=words("charts.curves.axis"), scale=alt.Scale(type="log", nice=False, padding=8),
              axis=alt.Axis(values=ks, format="d", grid=False))  # fmt: skip
    y = alt.Y("value:Q", title=f"{name}@k", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5))
    # Coloured lines lie over the others.
    rows.sort(key=lambda row: row["colour"] != others)
    base = plot(rows).encode(
        x=x,
        y=y,
        color=colour,
        detail=alt.Detail("system:N"),
        tooltip=tooltips(words, system="N", k="Q:d", value="Q:.4f"),
    )
    is_other = alt.FieldEqualPredicate(field="colour", equal=others)
    named = base.transform_filter(alt.LogicalNotPredicate(**{"not": is_other}))
    layers = [named.mark_line(strokeWidth=2), named.mark_point(filled=True, size=50, opacity=1)]
    if others in domain:
        layers.insert(0, base.transform_filter(is_other).mark_line(strokeWidth=1, opacity=0.35))
    if contents.diagnosis.k in ks:
        layers.insert(0, dashed([{"k": contents.diagnosis.k}], opacity=0.6, x=x))
    own = [[row for row in rows if row["system"] == systems[i]] for i in sorted(coloured)]
    listed = [
        words("charts.curves.of", system=first["system"], first=number(first["value"]), low=first["k"],
              last=number(last["value"]), high=last["k"])
        for first, last in ((of_system[0], of_system[-1]) for of_system in own if of_system)
    ]  # fmt: skip
    return titled(layers, "curves", words, {"measure": f"{name}@k"}, height=_HEIGHT, listed=listed)


def scatter_pair(contents: Contents) -> tuple[int, int] | None:
    """The system that others are shown beside, and the best other one; None for one system."""
    order = contents.by_mean()
    if len(order) < 2:
        return None
    first = order[1]
    if contents.comparison is not None:
        first = list(contents.scores.systems).index(contents.comparison.reference)
    return first, next(i for i in order if i != first)


def draw_scatter(contents: Contents, words: Words) -> TopLevelMixin | None:
    """Do two systems fail on the same questions: a point for each that is shown, larger where several coincide."""
    pair = scatter_pair(contents)
    if pair is None:
        return None
    alt, scores, details = altair(), contents.scores, contents.details
    across, up = (scores.values[i, 0, details.places] for i in pair)
    both = ~(np.isnan(across) | np.isnan(up))
    points, n = np.unique(np.round(np.stack([across[both], up[both]], axis=1), 3), axis=0, return_counts=True)
    rows = [{"x": x, "y": y, "n": times} for (x, y), times in zip(points.tolist(), n.tolist(), strict=True)]
    low, high = scores.measures[0].definition.range
    if not math.isfinite(high - low):
        low, high = (float(points.min()), float(points.max())) if len(points) else (0.0, 1.0)
    names = [single_line(scores.systems[i]) for i in pair]
    scale = alt.Scale(domain=[low, high], nice=False)
    x = alt.X("x:Q", title=names[0], scale=scale, axis=alt.Axis(tickCount=5))
    y = alt.Y("y:Q", title=names[1], scale=scale, axis=alt.Axis(tickCount=5))
    size = alt.Size("n:Q", title=words("charts.field.n"), legend=None, scale=alt.Scale(range=[36, 420], domainMin=1))
    layers = [
        dashed([{"x": low, "y": low, "to": high}], x=x, y=y, x2=alt.X2("to:Q"), y2=alt.Y2("to:Q")),
        plot(rows)
        .mark_point(filled=True, opacity=0.55, cursor="pointer")
        .encode(x=x, y=y, size=size, tooltip=tooltips(words, x="Q:.3f", y="Q:.3f", n="Q:,d")),
    ]
    above, below = (int(n[side].sum()) for side in (points[:, 1] > points[:, 0], points[:, 1] < points[:, 0]))
    shown, total = len(details.places), details.n_questions
    values = {"measure": str(scores.measures[0]), "across": names[0], "up": names[1], "above": above, "below": below,
              "even": int(both.sum()) - above - below, "n": f"{shown:,}", "total": f"{total:,}"}  # fmt: skip
    name = "sampled_scatter" if shown < total else "scatter"
    return titled(layers, name, words, values, height=_SIDE, width=_SIDE)


def draw_heatmap(contents: Contents, words: Words) -> TopLevelMixin | None:
    """Systems down, the questions of `widest_questions` across, the value as colour; None for one system."""
    scores = contents.scores
    if len(scores.systems) < 2:
        return None
    alt, shown, order = altair(), widest_questions(contents.scores.values[:, 0]), contents.by_mean()
    # Questions by number: two ids may look alike once control characters are made visible.
    names, ids = ([single_line(text) for text in texts] for texts in (scores.systems, scores.query_ids))
    singled = np.searchsorted(contents.details.places, shown).tolist()
    rows = [
        {"system": names[i], "place": place, "question": ids[q], "q": number, "value": finite(scores.values[i, 0, q])}
        for place, (q, number) in enumerate(zip(shown.tolist(), singled, strict=True))
        for i in order
    ]
    measure, total = str(scores.measures[0]), len(scores.query_ids)
    colour = alt.Color("value:Q", title=measure, scale=alt.Scale(range="heatmap", interpolate="rgb"),
                       legend=alt.Legend(gradientLength=180, gradientThickness=10, format=".2~f"))  # fmt: skip
    cells = plot(rows).mark_rect(cursor="pointer").encode(
        x=alt.X("place:O", title=words("charts.heatmap.axis"), axis=alt.Axis(labels=False, ticks=False)),
        y=systems_axis([names[i] for i in order]), color=colour,
        tooltip=tooltips(words, question="N", system="N", value="Q:.4f"))  # fmt: skip
    questions = words(f"charts.heatmap.{'some' if len(shown) < total else 'all'}", shown=len(shown), n=total)
    values = {"measure": measure, "questions": questions}
    return titled(cells, "heatmap", words, values, height=height_of(len(order)))


CHARTS: dict[str, Callable[[Contents, Words], TopLevelMixin | None]] = {
    "leaderboard": draw_leaderboard, "differences": draw_differences, "curves": draw_curves,
    "distribution": draw_distribution, "scatter": draw_scatter, "funnel": draw_funnel, "ceilings": draw_ceilings,
    "heatmap": draw_heatmap, "outcomes": draw_outcomes,
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
