"""Quality against latency and against cost: the front, with error bars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.bench.bench import Bench
from steelyard.reports.charts.plot import WIDTH, altair, dots, intervals, log_axis, plot, series, titled, tooltips
from steelyard.reports.views.bench_tables import Row, is_lower, of_loop, places_of, row_name, rows_of
from steelyard.reports.views.colours import NEUTRAL
from steelyard.reports.views.numbers import amount, number
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_HEIGHT = 340
_KINDS = ("recommended", "front", "behind")
_SHAPES = ("diamond", "circle", "cross")
_ROOM, _LEAST = 0.08, 1.3
"""Room around the marks, as a share of what they reach over; across, a factor of so much at least."""
_CHARACTER, _LINE, _MARK, _RING, _WIDE = 7.6, 15.0, 14.0, 26.0, 0x2E7F
"""Pixels of a character of wide fonts, of a line of labels, of a mark and of a ring; characters beyond the last one are
twice as wide."""


def draw_latency(bench: Bench, words: Words) -> TopLevelMixin | None:
    """Quality by P95 of one request at a time; None where nothing was timed."""
    times = {row_name(row): row for row in rows_of(of_loop(bench.latency, "sequential"))}
    return _draw(
        bench,
        "bench_front_latency",
        {name: (row["p95"], row["p95_low"], row["p95_high"]) for name, row in times.items()},
        words,
    )


def draw_cost(bench: Bench, words: Words) -> TopLevelMixin | None:
    """Quality by cost of 1,000 questions; None where nothing has a price above 0."""
    return _draw(bench, "bench_front_cost", {
        row_name(row): tuple(None if row[key] is None else 1000 * row[key]
                             for key in ("per_query", "per_query_low", "per_query_high"))
        for row in rows_of(bench.costs)
    }, words)  # fmt: skip


def _draw(bench: Bench, name: str, across: dict[str, tuple[Any, ...]], words: Words) -> TopLevelMixin | None:
    """A mark for each reranker and depth, at what it costs across and its quality up, with intervals of both.

    The front is that of the chart: what nothing is better than that costs no more of what is across.
    """
    choice = rows_of(bench.choice)
    if not choice:
        return None
    means = {row_name(row): row for row in rows_of(bench.quality) if row["measure"] == choice[0]["measure"]}
    reranked = {row_name(row): row for row in choice if row["depth"] is not None}
    places = (_point(row, means.get(label), across.get(label)) for label, row in reranked.items())
    points = [place for place in places if place is not None]
    if not points:
        return None
    front = _front(points, lower=is_lower(bench, choice[0]["measure"]))
    for point in points:
        kind = "recommended" if point["recommended"] else "front" if point["label"] in front else "behind"
        point["kind"] = words(f"charts.bench_front.{kind}")
    alt, measure = altair(), choice[0]["measure"]
    systems = list(dict.fromkeys(point["system"] for point in points))
    kinds = [words(f"charts.bench_front.{kind}") for kind in _KINDS]
    currency = next((row["currency"] for row in rows_of(bench.costs) if row["currency"]), "USD")
    base = choice[0]["quality"] if choice[0]["depth"] is None else means[points[0]["label"]]["base"]
    frame = _Frame.around(points, base)
    x_axis = log_axis(frame.x, grid=False)
    x = alt.X("x:Q", title=words(f"charts.{name}.axis", currency=currency), axis=x_axis["axis"],
              scale=alt.Scale(type="log", nice=False, domain=list(frame.x)))  # fmt: skip
    y = alt.Y(
        "y:Q", title=measure, scale=alt.Scale(zero=False, nice=False, domain=list(frame.y)), axis=alt.Axis(tickCount=6)
    )
    colour = series("system", systems, places_of(dict.fromkeys(point["named"] for point in points), bench.config))
    shape = alt.Shape("kind:N", title=None, scale=alt.Scale(domain=kinds, range=list(_SHAPES)),
                      legend=alt.Legend(columnPadding=16, orient="bottom"))  # fmt: skip
    tooltip = tooltips(words, label="N", x="Q:,.3~r", y="Q:.4f", kind="N")
    marks = [
        intervals(points, opacity=0.35, color=colour, x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        intervals(points, opacity=0.35, color=colour, y=y, x=alt.X("left:Q"), x2=alt.X2("right:Q")),
        dots(points, size=120, color=colour, x=x, y=y, shape=shape, tooltip=tooltip),
    ]
    ahead = sorted((point for point in points if point["label"] in front), key=lambda point: point["x"])
    steps = [{name: point[name] for name in ("label", "x", "y")} for point in (*ahead, {**ahead[-1], "x": frame.x[1]})]
    edge = plot(steps).mark_line(interpolate="step-after", strokeWidth=1.5, stroke=NEUTRAL)
    ring = plot([point for point in points if point["recommended"]]).mark_point(
        shape="circle", filled=False, size=520, strokeWidth=2.5, stroke=NEUTRAL, opacity=1
    )
    # The places of labels are computed, so that none lies on another one; those without a place have a tooltip.
    labels = [
        plot([point for point in frame.labelled(points) if point["recommended"] == bold])
        .mark_text(align="left", baseline="middle", fontWeight="bold" if bold else "normal")
        .encode(x=alt.X("at_x:Q", scale=None), y=alt.Y("at_y:Q", scale=None), text=alt.Text("label:N"))
        for bold in (False, True)
    ]
    line = plot([{"y": base}])
    layers = [
        line.mark_rule(strokeDash=[4, 4]).encode(y=y),
        line.mark_text(align="right", dy=9, text=words("charts.bench_quality.base")).encode(x=alt.value(WIDTH), y=y),
        edge.encode(x=x, y=y),
        *marks,
        ring.encode(x=x, y=y),
        *labels,
    ]
    listed = [
        words("charts.bench_front.of", system=point["label"], x=point["text"], quality=number(point["y"], 3),
              kind=point["kind"])
        for point in points
    ]  # fmt: skip
    return titled(layers, name, words, {"measure": measure}, height=_HEIGHT, listed=listed)


def _front(points: Sequence[dict[str, Any]], *, lower: bool) -> set[str]:
    """Labels of the points that are better than all that cost as much or less."""
    front, best = set[str](), -math.inf
    for point in sorted(points, key=lambda point: (point["x"], point["y"] if lower else -point["y"])):
        goodness = -point["y"] if lower else point["y"]
        if goodness > best:
            best = goodness
            front.add(point["label"])
    return front


@dataclass(frozen=True)
class _Frame:
    """What the axes of a chart reach over: by powers of ten across, evenly up."""

    x: tuple[float, float]
    y: tuple[float, float]

    @classmethod
    def around(cls, points: Sequence[dict[str, Any]], base: float) -> _Frame:
        """All marks and bars, with some room around them."""
        left, right = (math.log(end(point[name] for point in points)) for end, name in ((min, "left"), (max, "right")))
        low, high = min(base, *(point["low"] for point in points)), max(base, *(point["high"] for point in points))
        wide, tall = max(_ROOM * (right - left), math.log(_LEAST)), _ROOM * (high - low) or _ROOM
        return cls((math.exp(left - wide), math.exp(right + wide)), (low - tall, high + tall))

    def at(self, point: Mapping[str, Any]) -> tuple[float, float]:
        """Pixels from the left and from the top."""
        across = math.log(point["x"] / self.x[0]) / math.log(self.x[1] / self.x[0])
        return WIDTH * across, _HEIGHT * (self.y[1] - point["y"]) / (self.y[1] - self.y[0])

    def labelled(self, points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The points whose labels have a place on no mark and on no other label; the recommended one comes first."""
        taken = [_box(*self.at(point), *2 * [_RING if point["recommended"] else _MARK]) for point in points]
        placed = []
        for point in sorted(points, key=lambda point: (not point["recommended"], point["x"])):
            x, y = self.at(point)
            width = _CHARACTER * sum(2 if ord(c) > _WIDE else 1 for c in point["label"])
            for centre_x, centre_y in _around(x, y, width):
                box = _box(centre_x, centre_y, width, _LINE)
                inside = box[0] >= 0 and box[1] <= WIDTH and box[2] >= 0 and box[3] <= _HEIGHT
                if inside and not any(_meet(box, other) for other in taken):
                    taken.append(box)
                    placed.append({**point, "at_x": box[0], "at_y": centre_y})
                    break
        return placed


