"""Judged sample: answers drawn of each window are judged, beside anchors that show whether the judge moved."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import BaseModel, ValidationError

from steelyard.base.arrays import Floats
from steelyard.base.differences import differing_rows, settings_table
from steelyard.base.errors import StageError
from steelyard.base.notes import Note
from steelyard.measures import parse
from steelyard.monitoring.alerts import Change, Example
from steelyard.monitoring.streams.desk import Desk
from steelyard.monitoring.streams.drawing import Answer, SampleTable, Window, draw, read_anchors, read_labels
from steelyard.monitoring.streams.result import StreamResult
from steelyard.rag.config import existing_path
from steelyard.stats.labels.judge_shift import AnchorShift, judge_shift
from steelyard.stats.labels.prediction_powered import corrected_mean
from steelyard.stats.samples import MeanError, mean_error, t_sf
from steelyard.traffic.logs import Logs
from steelyard.traffic.series import POINTS, Better, Series
from steelyard.traffic.windows import Windows

ANCHORS, PEOPLE = "judge:anchors", "people"
"""Series of the anchors: ANCHORS:MEASURE; and of values that labels of people correct: MEASURE:PEOPLE."""
MOVED = 0.01
"""Level at which anchors show that a judge moved whose recipe is as it was."""
ODD = 2.5
"""Errors by which windows differ from those before them, so that anchors are judged at once."""
_BEFORE = 7
"""Windows that they are compared with."""
_LEAST_LABELS, _KEPT_WINDOWS, _EXAMPLES = 10, 60, 10
_LACKING = 0.1
"""Share of answers without a value from which it is said: some answers only say that they do not know."""


class _Shifted(BaseModel):
    """By how much the judge of now values anchors above that which judged them first."""

    mean: float = 0.0
    error: float = 0.0


class _Judged(BaseModel):
    """A window that was judged, for labels that come later: measure -> value of each answer."""

    start: datetime
    end: datetime
    requests: list[str]
    users: list[str]
    values: dict[str, list[float | None]]
    shifts: dict[str, float] = {}
    is_labelled: bool = False


class _Memory(BaseModel):
    """What a look leaves for the next one.

    method         of the judge at the last look, as its recipe has it
    anchors        answers that are judged again;   first   measure -> their values by the judge that judged them first
    shifts         measure -> shift of the judge since;   n_since   windows since anchors were judged
    windows        the last ones, oldest first
    """

    method: dict[str, Any] = {}
    anchors: list[Answer] = []
    first: dict[str, list[float | None]] = {}
    shifts: dict[str, _Shifted] = {}
    n_since: int = 0
    changes: list[Change] = []
    windows: list[_Judged] = []

    @classmethod
    def of(cls, document: Mapping[str, Any] | None) -> _Memory:
        """Of a document; a damaged one is as good as none: anchors are then drawn again."""
        try:
            return cls.model_validate(document or {})
        except ValidationError:
            return cls()


def sample(
    settings: SampleTable,
    logs: Logs,
    windows: Windows,
    *,
    monitor: str,
    after: datetime | None = None,
    until: datetime | None = None,
    memory: Mapping[str, Any] | None = None,
    base: Path = Path(),
) -> StreamResult:
    """Draw answers of each window, judge them, and say first whether the judge is still the same.

    Anchors are answers that are judged again where the recipe of the judge changed, every so many windows, and at once
    where windows are unlike those before.  A judge that changed, or that moved on its anchors (at a level of 1 in 100),
    is a change of the kind "judge"; values after it are those less the shift, with its error, so that they go on with
    those before.  Values are means over answers
    with users as units.  Where people labelled ten answers of a window or more, a second series has their mean
    corrected by the labels (prediction-powered).

    after, until   windows that are judged, as of `tabulate`: those that are new in this look
    memory         what the last look left;   base   folder from which paths of the settings count
    Returns        newest windows first as far as the budget goes; windows of which nothing could be judged have no
                   value
    Raises         InputError for settings, anchors or labels that do not fit
    """
    before, desk = _Memory.of(memory), Desk.of(settings, base)
    drawn = draw(logs, windows, n=settings.n, monitor=monitor, after=after, until=until)
    look = _SampleLook(settings, before, desk, base)
    if not logs.n.get("answer") and logs.n.get("impression") and not before.windows:
        look.notes.append(Note("sample_no_answers"))
    try:
        return look.result(drawn)
    except StageError as error:
        note = Note("sample_no_judge", {"judge": settings.judge, "error": str(error)})
        return StreamResult(notes=[note], spent=desk.spent, memory=before.model_dump(mode="json"))


@dataclass(eq=False)
class _SampleLook:
    """One look, from what the last one left."""

    settings: SampleTable
    memory: _Memory
    desk: Desk
    base: Path
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)

    def result(self, drawn: Sequence[Window]) -> StreamResult:
        """Anchors first, then windows, the newest one first, then labels that came since."""
        memory = self.memory
        judged = [window for window in drawn if window.answers]
        values: dict[datetime, Floats] = {}
        if judged:
            memory.n_since += len(judged)
            self._begin()
            changed = bool(memory.method) and self.desk.method != memory.method
            if memory.anchors and (changed or memory.n_since >= self.settings.anchor_every):
                self._judge_anchors(judged, changed=changed)
            values = {window.start: self.desk.values(window.answers) for window in reversed(judged)}
            if not memory.anchors:
                self._take_anchors(judged, values)
            elif memory.n_since and self._are_odd(values):
                self._judge_anchors(judged, changed=False)
            memory.method = self.desk.method
        for window in drawn:
            self._add(window, values.get(window.start))
        self._add_labelled()
        memory.windows = memory.windows[-_KEPT_WINDOWS:]
        self._count(values)
        points = pl.DataFrame(self.rows, schema=POINTS)
        there = {*points["series"]}
        return StreamResult(
            points=points, series=[own for own in _series(self.settings) if own.name in there],
            state="well" if points["value"].count() else "few", changes=memory.changes, examples=self.examples,
            notes=self.notes, spent=self.desk.spent, memory=memory.model_dump(mode="json"),
        )  # fmt: skip

    def _begin(self) -> None:
        """Judge the anchors of a file, where they have not been."""
        memory = self.memory
        if not memory.anchors and self.settings.anchors is not None:
            memory.anchors = read_anchors(existing_path("anchors", self.settings.anchors, self.base))
            memory.first, memory.n_since = self._listed(self.desk.values(memory.anchors)), 0

    def _judge_anchors(self, judged: Sequence[Window], *, changed: bool) -> None:
        """Judge the anchors again, and name a judge that changed or moved."""
        memory, names, shifts, moved = self.memory, self.settings.names, dict[str, _Shifted](), list[str]()
        for name, values in zip(names, self.desk.values(memory.anchors), strict=True):
            away = values - np.array(memory.first[name], np.float64)
            away = away[~np.isnan(away)]
            if len(away) < 2:
                continue
            shift, p = anchor_shift(away, self._shift(name).mean)
            shifts[name] = _Shifted(mean=shift.mean, error=shift.error)
            self._row(f"{ANCHORS}:{name}", judged[-1], shift.mean, shift.error, p, len(away))
            if changed or p < MOVED / len(names):
                moved.append(f"{name} {shift.mean:+.3f} ± {shift.error:.3f}")
        memory.n_since = 0 if shifts else memory.n_since
        if changed:
            rows = differing_rows([settings_table(memory.method), settings_table(self.desk.method)]).items()
            moved = [*(f"{key} {old or '–'} → {new or '–'}" for key, (old, new) in rows), *moved]
        if moved:
            memory.shifts = memory.shifts | shifts
            memory.changes = [*memory.changes, Change("judge", judged[0].start, "; ".join(moved))][-_EXAMPLES:]
        if not shifts:
            self.notes.append(Note("sample_no_anchors", {"judge": self.settings.judge}))

    def _shift(self, name: str) -> _Shifted:
        """What is taken off a measure by now."""
        return self.memory.shifts.get(name, _Shifted())

    def _are_odd(self, values: Mapping[datetime, Floats]) -> bool:
        """Whether the windows of this look differ from those before: then the judge is asked first whether it moved."""
        for j, name in enumerate(self.settings.names):
            now = np.concatenate([own[j] for own in values.values()]) - self._shift(name).mean
            windows = [window for window in self.memory.windows[-_BEFORE:] if name in window.values]
            listed = [np.array(own.values[name], np.float64) - own.shifts.get(name, 0.0) for own in windows]
            before = np.concatenate([np.zeros(0), *listed])
            pair = [mean_error(own[~np.isnan(own)]) for own in (before, now)]
            if abs(pair[1].mean - pair[0].mean) > ODD * math.hypot(pair[0].error, pair[1].error):
                return True
        return False

    def _take_anchors(self, judged: Sequence[Window], values: Mapping[datetime, Floats]) -> None:
        """Keep the answers that were judged first, of those that have a value by every measure."""
        pairs = [
            (answer, column)
            for window in judged
            for answer, column in zip(window.answers, values[window.start].T, strict=True)
            if not np.isnan(column).any()
        ][: self.settings.n_anchors]
        self.memory.anchors = [answer for answer, _ in pairs]
        self.memory.first = self._listed(np.array([column for _, column in pairs]).reshape(len(pairs), -1).T)
        self.memory.n_since = 0

    def _listed(self, values: Floats) -> dict[str, list[float | None]]:
        rows = [[None if math.isnan(own) else own for own in row] for row in values.tolist()]
        return dict(zip(self.settings.names, rows, strict=False))

    def _add(self, window: Window, values: Floats | None) -> None:
        """The points of a window, less what the judge has shifted."""
        users = np.array([answer.user for answer in window.answers])
        for j, name in enumerate(self.settings.names):
            row = np.full(len(users), np.nan) if values is None else values[j]
            there = ~np.isnan(row)
            average, shift = mean_error(row[there], clusters=users[there]), self._shift(name)
            mean = average.mean - shift.mean if average.n > 1 else None
            self._row(name, window, mean, math.hypot(average.error, shift.error), None, average.n)
        if values is not None:
            requests = [answer.request for answer in window.answers]
            self.memory.windows.append(_Judged(
                start=window.start, end=window.end, requests=requests, users=users.tolist(),
                values=self._listed(values), shifts={name: own.mean for name, own in self.memory.shifts.items()},
            ))  # fmt: skip
            self._show_worst(window, values[0])

    def _show_worst(self, window: Window, values: Floats) -> None:
        """The worst answers of the newest window, by the first measure."""
        spec = self.settings.specs[0]
        order = np.argsort(values if spec.definition.higher_is_better else -values, kind="stable").tolist()
        worst = [q for q in order if not math.isnan(values[q])][:_EXAMPLES]
        self.examples = [
            Example(window.answers[q].request, window.answers[q].query, f"{spec} {values[q]:.4g}") for q in worst
        ]

    def _add_labelled(self) -> None:
        """Points of windows of which people labelled enough, each once."""
        if self.settings.labels is None or not any(not window.is_labelled for window in self.memory.windows):
            return
        labels = read_labels(existing_path("labels", self.settings.labels, self.base), self.settings.names)
        for window in self.memory.windows:
            for name in self.settings.names if not window.is_labelled else ():
                judged = np.array(window.values[name], np.float64)
                people = np.array([labels.get(name, {}).get(own, math.nan) for own in window.requests])
                there = ~np.isnan(judged)
                if (~np.isnan(people[there])).sum() < _LEAST_LABELS:
                    continue
                n, bounds = int(there.sum()), parse(name).definition.range
                mean = corrected_mean(
                    np.arange(n), judged[there], people[there], np.zeros(n, np.int64), n, bounds=bounds,
                    clusters=np.array(window.users)[there],
                ).corrected  # fmt: skip
                self._row(f"{name}:{PEOPLE}", window, mean.mean, mean.error, None, n)
                window.is_labelled = True

    def _row(
        self, name: str, window: Window | _Judged, value: float | None, error: float, p: float | None, n: int
    ) -> None:
        has_error = value is not None and not math.isnan(error)
        self.rows.append({
            "series": name, "segment": "", "start": window.start, "end": window.end, "value": value,
            "error": error if has_error else None, "p": p, "n": n,
        })  # fmt: skip

    def _count(self, values: Mapping[datetime, Floats]) -> None:
        """Answers that the budget had no room for, and those without a value."""
        if self.desk.skipped:
            self.notes.append(Note("sample_budget", {"n": self.desk.skipped}))
        total = sum(own.shape[1] for own in values.values())
        lacking = sum(int(np.isnan(own).any(axis=0).sum()) for own in values.values()) - self.desk.skipped
        if lacking > _LACKING * total:
            self.notes.append(Note("sample_no_value", {"n": lacking, "total": total}))


def _series(settings: SampleTable) -> Iterator[Series]:
    """Each measure, as judged and as labels correct it, and its anchors."""
    for spec in settings.specs:
        better: Better = spec.definition.direction
        yield Series(str(spec), "sample", better=better)
        yield Series(f"{spec}:{PEOPLE}", "sample", better=better)
        yield Series(f"{ANCHORS}:{spec}", "sample", better="either")


def anchor_shift(away: Floats, known: float) -> tuple[MeanError, float]:
    """By how much a judge values anchors above the one that judged them first, and p of no move since.

    away    (n,) values by the judge less those by the first one, n from 2
    known   the shift that is taken off by now
    Returns the mean with its error, which allows for shifts where anchors show none (`judge_shift`); and p, two-sided,
            by the spread of the anchors alone: 1 where nothing moved

    >>> shift, p = anchor_shift(np.repeat([-0.5, 0.0], [10, 40]), 0.0)
    >>> round(shift.mean, 3), round(shift.error, 3), p < 0.01
    (-0.1, 0.041, True)
    """
    ones, average = np.ones(len(away)), mean_error(away)
    moved = abs(average.mean - known)
    p = 1.0 if not moved else min(2 * t_sf(moved / average.error, average.df), 1.0) if average.error else 0.0
    return judge_shift(AnchorShift(away, ones, ones, ones)), p
