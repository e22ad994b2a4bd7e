"""Runs the command line as a user does."""

import os
import subprocess
import sys
from pathlib import Path


def steelyard(
    *arguments: object,
    cwd: Path | None = None,
    stdin: bytes | None = None,
    columns: int = 80,
    environment: dict[str, str] | None = None,
):
    """The finished process of `steelyard ARGUMENTS`."""
    return subprocess.run(
        [sys.executable, "-m", "steelyard", *map(str, arguments)],
        capture_output=True,
        cwd=cwd,
        input=stdin,
        env=os.environ | {"COLUMNS": str(columns)} | (environment or {}),
        check=False,
    )


def printed(*arguments: object, **options) -> str:
    """What a successful command prints."""
    done = steelyard(*arguments, **options)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout.decode()


def complaint(*arguments: object, **options) -> str:
    """The one line that a command prints to standard error when the input is wrong; it exits 2."""
    done = steelyard(*arguments, **options)
    text = done.stderr.decode()
    assert done.returncode == 2, text
    assert done.stdout == b""
    assert text.startswith("steelyard: ")
    assert text.count("\n") == 1
    return text
