"""Limits of native readers: whole numbers too large for floats, and damage that they report by a panic."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock

from polars.exceptions import PanicException, PolarsError

from steelyard.base.errors import InputError, exception_line

EXACT = 2.0**53
"""Whole numbers from here on, above and below 0, may be none that a float can hold."""

ROUNDED = "is a whole number beyond 2**53 that would be rounded, so that ranks could change; divide or shorten it"

_WHOLE = re.compile(r"\s*[+-]?\d+\s*")


def is_rounded(value: object, number: float) -> bool:
    """True if a value of any library, or a text of digits, is a whole number other than the float that it became.

    >>> is_rounded(2**53 + 1, 2.0**53), is_rounded(str(2**53), 2.0**53), is_rounded("1e300", 1e300)
    (True, False, False)
    """
    if abs(number) < EXACT or isinstance(value, float):
        return False
    if isinstance(value, str):
        return _WHOLE.fullmatch(value) is not None and int(value) != int(number)
    try:
        return int(value) != int(number)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return False


_STDERR = 2
_LOCK = Lock()
_PANICKED = b" panicked at "
_PAUSE = 0.01


class _Panic(Exception):
    """A thread of a native reader that gave up, of which nothing but its last words on standard error is known."""


@contextmanager
def native_reader(name: str) -> Iterator[None]:
    """Turn what native code raises over a file into an error that names it.

    Raises   InputError.
    """
    try:
        with _held_back():
            yield
    except (PanicException, _Panic):
        raise InputError(f"{name}: is damaged; copy or write it again") from None
    except (PolarsError, OSError) as error:
        raise InputError(f"{name}: cannot be read ({exception_line(error)})") from None


@contextmanager
def _held_back() -> Iterator[None]:
    """Hold standard error back: the lines of code at which a thread panicked help no user.

    What was written there is dropped where an exception is raised, and written otherwise.
    Raises   _Panic where a thread panicked and the reader ended as if there were no more rows.
    """
    with _LOCK:
        try:
            own = os.dup(_STDERR)
        except OSError:  # Standard error is closed.
            yield
            return
        with tempfile.TemporaryFile() as held:
            os.dup2(held.fileno(), _STDERR)
            failed = True
            try:
                yield
                failed = False
            finally:
                if failed or os.fstat(held.fileno()).st_size:
                    _settle(held.fileno())
                os.dup2(own, _STDERR)
                os.close(own)
            held.seek(0)
            text = held.read()
        if _PANICKED in text:
            raise _Panic
        with suppress(OSError):
            os.write(_STDERR, text)


def _settle(file: int) -> None:
    """Wait until nothing more is written: other threads fail with the first, and print that a moment later."""
    size = -1
    while (grown := os.fstat(file).st_size) > size:
        size = grown
        time.sleep(_PAUSE)
