"""What a bench would take: a row for each reranker, depth and loop, and their sum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from steelyard.bench.planning import BenchPlan
from steelyard.bench.sustaining import MOST_PROBES
from steelyard.report.sheets.amounts import amount, money
from steelyard.report.sheets.section import Section
from steelyard.report.sheets.sheet import Sheet
from steelyard.report.words import Words

_HEADS = ("system", "loop", "requests", "pairs", "tokens", "cost", "seconds")


def plan_section(plan: BenchPlan, words: Words) -> Section:
    """What the bench would take, of what its folder does not hold yet."""
    rows = [_cells(row, plan, words) for row in plan.frame.filter(pl.col("requests").fill_null(1) > 0).to_dicts()]
    header = [words(f"bench_plan.head.{name}") for name in _HEADS]
    total = [words("bench_plan.total"), "", *_amounts(_sums(plan), plan.currency)]
    title = words("bench_plan.title", name=plan.name)
    return Section("plan", title, [], [Sheet(header, [*rows, total], n_labels=2, notes=list(_notes(plan, words)))])


def _cells(row: dict[str, Any], plan: BenchPlan, words: Words) -> list[str]:
    return [f"{row['system']}@{row['depth']}", words(f"bench_plan.loop.{row['loop']}"), *_amounts(row, plan.currency)]


def _amounts(row: dict[str, Any], currency: str) -> list[str]:
    counts = ["–" if row[name] is None else f"{row[name]:,}" for name in ("requests", "pairs", "tokens")]
    return [*counts, money(row["cost"], currency), amount(row["seconds"])]


def _sums(plan: BenchPlan) -> dict[str, Any]:
    """Sums of what is known; None where nothing is."""
    names = ("requests", "pairs", "tokens", "cost", "seconds")
    return plan.frame.select(
        pl.when(pl.col(name).is_not_null().any()).then(pl.col(name).sum()).alias(name) for name in names
    ).to_dicts()[0]


def _notes(plan: BenchPlan, words: Words) -> Iterator[str]:
    yield words("bench_plan.nothing")
    if plan.n_done:
        yield words("bench_plan.done", n=plan.n_done, total=plan.n_blocks, folder=str(plan.folder))
    yield words("bench_plan.estimate")
    sequential = plan.frame.filter(loop="sequential")
    without = sequential.group_by("system", maintain_order=True).agg(pl.col("cost").is_null().all()).filter("cost")
    if without.height:
        yield words("bench_plan.no_price", systems=words.listed(without["system"].to_list()))
    if not plan.frame.filter(loop="closed").is_empty():
        yield words("bench_plan.closed")
    if not plan.frame.filter(loop="search").is_empty():
        yield words("bench_plan.search", n=MOST_PROBES)
