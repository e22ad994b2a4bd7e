"""Files of logs in pieces that can be read apart: lines of JSON, lists of objects, and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import orjson
import polars as pl

from steelyard.base.errors import InputError
from steelyard.io.native import native_reader
from steelyard.io.tables import delimited
from steelyard.traffic.files import LogFile
from steelyard.traffic.foreign.formats import FOREIGN, foreign_format
from steelyard.traffic.foreign.tables import Batches, Converted
from steelyard.traffic.layout import Layout
from steelyard.traffic.parsing import head_records, record_of
from steelyard.traffic.positions import Position

_HEAD_ROWS = 50
_BATCH = 5_000
_LINE_END = ord("\n")
EVERY_LINE = (1 << 32) - 1
"""More lines than a file has: all of it was read before."""


@dataclass(frozen=True)
class Piece:
    """Part of a file, not yet read.

    file      number of the file;   first   number of its first line or row, from 1
    n_lines   how many it has; a last line without an end counts once it has one
    content   lines of JSON, rows of a table, the objects of a list, or records of another tool
    offset    bytes of the file before it;   n_seen   lines of the file that an earlier look has read
    """

    file: int
    layout: Layout
    first: int
    n_lines: int
    content: bytes | pl.DataFrame | Sequence[Any] | Converted
    offset: int = 0
    n_seen: int = 0


class _Contents(Protocol):
    """What a file of one format holds."""

    @property
    def head(self) -> Sequence[dict[str, Any]]:
        """Its first records."""
        ...

    def parts(self, layout: Layout, place: Position) -> Iterator[tuple[int, int, int, Any]]:
        """Number of the first line, how many lines, bytes before them, and content of each piece from a place on."""
        ...

    def objects(self) -> Iterator[Sequence[Any]]:
        """All records in batches."""
        ...


class _Lines:
    """JSON, a record a line."""

    def __init__(self, file: LogFile) -> None:
        self.source = file.source
        self.head = head_records(self.source.head)

    def parts(self, layout: Layout, place: Position) -> Iterator[tuple[int, int, int, Any]]:
        line, offset = place.line, place.offset
        with closing(self.source.blocks(offset)) as blocks:
            for block in blocks:
                n_lines = int(np.count_nonzero(np.frombuffer(block, np.uint8) == _LINE_END))  # twice as fast as count
                yield line, n_lines, offset, block
                line, offset = line + n_lines, offset + len(block)

    def objects(self) -> Iterator[Sequence[Any]]:
        for block in self.source.blocks():
            lines = block.split(b"\n")
            for start in range(0, len(lines), _BATCH):
                records = map(record_of, lines[start : start + _BATCH])
                yield [record for record in records if record is not None]


class _List:
    """A list of objects, or one of them, in JSON."""

    def __init__(self, file: LogFile) -> None:
        try:
            values = orjson.loads(file.source.read())
        except ValueError:
            raise InputError(f"{file.name}: is no JSON; expected a list of records, or one record a line") from None
        self.values = values if isinstance(values, list) else [values]
        self.head = [value for value in self.values[:_HEAD_ROWS] if isinstance(value, dict)]

    def parts(self, layout: Layout, place: Position) -> Iterator[tuple[int, int, int, Any]]:
        yield 1, len(self.values), 0, self.values

    def objects(self) -> Iterator[Sequence[Any]]:
        for start in range(0, len(self.values), _BATCH):
            yield self.values[start : start + _BATCH]


class _Table:
    """CSV, TSV and Parquet."""

    def __init__(self, file: LogFile) -> None:
        self.file = file

    @cached_property
    def head(self) -> Sequence[dict[str, Any]]:
        frame = next(self._frames(None), pl.DataFrame())
        return frame.head(_HEAD_ROWS).to_dicts() or [dict.fromkeys(frame.columns)]

    def parts(self, layout: Layout, place: Position) -> Iterator[tuple[int, int, int, Any]]:
        row = 1
        for frame in self._frames(layout):
            yield row, frame.height, 0, frame
            row += frame.height

    def objects(self) -> Iterator[Sequence[Any]]:
        for frame in self._frames(None):
            for part in frame.iter_slices(_BATCH):
                yield part.to_dicts()

    def _frames(self, layout: Layout | None) -> Iterator[pl.DataFrame]:
        """Rows with the columns of a layout, or all."""
        if self.file.format != "parquet":
            yield from delimited(self.file.source, "\t" if self.file.format == "tsv" else ",", "run").pieces()
            return
        with native_reader(self.file.name):
            lazy = pl.scan_parquet(self.file.source.path, glob=False)
            names = lazy.collect_schema().names()
            own = names if layout is None else [name for name in {*layout.names.values()} if name in names]
            batches = lazy.select(own).collect_batches(maintain_order=True)
            batch = next(batches, None)
        while batch is not None:
            yield batch
            with native_reader(self.file.name):
                batch = next(batches, None)


_CONTENTS: Mapping[str, Callable[[LogFile], _Contents]] = {"jsonl": _Lines, "json": _List}


def pieces(
    files: Sequence[LogFile], segments: Sequence[str], places: Sequence[Position | None]
) -> Iterator[Piece]:  # fmt: skip
    """Pieces of all files, those of other tools last.

    places    where each file is read on, by an earlier look; None for a file that it did not see
    Raises    InputError for a file that cannot be read as what its name says.
    """
    foreign = dict[str, list[int]]()
    for number, (file, place) in enumerate(zip(files, places, strict=True)):
        if not file.size or (place is not None and place.offset == place.size == file.size):
            continue
        contents = _CONTENTS.get(file.format, _Table)(file)
        layout = Layout.of(contents.head, file.kind, segments)
        if not layout.is_own(contents.head) and (format := foreign_format(contents.head)) is not None:
            foreign.setdefault(format, []).append(number)
            continue
        if file.format != "jsonl" and place is not None:
            place = Position(0, "", lines=place.lines)
        for line, n_lines, offset, content in contents.parts(layout, place or Position(0, "")):
            yield Piece(number, layout, line, n_lines, content, offset, 0 if place is None else place.lines)
        file.source.release()
    for format, numbers in foreign.items():
        yield from _converted(format, files, numbers, places)


def _converted(
    format: str, files: Sequence[LogFile], numbers: Sequence[int], places: Sequence[Position | None]
) -> Iterator[Piece]:
    """Records of another tool, of all files of its format; each counts as of the file that was read last."""
    layout, current = Layout.of([], None, ()), numbers[0]

    def batches() -> Batches:
        nonlocal current
        for current in numbers:
            yield from _CONTENTS.get(files[current].format, _Table)(files[current]).objects()

    for converted in FOREIGN[format].convert(batches()):
        yield Piece(current, layout, 1, 0, converted, n_seen=0 if places[current] is None else EVERY_LINE)
