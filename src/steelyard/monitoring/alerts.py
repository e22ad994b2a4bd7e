"""Alerts: what changed, since when, how much, where, what else changed then, and what it probably is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from steelyard.traffic.series import Better, Stream

State = Literal["well", "warn", "alert", "few"]
"""State of a series, a stream or a monitor; few: too few data to say."""
Cause = Literal["regression", "segment", "outage", "operations", "traffic", "corpus", "judge", "holiday", "logging"]
"""What an alert is probably about.

regression  quality or behaviour is worse, over all traffic;   segment  the same of one segment alone
outage      the service did not answer;   operations  latency, cost or errors alone
traffic     what is asked changed: its mix, length or vocabulary
corpus, judge, holiday   a change that explains itself: a notice, never an alarm
logging     the logs changed: events or columns are missing
"""
NOTICES: frozenset[str] = frozenset({"corpus", "judge", "holiday"})


@dataclass(frozen=True)
class Shift:
    """A series that moved.

    before, after        its level, in its own unit, without the rhythm of days and weeks
    low, high            95% interval of the difference after - before
    since                start of the first window of the new level;  since_low, since_high   its 95% interval
    rule                 what raised it: "jump" (one window), "run" (2 of 3 windows), "cusum", "test", "paired",
                         "restart" (levels before and after a change that explains itself: no alarm)
    odds                 windows from one such false alarm to the next, for this series and its share of the budget
    """

    series: str
    segment: str
    stream: Stream
    better: Better
    before: float
    after: float
    low: float
    high: float
    since: datetime
    since_low: datetime
    since_high: datetime
    rule: str
    odds: float


@dataclass(frozen=True)
class Change:
    """Something else that changed near the time of an alert: a fingerprint in the logs, a deployment, a holiday.

    kind    "config", "corpus", "judge", "deployment", "holiday", "window without data"
    until   end of what lasts: a holiday, a roll-out over several windows; None for a moment
    """

    kind: str
    time: datetime
    text: str
    until: datetime | None = None


@dataclass(frozen=True)
class Example:
    """A request, question or document that shows an alert."""

    id: str
    text: str
    note: str = ""


@dataclass(frozen=True)
class Alert:
    """One cause, with all series that moved together.

    key        digest of the monitor, the cause and its first window: equal keys are one alert
    state      "alert", or "warn" for a notice
    cause      what it probably is
    time       end of the window in which it was raised
    shifts     series that moved, the one that explains most first
    until      end of the first window in which all were well again; None while it lasts
    """

    key: str
    state: State
    cause: Cause
    time: datetime
    shifts: Sequence[Shift]
    changes: Sequence[Change] = ()
    examples: Sequence[Example] = ()
    until: datetime | None = None

    @property
    def since(self) -> datetime:
        """Start of the first window of what happened, by the series that shows it most exactly."""
        if not self.shifts:
            return min((change.time for change in self.changes), default=self.time)
        return self.clearest.since

    @property
    def clearest(self) -> Shift:
        """The shift that shows most exactly when it began; there is none in an alert without shifts.

        Raises   ValueError without shifts
        """
        return min(self.shifts, key=lambda shift: (shift.since_high - shift.since_low, shift.since))
