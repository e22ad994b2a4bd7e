"""One look of a monitor, from start to end: what the streams give, what the charts say, and what is recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from steelyard.base.errors import InputError, OutputError, quoted
from steelyard.monitoring.alerts import Alert, Change, Example, State
from steelyard.monitoring.budget import MONTH, Budget, windows_per_month
from steelyard.monitoring.causes import alerts
from steelyard.monitoring.checking import MonitorCheck, check
from steelyard.monitoring.config import MonitorConfig
from steelyard.monitoring.detection import CHART, Detection, Watched, detect_all
from steelyard.monitoring.examples import LOGGED, MOST, examples_of
from steelyard.monitoring.looking import Look
from steelyard.monitoring.memory import Memory, Overtaken, Remembered
from steelyard.monitoring.outbox import Outbox, rows_of
from steelyard.monitoring.sinks.declared import lacks, write_files
from steelyard.monitoring.sinks.message import Message
from steelyard.monitoring.states import GRAVITY, few_users, looked_later, state_of, states_of, unknown_segments
from steelyard.monitoring.streams.replay import replay
from steelyard.monitoring.streams.result import StreamResult
from steelyard.monitoring.streams.sample import sample
from steelyard.monitoring.traffic import DAY, TrafficLook, logs_of, watch_logs
from steelyard.store.store import Store
from steelyard.traffic.drift import UNSEEN
from steelyard.traffic.logs import Trouble
from steelyard.traffic.series import POINTS, Series, Stream

Announce = Callable[[Alert, Look], Message]
_TRIES = 3
"""Looks that another monitor of the same name may overtake, one after the other."""
_PAST = timedelta(hours=1)
"""Time before now from which a look is one at the past."""
_DIRECT: frozenset[Stream] = frozenset({"replay", "service"})
"""Streams that test by themselves: their points are shown, and not charted a second time."""
_RESTARTED: Mapping[str, frozenset[str]] = {
    "corpus": frozenset({"feedback", "label_free", "sample", "tokens_in", "tokens_out"}),
    "judge": frozenset({"sample"}),
}
"""Kind of change -> streams, and series of other ones, whose level is learned again after it."""
_BEFORE = timedelta(days=14)
"""Time before an alert that its examples are compared with."""
_LOGS = "logs"
"""What an alert names of which no record came any more."""
_SERIES, _CHANGES, _LEVELS = "series", "changes", "levels"
"""Documents of the memory: series and changes that were seen, and levels that were accepted."""


def monitor(
    config: str | Path | Mapping[str, Any] | MonitorConfig,
    *,
    now: datetime | None = None,
    announce: Announce | None = None,
) -> Look:
    """Look at a running system once, and remember it in the store.

    Logs are read from where the last look ended.  Alerts are recorded together with the messages that announce them,
    whole or not at all; `deliver` sends these.

    config     monitor.toml, or a dict of the same shape
    now        the moment of the look; by default the clock's
    announce   the message of an alert; by default that of the catalogues, in the language of the configuration
    Raises     InputError for a configuration or logs that do not fit; OutputError where the store cannot be written
    """
    settings = config_of(config)
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    for _ in range(_TRIES):
        try:
            return _Looking(settings, moment, announce or partial(_announcement, lang=settings.lang)).recorded()
        except Overtaken:
            continue
    raise OutputError(f"{settings.name}: other monitors of this name keep overtaking this one; let one look at a time")


def check_budget(config: str | Path | Mapping[str, Any] | MonitorConfig, *, seed: int = 0) -> MonitorCheck:
    """Simulate quiet traffic like that of the windows that are remembered, and losses; nothing is read or recorded.

    Series that test by themselves, those of a replay and of drift, are not in it, nor is their share of the budget.
    Raises   InputError for a configuration that does not fit, and where no series has a chart yet
    """
    settings = config_of(config).model_copy(update={"logs": [], "replay": None, "sample": None})
    past = _Looking(settings, datetime.now(UTC), partial(_announcement, lang=settings.lang))
    charted = [own for own in past.charted if not _is_daily(own.series)]
    share = len(charted) / max(len(past.pairs), 1)
    return check(
        past.points, charted, windows=settings.windows, per_month=settings.false_alarms * share,
        excluded=past.excluded, seed=seed,
    )  # fmt: skip


def config_of(config: str | Path | Mapping[str, Any] | MonitorConfig) -> MonitorConfig:
    """The configuration of a monitor.

    Raises   InputError for one that does not fit.
    """
    if isinstance(config, MonitorConfig):
        return config
    return MonitorConfig.of(config) if isinstance(config, Mapping) else MonitorConfig.read(config)


def accept_level(config: str | Path | Mapping[str, Any] | MonitorConfig, key: str, *, why: str = "") -> Alert:
    """Take the level of an alert as the usual one of its series, from its beginning on; the next look closes it.

    key      of the alert, or a unique beginning of it
    Raises   InputError where no alert has it, or several do
    """
    settings = config_of(config)
    memory = Memory(settings.store.url, settings.name)
    for _ in range(_TRIES):
        before = memory.load()
        named = [alert for alert in before.alerts if alert.key.startswith(key)]
        if len(named) != 1 or not key:
            listed = ", ".join(alert.key for alert in before.alerts[-5:]) or "none"
            raise InputError(f"{len(named)} alerts begin with {quoted(key)}; the last ones are {listed}")
        level = {"since": named[0].since.isoformat(), "why": why,
                 "series": [[shift.series, shift.segment] for shift in named[0].shifts]}  # fmt: skip
        documents = {_LEVELS: [*before.documents.get(_LEVELS, []), level]}
        try:
            memory.record(before, points=POINTS.to_frame(), documents=documents, alerts=[])
        except Overtaken:
            continue
        return named[0]
    raise OutputError(f"{settings.name}: monitors of this name keep overtaking this command; try again")


def _announcement(alert: Alert, look: Look, *, lang: str | None) -> Message:
    """The message of an alert in the words of the catalogues, which only what is sent needs."""
    texts = import_module("steelyard.reports.views.messages")
    message: Message = texts.alert_message(alert, monitor=look.monitor, lang=lang, timezone=look.timezone)
    return message


@dataclass(frozen=True, eq=False)
class _Looking:
    """A look under way: what was remembered before it, and what the streams give."""

    settings: MonitorConfig
    now: datetime
    announce: Announce

    @cached_property
    def memory(self) -> Memory:
        return Memory(self.settings.store.url, self.settings.name)

    @cached_property
    def before(self) -> Remembered:
        return self.memory.load()

    def recorded(self) -> Look:
        """The look, once it is recorded.

        Raises   Overtaken where another look was faster.
        """
        own = self.settings
        by_series = alerts(self.detections, self.changes, monitor=own.name, previous=self.before.alerts)
        raised = [*(self._with_examples(alert) for alert in by_series), *self._log_end()]
        look = self._look(raised)
        self.memory.record(
            self.before,
            points=pl.concat([result.points for result in self.results.values()]),
            documents=self._documents(),
            alerts=raised,
            deliveries=rows_of(self._messages(look), own.sink, self.now),
        )
        return look

    # What the streams give

    @cached_property
    def traffic(self) -> TrafficLook | None:
        """What logs say; None without logs."""
        if not self.settings.logs:
            return None
        documents = self.before.documents
        changes = [_change_of(row) for row in documents.get(_CHANGES, [])]
        replaced = [change.until or change.time for change in changes if change.kind == "corpus"]
        accepted = [
            datetime.fromisoformat(level["since"]) for level in documents.get(_LEVELS, [])
            if any((series := self.remembered.get(name)) and series.is_test for name, _ in level["series"])
        ]  # fmt: skip
        return watch_logs(self.settings, documents.get("logs"), self.now, restarts=[*replaced, *accepted])

    @cached_property
    def results(self) -> Mapping[str, StreamResult]:
        """By the name of the document that each stream leaves in the memory."""
        results = dict[str, StreamResult]()
        own = self.settings
        if self.traffic is not None:
            results["logs"] = self.traffic.result
        if own.replay is not None:
            results["replay"] = replay(
                own.replay, Store(own.store.url), monitor=own.name, now=self.now,
                share=self._share(own.replay.period), memory=self.before.documents.get("replay"), base=own.base,
            )  # fmt: skip
        if own.sample is not None and self.traffic is not None and self.traffic.until is not None:
            results["sample"] = sample(
                own.sample, self.traffic.logs, own.windows, monitor=own.name, after=self.traffic.after,
                until=self.traffic.until, memory=self.before.documents.get("sample"), base=own.base,
            )  # fmt: skip
        return results

    def _share(self, period: timedelta) -> float:
        """False alarms that are allowed at one look of a replay: its series' share of those of a month."""
        n_own = len({row for row in self._watched_before if row[0] == "replay"}) or 1
        n = max(len(self._watched_before), n_own)
        return min(self.settings.false_alarms * n_own / n * (period / MONTH), 0.5)

    @cached_property
    def _watched_before(self) -> set[tuple[str, str, str]]:
        """Stream, series and segment of all points so far."""
        points = [self.before.points, *([] if self.traffic is None else [self.traffic.result.points])]
        pairs = pl.concat(points).select("series", "segment").unique()
        return {(self.series[name].stream, name, segment) for name, segment in pairs.iter_rows() if name in self.series}

    @cached_property
    def points(self) -> pl.DataFrame:
        """All points: those that were remembered, and new ones."""
        frames = [self.before.points, *(result.points for result in self.results.values())]
        return pl.concat(frames).unique(["series", "segment", "start"], keep="first", maintain_order=True)

    @cached_property
    def series(self) -> Mapping[str, Series]:
        """By name: those of earlier looks too, whose points are remembered."""
        logged = [] if self.traffic is None else self.traffic.result.series
        return {**self.remembered, **{series.name: series for series in logged}}

    @cached_property
    def remembered(self) -> Mapping[str, Series]:
        """Those of earlier looks, by name."""
        return {row["name"]: Series(**row) for row in self.before.documents.get(_SERIES, [])}

    @cached_property
    def all_series(self) -> Mapping[str, Series]:
        """The same with those of all streams."""
        return {**self.series, **{own.name: own for result in self.results.values() for own in result.series}}

    @cached_property
    def changes(self) -> list[Change]:
        """What else changed, oldest first; a roll-out that went on has its later end."""
        remembered = [_change_of(row) for row in self.before.documents.get(_CHANGES, [])]
        seen = [change for result in self.results.values() for change in result.changes]
        changes = {(change.kind, change.time, change.text): change for change in [*remembered, *seen]}
        return sorted([*changes.values(), *self.settings.changes()], key=lambda change: change.time)

    # What they say

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Names and segments of all series."""
        order = {name: place for place, name in enumerate(self.all_series)}
        rows = self.points.select("series", "segment").unique().iter_rows()
        return sorted((row for row in rows if row[0] in order), key=lambda row: (order[row[0]], row[1]))

    @cached_property
    def charted(self) -> list[Watched]:
        """Series with a chart, and their shares of the budget."""
        n_series = len(self.pairs)
        return [
            Watched(series, segment, self._budget(n_series, series), self._restarts(series, segment))
            for name, segment in self.pairs if (series := self.all_series[name]).stream not in _DIRECT
        ]  # fmt: skip

    @cached_property
    def excluded(self) -> list[tuple[datetime, datetime]]:
        """Holidays."""
        return [(change.time, change.until) for change in self.changes if change.kind == "holiday" and change.until]

    @cached_property
    def detections(self) -> list[Detection]:
        """Every series and segment that is watched."""
        own, days = self.settings.windows, replace(self.settings.windows, every=DAY)
        by_day = {is_daily: [watched for watched in self.charted if _is_daily(watched.series) == is_daily]
                  for is_daily in (False, True)}  # fmt: skip
        detections = [
            detection for is_daily, watched in by_day.items()
            for detection in detect_all(
                self.points, watched, windows=days if is_daily and self._is_short else own, excluded=self.excluded
            )
        ]  # fmt: skip
        direct = [
            (self.all_series[name], segment) for name, segment in self.pairs if self.all_series[name].stream in _DIRECT
        ]
        return [*(self._direct(series, segment) for series, segment in direct), *detections]

    @property
    def _is_short(self) -> bool:
        """Whether windows are of time, and shorter than a day."""
        every = self.settings.windows.every
        return isinstance(every, timedelta) and every < DAY

    def _budget(self, n_series: int, series: Series) -> Budget:
        """The share of one series, of which drifts have a window a day at most."""
        every = self.settings.windows.every
        if isinstance(every, timedelta):
            n_windows = windows_per_month(max(every, DAY) if _is_daily(series) else every)
        else:
            n_windows = self._rate_of_counts
        return Budget.shared(self.settings.false_alarms, max(n_series, 1), n_windows)

    @cached_property
    def _rate_of_counts(self) -> float:
        """Windows a month, where each has so many requests."""
        own = self.points.filter(pl.col("segment") == "").group_by("series")
        spans = own.agg(pl.len(), (pl.col("end").max() - pl.col("start").min()).alias("span"))
        return max((n * (MONTH / span) for _, n, span in spans.iter_rows() if span), default=1.0)

    def _restarts(self, series: Series, segment: str) -> list[datetime]:
        """Times from which on a series has another level."""
        by_change = [
            moment for change in self._once if {series.stream, series.name} & _RESTARTED.get(change.kind, frozenset())
            for moment in (change.time, change.until) if moment is not None
        ]  # fmt: skip
        accepted = [
            datetime.fromisoformat(level["since"]) for level in self.before.documents.get(_LEVELS, [])
            if [series.name, segment] in level["series"]
        ]  # fmt: skip
        return sorted({*by_change, *accepted})

    @cached_property
    def _once(self) -> list[Change]:
        """Changes of which each is there once: logs and a replay see one within a window, or a replay, of the other."""
        own, once = self.settings, dict[str, list[Change]]()
        spans = [own.windows.every, own.replay.period if own.replay else timedelta()]
        reach = max(span for span in spans if isinstance(span, timedelta))
        for change in self.changes:
            of_kind = once.setdefault(change.kind, [])
            if not of_kind or change.until is not None or change.time - of_kind[-1].time >= reach:
                of_kind.append(change)
        return [change for of_kind in once.values() for change in of_kind]

    def _direct(self, series: Series, segment: str) -> Detection:
        """A series of a stream that tests by itself: its points, and the shifts that the stream raised."""
        name = pl.col("series") == series.name
        points = self.points.filter(name, pl.col("segment") == segment).sort("start")
        empty = {key: pl.lit(None, dtype) for key, dtype in CHART.items() if key not in points.columns}
        chart = points.with_columns(**empty).with_columns(is_reference=False, is_alarm=False)
        own = [(result.state, shift) for result in self.results.values() for shift in result.shifts]
        shifts = [shift for _, shift in own if (shift.series, shift.segment) == (series.name, segment)]
        states = [
            result.state for result in self.results.values() if series.name in {own.name for own in result.series}
        ]
        state: State = "alert" if shifts else next(iter(states), "well")
        return Detection(
            series, segment, "well" if state == "alert" and not shifts else state, chart.select(*CHART), shifts
        )

    def _log_end(self) -> list[Alert]:
        """The alert that the log ended, while it lasts and where it ends.

        A log of the past, which no look saw grow, has an end that is none of the service's.
        """
        if self.traffic is None or self.traffic.last is None:
            return []
        last, patience = self.traffic.last, self._patience
        silent = [alert for alert in self.before.alerts if alert.until is None and alert.cause == "logging"
                  and [change.text for change in alert.changes] == [_LOGS]]  # fmt: skip
        if self.now - last <= patience:
            return [replace(alert, until=last) for alert in silent]
        if silent or not self.before.documents.get("logs", {}).get("grows"):
            return silent
        key = hashlib.sha256(f"{self.settings.name} {last.isoformat()}".encode()).hexdigest()[:32]
        return [Alert(key, "alert", "logging", self.now, [], [Change("window without data", last, _LOGS)])]

    @property
    def _patience(self) -> timedelta:
        """Time without any request that is not unusual: two windows more than twice the longest one so far."""
        logged = [name for name, series in self.all_series.items() if series.stream in LOGGED]
        busy = self.points.filter(pl.col("series").is_in(logged), pl.col("n") > 0)
        gap = busy.select("start", "end").unique().sort("start").select((pl.col("start") - pl.col("end").shift()).max())
        every = self.settings.windows.every
        window = every if isinstance(every, timedelta) else timedelta(hours=1)
        return self.settings.lateness + 2 * (window + (gap.item() or timedelta(0)))

    def _with_examples(self, alert: Alert) -> Alert:
        """The alert with what shows it, where it is new; one of earlier looks has its examples."""
        if alert.examples or alert.until is not None or alert.key in {before.key for before in self.before.alerts}:
            return alert
        streams = {shift.stream for shift in alert.shifts}
        own = [self.results[name].examples for name in ("replay", "sample") if name in streams & {*self.results}]
        return replace(alert, examples=[*chain(*own), *self._from_logs(alert)][:MOST])

    def _from_logs(self, alert: Alert) -> list[Example]:
        """Examples of the windows of an alert and of those before, which are read again for it."""
        if self.traffic is None or {shift.stream for shift in alert.shifts} <= _DIRECT:
            return []
        logs = logs_of(self.settings, self.now)
        return examples_of(alert, logs.between(alert.since - _BEFORE, alert.time))

    # What is shown, kept and sent

    def _look(self, raised: Sequence[Alert]) -> Look:
        before = {alert.key: alert for alert in self.before.alerts}
        now = [alert for alert in raised if alert.until is None or before.get(alert.key) != alert]
        shown = {alert.key for alert in now}
        past = {**before, **{alert.key: alert for alert in raised}}
        streams = states_of(self.detections, now)
        blind = list(few_users(self.detections, streams, self.points, self.settings.windows))
        return Look(
            monitor=self.settings.name,
            time=self.points["end"].max() if len(self.points) else None,  # type: ignore[arg-type]
            state=state_of(streams, blind),
            streams=streams,
            detections=sorted(self.detections, key=lambda own: GRAVITY.index(own.state)),
            alerts=now,
            past=sorted((own for key, own in past.items() if key not in shown), key=lambda own: own.time, reverse=True),
            changes=self.changes,
            troubles=self._troubles(),
            budget=self.settings.false_alarms,
            n_series=len(self.detections),
            notes=[
                *looked_later(self.before.points, self.now),
                *blind,
                *([] if self.traffic is None else unknown_segments(self.settings.segments, self.points)),
                *chain(*(result.notes for result in self.results.values())),
            ],
            timezone=self.settings.timezone,
        )

    def _troubles(self) -> list[Trouble]:
        """Troubles of the logs; to a look at the past, records behind it are none."""
        is_past = datetime.now(UTC) - self.now > _PAST
        logs = [] if self.traffic is None else self.traffic.logs.troubles
        return [trouble for trouble in logs if not (is_past and trouble.kind == "future")]

    def _documents(self) -> dict[str, Any]:
        changes = [change for change in self.changes if change not in self.settings.changes()]
        memories = {name: dict(result.memory) for name, result in self.results.items()}
        if self.traffic is not None and self.traffic.last is not None:
            memories["logs"]["grows"] = self.now - self.traffic.last <= self._patience
        return {
            **memories,
            _SERIES: [asdict(series) for series in self.all_series.values()],
            _CHANGES: [_change_row(change) for change in changes],
        }

    def _messages(self, look: Look) -> Iterator[Message]:
        """Of alerts that are new and last, and of those that ended since they were announced.

        A notice is over at once; it is announced unless it is of the past that a first look reads.
        """
        before = {alert.key: alert for alert in self.before.alerts}
        for alert in look.alerts:
            earlier = before.get(alert.key)
            is_news = alert.until is None or (alert.state == "warn" and self.before.n_looks > 0)
            has_ended = earlier is not None and earlier.until is None and alert.until is not None
            if has_ended or (earlier is None and is_news):
                yield self.announce(alert, look)


def _is_daily(series: Series) -> bool:
    """Whether it compares days, however short the windows of the others are."""
    return series.is_test or series.name == UNSEEN


def _change_row(change: Change) -> dict[str, Any]:
    until = None if change.until is None else change.until.isoformat()
    return {**asdict(change), "time": change.time.isoformat(), "until": until}


def _change_of(row: Mapping[str, Any]) -> Change:
    until = row["until"]
    moments = {"time": datetime.fromisoformat(row["time"]), "until": until and datetime.fromisoformat(until)}
    return Change(**{**row, **moments})


def deliver(config: str | Path | Mapping[str, Any] | MonitorConfig, look: Look) -> list[str]:
    """Send the messages that are due, those of earlier looks too, and write the files that show a look.

    Whatever a sink does, this ends within seconds: what was not taken is kept in the store and sent with a later look.
    Returns   what did not arrive, and why, a line each
    Raises    OutputError where the store cannot be written
    """
    settings = config_of(config)
    if not settings.sink:
        return []
    report = look.text("markdown") if any(sink.type == "markdown" for sink in settings.sink) else ""
    outcomes = write_files(settings.sink, look, report=report, now=datetime.now(UTC))
    deliveries = Outbox(Memory(settings.store.url, settings.name).database, settings.name).deliver(settings.sink)
    failures = [(outcome.sink, outcome.error) for outcome in outcomes]
    failures += [(delivery.sink, delivery.error) for delivery in deliveries]
    failures += [(sink.label, why) for sink, why in lacks(settings.sink) if sink.label not in dict(failures)]
    return [error if error.startswith(sink) else f"{sink}: {error}" for sink, error in failures if error]
