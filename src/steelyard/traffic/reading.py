"""Logs read from files: pieces of all of them in parallel, then what only all records together show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from steelyard.io.source import ahead
from steelyard.traffic.cleaning import Tables, clean
from steelyard.traffic.files import LogFile, log_files
from steelyard.traffic.foreign.tables import Converted
from steelyard.traffic.layout import Layout
from steelyard.traffic.logs import Logs
from steelyard.traffic.measures import measured_columns
from steelyard.traffic.parsing import parse_lines, record_of, records_frame, table_records
from steelyard.traffic.pieces import EVERY_LINE, Piece, pieces
from steelyard.traffic.positions import Position, Positions
from steelyard.traffic.records import TOLERATED, Rules, settle
from steelyard.traffic.requests import is_column
from steelyard.traffic.schema import ANSWERS, EVENTS, IMPRESSIONS, TABLES, TIME
from steelyard.traffic.tally import Tally
from steelyard.traffic.times import parse_times
from steelyard.traffic.windows import Windows

SESSION_GAP = timedelta(minutes=30)
"""Time without a request of a user after which the next one begins a session."""
LATENESS = timedelta(hours=2)
"""How long after its request an event or an answer counts."""
_BEYOND = timedelta(days=1)
"""Times so far beyond now are mistakes, and not waited for."""
LONGEST_SESSION = timedelta(days=1)
"""How far back a look reads for the beginning of a session."""


@dataclass(frozen=True)
class _End:
    """Where a piece lies: bytes before it and behind its last whole line, its first line and the one behind its last.

    newest   time of its newest record, usable or not
    """

    layout: Layout
    begin: int
    end: int
    first: int
    behind: int
    newest: datetime | None


@dataclass(frozen=True)
class _Records:
    """What a piece holds."""

    piece: Piece
    frames: Mapping[str, pl.DataFrame]
    tally: Tally
    newest: datetime | None

    @property
    def end(self) -> _End:
        """Where it lies, without what it holds."""
        piece, content = self.piece, self.piece.content
        n_bytes = content.rfind(b"\n") + 1 if isinstance(content, bytes) else 0
        lines = piece.first, piece.first + piece.n_lines
        return _End(piece.layout, piece.offset, piece.offset + n_bytes, *lines, self.newest)


@dataclass
class _Reader:
    """Pieces of files, read one by one."""

    files: Sequence[LogFile]
    rules: Rules
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.names = [f"{file.name}, {file.unit}" for file in self.files]

    def read(self, piece: Piece) -> _Records:
        """The records of a piece."""
        tally = Tally(self.names)
        raw = self.raw(piece, tally)
        frames = dict[str, pl.DataFrame]()
        for kind, frame in raw.items():
            layout = replace(piece.layout, kind=kind) if kind else piece.layout
            frames |= settle(frame, layout, self.rules, tally, piece.n_seen) if frame.height else {}
        times: list[Any] = [self._newest(frame["time"]) for frame in raw.values()]
        return _Records(piece, frames, tally, max((time for time in times if time is not None), default=None))

    def _newest(self, times: pl.Series) -> Any:
        """The newest time that may be waited for; None for none."""
        newest: Any = times.max()
        latest = self.rules.latest + _BEYOND
        return times.filter(times <= latest).max() if newest is not None and newest > latest else newest

    def raw(self, piece: Piece, tally: Tally) -> dict[str | None, pl.DataFrame]:
        """Records as they are written, but for their times, by kind where that is known."""
        name, content = self.names[piece.file], piece.content
        if isinstance(content, Converted):
            place = name.rpartition(",")[0]
            tally.update(replace(trouble, example=f"{place}, {trouble.example}") for trouble in content.troubles)
            return {kind: self._placed(frame, piece.file, 0) for kind, frame in content.frames.items()}
        if isinstance(content, pl.DataFrame):
            frame = table_records(content, piece.layout, piece.first)
        elif isinstance(content, bytes):
            frame = self._lines(content, piece, tally)
        else:
            objects = [(number, item) for number, item in enumerate(content, piece.first) if isinstance(item, dict)]
            tally.add("broken_line", len(content) - len(objects), name)
            frame = records_frame([item for _, item in objects], [number for number, _ in objects], piece.layout)
        return {None: self._placed(frame, piece.file)}

    def _placed(self, frame: pl.DataFrame, file: int, line: int | None = None) -> pl.DataFrame:
        times = frame["time"] if "time" in frame.columns else pl.Series([None] * frame.height, dtype=TIME)
        number = pl.col("line") if line is None else pl.lit(line, pl.UInt32).alias("line")
        times = parse_times(times, self.rules.timezone).alias("time")
        return frame.with_columns(times, pl.lit(file, pl.UInt32).alias("file"), number)

    def _lines(self, content: bytes, piece: Piece, tally: Tally) -> pl.DataFrame:
        name = self.names[piece.file]
        whole = content[: content.rfind(b"\n") + 1]
        torn = content[len(whole) :]
        if torn.strip() and record_of(torn) is None:
            tally.add("torn_line", 1, f"{name} {piece.first + piece.n_lines}", is_fatal=False)
            content = whole
        return parse_lines(
            content,
            piece.n_lines + (not content.endswith(b"\n")),
            piece.layout,
            piece.first,
            lambda line: tally.add("broken_line", 1, f"{name} {line}"),
        )


@dataclass(frozen=True)
class _Ends:
    """What is needed to say where the next look begins;   ends   of the pieces of a file, by its number"""

    reader: _Reader
    places: Sequence[Position | None]
    ends: Mapping[int, Sequence[_End]]
    impressions: pl.DataFrame
    gap: timedelta
    lateness: timedelta

    def positions(self, closed: datetime) -> dict[str, Any]:
        """As `Logs.positions`."""
        since = self._since(closed)
        files = {
            file.name: self._place(file, self.ends.get(number, ()), self.places[number], since)
            for number, file in enumerate(self.reader.files)
            if not self._is_ahead(number)
        }
        return Positions(closed, since, files).data()

    def _is_ahead(self, number: int) -> bool:
        """True for a file of which all times lie ahead, as for a look at the past: it is new to the next look, too."""
        ends = self.ends.get(number, ())
        return bool(ends) and all(end.newest is None for end in ends)

    def _since(self, closed: datetime) -> datetime:
        """The time from which requests matter to a look at windows from `closed` on.

        Those whose events may still come, in whole hours, which bots are told by, and those of sessions that are open.
        """
        hour = (closed - self.lateness).astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        is_open = pl.col("time").is_between(closed - self.gap, closed, closed="left")
        began: Any = self.impressions.filter(is_open)["began"].min()
        return hour if began is None else min(hour, max(began, closed - LONGEST_SESSION))

    def _place(self, file: LogFile, ends: Sequence[_End], before: Position | None, since: datetime) -> Position:
        """Where a file is read on: at its first record from `since` on; one that has no lines of JSON, as a whole."""
        if not ends:
            return before if before is not None and file.size == before.size else Position(file.size, file.head())
        size, head, lines = file.size, file.head(), ends[-1].behind - 1
        end = next((end for end in ends if end.newest is not None and end.newest >= since), None)
        if file.format != "jsonl" or not ends[-1].end:
            return Position(size, head, size if end is None else 0, 1, lines)
        if end is None:
            return Position(size, head, ends[-1].end, ends[-1].behind, lines)
        content = next(file.source.blocks(end.begin))
        raw = self.reader.raw(Piece(0, end.layout, end.first, content.count(b"\n"), content), Tally(self.reader.names))[
            None
        ]
        line = int(raw["line"][int((raw["time"] >= since).fill_null(False).arg_true()[0])])
        n_bytes = sum(len(before) + 1 for before in content.split(b"\n", line - end.first)[: line - end.first])
        return Position(size, head, end.begin + n_bytes, line, lines)


def read_logs(
    paths: str | Path | Sequence[str | Path], *, segments: Sequence[str] = (), measures: Sequence[str] = (),
    positions: Mapping[str, Any] | None = None, session_gap: timedelta = SESSION_GAP,
    lateness: timedelta = LATENESS, now: datetime | None = None, timezone: str = "UTC",
) -> Logs:  # fmt: skip
    """Logs of a service: impressions, events and answers, clean and in one schema.

    paths        files (JSONL, CSV, Parquet; .gz and .zst), and folders of them, by day or not
    segments     further columns of impressions, which are read as texts
    measures     names of measures that will be computed: further columns of impressions that they name are read as
                 numbers, where they hold nothing else (true and false are 1 and 0)
    positions    where the last look ended, as `Logs.positions` gives it; None reads all
    session_gap  time without a request of a user after which a new session begins, where the log names none
    lateness     how long after its request an event or an answer counts; later ones are left out, so that a look that
                 begins in the middle of a log leaves out the same ones as a look at all of it
    now          times more than 5 minutes beyond it are left out; None is the clock's
    timezone     IANA name: of times without an offset
    Raises       InputError for what is no log; what is wrong with records is counted in `troubles` of the result
    """
    files, last = log_files([paths] if isinstance(paths, str | Path) else paths), Positions.parse(positions)
    latest = (now or datetime.now(UTC)).astimezone(UTC) + TOLERATED
    timezone = Windows(timedelta(days=1), timezone).timezone  # refuses what is none
    reader = _Reader(files, Rules(latest, last.closed, last.since, timezone, _further(segments, measures)))
    tally = Tally(reader.names)
    for kind, names in (
        ("empty_file", [file.name for file in files if not file.size]),
        ("rewritten_file", last.rewritten(files)),
        ("missing_file", last.gone(files)),
    ):
        tally.add(kind, len(names), next(iter(names), ""), is_fatal=False)
    rewritten = Position(0, "", lines=EVERY_LINE)
    places = [last.place(file) or (rewritten if file.name in last.by_name else None) for file in files]
    frames: dict[str, list[pl.DataFrame]] = {kind: [] for kind in TABLES}
    ends = dict[int, list[_End]]()
    with closing(ahead(reader.read, pieces(files, reader.rules.segments, places), workers=2)) as read:
        for records in read:
            tally.update(records.tally.by_kind.values())
            ends.setdefault(records.piece.file, []).append(records.end)
            for kind, frame in records.frames.items():
                frames[kind].append(_without_nulls(frame))

    def records_of(kind: str) -> pl.DataFrame:
        return _joined(frames.pop(kind), reader.rules.needed(kind))

    tables = clean(records_of, session_gap, lateness, tally, since=last.since)
    return _logs(
        tables,
        tally,
        reader,
        _Ends(reader, places, ends, tables.impressions, session_gap, lateness).positions,
        segments,
    )


def _without_nulls(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that hold anything: most logs lack half of those of the schema, which would fill the memory."""
    return frame.select(column for column in frame if column.null_count() < frame.height)


