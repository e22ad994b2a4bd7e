"""What services tell whoever shows it: services have no terminal, and a terminal knows no service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

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
