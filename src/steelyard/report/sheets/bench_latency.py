"""How long systems of a bench take, and under which load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from steelyard.bench.load.throughput import INCONCLUSIVE
from steelyard.report.sheets.amounts import amount, bounds, milliseconds
from steelyard.report.sheets.bench_cells import (
    Row,
    heads,
    load_text,
    of_loop,
    row_name,
    rows_of,
    time_ends,
    without_empty,
)
from steelyard.report.sheets.sheet import Sheet, percent
from steelyard.report.words import Words

_LEAST = {"p95": 72, "p99": 368}
"""Requests from which on a percentile has an upper end."""
_PERCENTILES = ("p50", "p95", "p99")


def latency_sheet(latency: pl.DataFrame, words: Words) -> Sheet | None:
    """Requests one after the other: percentiles with intervals, and what follows of pairs and tokens."""
    rows = rows_of(of_loop(latency, "sequential"))
    if not rows:
        return None
    names = ("requests", *(head for name in _PERCENTILES for head in (name, "interval")), "repetitions", "n_censored",
             "ms_per_pair", "tokens_per_s")  # fmt: skip
    cells = [
        [row_name(row), f"{row['n']:,}", *_percentiles(row, words),
         bounds(row["p95_least"], row["p95_greatest"], unknown="–"), amount(row["n_censored"] or None),
         amount(row["ms_per_pair"]), amount(row["tokens_per_s"])]
        for row in rows
    ]  # fmt: skip
    repetitions = max(row["repetitions"] for row in rows)
    notes = [words("bench.latency.sequential", n=repetitions), *_latency_notes(rows, words)]
    return Sheet(*without_empty(heads(["system", *names], words), cells), notes=notes)


def _percentiles(row: Row, words: Words) -> Iterator[str]:
    for name in _PERCENTILES:
        yield milliseconds(row[name])
        yield time_ends(row, name, words)


def _latency_notes(rows: Sequence[Row], words: Words) -> Iterator[str]:
    if any(row[f"{name}_high"] == float("inf") for row in rows for name in _PERCENTILES):
        yield words("bench.latency.few", **_LEAST)
    if any(row["n_censored"] for row in rows):
        yield words("bench.latency.censored")


def stages_sheet(stages: pl.DataFrame, words: Words) -> Sheet | None:
    """What the stages of whole systems take; None where no system reports any."""
    if stages.is_empty():
        return None
    cells = [
        [row_name(row), load_text(row, words), words("bench.rest") if row["stage"] == "rest" else row["stage"],
         f"{row['n']:,}",
         milliseconds(row["p50"]), milliseconds(row["p95"])]
        for row in rows_of(stages)
    ]  # fmt: skip
    return Sheet(heads(("system", "load", "stage", "requests", "p50", "p95"), words), cells, n_labels=3)


def streaming_sheet(streaming: pl.DataFrame, words: Words) -> Sheet | None:
    """How long answers take to the first token, and from one to the next; None where none was streamed."""
    if streaming.is_empty():
        return None
    names = ("ttft_p50", "ttft_p95", "interval", "itl_p50", "itl_p95", "tokens_out", "tokens_per_s")
    cells = [
        [row_name(row), load_text(row, words), f"{row['n']:,}", milliseconds(row["ttft_p50"]),
         milliseconds(row["ttft_p95"]), time_ends(row, "ttft_p95", words), milliseconds(row["itl_p50"]),
         milliseconds(row["itl_p95"]), amount(row["tokens"]), amount(row["tokens_per_s"])]
        for row in rows_of(streaming)
    ]  # fmt: skip
    return Sheet(heads(("system", "load", "requests", *names), words), cells, notes=[words("bench.latency.streaming")],
                 n_labels=2)  # fmt: skip


def tokens_sheet(fit: pl.DataFrame, words: Words) -> Sheet | None:
    """What a request costs in milliseconds by its tokens; None where nobody counts them."""
    if fit.is_empty():
        return None
    cells = [
        [row_name(row), f"{row['n']:,}", milliseconds(row["fixed_ms"]), milliseconds(row["ms_per_1k_tokens"]),
         _slope_ends(row, words)]
        for row in rows_of(fit)
    ]  # fmt: skip
    names = ("system", "requests", "fixed_ms", "ms_per_1k_tokens", "interval")
    return Sheet(heads(names, words), cells, notes=[words("bench.latency.fit")])


def _slope_ends(row: Row, words: Words) -> str:
    """Both ends of the interval of a slope, with a word between them, as a dash beside a minus misleads."""
    low, high = (row[f"ms_per_1k_tokens_{end}"] for end in ("low", "high"))
    return "–" if low is None else words("compare.interval", low=amount(low), high=amount(high))


# Under load ----------------------------------------------------------------------------------------------------------


def load_sheet(latency: pl.DataFrame, throughput: pl.DataFrame, words: Words) -> Sheet | None:
    """Requests at times that were laid down before; None where none were sent so."""
    rows = joined_levels(of_loop(latency, "open"), of_loop(throughput, "open"))
    if not rows:
        return None
    names = ("offered", "achieved", "goodput", "errors", "p50", "p95", "interval", "p99", "service_p95", "late",
             "in_flight", "little_gap", "holds")  # fmt: skip
    cells = [
        [row_name(row), amount(row["rate"]), amount(row["achieved"]), amount(row["goodput"]),
         percent(row["error_rate"], 1), milliseconds(row["p50"]), milliseconds(row["p95"]),
         time_ends(row, "p95", words), milliseconds(row["p99"]), milliseconds(row["service_p95"]),
         milliseconds(row["dispatch_p99"]), amount(row["in_flight"]),
         percent(row["little_gap"], 1, sign=True), holds_text(row, words)]
        for row in rows
    ]  # fmt: skip
    notes = [words("bench.load.open"), *_latency_notes(rows, words)]
    return Sheet(*without_empty(heads(["system", *names], words), cells), notes=notes, n_labels=2)


def users_sheet(latency: pl.DataFrame, throughput: pl.DataFrame, words: Words) -> Sheet | None:
    """So many users, each of whom waits for the answer; None where there were none."""
    rows = joined_levels(of_loop(latency, "closed"), of_loop(throughput, "closed"))
    if not rows:
        return None
    names = ("users", "achieved", "errors", "p50", "p95", "interval", "p99", "in_flight", "little_gap")
    cells = [
        [row_name(row), f"{row['users']:,}", amount(row["achieved"]), percent(row["error_rate"], 1),
         milliseconds(row["p50"]), milliseconds(row["p95"]), time_ends(row, "p95", words), milliseconds(row["p99"]),
         amount(row["in_flight"]), percent(row["little_gap"], 1, sign=True)]
        for row in rows
    ]  # fmt: skip
    notes = [words("bench.load.closed"), *_latency_notes(rows, words)]
    return Sheet(*without_empty(heads(["system", *names], words), cells), notes=notes, n_labels=2)


def joined_levels(latency: pl.DataFrame, throughput: pl.DataFrame) -> list[dict[str, Any]]:
    """Every level of load with its times, in the order of the throughput."""
    keys = ["system", "depth", "loop", "rate", "users"]
    return rows_of(throughput.join(latency.drop("n"), on=keys, how="left", nulls_equal=True, maintain_order="left"))


def holds_text(row: Row, words: Words) -> str:
    """Whether a load is held, and why not; by which percentile, where it is not the P95, whose interval is shown."""
    if row["holds"] is None:
        return "–"
    key = "open_since" if row["reason"] in INCONCLUSIVE else "no_since"
    reason = "" if row["holds"] else words(f"bench.fails.{row['reason']}")
    verdict = words("bench.yes") if row["holds"] else words(f"bench.{key}", reason=reason)
    if row["percentile"] in (None, "p95"):
        return verdict
    interval = time_ends(row, "latency_ms", words)
    return words("bench.by_percentile", verdict=verdict, percentile=row["percentile"].upper(), interval=interval)


def sustained_sheet(sustained: pl.DataFrame, objective: str, words: Words) -> Sheet | None:
    """The highest rate that held, and the lowest that did not."""
    if sustained.is_empty():
        return None
    cells = [
        [row_name(row), amount(row["rate"]), amount(row["failing_rate"]),
         "–" if row["reason"] is None else words(f"bench.fails.{row['reason']}")]
        for row in rows_of(sustained)
    ]  # fmt: skip
    names = ("system", "rate", "failing_rate", "why")
    return Sheet(heads(names, words), cells, notes=[words("bench.load.sustained", objective=objective)])


def ramp_sheet(stretches: pl.DataFrame, words: Words) -> Sheet | None:
    """What users waited while the rate rose; None where none did."""
    if stretches.is_empty():
        return None
    cells = [
        [row_name(row), f"{amount(row['low_rate'])}–{amount(row['high_rate'])}", f"{row['n']:,}",
         percent(row["error_rate"], 1), milliseconds(row["p50"]), milliseconds(row["p95"]),
         time_ends(row, "p95", words), milliseconds(row["p99"]), words(f"bench.ramp.{row['verdict']}")]
        for row in rows_of(stretches)
    ]  # fmt: skip
    names = ("system", "offered", "requests", "errors", "p50", "p95", "interval", "p99", "objective")
    return Sheet(heads(names, words), cells, notes=[words("bench.ramp.note")], n_labels=2)


def scalability_sheet(scalability: pl.DataFrame, words: Words) -> Sheet | None:
    """How rates grow with users at once, by the Universal Scalability Law."""
    if scalability.is_empty():
        return None
    cells = [
        [row_name(row), *(text for name in ("gamma", "sigma", "kappa")
                          for text in (amount(row[name]), time_ends(row, name, words))),
         amount(row["peak_users"]), amount(row["peak_rate"])]
        for row in rows_of(scalability)
    ]  # fmt: skip
    names = ("gamma", "interval", "sigma", "interval", "kappa", "interval", "peak_users", "peak_rate")
    return Sheet(*without_empty(heads(["system", *names], words), cells), notes=[words("bench.load.scalability")])
