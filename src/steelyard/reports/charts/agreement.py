"""Agreement in pictures: which label meets which, and what the reference says of items by a rater's label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.comparison.raters.agreement import Agreement
from steelyard.comparison.raters.pairs import RaterPair
from steelyard.reports.charts.plot import N_COLOURED, altair, named_colours, plot, titled, tooltips
from steelyard.reports.views.numbers import number
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words
from steelyard.stats.labels.raters import wilson_interval

if TYPE_CHECKING:
    from altair import TopLevelMixin

_SIDE, _HEIGHT = 380, 300
_MOST_LABELS = 12
_BINS = 10


def draw_agreement(agreement: Agreement, *, words: Words) -> dict[str, TopLevelMixin]:
    """Every chart that there is something to draw for, by name.

    confusion    how often which label meets which, of the best pair
    reliability  share of items that the reference calls positive (from `min_gain` on), else the mean of its labels, by
                 the label or score of each of the best raters
    Raises       MissingExtraError without altair.
    """
    pairs = [pair for pair in agreement.pairs if pair.n]
    drawn = {"confusion": _confusion(pairs, words), "reliability": _reliability(agreement, pairs, words)}
    return {name: chart for name, chart in drawn.items() if chart is not None}


def _confusion(pairs: Sequence[RaterPair], words: Words) -> TopLevelMixin | None:
    """The share of each row as colour, the count as text."""
    pair = next((pair for pair in pairs if len(pair.labels) <= _MOST_LABELS), None)
    if pair is None:
        return None
    alt, labels = altair(), [single_line(str(label)) for label in pair.labels]
    shares = pair.confusion / np.maximum(pair.confusion.sum(axis=1, keepdims=True), 1)
    rows = [
        {"said": labels[j], "true": labels[i], "items": int(pair.confusion[i, j]), "share": float(shares[i, j])}
        for i in range(len(labels))
        for j in range(len(labels))
    ]
    names = {"across": single_line(pair.rater), "up": single_line(pair.against)}
    x = alt.X("said:N", sort=labels, title=names["across"], axis=alt.Axis(orient="top", labelAngle=0, grid=False))
    y = alt.Y("true:N", sort=labels, title=names["up"], axis=alt.Axis(grid=False))
    base = plot(rows).encode(x=x, y=y)
    colour = alt.Color(
        "share:Q",
        title=words("charts.confusion.share", **names),
        scale=alt.Scale(domain=[0, 1], range=["#f4f1ec", "#1d5a88"], interpolate="rgb"),
        legend=alt.Legend(gradientLength=180, gradientThickness=10, format=".0%"),
    )
    fields = {"true": "N", "said": "N", "items": "Q:,d", "share": "Q:.3f"}
    cells = base.mark_rect().encode(color=colour, tooltip=tooltips(words, **fields))
    ink = alt.condition("datum.share > 0.5", alt.value("#ffffff"), alt.value("#23282d"))
    texts = base.mark_text().encode(text=alt.Text("items:Q", format=",d"), color=ink)
    values = {**names, "same": int(np.trace(pair.confusion)), "items": pair.n}
    return titled([cells, texts], "confusion", words, values, height=_SIDE, width=_SIDE)


def _reliability(agreement: Agreement, pairs: Sequence[RaterPair], words: Words) -> TopLevelMixin | None:
    """None without an order of the labels, or where raters were compared with several others."""
    pairs = [pair for pair in pairs if pair.against == pairs[0].against][:N_COLOURED]
    ratings = agreement.ratings
    several = agreement.reference is None and len(agreement.pairs) > 1
    if not pairs or several or not ratings.have_order:
        return None
    cut = agreement.min_gain
    places = {label: place for place, label in enumerate(ratings.categories)}
    rows = [row for pair in pairs for row in _points(pair, cut, places if not ratings.are_numbers else None)]
    alt, against = altair(), single_line(pairs[0].against)
    order = [single_line(pair.rater) for pair in pairs]
    colour = named_colours("rater", order)
    kind = "mean" if cut is None else "share"
    names = {"reference": against, "label": cut}
    y_title = words(f"charts.reliability.{kind}", **names)
    domain = {} if cut is None else {"scale": alt.Scale(domain=[0, 1])}
    at = sorted({row["label"] for row in rows})
    ticks = {"values": at, "format": ".3~f"} if len(at) <= _MOST_LABELS else {}
    x = alt.X("label:Q", title=words("charts.reliability.axis"), axis=alt.Axis(grid=False, **ticks))
    y = alt.Y("value:Q", title=y_title, axis=alt.Axis(tickCount=5), **domain)
    base = plot(rows).encode(x=x, color=colour)
    fields = {"rater": "N", "label": "Q:.3~f", "value": "Q:.3f", "items": "Q:,d"}
    point = base.encode(y=y, tooltip=tooltips(words, **fields))
    layers = [point.mark_line(strokeWidth=2), point.mark_point(filled=True, size=60, opacity=1)]
    if cut is not None and ratings.n_questions is None:
        # Items of one question are no independent evidence, as these intervals take them for.
        layers.insert(
            0, base.mark_rule(opacity=0.45, strokeWidth=2).encode(y=alt.Y("low:Q", **domain), y2=alt.Y2("high:Q"))
        )
    own = [[row for row in rows if row["rater"] == name] for name in order]
    listed = [
        words("charts.reliability.of", rater=first["rater"], first=number(first["value"], 3),
              low=f"{first['label']:.3g}", last=number(last["value"], 3), high=f"{last['label']:.3g}")
        for first, last in ((of_rater[0], of_rater[-1]) for of_rater in own if of_rater)
    ]  # fmt: skip
    values = {"title": words(f"charts.reliability.{kind}_title", **names)}
    return titled(layers, "reliability", words, values, height=_HEIGHT, listed=listed)


def _points(pair: RaterPair, cut: Any, places: dict[Any, int] | None) -> list[dict[str, Any]]:
    """One row a label of the rater, or a tenth of its items where it gives scores."""
    values, row_values = (
        np.array([label if places is None else places[label] for label in labels], float)
        for labels in (pair.labels, pair.row_labels)
    )
    at = None if cut is None else float(cut if places is None else places[cut])
    counts = pair.confusion
    rows = []
    for columns in _bins(counts.sum(axis=0)):
        of_reference = counts[:, columns].sum(axis=1)
        n = int(of_reference.sum())
        if not n:
            continue
        row = {
            "rater": single_line(pair.rater),
            "items": n,
            "label": _mean(values[columns], counts[:, columns].sum(axis=0)),
        }
        if at is None:
            row["value"] = _mean(row_values, of_reference)
        else:
            positive = int(of_reference[row_values >= at].sum())
            row["value"] = positive / n
            row["low"], row["high"] = wilson_interval(positive, n)
        rows.append(row)
    return rows


def _bins(n_items: Ints) -> list[slice]:
    """Columns by themselves where they are few, else neighbours with about as many items each."""
    k = len(n_items)
    if k <= _MOST_LABELS:
        return [slice(place, place + 1) for place in range(k)]
    middle = np.cumsum(n_items) - n_items / 2
    bins = np.minimum((middle * _BINS / max(n_items.sum(), 1)).astype(int), _BINS - 1)
    starts = [0, *(np.flatnonzero(np.diff(bins)) + 1).tolist()]
    return [slice(start, stop) for start, stop in zip(starts, [*starts[1:], k], strict=True)]


def _mean(values: Floats, weights: Ints) -> float:
    return float((values * weights).sum() / weights.sum())
