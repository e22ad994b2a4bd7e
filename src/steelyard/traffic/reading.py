"""Logs read from files: pieces of all of them in parallel, then what only all records together show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from steelyard.base.errors import InputError
from steelyard.io.native import native_reader
from steelyard.io.source import ahead
from steelyard.io.tables import delimited
from steelyard.traffic.cleaning import Tables, clean
from steelyard.traffic.files import LogFile, log_files
from steelyard.traffic.layout import Layout
from steelyard.traffic.logs import Logs
from steelyard.traffic.parsing import head_records, parse_lines, record_of, records_frame, table_records
from steelyard.traffic.records import TOLERATED, Rules, settle
from steelyard.traffic.schema import ANSWERS, EVENTS, IMPRESSIONS, TABLES
from steelyard.traffic.tally import Tally

SESSION_GAP = timedelta(minutes=30)
"""Time without a request of a user after which the next one begins a session."""
_HEAD_ROWS = 50


@dataclass(frozen=True)
class _Piece:
    """Part of a file, not yet read.

    file      number of the file;   first   number of its first line or row
    content   lines of JSON; rows of a table; or the objects of a list
    """

    file: int
    layout: Layout
    first: int
    content: bytes | pl.DataFrame | Sequence[Any]
    offset: int = 0
    is_last: bool = False


@dataclass(frozen=True)
class _Records:
    """What a piece holds;   newest   time of its newest record"""

    piece: _Piece
    frames: Mapping[str, pl.DataFrame]
    tally: Tally
    newest: datetime | None = None


@dataclass
class _Reader:
    """Pieces of files, read one by one."""

    files: Sequence[LogFile]
    rules: Rules
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = [f"{file.name}, {file.unit}" for file in self.files]

    def pieces(self) -> Iterator[_Piece]:
        """Pieces of all files."""
        for number, file in enumerate(self.files):
            yield from _PIECES.get(file.format, _tables)(file, number, self.rules.segments)

    def read(self, piece: _Piece) -> _Records:
        """The records of a piece."""
        tally = Tally(self.names)
        raw = self._raw(piece, tally)
        frames = settle(raw, piece.layout, piece.file, self.rules, tally) if raw.height else {}
        times: list[Any] = [frame["time"].max() for frame in frames.values() if frame.height]
        return _Records(piece, frames, tally, max(times, default=None))

    def _raw(self, piece: _Piece, tally: Tally) -> pl.DataFrame:
        name, content = self.names[piece.file], piece.content
        if isinstance(content, pl.DataFrame):
            return table_records(content, piece.layout, piece.first)
        if not isinstance(content, bytes):
            objects = [(number, item) for number, item in enumerate(content, piece.first) if isinstance(item, dict)]
            tally.add("broken_line", len(content) - len(objects), name)
            return records_frame([item for _, item in objects], [number for number, _ in objects], piece.layout)
        whole = content[: content.rfind(b"\n") + 1]
        torn = content[len(whole) :]
        if torn.strip() and record_of(torn) is None:
            line = piece.first + whole.count(b"\n")
            tally.add("torn_line", 1, f"{name} {line}", is_fatal=False)
            content = whole
        return parse_lines(
            content, piece.layout, piece.first, lambda line: tally.add("broken_line", 1, f"{name} {line}")
        )


def _json_lines(file: LogFile, number: int, segments: Sequence[str]) -> Iterator[_Piece]:
    layout = Layout.of(head_records(file.source.head), file.kind, segments)
    line, offset = 1, 0
    for block in file.source.blocks():
        yield _Piece(number, layout, line, block, offset)
        line, offset = line + block.count(b"\n"), offset + len(block)


def _json_list(file: LogFile, number: int, segments: Sequence[str]) -> Iterator[_Piece]:
    try:
        values = orjson.loads(file.source.read())
    except ValueError:
        raise InputError(f"{file.name}: is no JSON; expected a list of records, or one record a line") from None
    values = values if isinstance(values, list) else [values]
    records = [value for value in values[:_HEAD_ROWS] if isinstance(value, dict)]
    yield _Piece(number, Layout.of(records, file.kind, segments), 1, values)


def _tables(file: LogFile, number: int, segments: Sequence[str]) -> Iterator[_Piece]:
    """Pieces of CSV, TSV and Parquet."""
    layout, row = None, 1
    for frame in _frames(file, segments):
        layout = layout or Layout.of(
            frame.head(_HEAD_ROWS).to_dicts() or [dict.fromkeys(frame.columns)], file.kind, segments
        )
        yield _Piece(number, layout, row, frame)
        row += frame.height


def _frames(file: LogFile, segments: Sequence[str]) -> Iterator[pl.DataFrame]:
    if file.format != "parquet":
        yield from delimited(file.source, "\t" if file.format == "tsv" else ",", "run").pieces()
        return
    with native_reader(file.name):
        lazy = pl.scan_parquet(file.source.path, glob=False)
        head = lazy.head(_HEAD_ROWS).collect()
        layout = Layout.of(head.to_dicts() or [dict.fromkeys(head.columns)], file.kind, segments)
        columns = [name for name in dict.fromkeys(layout.names.values()) if name in head.columns]
        batches = lazy.select(columns).collect_batches(maintain_order=True)
        batch = next(batches, None)
    while batch is not None:
        yield batch
        with native_reader(file.name):
            batch = next(batches, None)


_PIECES = {"jsonl": _json_lines, "json": _json_list}


def read_logs(
    paths: str | Path | Sequence[str | Path], *, segments: Sequence[str] = (),
    positions: Mapping[str, Any] | None = None, session_gap: timedelta = SESSION_GAP, now: datetime | None = None,
    timezone: str = "UTC",
) -> Logs:  # fmt: skip
    """Logs of a service: impressions, events and answers, clean and in one schema.

    paths        files (JSONL, CSV, Parquet; .gz and .zst), and folders of them, by day or not
    segments     further columns of impressions, which are read as texts
    positions    where the last look ended, as `Logs.positions` gives it; None reads all
    session_gap  time without a request of a user after which a new session begins, where the log names none
    now          times more than 5 minutes beyond it are left out; None is the clock's
    timezone     IANA name: of times without an offset
    Raises       InputError for what is no log; what is wrong with records is counted in `troubles` of the result
    """
    files = log_files([paths] if isinstance(paths, str | Path) else paths)
    reader = _Reader(files, Rules((now or datetime.now(UTC)) + TOLERATED, timezone, _further(segments)))
    tally = Tally(reader.names)
    frames: dict[str, list[pl.DataFrame]] = {kind: [pl.DataFrame(schema=reader.rules.schema(kind))] for kind in TABLES}
    with closing(ahead(reader.read, reader.pieces(), workers=2)) as read:
        for records in read:
            tally.update(records.tally.by_kind.values())
            for kind, frame in records.frames.items():
                frames[kind].append(frame)
    for file in files:
        if not file.size:
            tally.add("empty_file", 1, file.name, is_fatal=False)
    tables = clean({kind: pl.concat(frames.pop(kind)) for kind in TABLES}, session_gap, tally)
    return _logs(tables, tally, files, reader.rules.segments)


def _further(segments: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(segments) if name not in IMPRESSIONS]


def _logs(tables: Tables, tally: Tally, files: Sequence[LogFile], segments: Sequence[str]) -> Logs:
    """Tables with texts in place of numbers for them, which are only put in where they are asked for."""
    impressions = tables.impressions
    request = pl.lit(impressions["request"]).gather(pl.col("row")).alias("request")
    own = pl.format("{}~{}", pl.col("user").cast(pl.String), pl.col("began").dt.epoch("us"))
    session = pl.coalesce(pl.col("session").cast(pl.String), own).alias("session")
    times: list[Any] = impressions.select("time")[[0, -1]]["time"].to_list() if impressions.height else []
    return Logs(
        _texts(impressions, {**IMPRESSIONS, **dict.fromkeys(segments, pl.String)}, session, "is_bot"),
        _texts(tables.events, EVENTS, request),
        _texts(tables.answers, ANSWERS, request),
        tally.troubles,
        [file.name for file in files],
        {"impression": impressions.height, "event": tables.events.height, "answer": tables.answers.height},
        min(times, default=None),
        max(times, default=None),
    )


def _texts(frame: pl.DataFrame, schema: Mapping[str, Any], own: pl.Expr, *more: str) -> pl.LazyFrame:
    """A table of this schema, one column by an expression of its own."""
    name = own.meta.output_name()
    columns = [own if column == name else pl.col(column).cast(dtype) for column, dtype in schema.items()]
    return frame.lazy().select(*columns, *more, "row")
