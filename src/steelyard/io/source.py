"""Sources of bytes: a file, plain or compressed, or standard input."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from threading import Thread
from typing import IO, Any, TypeVar, cast

from steelyard.base.errors import InputError

BLOCK_BYTES = 8 << 20
LINE_BYTES = 64 << 20
"""Bytes that a line may have, so that a few megabytes of an archive cannot fill the memory."""
HELD_BYTES = 1 << 30
"""Bytes that are held at once of what is not read in pieces: a document in an archive, a pipe, standard input."""
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_BOM = b"\xef\xbb\xbf"
_START_BYTES = 1 << 16
_SMALL_FILE = 1 << 20
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")

T = TypeVar("T")
R = TypeVar("R")

_END = object()


NOT_UTF8 = "convert the file to UTF-8, e.g. with `iconv -f latin1 -t utf8`, or -f gbk: whichever it is in"
"""What to try with another encoding."""
BARE_RETURN = r"is divided by carriage returns without line feeds; convert its line ends, e.g. with `tr '\r' '\n'`"
"""What is wrong with a file of old Macs, which ends lines in another way, and what to try."""
_BARE_RETURN = re.compile(rb"\r(?!\s*(?:\n|\Z))")


class Source:
    """A named stream of bytes that can be read again.

    A file is opened once for its first bytes, and once more for the rest where it is longer than these.

    path   a file, or a pipe, or "-" for standard input; the latter two are held in memory
    name   what messages call it
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.is_stdin = str(path) == "-"
        self.name = "standard input" if self.is_stdin else str(path)
        self._once = self.is_stdin or not (os.path.isfile(self.path) or os.path.isdir(self.path))
        self._is_whole = False
        if not self.is_stdin and (fault := unreachable(self.path)):
            raise InputError(f"{self.name}: {fault}")
        if not self.is_stdin and os.path.isdir(self.path):
            raise InputError(f"{self.name}: is a folder, where a file is expected; name one that is in it")

    @property
    def stem(self) -> str:
        """The file's name without folders, compression and format: what a system is called by default."""
        if self.is_stdin:
            return "stdin"
        name = strip_compression(self.path.name)[0]
        # Bytes of a file name that are no UTF-8 can be in no table and no result.
        return (Path(name).stem or name).encode("utf-8", "replace").decode()

    @property
    def suffix(self) -> str:
        """The format's suffix, below a .gz or .zst."""
        return Path(strip_compression(self.path.name)[0]).suffix.lower()

    @property
    def is_file(self) -> bool:
        """True if the bytes lie in a plain file, as they are read."""
        return not self._once and not self.compression

    @property
    def can_be_read_again(self) -> bool:
        """True if this is a file, rather than a pipe or standard input."""
        return not self._once

    @cached_property
    def size(self) -> int | None:
        """Bytes of a plain file, as they are read; None of anything else."""
        return os.path.getsize(self.path) if self.is_file else None

    @cached_property
    def _start(self) -> bytes:
        """The first bytes as they lie there; of standard input and a pipe, which can be read once, all."""
        if self.is_stdin:
            return self._all_of(sys.stdin.buffer)
        try:
            with self.path.open("rb") as raw:
                return self._all_of(raw) if self._once else raw.read(_START_BYTES)
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read ({error.strerror or error})") from error

    @property
    def _is_held(self) -> bool:
        has_start = "_start" in self.__dict__
        return self._once or self._is_whole or (has_start and len(self._start) < _START_BYTES)

    def release(self) -> None:
        """Drop the first bytes of a file that can be read again, as many files are opened before any is read."""
        if not self._once and not self._is_whole:
            _ = self.compression  # stays known
            self.__dict__.pop("_start", None)
            self.__dict__.pop("head", None)

    def hold(self) -> None:
        """Read all of a file now and keep it, for whoever reads it several times."""
        if not self._is_held:
            with self._open_raw() as raw:
                self._start = raw.read()
            self._is_whole = True

    def _open_raw(self) -> IO[bytes]:
        if self._is_held:
            return io.BytesIO(self._start)
        try:
            return self.path.open("rb")
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read ({error.strerror or error})") from error

    @cached_property
    def compression(self) -> str | None:
        """The compression that the first bytes show, whatever the file is called."""
        if self._start.startswith(_GZIP):
            return "gzip"
        return "zstd" if self._start.startswith(_ZSTD) else None

    def open(self) -> IO[bytes]:
        """The decompressed bytes."""
        compressed = io.BytesIO(self._start) if self._is_held else self.path
        if self.compression == "gzip":
            return cast("IO[bytes]", gzip.open(compressed))
        if self.compression == "zstd":
            return cast("IO[bytes]", _zstd_open(compressed))
        return self._open_raw()

    def read(self) -> bytes:
        """All decompressed bytes, without a byte order mark.

        Raises   InputError where an archive unpacks to more than HELD_BYTES.
        """
        with self.open() as stream:
            return (self._guard(stream.read) if self.is_file else self._all_of(stream)).removeprefix(_BOM)

    def _all_of(self, stream: IO[bytes]) -> bytes:
        """The rest of a stream whose size nothing says."""
        held = io.BytesIO()
        while piece := self._guard(lambda: stream.read(BLOCK_BYTES)):
            held.write(piece)
            if held.tell() > HELD_BYTES:
                raise InputError(
                    f"{self.name}: holds more than {HELD_BYTES:,} bytes, which are not held at once; unpack it into a "
                    "file, or use TREC or JSONL, which are read in pieces"
                )
        return held.getvalue()

    @cached_property
    def head(self) -> bytes:
        """The first decompressed bytes, 64 KiB of them, without a byte order mark."""
        head = self._start[:_START_BYTES]
        if self.compression is not None:
            with self.open() as stream:
                head = self._guard(lambda: stream.read(_START_BYTES))
        if head.startswith(_UTF16_BOMS):
            raise InputError(f"{self.name}: is UTF-16, not UTF-8; convert it, e.g. with `iconv -f utf16 -t utf8`")
        return head.removeprefix(_BOM)

    def _guard(self, read: Callable[[], bytes]) -> bytes:
        """Turn what a damaged archive raises into an error that names the file."""
        try:
            return read()
        except (EOFError, OSError, ValueError) as error:
            raise InputError(f"{self.name}: cannot be read to the end ({error}); is the file complete?") from error
        except Exception as error:
            if type(error).__name__ in ("ZstdError", "error"):
                raise InputError(f"{self.name}: is damaged ({error}); compress or copy it again") from error
            raise

    def blocks(self, begin: int = 0) -> Generator[bytes]:
        """The content in pieces of about BLOCK_BYTES that end at line ends, without a byte order mark.

        begin    bytes of the content, behind that mark, that are left out
        Raises   InputError for a line of more than LINE_BYTES.
        """
        return self._sought_blocks(begin) if self.is_file else self._streamed_blocks(begin)

    def _sought_blocks(self, begin: int) -> Generator[bytes]:
        """Blocks of a plain file: look for the line end first, so that every byte is copied once."""
        with self._open_raw() as raw:
            start = begin + (len(_BOM) if raw.read(len(_BOM)) == _BOM else 0)
            while True:
                raw.seek(start + BLOCK_BYTES - 1)
                if len(raw.readline(LINE_BYTES)) == LINE_BYTES:
                    raise self.too_long()
                end = raw.tell()
                raw.seek(start)
                content = raw.read(end - start)
                if not content:
                    return
                yield content
                start += len(content)

    def _streamed_blocks(self, begin: int) -> Generator[bytes]:
        with self.open() as stream:
            rest = self._guard(lambda: stream.read(len(_BOM))).removeprefix(_BOM)
            if begin:
                rest = self._guard(partial(_skip, stream, begin - len(rest)))
            while piece := self._guard(lambda: stream.read(BLOCK_BYTES)):
                end = piece.rfind(b"\n") + 1
                if end:
                    yield b"".join((rest, memoryview(piece)[:end]))
                    rest = piece[end:]
                else:
                    rest += piece
                if len(rest) > LINE_BYTES:
                    raise self.too_long()
            if rest:
                yield rest

    def too_long(self) -> InputError:
        """The error for a line that is longer than LINE_BYTES."""
        return InputError(
            f"{self.name}: has a line of more than {LINE_BYTES:,} bytes; is it damaged, or without line ends?"
        )

    def digest(self) -> str:
        """SHA-256 of the file as it lies there."""
        ahead = None if self._once else _DIGESTS.get(_state(self.path))
        if ahead is not None and ahead.exception() is None:
            return ahead.result()
        with self._open_raw() as raw:
            return _digest(raw)


