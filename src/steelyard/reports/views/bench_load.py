"""A load test in a few lines: whether the load is held, and a row a level."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.bench.bench import Bench
from steelyard.bench.load.throughput import UNDECIDED, ramp_ends
from steelyard.reports.views.bench_summary import care
from steelyard.reports.views.bench_tables import (
    RAMP,
    STREAMING,
    Row,
    columns_of,
    in_order,
    levels,
    named,
    objective_text,
    of_loop,
    row_name,
    rows_of,
)
from steelyard.reports.views.numbers import amount, milliseconds
from steelyard.reports.views.sheet import Column, Paragraph, Section, sheet_of
from steelyard.reports.words import Words


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
    """Lines on what the times of each kind of load are."""
    if bench.config.load is not None and bench.config.load.sweep:
        yield from _sweep_lines(bench, words)
    if not bench.sustained.is_empty():
        yield from _ramp_lines(bench, words)
    for loop in ("open", "closed"):
        if not of_loop(bench.throughput, loop).is_empty() or (loop == "open" and not bench.ramp.is_empty()):
            yield words(f"bench.load.{loop}")


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
            "bench.load.sweep", system=named(alone), p50=milliseconds(alone["p50"]), p95=milliseconds(alone["p95"]),
            most=amount(most["achieved"]), users=words("bench.load.users", n=most["users"]),
        )  # fmt: skip
