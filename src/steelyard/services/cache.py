"""What chunkers and embedders made, kept by content in one SQLite file that several processes may share."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from steelyard.base.arrays import Ints, Vectors
from steelyard.base.errors import InputError, OutputError

TextKind = Literal["document", "query"]
_APPLICATION = 0x53544C59  # "STLY"; SQLite keeps it in the file's head, so that a foreign file is known as one.
_VERSION = 1
_TABLES = (
    "CREATE TABLE spans (chunker TEXT, text BLOB, spans BLOB, PRIMARY KEY (chunker, text))",
    "CREATE TABLE vectors (embedder TEXT, kind TEXT, text BLOB, vector BLOB, ms REAL, "
    "PRIMARY KEY (embedder, kind, text))",
    "CREATE TABLE states (embedder TEXT PRIMARY KEY, state BLOB)",
)
_TEXTS_PER_LOOKUP = 500
_WAIT_SECONDS = 60.0


def text_key(text: str) -> bytes:
    """SHA-256 of a text; a lone surrogate counts as its three bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class NoCache:
    """A cache that remembers nothing; what each method is for, `Cache` tells."""

    def spans(self, chunker: str, texts: Sequence[bytes]) -> dict[bytes, Ints]:
        """None."""
        return {}

    def keep_spans(self, chunker: str, spans: Mapping[bytes, Ints]) -> None:
        """Forget them."""

    def vectors(self, embedder: str, kind: TextKind, texts: Sequence[bytes]) -> dict[bytes, tuple[Vectors, float]]:
        """None."""
        return {}

    def keep_vectors(self, embedder: str, kind: TextKind, vectors: Mapping[bytes, tuple[Vectors, float]]) -> None:
        """Forget them."""

    def state(self, embedder: str) -> bytes | None:
        """None."""
        return None

    def keep_state(self, embedder: str, state: bytes) -> None:
        """Forget it."""

    def close(self) -> None:
        """Nothing to let go of."""


class Cache:
    """A cache in a file, made where it is absent.

    Whatever is kept is written at once, each call in one transaction; processes that share the file wait for each
    other.  Nothing in it is ever wrong, only unused: keys are digests of content and settings, so it may be deleted
    at any time.

    path     the SQLite file
    Raises   InputError for a file that is something else, damaged, or of a later version; OutputError where it cannot
             be made or written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(
                self.path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )  # fmt: skip
        except (OSError, sqlite3.OperationalError) as error:
            raise OutputError(f"{path}: the cache cannot be made ({error}); choose another place for it") from error
        try:
            self._prepare()
        except BaseException:
            self._file.close()
            raise

    def _prepare(self) -> None:
        with self._told(), self._transaction():
            application, version = self._pragma("application_id"), self._pragma("user_version")
            if application == 0 and not self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for table in _TABLES:
                    self._file.execute(table)
                self._file.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._file.execute(f"PRAGMA user_version = {_VERSION}")
                application, version = _APPLICATION, _VERSION
        if application != _APPLICATION:
            raise InputError(f"{self.path}: is an SQLite file, but no cache of Steelyard's; choose another path for it")
        if version != _VERSION:
            raise InputError(f"{self.path}: is a cache of version {version}, this Steelyard has {_VERSION}; delete it")
        with self._told():
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")

    def _pragma(self, name: str) -> int:
        return int(self._file.execute(f"PRAGMA {name}").fetchone()[0])

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of SQLite as ours."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise OutputError(
                f"{self.path}: the cache cannot be used ({error}); wait for whoever uses it, or choose another path"
            ) from error
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

    def spans(self, chunker: str, texts: Sequence[bytes]) -> dict[bytes, Ints]:
        """(n, 2) offsets of the chunks of those texts that are known."""
        rows = self._rows("SELECT text, spans FROM spans WHERE chunker = ?", (chunker,), texts)
        with self._told_of_sizes():
            return {text: np.frombuffer(spans, "<i8").astype(np.int64).reshape(-1, 2) for text, spans in rows}

    def keep_spans(self, chunker: str, spans: Mapping[bytes, Ints]) -> None:
        """Remember chunks."""
        rows = ((chunker, text, np.asarray(of_text, "<i8").tobytes()) for text, of_text in spans.items())
        self._insert("INSERT OR REPLACE INTO spans VALUES (?, ?, ?)", rows)

    def vectors(self, embedder: str, kind: TextKind, texts: Sequence[bytes]) -> dict[bytes, tuple[Vectors, float]]:
        """(d,) vectors of those texts that are known, and the milliseconds that each took."""
        select = "SELECT text, vector, ms FROM vectors WHERE embedder = ? AND kind = ?"
        rows = self._rows(select, (embedder, kind), texts)
        with self._told_of_sizes():
            return {text: (np.frombuffer(vector, "<f4").astype(np.float32), ms) for text, vector, ms in rows}

    def keep_vectors(self, embedder: str, kind: TextKind, vectors: Mapping[bytes, tuple[Vectors, float]]) -> None:
        """Remember vectors."""
        rows = ((embedder, kind, text, np.asarray(v, "<f4").tobytes(), ms) for text, (v, ms) in vectors.items())
        self._insert("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", rows)

    def state(self, embedder: str) -> bytes | None:
        """What the embedder learnt from its corpus."""
        with self._told():
            row = self._file.execute("SELECT state FROM states WHERE embedder = ?", (embedder,)).fetchone()
        return None if row is None else bytes(row[0])

    def keep_state(self, embedder: str, state: bytes) -> None:
        """Remember what it learnt."""
        self._insert("INSERT OR REPLACE INTO states VALUES (?, ?)", [(embedder, state)])

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _rows(self, select: str, keys: tuple[str, ...], texts: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        wanted = iter(dict.fromkeys(texts))
        while some := list(islice(wanted, _TEXTS_PER_LOOKUP)):
            marks = ", ".join("?" * len(some))
            with self._told():
                yield from self._file.execute(f"{select} AND text IN ({marks})", (*keys, *some))

    def _insert(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        with self._told(), self._transaction():
            self._file.executemany(statement, rows)

    @contextmanager
    def _told_of_sizes(self) -> Iterator[None]:
        """A blob whose length is impossible."""
        try:
            yield
        except ValueError as error:
            raise InputError(f"{self.path}: is damaged ({error}); delete it, or choose another path") from error


Store = Cache | NoCache
"""What the pipeline asks.  Texts are named by `text_key`, stages by their fingerprints."""