_DIGESTS: dict[tuple[int, ...], Future[str]] = {}
"""By the state of the file; those that `hash_ahead` takes."""


def hash_ahead(paths: Iterable[str]) -> None:
    """Begin to take the digests of files in a thread, one after the other, for the Sources that will be asked for them.

    It pays where imports and readers leave a core some time, and somebody will ask: a command that prints a signature.
    Small files, of which there may be thousands, are left to whoever asks.
    """
    ahead: dict[Path, Future[str]] = {}
    for path in map(Path, paths):
        if os.path.isfile(path) and (state := _state(path)) not in _DIGESTS and path.stat().st_size >= BLOCK_BYTES:
            ahead[path] = _DIGESTS[state] = Future()

    def work() -> None:
        for path, future in ahead.items():
            try:
                with path.open("rb") as raw:
                    future.set_result(_digest(raw))
            except OSError as error:
                future.set_exception(error)

    # A daemon, so that nobody who leaves with an error waits for it.
    Thread(target=work, daemon=True).start()


def _state(path: Path) -> tuple[int, ...]:
    """State that changes with a file's content."""
    stat = path.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _digest(raw: IO[bytes]) -> str:
    import hashlib

    start = raw.read(_SMALL_FILE)
    sha256 = hashlib.sha256(start)
    # Large pieces, since after each of them the thread must wait for the interpreter.
    buffer = memoryview(bytearray(BLOCK_BYTES if len(start) == _SMALL_FILE else 0))
    while n := cast("io.RawIOBase", raw).readinto(buffer):
        sha256.update(buffer[:n])
    return f"sha256:{sha256.hexdigest()}"


