"""The tables of a bench: quality, how lists change, latency, load, costs, returns and choice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from steelyard.bench.bench import Bench
from steelyard.bench.config import BenchConfig, system_label
from steelyard.bench.load.throughput import INCONCLUSIVE
from steelyard.report.views.numbers import (
    amount,
    best_places,
    bounds,
    milliseconds,
    money,
    multiple,
    number,
    p_text,
    percent,
    signed,
)
from steelyard.report.views.sheet import Sheet
from steelyard.report.visible import single_line
from steelyard.report.words import Words

Row = Mapping[str, Any]


def rows_of(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of an axis, null where there is no number."""
    return frame.fill_nan(None).to_dicts()


def in_order(frame: pl.DataFrame, config: BenchConfig) -> pl.DataFrame:
    """An axis by systems in the order of the configuration, then by candidates and load; the base first.

    Blocks are measured in an order of their own, which says nothing.
    """
    places = {system.name: place for place, system in enumerate(config.systems.values())}
    by = [pl.col("system").replace_strict(places, default=-1, return_dtype=pl.Int64), pl.col("depth")]
    if "loop" in frame.columns:
        by += [pl.col("loop") != "open", pl.col("loop") != "closed", pl.col("rate"), pl.col("users")]
    return frame.sort(by, nulls_last=False, maintain_order=True)


def row_name(row: Row) -> str:
    """What scores call the system of a row over its candidates."""
    return system_label(row["system"], row["depth"])


def places_of(systems: Iterable[str], config: BenchConfig) -> list[int]:
    """The place of each system of some rows in the configuration, the base left out; charts have colours by it."""
    names = [system.name for system in config.systems.values() if not system.is_base]
    return [names.index(system) if system in names else len(names) for system in systems]


def heads(names: Iterable[str], words: Words, **values: object) -> list[str]:
    """Heads of columns."""
    return [words(f"bench.head.{name}", **values) for name in names]


def time_ends(row: Row, name: str, words: Words) -> str:
    """Both ends of the interval of a percentile."""
    return bounds(row[f"{name}_low"], row[f"{name}_high"], unknown=words("bench.few"))


def difference_ends(row: Row, name: str, words: Words, decimals: int = 3) -> str:
    """Both ends of an interval of differences; a dash where there is none."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None or high is None:
        return "–"
    return words("compare.interval", low=signed(low, decimals), high=signed(high, decimals))


def share_ends(row: Row, name: str, words: Words) -> str:
    """Both ends of an interval of shares in per cent; a dash where there is none."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None or high is None:
        return "–"
    low, high = (percent(round(end, 2) + 0.0) for end in (low, high))  # A loss that rounds to nothing has no sign.
    return words("compare.interval", low=low, high=high)


def objective_text(config: BenchConfig, words: Words) -> str:
    """The latency that is wished for: "P95 ≤ 500 ms"; nothing where the configuration names none."""
    limits = {} if config.load is None else config.load.slo
    return words("list.comma").join(
        words("bench.limit", name=name.upper(), ms=milliseconds(1000 * limit)) for name, limit in limits.items()
    )


def currency_of(bench: Bench) -> str:
    """The one currency of a bench: that of its [value], or else of its prices."""
    if bench.config.value is not None:
        return bench.config.value.currency
    return next(iter(bench.costs["currency"].drop_nulls()), "USD")