def _joined(frames: Sequence[pl.DataFrame], needed: Mapping[str, Any]) -> pl.DataFrame:
    """Frames below each other, with columns that must be there."""
    return pl.concat([pl.DataFrame(schema=needed), *frames], how="diagonal", rechunk=True)


def _further(segments: Sequence[str], measures: Sequence[str]) -> list[str]:
    columns = (name for name in measured_columns(measures) if not is_column(name))
    return [name for name in dict.fromkeys([*segments, *columns]) if name not in IMPRESSIONS]


def _logs(
    tables: Tables, tally: Tally, reader: _Reader, ends: Callable[[datetime], dict[str, Any]], segments: Sequence[str]
) -> Logs:
    """Tables with texts in place of numbers for them, which are only put in where they are asked for."""
    impressions = tables.impressions
    request = pl.lit(impressions["request"]).gather(pl.col("row")).alias("request")
    own = pl.format("{}~{}", pl.col("user").cast(pl.String), pl.col("began").dt.epoch("us"))
    session = pl.coalesce(pl.col("session").cast(pl.String), own).alias("session")
    times: list[Any] = impressions.select("time")[[0, -1]]["time"].to_list() if impressions.height else []
    schema = {**IMPRESSIONS, **dict.fromkeys(reader.rules.segments, pl.String)}
    measured = [name for name in reader.rules.segments if name not in segments]
    return Logs(
        _measured(_texts(impressions, schema, session, "is_bot"), impressions, measured),
        _texts(tables.events, EVENTS, request),
        _texts(tables.answers, ANSWERS, request),
        tally.troubles,
        [file.name for file in reader.files],
        {"impression": impressions.height, "event": tables.events.height, "answer": tables.answers.height},
        min(times, default=None),
        max(times, default=None),
        ends,
    )


