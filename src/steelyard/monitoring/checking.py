"""Whether a monitor keeps its budget: quiet traffic is simulated that is like its own past, and so are losses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import ClassVar

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.result import Result
from steelyard.monitoring.detection import Watched, lay_out, memory_of
from steelyard.stats.charts import Limits
from steelyard.stats.control import Chart, Charted, chart
from steelyard.stats.seasons import Rhythm
from steelyard.traffic.windows import Windows

_ALARMS = 60
"""False alarms that are simulated if the budget is kept: their number is known to 13% then."""
_MOST_WINDOWS, _LEAST_WINDOWS = 1_500_000, 1000
_BLOCK, _TAIL, _LEAST_TAIL = 24, 0.05, 5
"""Scores that are drawn together; the share on each side beyond which a tail is fitted; and how many that takes."""
_NO_CHART = "no series has a chart yet; check the monitor when it has seen more windows"
_SOON = 3
_COPIES, _BEFORE, _AFTER = 20, 120, 60
"""Of each series with a loss, and windows before and after it."""


@dataclass(frozen=True)
class CheckedSeries:
    """A series in simulated traffic.

    per_month     false alarms a month
    sd            standard deviation of a window around what is expected, on the scale that is charted
    to_floor      windows until a loss of twice its floor is alarmed, the median; infinite for more than 60, None
                  without a floor.  A loss of just the floor is alarmed in half of the cases at most
    to_sd         the same of a loss of one standard deviation
    """

    series: str
    segment: str
    per_month: float
    sd: float
    to_floor: float | None
    to_sd: float


@dataclass(frozen=True, eq=False, repr=False)
class MonitorCheck(Result):
    """What a monitor does in quiet traffic.

    budget      false alarms a month that are allowed;   per_month, error   those that there are, and its standard error
    months      that were simulated, of all series at once
    rows        series that have a chart, those with most false alarms first;   n_few   series that have none yet
    """

    VIEW: ClassVar[str] = "views.monitor_check"

    budget: float
    per_month: float
    error: float
    months: float
    rows: Sequence[CheckedSeries]
    n_few: int
    seed: int

    @property
    def frame(self) -> pl.DataFrame:
        """One series a row, with the fields of CheckedSeries."""
        schema = {
            "series": pl.String, "segment": pl.String, "per_month": pl.Float64, "sd": pl.Float64,
            "to_floor": pl.Float64, "to_sd": pl.Float64,
        }  # fmt: skip
        return pl.DataFrame([asdict(row) for row in self.rows], schema=schema)


def check(
    points: pl.DataFrame,
    watched: Sequence[Watched],
    *,
    windows: Windows,
    per_month: float,
    excluded: Iterable[tuple[datetime, datetime]] = (),
    seed: int = 0,
) -> MonitorCheck:
    """Simulate months of quiet traffic for all series that have a chart, and losses.

    Scores of past windows are drawn in blocks; beyond their outer twentieths, from a generalised Pareto distribution
    that is fitted to each side, since a limit is further out than most pasts have a window.  They are given each
    series' spread, likeness of neighbours and errors, and are charted as its own windows are.  An effect of a test is
    as large as in the window that its score is from.

    points, watched, windows, excluded   as `detect_all` takes them;   per_month   false alarms that are allowed
    Raises   InputError where no series has a chart yet
    """
    if not watched:
        raise InputError(_NO_CHART)
    _, series, limit = lay_out(points, watched, windows=windows, excluded=excluded)
    past = chart(series, limit, memory=memory_of(windows))
    ready = np.flatnonzero(past.ready & (past.learned & np.isfinite(past.plain)).any(axis=0))
    if not len(ready):
        raise InputError(_NO_CHART)
    per_window = np.array([watched[i].budget.per_window for i in ready.tolist()])
    a_month = per_month / (len(watched) * per_window)
    t = max(round(min(_ALARMS / per_month * float(np.median(a_month)), _MOST_WINDOWS / len(ready))), _LEAST_WINDOWS)
    quiet = _Quiet(series, past, ready, np.random.default_rng(seed))
    memory, own_limits, months = memory_of(windows), [limit[i] for i in ready], t / a_month
    result = chart(quiet.series(t), own_limits, memory=memory)
    n_alarms = np.bincount([alarm.series for alarm in result.raised], minlength=len(ready))
    counts = n_alarms / months
    sd, floors = quiet.sd, _floors(series, past, ready)
    to_floor, to_sd = (_windows_to(quiet, own_limits, loss, memory) for loss in (2 * floors, sd))
    rows = [
        CheckedSeries(
            watched[i].series.name, watched[i].segment, float(counts[place]), float(sd[place]),
            None if math.isnan(floors[place]) else float(to_floor[place]), float(to_sd[place]),
        )
        for place, i in enumerate(ready.tolist())
    ]  # fmt: skip
    error = math.sqrt(float((np.maximum(n_alarms, 1 / len(ready)) / months**2).sum()))
    return MonitorCheck(
        budget=per_month, per_month=float(counts.sum()), error=error, months=float(np.median(months)),
        rows=sorted(rows, key=lambda row: -row.per_month), n_few=len(watched) - len(ready), seed=seed,
    )  # fmt: skip


class _Quiet:
    """Traffic as in the past of some series, in which nothing changes."""

    def __init__(self, series: Charted, past: Chart, ready: Ints, rng: np.random.Generator) -> None:
        self.past_series, self.ready, self.rng = series, ready, rng
        self.spread = [getattr(past.spread, name)[ready] for name in ("alike", "likeness", "own", "of_errors")]
        self.of_errors = self.spread[3]
        used = [np.flatnonzero(_usual(past, i) & np.isfinite(past.plain[:, i])) for i in ready]
        self.scores = [past.plain[rows, i] for rows, i in zip(used, ready, strict=True)]
        self.errors = [series.errors[rows, i] for rows, i in zip(used, ready, strict=True)]
        self.able = [series.able[rows, i] for rows, i in zip(used, ready, strict=True)]
        self.standard = series.standard[ready]
        own = np.where(self.standard, np.maximum(self.spread[2], 1.0), self.spread[2])
        self.spread[2] = own
        self.sd = np.sqrt(self.spread[0] + own + self.of_errors * np.array([np.median(part) for part in self.errors]))
        self.levels = np.where(series.fixed[ready] | self.standard, 0.0, past.levels[ready])

    def series(self, t: int, copies: int = 1) -> Charted:
        """(t, s) windows, or so many copies of each series side by side."""
        drawn = [self._drawn(place, t) for place in range(len(self.ready)) for _ in range(copies)]
        z, errors, able = (np.stack(part, axis=1) for part in zip(*drawn, strict=True))
        alike, likeness, own, of_errors = (np.repeat(part, copies) for part in self.spread)
        values, shared, variance = np.empty_like(z), np.zeros(z.shape[1]), alike.copy()
        for window in range(t):
            shared, variance = shared * likeness, variance * likeness**2 + alike * (1 - likeness**2)
            total = np.maximum(variance + own + of_errors * errors[window], 1e-24)
            off = z[window] * np.sqrt(total)
            values[window] = shared + off
            shared, variance = shared + variance / total * off, variance * (1 - variance / total)
        return self._charted(values + np.repeat(self.levels, copies), errors, able, copies)

    def _charted(self, values: Floats, errors: Floats, able: Bools, copies: int) -> Charted:
        past, columns = self.past_series, np.repeat(self.ready, copies)
        t, none = len(values), np.zeros(values.shape, np.bool_)
        rhythm = past.rhythm if copies == 1 else Rhythm.level(1)
        return replace(
            past, values=values, errors=errors, able=able, excluded=none, restarts=none,
            rhythm=replace(rhythm, effects=rhythm.effects[np.arange(t) % len(rhythm.effects)]),
            fixed=past.fixed[columns], standard=past.standard[columns], up=past.up[columns], down=past.down[columns],
            matters=lambda i, expected, change: past.matters(int(columns[i]), expected, change),
        )  # fmt: skip

    def _drawn(self, place: int, t: int) -> tuple[Floats, Floats, Bools]:
        """Scores of a series in blocks, with the errors and effects of their windows."""
        n = len(self.scores[place])
        starts = self.rng.integers(n, size=-(-t // _BLOCK))
        rows = ((starts[:, None] + np.arange(_BLOCK)) % n).ravel()[:t]
        return _with_tails(self.scores[place], rows, self.rng), self.errors[place][rows], self.able[place][rows]


def _usual(past: Chart, i: int) -> Bools:
    """Windows that were learned, and those of alarms that were over soon: single windows far out are a series' own."""
    alarms = past.in_alarm[:, i].astype(np.int8)
    starts, ends = (np.flatnonzero(np.diff(alarms, prepend=0, append=0) == sign) for sign in (1, -1))
    usual = past.learned[:, i].copy()
    for start, end in zip(starts, ends, strict=True):
        usual[start:end] |= end - start <= _SOON
    return usual


