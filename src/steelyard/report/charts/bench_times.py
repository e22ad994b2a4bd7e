"""Shares of requests by the time that they take, and times by load."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats
from steelyard.bench.bench import Bench
from steelyard.bench.frames import CENSORED_MS, LOOPS
from steelyard.report.charts.plot import LISTED, altair, beside, log_axis, plot, series, titled, tooltips
from steelyard.report.sheets.amounts import amount, milliseconds
from steelyard.report.sheets.bench_cells import (
    Row,
    in_order,
    load_text,
    objective_text,
    of_loop,
    places_of,
    row_name,
    rows_of,
)
from steelyard.report.sheets.bench_summary import shown_rows
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_HEIGHT, _POINTS = 300, 200
_PERCENTILES = ("p50", "p95", "p99")


def draw_shares(bench: Bench, words: Words) -> TopLevelMixin | None:
    """The share of requests that are answered within a time, a line a system; None where nothing was timed.

    Of rerankers, one request after the other over the depths that the summary shows; else by load, of one loop alone.
    """
    curves, alt = _curves(bench, words), altair()
    rows: list[dict[str, Any]] = [
        {"system": name, "ms": ms, "share": share}
        for name, times in curves.items() for ms, share in _steps(times)
    ]  # fmt: skip
    if not rows:
        return None
    limits = {} if bench.config.load is None else bench.config.load.slo
    rules = [{"ms": 1000 * limit, "share": float(name[1:]) / 100} for name, limit in limits.items()]
    times_axis = log_axis((row["ms"] for row in (*rows, *rules)), grid=False)
    x = alt.X("ms:Q", title=words("charts.bench_shares.axis"), **times_axis)
    y = alt.Y("share:Q", title=words("charts.bench_shares.share"), scale=alt.Scale(domain=[0, 1]),
              axis=alt.Axis(format="%", tickCount=5))  # fmt: skip
    colour = series("system", list(curves), _places(curves, bench))
    lines = plot(rows).mark_line(interpolate="step-after", strokeWidth=2).encode(
        x=x, y=y, color=colour, tooltip=tooltips(words, system="N", ms="Q:,.3~r", share="Q:.1%"))  # fmt: skip
    layers = [lines]
    if rules:
        layers.insert(0, plot(rules).mark_rule(strokeDash=[4, 4], opacity=0.7).encode(x=x))
        layers.insert(0, plot(rules).mark_rule(strokeDash=[4, 4], opacity=0.7).encode(y=y))
    texts = [words("charts.bench_shares.of", system=name, p50=milliseconds(float(np.median(times))),
                   p95=milliseconds(_quantile(times, 0.95))) for name, times in curves.items()]  # fmt: skip
    return titled(alt.layer(*layers), "bench_shares", words, {"listed": words.listed(texts, LISTED)}, height=_HEIGHT)


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
                curves[_level_name(level, words)] = np.sort(requests.filter(*same)["ms"].to_numpy())
        if curves:
            return curves
    return {}


def _places(curves: Mapping[str, Floats], bench: Bench) -> list[int]:
    """The places of colours, those of the systems; of levels of load, which are many of one system, one by one."""
    systems = {single_line(row_name(row)): row["system"] for row in rows_of(bench.choice)}
    return places_of((systems[name] for name in curves), bench.config) if set(curves) <= set(systems) else []


def _level_name(row: Row, words: Words) -> str:
    """What is asked, and under which load."""
    name = single_line(row_name(row))
    return name if row["loop"] == "sequential" else f"{name} · {load_text(row, words)}"


def _steps(times: Floats) -> list[tuple[float, float]]:
    """Points of the curve, at most so many; requests without an answer keep it below 1."""
    shares = np.arange(1, len(times) + 1) / len(times)
    places = np.unique(np.linspace(0, len(times) - 1, min(len(times), _POINTS)).astype(int))
    return [
        (float(times[i]), float(shares[i])) for i in places.tolist() if math.isfinite(times[i]) and times[i] > 0
    ]  # fmt: skip


def _quantile(times: Floats, p: float) -> float:
    return float(np.quantile(times, p, method="higher"))


def draw_load(bench: Bench, words: Words) -> TopLevelMixin | None:
    """The percentile of the objective by offered rate, with the rate that is sustained; None without open loops."""
    limits: Mapping[str, float] = {} if bench.config.load is None else bench.config.load.slo
    name = next((name for name in limits if name in _PERCENTILES), "p95")
    levels = rows_of(in_order(of_loop(bench.latency, "open"), bench.config))
    rows: list[dict[str, Any]] = [
        {"system": single_line(row_name(row)), "rate": row["rate"], "ms": row[name],
         "low": max(row[f"{name}_low"], 0.0) or row[name],
         "high": row[f"{name}_high"] if math.isfinite(row[f"{name}_high"]) else row[name]}
        for row in levels if row[name] and math.isfinite(row[name])
    ]  # fmt: skip
    if not rows:
        return None
    alt, systems = altair(), list(dict.fromkeys(str(row["system"]) for row in rows))
    rows = [{**row, "at": beside(row["rate"], row["system"], systems)} for row in rows]
    knees = [
        {"system": single_line(row_name(row)), "rate": row["rate"], "at": row["rate"]}
        for row in rows_of(bench.sustained)
        if row["rate"] is not None
    ]
    limit_ms = [1000 * limits[name]] if name in limits else []
    x = alt.X("at:Q", title=words("charts.bench_load.axis"),
              **log_axis([row["rate"] for row in (*rows, *knees)], grid=False))  # fmt: skip
    y = alt.Y("ms:Q", title=words("charts.bench_load.ms", name=name.upper()),
              **log_axis([*(row[end] for row in rows for end in ("low", "high")), *limit_ms]))  # fmt: skip
    by_name = {single_line(row_name(row)): row["system"] for row in levels}
    colour = series("system", systems, places_of((by_name[name] for name in systems), bench.config))
    lines = plot(rows).encode(x=x, y=y, color=colour, tooltip=tooltips(
        words, system="N", rate="Q:,.3~r", ms="Q:,.3~r", low="Q:,.3~r", high="Q:,.3~r"))  # fmt: skip
    layers = [
        plot(rows).mark_rule(strokeWidth=2, opacity=0.4).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        lines.mark_line(strokeWidth=2), lines.mark_point(filled=True, size=60, opacity=1),
    ]  # fmt: skip
    if knees:
        layers.insert(0, plot(knees).mark_rule(strokeDash=[6, 4], strokeWidth=1.5).encode(x=x, color=colour))
    if limit_ms:
        limit = plot([{"ms": limit_ms[0]}])
        layers.insert(0, limit.mark_rule(strokeDash=[2, 3]).encode(y=y))
        text = objective_text(bench.config, words)
        layers.append(limit.mark_text(align="left", dx=4, dy=-7, text=text).encode(x=alt.value(0), y=y))
    texts = [words("charts.bench_load.of", system=knee["system"], rate=amount(knee["rate"])) for knee in knees]
    values = {"name": name.upper(), "listed": words.listed(texts, LISTED) or words("charts.bench_load.unknown")}
    return titled(alt.layer(*layers), "bench_load", words, values, height=_HEIGHT)
