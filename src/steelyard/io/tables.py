"""Tables with named columns: CSV, TSV, Parquet and Arrow files, and frames in memory."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from steelyard.base.choices import FileKind
from steelyard.base.errors import InputError, exception_line, quoted
from steelyard.base.schema import COLUMN_NAMES, RUN, TRUTH
from steelyard.io.native import EXACT, ROUNDED, is_rounded, native_reader
from steelyard.io.source import BARE_RETURN, LINE_BYTES, NOT_UTF8, Source, has_bare_return

_SLICE_ROWS = 1 << 18
_LONGEST_CELL = (1 << 31) - 1


@dataclass(frozen=True)
class _Slices:
    """The pieces of a frame in memory."""

    frame: pl.DataFrame

    def __call__(self) -> Iterator[pl.DataFrame]:
        return self.frame.iter_slices(_SLICE_ROWS)


@dataclass
class Table:
    """A table whose columns are found by name and turned into those of the schema, batch by batch.

    name      what the system is called;   origin   what messages call the table
    pieces    gives the raw frames, anew on every call
    checked   whether the frames have the schema already
    place     where a document of a query is in the file that the frame came from
    lines     the lines of some rows, from 1, of a file that has lines
    All of these pickle, so that what was read can go to other processes.
    """

    name: str
    origin: str
    kind: FileKind
    pieces: Callable[[], Iterable[pl.DataFrame]]
    place: Callable[[str, str], str] | None = None
    checked: bool = False
    lines: Callable[[Sequence[int]], list[int]] | None = None

    def batches(self) -> Generator[pl.DataFrame]:
        """Frames of schema RUN or TRUTH.

        Raises   InputError naming the line or row, what was found, and what to try.
        """
        row = 0
        for piece in self.pieces():
            yield piece if self.checked else self._normal(piece, row)
            row += piece.height
        if not row:
            raise InputError(f"{self.origin}: has no rows; expected one a document")

    def _normal(self, piece: pl.DataFrame, row: int) -> pl.DataFrame:
        number = "score" if self.kind == "run" else "gain"
        wanted = RUN if self.kind == "run" else TRUTH
        query_id = self._ids(piece, "query_id", row)
        doc_id = self._ids(piece, "doc_id", row)
        if number == "score" and not self._has_scores(piece):
            # A list without scores keeps its order: later rows score lower, over all batches.
            self._check_ranks(piece, query_id, row)
            value = -pl.Series(range(row, row + piece.height), dtype=pl.Float64)
        else:
            value = self._numbers(piece, number, row)
        return pl.DataFrame([query_id, doc_id, value.rename(number)], schema=wanted)

    def _has_scores(self, piece: pl.DataFrame) -> bool:
        """True if there is a score column; a column of fractions that might be one under another name is refused."""
        if any(name.lower() in COLUMN_NAMES["score"] for name in piece.columns):
            return True
        others = {name for role in ("query_id", "doc_id") for name in COLUMN_NAMES[role]} | {"rank"}
        for name in piece.columns:
            if name.lower() not in others and _are_fractions(piece[name]):
                raise InputError(
                    f"{self.origin}: has no column 'score', but {name!r} holds numbers; rename it to 'score', "
                    "or remove it if the order of the rows is the ranking"
                )
        return False

    def _check_ranks(self, piece: pl.DataFrame, query_id: pl.Series, row: int) -> None:
        """Ranks are not used, but where they contradict the order of the rows, one of the two is a mistake."""
        name = next((name for name in piece.columns if name.lower() == "rank"), None)
        if name is None:
            return
        rank = piece[name].cast(pl.Float64, strict=False)
        back = ((rank < rank.shift(1)) & (query_id == query_id.shift(1))).fill_null(False)
        if back.any():
            raise InputError(
                f"{self._at(back, row)}: is below a row with a higher rank; without a score the "
                "order of the rows is the ranking: sort them by rank, or remove that column"
            )

    def _at(self, mask: pl.Series, row: int) -> str:
        """Place of the first row of a mask;   row   how many are before this piece"""
        return self._places([row + int(mask.arg_true()[0]) + 1])

    def _places(self, rows: Sequence[int]) -> str:
        numbers = rows if self.lines is None else self.lines(rows)
        unit = ("row" if self.lines is None else "line") + "s" * (len(numbers) > 1)
        return f"{self.origin}, {unit} {' and '.join(map(str, numbers))}"

    def _column(self, piece: pl.DataFrame, role: str) -> pl.Series:
        """The column of a role.

        Raises   InputError where there is none, or several; a score beside a gain is no second gain.
        """
        names = [name for name in piece.columns if name.lower() in COLUMN_NAMES[role]]
        others = [name for name in names if role != "gain" or name.lower() not in COLUMN_NAMES["score"]] or names
        if len(others) > 1:
            raise InputError(
                f"{self.origin}: {' and '.join(map(quoted, others))} are columns of one meaning ({role}); "
                "remove or rename those that are not meant"
            )
        if others:
            return piece[others[0]].rename(role)
        hint = f"rename one to {role!r}"
        if len(piece.columns) == 1 and ";" in piece.columns[0]:
            hint = "is it separated by semicolons? Save it with commas"
        raise InputError(f"{self.origin}: has no column {role!r} (columns: {', '.join(piece.columns)}); {hint}")

    def _ids(self, piece: pl.DataFrame, role: str, row: int) -> pl.Series:
        column = self._column(piece, role)
        if column.null_count():
            raise InputError(f"{self._at(column.is_null(), row)}: {role} is empty")
        if column.dtype == pl.String:
            if (column == "").any():
                raise InputError(f"{self._at(column == '', row)}: {role} is empty")
            return column
        if column.dtype.is_integer() or column.dtype in (pl.Categorical, pl.Enum):
            return column.cast(pl.String)
        raise InputError(
            f"{self.origin}: column {column.name!r} holds {column.dtype}; ids are text (or whole numbers): convert them"
        )

    def _numbers(self, piece: pl.DataFrame, role: str, row: int) -> pl.Series:
        column = self._column(piece, role)
        if not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Null)):
            raise InputError(f"{self.origin}: column {role!r} holds {column.dtype}, expected numbers; convert it")
        number = column.cast(pl.Float64, strict=False)
        bad = ~(number.is_finite().fill_null(False))
        if bad.any():
            value = column.filter(bad)[0]
            shown = "(empty)" if value is None else quoted(value)
            raise InputError(f"{self._at(bad, row)}: {role} {shown} is not a finite number, e.g. 12.5 or 1e-3")
        for i in (number.abs() >= EXACT).arg_true() if column.dtype not in (pl.Float64, pl.Float32) else ():
            if is_rounded(column[i], number[i]):
                raise InputError(f"{self._places([row + i + 1])}: {role} {quoted(column[i])} {ROUNDED}")
        return number

    def locate(self, query_id: str, doc_id: str) -> str:
        """Lines, or rows from 1 without a header, that hold a document of a query."""
        if self.place:
            return self.place(query_id, doc_id)
        rows, row = [], 0
        for frame in self.batches():
            same = (frame["query_id"] == query_id) & (frame["doc_id"] == doc_id)
            rows += [row + i + 1 for i in same.arg_true().to_list()]
            row += frame.height
        return self._places(rows[:2])


def _are_fractions(column: pl.Series) -> bool:
    numbers = column.cast(pl.Float64, strict=False) if column.dtype == pl.String else column
    return numbers.dtype.is_float() and bool((numbers != numbers.round()).any())


def in_memory(frame: pl.DataFrame, name: str, kind: FileKind) -> Table:
    """A frame from a user's own code."""
    return Table(name, name, kind, _Slices(frame))


