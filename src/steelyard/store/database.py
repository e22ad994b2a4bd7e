"""The database of a store, SQLite or PostgreSQL: opened, migrated, and read or written whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError, OutputError
from steelyard.base.extras import require

_WAIT_SECONDS = 60
_WRITERS = 0x5354_4C59
"""Number of the lock of PostgreSQL that writers take, one after the other."""
_BEGIN = "begin one with `steelyard evaluate TRUTH RUN --store history.db`"


class Database:
    """Connections to one store.

    Nothing is opened before something is read or written; a file that is missing is created when it is first written.
    Raises   MissingExtraError without SQLAlchemy or the driver; InputError for an address that is none.
    """

    def __init__(self, url: str | Path) -> None:
        self._sql = require("sqlalchemy", extra="store", what="a store")
        self.url, self.path = self._address(str(url))
        self.name = str(url) if self.path is not None else self.url.render_as_string(hide_password=True)
        self._engine: Any = None
        self._is_current = False

    def _address(self, text: str) -> tuple[Any, Path | None]:
        if "://" not in text:
            return self._sql.make_url("sqlite://").set(database=str(Path(text).absolute())), Path(text)
        try:
            url = self._sql.make_url(text)
        except (self._sql.exc.ArgumentError, ValueError):
            raise InputError("the store's address is no URL; expected a file, or postgresql://USER@HOST/NAME") from None
        if url.get_backend_name() == "sqlite":
            if not url.database:
                raise InputError("the store's address names no file; expected sqlite:///history.db")
            return url, Path(url.database)
        if url.get_backend_name() != "postgresql":
            raise InputError(
                f"a store is in SQLite or PostgreSQL, not {url.get_backend_name()}; expected a file, or "
                "postgresql://USER@HOST/NAME"
            )
        if url.get_driver_name() != "psycopg":
            url = url.set(drivername="postgresql+psycopg")
        require("psycopg", extra="postgres", what="a store in PostgreSQL")
        return url, None

    @property
    def exists(self) -> bool:
        """True if there is a store to read, or a database server that may hold one."""
        return self.path is None or self.path.is_file()

    def close(self) -> None:
        """Close all connections."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """A connection that sees the store as it is now, whatever others write meanwhile.

        Raises   InputError where there is no store, and where it cannot be read.
        """
        if not self.exists:
            raise InputError(f"{self.name}: there is no store; {_BEGIN}")
        with self._connection(writes=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """A connection whose changes are all there after it, or none; writers wait for each other.

        Raises   OutputError where the store cannot be written.
        """
        with self._connection(writes=True) as connection:
            yield connection

    @contextmanager
    def _connection(self, *, writes: bool) -> Iterator[Any]:
        try:
            if not self._is_current:
                self._migrate(writes=writes)
            with self._opened().connect().execution_options(writes=writes) as connection, connection.begin():
                self._lock_writers(connection, writes=writes)
                yield connection
        except self._sql.exc.DBAPIError as error:
            raise self._refusal(error, writes=writes) from None
        except self._sql.exc.SQLAlchemyError as error:
            raise InputError(f"{self.name}: {_first_line(error)}") from None

    def _opened(self) -> Any:
        if self._engine is None:
            lite = self.path is not None
            more = {"connect_args": {"timeout": _WAIT_SECONDS}} if lite else {"pool_pre_ping": True}
            self._engine = self._sql.create_engine(self.url, **more)
            if lite:
                self._sql.event.listen(self._engine, "connect", _prepare)
                self._sql.event.listen(self._engine, "begin", _begin)
        return self._engine

    def _lock_writers(self, connection: Any, *, writes: bool) -> None:
        if writes and self.path is None:
            connection.execute(self._sql.select(self._sql.func.pg_advisory_xact_lock(_WRITERS)))

    def _migrate(self, *, writes: bool) -> None:
        """Bring the tables to the version of this Steelyard, and keep a copy of an older file beside it."""
        from steelyard.store.schema import MIGRATIONS, STORE, VERSION

        version = self._version()
        if version > VERSION:
            raise InputError(
                f"{self.name}: is a store of version {version}, and this Steelyard reads up to {VERSION}; update it"
            )
        if version == 0 and not writes:
            raise InputError(f"{self.name}: there is no store; {_BEGIN}")
        if version < VERSION:
            if version and self.path is not None:
                _copy(self.path, self.path.with_name(f"{self.path.name}.version-{version}"))
            with self._opened().connect().execution_options(writes=True) as connection, connection.begin():
                self._lock_writers(connection, writes=True)
                version = self._version(connection)  # Another process may have been faster.
                for migration in MIGRATIONS[version:]:
                    migration(connection)
                if version < VERSION:
                    connection.execute(STORE.delete())
                    connection.execute(STORE.insert().values(version=VERSION))
        self._is_current = True

    def _version(self, connection: Any = None) -> int:
        """Version of the tables; 0 where there are none.

        Raises   InputError for a database that holds other tables.
        """
        from steelyard.store.schema import STORE

        if connection is None:
            if not self.exists:
                return 0
            with self._opened().connect() as own:
                return self._version(own)
        tables = self._sql.inspect(connection).get_table_names()
        if STORE.name not in tables:
            if tables and self.path is not None:
                raise InputError(f"{self.name}: is a database of something else; name another file for the store")
            return 0
        return int(connection.execute(self._sql.select(STORE.c.version)).scalar_one())

    def _refusal(self, error: Any, *, writes: bool) -> InputError | OutputError:
        """The error that says what the database refused, without its password."""
        reason = _first_line(error.orig)
        if self.path is None:
            kind = OutputError if writes else InputError
            return kind(f"{self.name}: {reason}; is the server running, and may this user write there?")
        if "not a database" in reason or "malformed" in reason:
            return InputError(
                f"{self.name}: is no store, or is damaged ({reason}); name another file, or restore a copy of it"
            )
        if writes:
            return OutputError(f"{self.name}: cannot be written ({reason}); nothing was added to it")
        return InputError(f"{self.name}: cannot be read ({reason})")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def _prepare(connection: Any, _record: object) -> None:
    """Let SQLAlchemy begin transactions, and writers not keep readers waiting."""
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Any) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _copy(path: Path, target: Path) -> None:
    """Copy a SQLite file with all that others may just have written to it; a copy that is there stays."""
    if target.exists():
        return
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
