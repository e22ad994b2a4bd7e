"""What was computed or answered once, kept by content in one SQLite file that several processes may share."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeVar

from steelyard.base.errors import InputError, OutputError

Entry = tuple[bytes, float | None]
"""A value, and the milliseconds that it took; None where it was not timed."""
T = TypeVar("T")

CACHE_NAME = ".steelyard-cache.sqlite"
"""Of the file, in the folder of the runs that it is for."""

_APPLICATION = 0x53544C59  # "STLY"; SQLite keeps it in the file's head, so that a foreign file is recognised.
_VERSION = 3
_TABLE = """
    CREATE TABLE entries (kind TEXT, key BLOB, value BLOB, ms REAL, checksum BLOB, PRIMARY KEY (kind, key))
    WITHOUT ROWID
"""
_KEYS_PER_LOOKUP = 500
_WAIT_SECONDS = 60.0
_PAGES_PER_CHECKPOINT = 10_000
"""40 MB.  Each checkpoint waits for the disk, and whoever puts entries one by one would wait often."""


def text_key(text: str) -> bytes:
    """SHA-256 of a text; a lone surrogate counts as its three bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _checksum(kind: str, key: bytes, value: bytes, ms: float | None) -> bytes:
    """A checksum of a whole entry: an entry in another one's place is damaged too."""
    whole = hashlib.blake2b(repr((kind, key, ms)).encode(), digest_size=16)
    whole.update(value)
    return whole.digest()


class NoCache:
    """A cache that remembers nothing; `Cache` documents the methods."""

    n_damaged = 0

    def get(self, kind: str, keys: Sequence[bytes], decode: Callable[[bytes], T]) -> dict[bytes, tuple[T, float]]:
        """Nothing."""
        return {}

    def put(self, kind: str, entries: Mapping[bytes, Entry]) -> None:
        """Forget them."""

    def close(self) -> None:
        """Nothing to close."""


class Cache:
    """A cache in a file, made where it is absent: one table of kind, key, value and milliseconds.

    What is put is written at once, each call in one transaction; processes that share the file wait for each other.
    Nothing that comes out of it is wrong: kinds and keys are digests of content and settings, and an entry that was
    changed on the disk does not fit its checksum; it is passed over, counted, and replaced when it is put again.  So
    the file may be deleted at any time, and one of an earlier version is begun anew.  Whoever writes entries with
    their checksums is believed: a cache of somebody else is trusted as its author is.

    path       the SQLite file
    n_damaged  entries that did not fit their checksum, by now
    Raises   InputError for a file that is something else, damaged, or of a later version; OutputError where it cannot
             be made or written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self.n_damaged = Path(path), 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(
                self.path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.OperationalError) as error:
            raise OutputError(f"{path}: the cache cannot be made ({error}); choose another place for it") from error
        try:
            self._prepare()
        except BaseException:
            self._file.close()
            raise

    def __reduce__(self) -> tuple[type[Cache], tuple[Path]]:
        return Cache, (self.path,)

    def get(self, kind: str, keys: Sequence[bytes], decode: Callable[[bytes], T]) -> dict[bytes, tuple[T, float]]:
        """Values of those keys that there are, decoded, and the milliseconds that each took (0 where it was not timed).

        decode   from bytes to the value; a ValueError of it means that the entry is damaged
        Raises   InputError for a file that SQLite cannot read.
        """
        values: dict[bytes, tuple[T, float]] = {}
        remaining = iter(dict.fromkeys(keys))
        while batch := list(islice(remaining, _KEYS_PER_LOOKUP)):
            marks = ", ".join("?" * len(batch))
            select = f"SELECT key, value, ms, checksum FROM entries WHERE kind = ? AND key IN ({marks})"
            with self._errors():
                rows = self._file.execute(select, (kind, *batch)).fetchall()
            for key, value, ms, checksum in rows:
                try:
                    if checksum != _checksum(kind, key, value, ms):
                        raise ValueError
                    values[key] = decode(value), ms or 0.0
                except (ValueError, TypeError):  # SQLite keeps a text or a number where bytes belong.
                    self.n_damaged += 1
        return values

    def put(self, kind: str, entries: Mapping[bytes, Entry]) -> None:
        """Keep entries; one that is there already is replaced.

        Raises   OutputError where they cannot be written.
        """
        rows = ((kind, key, value, ms, _checksum(kind, key, value, ms)) for key, (value, ms) in entries.items())
        with self._errors(), self._transaction():
            self._file.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _prepare(self) -> None:
        with self._errors(), self._transaction():
            application, version = self._pragma("application_id"), self._pragma("user_version")
            tables = [name for (name,) in self._file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            if application not in (0, _APPLICATION) or (application == 0 and tables):
                raise InputError(
                    f"{self.path}: is an SQLite file, but no cache of Steelyard's; choose another path for it"
                )
            if version > _VERSION:
                raise InputError(
                    f"{self.path}: is a cache of version {version}, this Steelyard has {_VERSION}; delete it"
                )
            if version < _VERSION:
                for name in tables:
                    self._file.execute(f'DROP TABLE "{name}"')
                self._file.execute(_TABLE)
                self._file.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._file.execute(f"PRAGMA user_version = {_VERSION}")
        with self._errors():
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_PER_CHECKPOINT}")

    def _pragma(self, name: str) -> int:
        return int(self._file.execute(f"PRAGMA {name}").fetchone()[0])

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of SQLite as ours."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise OutputError(f"{self.path}: the cache cannot be used ({error}); {_remedy(error)}") from error
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"{self.path}: is no cache or a damaged one ({error}); delete it, or choose another path"
            ) from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._file.rollback()
            raise
        self._file.commit()


_REMEDIES = {
    "SQLITE_FULL": "make room on the disk; what is in the cache is kept, and the same command goes on from there",
    "SQLITE_BUSY": "wait for the process that uses it",
    "SQLITE_READONLY": "make file and folder writable",
    "SQLITE_IOERR": "make room on the disk and check it",
    "SQLITE_CANTOPEN": "make file and folder writable",
}


def _remedy(error: sqlite3.OperationalError) -> str:
    name = str(getattr(error, "sqlite_errorname", ""))
    remedy = next((text for code, text in _REMEDIES.items() if name.startswith(code)), "check the file")
    return f"{remedy}, choose another path, or leave the cache out (--no-cache)"


Store = Cache | NoCache
"""What callers of services and stages take."""
