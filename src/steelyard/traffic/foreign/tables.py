"""Rows that readers of other tools gather, as tables of the schema, and a count of what they could not place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import polars as pl

from steelyard.io.traces import values
from steelyard.traffic.logs import Trouble
from steelyard.traffic.schema import TABLES, TIME

Batches = Iterable[Sequence[Any]]
"""Records of files of one format, some thousands at a time: what a line, a row or an element of a list holds."""


@dataclass(frozen=True, eq=False)
class Converted:
    """What one batch of records gave.

    frames     by kind of record, as TABLES has them; a time is null where the record names none that can be read
    troubles   what could not be placed, once by kind; `example` is the number of a record, from 1 over all
               batches, or a trace
    """

    frames: Mapping[str, pl.DataFrame]
    troubles: Sequence[Trouble] = ()


@dataclass(frozen=True)
class Foreign:
    """A format of another tool.

    fits      whether the first records of a file are of this format
    convert   tables of batches of records, one batch after the other; a trace is there once it is whole
    """

    fits: Callable[[Sequence[Any]], bool]
    convert: Callable[[Batches], Iterator[Converted]]


@dataclass
class Gathered:
    """Rows by kind of record, and troubles, until they are taken as tables."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {kind: [] for kind in TABLES})
    troubles: dict[str, Trouble] = field(default_factory=dict)

    def add(self, table: str, /, **row: Any) -> None:
        """Add a row; `time` in seconds since 1970."""
        self.rows[table].append({**row, "time": _microseconds(row.get("time"))})

    def miss(self, kind: str, where: int | str, *, is_fatal: bool = True) -> None:
        """Count a record that could not be placed, or only in part;   where   its number, from 1, or what it is."""
        first = self.troubles.get(kind) or Trouble(
            kind, 0, f"record {where}" if isinstance(where, int) else where, is_fatal
        )
        self.troubles[kind] = replace(first, n=first.n + 1)

    def take(self) -> Converted:
        """The rows as tables, and the troubles; nothing is left of either."""
        frames = {kind: _frame(self.rows[kind], kind) for kind in TABLES}
        troubles = sorted(self.troubles.values(), key=lambda trouble: (-trouble.n, trouble.kind))
        self.rows, self.troubles = {kind: [] for kind in TABLES}, {}
        return Converted(frames, troubles)


def _frame(rows: list[dict[str, Any]], kind: str) -> pl.DataFrame:
    schema = pl.Schema(TABLES[kind])
    schema["time"] = pl.Int64()
    return frame_of(rows, schema).with_columns(pl.col("time").cast(TIME))


def frame_of(rows: Sequence[Mapping[str, Any]], schema: pl.Schema) -> pl.DataFrame:
    """A frame of rows; halves of characters, which no column holds, become question marks."""
    try:
        return pl.DataFrame(rows, schema=schema)
    except UnicodeEncodeError:
        return pl.DataFrame([_whole_characters(row) for row in rows], schema=schema)


def _whole_characters(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_whole_characters(item) for item in value]
    return {key: _whole_characters(item) for key, item in value.items()} if isinstance(value, dict) else value


def _microseconds(seconds: float | None) -> int | None:
    """Whole microseconds of a moment that a calendar has; None of any other."""
    try:
        datetime.fromtimestamp(seconds, UTC) if seconds is not None else None
    except (ValueError, OverflowError, OSError):
        return None
    return None if seconds is None else round(seconds * 1e6)


def at(fields: Mapping[str, Any], *paths: str) -> Any:
    """The value of the first of these paths that has one: "a.b" is under the key "a.b", or in an object under "a".

    >>> at({"position": {"ordinal": 2}}, "place", "position.ordinal"), at({"position.ordinal": 2}, "position.ordinal")
    (2, 2)
    """
    for path in paths:
        value = fields.get(path)
        if value is None and "." in path:
            head, _, rest = path.partition(".")
            inner = values.mapping(fields.get(head))
            value = at(inner, rest) if inner else None
        if value not in (None, "", [], {}):
            return value
    return None


def whole(value: Any) -> int | None:
    """A whole number, also of a text; None of anything else, and of one that no column holds."""
    number = values.number(value)
    return int(number) if number is not None and number.is_integer() and abs(number) < 2**31 else None