_Box = tuple[float, float, float, float]


def _around(x: float, y: float, width: float) -> Iterator[tuple[float, float]]:
    """Centres of labels beside a mark: to the right and the left, above and below, nearer ones first."""
    for dy in (-11.0, 11.0, -24.0, 24.0, -37.0, 37.0):
        for dx in (width / 2 + 14, -width / 2 - 14, 0.0):
            yield x + dx, y + (dy if dx else 1.3 * dy)


def _box(x: float, y: float, width: float, height: float) -> _Box:
    return x - width / 2, x + width / 2, y - height / 2, y + height / 2


def _meet(one: _Box, other: _Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _point(row: Row, quality: Row | None, across: tuple[Any, ...] | None) -> dict[str, Any] | None:
    """None where one of the two is not known; ends that are not known are those of the mark itself."""
    if quality is None or across is None or not _is_known(across[0]) or row["quality"] is None:
        return None
    x = across[0]
    low, high = paired_ends(quality, row["quality"])
    return {
        "label": single_line(row_name(row)), "system": single_line(row["system"]), "named": row["system"], "x": x,
        "y": row["quality"], "left": across[1] if _is_known(across[1]) else x,
        "right": across[2] if _is_known(across[2]) else x, "low": low, "high": high, "text": amount(x),
        "recommended": row["recommended"],
    }  # fmt: skip


def _is_known(value: float | None) -> bool:
    """True if an axis of powers of ten can show it."""
    return value is not None and math.isfinite(value) and value > 0


def paired_ends(row: Row, mean: float) -> tuple[float, float]:
    """The interval of the difference of a row of the quality, laid around a mean; the mean where there is none."""
    ends = row["difference_low"], row["difference_high"]
    if row["difference"] is None or None in ends:
        return mean, mean
    low, high = (mean + end - row["difference"] for end in ends)
    return low, high
