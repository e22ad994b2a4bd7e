"""Messages of a monitor in the reader's language: what sinks send of an alert."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from steelyard.monitoring.alerts import Alert
from steelyard.monitoring.sinks.message import Message
from steelyard.reports.views.alerts import alert_sentences
from steelyard.reports.visible import single_line
from steelyard.reports.words import read_words


def alert_message(alert: Alert, *, monitor: str, lang: str | None = None, timezone: str = "UTC") -> Message:
    """The message that an alert was raised, or that it ended: two keys, however often the alert is looked at.

    A notice has the first one alone: that it is over is no news.

    lang       "en" or "zh"; that of the locale by default
    timezone   IANA name, in which times are written
    """
    words = read_words(lang)
    is_over = alert.until is not None and alert.state == "alert"
    moment = "ended" if is_over else "raised"
    title, *lines = alert_sentences(alert, words, timezone=timezone)
    examples = [
        words(
            "message.noted" if own.note else "message.example", text=single_line(own.text), note=single_line(own.note)
        )
        for own in alert.examples
    ]
    return Message(
        key=f"{alert.key}-{moment}",
        monitor=monitor,
        time=(alert.until or alert.time) if is_over else alert.time,
        state="well" if is_over else alert.state,
        cause=alert.cause,
        title=words(f"message.{moment}", monitor=single_line(monitor), title=title),
        lines=[*lines, *([words("message.examples"), *examples] if examples else [])],
        data=asdict(alert),
        lang=words.code,
    )


def trial_message(monitor: str, time: datetime, *, lang: str | None = None) -> Message:
    """The message by which sinks are tried; each time another key, so that it is sent however often."""
    words = read_words(lang)
    title = words("message.trial", monitor=single_line(monitor))
    key = f"test-{time:%Y%m%dT%H%M%S%f}"
    return Message(key, monitor, time, "well", None, title, [words("message.trial_text")], {"test": True}, words.code)
