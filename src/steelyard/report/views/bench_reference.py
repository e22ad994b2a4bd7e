"""Rules of thumb in circulation beside the figures of a bench."""

from __future__ import annotations

import polars as pl

from steelyard.bench.bench import Bench
from steelyard.bench.choice.reference import reference_note
from steelyard.report.views.bench_tables import Row, heads, in_order, row_name, rows_of
from steelyard.report.views.numbers import amount, milliseconds, number
from steelyard.report.views.sheet import Paragraph, Section, Sheet
from steelyard.report.words import Words


def reference_section(bench: Bench, words: Words) -> Section | None:
    """None where the bench has no figure that there is one in circulation for."""
    sheets = [_latency(bench, words), _rates(bench, words), _levels(bench, words)]
    shown = [sheet for sheet in sheets if sheet is not None]
    if not shown:
        return None
    lead = Paragraph(reference_note("zh" if words.code == "zh" else "en"))
    return Section("reference", words("bench.reference.title"), [lead], shown)


def _latency(bench: Bench, words: Words) -> Sheet | None:
    rows = rows_of(in_order(bench.reference.latency.drop_nulls("reference_p50"), bench.config))
    cells = [
        [row_name(row), *(milliseconds(row[f"{origin}{name}"]) for name in ("p50", "p95", "p99")
                          for origin in ("", "reference_"))]
        for row in rows
    ]  # fmt: skip
    names = ("system", "p50", "circulates", "p95", "circulates", "p99", "circulates")
    return Sheet(heads(names, words), cells) if cells else None


def _rates(bench: Bench, words: Words) -> Sheet | None:
    rates = bench.reference.rates.filter(~pl.col("is_own") | pl.col("depth").is_not_null())
    if not rates["is_own"].any():
        return None
    cells = [
        [row_name(row), f"{row['threads']:,}", amount(row["rate"]),
         words("bench.reference.own" if row["is_own"] else "bench.reference.circulates")]
        for row in rows_of(rates)
    ]  # fmt: skip
    return Sheet(heads(("system", "at_once", "achieved", "origin"), words), cells)


def _levels(bench: Bench, words: Words) -> Sheet | None:
    rows = rows_of(bench.reference.levels.drop_nulls("value"))
    cells = [
        [words(f"bench.reference.{row['scenario']}"), _asked(row), row_name(row), _value(row)] for row in rows
    ]  # fmt: skip
    return Sheet(heads(("asked", "level", "system", "measured"), words), cells, n_labels=3) if cells else None


def _asked(row: Row) -> str:
    limit, sign = (row["below"], "<") if row["above"] is None else (row["above"], ">")
    return f"{row['measure']} {sign} {amount(limit)}"


def _value(row: Row) -> str:
    return milliseconds(row["value"]) if row["measure"].startswith("latency_ms") else number(row["value"], 3)
