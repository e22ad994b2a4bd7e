"""A report as charts: Vega-Lite by altair, for the page, and as SVG and PNG files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.extras import require
from steelyard.diagnosis.funnel import Funnel
from steelyard.measures import Measure
from steelyard.report.contents import Report
from steelyard.report.diagnosing import stage_name
from steelyard.report.sheet import number
from steelyard.report.summary import by_mean, worst_stage
from steelyard.report.visible import on_one_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

FORMATS = ("svg", "png")
N_COLOURED = 6
"""Systems that a line chart tells apart by colour; of more, the best ones and the baseline are coloured."""

_WIDTH = 640
_ROW = 26
_SQUARE = 440
_CELLS = 4_500
_MOST_QUESTIONS = 150
_LABEL_FROM = 0.08
_FONT = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', 'PingFang SC', 'Hiragino Sans GB', "
    "'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"
)
# Orange to blue: told apart with every kind of colour blindness, and by lightness in print.
_STEPS = ("#b5481c", "#de8c5c", "#efc7a6", "#b9d2e6", "#6ea2cb", "#1d5a88")
_ON_STEPS = ("#ffffff", "#23282d", "#23282d", "#23282d", "#23282d", "#ffffff")


def theme(*, dark: bool) -> dict[str, Any]:
    """The Vega-Lite configuration of all charts, for light or dark paper."""
    ink, muted, rule = ("#e4e7ea", "#a3adb7", "#333b43") if dark else ("#20262c", "#57616b", "#e2e6ea")
    accent = "#7db8e2" if dark else "#1d5a88"
    colours = ["#4aa3df", "#ee7733", "#2bb5a0", "#ee6699", "#e0b93a", "#a58be0"] if dark else [
        "#0077bb", "#d9601a", "#00897b", "#cc3377", "#a87b00", "#6f4fb3"]  # fmt: skip
    # A neutral middle keeps what lies between orange and blue from turning into a third colour.
    ramp = [*_STEPS[:3], "#efeae3", *_STEPS[3:]]
    axis = {
        "labelColor": muted, "titleColor": muted, "gridColor": rule, "domainColor": rule, "tickColor": rule,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 190, "domain": False,
        "labelPadding": 6, "titlePadding": 10,
    }  # fmt: skip
    legend = {
        "labelColor": ink, "titleColor": muted, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
        "orient": "top", "labelLimit": 420, "symbolType": "square", "symbolStrokeWidth": 0,
    }  # fmt: skip
    return {
        "background": None, "font": _FONT, "padding": 4, "axis": axis, "legend": legend,
        "title": {"color": ink, "subtitleColor": muted, "fontSize": 15, "anchor": "start", "fontWeight": 600,
                  "offset": 12},
        "view": {"stroke": None}, "mark": {"color": accent}, "text": {"color": ink, "fontSize": 12},
        "rule": {"color": muted}, "range": {"category": colours, "heatmap": ramp, "ramp": ramp},
    }  # fmt: skip


def charts(report: Report, *, lang: Words) -> dict[str, TopLevelMixin]:
    """Every chart that a report has something to draw for, by name.

    leaderboard   mean and interval of every system;   curves   measures by depth
    distribution  shares of questions by their value;   scatter   two systems, question by question
    funnel        where the gold was lost;   ceilings   what could be reached
    heatmap       the questions on which systems differ most

    Raises   MissingExtraError without altair.
    """
    made: dict[str, TopLevelMixin] = {}
    for name, draw in CHARTS.items():
        chart = draw(report, lang)
        if chart is not None:
            made[name] = chart
    return made


def spec_of(chart: TopLevelMixin) -> dict[str, Any]:
    """The Vega-Lite spec of a chart; our own charts are not held against the schema again."""
    return chart.to_dict(validate=False)


def save_charts(
    report: Report, folder: str | Path, *, lang: Words, formats: Sequence[str] = FORMATS
) -> list[Path]:  # fmt: skip
    """Write every chart as FOLDER/NAME.FORMAT, on white paper; PNG at twice the size.

    Raises   InputError for an unknown format or a folder that cannot be written; MissingExtraError.
    """
    odd = [name for name in formats if name not in FORMATS]
    if odd:
        raise InputError(f"charts are not written as {', '.join(odd)}; there are {' and '.join(FORMATS)}")
    convert = require("vl_convert", extra="report", what="saving charts")
    written = []
    for name, chart in charts(report, lang=lang).items():
        spec = spec_of(chart)
        spec["config"] = theme(dark=False) | {"background": "white"}
        for format in formats:
            content = _converted(convert, spec, format)
            written.append(_written(Path(folder) / f"{name}.{format}", content))
    return written


def _converted(convert: Any, spec: dict[str, Any], format: str) -> bytes:
    if format == "svg":
        return str(convert.vegalite_to_svg(spec)).encode()
    return bytes(convert.vegalite_to_png(spec, scale=2))


def _written(path: Path, content: bytes) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); name another folder") from None
    return path


def _altair() -> Any:
    return require("altair", extra="report", what="drawing charts")


def _base(rows: Sequence[dict[str, Any]]) -> Any:
    # A plain dict, which altair takes as it is; alt.Data would hold every row against the schema.
    return _altair().Chart({"values": list(rows)})


def _titled(
    chart: Any, name: str, lang: Words, values: Mapping[str, object], *, height: int, width: int = _WIDTH
) -> TopLevelMixin:
    """With size, title and a text alternative, which are filled with values."""
    title, told = (lang(f"charts.{name}.{key}", **values) for key in ("title", "description"))
    made: TopLevelMixin = chart.properties(width=width, height=height, title=title, description=told)
    return made


def _rows(n: int) -> int:
    """Pixels of n rows."""
    return max(n, 1) * _ROW


def _systems_axis(alt: Any, order: Sequence[str]) -> Any:
    return alt.Y("system:N", sort=list(order), title=None, axis=alt.Axis(grid=False, ticks=False, labelPadding=10))


def _tooltips(alt: Any, lang: Words, **fields: str) -> list[Any]:
    """One line a field: name=type:format, titles from the catalogue."""
    made = []
    for field, shorthand in fields.items():
        kind, _, format = shorthand.partition(":")
        options = {"format": format} if format else {}
        made.append(alt.Tooltip(f"{field}:{kind}", title=lang(f"charts.field.{field}"), **options))
    return made


def leaderboard(report: Report, lang: Words, measure: int = 0) -> TopLevelMixin:
    """A forest plot: the mean of every system and its interval, best first."""
    alt, scores, order = _altair(), report.scores, by_mean(report, measure)
    intervals = scores.intervals
    rows = [{"system": on_one_line(scores.systems[i]), "mean": _finite(scores.means[i, measure]),
             "low": _finite(intervals.low[i, measure]), "high": _finite(intervals.high[i, measure])}
            for i in order]  # fmt: skip
    name = str(scores.measures[measure])
    x = alt.X("mean:Q", title=name, scale=alt.Scale(zero=False, nice=True, padding=12), axis=alt.Axis(tickCount=6))
    tooltip = _tooltips(alt, lang, system="N", mean="Q:.4f", low="Q:.4f", high="Q:.4f")
    y = _systems_axis(alt, [str(row["system"]) for row in rows])
    interval = _base(rows).mark_rule(strokeWidth=3, opacity=0.45).encode(
        y=y, x=alt.X("low:Q", title=name, scale=alt.Scale(zero=False)), x2="high:Q", tooltip=tooltip)  # fmt: skip
    mean = _base(rows).mark_point(filled=True, size=90, opacity=1).encode(y=y, x=x, tooltip=tooltip)
    text = lang.listed([_with_interval(row) for row in rows], 40)
    values = {"measure": name, "listed": text}
    return _titled(alt.layer(interval, mean), "leaderboard", lang, values, height=_rows(len(rows)))


def _with_interval(row: dict[str, Any]) -> str:
    mean, low, high = (number(row[key]) for key in ("mean", "low", "high"))
    return f"{row['system']} {mean} [{low}, {high}]"


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def classes(values: Floats, measure: Measure) -> tuple[list[str], Ints]:
    """Names of the value classes of a measure, lowest first, and the class of each value; -1 where there is none.

    A measure from 0 to 1 has 0 and 1 as classes of their own, for these are what most questions get, and four quarters
    between them; any other has six classes of equal width.

    >>> from steelyard.measures import parse
    >>> names, of = classes(np.array([0, 0.1, 0.25, 1, np.nan]), parse("recall@5"))
    >>> names[1], of.tolist()
    ('0–0.25', [0, 1, 2, 5, -1])
    """
    known = ~np.isnan(values)
    made = np.full(values.shape, -1, np.int64)
    if measure.definition.range == (0.0, 1.0):
        edges, names = np.array([0.25, 0.5, 0.75]), ["0", "0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1", "1"]
        inside = 1 + np.searchsorted(edges, values[known], side="right")
        made[known] = np.where(values[known] <= 0, 0, np.where(values[known] >= 1, 5, inside))
        return names, made
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 1.0)
    ends = np.linspace(low, high if high > low else low + 1, len(_STEPS) + 1)
    made[known] = np.clip(np.searchsorted(ends, values[known], side="right") - 1, 0, len(_STEPS) - 1)
    return [f"{a:.4g}–{b:.4g}" for a, b in pairwise(ends.tolist())], made


def distribution(report: Report, lang: Words, measure: int = 0) -> TopLevelMixin:
    """Of every system a bar of shares of questions, by their value."""
    scores, order = report.scores, by_mean(report, measure)
    spec = scores.measures[measure]
    names, of = classes(scores.values[:, measure], spec)
    counts = np.array([[int((of[i] == c).sum()) for c in range(len(names))] for i in order]).reshape(len(order), -1)
    systems = [on_one_line(scores.systems[i]) for i in order]
    text = lang.listed([
        lang("charts.distribution.of", system=system, none=_percent(row[0], sum(row)), all=_percent(row[-1], sum(row)))
        for system, row in zip(systems, counts.tolist(), strict=True)
    ], 40)  # fmt: skip
    made = _stacked(systems, names, counts, _STEPS, _ON_STEPS, lang, "distribution")
    values = {"measure": str(spec), "listed": text}
    return _titled(made, "distribution", lang, values, height=_rows(len(order)))


def _percent(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "–"


def _stacked(
    systems: Sequence[str], names: Sequence[str], counts: Ints, colours: Sequence[str], inks: Sequence[str],
    lang: Words, area: str,
) -> Any:  # fmt: skip
    """A bar for each system, cut into classes; counts (s, c)."""
    alt, rows = _altair(), []
    for system, row in zip(systems, counts.tolist(), strict=True):
        whole, begin = sum(row), 0
        for name, ink, n in zip(names, inks, row, strict=True):
            if n:
                rows.append({"system": system, "class": name, "n": n, "share": n / whole, "from": begin / whole,
                             "to": (begin + n) / whole, "middle": (begin + n / 2) / whole, "ink": ink})  # fmt: skip
            begin += n
    y = _systems_axis(alt, systems)
    colour = alt.Color(
        "class:N", sort=list(names), title=lang(f"charts.{area}.class"),
        scale=alt.Scale(domain=list(names), range=list(colours)),
    )  # fmt: skip
    x = alt.X("from:Q", title=lang(f"charts.{area}.share"), scale=alt.Scale(domain=[0, 1], nice=False),
              axis=alt.Axis(format="%", tickCount=5))  # fmt: skip
    tooltip = _tooltips(alt, lang, system="N", n="Q:,d", share="Q:.1%")
    tooltip.insert(1, alt.Tooltip("class:N", title=lang(f"charts.{area}.class")))
    bars = _base(rows).mark_bar(height={"band": 0.74}).encode(y=y, x=x, x2="to:Q", color=colour, tooltip=tooltip)
    wide = [row for row in rows if row["share"] >= _LABEL_FROM]
    labels = _base(wide).mark_text(fontSize=11, baseline="middle").encode(
        y=y, x=alt.X("middle:Q"), text=alt.Text("share:Q", format=".0%"), color=alt.Color("ink:N", scale=None),
        tooltip=tooltip)  # fmt: skip
    return alt.layer(bars, labels)


def scatter_pair(report: Report) -> tuple[int, int] | None:
    """The baseline and the best other system; the best two without a baseline; None for one system."""
    order = by_mean(report)
    if len(order) < 2:
        return None
    first = order[1]
    if report.comparison is not None:
        first = list(report.scores.systems).index(report.comparison.baseline)
    return first, next(i for i in order if i != first)


def scatter(report: Report, lang: Words) -> TopLevelMixin | None:
    """Two systems against each other: a point a question, larger where several questions coincide."""
    pair = scatter_pair(report)
    if pair is None:
        return None
    alt, scores = _altair(), report.scores
    across, up = (scores.values[i, 0] for i in pair)
    both = ~(np.isnan(across) | np.isnan(up))
    points, n = np.unique(np.round(np.stack([across[both], up[both]], axis=1), 3), axis=0, return_counts=True)
    rows = [{"x": x, "y": y, "n": count} for (x, y), count in zip(points.tolist(), n.tolist(), strict=True)]
    measure = scores.measures[0]
    low, high = measure.definition.range
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = (float(points.min()), float(points.max())) if len(points) else (0.0, 1.0)
    names = [on_one_line(scores.systems[i]) for i in pair]
    scale = alt.Scale(domain=[low, high], nice=False)
    x = alt.X("x:Q", title=names[0], scale=scale, axis=alt.Axis(tickCount=5))
    y = alt.Y("y:Q", title=names[1], scale=scale, axis=alt.Axis(tickCount=5))
    diagonal = (
        _base([{"x": low, "y": low, "to": high}]).mark_rule(strokeDash=[4, 4]).encode(x=x, y=y, x2="to:Q", y2="to:Q")
    )
    size = alt.Size("n:Q", title=lang("charts.field.n"), legend=None, scale=alt.Scale(range=[36, 420], domainMin=1))
    dots = _base(rows).mark_point(filled=True, opacity=0.55, cursor="pointer").encode(
        x=x, y=y, size=size, tooltip=_tooltips(alt, lang, x="Q:.3f", y="Q:.3f", n="Q:,d"))  # fmt: skip
    above, below = (int(n[side].sum()) for side in (points[:, 1] > points[:, 0], points[:, 1] < points[:, 0]))
    made = alt.layer(diagonal, dots)
    values = {"measure": str(measure), "across": names[0], "up": names[1], "above": above, "below": below,
              "even": int(both.sum()) - above - below}  # fmt: skip
    return _titled(made, "scatter", lang, values, height=_SQUARE, width=_SQUARE)


def spread_questions(report: Report) -> Ints:
    """Places of the questions on which the systems differ most by the first measure, at most 150; best mean first.

    Of equally large differences the first question is taken; questions without a value for some system come last.
    """
    values = report.scores.values[:, 0]
    most = min(_MOST_QUESTIONS, max(20, _CELLS // max(len(values), 1)))
    known = ~np.isnan(values)
    some: Bools = np.asarray(known.any(axis=0))
    spread = np.where(known, values, -np.inf).max(axis=0) - np.where(known, values, np.inf).min(axis=0)
    order = np.lexsort((np.arange(values.shape[1]), -np.where(some, spread, -1.0), ~known.all(axis=0)))
    chosen = order[some[order]][:most]
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.asarray(chosen[np.lexsort((chosen, -mean[chosen]))])


def heatmap(report: Report, lang: Words) -> TopLevelMixin | None:
    """Systems down, questions across, the value as colour: where systems differ most."""
    scores = report.scores
    if len(scores.systems) < 2:
        return None
    alt, chosen, order = _altair(), spread_questions(report), by_mean(report)
    # Questions by number: two ids may look alike once control characters are made visible.
    names, ids = ([on_one_line(text) for text in texts] for texts in (scores.systems, scores.query_ids))
    rows = [{"system": names[i], "place": place, "question": ids[q], "q": q, "value": _finite(scores.values[i, 0, q])}
            for place, q in enumerate(chosen.tolist()) for i in order]  # fmt: skip
    measure = str(scores.measures[0])
    colour = alt.Color("value:Q", title=measure, scale=alt.Scale(range="heatmap", interpolate="rgb"),
                       legend=alt.Legend(gradientLength=180, gradientThickness=10, format=".2~f"))  # fmt: skip
    cells = _base(rows).mark_rect(cursor="pointer").encode(
        x=alt.X("place:O", title=lang("charts.heatmap.axis"), axis=alt.Axis(labels=False, ticks=False)),
        y=_systems_axis(alt, [names[i] for i in order]), color=colour,
        tooltip=_tooltips(alt, lang, question="N", system="N", value="Q:.4f"))  # fmt: skip
    values = {"measure": measure, "shown": len(chosen), "total": len(scores.query_ids)}
    return _titled(cells, "heatmap", lang, values, height=_rows(len(order)))


def curve_measures(report: Report) -> list[str]:
    """Measures that are known by depth, that of the first measure before the others, or else recall."""
    found = report.diagnosis.curves
    known = [name for n, name in enumerate(found.names) if not np.isnan(found.values[:, n]).all()]
    first = report.scores.measures[0].name
    return sorted(known, key=lambda name: (name != first, name != "recall"))


def curves(report: Report, lang: Words, measure: int = 0) -> TopLevelMixin | None:
    """A measure by depth, a line a system; of more systems than colours tell apart the best ones and the baseline."""
    measures = curve_measures(report)
    if not measures:
        return None
    alt, found, name = _altair(), report.diagnosis.curves, measures[measure]
    n = found.names.index(name)
    coloured = _coloured(report)
    others = lang("charts.curves.others")
    systems = [on_one_line(system) for system in found.systems]
    rows = [
        {"system": system, "colour": system if i in coloured else others, "k": k, "value": value}
        for i, system in enumerate(systems)
        for k, value in zip(found.ks, found.values[i, n].tolist(), strict=True)
        if math.isfinite(value)
    ]  # fmt: skip
    names = [systems[i] for i in coloured]
    rest = [others] if len(coloured) < len(found.systems) else []
    colour = alt.Color("colour:N", sort=[*names, *rest], title=None, scale=alt.Scale(domain=[*names, *rest]))
    ks = [k for k in found.ks if any(row["k"] == k for row in rows)]
    x = alt.X("k:Q", title=lang("charts.curves.axis"), scale=alt.Scale(type="log", nice=False, padding=8),
              axis=alt.Axis(values=ks, format="d", grid=False))  # fmt: skip
    y = alt.Y("value:Q", title=f"{name}@k", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5))
    tooltip = _tooltips(alt, lang, system="N", k="Q:d", value="Q:.4f")
    rows.sort(key=lambda row: row["colour"] != others)
    base = _base(rows).encode(x=x, y=y, color=colour, detail="system:N", tooltip=tooltip)
    named = base.transform_filter(alt.datum.colour != others)
    layers = [named.mark_line(strokeWidth=2), named.mark_point(filled=True, size=50, opacity=1)]
    if rest:
        layers.insert(0, base.transform_filter(alt.datum.colour == others).mark_line(strokeWidth=1, opacity=0.35))
    if report.diagnosis.k in ks:
        layers.insert(0, _base([{"k": report.diagnosis.k}]).mark_rule(strokeDash=[4, 4], opacity=0.6).encode(x=x))
    listed = [_curve_text(on_one_line(system), [row for row in rows if row["system"] == on_one_line(system)], lang)
              for i, system in enumerate(found.systems) if i in coloured]  # fmt: skip
    values = {"measure": f"{name}@k", "listed": lang.listed([text for text in listed if text], 40)}
    return _titled(alt.layer(*layers), "curves", lang, values, height=300)


def _curve_text(system: str, rows: Sequence[dict[str, Any]], lang: Words) -> str:
    if not rows:
        return ""
    first, last = rows[0], rows[-1]
    return lang("charts.curves.of", system=system, first=number(first["value"]), low=first["k"],
                last=number(last["value"]), high=last["k"])  # fmt: skip


def _coloured(report: Report) -> list[int]:
    """Systems that have a colour of their own, best first: the best ones, and the baseline in any case."""
    order = by_mean(report)
    chosen = order[:N_COLOURED]
    if report.comparison is not None and len(order) > N_COLOURED:
        baseline = list(report.scores.systems).index(report.comparison.baseline)
        chosen = chosen if baseline in chosen else [*chosen[:-1], baseline]
    return chosen


_STAGE_COLOURS = {
    "found": ("#1d5a88", "#ffffff"), "unused": ("#6ea2cb", "#23282d"), "reranked_out": ("#f3dcb5", "#23282d"),
    "below_k": ("#efb98e", "#23282d"), "not_retrieved": ("#de8c5c", "#23282d"), "cut": ("#b5481c", "#ffffff"),
    "not_in_corpus": ("#7d2f12", "#ffffff"), "missing": ("#6d757d", "#ffffff"), "failed": ("#43494f", "#ffffff"),
    "no_gold": ("#c3c9ce", "#23282d"),
}  # fmt: skip
"""Fill and ink of each stage, from what is won over what was lost late to what was lost early."""


def funnel(report: Report, lang: Words) -> TopLevelMixin:
    """Of every system a bar of all its questions, by what became of their gold."""
    by_system = {one.system: one for one in report.diagnosis.funnels}
    chosen = [by_system[report.scores.systems[i]] for i in by_mean(report)]
    known = [stage for stage in _STAGE_COLOURS if any(one.counts()[stage] for one in chosen)]
    counts = np.array([[one.counts()[stage] for stage in known] for one in chosen]).reshape(len(chosen), -1)
    names = [stage_name(stage, lang) for stage in known]
    fills, inks = zip(*(_STAGE_COLOURS[stage] for stage in known), strict=True)
    systems = [on_one_line(one.system) for one in chosen]
    listed = [_loss_text(one, lang) for one in chosen]
    made = _stacked(systems, names, counts, fills, inks, lang, "funnel")
    values = {"listed": lang.listed([text for text in listed if text], 40)}
    return _titled(made, "funnel", lang, values, height=_rows(len(chosen)))


def _loss_text(one: Funnel, lang: Words) -> str:
    worst = worst_stage(one)
    if worst is None:
        return ""
    return lang("charts.funnel.of", system=on_one_line(one.system), stage=stage_name(worst[0], lang), n=worst[1],
                total=one.n_queries)  # fmt: skip


def ceilings(report: Report, lang: Words) -> TopLevelMixin | None:
    """Of every system its mean now, and what a perfect order or the better of two systems would reach."""
    found = report.diagnosis.ceilings
    rows = list(_ceiling_rows(report, lang))
    if all(row["kind"] == lang("charts.ceilings.now") for row in rows):
        return None
    alt, order = _altair(), [on_one_line(report.scores.systems[i]) for i in by_mean(report)]
    kinds = list(dict.fromkeys(row["kind"] for row in sorted(rows, key=lambda row: row["place"])))
    name = found.measures[0]
    x = alt.X("value:Q", title=name, scale=alt.Scale(zero=False, nice=True, padding=12), axis=alt.Axis(tickCount=6))
    y = _systems_axis(alt, order)
    tooltip = _tooltips(alt, lang, system="N", ceiling="N", value="Q:.4f", gain="Q:+.4f")
    ends = [{"system": system, "from": min(own), "to": max(own)} for system in order
            if (own := [row["value"] for row in rows if row["system"] == system])]  # fmt: skip
    way = _base(ends).mark_rule(strokeWidth=2, opacity=0.3).encode(
        y=y, x=alt.X("from:Q", title=name, scale=alt.Scale(zero=False)), x2="to:Q")  # fmt: skip
    dots = _base(rows).mark_point(filled=True, size=110, opacity=1).encode(
        y=y, x=x, tooltip=tooltip,
        color=alt.Color("kind:N", sort=kinds, title=None, scale=alt.Scale(domain=kinds)),
        shape=alt.Shape("kind:N", sort=kinds, title=None, scale=alt.Scale(domain=kinds)))  # fmt: skip
    listed = [_ceiling_text(system, [row for row in rows if row["system"] == system], lang) for system in order]
    values = {"measure": name, "listed": lang.listed([text for text in listed if text], 40)}
    return _titled(alt.layer(way, dots), "ceilings", lang, values, height=_rows(len(order)))


def _ceiling_rows(report: Report, lang: Words) -> Iterator[dict[str, Any]]:
    """Rows of the chart: the mean now, perfect orders of the fewest and of the most candidates known, the best pair."""
    found = report.diagnosis.ceilings
    for i, system in enumerate(found.systems):
        now = float(found.reached[i, 0])
        made = [(0, lang("charts.ceilings.now"), "", now)]
        known = [
            (n, value) for n, value in zip(found.ns, found.perfect[i, 0].tolist(), strict=True) if math.isfinite(value)
        ]
        for place, (n, value) in enumerate([*known[:1], *known[1:][-1:]]):
            made.append((1 + place, lang("charts.ceilings.perfect", n=n), "", value))
        pairs = [
            pair for pair in found.pairs if pair.measure == found.measures[0] and system in (pair.first, pair.second)
        ]
        best = max(pairs, key=lambda pair: pair.mean, default=None)
        if best is not None:
            partner = best.second if best.first == system else best.first
            made.append((3, lang("charts.ceilings.pair"), on_one_line(partner), best.mean))
        for place, kind, partner, value in made:
            told = lang("charts.ceilings.with", kind=kind, partner=partner) if partner else kind
            yield {"system": on_one_line(system), "place": place, "kind": kind, "ceiling": told, "value": value,
                   "gain": value - now}  # fmt: skip


def _ceiling_text(system: str, rows: Sequence[dict[str, Any]], lang: Words) -> str:
    best = max(rows, key=lambda row: row["value"])
    return lang("charts.ceilings.of", system=system, mean=number(rows[0]["value"]), ceiling=best["ceiling"],
                value=number(best["value"]))  # fmt: skip


CHARTS: dict[str, Callable[[Report, Words], TopLevelMixin | None]] = {
    "leaderboard": leaderboard, "curves": curves, "distribution": distribution, "scatter": scatter, "funnel": funnel,
    "ceilings": ceilings, "heatmap": heatmap,
}  # fmt: skip
"""What draws each chart; None where there is nothing to draw."""
