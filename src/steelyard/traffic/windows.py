"""Windows of time, or of so many requests, into which logs are cut."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from steelyard.base.arrays import Ints
from steelyard.base.errors import InputError, quoted

_REQUESTS = re.compile(r"\s*([1-9]\d{0,8})\s*requests?\s*")
_DURATION = re.compile(r"\s*([1-9]\d{0,8})\s*(m|min|h|d|w)\s*")
_UNIT = {"m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_WINDOWS = 500_000
_TIMES = "expected a time such as '15m', '1h', '1d' or '1w'"
_EXPECTED = f"{_TIMES}, or a number of requests such as '500 requests'"


def parse_duration(text: str) -> timedelta:
    """Minutes, hours, days or weeks of a text.

    Raises   InputError for any other text.

    >>> parse_duration("15m"), parse_duration("2d")
    (datetime.timedelta(seconds=900), datetime.timedelta(days=2))
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise InputError(f"{quoted(text)} is no time; {_TIMES}")
    try:
        return timedelta(**{_UNIT[match[2]]: int(match[1])})
    except OverflowError:
        raise InputError(f"{quoted(text)} is too long; {_TIMES}") from None


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
        if match := _REQUESTS.fullmatch(text):
            return cls(int(match[1]), timezone)
        if _DURATION.fullmatch(text) is None:
            raise InputError(f"window {quoted(text)} is none; {_EXPECTED}")
        return cls(parse_duration(text), timezone)

    def bounds(self, times: Ints, *, after: datetime | None = None, until: datetime | None = None) -> tuple[Ints, Ints]:
        """Starts of the windows that hold these times, and their ends, which are no longer of them.

        Days and weeks, which begin on Mondays, run from midnight to midnight of the time zone, so that a day has 23 or
        25 hours where clocks are changed; shorter windows are counted from midnight on, and the last one of such a day
        may be cut short.  Windows of time without any of the times are among them.  A window of a count begins with its
        first request and ends behind its last one; requests of one time are in one window, which then has a few more.

        times    (n,) microseconds since 1970, ascending
        after    nothing before it is looked at; windows of time begin at the one that holds it, with or without times
        until    a moment that all windows end at or before, so that the last one is whole; None takes the rest too
        Returns  (w,) and (w,), microseconds since 1970
        Raises   InputError for times so far apart that windows are more than 500,000

        >>> noon = np.array([1_774_782_000_000_000])  # 29 March 2026, when clocks were changed in Berlin
        >>> starts, ends = Windows.parse("1d", timezone="Europe/Berlin").bounds(noon)
        >>> (ends - starts) / 3_600_000_000
        array([23.])
        """
        first, last = (None if moment is None else microseconds(moment) for moment in (after, until))
        times = times[slice(*(None if end is None else int(np.searchsorted(times, end)) for end in (first, last)))]
        if isinstance(self.every, int):
            return self._counted(times, self.every, whole=last is not None)
        first = first if first is not None else int(times[0]) if len(times) else None
        end = last if last is not None else int(times[-1]) + 1 if len(times) else None
        if first is None or end is None or end <= first:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        edges = self._edges(first, end, self.every)
        if last is not None:
            edges = edges[edges <= last]
        return edges[:-1], edges[1:]

    def _counted(self, times: Ints, n: int, *, whole: bool) -> tuple[Ints, Ints]:
        starts, ends, place = list[int](), list[int](), 0
        while place < len(times) - (n - 1 if whole else 0):
            last = times[min(place + n, len(times)) - 1]
            starts.append(int(times[place]))
            ends.append(int(last) + 1)
            place = int(np.searchsorted(times, last, side="right"))
        return np.array(starts, np.int64), np.array(ends, np.int64)

    def _edges(self, first: int, end: int, every: timedelta) -> Ints:
        """Edges from the one at or before `first` to the one at or behind `end`, in microseconds."""
        n = (end - first) * _MICROSECOND / every
        if n > _MOST_WINDOWS:
            raise InputError(
                f"from {time_of(first):%Y-%m-%d} to {time_of(end):%Y-%m-%d} there are {n:,.0f} windows of {every}; "
                f"expected at most {_MOST_WINDOWS:,}: take longer windows, or leave out records of times that cannot be"
            )
        days = max(every.days, 1)
        zone = ZoneInfo(self.timezone)
        ordinal = time_of(first).astimezone(zone).toordinal()
        ordinals = [ordinal - (ordinal - 1) % days]  # day 1 of all was a Monday
        midnights = [_midnight(ordinals[0], zone)]
        while midnights[-1] < end:
            ordinals.append(ordinals[-1] + days)
            midnights.append(_midnight(ordinals[-1], zone))
        if every.days:
            return np.array(midnights, np.int64)
        step = every // _MICROSECOND
        pieces = [np.arange(start, stop, step) for start, stop in pairwise(midnights)]
        edges = np.concatenate([*pieces, midnights[-1:]])
        inside = slice(int(np.searchsorted(edges, first, side="right")) - 1, int(np.searchsorted(edges, end)) + 1)
        return edges[inside]


def placed(times: Ints, starts: Ints, ends: Ints) -> Ints:
    """(n,) number of the window that holds each time, -1 for none, of windows in the order of time."""
    window = np.searchsorted(starts, times, side="right") - 1
    is_inside = window >= 0
    is_inside[is_inside] = times[is_inside] < ends[window[is_inside]]
    return np.where(is_inside, window, -1)


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970 of a time with a time zone."""
    return (moment - _EPOCH) // _MICROSECOND


def time_of(microseconds: int) -> datetime:
    """Time, in UTC, of so many microseconds since 1970."""
    return _EPOCH + microseconds * _MICROSECOND


def _midnight(ordinal: int, zone: ZoneInfo) -> int:
    """The first moment of a day, also of one whose midnight is skipped by the clocks."""
    return microseconds(datetime.combine(date.fromordinal(ordinal), time.min, zone))
