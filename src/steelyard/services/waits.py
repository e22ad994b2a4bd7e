"""What is waited for, told to whoever shows it: services have no terminal, and a terminal knows no service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

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


_listeners: list[Callable[[Wait], None]] = []


@contextmanager
def listening(listener: Callable[[Wait], None]) -> Iterator[None]:
    """While this is open, every wait of this process is told to a function, in any thread.

    >>> with listening(print):
    ...     announce(Wait("api.example.com", 12.0, 429))
    Wait(host='api.example.com', seconds=12.0, reason=429)
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def announce(wait: Wait) -> None:
    """Tell all listeners."""
    for listener in tuple(_listeners):
        listener(wait)
