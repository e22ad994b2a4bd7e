"""Quality against latency and against cost: the front, with error bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from steelyard.bench.bench import Bench
from steelyard.report.charts.bench_quality import paired_ends
from steelyard.report.charts.plot import LISTED, WIDTH, altair, log_axis, plot, series, titled, tooltips
from steelyard.report.sheets.amounts import amount
from steelyard.report.sheets.bench_cells import Row, of_loop, row_name, rows_of
from steelyard.report.sheets.sheet import number
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_HEIGHT = 340
_KINDS = ("recommended", "front", "behind")
_SHAPES = ("diamond", "circle", "cross")


def draw_latency(bench: Bench, words: Words) -> TopLevelMixin | None:
    """Quality by P95 of one request at a time; None where nothing was timed."""
    times = {row_name(row): row for row in rows_of(of_loop(bench.latency, "sequential"))}
    return _draw(bench, "bench_front_latency", {
        name: (row["p95"], row["p95_low"], row["p95_high"]) for name, row in times.items()
    }, words)  # fmt: skip


def draw_cost(bench: Bench, words: Words) -> TopLevelMixin | None:
    """Quality by cost of 1,000 questions; None where nothing has a price above 0."""
    return _draw(bench, "bench_front_cost", {
        row_name(row): tuple(None if row[key] is None else 1000 * row[key]
                             for key in ("per_query", "per_query_low", "per_query_high"))
        for row in rows_of(bench.costs)
    }, words)  # fmt: skip


def _draw(bench: Bench, name: str, across: dict[str, tuple[Any, ...]], words: Words) -> TopLevelMixin | None:
    """A mark for each reranker and depth, at what it costs across and its quality up, with intervals of both."""
    choice = rows_of(bench.choice)
    if not choice:
        return None
    means = {row_name(row): row for row in rows_of(bench.quality) if row["measure"] == choice[0]["measure"]}
    reranked = {row_name(row): row for row in choice if row["depth"] is not None}
    places = (_point(row, means.get(label), across.get(label), words) for label, row in reranked.items())
    points = [place for place in places if place is not None]
    if not points:
        return None
    alt, measure = altair(), choice[0]["measure"]
    systems = list(dict.fromkeys(point["system"] for point in points))
    kinds = [words(f"charts.bench_front.{kind}") for kind in _KINDS]
    currency = next((row["currency"] for row in rows_of(bench.costs) if row["currency"]), "USD")
    x = alt.X("x:Q", title=words(f"charts.{name}.axis", currency=currency),
              **log_axis((point[end] for point in points for end in ("left", "right")), grid=False))  # fmt: skip
    y = alt.Y("y:Q", title=measure, scale=alt.Scale(zero=False, padding=12), axis=alt.Axis(tickCount=6))
    colour = series("system", systems)
    shape = alt.Shape("kind:N", title=None, scale=alt.Scale(domain=kinds, range=list(_SHAPES)),
                      legend=alt.Legend(columnPadding=16))  # fmt: skip
    base = plot(points).encode(color=colour)
    bars = [
        base.mark_rule(strokeWidth=2, opacity=0.35).encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_rule(strokeWidth=2, opacity=0.35).encode(y=y, x=alt.X("left:Q"), x2="right:Q"),
    ]
    marks = base.mark_point(filled=True, size=120, opacity=1).encode(
        x=x, y=y, shape=shape, tooltip=tooltips(words, label="N", x="Q:,.3~r", y="Q:.4f", kind="N"))  # fmt: skip
    # Neighbours have their labels on different sides, and the last ones to the left, where there is room.
    labels = plot(_placed(points)).mark_text(
        align=alt.expr("datum.late ? 'right' : 'left'"), dx=alt.expr("datum.late ? -9 : 9"),
        dy=alt.expr("datum.below ? 11 : -9"),
    ).encode(x=x, y=y, text="label:N")  # fmt: skip
    line = plot([{"y": choice[0]["quality"] if choice[0]["depth"] is None else means[points[0]["label"]]["base"]}])
    layers = [
        line.mark_rule(strokeDash=[4, 4]).encode(y=y),
        line.mark_text(align="right", dy=9, text=words("charts.bench_quality.base")).encode(x=alt.value(WIDTH), y=y),
        *bars, marks, labels,
    ]  # fmt: skip
    texts = [words("charts.bench_front.of", system=point["label"], x=point["text"], quality=number(point["y"], 3),
                   kind=point["kind"]) for point in points]  # fmt: skip
    values = {"measure": measure, "listed": words.listed(texts, LISTED)}
    return titled(alt.layer(*layers), name, words, values, height=_HEIGHT)


def _placed(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points from left to right, with the place of their labels."""
    ordered = sorted(points, key=lambda point: (point["x"], point["y"]))
    low, high = (math.log(ordered[end]["x"]) for end in (0, -1))
    late = low + 0.8 * (high - low)
    return [
        {**point, "below": bool(n % 2), "late": high > low and math.log(point["x"]) > late}
        for n, point in enumerate(ordered)
    ]


def _point(row: Row, quality: Row | None, across: tuple[Any, ...] | None, words: Words) -> dict[str, Any] | None:
    """None where one of the two is not known; ends that are not known are those of the mark itself."""
    if quality is None or across is None or not _is_known(across[0]) or row["quality"] is None:
        return None
    x = across[0]
    kind = "recommended" if row["recommended"] else "front" if row["on_front"] else "behind"
    low, high = paired_ends(quality, row["quality"])
    return {
        "label": single_line(row_name(row)), "system": single_line(row["system"]), "x": x, "y": row["quality"],
        "left": across[1] if _is_known(across[1]) else x, "right": across[2] if _is_known(across[2]) else x,
        "low": low, "high": high, "kind": words(f"charts.bench_front.{kind}"), "text": amount(x),
    }  # fmt: skip


def _is_known(value: float | None) -> bool:
    """Whether an axis of powers of ten can show it."""
    return value is not None and math.isfinite(value) and value > 0
