"""Every error that Steelyard raises for a user's input.

Each message says what it got, where, what was expected and what to try.  The children also derive from the
builtin that a caller would expect, so `except ValueError` keeps working.
"""

from __future__ import annotations

import errno
import re
import traceback
from collections.abc import Callable
from pathlib import Path

_LONGEST_MESSAGE = 300
_LONGEST_VALUE = 80
_LONG, _BEGINNING, _END = 1_000, 1_500, 500
_READ = 5_000
"""Characters at either end of a message that are looked through: a value in it may be a whole file."""
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_VALUE + 3},}}")
_QUOTED = re.compile(r"(?<!\w)(?:'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\")")


class SteelyardError(Exception):
    """Base of all errors that come from the user's input rather than from our own mistakes."""

    def __str__(self) -> str:
        """The message in one line; where it is long, values in quotes are cut, and then all between its ends.

        The beginning names the place, and the end what to try.
        """
        message = _without_middle(super().__str__(), _READ, _READ).replace("\n", "\\n")
        if len(message) > _LONG:
            message = _QUOTED.sub(lambda quote: _cut(quote[0]), message)
        return _without_middle(message, _BEGINNING, _END)


def _without_middle(text: str, beginning: int, end: int) -> str:
    return text if len(text) <= beginning + end else f"{text[:beginning]} […] {text[-end:]}"


def _cut(value: str) -> str:
    return value if len(value) <= _LONGEST_VALUE + 2 else f"{value[: _LONGEST_VALUE + 1]}…"


class InputError(SteelyardError, ValueError):
    """A file, frame or dict that cannot be read as what it should be."""


SETTLE_DUPLICATES = "remove one, or keep the first or the max: --on-duplicate first (on_duplicate=...)"
"""What to try where a document is listed twice."""


class DuplicateError(InputError):
    """The same document twice in one question of a run or a truth."""


class NoCommonQueryError(InputError):
    """A run and a truth that share no query id."""


class MeasureError(SteelyardError, ValueError):
    """A measure that is misspelt, or a parameter that it cannot take."""


class UnknownMeasureError(MeasureError, LookupError):
    """A name that no registered measure has."""


class OutputError(SteelyardError, OSError):
    """A result that cannot be written where the user wants it."""


class MissingExtraError(SteelyardError, ImportError):
    """A part of Steelyard whose library is not installed; the message has the line that installs it."""


class StageError(SteelyardError, RuntimeError):
    """A stage of a pipeline, or an endpoint behind it, that failed on one question or gave nonsense.

    stage   its name, such as search.bm25, rerank or generate; None where that is not known
    """

    def __init__(self, message: str = "", *, stage: str | None = None) -> None:
        super().__init__(message)
        self.stage = stage


def reason_of(error: OSError, folder: Path) -> str:
    """Why the system makes nothing in a folder; some, such as /proc, are there and say that they are not."""
    if error.errno == errno.ENOENT and folder.is_dir():
        return "its folder takes no new files"
    return error.strerror or str(error)


def quoted(value: object) -> str:
    """A value in a message, as Python writes it, cut after 80 characters.

    >>> quoted("a" * 100_000) == "'" + "a" * 79 + "…"
    True
    """
    # A text is cut before it is written: it may be the whole file.
    text = _said(repr, value[: _LONGEST_VALUE + 1] if isinstance(value, str | bytes) else value)
    return text if len(text) <= _LONGEST_VALUE + 2 else f"{text[:_LONGEST_VALUE]}…"


def without_long_values(message: str) -> str:
    """A message of others with its long words and values in quotes cut.

    >>> without_long_values("invalid float value: '" + "x" * 1_000 + "'") == "invalid float value: '" + "x" * 80 + "…"
    True
    """
    return _LONG_WORD.sub(lambda word: f"{word[0][: _LONGEST_VALUE + 1]}…", _QUOTED.sub(lambda q: _cut(q[0]), message))


def exception_line(error: BaseException) -> str:
    """A foreign exception's type and the first line of its message, cut after 300 characters, without a full stop.

    >>> exception_line(OSError("no route.\\nTry again."))
    'OSError: no route'
    """
    words = next(iter(_said(str, error).strip().splitlines()), "").rstrip(".")
    return type(error).__name__ + _message(words)


def describe_exception(error: BaseException, *, outside: str = "") -> str:
    """A foreign exception in one line: its type, its message, and the file and line where it arose.

    A syntax error names the line that cannot be parsed.  Messages are folded to one line and cut after 300 characters.
    outside   frames of this file are not the place: that of whoever called the foreign code

    >>> describe_exception(KeyError("title"))
    "KeyError: 'title'"
    """
    words = " ".join(_said(str, error.msg if isinstance(error, SyntaxError) else error).split())
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != outside]
    places = [f" ({frame.filename}:{frame.lineno})" for frame in frames]
    if isinstance(error, SyntaxError) and error.filename is not None:
        places.append(f" ({error.filename}:{error.lineno})")
    return f"{type(error).__name__}{_message(words)}{places[-1] if places else ''}"


def _said(write: Callable[[object], str], value: object) -> str:
    """A value as text; its type where it fails to say what it is, as objects of foreign code may."""
    try:
        return write(value)
    except Exception:  # Whatever a method of foreign code raises.
        return f"<{type(value).__name__}>"


def _message(words: str) -> str:
    return f": {words[:_LONGEST_MESSAGE]}{'…' * (len(words) > _LONGEST_MESSAGE)}" if words else ""
