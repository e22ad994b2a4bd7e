"""Every error that Steelyard raises for a user's input.

Each message says what was found, where, what was expected and what to try.  The children also derive from the
builtin that a caller would expect, so `except ValueError` keeps working.
"""


class SteelyardError(Exception):
    """Base of all errors that come from the user's input rather than from our own mistakes."""


class InputError(SteelyardError, ValueError):
    """A file, frame or dict that cannot be read as what it should be."""


SETTLE_DUPLICATES = "remove one, or choose with --on-duplicate first or max (on_duplicate=...)"
"""What to try where a document stands twice."""


class DuplicateError(InputError):
    """The same document twice in one query of a run or a truth."""


class NoCommonQueryError(InputError):
    """A run and a truth that share no query id."""


class MeasureError(SteelyardError, ValueError):
    """A measure that is misspelt, or a parameter that it cannot take."""


class UnknownMeasureError(MeasureError, LookupError):
    """A name that no registered measure bears."""


class OutputError(SteelyardError, OSError):
    """A result that cannot be written where the user wants it."""


class MissingExtraError(SteelyardError, ImportError):
    """A part of Steelyard whose library is not installed; the message has the line that installs it."""


class StageError(SteelyardError, RuntimeError):
    """A stage of a pipeline, or an endpoint behind it, that failed on one question or gave nonsense."""
