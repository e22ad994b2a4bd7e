"""What tables of a bench share: names of rows, intervals, objectives, and what systems are shown of many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from steelyard.bench.bench import Bench
from steelyard.bench.config import BenchConfig, system_label
from steelyard.report.sheets.amounts import amount, bounds, milliseconds
from steelyard.report.sheets.sheet import percent, signed
from steelyard.report.words import Words

Row = Mapping[str, Any]


def rows_of(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of an axis, null where there is no number."""
    return frame.fill_nan(None).to_dicts()


def in_order(frame: pl.DataFrame, config: BenchConfig) -> pl.DataFrame:
    """An axis by systems in the order of the configuration, then by candidates and load; the base first.

    Blocks are measured in an order of their own, which says nothing.
    """
    places = {system.name: place for place, system in enumerate(config.systems)}
    by = [pl.col("system").replace_strict(places, default=-1, return_dtype=pl.Int64), pl.col("depth")]
    if "loop" in frame.columns:
        by += [pl.col("loop") != "open", pl.col("loop") != "closed", pl.col("rate"), pl.col("users")]
    return frame.sort(by, nulls_last=False, maintain_order=True)


def row_name(row: Row) -> str:
    """What scores call the system of a row over its candidates."""
    return system_label(row["system"], row["depth"])


def places_of(systems: Iterable[str], config: BenchConfig) -> list[int]:
    """The place of each system of some rows in the configuration, the base left out; charts have colours by it."""
    names = [system.name for system in config.systems if not system.is_base]
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
