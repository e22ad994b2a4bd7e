"""News of services for the programs that show it: services have no terminal, and a terminal knows no service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

T = TypeVar("T")


class Announcements(Generic[T]):
    """News of one kind, told to functions of this process, from any thread.

    >>> prices = Announcements[float]()
    >>> with prices.listening(print):
    ...     prices.announce(1.5)
    1.5
    """

    def __init__(self) -> None:
        self._listeners: list[Callable[[T], None]] = []

    @contextmanager
    def listening(self, listener: Callable[[T], None]) -> Iterator[None]:
        """While this is open, a function is told all that is announced."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def announce(self, news: T) -> None:
        """Tell all listeners."""
        for listener in tuple(self._listeners):
            listener(news)


Reason = int | Literal["timeout", "no answer"]


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait before a request is sent again.

    host     of the service;   seconds  until then
    reason   the HTTP status that was answered, "timeout", or "no answer"
    """

    host: str
    seconds: float
    reason: Reason


WAITS = Announcements[Wait]()
"""Every wait of this process.

>>> with WAITS.listening(print):
...     WAITS.announce(Wait("api.example.com", 12.0, 429))
Wait(host='api.example.com', seconds=12.0, reason=429)
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request that was sent once.

    number    of the attempt, from 1
    began     seconds since the epoch;   ms   until the answer, or until none was waited for any longer
    outcome   the HTTP status, "timeout", or "no answer"
    """

    number: int
    began: float
    ms: float
    outcome: Reason


Listener = Callable[[Attempt], None]


def ignore(attempt: Attempt) -> None:
    """Listen to nothing."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that calls took.

    >>> Usage(10, 2) + Usage(5, 1) - Usage(3, 3)
    Usage(tokens_in=12, tokens_out=0)
    """

    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Usage) -> Usage:
        """The sum of both."""
        return Usage(self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)

    def __sub__(self, other: Usage) -> Usage:
        """The difference of both."""
        return Usage(self.tokens_in - other.tokens_in, self.tokens_out - other.tokens_out)

    @property
    def total(self) -> int:
        """Tokens in either direction."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens, requests and time that calls to a model have taken so far.

    cost_usd   None where the price is not known
    """

    usage: Usage
    cost_usd: float | None


SPENDING = Announcements[Spending]()
"""Announcements of what each judge of this process has spent."""


@dataclass(frozen=True, slots=True)
class LiveRequests:
    """Requests of a block so far, and how they did.

    label      of what is asked, such as "words@50";   n   requests that have ended;   n_failed   without an answer
    per_second   that were answered;   p95_ms   of the last ones, infinite where too many failed
    """

    label: str
    n: int
    n_failed: int
    per_second: float
    p95_ms: float


LIVE = Announcements[LiveRequests]()
"""Announcements of the requests of the block that is measured, some four times a second."""