def _measured(frame: pl.LazyFrame, impressions: pl.DataFrame, names: Sequence[str]) -> pl.LazyFrame:
    """The frame with numbers in place of texts that are all numbers, and without columns that no record has."""
    texts = {
        name: impressions[name].unique().drop_nulls().cast(pl.String)
        for name in names
        if name in impressions.columns and impressions[name].null_count() < impressions.height
    }
    is_numeric = {
        name: not text.to_frame(name).select(_number(name).is_null().any()).item() for name, text in texts.items()
    }
    return frame.drop([name for name in names if name not in texts]).with_columns(
        _number(name) for name in texts if is_numeric[name]
    )


def _number(column: str) -> pl.Expr:
    text = pl.col(column).str.strip_chars().str.to_lowercase()
    number = pl.when(text.is_in(["true", "false"])).then((text == "true").cast(pl.Float64))
    return number.otherwise(text.cast(pl.Float64, strict=False))


def _texts(frame: pl.DataFrame, schema: Mapping[str, Any], own: pl.Expr, *more: str) -> pl.LazyFrame:
    """A table of this schema, one column by an expression of its own."""
    columns = {column: pl.col(column) if column in frame.columns else pl.lit(None) for column in schema}
    columns[own.meta.output_name()] = own
    return frame.lazy().select(
        *(column.cast(schema[name]).alias(name) for name, column in columns.items()), *more, "row"
    )