def without_empty(header: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """A table without the columns that hold nothing in any row.

    >>> without_empty(["system", "p50", "users"], [["a", "3", "–"], ["b", "–", "–"]])
    (['system', 'p50'], [['a', '3'], ['b', '–']])
    """
    places = [c for c in range(len(header)) if any(row[c] != "–" for row in rows)]
    return [header[c] for c in places], [[row[c] for c in places] for row in rows]


def load_text(row: Row, words: Words) -> str:
    """The load of a row: "20/s", "4 users", or one request at a time."""
    if row["loop"] in ("open", "ramp"):
        return words(f"bench.load.{'rate' if row['loop'] == 'open' else 'rising'}", rate=amount(row["rate"]))
    return words("bench.load.users", n=row["users"]) if row["loop"] == "closed" else words("bench.load.one")


def of_loop(frame: pl.DataFrame, loop: str) -> pl.DataFrame:
    """The rows of requests that were sent in one way; those of different ways are never put together."""
    return frame.filter(pl.col("loop") == loop)


_COUNTS = ("n_short", "n_failed", "n_unstable", "n_repaired")


def quality_sheets(quality: pl.DataFrame, base: str, words: Words) -> list[Sheet]:
    """A table for each measure, the base in its first row; the notes are below the last."""
    measures = quality["measure"].unique(maintain_order=True).to_list()
    sheets = [_quality(quality.filter(measure=measure), measure, base, words) for measure in measures]
    if sheets:
        sheets[-1].notes += list(_notes(quality, len(measures), words))
    return sheets


def _quality(quality: pl.DataFrame, measure: str, base: str, words: Words) -> Sheet:
    """Questions and base have columns where some rerankers lack a value for some questions."""
    rows = rows_of(quality)
    uneven = quality["n"].n_unique() > 1
    names = (*(("questions", "base") if uneven else ()), "mean", "difference", "interval", "p", "counts", "ceiling",
             "captured", "interval", "verdict")  # fmt: skip
    means = [None if uneven else rows[0]["base"], *(row["reranked"] for row in rows)]
    cells = [[base, *["–"] * (2 * uneven), number(means[0]), *["–"] * 7, words("bench.verdict.base")]]
    cells += [
        [row_name(row), *([f"{row['n']:,}", number(row["base"])] if uneven else []), number(row["reranked"]),
         signed(row["difference"], 4), difference_ends(row, "difference", words), p_text(row["p_corrected"]),
         f"{row['won']:,}/{row['tied']:,}/{row['lost']:,}", number(row["ceiling"]), percent(row["captured"]),
         share_ends(row, "captured", words), words(f"bench.verdict.{row['verdict']}")]
        for row in rows
    ]  # fmt: skip
    best = best_places(np.array(means, dtype=float))
    return Sheet([measure, *heads(names, words)], cells[uneven:], {(r - uneven, 1 + 2 * uneven) for r in best})


def _notes(quality: pl.DataFrame, n_measures: int, words: Words) -> Iterator[str]:
    n = quality["n"].max()
    yield words("bench.quality.family", questions=words("count.questions", n=n), family=len(quality), n=n_measures)
    yield words("bench.quality.ceiling")
    if quality["captured"].is_null().any():
        yield words("bench.quality.no_headroom")


def changes_sheet(diagnostics: pl.DataFrame, words: Words) -> Sheet:
    """What happened to the lists; counts of what is odd have a column where there is any."""
    rows = rows_of(diagnostics)
    odd = [name for name in _COUNTS if any(row[name] for row in rows)]
    names = ("first_changed", "overlap", "tau", "ties", "truncated", "judged", "could_be", *odd)
    k = rows[0]["k"] if rows else 0
    cells = [
        [row_name(row), percent(row["first_changed"]), percent(row["overlap"]), signed(row["tau"], 2),
         percent(row["ties"], 1), percent(row["truncated"], 1), _judged(row, words), _could_be(row),
         *(f"{row[name]:,}" for name in odd)]
        for row in rows
    ]  # fmt: skip
    header = heads(["system", *names], words, k=k)
    return Sheet(*without_empty(header, cells), notes=_change_notes(rows, odd, words))


def _judged(row: dict[str, Any], words: Words) -> str:
    before, after = percent(row["judged_before"]), percent(row["judged_after"])
    return "–" if row["judged_after"] is None else words("bench.from_to", before=before, after=after)


def _could_be(row: dict[str, Any]) -> str:
    return "–" if row["worst"] is None else f"{number(row['worst'], 3)}–{number(row['best'], 3)}"


def _change_notes(rows: Sequence[dict[str, Any]], odd: Sequence[str], words: Words) -> list[str]:
    notes = [words("bench.changes.tau")]
    if any(row["worst"] is not None for row in rows):
        notes.append(words("bench.changes.could_be"))
    return [*notes, *(words(f"bench.changes.{name}") for name in odd)]


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


def costs_sheet(costs: pl.DataFrame, words: Words) -> Sheet | None:
    """What a question costs, and by which price; None where there is no row."""
    rows = rows_of(costs)
    if all(row["per_query"] is None and row["tokens"] is None for row in rows):
        return None
    names = ("price", "unit_price", "tokens", "counted", "per_query", "interval", "per_day", "per_1m_tokens")
    cells = [
        [row_name(row), row["price"] or "–", _unit_price(row, words), amount(row["tokens"]),
         "–" if row["counted"] is None else words(f"bench.counted.{row['counted']}"),
         money(row["per_query"], _currency(row)), _ends(row, "per_query"), money(row["per_day"], _currency(row)),
         money(row["per_1m_tokens"], _currency(row))]
        for row in rows
    ]  # fmt: skip
    return Sheet(*without_empty(heads(["system", *names], words), cells), notes=list(price_notes(costs, words)))


def price_notes(costs: pl.DataFrame, words: Words) -> Iterator[str]:
    """Where each price is from, and which are old or not known."""
    for row in rows_of(costs.unique("price", keep="first", maintain_order=True)):
        if row["price"] is not None and row["source"] is not None:
            yield words("bench.costs.source", price=row["price"], source=row["source"], date=row["date"] or "–")
    yield from status_notes(costs, words)


def status_notes(costs: pl.DataFrame, words: Words) -> Iterator[str]:
    """What is to be said of costs: systems without a price, or with an old one, and how machines were reckoned."""
    statuses: dict[str, list[str]] = {}
    for row in rows_of(costs.unique(["system", "status"], keep="first", maintain_order=True)):
        statuses.setdefault(row["status"], []).append(single_line(row["system"]))
    for status, systems in statuses.items():
        if status != "known":
            yield words(f"bench.costs.{status}", systems=words.listed(systems))


def _unit_price(row: Row, words: Words) -> str:
    if row["unit"] is None:
        return "–"
    return words(f"bench.unit.{row['unit']}", price=money(row["unit_price"], _currency(row)))


def _currency(row: Row) -> str:
    return row["currency"] or "USD"


def _ends(row: Row, name: str, currency: str | None = None, *, sign: bool = False) -> str:
    """Both ends of an interval of money; a dash where there is none, or where it has no width."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None or high is None or low == high:
        return "–"
    currency = _currency(row) if currency is None else currency
    return f"{money(low, currency, sign=sign)} … {money(high, currency, sign=sign)}"


def returns_sheets(returns: pl.DataFrame, currency: str, words: Words) -> list[Sheet]:
    """What reranking gains, and what that brings a day where something says what success is worth."""
    if returns.is_empty():
        return []
    rows = rows_of(returns)
    gains = [
        [row_name(row), signed(row["gain"], 3), difference_ends(row, "gain", words),
         percent(row["relative_gain"], 1, sign=True), share_ends(row, "relative_gain", words),
         words("bench.returns.worth", answer=words(f"bench.answer.{row['worth']}"),
               gain=percent(row["worth_gain"], 1, sign=True))]
        for row in rows
    ]  # fmt: skip
    money_of_day = [
        [row_name(row), money(row["cost"], currency), money(row["saving"] or None, currency),
         money(row["net_per_day"], currency, sign=True), _ends(row, "net_per_day", currency, sign=True),
         percent(row["p_positive"]), multiple(row["roi"]), _roi_ends(row, words),
         money(row["break_even"], currency), _ends(row, "break_even", currency)]
        for row in rows
    ]  # fmt: skip
    names = ("more", "saving", "net_per_day", "interval", "p_positive", "roi", "interval", "break_even", "interval")
    tables = [
        without_empty(heads(["system", *columns], words), cells)
        for columns, cells in (
            (("gain", "interval", "relative_gain", "interval", "worth"), gains), (names, money_of_day),
        )
    ]  # fmt: skip
    sheets = [Sheet(*table) for table in tables if len(table[0]) > 1]
    sheets[-1].notes.append(words("bench.returns.note", measure=rows[0]["success"], worth=rows[0]["worth_measure"]))
    return sheets


def _roi_ends(row: Row, words: Words) -> str:
    low, high = (multiple(row[f"roi_{end}"]) for end in ("low", "high"))
    return "–" if row["roi_low"] is None else words("compare.interval", low=low, high=high)


def choice_sheet(choice: pl.DataFrame, currency: str, words: Words) -> Sheet | None:
    """Quality, P95 and cost of all, which of them are on the front, and why one is recommended or not."""
    if choice.is_empty():
        return None
    rows = rows_of(choice)
    names = ("p95", "cost", "short.net", "front", "not_told_apart", "not_inferior", "holds_slo", "reason")
    cells = [
        [row_name(row), number(row["quality"]), milliseconds(row["p95"]), money(row["cost"], currency),
         money(row["net"], currency, sign=True), _answer({True: "yes", False: "no"}.get(row["on_front"]), words),
         words.listed(row["not_told_apart"] or []) or "–", _answer(row["not_inferior"], words),
         _answer(row["holds_slo"], words), words(f"bench.reason.{row['reason']}")]
        for row in rows
    ]  # fmt: skip
    best = {(r, 1) for r in best_places(np.array([row["quality"] for row in rows], dtype=float))}
    header = [*heads(["system"], words), rows[0]["measure"], *heads(names, words)]
    notes = [words(f"bench.choice.{name}") for name in ("front", "apart", "enough")]
    return Sheet(*without_empty(header, cells), best, notes)


def _answer(answer: str | None, words: Words) -> str:
    return "–" if answer is None else words(f"bench.answer.{answer}")
