"""What became of calls to a model: counted, and a line for each attempt where a file is named."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from steelyard.base.errors import OutputError
from steelyard.services.attempts import Attempt
from steelyard.services.spending import Usage

_OK = 200


class CallLog:
    """Calls of one judge or stage; used on one event loop alone.

    path   of a file in JSONL that each attempt is added to: when, how long, the outcome and the tokens; never what was
           said, and never a key.  None for none

    n_calls    that were begun, apart from their repetitions
    outcomes   attempts by outcome: the HTTP status, "timeout" or "no answer"
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = path
        self.n_calls, self.outcomes = 0, Counter[str]()

    def begin(self) -> Call:
        """A call that begins: the listener of its attempts."""
        self.n_calls += 1
        return Call(self)

    def add(self, attempt: Attempt, usage: Usage | None) -> None:
        """Count an attempt, and write it."""
        self.outcomes[str(attempt.outcome)] += 1
        if self._path is not None:
            tokens = {} if usage is None else {"tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out}
            at = datetime.fromtimestamp(attempt.began, UTC).isoformat(timespec="milliseconds")
            line = {"at": at, "ms": round(attempt.ms, 1), "attempt": attempt.number, "outcome": attempt.outcome}
            self._write({**line, **tokens})

    def counts(self) -> dict[str, Any]:
        """Calls, attempts, and what made for another attempt."""
        failures = {cause: n for cause, n in sorted(self.outcomes.items()) if cause != str(_OK)}
        return {"calls": self.n_calls, "attempts": self.outcomes.total(), "failed_attempts": failures}

    def close(self) -> None:
        """Close the file."""
        file = self.__dict__.pop("_file", None)
        if file is not None:
            file.close()

    @cached_property
    def _file(self) -> IO[str]:
        return Path(str(self._path)).open("a", encoding="utf-8", buffering=1)  # A line is written at once.

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            self._file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise OutputError(
                f"{self._path}: the log of calls cannot be written ({error.strerror or error}); choose another place"
            ) from error


class Call:
    """Listens to the attempts of one call; the tokens of the last one are known a little later."""

    def __init__(self, log: CallLog) -> None:
        self._log, self._last = log, None
        self.lost = 0

    _last: Attempt | None

    def __call__(self, attempt: Attempt) -> None:
        """Take an attempt.  One without an answer may have been charged nevertheless, and is counted in `lost`."""
        self.end(None)
        self._last = attempt
        self.lost += isinstance(attempt.outcome, str)

    def end(self, usage: Usage | None) -> None:
        """Log the last attempt, with its tokens."""
        if self._last is not None:
            self._log.add(self._last, usage)
            self._last = None
