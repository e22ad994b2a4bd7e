"""Sinks of files: a line of JSON for a message, and files that are written whole at every look."""

from __future__ import annotations

import os
import stat
import tempfile
import time
from io import FileIO
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, model_validator

from steelyard.base.errors import OutputError
from steelyard.base.file_locks import try_lock
from steelyard.base.limits import Words
from steelyard.base.settings import SettingError
from steelyard.io.write import write_text
from steelyard.monitoring.sinks.message import Message
from steelyard.monitoring.sinks.payloads import body_of
from steelyard.monitoring.sinks.serving import address_of
from steelyard.monitoring.sinks.sink import Sink

_PAUSE_S = 0.01


def _path(value: object) -> Path:
    if not isinstance(value, str | Path) or not str(value):
        raise ValueError
    return Path(os.path.expanduser(value))


File = Annotated[Path, BeforeValidator(_path), Words("a path")]


class _OnDisk(Sink):
    path: File | None = None

    def beside(self, folder: Path) -> Self:
        """The same, with a path that counts from a folder."""
        if self.path is None or str(self.path) == "-":
            return self
        return self.model_copy(update={"path": folder / self.path})

    def write(self, text: str) -> None:
        """Write a text in place of what is there, whole or not at all."""
        if self.path is not None:
            write_text(self.path, text)

    def check(self) -> None:
        """Raise   OutputError where its folder takes no files."""
        if self.path is None or str(self.path) == "-" or self.path.exists():
            return
        try:
            with tempfile.TemporaryFile(dir=self.path.absolute().parent):
                pass
        except OSError as error:
            raise _unwritable(self.path, error) from None


class JSONLines(_OnDisk):
    """A line of JSON a message, behind those that are in the file already, or on standard output ("-")."""

    type: Literal["json"]
    path: File

    def send(self, message: Message, seconds: float) -> None:
        """Append the line whole, or not at all."""
        line = body_of(message.record) + b"\n"
        if str(self.path) == "-":
            write_text("-", line.decode())
            return
        try:
            with FileIO(self.path, "a+") as file:
                _append(file, line, until=time.monotonic() + seconds)
        except OSError as error:
            raise _unwritable(self.path, error) from None


def _append(file: FileIO, line: bytes, *, until: float) -> None:
    """Write a line at the end of a file, after those of other processes; half a line is taken back."""
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.write(line)
        return
    while try_lock(file) is False:
        if time.monotonic() > until:
            raise OSError("another process has it locked")
        time.sleep(_PAUSE_S)
    size = file.seek(0, os.SEEK_END)
    is_torn = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n" if hasattr(os, "pread") else False
    data = b"\n" * is_torn + line
    try:
        while data:
            data = data[file.write(data) or 0 :]
        os.fsync(file.fileno())
    except OSError:
        file.truncate(size)
        raise


class Markdown(_OnDisk):
    """The report of the last look."""

    TAKES_MESSAGES: ClassVar[bool] = False
    type: Literal["markdown"]
    path: File


class Prometheus(_OnDisk):
    """Gauges of the last look, in a file for the node exporter, or served while `--every` stays up."""

    TAKES_MESSAGES: ClassVar[bool] = False
    type: Literal["prometheus"]
    serve: Annotated[str, AfterValidator(address_of), Words('HOST:PORT, such as "127.0.0.1:9464"')] | None = None

    @model_validator(mode="after")
    def _check_one_target(self) -> Self:
        if self.path is None and self.serve is None:
            raise SettingError('expected path, such as "steelyard.prom", or serve, such as "127.0.0.1:9464"')
        return self


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{path}: cannot be written ({error.strerror or error}); make room, or choose another place")
