"""Attempts at requests, as whoever counts or logs them is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from steelyard.services.waits import Reason


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
