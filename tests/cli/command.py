"""Runs the command line as a user does: in this process, or in one of its own where a test is about processes.

Starting an interpreter and importing everything costs more than most commands; `test_processes.py` compares the two.
"""

import importlib
import inspect
import io
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from steelyard.cli import main
from steelyard.cli.calls import prepare
from steelyard.cli.commands import COMMANDS


@dataclass(frozen=True)
class Finished:
    """What a command leaves behind, by the names that `subprocess.CompletedProcess` has."""

    returncode: int
    stdout: bytes
    stderr: bytes


def steelyard(
    *arguments: object,
    cwd: Path | None = None,
    stdin: bytes = b"",
    columns: int = 80,
    environment: dict[str, str] | None = None,
    terminal: bool = False,
) -> Finished:
    """`steelyard ARGUMENTS` in this process; an unexpected exception is raised, not printed.

    terminal   whether both outputs say that they are one
    """
    variables = {"COLUMNS": str(columns), "STEELYARD_TRACEBACK": "1"} | (environment or {})
    assert "PYTHONPATH" not in variables, "this needs a process"
    encoding = variables.get("PYTHONIOENCODING", "utf-8")
    out, err = (_Terminal(), _Terminal()) if terminal else (io.BytesIO(), io.BytesIO())
    streams = {
        "stdin": io.TextIOWrapper(io.BytesIO(stdin), encoding=encoding, errors="surrogateescape"),
        "stdout": io.TextIOWrapper(out, encoding=encoding),
        "stderr": io.TextIOWrapper(err, encoding=encoding, errors="backslashreplace"),
    }
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, variables))
        if cwd is not None:
            stack.enter_context(chdir(cwd))
        stack.enter_context(_interpreter())
        for name, value in {**streams, "argv": ["steelyard", *map(str, arguments)]}.items():
            stack.enter_context(mock.patch.object(sys, name, value))
        returncode = _exit_status()
        for name in ("stdout", "stderr"):
            streams[name].flush()
    return Finished(returncode, out.getvalue(), err.getvalue())


class _Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def _exit_status() -> int:
    try:
        main()
    except SystemExit as leaving:
        if isinstance(leaving.code, str):
            print(leaving.code, file=sys.stderr)
            return 1
        return leaving.code or 0
    return 0


@contextmanager
def _interpreter() -> Iterator[None]:
    """Modules of the working folder are imported anew and forgotten afterwards, as if the interpreter had started now.

    What a command changes in the interpreter is put back; handlers of log records that pytest adds are taken away, so
    that warnings of a library reach standard error.
    """
    hidden = {name: sys.modules.pop(name) for name in _modules_of(Path.cwd())}
    importlib.invalidate_caches()
    folder = Path.cwd()
    with (
        warnings.catch_warnings(),
        mock.patch.object(logging.root, "handlers", []),
        mock.patch.object(sys, "path", list(sys.path)),
        mock.patch.object(sys, "excepthook", sys.excepthook),
        mock.patch.object(sys, "dont_write_bytecode", True),
    ):
        try:
            yield
        finally:
            for name in _modules_of(folder):
                del sys.modules[name]
            sys.modules.update(hidden)


def _modules_of(folder: Path) -> list[str]:
    """Imported modules that lie in a folder, but for those of this repository."""
    if Path(__file__).is_relative_to(folder):
        return []
    start, names = f"{folder}{os.sep}", []
    for name, module in list(sys.modules.items()):
        if name not in _ELSEWHERE:
            file = str(getattr(module, "__file__", ""))
            if file.startswith(start):
                names.append(name)
            elif file.startswith(_FOLDERS):
                _ELSEWHERE.add(name)
    return names


_SOURCES = (Path(inspect.getfile(main)).parents[1], Path(__file__).parents[1])
_FOLDERS = tuple(f"{folder}{os.sep}" for folder in (sys.prefix, sys.base_prefix, *_SOURCES))
_ELSEWHERE: set[str] = set()
"""Modules of these folders, some thousands, whose files are looked at once."""


def process(
    *arguments: object,
    cwd: Path | None = None,
    stdin: bytes = b"",
    columns: int = 80,
    environment: dict[str, str] | None = None,
) -> Finished:
    """`python -m steelyard ARGUMENTS`, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", *map(str, arguments)],
        capture_output=True,
        cwd=cwd,
        input=stdin,
        env=os.environ | {"COLUMNS": str(columns)} | (environment or {}),
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def called(name: str, **values: object) -> int:
    """The exit status of a command, from the values of its arguments."""
    return prepare(COMMANDS[name], values)() or 0


def printed(*arguments: object, run=steelyard, **options) -> str:
    """What a successful command prints."""
    done = run(*arguments, **options)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout.decode()


def complaint(*arguments: object, run=steelyard, **options) -> str:
    """The one line that a command prints to standard error when the input is wrong; it exits 2."""
    done = run(*arguments, **options)
    text = done.stderr.decode()
    assert done.returncode == 2, text
    assert done.stdout == b""
    assert text.startswith("steelyard: ")
    assert text.count("\n") == 1
    return text