def _with_tails(scores: Floats, rows: Ints, rng: np.random.Generator) -> Floats:
    """Scores of these rows, of which those in the outer twentieths are drawn from tails that are fitted to them.

    Source   Hosking & Wallis, Parameter and Quantile Estimation for the Generalized Pareto Distribution, 1987: moments.
    """
    drawn = scores[rows]
    for side in (1.0, -1.0):
        limit = np.quantile(side * scores, 1 - _TAIL)
        beyond = side * scores[side * scores > limit] - limit
        if len(beyond) < _LEAST_TAIL:
            continue
        mean, variance = beyond.mean(), max(float(beyond.var(ddof=1)), 1e-12)
        shape, scale = (1 - mean**2 / variance) / 2, mean * (mean**2 / variance + 1) / 2
        places = np.flatnonzero(side * drawn > limit)
        rare = -np.log1p(-rng.random(len(places)))
        excess = scale * (np.expm1(shape * rare) / shape if abs(shape) > 1e-6 else rare)
        drawn[places] = side * (limit + excess)
    return drawn


def _floors(series: Charted, past: Chart, ready: Ints) -> Floats:
    """The least change from the level that may alarm, on the charted scale; NaN where any may, and for tests."""
    floors = np.full(len(ready), np.nan)
    for place, i in enumerate(ready.tolist()):
        level, side = float(past.levels[i]), 1.0 if series.up[i] else -1.0
        low, high = 0.0, 1.0
        if series.standard[i] or series.matters(i, level, side * 1e-12):
            continue
        while not series.matters(i, level, side * high) and high < 1e9:
            high *= 2
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if series.matters(i, level, side * middle) else (middle, high)
        floors[place] = high
    return floors


def _windows_to(quiet: _Quiet, limits: Sequence[Limits], losses: Floats, memory: int) -> Floats:
    """(s,) median windows until a loss is alarmed; infinite for more than _AFTER."""
    series = quiet.series(_BEFORE + _AFTER, _COPIES)
    side = np.where(series.up, 1.0, -1.0)
    after = (np.arange(_BEFORE + _AFTER) >= _BEFORE)[:, None]
    values = series.values + after * side * np.repeat(np.nan_to_num(losses), _COPIES)
    copied = [limit for limit in limits for _ in range(_COPIES)]
    result = chart(replace(series, values=values), copied, memory=memory)
    found = np.full(len(copied), np.inf)
    for alarm in result.raised:
        if alarm.window >= _BEFORE:
            found[alarm.series] = min(found[alarm.series], alarm.window - _BEFORE + 1)
    medians: Floats = np.quantile(found.reshape(-1, _COPIES), 0.5, axis=1, method="higher")
    return medians
