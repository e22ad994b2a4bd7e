"""Messages of a monitor, as all sinks take them, and why one was not delivered."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from steelyard.base.errors import SteelyardError
from steelyard.base.json_text import plain
from steelyard.monitoring.alerts import Cause, State

MARK = "…"
"""What a text that was cut ends with."""


class DeliveryError(SteelyardError, RuntimeError):
    """A message that a sink did not take, in words without its secrets.

    wait_s   after how many seconds the receiver wants it again; None where it does not say
    """

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


@dataclass(frozen=True)
class Message:
    """One piece of news of a monitor.

    key      of idempotency: messages with equal keys are one message, however often it arrives
    time     what it is about, in UTC
    state    of the alert: "alert", "warn" for a notice, "well" for one that ended
    cause    what it probably is; None for a message that is about no alert
    title    one line;   lines   the text below it, as people read it
    data     the same for programs: what JSON can hold
    lang     language of title and lines: "en" or "zh"
    """

    key: str
    monitor: str
    time: datetime
    state: State
    cause: Cause | None
    title: str
    lines: Sequence[str] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    lang: str = "en"

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)

    @property
    def record(self) -> dict[str, Any]:
        """The message as JSON holds it; `of` reads it back."""
        fields = {name: getattr(self, name) for name in ("key", "monitor", "state", "cause", "title", "lang")}
        return {"format": 1, **fields, "time": self.time.isoformat(), "text": [*self.lines], "data": plain(self.data)}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """The message of a record."""
        fields = {name: record[name] for name in ("key", "monitor", "state", "cause", "title", "data", "lang")}
        return cls(time=datetime.fromisoformat(record["time"]), lines=tuple(record["text"]), **fields)


def cut(text: str, fits: Callable[[str], bool]) -> str:
    """The text where it fits, else its longest beginning that does with a mark behind it.

    fits   true of a text that is short enough, and of all that are shorter

    >>> cut("twelve words", lambda text: len(text) <= 8), cut("twelve", lambda text: len(text) <= 8)
    ('twelve…', 'twelve')
    """
    if fits(text):
        return text
    most = bisect_left(range(len(text)), True, key=lambda n: not fits(text[:n] + MARK)) - 1
    return text[: max(most, 0)].rstrip() + MARK
