"""Things that one user at a time may use, such as models: as many as are in use at once, and no more."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class Instances(Generic[T]):
    """Lends instances, each to one borrower; threads that take turns share one.

    make   makes another one, where all are lent
    A copy, such as one for another process, makes its own.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._idle: deque[T] = deque()

    def __getstate__(self) -> dict[str, Callable[[], T]]:
        return {"make": self._make}

    def __setstate__(self, state: dict[str, Callable[[], T]]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @contextmanager
    def borrowed(self) -> Iterator[T]:
        """An instance, for as long as the block lasts.

        Raises   what `make` raises.
        """
        try:
            instance = self._idle.pop()
        except IndexError:
            instance = self._make()
        try:
            yield instance
        finally:
            self._idle.append(instance)
