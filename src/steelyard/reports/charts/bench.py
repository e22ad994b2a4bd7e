"""Every chart of a bench."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats
from steelyard.bench.bench import Bench
from steelyard.bench.frames import CENSORED_MS, LOOPS
from steelyard.reports.charts.bench_front import draw_cost, draw_latency, paired_ends
from steelyard.reports.charts.plot import (
    WIDTH,
    altair,
    beside,
    dashed,
    intervals,
    log_axis,
    plot,
    series,
    titled,
    tooltips,
)
from steelyard.reports.views.bench_summary import shown_rows
from steelyard.reports.views.bench_tables import (
    Row,
    in_order,
    load_text,
    named,
    objective_text,
    of_loop,
    places_of,
    row_name,
    rows_of,
)
from steelyard.reports.views.numbers import amount, milliseconds, money, number
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_HEIGHT = 300


def draw_quality(bench: Bench, words: Words) -> TopLevelMixin | None:
    """A line a reranker with intervals of its differences to the base; None where nothing was reranked."""
    if bench.quality.is_empty():
        return None
    alt, measure = altair(), bench.quality["measure"][0]
    of_measure = rows_of(bench.quality.filter(pl.col("measure") == measure, pl.col("reranked").is_not_nan()))
    if not of_measure:
        return None
    depths = sorted({row["depth"] for row in of_measure})
    ceilings = {row["depth"]: row["ceiling"] for row in of_measure if row["ceiling"] is not None}
    systems = list(dict.fromkeys(single_line(row["system"]) for row in of_measure))
    # The mean after reranking, with the interval of its difference to the base around it.
    points = [
        {"system": single_line(row["system"]), "depth": row["depth"], "value": row["reranked"], "low": low,
         "high": high, "at": beside(row["depth"], single_line(row["system"]), systems)}
        for row in of_measure for low, high in [paired_ends(row, row["reranked"])]
    ]  # fmt: skip
    x = alt.X("depth:Q", title=words("charts.bench_quality.axis"), scale=alt.Scale(type="log", nice=False, padding=24),
              axis=alt.Axis(values=depths, format="d", grid=False))  # fmt: skip
    y = alt.Y("value:Q", title=measure, scale=alt.Scale(zero=False, padding=8), axis=alt.Axis(tickCount=6))
    colour = series("system", systems, places_of(dict.fromkeys(row["system"] for row in of_measure), bench.config))
    at = alt.X("at:Q")
    lines = plot(points).encode(x=at, y=y, color=colour, tooltip=tooltips(
        words, system="N", depth="Q:d", value="Q:.4f", low="Q:.4f", high="Q:.4f"))  # fmt: skip
    ends = intervals(points, x=at, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour)
    ceiling = plot([{"depth": depth, "value": value} for depth, value in sorted(ceilings.items())]).encode(x=x, y=y)
    base = plot([{"value": of_measure[0]["base"], "depth": depths[0]}]).encode(y=y)
    layers = [
        base.mark_rule(strokeDash=[4, 4]),
        base.mark_text(align="right", dy=9, text=words("charts.bench_quality.base")).encode(x=alt.value(WIDTH)),
        ceiling.mark_line(strokeDash=[2, 3], strokeWidth=1.5, opacity=0.7),
        ceiling.mark_point(filled=True, size=30, opacity=0.7),
        ends,
        lines.mark_line(strokeWidth=2),
        lines.mark_point(filled=True, size=60, opacity=1),
    ]
    if ceilings:
        label = plot([{"depth": max(ceilings), "value": ceilings[max(ceilings)]}]).mark_text(
            align="right", dy=-10, text=words("charts.bench_quality.ceiling")
        )
        layers.append(label.encode(x=x, y=y))
    listed = [
        words("charts.bench_quality.of", system=single_line(row["system"]), depth=row["depth"],
              value=number(row["reranked"], 3), ceiling=number(row["ceiling"], 3))
        for row in of_measure
    ]  # fmt: skip
    values = {"measure": measure, "base": number(of_measure[0]["base"], 3)}
    return titled(layers, "bench_quality", words, values, height=_HEIGHT, listed=listed)


_POINTS = 200
_PERCENTILES = ("p50", "p95", "p99")


def draw_shares(bench: Bench, words: Words) -> TopLevelMixin | None:
    """The share of requests that are answered within a time, a line a system; None where nothing was timed.

    Of rerankers, one request after the other over the depths that the summary shows; else by load, of one loop alone.
    """
    curves, alt = _curves(bench, words), altair()
    rows: list[dict[str, Any]] = [
        {"system": name, "ms": ms, "share": share} for name, times in curves.items() for ms, share in _steps(times)
    ]
    if not rows:
        return None
    limits = {} if bench.config.load is None else bench.config.load.slo
    rules = [{"ms": 1000 * limit, "share": float(name[1:]) / 100} for name, limit in limits.items()]
    times_axis = log_axis((row["ms"] for row in (*rows, *rules)), grid=False)
    x = alt.X("ms:Q", title=words("charts.bench_shares.axis"), **times_axis)
    y = alt.Y("share:Q", title=words("charts.bench_shares.share"), scale=alt.Scale(domain=[0, 1]),
              axis=alt.Axis(format="%", tickCount=5))  # fmt: skip
    # Levels of load, which are many of one system, have colours one by one.
    by_name = {named(row): row["system"] for row in rows_of(bench.choice)}
    places = places_of((by_name[name] for name in curves), bench.config) if set(curves) <= set(by_name) else []
    colour = series("system", list(curves), places)
    lines = (
        plot(rows)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(x=x, y=y, color=colour, tooltip=tooltips(words, system="N", ms="Q:,.3~r", share="Q:.1%"))
    )
    layers = [lines]
    if rules:
        layers = [dashed(rules, opacity=0.7, y=y), dashed(rules, opacity=0.7, x=x), *layers]
    listed = [
        words("charts.bench_shares.of", system=name, p50=milliseconds(float(np.median(times))),
              p95=milliseconds(float(np.quantile(times, 0.95, method="higher"))))
        for name, times in curves.items()
    ]  # fmt: skip
    return titled(layers, "bench_shares", words, {}, height=_HEIGHT, listed=listed)


def _curves(bench: Bench, words: Words) -> dict[str, Floats]:
    """Times of requests in ascending order, infinite without an answer, by what the legend calls them."""
    requests, keys = bench.requests.with_columns(ms=CENSORED_MS), ("system", "depth", "loop", "rate", "users")
    shown = {row_name(row) for row in shown_rows(bench)}
    levels = rows_of(in_order(requests.select(keys).unique(maintain_order=True), bench.config))
    for loop in LOOPS:
        curves = {}
        for level in levels:
            if level["loop"] == loop and (loop != "sequential" or not shown or row_name(level) in shown):
                same = (pl.col(key).eq_missing(level[key]) for key in keys)
                name = named(level) if loop == "sequential" else f"{named(level)} · {load_text(level, words)}"
                curves[name] = np.sort(requests.filter(*same)["ms"].to_numpy())
        if curves:
            return curves
    return {}


def _steps(times: Floats) -> list[tuple[float, float]]:
    """Points of the curve, at most so many; requests without an answer keep it below 1."""
    shares = np.arange(1, len(times) + 1) / len(times)
    places = np.unique(np.linspace(0, len(times) - 1, min(len(times), _POINTS)).astype(int))
    return [(float(times[i]), float(shares[i])) for i in places.tolist() if math.isfinite(times[i]) and times[i] > 0]


def draw_load(bench: Bench, words: Words) -> TopLevelMixin | None:
    """The percentile of the objective by offered rate, with the rate that is sustained; None without open loops."""
    limits: Mapping[str, float] = {} if bench.config.load is None else bench.config.load.slo
    name = next((name for name in limits if name in _PERCENTILES), "p95")
    levels = rows_of(in_order(of_loop(bench.latency, "open"), bench.config))
    rows: list[dict[str, Any]] = [
        {"system": named(row), "rate": row["rate"], "ms": row[name],
         "low": max(row[f"{name}_low"], 0.0) or row[name],
         "high": row[f"{name}_high"] if math.isfinite(row[f"{name}_high"]) else row[name]}
        for row in levels if row[name] and math.isfinite(row[name])
    ]  # fmt: skip
    if not rows:
        return None
    alt, systems = altair(), list(dict.fromkeys(str(row["system"]) for row in rows))
    rows = [{**row, "at": beside(row["rate"], row["system"], systems)} for row in rows]
    knees = [
        {"system": named(row), "rate": row["rate"], "at": row["rate"]}
        for row in rows_of(bench.sustained)
        if row["rate"] is not None
    ]
    limit_ms = [1000 * limits[name]] if name in limits else []
    x = alt.X(
        "at:Q", title=words("charts.bench_load.axis"), **log_axis([row["rate"] for row in (*rows, *knees)], grid=False)
    )
    y = alt.Y(
        "ms:Q",
        title=words("charts.bench_load.ms", name=name.upper()),
        **log_axis([*(row[end] for row in rows for end in ("low", "high")), *limit_ms]),
    )
    by_name = {named(row): row["system"] for row in levels}
    colour = series("system", systems, places_of((by_name[name] for name in systems), bench.config))
    lines = plot(rows).encode(x=x, y=y, color=colour, tooltip=tooltips(
        words, system="N", rate="Q:,.3~r", ms="Q:,.3~r", low="Q:,.3~r", high="Q:,.3~r"))  # fmt: skip
    layers = [
        intervals(rows, x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour),
        lines.mark_line(strokeWidth=2),
        lines.mark_point(filled=True, size=60, opacity=1),
    ]
    if knees:
        layers.insert(0, plot(knees).mark_rule(strokeDash=[6, 4], strokeWidth=1.5).encode(x=x, color=colour))
    if limit_ms:
        limit = plot([{"ms": limit_ms[0]}])
        layers.insert(0, limit.mark_rule(strokeDash=[2, 3]).encode(y=y))
        text = objective_text(bench.config, words)
        layers.append(limit.mark_text(align="left", dx=4, dy=-7, text=text).encode(x=alt.value(0), y=y))
    listed = [words("charts.bench_load.of", system=knee["system"], rate=amount(knee["rate"])) for knee in knees]
    listed = listed or [words("charts.bench_load.unknown")]
    return titled(layers, "bench_load", words, {"name": name.upper()}, height=_HEIGHT, listed=listed)


_COST_POINTS = 121
_USUAL = 10_000.0
"""Questions a day around which the chart is drawn where the configuration names none."""
_DECADES, _STEPS, _HOURS = 2, 100, 24


def draw_costs(bench: Bench, words: Words) -> TopLevelMixin | None:
    """A line for each system that the summary shows and whose costs are known; None where none has a price above 0."""
    shown = {row_name(row) for row in shown_rows(bench)}
    priced = [row for row in rows_of(bench.costs) if row_name(row) in shown and row["per_query"]]
    if not priced:
        return None
    alt, at = altair(), _USUAL if bench.config.value is None else bench.config.value.queries_per_day
    systems = [named(row) for row in priced]
    rows: list[dict[str, Any]] = [
        {"system": name, "queries": n, "per_day": cost_of_day(row, n)}
        for name, row in zip(systems, priced, strict=True)
        for n in _queries(row, at / 10**_DECADES, at * 10**_DECADES)
    ]
    currency = priced[0]["currency"]
    x = alt.X(
        "queries:Q",
        title=words("charts.bench_costs.axis"),
        **log_axis((row["queries"] for row in rows), format="~s", grid=False),
    )
    y = alt.Y(
        "per_day:Q",
        title=words("charts.bench_costs.cost", currency=currency),
        **log_axis(row["per_day"] for row in rows),
    )
    colour = series("system", systems, places_of((row["system"] for row in priced), bench.config))
    lines = (
        plot(rows)
        .mark_line(strokeWidth=2)
        .encode(x=x, y=y, color=colour, tooltip=tooltips(words, system="N", queries="Q:,.0f", per_day="Q:,.2f"))
    )
    listed = [
        words("charts.bench_costs.of", system=name, cost=money(cost_of_day(row, at), currency))
        for name, row in zip(systems, priced, strict=True)
    ]
    layers = [dashed([{"queries": at}], x=x), lines]
    return titled(layers, "bench_costs", words, {"n": f"{at:,.0f}"}, height=_HEIGHT, listed=listed)


def _queries(row: Row, low: float, high: float) -> list[float]:
    """The points of a line: evenly by powers of ten, and at both ends of each step to one machine more."""
    points = np.geomspace(low, high, _COST_POINTS).tolist()
    if row["unit"] == "per_gpu_hour":
        of_machine = _of_machine(row)
        steps = range(math.ceil(low / of_machine), min(math.floor(high / of_machine), _STEPS) + 1)
        points += [of_machine * n * share for n in steps if n for share in (1.0, 1 + 1e-6)]
    return sorted(points)


def _of_machine(row: Row) -> float:
    """Questions a day of one machine: it costs as much an hour as the questions that it answers in one."""
    return float(_HOURS * row["unit_price"] / row["per_query"])


def cost_of_day(row: Row, queries: float) -> float:
    """The cost of so many questions a day, spread evenly over it: machines by whole ones, anything else by use.

    >>> own = {"unit": "per_gpu_hour", "unit_price": 2.0, "per_query": 0.0001}
    >>> cost_of_day(own, 1.0), cost_of_day(own, 480_001.0)
    (48.0, 96.0)
    >>> cost_of_day({"unit": "per_query", "unit_price": 0.002, "per_query": 0.002}, 1000.0)
    2.0
    """
    if row["unit"] != "per_gpu_hour":
        return float(row["per_query"] * queries)
    return float(math.ceil(round(queries / _of_machine(row), 9)) * _HOURS * row["unit_price"])


BENCH_CHARTS: dict[str, tuple[str, Callable[[Bench, Words], TopLevelMixin | None]]] = {
    "quality": ("quality", draw_quality),
    "shares": ("latency", draw_shares),
    "load": ("load", draw_load),
    "costs": ("costs", draw_costs),
    "front_latency": ("choice", draw_latency),
    "front_cost": ("choice", draw_cost),
}
"""Name -> the section that it belongs to, and what draws it; None where there is nothing to draw."""


def draw_bench(bench: Bench, *, words: Words) -> dict[str, TopLevelMixin]:
    """Every chart that there is something to draw for, by name.

    quality        by candidates, between base and ceiling;   shares   of requests by the time that they take
    load           latency by offered rate, with the rate that is sustained;   costs   of a day by its questions
    front_latency, front_cost   quality against P95 and against cost, with error bars
    Raises         MissingExtraError without altair.
    """
    charts = ((name, draw(bench, words)) for name, (_, draw) in BENCH_CHARTS.items())
    return {name: chart for name, chart in charts if chart is not None}