def checked(frame: pl.DataFrame, name: str, kind: FileKind, place: Callable[[str, str], str] | None = None) -> Table:
    """A frame that a reader made, which has the schema."""
    return Table(name, name, kind, _Slices(frame), place, checked=True)


def delimited(source: Source, separator: str, kind: FileKind) -> Table:
    """A CSV or TSV file with a header; every column is read as text, so that leading zeros stay."""
    file = _Delimited(source, separator)
    return Table(source.name, source.name, kind, file, lines=file.lines)


@dataclass(frozen=True)
class _Delimited:
    """The pieces of a CSV or TSV file."""

    source: Source
    separator: str

    def __call__(self) -> Iterator[pl.DataFrame]:
        source, separator = self.source, self.separator
        _check_header(source, separator)
        try:
            for part in [source.path] if source.is_file else _whole_tables(source):
                lazy = pl.scan_csv(part, separator=separator, infer_schema=False, glob=False)
                for piece in lazy.collect_batches(maintain_order=True):
                    yield piece.filter(~pl.all_horizontal(pl.all().is_null()))
        except pl.exceptions.NoDataError:
            raise InputError(f"{source.name}: is empty; expected a header and one row a document") from None
        except pl.exceptions.PolarsError as error:
            raise _ragged(source, separator, error) from None

    def lines(self, rows: Sequence[int]) -> list[int]:
        """The lines on which some rows begin; rows are counted from 1 behind the header, blank lines left out."""
        starts, begin = list[int](), 1
        for line, row in _csv_rows(self.source.read().decode(errors="replace"), self.separator):
            if any(row):
                starts.append(begin)
            begin = line + 1
        return [starts[row] for row in rows]


