"""Every chart of a bench."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from steelyard.bench.bench import Bench
from steelyard.report.charts import bench_choice, bench_costs, bench_quality, bench_times
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

BENCH_CHARTS: dict[str, tuple[str, Callable[[Bench, Words], TopLevelMixin | None]]] = {
    "quality": ("quality", bench_quality.draw), "shares": ("latency", bench_times.draw_shares),
    "load": ("load", bench_times.draw_load), "costs": ("costs", bench_costs.draw),
    "front_latency": ("choice", bench_choice.draw_latency), "front_cost": ("choice", bench_choice.draw_cost),
}  # fmt: skip
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
