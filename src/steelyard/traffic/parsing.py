"""Pieces of files as frames of our columns, as they were written: JSON lines, and tables of any types."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
import polars as pl
from polars.exceptions import PanicException, PolarsError

from steelyard.traffic.layout import NUMBER, TEXT, Layout

LIST_SEPARATOR = "|"
"""Between the ids of a list in a cell of CSV, which may be a list of JSON too."""

Broken = Callable[[int], None]
"""What is done with a line that is no record, by its number."""


def parse_lines(content: bytes, n_lines: int, layout: Layout, first: int, broken: Broken) -> pl.DataFrame:
    """Records of lines of JSON: our columns, those of the file's that are there, and `line`.

    n_lines  how many there are;   first   number of the first one
    broken   is called with the number of each line that is no object
    """
    try:
        frame = pl.read_ndjson(content, schema=layout.schema)
        if frame.height == n_lines:
            frame.columns = list(layout.names)
            return frame.with_columns(pl.int_range(first, first + n_lines, dtype=pl.UInt32, eager=True).alias("line"))
    except (PolarsError, PanicException):
        pass
    return _line_by_line(content, layout, first, broken)


def _line_by_line(content: bytes, layout: Layout, first: int, broken: Broken) -> pl.DataFrame:
    """The same, of lines among which something is odd."""
    records, lines = list[Mapping[str, Any]](), list[int]()
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), first):
        record = record_of(line)
        if record is not None:
            records.append(record)
            lines.append(number)
        elif line.strip():
            broken(number)
    return records_frame(records, lines, layout)


def records_frame(records: Sequence[Mapping[str, Any]], lines: Sequence[int], layout: Layout) -> pl.DataFrame:
    """Records of objects, as `parse_lines` gives them;   lines   their numbers"""
    columns = {"line": pl.Series(lines, dtype=pl.UInt32)}
    for column, name in layout.names.items():
        dtype = layout.types[column]
        columns[column] = pl.Series([_cell(record.get(name), dtype) for record in records], dtype=dtype)
    return pl.DataFrame(columns)


def record_of(line: bytes) -> dict[str, Any] | None:
    """The object of a line; None of anything else."""
    try:
        value = orjson.loads(line)
    except ValueError:
        try:
            value = json.loads(line)  # NaN, and halves of characters
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _cell(value: Any, dtype: Any) -> Any:
    """A value as a column of this type holds it; None where it cannot."""
    if value is None:
        return None
    if isinstance(dtype, pl.List):
        return [_cell(item, dtype.inner) for item in value] if isinstance(value, list) else None
    if isinstance(dtype, pl.Struct):
        fields = value if isinstance(value, dict) else {dtype.fields[0].name: value}
        return {part.name: _cell(fields.get(part.name), part.dtype) for part in dtype.fields}
    if dtype == NUMBER:
        return _number(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.encode("utf-8", "replace").decode()


def _number(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, str | int | float) else None
    except (ValueError, OverflowError):
        return None


def table_records(frame: pl.DataFrame, layout: Layout, first: int) -> pl.DataFrame:
    """Records of the rows of a table, as `parse_lines` gives them;   first   number of the first row"""
    columns = [
        frame[name].rename(column) if column == "time" else as_type(frame[name].rename(column), layout.types[column])
        for column, name in layout.names.items()
        if name in frame.columns
    ]
    return pl.DataFrame(columns).with_columns(
        pl.int_range(first, first + frame.height, dtype=pl.UInt32, eager=True).alias("line")
    )


def as_type(column: pl.Series, dtype: Any) -> pl.Series:
    """A column of any type as one of these; null where a value has none."""
    if column.dtype == dtype:
        return column
    if isinstance(dtype, pl.List) and column.dtype == pl.String:
        return pl.Series(column.name, [_listed(text, dtype) for text in column], dtype)
    if isinstance(dtype, pl.List) != isinstance(column.dtype, pl.List):
        return pl.Series(column.name, [None] * len(column), dtype)
    if isinstance(column.dtype, pl.List) and isinstance(column.dtype.inner, pl.Struct):
        return pl.Series(column.name, [_cell(items, dtype) for items in column.to_list()], dtype)
    if isinstance(column.dtype, pl.Struct):
        return column.struct.json_encode() if dtype == TEXT else pl.Series(column.name, [None] * len(column), dtype)
    return column.cast(dtype, strict=False)


def _listed(text: str | None, dtype: Any) -> Any:
    """The list in a cell."""
    if text is None or not text.strip():
        return None
    if text.lstrip().startswith("["):
        try:
            return _cell(orjson.loads(text), dtype)
        except ValueError:
            pass
    return _cell([part.strip() for part in text.split(LIST_SEPARATOR)], dtype)


def unpacked(raw: pl.DataFrame, items: Mapping[str, str]) -> pl.DataFrame:
    """A ranking of objects as lists of ids, scores, propensities, teams and shares."""
    if not items:
        return raw
    lists = {
        column: raw["doc_ids"].list.eval(pl.element().struct.field(key))
        for column, key in items.items()
        if column == "doc_ids" or column not in raw.columns or raw[column].null_count() == raw.height
    }
    if "doc_ids" not in lists:
        lists["doc_ids"] = pl.Series([None] * raw.height, dtype=pl.List(pl.String))
    lists = {
        column: values.set(values.list.eval(pl.element().is_null().all()).list.first().fill_null(False), None)
        if column != "doc_ids" else values
        for column, values in lists.items()
    }  # fmt: skip
    return raw.with_columns(values.alias(column) for column, values in lists.items())


def head_records(content: bytes) -> Sequence[dict[str, Any]]:
    """The objects among the first lines of a file, without its last line, which may be cut off."""
    lines = content.split(b"\n")
    lines = lines[:-1] if len(lines) > 1 else lines
    return [record for line in lines if (record := record_of(line)) is not None]
