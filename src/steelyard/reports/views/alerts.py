"""An alert in sentences, and how times and shifts are written."""

from __future__ import annotations

from datetime import datetime, time
from zoneinfo import ZoneInfo

from steelyard.monitoring.alerts import Alert, Shift
from steelyard.reports.views.numbers import amount, decimals_of, rounded
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words


def moment(at: datetime, zone: str) -> str:
    """A time in a zone: the day alone where it begins there, else with the minute.

    >>> from datetime import UTC
    >>> midnight, later = datetime(2026, 11, 23, 16, tzinfo=UTC), datetime(2026, 11, 24, 15, tzinfo=UTC)
    >>> moment(midnight, "Asia/Shanghai"), moment(later, "UTC")
    ('2026-11-24', '2026-11-24 15:00')
    """
    local = at.astimezone(ZoneInfo(zone))
    return f"{local:%Y-%m-%d}" if local.time() == time() else f"{local:%Y-%m-%d %H:%M}"


def shift_text(shift: Shift, words: Words) -> str:
    """A level before and after, and the difference, in as many decimals as its interval allows."""
    decimals = decimals_of(shift.low, shift.high)

    def text(value: float) -> str:
        return amount(value) if decimals is None else rounded(value, max(decimals, 0))

    difference = shift.after - shift.before
    plus = "+" if difference > 0 else ""
    return words("look.change", before=text(shift.before), after=text(shift.after), difference=plus + text(difference))


def alert_sentences(alert: Alert, words: Words, *, timezone: str = "UTC") -> list[str]:
    """What happened, as a title; then a paragraph each: since when, how large, where, what else changed, what to try.

    timezone   IANA name, in which times are written
    """
    series = words.listed([single_line(f"{shift.series} {shift.segment}".strip()) for shift in alert.shifts], 3)
    cause, since = words(f"look.cause.{alert.cause}"), moment(alert.since, timezone)
    return [words("look.summary", cause=cause, series=series, since=since)]
