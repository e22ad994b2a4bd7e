"""The process of a command: its streams, and how it ends, whatever happens."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO, cast

_TRACEBACK = "STEELYARD_TRACEBACK"
_MISTAKE, _INTERRUPTED, _BROKEN_PIPE = 2, 130, 141


def run(ready: Callable[[], object]) -> NoReturn:
    """Run the command of the process, and leave with its status.

    ready   called when all is imported, and the command begins
    """
    _prepare_streams()
    try:
        status = _status(ready)
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = _INTERRUPTED
    except BrokenPipeError:
        _give_output_up()
        status = _BROKEN_PIPE
    except BaseException as error:  # A panic of native code is no Exception.
        _leave(error)
    sys.exit(status)


def _status(ready: Callable[[], object]) -> str | int | None:
    from steelyard.cli.app import command_of

    try:
        command = command_of(sys.argv[1:])
        ready()
        return command()
    except SystemExit as leaving:
        return leaving.code


def _leave(error: BaseException) -> NoReturn:
    """Say in one line what ended the command."""
    from steelyard.base.errors import SteelyardError
    from steelyard.cli.translation import language_of, translator
    from steelyard.reports.visible import visible

    reason = translator(language_of(sys.argv[1:]))(_reason(error))
    # Messages quote names and values of files, which must not reach the terminal as commands.
    print(f"steelyard: {visible(reason).replace(chr(10), chr(92) + 'n')}", file=sys.stderr)
    _give_output_up()
    if os.environ.get(_TRACEBACK) and not isinstance(error, SteelyardError):
        raise error
    sys.exit(_MISTAKE)


def _reason(error: BaseException) -> str:
    from steelyard.base.errors import SteelyardError, describe_exception

    if isinstance(error, SteelyardError):
        return str(error)
    if isinstance(error, OSError):
        name = "the system refuses" if error.filename is None else os.fsdecode(error.filename)
        return f"{name}: {error.strerror or error}; check paths, permissions and the space that is left"
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; try fewer or smaller files"
    return (
        f"this is a mistake in Steelyard, please report it: {describe_exception(error)}; "
        f"with {_TRACEBACK}=1 it shows more"
    )


class _Output:
    """Standard output, whose failures are told apart from those of files."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:
        """The encoding that texts are printed for."""
        return "utf-8" if self._stream is None else self._stream.encoding

    def __getattr__(self, name: str) -> Any:
        """Anything else of the stream; where it was closed before we started, it is no terminal."""
        return getattr(io.StringIO() if self._stream is None else self._stream, name)

    def write(self, text: str) -> int:
        """Raise   OutputError where it is closed or full."""
        with _output():
            if self._stream is None:
                raise OSError(errno.EBADF, "it is closed")
            return self._stream.write(text)

    @property
    def buffer(self) -> Any:
        """The same for bytes."""
        if self._stream is None:
            raise OSError(errno.EBADF, "it is closed")
        return self._stream.buffer

    def writelines(self, lines: Iterable[str]) -> None:
        """Write one after the other."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Raise   OutputError where it is full."""
        with _output():
            if self._stream is not None:
                self._stream.flush()


@contextmanager
def _output() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        from steelyard.base.errors import OutputError

        reason = error.strerror or error
        raise OutputError(f"standard output cannot be written ({reason}); write into a file with --output") from error


def _prepare_streams() -> None:
    """Open what was closed before we started, lest the next file that is opened should be taken for it."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or os.fdopen(0)
    sys.stderr = sys.stderr or os.fdopen(2, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = _shown(cast("TextIO", _Output(sys.stdout))), _shown(sys.stderr)


def _shown(stream: TextIO) -> TextIO:
    """A terminal as a screen, where names and values of files, which texts quote, are no commands to it."""
    if not stream.isatty():
        return stream
    from steelyard.cli.terminal import Screen

    return cast("TextIO", Screen(stream))


def _give_output_up() -> None:
    """Nothing can be written any more, or nothing more is to be; Python must not complain of that at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
