"""What a day costs by how many questions it has: prices per use rise with each question, machines by whole ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.bench.bench import Bench
from steelyard.report.charts.plot import LISTED, altair, log_axis, plot, series, titled, tooltips
from steelyard.report.sheets.amounts import money
from steelyard.report.sheets.bench_cells import Row, places_of, row_name, rows_of
from steelyard.report.sheets.bench_summary import shown_rows
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_HEIGHT, _POINTS = 300, 121
_USUAL = 10_000.0
"""Questions a day around which the chart is drawn where the configuration names none."""
_DECADES, _STEPS, _HOURS = 2, 100, 24


def draw(bench: Bench, words: Words) -> TopLevelMixin | None:
    """A line for each system that the summary shows and whose costs are known; None where none has a price above 0."""
    shown = {row_name(row) for row in shown_rows(bench)}
    priced = [row for row in rows_of(bench.costs) if row_name(row) in shown and row["per_query"]]
    if not priced:
        return None
    alt, at = altair(), _USUAL if bench.config.value is None else bench.config.value.queries_per_day
    systems = [single_line(row_name(row)) for row in priced]
    rows: list[dict[str, Any]] = [
        {"system": name, "queries": n, "per_day": cost_of_day(row, n)}
        for name, row in zip(systems, priced, strict=True)
        for n in _queries(row, at / 10**_DECADES, at * 10**_DECADES)
    ]
    currency = priced[0]["currency"]
    x = alt.X("queries:Q", title=words("charts.bench_costs.axis"),
              **log_axis((row["queries"] for row in rows), format="~s", grid=False))  # fmt: skip
    y = alt.Y("per_day:Q", title=words("charts.bench_costs.cost", currency=currency),
              **log_axis(row["per_day"] for row in rows))  # fmt: skip
    colour = series("system", systems, places_of((row["system"] for row in priced), bench.config))
    lines = plot(rows).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, tooltip=tooltips(
        words, system="N", queries="Q:,.0f", per_day="Q:,.2f"))  # fmt: skip
    now = plot([{"queries": at}]).mark_rule(strokeDash=[4, 4]).encode(x=x)
    texts = [
        words("charts.bench_costs.of", system=name, cost=money(cost_of_day(row, at), currency))
        for name, row in zip(systems, priced, strict=True)
    ]
    values = {"n": f"{at:,.0f}", "listed": words.listed(texts, LISTED)}
    return titled(alt.layer(now, lines), "bench_costs", words, values, height=_HEIGHT)


def _queries(row: Row, low: float, high: float) -> list[float]:
    """Where a line has points: evenly by powers of ten, and at both ends of each step to one machine more."""
    points = np.geomspace(low, high, _POINTS).tolist()
    if row["unit"] == "per_gpu_hour":
        of_machine = _of_machine(row)
        steps = range(math.ceil(low / of_machine), min(math.floor(high / of_machine), _STEPS) + 1)
        points += [of_machine * n * share for n in steps if n for share in (1.0, 1 + 1e-6)]
    return sorted(points)


def _of_machine(row: Row) -> float:
    """Questions a day of one machine: it costs as much an hour as the questions that it answers in one."""
    return float(_HOURS * row["unit_price"] / row["per_query"])


def cost_of_day(row: Row, queries: float) -> float:
    """What so many questions a day cost, spread evenly over it: machines by whole ones, anything else by use.

    >>> own = {"unit": "per_gpu_hour", "unit_price": 2.0, "per_query": 0.0001}
    >>> cost_of_day(own, 1.0), cost_of_day(own, 480_001.0)
    (48.0, 96.0)
    >>> cost_of_day({"unit": "per_query", "unit_price": 0.002, "per_query": 0.002}, 1000.0)
    2.0
    """
    if row["unit"] != "per_gpu_hour":
        return float(row["per_query"] * queries)
    return float(math.ceil(round(queries / _of_machine(row), 9)) * _HOURS * row["unit_price"])
