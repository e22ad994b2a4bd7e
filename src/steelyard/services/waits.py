"""What is waited for, announced to whoever shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from steelyard.services.announcements import Announcements

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