def _whole_tables(source: Source) -> Iterator[io.BytesIO]:
    """An archive or a pipe as tables of a few megabytes, each with the header, none of which ends within quotes.

    Raises   InputError for a row of more than LINE_BYTES.
    """
    header = rest = b""
    for block in source.blocks():
        rest += block
        if rest.count(b'"') % 2 == 0:
            yield io.BytesIO(header + rest)
            header, rest = header or _first_row(rest), b""
        elif len(rest) > LINE_BYTES:
            raise source.too_long()
    if rest or not header:
        yield io.BytesIO(header + rest)


def _first_row(content: bytes) -> bytes:
    """All up to the end of the first row that is not blank."""
    end = 0
    while end < len(content) and (not content[:end].strip() or content.count(b'"', 0, end) % 2):
        end = (content.find(b"\n", end) + 1) or len(content)
    return content[:end].removesuffix(b"\n") + b"\n"


def _check_header(source: Source, separator: str) -> None:
    """The reader would take a header that a carriage return ends for all, and rename the second of two equal columns.

    Raises   InputError.
    """
    if has_bare_return(source.head.partition(b"\n")[0]):
        raise InputError(f"{source.name}, line 1: {BARE_RETURN}")
    head = csv.reader(io.StringIO(source.head.decode(errors="replace"), newline=""), delimiter=separator)
    names = next((row for row in head if row), [])
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{source.name}: two columns are called {quoted(twice)}; remove or rename one")


def _csv_rows(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Every row of a table, with the line on which it ends; cells may have any length."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield from ((reader.line_num, row) for row in reader)
    finally:
        csv.field_size_limit(limit)


def _ragged(source: Source, separator: str, error: Exception) -> InputError:
    """Row that the reader refused, with its line."""
    data = source.read()
    try:
        text = data.decode()
    except UnicodeDecodeError as bad:
        line = data.count(b"\n", 0, bad.start) + 1
        return InputError(f"{source.name}, line {line}: byte {data[bad.start]:#04x} is not UTF-8; {NOT_UTF8}")
    rows = _csv_rows(text, separator)
    _, header = next(rows, (0, []))
    for line, row in rows:
        if len(row) > len(header):
            return InputError(
                f"{source.name}, line {line}: {len(row)} fields, but the header names {len(header)}; "
                'put quotes around a field that holds the separator ("a, b")'
            )
    problem = BARE_RETURN if has_bare_return(data) else f"cannot be read as a table ({exception_line(error)})"
    return InputError(f"{source.name}: {problem}")


def column_names(source: Source, format: str) -> list[str]:
    """The columns of a Parquet or Arrow file.

    Raises   InputError for a file that is damaged.
    """
    with native_reader(source.name):
        return _scan(source, format).collect_schema().names()


def _scan(source: Source, format: str) -> pl.LazyFrame:
    """A Parquet or Arrow file, unread; a path is a path, whatever brackets and stars it has."""
    where = source.path if source.is_file else io.BytesIO(source.read())
    return (pl.scan_parquet if format == "parquet" else pl.scan_ipc)(where, glob=False)


def columnar(source: Source, format: str, kind: FileKind) -> Table:
    """A Parquet or Arrow file."""
    return Table(source.name, source.name, kind, _Columnar(source, format, kind))


@dataclass(frozen=True)
class _Columnar:
    """The pieces of a Parquet or Arrow file."""

    source: Source
    format: str
    kind: FileKind

    def __call__(self) -> Iterator[pl.DataFrame]:
        with native_reader(self.source.name):
            lazy = _scan(self.source, self.format)
            familiar = [name for name in lazy.collect_schema().names() if _is_familiar(name)]
            # Without a familiar score column all are read, to part a list without scores from an odd name.
            complete = len(familiar) > 2 or self.kind == "truth"
            batches = (lazy.select(familiar) if complete and familiar else lazy).collect_batches(maintain_order=True)
            piece = next(batches, None)
        while piece is not None:
            yield piece
            with native_reader(self.source.name):
                piece = next(batches, None)


def _is_familiar(name: str) -> bool:
    return any(name.lower() in spellings for spellings in COLUMN_NAMES.values())
