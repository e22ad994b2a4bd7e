"""Files of logs: which ones paths name, what their names say, and where the last look at them ended."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from steelyard.base.errors import InputError
from steelyard.io.formats import BY_SUFFIX, format_of
from steelyard.io.source import Source, strip_compression
from steelyard.traffic.schema import TABLES

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
"""Formats that logs are read from."""
_HEAD_BYTES = 4096


@dataclass(frozen=True)
class LogFile:
    """A file of logs.

    kind   of all its records, by the name of the file or of a folder above it; None where names say nothing
    """

    source: Source
    format: str
    kind: str | None

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.source.name

    @property
    def unit(self) -> str:
        """What its records are counted in."""
        return "line" if self.format == "jsonl" else "row"

    @cached_property
    def size(self) -> int:
        """Bytes, as it lies there."""
        return os.path.getsize(self.source.path)

    def head(self, n: int = _HEAD_BYTES) -> str:
        """Digest of the first bytes."""
        with open(self.source.path, "rb") as raw:
            return hashlib.sha256(raw.read(min(n, _HEAD_BYTES))).hexdigest()[:32]


def log_files(paths: Sequence[str | Path]) -> list[LogFile]:
    """The files of paths, in the order of names; of a folder, those below it that have a format of logs.

    Names that begin with a point or an underscore are none of the log's.
    Raises   InputError for a path that is not there, and for a file of another format, or a folder without any log.
    """
    files = [file for path in paths for file in _files(Path(path))]
    if not files:
        raise InputError("no logs are named; name files or folders")
    return files


def _files(path: Path) -> Iterator[LogFile]:
    if not path.is_dir():
        source = Source(path)
        if not source.can_be_read_again:
            raise InputError(f"{source.name}: is no file; write the log into a file, which is read more than once")
        yield LogFile(source, _format(source), _kind([path.parent.name, path.name]))
        return
    below = [file for file in sorted(path.rglob("*")) if file.is_file() and not _is_hidden(file.relative_to(path))]
    logs = [file for file in below if BY_SUFFIX.get(_suffix(file)) in FORMATS]
    if not logs:
        raise InputError(
            f"{path}: holds no logs; expected files {', '.join(f'*.{name}' for name in FORMATS)}, or folders of them"
        )
    for file in logs:
        source = Source(file)
        yield LogFile(source, _format(source), _kind([path.name, *file.relative_to(path).parts]))


def _suffix(file: Path) -> str:
    return Path(strip_compression(file.name)[0]).suffix.lower()


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _format(source: Source) -> str:
    """The format by the suffix, else by the first bytes; a value in JSON, or one a line."""
    format = format_of(source.head, source.suffix)
    if format == "json" and not source.head.lstrip().startswith(b"["):
        format = "jsonl"
    if format not in FORMATS:
        format = "jsonl" if source.head.lstrip().startswith(b"{") or not source.head.strip() else "csv"
    source.release()
    return format


def _kind(names: Sequence[str]) -> str | None:
    """The kind that the innermost of these names begins with.

    >>> _kind(["events", "date=2026-11-01", "part-0.parquet"]), _kind(["logs", "2026-11-01.jsonl"])
    ('event', None)
    """
    return next((kind for name in reversed(names) for kind in TABLES if name.lower().startswith(kind)), None)
