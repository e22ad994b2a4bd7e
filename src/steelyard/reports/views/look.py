"""A look of a monitor on a terminal and in files: its state, alerts, series, changes, and troubles of logs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from steelyard.base.notes import Note
from steelyard.monitoring.alerts import Alert, Change, Shift, State
from steelyard.monitoring.detection import Detection
from steelyard.monitoring.looking import Look as MonitorLook
from steelyard.monitoring.states import FEW_USERS
from steelyard.reports.views.alerts import KEY, alert_sentences, levels_text, moment, shift_text
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.logs import trouble_text, troubles_sheet
from steelyard.reports.views.notes import note_text
from steelyard.reports.views.numbers import amount, count, decimals_of, number, percent, rounded
from steelyard.reports.views.view import Block, Column, Look, Paragraph, Section, Sheet, Text, sheet_of
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words
from steelyard.traffic.series import Stream

_MOST_ALERTS, _MOST_NAMED = 6, 3
_TINY = 1e-9
"""Limits that are nearer to each other leave no way between them: a series that is always the same has such ones."""
_GRAVITY: Mapping[State, int] = {"alert": 0, "warn": 1, "well": 2, "few": 3}


def title_text(look: MonitorLook, words: Words) -> str:
    """What a look comes to, in one sentence."""
    if look.time is None:
        return words("look.nothing", monitor=single_line(look.monitor))
    allowed = words("look.allowed", n=1 if look.budget == 1 else 2, budget=amount(look.budget))
    facts = words("look.facts", series=words("look.series", n=look.n_series), allowed=allowed)
    values = {"monitor": single_line(look.monitor), "facts": facts, "time": moment(look.time, look.timezone)}
    since = well_since(look)
    return words(
        f"look.{look.state}", n=len(open_alerts(look)), since="" if since is None else moment(since, look.timezone),
        **values,
    )  # fmt: skip


def look_line(look: MonitorLook, words: Words, *, following: datetime | None = None) -> str:
    """One line a look, for a monitor that stays up: when, its state, its alerts or series, and when it looks again."""
    if look.time is None:
        return title_text(look, words)
    alerts = open_alerts(look)
    first = _series_text(alerts[0], words) if alerts else ""
    what = words("look.open", n=len(alerts), series=first) if alerts else words("look.series", n=look.n_series)
    after = "" if following is None else words("look.next", time=_clock_time(following, look))
    state = words(f"look.state.{look.state}")
    return words("look.line", time=_minute(look.time, look.timezone), state=state, what=what) + after


def _minute(at: datetime, zone: str) -> str:
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}"


def _clock_time(at: datetime, look: MonitorLook) -> str:
    """The hour and minute of a time, with its day where that is not the day of the look."""
    text = _minute(at, look.timezone)
    same = look.time is not None and _minute(look.time, look.timezone)[:10] == text[:10]
    return text[11:] if same else text


def open_alerts(look: MonitorLook) -> list[Alert]:
    """Alerts that last, but for notices."""
    return [alert for alert in look.alerts if alert.until is None and alert.state == "alert"]


def _is_notice(alert: Alert) -> bool:
    return alert.until is None and alert.state == "warn"


def well_since(look: MonitorLook) -> datetime | None:
    """When the last alert ended, or the first window began; None without any window."""
    ends = [alert.until for alert in (*look.alerts, *look.past) if alert.state == "alert" and alert.until]
    starts = [own.chart["start"][0] for own in look.detections if len(own.chart)]
    return max(ends) if ends else min(starts, default=None)


def nearness(detection: Detection) -> float:
    """How far the newest value is on its way to the limit on its bad side: 0 to 1, more beyond it; NaN without any.

    It begins at what is expected, or where that is beyond a limit itself, in the middle of both.  No share is beyond a
    limit of 0 or 1.  The sums count likewise, by the way to their limit.
    """
    rows = detection.chart.filter(detection.chart["value"].is_not_null())
    if rows.is_empty():
        return math.nan
    row = rows.row(-1, named=True)
    value, start, low, high = (row[name] for name in ("value", "expected", "low", "high"))
    if None not in (low, high) and (start is None or not low <= start <= high):
        start = (low + high) / 2
    limit = None if start is None else high if value > start else low
    ways = list[float]()
    is_end = detection.series.scale == "share" and limit in (0.0, 1.0)
    if limit is not None and not is_end and abs(limit - start) > _TINY * max(abs(limit), 1.0):
        good = {"higher": value > start, "lower": value < start, "either": False}[detection.series.better]
        ways.append(0.0 if good else (value - start) / (limit - start))
    if detection.cusum_limit and row["cusum"] is not None:
        ways.append(row["cusum"] / detection.cusum_limit)
    return max(ways, default=math.nan)


def by_gravity(detections: Sequence[Detection]) -> list[Detection]:
    """Those in alarm first, then the ones nearest to their limits; those without a chart last."""

    def key(detection: Detection) -> tuple[int, float]:
        near = nearness(detection)
        return _GRAVITY[detection.state], math.inf if math.isnan(near) else -near

    return sorted(detections, key=key)


def level_text(value: float | None) -> str:
    """A value of a series in three digits; what is as good as 0 is 0.

    >>> level_text(0.24123), level_text(2e-23), level_text(None)
    ('0.241', '0', '–')
    """
    return amount(0.0 if value is not None and abs(value) < _TINY else value)


def raised_shift(detection: Detection) -> Shift | None:
    """What a series in alarm was raised for; None for one that is in none."""
    shifts = [shift for shift in detection.alarms if shift.rule != "restart"]
    return shifts[-1] if shifts and detection.state == "alert" else None


def series_name(detection: Detection) -> str:
    """A series, and its segment where that is not all traffic."""
    return single_line(f"{detection.series.name} {detection.segment}".strip())


def _series_text(alert: Alert, words: Words) -> str:
    """The first series that moved, or that has no values any more, and how many others did."""
    moved = [single_line(f"{shift.series} {shift.segment}".strip()) for shift in alert.shifts]
    first, *others = moved or [single_line(change.text) for change in alert.changes] or ["–"]
    return words("look.more_series", series=first, n=len(others)) if others else first


def _segment(segment: str, words: Words) -> str:
    return single_line(segment) if segment else words("look.all")


# On a terminal -------------------------------------------------------------------------------------------------------


def brief_look(look: MonitorLook, form: Look) -> Iterator[Block]:
    """The verdict; a row an alert that is open, or else a row a stream; and the gravest caution."""
    words = form.words
    yield Text(title_text(look, words), "bold")
    cautions = careful(_cautions(look, words), form)
    if alerts := open_alerts(look):
        sheet = alerts_sheet(alerts[:_MOST_ALERTS], look, words)
        more = len(alerts) - _MOST_ALERTS
        yield replace(sheet, notes=[*([words("look.more_alerts", n=more)] if more > 0 else []), *cautions])
        return
    notices = [words("look.notice", title=alert_sentences(own, words)[0]) for own in look.alerts if _is_notice(own)]
    if look.streams:
        yield replace(streams_sheet(look, words), notes=[*notices, *cautions])
    elif cautions:
        yield Text("\n".join(cautions))


def alerts_sheet(alerts: Sequence[Alert], look: MonitorLook, words: Words) -> Sheet:
    """A row an alert: its probable cause, since when, what moved most, and by how much."""
    columns = [
        Column[Alert](words("look.head.key"), lambda alert: alert.key[:KEY]),
        Column[Alert](words("look.head.alert"), lambda alert: words(f"look.cause.{alert.cause}")),
        Column[Alert](words("look.head.since"), lambda alert: moment(alert.since, look.timezone)),
        Column[Alert](
            words("look.head.until"),
            lambda alert: "–" if alert.until is None else moment(alert.until, look.timezone),
            optional=True,
        ),
        Column[Alert](words("look.head.series"), lambda alert: _series_text(alert, words)),
        Column[Alert](
            words("look.head.change"), lambda alert: levels_text(alert.shifts[0], words) if alert.shifts else "–"
        ),
    ]
    return sheet_of(alerts, columns)


def streams_sheet(look: MonitorLook, words: Words) -> Sheet:
    """A row a stream: its state, its series, and the one nearest to its limit."""

    def own(stream: Stream) -> list[Detection]:
        return by_gravity([detection for detection in look.detections if detection.series.stream == stream])

    def nearest(stream: Stream) -> str:
        charted = [detection for detection in own(stream) if not math.isnan(nearness(detection))]
        near = max(charted, key=nearness, default=None)
        if near is None:
            return "–"
        return f"{series_name(near)} {'>100%' if nearness(near) > 1 else percent(nearness(near))}"

    columns = [
        Column[Stream](words("look.head.stream"), lambda stream: words(f"look.stream.{stream}")),
        Column[Stream](words("look.head.state"), lambda stream: words(f"look.state.{look.streams[stream]}")),
        Column[Stream](words("look.head.n_series"), lambda stream: count(len(own(stream)))),
        Column[Stream](
            words("look.head.n_few"),
            lambda stream: count(sum(detection.state == "few" for detection in own(stream)) or None),
            optional=True,
        ),
        Column[Stream](words("look.head.nearest"), nearest, optional=True),
    ]
    return sheet_of(list(look.streams), columns)


def _cautions(look: MonitorLook, words: Words) -> Iterator[str]:
    """What endangers what a look says, the gravest first."""
    yield from (_look_note(note, words) for note in look.notes if note.code in FEW_USERS)
    if lost := [trouble for trouble in look.troubles if trouble.is_fatal]:
        listed = words.listed([f"{trouble_text(own, words)} {own.n:,}" for own in lost], _MOST_NAMED)
        yield words("look.note.left_out", n=sum(own.n for own in lost), listed=listed)
    yield from (_look_note(note, words) for note in look.notes if note.code not in FEW_USERS)
    if few := [detection for detection in look.detections if detection.state == "few"]:
        listed = words.listed([series_name(detection) for detection in few], _MOST_NAMED)
        yield words("look.note.few", n=len(few), listed=listed)
    for detection in look.detections:
        if detection.note is not None and detection.state != "few":
            yield words("look.note.weak", series=series_name(detection), note=note_text(detection.note, words))


def _look_note(note: Note, words: Words) -> str:
    """A note of a look, with its stream by the name that people read."""
    stream = note.values.get("stream")
    named = {} if stream is None else {"stream": words(f"look.stream.{stream}")}
    return note_text(Note(note.code, {**note.values, **named}), words)


# Everything ----------------------------------------------------------------------------------------------------------


def look_sections(look: MonitorLook, form: Look) -> list[Section]:
    """The verdict with its streams, a section an alert, and tables of series, changes, troubles and earlier alerts."""
    words = form.words
    title = title_text(look, words)
    streams = [replace(streams_sheet(look, words), notes=[words("look.note.distance")])] if look.streams else []
    sections = [Section("look", title, [Paragraph(text) for text in _cautions(look, words)], streams)]
    sections += [alert_section(alert, n, look, words) for n, alert in enumerate(look.alerts, 1)]
    sheets = {
        "series": series_sheet(look, words), "changes": changes_sheet(look.changes, look.timezone, words),
        "troubles": troubles_sheet(look.troubles, words), "past": alerts_sheet(look.past, look, words),
    }  # fmt: skip
    sections += [
        Section(name, words(f"look.title.{name}"), sheets=[sheet]) for name, sheet in sheets.items() if sheet.rows
    ]
    return sections


def alert_section(alert: Alert, n: int, look: MonitorLook, words: Words) -> Section:
    """An alert in sentences, with the series that moved, what else changed, and examples."""
    title, *rest = alert_sentences(alert, words, timezone=look.timezone)
    sheets = [
        shifts_sheet(alert.shifts, look.timezone, words), changes_sheet(alert.changes, look.timezone, words),
        examples_sheet(alert, words),
    ]  # fmt: skip
    paragraphs = [Paragraph(status_text(alert, look.timezone, words)), *map(Paragraph, rest)]
    return Section(f"alert-{n}", title, paragraphs, [sheet for sheet in sheets if sheet.rows])


def status_text(alert: Alert, zone: str, words: Words) -> str:
    """Whether an alert is open, a notice, or over, and when it was raised."""
    values = {"key": alert.key[:KEY], "time": moment(alert.time, zone)}
    if alert.until is not None:
        return words("look.page.ended", until=moment(alert.until, zone), **values)
    return words(f"look.page.{'alert' if alert.state == 'alert' else 'warn'}", **values)


def series_sheet(look: MonitorLook, words: Words) -> Sheet:
    """A row a series of a segment: its last value beside its usual one and its limits, its state, and since when."""

    def last(detection: Detection, name: str) -> Any:
        rows = detection.chart.filter(detection.chart["value"].is_not_null())
        return None if rows.is_empty() else rows[name][-1]

    def limits(detection: Detection) -> str:
        low, high = last(detection, "low"), last(detection, "high")
        return "–" if low is None and high is None else words("look.to", start=level_text(low), end=level_text(high))

    def since(detection: Detection) -> str:
        shift = raised_shift(detection)
        return "–" if shift is None else moment(shift.since, look.timezone)

    columns = [
        Column[Detection](words("look.head.series"), lambda own: single_line(own.series.name)),
        Column[Detection](words("look.head.segment"), lambda own: _segment(own.segment, words)),
        Column[Detection](words("look.head.state"), lambda own: words(f"look.state.{own.state}")),
        Column[Detection](words("look.head.last"), lambda own: level_text(last(own, "value"))),
        Column[Detection](words("look.head.usual"), lambda own: level_text(last(own, "expected")), optional=True),
        Column[Detection](words("look.head.limits"), limits, optional=True),
        Column[Detection](words("look.head.z"), lambda own: number(last(own, "z"), 1), optional=True),
        Column[Detection](words("look.head.since"), since, optional=True),
        Column[Detection](
            words("look.head.note"), lambda own: "–" if own.note is None else note_text(own.note, words), optional=True
        ),
    ]
    sheet = sheet_of(by_gravity(look.detections), columns, [words("look.note.z")], n_labels=2)
    of_alerts = {words("look.head.since"), words("look.head.note")}
    return replace(sheet, spare=[place for place, head in enumerate(sheet.header) if head in of_alerts])


def shifts_sheet(shifts: Sequence[Shift], zone: str, words: Words) -> Sheet:
    """A row a series that moved: by how much, since when."""

    def interval(shift: Shift) -> str:
        decimals = max(decimals_of(shift.low, shift.high) or 0, 0)
        return words("look.to", start=rounded(shift.low, decimals), end=rounded(shift.high, decimals))

    def when(shift: Shift) -> str:
        low, high = moment(shift.since_low, zone), moment(shift.since_high, zone)
        return low if low == high else words("look.to", start=low, end=high)

    columns = [
        Column[Shift](words("look.head.series"), lambda shift: single_line(shift.series)),
        Column[Shift](words("look.head.segment"), lambda shift: _segment(shift.segment, words)),
        Column[Shift](words("look.head.change"), lambda shift: shift_text(shift, words)),
        Column[Shift](words("look.head.interval"), interval),
        Column[Shift](words("look.head.since"), when),
    ]
    return sheet_of(shifts, columns, n_labels=2)


def changes_sheet(changes: Sequence[Change], zone: str, words: Words) -> Sheet:
    """A row a change: when, of what, and what it was."""

    def when(change: Change) -> str:
        start = moment(change.time, zone)
        return start if change.until is None else words("look.to", start=start, end=last_moment(change.until, zone))

    columns = [
        Column[Change](words("look.head.since"), when),
        Column[Change](words("look.head.kind"), lambda change: words(f"look.kind.{change.kind}")),
        Column[Change](words("look.head.what"), lambda change: single_line(change.text) or "–"),
    ]
    return sheet_of(changes, columns, n_labels=2)


def last_moment(until: datetime, zone: str) -> str:
    """The end of what lasts: its last day where it ends at midnight.

    >>> from datetime import UTC
    >>> last_moment(datetime(2026, 10, 8, tzinfo=UTC), "UTC"), last_moment(datetime(2026, 10, 8, 9, tzinfo=UTC), "UTC")
    ('2026-10-07', '2026-10-08 09:00')
    """
    text = moment(until, zone)
    return text if " " in text else moment(until - timedelta(seconds=1), zone)[:10]


def examples_sheet(alert: Alert, words: Words) -> Sheet:
    """A row an example of an alert."""
    rows = [[single_line(own.id), single_line(own.text), single_line(own.note) or "–"] for own in alert.examples]
    return Sheet([words(f"look.head.{name}") for name in ("example", "text", "note")], rows)


def look_data(look: MonitorLook, words: Words) -> dict[str, Any]:
    """Everything as data: series with their charts, alerts with their shifts, changes and examples."""
    return {
        "monitor": look.monitor, "time": look.time, "timezone": look.timezone, "state": look.state,
        "budget": look.budget, "n_series": look.n_series, "streams": dict(look.streams),
        "in_words": title_text(look, words),
        "alerts": [_alert_data(alert, look, words) for alert in look.alerts],
        "past": [_alert_data(alert, look, words) for alert in look.past],
        "changes": [asdict(change) for change in look.changes],
        "troubles": [asdict(trouble) for trouble in look.troubles],
        "notes": [note.as_json() for note in look.notes],
        "series": [
            {
                **asdict(own.series), "segment": own.segment, "state": own.state, "cusum_limit": own.cusum_limit,
                "note": None if own.note is None else own.note.as_json(),
                "alarms": [asdict(shift) for shift in own.alarms], "windows": own.chart.to_dicts(),
            }
            for own in look.detections
        ],
    }  # fmt: skip


def _alert_data(alert: Alert, look: MonitorLook, words: Words) -> dict[str, Any]:
    return {**asdict(alert), "since": alert.since, "in_words": alert_sentences(alert, words, timezone=look.timezone)}
