"""Windows of time, or of so many requests, into which logs are cut."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from steelyard.base.errors import InputError, quoted

_WINDOW = re.compile(r"\s*([1-9]\d{0,8})\s*(m|min|h|d|w|requests?)\s*")
_UNIT = {"m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_EXPECTED = "expected a time such as '15m', '1h', '1d' or '1w', or a number of requests such as '500 requests'"


@dataclass(frozen=True)
class Windows:
    """How logs are cut.

    every      length of a window, or how many requests make one
    timezone   IANA name: days and weeks begin at its midnight
    Raises     InputError for a time zone that is not known, and for a length that does not divide a day, or days.

    >>> Windows.parse("1h", timezone="Asia/Shanghai").every
    datetime.timedelta(seconds=3600)
    >>> Windows.parse("500 requests").every
    500
    """

    every: timedelta | int
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise InputError(
                f"timezone {quoted(self.timezone)} is not known; expected an IANA name such as 'Asia/Shanghai'"
            ) from None
        day = timedelta(days=1)
        if isinstance(self.every, timedelta) and (day % self.every if self.every < day else self.every % day):
            raise InputError(f"a window of {self.every} does not divide days; {_EXPECTED}")

    @classmethod
    def parse(cls, text: str, *, timezone: str = "UTC") -> Windows:
        """Windows of a text: minutes, hours, days, weeks, or a number of requests.

        Raises   InputError for any other text.
        """
        match = _WINDOW.fullmatch(text)
        if match is None:
            raise InputError(f"window {quoted(text)} is none; {_EXPECTED}")
        n, unit = int(match[1]), match[2]
        if unit.startswith("request"):
            return cls(n, timezone)
        try:
            return cls(timedelta(**{_UNIT[unit]: n}), timezone)
        except OverflowError:
            raise InputError(f"window {quoted(text)} is too long; {_EXPECTED}") from None
