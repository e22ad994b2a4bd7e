"""What a bench would take: a row for each reranker, depth and loop, and their sum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from steelyard.bench.load.levels import MOST_PROBES
from steelyard.bench.run.planning import BenchPlan
from steelyard.reports.views.numbers import amount, money
from steelyard.reports.views.sheet import Section, Sheet
from steelyard.reports.views.view import View
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

_DURATIONS = (("s", 1), ("min", 60), ("h", 3600))
_HEADS = ("system", "loop", "requests", "pairs", "tokens", "cost", "seconds")


def plan_section(plan: BenchPlan, words: Words) -> Section:
    """The section on what the bench would take, of what its folder does not hold yet."""
    rows = [_cells(row, plan, words) for row in plan.frame.filter(pl.col("requests").fill_null(1) > 0).to_dicts()]
    header = [words(f"bench_plan.head.{name}") for name in _HEADS]
    sums = {name: plan.total(name) for name in _HEADS[2:]}
    total = [words("bench_plan.total"), "", *_amounts(sums, plan.currency)]
    title = words("bench_plan.title", name=plan.name)
    return Section("plan", title, [], [Sheet(header, [*rows, total], n_labels=2, notes=list(_notes(plan, words)))])


def _cells(row: dict[str, Any], plan: BenchPlan, words: Words) -> list[str]:
    return [f"{row['system']}@{row['depth']}", words(f"bench_plan.loop.{row['loop']}"), *_amounts(row, plan.currency)]


def _amounts(row: dict[str, Any], currency: str) -> list[str]:
    counts = ["–" if row[name] is None else f"{row[name]:,}" for name in ("requests", "pairs", "tokens")]
    return [*counts, money(row["cost"], currency), amount(row["seconds"])]


def _notes(plan: BenchPlan, words: Words) -> Iterator[str]:
    yield words("bench_plan.nothing")
    if plan.n_done:
        yield words("bench_plan.done", n=plan.n_done, total=plan.n_blocks, folder=str(plan.folder))
    yield words("bench_plan.estimate")
    if plan.without_price:
        yield words("bench_plan.no_price", systems=words.listed(plan.without_price))
    yield from _margin(plan, words)
    if not plan.frame.filter(loop="closed").is_empty():
        yield words("bench_plan.closed")
    if not plan.frame.filter(loop="search").is_empty():
        yield words("bench_plan.search", n=MOST_PROBES)


def _margin(plan: BenchPlan, words: Words) -> Iterator[str]:
    """The number of questions that show that a reranker is within the margin of the best, and how many there are."""
    if (margin := plan.margin) is not None:
        yield words(
            "bench_plan.margin", measure=margin.measure, margin=f"{margin.margin:g}", n=margin.n,
            least=amount(margin.least, 2), most=amount(margin.most, 2),
        )  # fmt: skip


def announcement(plan: BenchPlan, words: Words) -> Iterator[str]:
    """Sentences on what a bench takes, for the moment before it is measured."""
    totals = {name: plan.total(name) for name in ("requests", "pairs", "tokens")}
    amounts = [words(f"bench_plan.amount.{name}", n=total) for name, total in totals.items() if total]
    if (seconds := plan.total("seconds", searches=False)) is not None:
        amounts.append(duration(seconds, words))
    if cost := plan.total("cost"):
        amounts.append(money(cost, plan.currency))
    yield words("bench_plan.announced", name=single_line(plan.name), amounts=words.listed(amounts))
    if systems := [single_line(system) for system in plan.without_price if system in plan.callers]:
        yield words("bench_plan.without_price", systems=words.listed(systems))
    yield from _margin(plan, words)
    if searches := plan.frame.filter(loop="search")["seconds"].to_list():
        yield words("bench_plan.searching", duration=duration(sum(searches), words))


def duration(seconds: float, words: Words) -> str:
    """Seconds, minutes or hours, whichever says it in few digits."""
    unit, size = next((unit, size) for unit, size in _DURATIONS if seconds < 100 * size or unit == "h")
    return words(f"bench_plan.duration.{unit}", n=amount(seconds / size, 2))


def _data(plan: BenchPlan) -> dict[str, Any]:
    names = ("name", "folder", "n_blocks", "n_done", "currency")
    totals = {name: plan.total(name) for name in _HEADS[2:]}
    return {**{name: getattr(plan, name) for name in names}, "rows": plan.frame.to_dicts(), "totals": totals}


VIEWS = {
    BenchPlan: View[BenchPlan](
        "a plan of a bench",
        blocks=lambda plan, look: [plan_section(plan, look.words)],
        data=lambda plan, words: _data(plan),
    )
}
