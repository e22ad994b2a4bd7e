"""An alert in sentences, and how times and shifts are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, time
from zoneinfo import ZoneInfo

from steelyard.monitoring.alerts import Alert, Shift
from steelyard.reports.views.numbers import amount, by_width, decimals_of, rounded
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

KEY = 6
"""Characters of a key, which are enough to name an alert by."""
_SUSPECT = ("config", "deployment")
_ACCEPTABLE = ("regression", "segment", "traffic", "operations")
_OF_BASELINE = ("regression", "segment", "corpus", "judge")
"""Causes of which entries of the store say more, where a replay has one that was accepted."""
_CHARTED = ("feedback", "label_free", "operations", "sample")
"""Streams whose level may be accepted."""


def moment(at: datetime, zone: str) -> str:
    """A time in a zone: the day alone where it begins there, else with the minute.

    >>> from datetime import UTC
    >>> midnight, later = datetime(2026, 11, 23, 16, tzinfo=UTC), datetime(2026, 11, 24, 15, tzinfo=UTC)
    >>> moment(midnight, "Asia/Shanghai"), moment(later, "UTC")
    ('2026-11-24', '2026-11-24 15:00')
    """
    local = at.astimezone(ZoneInfo(zone))
    return f"{local:%Y-%m-%d}" if local.time() == time() else f"{local:%Y-%m-%d %H:%M}"


def levels_text(shift: Shift, words: Words) -> str:
    """A level before and after, in as many decimals as the interval of the difference allows."""
    text = _levels_writer(shift)
    return words("look.levels", before=text(shift.before), after=text(shift.after))


def shift_text(shift: Shift, words: Words) -> str:
    """A level before and after, and the difference, in as many decimals as its interval allows."""
    difference, text = shift.after - shift.before, _levels_writer(shift)
    plus = "+" if difference > 0 else ""
    return words("look.change", levels=levels_text(shift, words), difference=plus + text(difference))


def _levels_writer(shift: Shift) -> Callable[[float], str]:
    decimals = decimals_of(shift.low, shift.high)
    return amount if decimals is None else lambda value: rounded(value, max(decimals, 0))


def alert_sentences(alert: Alert, words: Words, *, timezone: str = "UTC") -> list[str]:
    """What happened, as a title; then a paragraph each: since when, how large, where, what else changed, what to try.

    timezone   IANA name, in which times are written
    """
    names = _series_names(alert, words)
    paragraphs = [
        _since(alert, words, timezone),
        *_size(alert, words),
        *([_where(alert, words)] if alert.shifts else []),
        *([_changes(alert, words, timezone)] if alert.shifts else []),
        _advice(alert, words),
    ]
    return [words(f"alert.title.{alert.cause}", series=words.listed(names, 3)), *paragraphs]


def _series_names(alert: Alert, words: Words) -> list[str]:
    """Series that moved, or that have no values any more."""
    if not alert.shifts:
        return [single_line(change.text) for change in alert.changes]
    names = [(single_line(shift.series), single_line(shift.segment)) for shift in alert.shifts]
    return [words("alert.and_segment", series=name, segment=part) if part else name for name, part in names]


def _since(alert: Alert, words: Words, zone: str) -> str:
    """When it began, with the interval of that, and when it ended."""
    first = alert.clearest if alert.shifts else None
    low, high = (alert.since, alert.since) if first is None else (first.since_low, first.since_high)
    key = "since" if low == high else "began"
    times = {"since": moment(alert.since, zone), "low": moment(low, zone), "high": moment(high, zone)}
    ended = [] if alert.until is None else [words("alert.ended", until=moment(alert.until, zone))]
    return words("alert.between").join([words(f"alert.{key}", **times), *ended])


def _size(alert: Alert, words: Words) -> Iterator[str]:
    """How large the first shift is, and what moved besides."""
    first, *others = _series_names(alert, words) or ["–"]
    if not alert.shifts:
        yield words("alert.silent", listed=words.listed([first, *others]), n=1 + len(others))
        return
    shift = alert.shifts[0]
    text = by_width(shift.low, shift.high)
    low, high = text(shift.low), text(shift.high)
    yield words("alert.large", series=first, change=shift_text(shift, words), low=low, high=high)
    if others:
        yield words("alert.also", listed=words.listed(others), n=len(others))


def _where(alert: Alert, words: Words) -> str:
    segment = single_line(alert.shifts[0].segment)
    return words("alert.segment", segment=segment) if segment else words("alert.everywhere")


def _changes(alert: Alert, words: Words, zone: str) -> str:
    """What else changed then; where quality is worse, what to suspect first."""
    listed = [
        words(
            "alert.change_text" if change.text else "alert.change",
            kind=words(f"look.kind.{change.kind}"),
            text=single_line(change.text),
            time=moment(change.time, zone),
        )
        for change in alert.changes
    ]
    suspects = [single_line(change.text) for change in alert.changes if change.kind in _SUSPECT and change.text]
    texts = [words("alert.changed", listed=words.listed(listed))] if listed else [words("alert.unchanged")]
    if suspects and alert.state == "alert" and alert.cause not in ("traffic", "logging"):
        texts.append(words("alert.suspect", text=suspects[-1]))
    return words("alert.between").join(texts)


def _advice(alert: Alert, words: Words) -> str:
    """What to try; and how to accept the level, where it lasts and may be as it should be."""
    is_replayed = any(shift.stream == "replay" for shift in alert.shifts)
    kind = "unreplayed" if alert.cause in _OF_BASELINE and not is_replayed else "advice"
    texts = [words(f"alert.{kind}.{alert.cause}")]
    is_charted = any(shift.stream in _CHARTED for shift in alert.shifts)
    if alert.cause in _ACCEPTABLE and alert.until is None and is_charted:
        texts.append(words("alert.accept", key=alert.key[:KEY]))
    return words("alert.between").join(texts)
