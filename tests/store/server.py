"""A PostgreSQL server of a test's own: Debian's programs, a socket in a temporary folder, and no port."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

_OPTIONS = (
    "listen_addresses=", "fsync=off", "full_page_writes=off", "synchronous_commit=off", "shared_buffers=16MB",
    "max_connections=40", "autovacuum=off", "logging_collector=off",
)  # fmt: skip
_WHO_MAY = "local all guarded scram-sha-256\nlocal all all trust\n"
PASSWORD = "p@ss/word-5b1f"
"""Of the user `guarded`, who alone needs one."""


class NoServer(Exception):
    """Why there is no server."""


class Server:
    """A server that runs; it is stopped, and its folder removed, by `running`."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self._programs = folder, programs
        self._numbers = count(1)

    def run(self, program: str, *words: str) -> None:
        """Run a program of PostgreSQL, as another user where this one is root, whom it refuses."""
        more: dict[str, Any] = {}
        if os.getuid() == 0:
            account = _account()
            more = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        subprocess.run(
            [self._programs / program, *words], cwd=self.folder, check=True, timeout=60, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, **more,
        )  # fmt: skip

    def start(self) -> None:
        options = " ".join(f"-c {option}" for option in (*_OPTIONS, f"unix_socket_directories={self.folder}"))
        self.run("pg_ctl", "start", "--pgdata=data", "--wait", "--log=log", f"--options={options}")

    def stop(self) -> None:
        """Stop at once, as when the machine goes down; connections are lost."""
        self.run("pg_ctl", "stop", "--pgdata=data", "--wait", "--mode=immediate")

    def url(self, database: str, user: str = "owner") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def new_database(self) -> str:
        """URL of a database that holds nothing."""
        name = f"test_{next(self._numbers)}"
        self.execute("postgres", f"CREATE DATABASE {name}")
        return self.url(name)

    def execute(self, database: str, *statements: str) -> None:
        import psycopg

        with psycopg.connect(host=str(self.folder), user="owner", dbname=database, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)


@contextmanager
def running() -> Iterator[Server]:
    """A server that has just begun.

    Raises   NoServer where PostgreSQL, or its driver, is not installed or does not start.
    """
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not programs:
        raise NoServer("PostgreSQL is not installed; try apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="sy-pg-"))
    server = Server(folder, programs[-1])
    try:
        if os.getuid() == 0:
            os.chown(folder, _account().pw_uid, _account().pw_gid)
        server.run("initdb", "--pgdata=data", "--no-sync", "--auth=trust", "--username=owner", "--encoding=UTF8",
                   "--locale=C")  # fmt: skip
        (folder / "data" / "pg_hba.conf").write_text(_WHO_MAY)
        server.start()
    except (OSError, subprocess.SubprocessError, LookupError) as error:
        shutil.rmtree(folder)
        raise NoServer(f"PostgreSQL does not start: {error}") from None
    try:
        server.execute("postgres", f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'")
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


def _account() -> pwd.struct_passwd:
    accounts = {account.pw_name: account for account in pwd.getpwall()}
    return accounts.get("postgres") or accounts["nobody"]
