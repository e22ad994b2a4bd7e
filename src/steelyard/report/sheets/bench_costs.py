"""What systems of a bench cost, what they bring, and which of them to take."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from steelyard.report.sheets.amounts import amount, milliseconds, money, multiple
from steelyard.report.sheets.bench_cells import (
    Row,
    difference_ends,
    heads,
    row_name,
    rows_of,
    share_ends,
    without_empty,
)
from steelyard.report.sheets.sheet import Sheet, best_places, number, percent, signed
from steelyard.report.visible import single_line
from steelyard.report.words import Words


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