def source_of(path: str | Path | Source) -> Source:
    """A path as a source; a source as it is, with what has been read of it."""
    return path if isinstance(path, Source) else Source(path)


def has_bare_return(content: bytes) -> bool:
    """True if a carriage return divides a line, rather than ends it before a line feed."""
    return content.count(b"\r") > content.count(b"\r\n") and _BARE_RETURN.search(content) is not None


def unreachable(path: Path) -> str:
    """Why nothing is found at a path; nothing where something is.

    A folder whose names may be read, but not what is in it, hides its files as if they were not there.
    """
    try:
        os.lstat(path)
    except PermissionError as error:
        return f"cannot be reached ({error.strerror}); check the permissions of its folder, which needs x to be entered"
    except (OSError, ValueError):  # No path holds the character NUL.
        return "there is no such file; check the path"
    return ""


def strip_compression(name: str) -> tuple[str, str | None]:
    """A file's name without .gz or .zst, and the compression that it stands for."""
    for suffix, compression in ((".gz", "gzip"), (".zst", "zstd")):
        if name.lower().endswith(suffix):
            return name[: -len(suffix)], compression
    return name, None


def _skip(stream: IO[bytes], n: int) -> bytes:
    """Nothing, behind the next n bytes of a stream."""
    stream.seek(n, io.SEEK_CUR)
    return b""


def _zstd_open(file: Any) -> object:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.open(file)


def ahead(function: Callable[[T], R], items: Iterable[T], *, workers: int = 3) -> Generator[R]:
    """function(item) for each item, in order, computed a few items ahead in threads; so are the items themselves.

    A single item, as a small file is, starts none.
    """
    iterator = iter(items)
    first = list(islice(iterator, 2))
    if len(first) < 2:
        yield from map(function, first)
        return
    with ThreadPoolExecutor(workers) as pool, closing(_prefetched(chain(first, iterator))) as fetched:
        pending: deque[Future[R]] = deque()
        try:
            for item in fetched:
                pending.append(pool.submit(function, item))
                if len(pending) > workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _prefetched(items: Iterable[T]) -> Generator[T]:
    """The same items; while one is used, a thread gets the next."""
    iterator = iter(items)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(next, iterator, _END)
        while (item := future.result()) is not _END:
            future = pool.submit(next, iterator, _END)
            yield cast("T", item)
