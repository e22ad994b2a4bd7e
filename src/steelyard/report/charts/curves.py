"""What a larger k would bring: measures by depth, a line a system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.report.charts.plot import LISTED, altair, plot, titled, tooltips
from steelyard.report.charts.theme import N_COLOURED
from steelyard.report.contents import Contents
from steelyard.report.sheets.sheet import number
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_HEIGHT = 300


def curve_measures(contents: Contents) -> list[str]:
    """Measures that have values by depth: recall, which alone shows what a larger k brings, then the primary measure.

    Recall is that of gold pieces where the gold is evidence.
    """
    curves = contents.diagnosis.curves
    names = [name for n, name in enumerate(curves.names) if not np.isnan(curves.values[:, n]).all()]
    first = contents.scores.measures[0].name
    return sorted(names, key=lambda name: (name != contents.diagnosis.coverage, name != first))


def draw(contents: Contents, words: Words, measure: int = 0) -> TopLevelMixin | None:
    """One of `curve_measures` by depth; of more systems than there are colours, the best ones and the baseline."""
    measures = curve_measures(contents)
    if not measures:
        return None
    alt, name = altair(), measures[measure]
    systems = [single_line(system) for system in contents.diagnosis.curves.systems]
    coloured, others = _coloured(contents), words("charts.curves.others")
    colours = [system if i in coloured else others for i, system in enumerate(systems)]
    rows = _rows(contents, name, systems, colours)
    domain = [*(systems[i] for i in coloured), *([others] if len(coloured) < len(systems) else [])]
    colour = alt.Color("colour:N", sort=domain, title=None, scale=alt.Scale(domain=domain),
                       legend=alt.Legend(symbolOpacity=1))  # fmt: skip
    ks = [k for k in contents.diagnosis.curves.ks if any(row["k"] == k for row in rows)]
    x = alt.X("k:Q", title=words("charts.curves.axis"), scale=alt.Scale(type="log", nice=False, padding=8),
              axis=alt.Axis(values=ks, format="d", grid=False))  # fmt: skip
    y = alt.Y("value:Q", title=f"{name}@k", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5))
    # Coloured lines lie over the others.
    rows.sort(key=lambda row: row["colour"] != others)
    base = plot(rows).encode(x=x, y=y, color=colour, detail="system:N",
                             tooltip=tooltips(words, system="N", k="Q:d", value="Q:.4f"))  # fmt: skip
    named = base.transform_filter(alt.datum.colour != others)
    layers = [named.mark_line(strokeWidth=2), named.mark_point(filled=True, size=50, opacity=1)]
    if others in domain:
        layers.insert(0, base.transform_filter(alt.datum.colour == others).mark_line(strokeWidth=1, opacity=0.35))
    if contents.diagnosis.k in ks:
        rule = plot([{"k": contents.diagnosis.k}]).mark_rule(strokeDash=[4, 4], opacity=0.6).encode(x=x)
        layers.insert(0, rule)
    texts = [_text(systems[i], [row for row in rows if row["system"] == systems[i]], words) for i in sorted(coloured)]
    values = {"measure": f"{name}@k", "listed": words.listed([text for text in texts if text], LISTED)}
    return titled(alt.layer(*layers), "curves", words, values, height=_HEIGHT)


def _rows(contents: Contents, name: str, systems: Sequence[str], colours: Sequence[str]) -> list[dict[str, Any]]:
    """One row for each system and depth with a value."""
    curves = contents.diagnosis.curves
    values = curves.values[:, curves.names.index(name)].tolist()
    return [
        {"system": system, "colour": colour, "k": k, "value": value}
        for system, colour, by_depth in zip(systems, colours, values, strict=True)
        for k, value in zip(curves.ks, by_depth, strict=True)
        if math.isfinite(value)
    ]


def _coloured(contents: Contents) -> list[int]:
    """Systems that have a colour of their own, best first: the best ones, and the one that others are shown beside."""
    order = contents.by_mean()
    best = order[:N_COLOURED]
    if contents.comparison is not None and len(order) > N_COLOURED:
        reference = list(contents.scores.systems).index(contents.comparison.reference)
        best = best if reference in best else [*best[:-1], reference]
    return best


def _text(system: str, rows: Sequence[dict[str, Any]], words: Words) -> str:
    if not rows:
        return ""
    first, last = rows[0], rows[-1]
    return words("charts.curves.of", system=system, first=number(first["value"]), low=first["k"],
                 last=number(last["value"]), high=last["k"])  # fmt: skip
