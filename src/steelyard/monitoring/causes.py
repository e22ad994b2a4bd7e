"""One alert for one cause: shifts that began together, and what they probably are about.

Shifts whose intervals of the first window overlap are one case.  The rules of `RULES` are tried on it in their order,
and each takes those shifts that it can explain; what is left goes to the next one.

| cause      | where                                                    | takes                                       |
|------------|----------------------------------------------------------|---------------------------------------------|
| outage     | a fifth of all requests fail, of traffic or of a replay  | all                                         |
| logging    | events vanish; errors, ranking and replay are as before  | feedback                                    |
| judge      | the judge changed, or moved on its anchors               | what it judged                              |
| holiday    | a holiday of the calendar began                          | what users ask and do, until it ends        |
| corpus     | the corpus fingerprint changed                           | quality, of no segment that stands out      |
| segment    | one moved, others did not or by less than a third        | all                                         |
| traffic    | most of a change is another mix of segments              | what users ask and do, and what they get    |
| traffic    | other things are asked, and replay is as before          | the same                                    |
| regression | replay, judged answers, feedback or ranking is worse     | all                                         |
| operations | latency, cost or errors are worse                        | all                                         |
| traffic    | other things are asked                                   | all                                         |
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Literal

import polars as pl

from steelyard.monitoring.alerts import NOTICES, Alert, Cause, Change, Shift, State
from steelyard.monitoring.detection import Detection
from steelyard.monitoring.examples import LOGGED
from steelyard.monitoring.mix import Explanation, Move, explain, move_of
from steelyard.traffic.series import Better, Series

Role = Literal["replay", "judged", "anchors", "feedback", "retrieval", "asking", "load", "answering"]
"""What a series is about."""
_ROLES: Sequence[tuple[str, str, Role]] = (
    ("service", "", "answering"),
    ("replay", "", "replay"),
    ("sample", "anchor", "anchors"),
    ("sample", "", "judged"),
    ("", "error", "answering"),
    ("", "query|queries|language|unseen|embedding|centroid|=|^requests$|^users$", "asking"),
    ("feedback", "", "feedback"),
    ("label_free", "", "retrieval"),
    ("operations", "", "load"),
)
"""Stream and a pattern of the name of a series, either may be empty, and its role; the first that fits decides."""
_ORDER: Sequence[Role] = ("answering", "replay", "judged", "feedback", "retrieval", "anchors", "asking", "load")
"""What an alert names first."""
_ALL = frozenset(_ORDER)
_QUALITY = frozenset[Role]({"replay", "judged", "feedback", "retrieval"})
_OF_TRAFFIC = frozenset[Role]({"asking", "feedback", "retrieval", "judged"})
_DIVISIBLE = _QUALITY | {"answering"}
"""Roles of series whose changes are divided among segments."""
_DOWN = 0.2
"""Share of all requests that fail beyond the usual, from which the service does not answer."""
_VANISHED = 0.1
"""Part of its level below which events vanished."""
_BACK, _CALM = 0.5, 3
"""Part of its change by which a series is back at its level, and the fewest windows that say so."""
_NEAR = 3
"""Windows between the likeliest first windows of what began together."""
_FEWEST_BEFORE = 20
"""Windows with data before a series can be silent."""


@dataclass(frozen=True)
class Rule:
    """When a cause explains shifts of a case, and which.

    facts          one of them is needed: a role of which a shift is worse, "down", "vanished", "segment", "mix", or
                   "change:KIND";   unless   facts of which none may be
    takes          roles of the shifts that it explains
    is_general     whether shifts of a segment that stands out are left to the rules below
    is_passing     whether it explains only what ends with the change
    at_restarts    whether it explains levels that differ before and after a restart of a chart
    """

    cause: Cause
    facts: frozenset[str]
    takes: frozenset[Role] = _ALL
    unless: frozenset[str] = frozenset()
    is_general: bool = False
    is_passing: bool = False
    at_restarts: bool = False


def _set(*names: str) -> frozenset[str]:
    return frozenset(names)


RULES: Sequence[Rule] = (
    Rule("outage", _set("down")),
    Rule("logging", _set("vanished"), frozenset[Role]({"feedback"}), unless=_set("answering", "retrieval", "replay")),
    Rule("judge", _set("change:judge", "anchors"), frozenset[Role]({"judged", "anchors"}), at_restarts=True),
    Rule("holiday", _set("change:holiday"), _OF_TRAFFIC | {"load"}, is_passing=True),
    Rule("corpus", _set("change:corpus"), _QUALITY, is_general=True, at_restarts=True),
    Rule("segment", _set("segment"), at_restarts=True),
    Rule("traffic", _set("mix"), _OF_TRAFFIC),
    Rule("traffic", _set("asking"), _OF_TRAFFIC, unless=_set("replay")),
    Rule("regression", _set(*_QUALITY)),
    Rule("operations", _set("load", "answering")),
    Rule("traffic", _set("asking")),
)
"""In the order in which they are tried."""


def alerts(
    detections: Sequence[Detection],
    changes: Sequence[Change],
    *,
    monitor: str,
    previous: Sequence[Alert] = (),
    cooldown: timedelta = timedelta(days=1),
) -> list[Alert]:
    """What the alarms of all series are about: one alert for one cause, open and ended ones, gravest and newest first.

    changes    what else changed, at any time
    monitor    its name, which enters the keys
    previous   alerts of earlier looks, of all times that the charts show.  An alert that continues one of them has its
               key, time and examples, also where it comes back within the cooldown; those that no series shows any
               more have ended
    """
    movers = [_Mover(shift, detection) for detection in detections for shift in detection.alarms]
    raised = [alert for case in _cases(movers, detections, changes) for alert in case.alerts(monitor)]
    continued = list(_continued([*raised, *_silent(detections, monitor)], previous, cooldown))
    result = [*continued, *_ended(previous, {alert.key for alert in continued}, detections)]
    return sorted(result, key=lambda alert: (alert.until is not None, alert.state != "alert", -alert.time.timestamp()))


def role_of(series: Series) -> Role:
    """What a series is about."""
    return next(
        role
        for stream, pattern, role in _ROLES
        if stream in ("", series.stream) and re.search(pattern, series.name.casefold())
    )


def _is_worse(change: float, better: Better) -> bool:
    return change != 0 and better != ("higher" if change > 0 else "lower")


@dataclass(frozen=True)
class _Mover:
    """A shift, and the series that it is of."""

    shift: Shift
    detection: Detection

    @property
    def chart(self) -> pl.DataFrame:
        return self.detection.chart

    @cached_property
    def role(self) -> Role:
        return role_of(self.detection.series)

    @property
    def is_restart(self) -> bool:
        """Whether it is no alarm, but levels before and after a change that explains itself."""
        return self.shift.rule == "restart"

    @property
    def is_worse(self) -> bool:
        """Whether it is for the worse; a test shows that something is another, whatever it is."""
        return self.detection.series.is_test or _is_worse(self.shift.after - self.shift.before, self.shift.better)

    @property
    def is_clear(self) -> bool:
        """Whether its 95% interval is without 0."""
        return self.shift.low > 0 or self.shift.high < 0

    @cached_property
    def window(self) -> timedelta:
        """Length of its windows, the middle one where they differ."""
        lengths: list[timedelta] = (self.chart["end"] - self.chart["start"]).sort().to_list()
        return lengths[len(lengths) // 2]

    @cached_property
    def earliest(self) -> datetime:
        """Its likeliest first window; that of an alarm which ended in the window before, and would have covered it."""
        before = self.chart.filter(pl.col("start") < self.shift.since).reverse()
        covered = before[1:].filter(pl.col("is_alarm").cum_min())["start"]
        return covered[-1] if len(covered) else self.shift.since

    @cached_property
    def span(self) -> tuple[datetime, datetime]:
        """When it may have begun: the interval of its first window, and a window before and after."""
        return min(self.shift.since_low, self.earliest) - self.window, self.shift.since_high + self.window

    @cached_property
    def windows(self) -> pl.DataFrame:
        """Its windows from the one that raised it: start, end, and whether the series is back at its level.

        What a stream raised by itself has no window in alarm, and lasts as long as the stream says so.
        """
        shift = self.shift
        returned = (pl.col("value") - pl.col("expected")) / ((shift.before - shift.after) or 1.0) >= _BACK
        after = self.chart.filter(pl.col("start") >= shift.since, pl.col("value").is_not_null())
        raised = after.filter(pl.col("is_alarm").cum_max())
        if self.is_restart or not len(raised):
            return after.select("start", "end", is_well=returned.fill_null(value=False) & self.is_restart)
        return raised.select("start", "end", is_well=~pl.col("is_alarm"))

    @cached_property
    def raised(self) -> tuple[datetime, datetime]:
        """Start and end of the window that raised it."""
        if not len(self.windows):
            return self.shift.since, self.shift.since + self.window
        start, end, _ = self.windows.row(0)
        return start, end

    @cached_property
    def until(self) -> datetime | None:
        """End of the first window in which it is over; None while it lasts.

        The chart says when an alarm is over; a level at which a chart was restarted, by the last three windows.
        """
        in_a_row = pl.col("is_well").cast(pl.Int8).rolling_min(_CALM if self.is_restart else 1)
        return next(iter(self.windows.filter(in_a_row == 1)["end"]), None)

    def began_with(self, other: _Mover) -> bool:
        """Whether it began together with another one that shows more exactly when."""
        reach = _NEAR * max(self.window, other.window)
        is_near = self.earliest - reach <= other.shift.since <= self.shift.since + reach
        return is_near and _overlap(self.span, other.span) and self.raised[0] >= other.shift.since

    def ends_with(self, change: Change) -> bool:
        """Whether it is over with a change, or may be; a holiday without an end is a day."""
        end = change.until or change.time + timedelta(days=1)
        part = (pl.col("value") - pl.col("expected")) / ((self.shift.after - self.shift.before) or 1.0)
        late = self.chart.filter(pl.col("start") >= end + self.window).select(part.drop_nulls()).to_series().to_numpy()
        return len(late) < _CALM or bool(late.mean() < _BACK)


@dataclass(frozen=True)
class _Case:
    """Shifts that began together, the one that shows most exactly when first.

    charts   series -> segment -> its chart, of all that is watched
    """

    movers: Sequence[_Mover]
    changes: Sequence[Change]
    charts: Mapping[str, Mapping[str, pl.DataFrame]]

    def alerts(self, monitor: str) -> Iterator[Alert]:
        """An alert for each rule that explains some of the shifts that those above it left."""
        left = [*self.movers]
        for rule in RULES:
            facts = self._facts(left)
            if rule.facts & facts and not rule.unless & facts:
                taken = [mover for mover in left if self._takes(rule, mover)]
                left = [mover for mover in left if mover not in taken]
                if taken:
                    yield self._alert(rule.cause, taken, monitor)

    def _facts(self, movers: Sequence[_Mover]) -> set[str]:
        """Facts that rules ask for, of the shifts that are left: of all traffic, where that moved."""
        worse = [mover for mover in movers if mover.is_worse and not mover.is_restart]
        whole = [mover for mover in worse if not mover.shift.segment]
        checks = {
            "down": not self.segment and any(map(_is_down, whole)),
            "vanished": any(map(_has_vanished, whole)),
            "segment": bool(self.segment),
            "mix": self.explanation.is_mix,
        }
        facts = {name for name, holds in checks.items() if holds}
        return facts | {mover.role for mover in whole or worse} | {f"change:{change.kind}" for change in self.changes}

    def _takes(self, rule: Rule, mover: _Mover) -> bool:
        """Whether a rule explains a shift."""
        if mover.role not in rule.takes or (mover.is_restart and not rule.at_restarts):
            return False
        if rule.is_general and mover.shift.segment in self._apart:
            return False
        return not rule.is_passing or any(
            mover.ends_with(change) for change in self.changes if change.kind == rule.cause
        )

    @cached_property
    def explanation(self) -> Explanation:
        """What the change of the series that moved most clearly consists of."""
        since, stop = self.movers[0].shift.since, max(mover.raised[1] for mover in self.movers)
        series = {mover.detection.series.name: mover.detection.series for mover in self.movers}
        moves = {
            name: self._moves(name, since, stop)
            for name, own in series.items()
            if role_of(own) in _DIVISIBLE and not own.is_test and len(self.charts[name]) > 1
        }
        if not moves:
            return Explanation()
        name = max(moves, key=lambda name: max((move.clearness for move in moves[name].values()), default=0.0))
        explanation = explain(moves[name], sum(map(len, moves.values())))
        is_worse = explanation.is_mix or _is_worse(explanation.change, series[name].better)
        return explanation if is_worse else Explanation()

    def _moves(self, name: str, since: datetime, stop: datetime) -> dict[str, Move]:
        restarts = {
            mover.shift.segment: mover.shift
            for mover in self.movers
            if mover.is_restart and mover.detection.series.name == name
        }
        moves = {
            segment: move_of(chart, since, stop, restarts.get(segment)) for segment, chart in self.charts[name].items()
        }
        return {segment: move for segment, move in moves.items() if move is not None}

    @cached_property
    def segment(self) -> str:
        """The segment that stands out, or the only one that moved; "" for none."""
        if self.explanation.segment or self.explanation.is_mix:
            return self.explanation.segment
        segments = {mover.shift.segment for mover in self.movers if mover.is_worse and not mover.is_restart}
        return segments.pop() if len(segments) == 1 else ""

    @property
    def _apart(self) -> set[str]:
        """Segments that a change of all traffic does not explain: one that stands out, and all where it is alone."""
        named, is_alone = self.explanation.segment, self.explanation.is_alone
        return {named} - {""} | ({""} if named and is_alone else set())

    def _alert(self, cause: Cause, movers: Sequence[_Mover], monitor: str) -> Alert:
        """An alert of shifts, the one that explains most first."""
        first = min(movers, key=lambda mover: (mover.raised[1], mover.shift.series, mover.shift.segment))
        state: State = "warn" if cause in NOTICES else "alert"
        at_once = state == "warn" and all(mover.is_restart for mover in movers)
        ends = [first.raised[1]] if at_once else [mover.until for mover in movers if mover.until is not None]
        shifts = [mover.shift for mover in sorted(movers, key=self._order)]
        return Alert(
            key=_key(monitor, cause, first.raised[0], first.shift.series, first.shift.segment),
            state=state,
            cause=cause,
            time=first.raised[1],
            shifts=shifts,
            changes=self.changes,
            until=max(ends) if at_once or len(ends) == len(movers) else None,
        )

    def _order(self, mover: _Mover) -> tuple[bool, bool, int, float]:
        """What explains most comes first: of the segment that is named, worse, by its role, by how clear it is."""
        shift = mover.shift
        clear = abs(shift.after - shift.before) / max(shift.high - shift.low, 1e-12)
        return shift.segment != self.segment, not mover.is_worse, _ORDER.index(mover.role), -clear


def _is_down(mover: _Mover) -> bool:
    return mover.role == "answering" and abs(mover.shift.after - mover.shift.before) >= _DOWN


def _has_vanished(mover: _Mover) -> bool:
    shift = mover.shift
    return mover.role == "feedback" and shift.better != "lower" and 0 <= shift.after <= _VANISHED * shift.before


def _key(*parts: str | datetime) -> str:
    text = json.dumps([part if isinstance(part, str) else part.astimezone(UTC).isoformat() for part in parts])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _cases(movers: Sequence[_Mover], detections: Sequence[Detection], changes: Sequence[Change]) -> Iterator[_Case]:
    """Shifts that began together: those of the narrowest interval first, and all others by the nearest of these."""
    charts: dict[str, dict[str, pl.DataFrame]] = {}
    for detection in detections:
        charts.setdefault(detection.series.name, {})[detection.segment] = detection.chart
    groups: list[list[_Mover]] = []
    for mover in sorted(movers, key=lambda mover: (mover.span[1] - mover.span[0], mover.shift.since)):
        near = [group for group in groups if mover.began_with(group[0])]
        if near:
            min(near, key=lambda group: abs(group[0].shift.since - mover.shift.since)).append(mover)
        else:
            groups.append([mover])
    for group in groups:
        beside = [change for change in changes if _overlap(group[0].span, (change.time, change.until or change.time))]
        is_explained = any(change.kind in NOTICES for change in beside)
        own = [mover for mover in group if not mover.is_restart or (is_explained and mover.is_clear)]
        if own:
            yield _Case(own, sorted(beside, key=lambda change: change.time), charts)


def _overlap(first: tuple[datetime, datetime], second: tuple[datetime, datetime]) -> bool:
    return first[0] <= second[1] and second[0] <= first[1]


def _silent(detections: Sequence[Detection], monitor: str) -> list[Alert]:
    """Series that have no data any more while others have: one alert for those that fell silent in one window."""
    logged = [own for own in detections if not own.segment and own.series.stream in LOGGED]
    last = max((end for own in logged if (end := _last_value(own.chart)) is not None), default=None)
    starts: dict[datetime, list[tuple[str, datetime]]] = {}
    for detection in logged:
        gap = _gap(detection.chart)
        if gap is not None and last is not None and last >= gap[1]:
            starts.setdefault(gap[0], []).append((detection.series.name, gap[1]))
    return [
        Alert(
            key=_key(monitor, "logging", start, min(silent)[0], ""),
            state="alert",
            cause="logging",
            time=max(raised for _, raised in silent),
            shifts=[],
            changes=[Change("window without data", start, name) for name, _ in sorted(silent)],
        )
        for start, silent in starts.items()
    ]


def _last_value(chart: pl.DataFrame) -> datetime | None:
    """End of the last window with a value."""
    return next(iter(chart.filter(pl.col("value").is_not_null())["end"].tail(1)), None)


def _gap(chart: pl.DataFrame) -> tuple[datetime, datetime] | None:
    """Start of the windows without data at the end, where they are more than chance explains, and when that was clear.

    At least two, and more than twice as many as there were ever in a row.
    """
    runs = chart.select(run=pl.col("value").is_null().rle())["run"].struct.unnest().rows()
    if len(runs) < 2 or not runs[-1][1] or chart["value"].count() < _FEWEST_BEFORE:
        return None
    before = max((length for length, is_empty in runs[:-1] if is_empty), default=0)
    length, needed = runs[-1][0], 2 * before + 2
    return (chart["start"][-length], chart["end"][needed - length - 1]) if length >= needed else None


def _spans(alert: Alert) -> dict[tuple[str, str], tuple[datetime, datetime]]:
    """Series and segments that an alert is about, and when each may have begun."""
    if not alert.shifts:
        return {(change.text, ""): (change.time, change.time) for change in alert.changes}
    return {(shift.series, shift.segment): (shift.since_low, shift.since_high) for shift in alert.shifts}


def _continued(raised: Sequence[Alert], previous: Sequence[Alert], cooldown: timedelta) -> Iterator[Alert]:
    """Alerts, with key, time and examples of the earlier one that they continue, which continues in one alone."""
    open_keys = {alert.key for alert in previous}
    for alert in sorted(raised, key=lambda alert: (alert.key not in open_keys, alert.time)):
        like = [before for before in previous if before.key in open_keys and _continues(alert, before, cooldown)]
        if like:
            before = max(
                like, key=lambda before: (before.key == alert.key, len(_spans(alert).keys() & _spans(before).keys()))
            )
            open_keys.discard(before.key)
            alert = replace(alert, key=before.key, time=before.time, examples=before.examples)
        yield alert


def _continues(alert: Alert, before: Alert, cooldown: timedelta) -> bool:
    """Whether an alert is an earlier one that was seen before.

    One of its series began at the same time; or it shares a series and the cause, and began before the cooldown ended.
    A notice does not continue as an alarm: what it did not explain after all is to be raised.
    """
    if alert.key == before.key:
        return True
    own, old = _spans(alert), _spans(before)
    both = own.keys() & old.keys()
    if not both or (before.state == "warn") > (alert.state == "warn"):
        return False
    together = bool(alert.shifts) == bool(before.shifts) and any(_overlap(own[name], old[name]) for name in both)
    recent = alert.cause == before.cause and before.since <= alert.since <= (before.until or before.time) + cooldown
    return together or recent


def _ended(previous: Sequence[Alert], keys: Container[str], detections: Sequence[Detection]) -> Iterator[Alert]:
    """Open alerts that no series shows any more although they are watched: they end with the newest window."""
    ends = {(own.series.name, own.segment): own.chart["end"][-1] for own in detections if len(own.chart)}
    for alert in previous:
        names = _spans(alert).keys()
        if alert.until is None and alert.key not in keys and names and names <= ends.keys():
            yield replace(alert, until=max(ends[name] for name in names))
