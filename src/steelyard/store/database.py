"""The database of a store, SQLite or PostgreSQL: opened, migrated, and read or written whole."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from polars.exceptions import PolarsError

from steelyard.base.errors import InputError, OutputError, SteelyardError, exception_line
from steelyard.base.extras import require
from steelyard.services.addresses import without_secrets

_WAIT_SECONDS = 60
"""How long a writer waits for the others."""
_CONNECT_SECONDS = 15
_WRITERS = 0x5354_4C59
"""Number of the lock of PostgreSQL that writers take, one after the other."""
_BEGIN = "begin one with `steelyard evaluate TRUTH RUN --store history.db`"
_DAMAGED = "restore a copy of it, or name another store"
_LOST = "the connection was lost; `steelyard history` shows whether the entry is there"
_HINTS: Sequence[tuple[str, str]] = (
    ("not a database|malformed|corrupt|decode to utf", _DAMAGED),
    ("no such (table|column)|(relation|column) .* does not exist", _DAMAGED),
    ("full|no space|too large|disk i/o", "make room on the disk, and try again"),
    ("readonly|unable to open", "allow writing to the file and its folder, or name another store"),
    ("locked|lock timeout", "another process has been writing to it all the time; try again later"),
    ("password|authentication|no pg_hba|role .* does not exist", "correct user and password, or set PGPASSWORD"),
    ("database .* does not exist", "create it with createdb, or correct the name"),
    ("permission denied", "ask the owner of the database for the right"),
    ("terminat|closed|lost|reset by peer|broken pipe|shut", _LOST),
    ("connection|resolve|refused|timeout", "start the server, or correct the address"),
    ("", "try again, or name another store"),
)
"""What a database says -> what to try; the first that fits."""
_NO_STORE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, PolarsError)
"""What reading raises over values that no Steelyard wrote."""


class Database:
    """Connections to one store.

    Each reading and writing opens a connection of its own and closes it: nothing is lost between them, threads and
    forked processes share none, and a file is whole by itself and may be copied.  A file that is missing is created
    when it is first written.
    Raises   MissingExtraError without SQLAlchemy or the driver; InputError for an address that is none.
    """

    def __init__(self, address: str | Path) -> None:
        self.address = str(address)
        self._sql = require("sqlalchemy", extra="store", what="a store")
        self._url, self.path = self._parsed(self.address)
        self.name = str(self.path) if self.path is not None else _shown(self._url)
        self._engine: Any = None
        self._is_current = False

    def _parsed(self, text: str) -> tuple[Any, Path | None]:
        if "://" not in text:
            return None, _file(text)
        try:
            url = self._sql.make_url(text)
        except (self._sql.exc.ArgumentError, ValueError):
            raise InputError("the store's address is no URL; expected a file, or postgresql://USER@HOST/NAME") from None
        backend = url.get_backend_name()
        if backend == "sqlite":
            if url.query or url.drivername != "sqlite":
                raise InputError("the store's address is more than a file; expected sqlite:///history.db")
            return None, _file(url.database or "")
        if backend not in ("postgresql", "postgres"):
            raise InputError(
                f"a store is in SQLite or PostgreSQL, not {backend}; expected a file, or postgresql://USER@HOST/NAME"
            )
        require("psycopg", extra="postgres", what="a store in PostgreSQL")
        return url.set(drivername="postgresql+psycopg"), None

    @property
    def exists(self) -> bool:
        """True if there is a store to read, or a database server that may hold one."""
        return self.path is None or self.path.is_file()

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
            if not (self._is_current and self.exists):
                self._migrate(writes=writes)
            with self._begun(writes=writes) as connection:
                yield connection
        except SteelyardError:
            raise
        except self._sql.exc.DBAPIError as error:
            raise self._refusal(error.orig, writes=writes) from None
        except sqlite3.Error as error:
            raise self._refusal(error, writes=writes) from None
        except (self._sql.exc.SQLAlchemyError, *_NO_STORE) as error:
            raise InputError(f"{self.name}: is damaged ({exception_line(error)}); {_DAMAGED}") from error

    @contextmanager
    def _begun(self, *, writes: bool) -> Iterator[Any]:
        """A connection within a transaction; that of a reader sees nothing that is written meanwhile."""
        options: dict[str, Any] = {"writes": writes}
        if self.path is None and not writes:
            options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with self._opened().connect().execution_options(**options) as connection, connection.begin():
            if self.path is None and writes:
                call = self._sql.func.set_config("lock_timeout", f"{_WAIT_SECONDS}s", True)
                connection.execute(self._sql.select(call))
                connection.execute(self._sql.select(self._sql.func.pg_advisory_xact_lock(_WRITERS)))
            yield connection

    def _opened(self) -> Any:
        if self._engine is None:
            options: dict[str, Any] = {}
            if self.path is not None:
                options["creator"] = self._opened_file
            elif "connect_timeout" not in self._url.query:
                options["connect_args"] = {"connect_timeout": _CONNECT_SECONDS}
            address = self._url or "sqlite://"
            self._engine = self._sql.create_engine(address, poolclass=self._sql.pool.NullPool, **options)
            if self.path is not None:
                self._sql.event.listen(self._engine, "begin", _begin)
        return self._engine

    def _opened_file(self) -> Any:
        """A connection to the file, which leaves it to SQLAlchemy to begin transactions.

        Writers do not keep readers waiting (WAL).  Where nothing can be written, not even the files beside it by which
        they get along, the file is read as it is.
        """
        assert self.path is not None
        path, pragmas = self.path.absolute(), ["synchronous=NORMAL", "foreign_keys=ON", "trusted_schema=OFF"]
        if is_read_only := self.is_read_only:
            alone = not path.with_name(f"{path.name}-wal").exists()
            address = f"{path.as_uri()}?mode=ro{'&immutable=1' * alone}"
        else:
            address = str(path)
            pragmas.append("journal_mode=WAL")
        connection = sqlite3.connect(address, uri=is_read_only, timeout=_WAIT_SECONDS, isolation_level=None)
        try:
            for pragma in pragmas:
                connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    @property
    def is_read_only(self) -> bool:
        """True for a file that this user may read and not write, or whose folder takes no new files."""
        return self.exists and self.path is not None and not all(
            os.access(path, os.W_OK) for path in (self.path, self.path.absolute().parent)
        )  # fmt: skip

    def _migrate(self, *, writes: bool) -> None:
        """Bring the tables to the version of this Steelyard, and keep a copy of an older file beside it."""
        from steelyard.store.schema import MIGRATIONS, STORE, VERSION

        version = 0
        if self.exists:
            with self._begun(writes=False) as connection:
                version = self._version(connection)
        if version == 0 and not writes:
            raise InputError(f"{self.name}: there is no store; {_BEGIN}")
        if version < VERSION:
            if version and self.is_read_only:
                raise OutputError(
                    f"{self.name}: is a store of version {version}, which is changed to {VERSION} when it is first "
                    "read, and cannot be written; copy it to a folder of your own"
                )
            with self._begun(writes=True) as connection:
                version = self._version(connection)  # Another process may have been faster.
                if 0 < version < VERSION and self.path is not None:
                    _copy(self.path, self.path.with_name(f"{self.path.name}.version-{version}"))
                for migration in MIGRATIONS[version:]:
                    migration(connection)
                if version < VERSION:
                    connection.execute(STORE.delete())
                    connection.execute(STORE.insert().values(version=VERSION))
        self._is_current = True

    def _version(self, connection: Any) -> int:
        """Version of the tables; 0 where there are none.

        Raises   InputError for tables of something else, and of a later Steelyard.
        """
        from steelyard.store.schema import METADATA, STORE, VERSION

        tables = set(self._sql.inspect(connection).get_table_names())
        if STORE.name not in tables:
            if tables if self.path is not None else tables & set(METADATA.tables):
                raise InputError(f"{self.name}: is a database of something else; name another one for the store")
            return 0
        version: int = connection.execute(self._sql.select(STORE.c.version)).scalar_one()
        if version > VERSION:
            raise InputError(
                f"{self.name}: is a store of version {version}, and this Steelyard reads up to {VERSION}; update it"
            )
        if version < 1 or (self.path is not None and _runs(connection)):
            raise InputError(f"{self.name}: is damaged (its tables are not those of a store); {_DAMAGED}")
        return version

    def _refusal(self, error: BaseException | None, *, writes: bool) -> InputError | OutputError:
        """The error that says what the database refused, without its password."""
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
        if self._url is not None and self._url.password:
            reason = reason.replace(self._url.password, "***")
        hint = next(hint for pattern, hint in _HINTS if re.search(pattern, reason, re.IGNORECASE))
        if hint == _DAMAGED:
            return InputError(f"{self.name}: is no store, or is damaged ({reason}); {hint}")
        if self.path is not None and not self.path.absolute().parent.is_dir():
            hint = "create its folder first"
        if writes:
            return OutputError(f"{self.name}: cannot be written ({reason}); {hint}")
        return InputError(f"{self.name}: cannot be read ({reason}); {hint}")


def _file(text: str) -> Path:
    """Path of a SQLite file.

    Raises   InputError for what names none.
    """
    if not text or text == ":memory:" or "\0" in text:
        raise InputError("the store's address names no file; expected one such as history.db")
    return Path(text)


def _shown(url: Any) -> str:
    """The address without passwords."""
    plain = url.set(drivername="postgresql", query=without_secrets(dict(url.query)))
    text: str = plain.render_as_string(hide_password=True)
    return text


def _begin(connection: Any) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _runs(connection: Any) -> bool:
    """True for a database in which reading or writing a table sets off something else, as in none of ours."""
    rows = connection.exec_driver_sql("SELECT 1 FROM sqlite_master WHERE type IN ('trigger', 'view') LIMIT 1")
    return rows.first() is not None


def _copy(path: Path, target: Path) -> None:
    """Copy a SQLite file, with all that was written to it, beside it: whole, and to a name that is free."""
    names = (target.with_name(f"{target.name}{f'.{n}' * (n > 1)}") for n in count(1))
    free, unfinished = next(name for name in names if not name.exists()), target.with_name(f"{target.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(unfinished)) as copy:
        source.backup(copy)
    unfinished.rename(free)
