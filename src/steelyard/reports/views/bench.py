"""A bench as sections: the choice first, then each axis, and how it was measured; load tests; and plans of benches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from steelyard.base.result import Result
from steelyard.bench.bench import Bench
from steelyard.bench.config import LoadTable
from steelyard.bench.load.levels import MOST_PROBES
from steelyard.bench.load.throughput import UNDECIDED, ramp_ends
from steelyard.bench.run.planning import BenchPlan
from steelyard.reports.views.bench_summary import (
    bench_picture,
    brief_summary,
    care,
    dangers_of_bench,
    recommended_row,
    summary_section,
)
from steelyard.reports.views.bench_tables import (
    RAMP,
    STREAMING,
    TABLES,
    Row,
    columns_of,
    in_order,
    is_open,
    levels,
    named,
    objective_text,
    of_loop,
    row_name,
    rows_of,
    timed,
)
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.notes import signature_note
from steelyard.reports.views.numbers import amount, money
from steelyard.reports.views.view import Block, Column, Look, Paragraph, Section, Sheet, Text, View, sheet_of
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

AXES = ("quality", "diagnostics", "latency", "stages", "streaming", "token_fit", "throughput", "sustained", "ramp",
        "scalability", "costs", "returns", "choice")  # fmt: skip
"""The frames of a bench, in the order of its report."""


def bench_sections(bench: Bench, words: Words) -> list[Section]:
    """All that was measured; sections without anything are left out."""
    sections, preference = [bench_summary_section(bench, words)], words(f"bench.choice.{bench.config.prefer}")
    for name, tables in TABLES.items():
        if sheets := [sheet for table in tables for sheet in table(bench, words)]:
            lead = Paragraph(words(f"bench.{name}.lead", preference=preference))
            sections.append(Section(name, words(f"bench.{name}.title"), [lead], sheets))
    return [*sections, _about(bench, words)]


def bench_summary_section(bench: Bench, words: Words) -> Section:
    """The bench in ten lines, which the commands of `steelyard bench` print."""
    return load_summary_section(bench, words) if bench.folder.kind == "load" else summary_section(bench, words)


def _blocks(bench: Bench, look: Look) -> list[Section]:
    """Blocks of `bench rerank` and `bench load`: the recommendation and why, and one row a system."""
    return [bench_summary_section(bench, look.words)]


def brief_bench(bench: Bench, look: Look) -> Iterator[Block]:
    """What is recommended, or the rate that is held; one table; and what to be careful with."""
    return _brief_load(bench, look) if bench.folder.kind == "load" else brief_summary(bench, look)


_LEVELS = 8
"""Levels of load on a short screen: those about the first that does not hold."""


def _brief_load(bench: Bench, look: Look) -> Iterator[Block]:
    """The rate that is held, the levels about it, and what to be careful with."""
    words, rows = look.words, levels(bench)
    lines = [load_headline(bench, words), *_found_lines(bench, words)]
    yield Text("\n".join(dict.fromkeys(lines)), "bold")
    failing = next((r for r, row in enumerate(rows) if row["holds"] is False and not is_open(row)), len(rows))
    first = max(0, min(failing - _LEVELS // 2, len(rows) - _LEVELS))
    columns = columns_of("load achieved errors p50 p95", words, optional=True, short=True)
    columns.append(Column(words("bench.head.holds"), lambda row: _holds_text(row, words), optional=True))
    sheet = sheet_of(rows[first : first + _LEVELS], [Column(bench.config.name, row_name), *columns], n_labels=2)
    ramps = list(RAMP(bench, words))
    tables = [*STREAMING(bench, words), *([sheet] if rows else ramps)]
    sheets = [replace(table, notes=[]) for table in tables]
    left_out = max(0, len(rows) - _LEVELS)
    sheets[-1].notes = [words("brief.load.levels", n=left_out)] if left_out else []
    is_closed = not of_loop(bench.throughput, "closed").is_empty()
    closed = [words("brief.load.closed")] if is_closed else []
    rising = [note for ramp in ramps for note in ramp.notes]
    sheets[-1].notes += careful([*rising, *dangers_of_bench(bench, words), *closed], look)
    yield from sheets


def _holds_text(row: Row, words: Words) -> str:
    """The verdict on a level by the objective, without the reason."""
    if row["holds"] is None:
        return "–"
    return words("bench.yes") if row["holds"] else words("brief.load.open" if is_open(row) else "brief.load.no")


def bench_papers(bench: Bench, words: Words) -> list[Sheet]:
    """The table of the summary, for a paper; the caption says what is recommended."""
    section = bench_summary_section(bench, words)
    return [replace(section.sheets[0], notes=[section.title, *section.sheets[0].notes])]


def bench_data(bench: Bench) -> dict[str, Any]:
    """Every axis in full precision; null where there is no number, or no end of an interval."""
    row = recommended_row(bench)
    return {
        "kind": bench.folder.kind,
        "name": bench.config.name,
        "config": bench.config.resolved(),
        "manifest": bench.folder.manifest,
        "recommended": None if row is None else {"system": row["system"], "depth": row["depth"]},
        **{axis: getattr(bench, axis).to_dicts() for axis in AXES},
    }


def _about(bench: Bench, words: Words) -> Section:
    """Under which circumstances it was measured."""
    config, manifest = bench.config, bench.folder.manifest
    load, of_load = config.load or LoadTable(), bench.folder.kind == "load"
    facts = {
        "name": config.name, "finished": manifest.get("finished"), "machine": _machines(manifest, words),
        "computing": _listed(manifest.get("computing") or {}),
        "versions": _listed({name: manifest.get(name) for name in ("steelyard", "python")}
                            | dict(manifest.get("libraries") or {})),
        **({
            "arrivals": single_line(str(load.arrivals)) if load.has_log else words(f"bench.arrivals.{load.arrivals}"),
            "duration": load.log_s if load.has_log else load.duration, "load_warm_up": load.warm_up,
            "think_time": load.think_time if load.concurrency else None,
        } if of_load else {
            "repetitions": config.repetitions, "warm_up": config.warm_up, "margin": config.margin,
            "prefer": words(f"bench.preference.{config.prefer}"),
        }),
        "timeout": config.timeout, "seed": config.seed,
    }  # fmt: skip
    notes = [*([] if of_load else [words("bench.about.order")]), *signature_note(bench.scores.signature, words)]
    columns = [
        Column[tuple[str, object]](words("bench.head.what"), lambda fact: words(f"bench.about.{fact[0]}")),
        Column[tuple[str, object]](words("bench.head.value"), lambda fact: str(fact[1])),
    ]
    known = [(name, value) for name, value in facts.items() if value not in (None, "")]
    return Section("about", words("bench.about.title"), [], [sheet_of(known, columns, notes, n_labels=2)])


def _machines(manifest: Mapping[str, Any], words: Words) -> str:
    """Processor, cores and system of each machine that it was measured on."""
    machines = manifest.get("machines") or [manifest.get("machine") or {}]
    return words("list.semicolon").join(
        words("list.comma").join(
            [
                *([str(own["cpu"])] if "cpu" in own else []),
                *([words("bench.about.cores", n=own["cores"])] if "cores" in own else []),
                *([str(own["os"])] if "os" in own else []),
            ]
        )
        for own in machines
    )


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)


def load_summary_section(bench: Bench, words: Words) -> Section:
    """The section that `bench load` prints, and with which the report of its bench begins."""
    sheets = [*STREAMING(bench, words), *RAMP(bench, words)]
    if rows := levels(bench):
        keys = "load achieved goodput errors p50 p95 p95_ends p99 holds"
        columns = columns_of(keys, words, optional=True, short=True)
        sheets.append(sheet_of(rows, [Column(bench.config.name, row_name), *columns], n_labels=2))
    sheets[-1].notes += care(bench, words)
    return Section("summary", load_headline(bench, words), list(map(Paragraph, _lines(bench, words))), sheets)


def load_headline(bench: Bench, words: Words) -> str:
    """The rate that is held, and the lowest above it that is not; of several systems the rate of each."""
    rows, objective = rows_of(in_order(bench.sustained, bench.config)), objective_text(bench.config, words)
    if not rows:
        users = words("bench.headline.users", name=bench.config.name)
        return users if bench.ramp.is_empty() else " ".join(_ramp_lines(bench, words))
    if len(rows) > 1:
        rates = [words("bench.headline.of", system=named(row), rate=amount(row["rate"])) for row in rows]
        return words("bench.headline.rates", objective=objective, listed=words.listed(rates, len(rates)))
    row = rows[0]
    return words(
        f"bench.headline.{_kind(row)}",
        system=named(row),
        objective=objective,
        rate=amount(row["rate"]),
        failing=amount(row["failing_rate"]),
        reason="" if row["reason"] is None else words(f"bench.fails.{row['reason']}"),
    )


def _kind(row: Row) -> str:
    """The kind of an end: a rate held, a higher one failed, or more requests would decide."""
    if row["rate"] is None:
        return "few" if row["reason"] in (*UNDECIDED, None) else "fails"
    if row["reason"] is None:
        return "holds"
    return "holds_open" if row["reason"] in UNDECIDED else "holds_below"


def _lines(bench: Bench, words: Words) -> Iterator[str]:
    """Lines on what was found, and on what the times of each kind of load are."""
    yield from _found_lines(bench, words)
    for loop in ("open", "closed"):
        if not of_loop(bench.throughput, loop).is_empty() or (loop == "open" and not bench.ramp.is_empty()):
            yield words(f"bench.load.{loop}")


def _found_lines(bench: Bench, words: Words) -> Iterator[str]:
    """Lines on one user alone, of a sweep, and on the rising rate, beside a rate that is held."""
    if bench.config.load is not None and bench.config.load.sweep:
        yield from _sweep_lines(bench, words)
    if not bench.sustained.is_empty():
        yield from _ramp_lines(bench, words)


def _ramp_lines(bench: Bench, words: Words) -> Iterator[str]:
    """Up to which rate each system kept the objective while the rate rose, and from where on it did not."""
    objective = objective_text(bench.config, words)
    for row in rows_of(ramp_ends(in_order(bench.ramp, bench.config), bench.config.load)):
        held = "unknown" if row["held"] is None else "held"
        kind = held if row["missed_low"] is None else f"missed_{held}"
        rates = {name: amount(row[name]) for name in ("first", "last", "held", "missed_low", "missed_high")}
        yield words(f"bench.ramp.{kind}_line", system=named(row), objective=objective, **rates)


def _sweep_lines(bench: Bench, words: Words) -> Iterator[str]:
    """Lines on the time of each system for one user, and on how many requests it answers at most."""
    rows = levels(bench, "closed")
    for alone in (row for row in rows if row["users"] == 1):
        same = [row for row in rows if row_name(row) == row_name(alone) and row["achieved"] is not None]
        most = max(same, key=lambda row: float(row["achieved"]), default=alone)
        yield words(
            "bench.load.sweep", system=named(alone), p50=timed(alone, "p50"), p95=timed(alone, "p95"),
            most=amount(most["achieved"]), users=words("bench.load.users", n=most["users"]),
        )  # fmt: skip


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


VIEWS: dict[type[Result], View[Any]] = {
    Bench: View[Bench](
        "a bench",
        blocks=_blocks,
        brief=brief_bench,
        data=lambda bench, words: bench_data(bench),
        rows=lambda bench: bench.scores.per_query,
        papers=bench_papers,
        label="bench",
        picture=bench_picture,
    ),
    BenchPlan: View[BenchPlan](
        "a plan of a bench",
        blocks=lambda plan, look: [plan_section(plan, look.words)],
        data=lambda plan, words: _data(plan),
    ),
}
