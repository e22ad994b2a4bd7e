"""What a series of one segment says: its level and rhythm, its limits, and the windows that break them.

Level, rhythm of hours and weekdays, spread and likeness of neighbours are learned from past windows in which nothing
was alarmed.  A window alarms by a jump, with one of the two before it (2 of 3), or by the sum of small deviations
(CUSUM), at limits that follow from the budget of false alarms; an alarm lasts until the series is back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.extras import require
from steelyard.base.notes import Note
from steelyard.monitoring.alerts import Shift, State
from steelyard.monitoring.budget import Budget
from steelyard.stats.charts import Limits, limits
from steelyard.stats.control import Chart, Charted, Raised, chart
from steelyard.stats.numerics import t_quantile
from steelyard.stats.seasons import LEAST_WINDOWS, Rhythm
from steelyard.traffic.schema import TIME
from steelyard.traffic.series import Scale, Series
from steelyard.traffic.windows import Windows

_WEEK, _DAY = timedelta(days=7), timedelta(days=1)
_MEMORY = {"hours": timedelta(days=28), "days": timedelta(days=90)}
_MEMORY_OF_COUNTS, _MEMORY_OF_WEEKS = 250, 26
"""Windows after which one counts a third of a new one: four weeks of hours, three months of days."""
_WORSE = {"higher": -1.0, "lower": 1.0}
_NEAR = 0.7
"""Share of the limit of sums from which on a series is to be looked at."""
_MOST_SCORE, _N_ANGLES = 8.0, 4001
_FEWEST_EVENTS = 2.5
_SMALL = 0.01
"""Values that are so small a share of a usual one count as hardly above 0, on the scale "positive"."""

CHART = pl.Schema(
    {
        "start": TIME, "end": TIME, "value": pl.Float64, "error": pl.Float64, "n": pl.Int64, "expected": pl.Float64,
        "low": pl.Float64, "high": pl.Float64, "z": pl.Float64, "cusum": pl.Float64, "is_reference": pl.Boolean,
        "is_alarm": pl.Boolean,
    }
)  # fmt: skip
"""One window a row, in the order of time.

expected    level and rhythm at this window, from windows before it;   low, high   limits of one window around it
z           (value - expected) in standard deviations between windows, after neighbours' likeness is taken out
cusum       the larger of both sums, or that of the bad direction
is_reference   whether the window taught the chart what is usual; is_alarm   whether a rule was broken in it
"""


@dataclass(frozen=True, eq=False)
class Detection:
    """A series of one segment, watched.

    state    of its newest window
    chart    schema CHART
    alarms   shifts that were raised, oldest first: those over by now among them
    note     why there is no chart yet, such as Note("monitor_few_windows", {"n": 14, "least": 20}), or what weakens it;
             the catalogues have a text for each code
    cusum_limit   the sum at which the chart alarms; None without sums
    """

    series: Series
    segment: str
    state: State
    chart: pl.DataFrame
    alarms: Sequence[Shift] = ()
    note: Note | None = None
    cusum_limit: float | None = None


@dataclass(frozen=True)
class Watched:
    """One series of one segment, and what is to be known to watch it.

    budget     its share of the false alarms
    restarts   times from which on its level is another one, as after a corpus update, an update of the judge, or a
               change that the user accepted: it is learned again from there on, while spread, rhythm and likeness of
               neighbours stay, so that the chart is blind for a few windows alone
    """

    series: Series
    segment: str
    budget: Budget
    restarts: Sequence[datetime] = ()


def detect(
    points: pl.DataFrame,
    series: Series,
    budget: Budget,
    *,
    windows: Windows,
    restarts: Sequence[datetime] = (),
    excluded: Iterable[tuple[datetime, datetime]] = (),
) -> Detection:
    """One series of one segment, watched: `detect_all` of it alone.

    points   schema POINTS, of this series and one segment
    """
    segment = points["segment"][0] if len(points) else ""
    own = points.with_columns(pl.lit(series.name).alias("series"), pl.lit(segment).alias("segment"))
    (detection,) = detect_all(own, [Watched(series, segment, budget, restarts)], windows=windows, excluded=excluded)
    return detection


def detect_all(
    points: pl.DataFrame,
    watched: Sequence[Watched],
    *,
    windows: Windows,
    excluded: Iterable[tuple[datetime, datetime]] = (),
) -> list[Detection]:
    """Series, watched: what is said of a window depends on it and on windows before it alone.

    A series of differences from a baseline (stream "replay") has the level 0, and is watched from its first window on
    where its error is known; so is a test, from its p.  Others have a chart from 20 windows on.  At a restart, a shift
    with rule "restart" compares the levels before and after, and is no alarm.

    points     schema POINTS, of these series at least; windows without a value are skipped
    excluded   spans of time, such as holidays, of which nothing is learned and in which nothing alarms
    Returns    in the order of `watched`
    """
    if not watched:
        return []
    laid, charted, limit = lay_out(points, watched, windows=windows, excluded=excluded)
    result = chart(charted, limit, memory=memory_of(windows))
    return [_detection(own, result, i, limit[i]) for i, own in enumerate(laid)]


def lay_out(
    points: pl.DataFrame,
    watched: Sequence[Watched],
    *,
    windows: Windows,
    excluded: Iterable[tuple[datetime, datetime]] = (),
) -> tuple[list[_Laid], Charted, list[Limits]]:
    """One series or more in a common table of windows, on the scales that they are charted on, and their limits."""
    frames = _frames(points, watched)
    places = _places(frames, by_count=isinstance(windows.every, int))
    spans, n_windows = list(excluded), max((int(own[-1]) + 1 for own in places if len(own)), default=0)
    laid = [
        _laid(own, frame, place, n_windows, spans) for own, frame, place in zip(watched, frames, places, strict=True)
    ]
    both = [own.series.better == "either" and not own.series.is_test for own in watched]
    limit = [limits(own.budget.per_window, two_sided=two) for own, two in zip(watched, both, strict=True)]
    return laid, _charted(laid, _rhythm(laid, windows, n_windows)), limit


def _frames(points: pl.DataFrame, watched: Sequence[Watched]) -> list[pl.DataFrame]:
    """Points of each series and segment, in the order of time."""
    parts = points.sort("start").partition_by("series", "segment", as_dict=True)
    return [parts.get((own.series.name, own.segment), points.clear()) for own in watched]


def _places(frames: Sequence[pl.DataFrame], *, by_count: bool) -> list[Ints]:
    """Rows of a common table of windows: of one start, or of one rank where windows are counted."""
    if by_count or not frames:
        return [np.arange(len(frame)) for frame in frames]
    starts = pl.concat([frame["start"] for frame in frames]).unique().sort().to_physical().to_numpy()
    return [np.searchsorted(starts, frame["start"].to_physical().to_numpy()) for frame in frames]


def memory_of(windows: Windows) -> int:
    """Windows after which one counts a third of a new one: a month of hours, three of days."""
    if isinstance(windows.every, int):
        return _MEMORY_OF_COUNTS
    if windows.every >= _WEEK:
        return _MEMORY_OF_WEEKS
    return _MEMORY["hours" if windows.every < _DAY else "days"] // windows.every


@dataclass(frozen=True)
class _Laid:
    """A series in the common table of windows.

    scale      natural from charted values, and charted values with their variances within windows
    values, errors, able, excluded, restarts   (t,) as `Charted` has them
    """

    own: Watched
    frame: pl.DataFrame
    place: Ints
    natural: Callable[[Floats], Floats]
    values: Floats
    errors: Floats
    able: Bools
    excluded: Bools
    restarts: Bools


def _laid(
    own: Watched, frame: pl.DataFrame, place: Ints, n_windows: int, spans: Sequence[tuple[datetime, datetime]]
) -> _Laid:
    values, errors, n, p = (
        frame[name].cast(pl.Float64).fill_null(math.nan).to_numpy() for name in ("value", "error", "n", "p")
    )
    errors = _pooled(own.series.scale, values, errors, n)
    natural, charted, variances = _test(p) if own.series.is_test else _SCALES[own.series.scale](values, errors, n)
    outside = np.zeros(len(frame), np.bool_)
    for start, end in spans:
        outside |= ((frame["start"] < end) & (frame["end"] > start)).to_numpy()
    later = [np.flatnonzero((frame["start"] >= moment).to_numpy())[:1] for moment in own.restarts]
    restarted = np.isin(np.arange(len(frame)), np.concatenate([*later, []]))
    able = values >= own.series.floor if own.series.is_test else _has_events(own.series, values, n)
    laid = [np.full(n_windows, empty) for empty in (math.nan, 0.0, False, False, False)]
    there = np.isfinite(values)
    for rows, column in zip(
        laid,
        (np.where(there, charted, math.nan), np.where(there, np.nan_to_num(variances), 0.0), able, outside, restarted),
        strict=True,
    ):
        rows[place] = column
    return _Laid(own, frame, place, natural, *laid)


def _pooled(scale: Scale, values: Floats, errors: Floats, n: Floats) -> Floats:
    """Errors by what a unit varied in all windows so far: that of a window with few units follows its value by chance,
    and would make a low one look far out.  Units of shares vary by p (1 - p), those of times by their mean.
    """
    unit = {"share": values * (1 - values), "positive": values**2, "real": np.ones(len(values))}[scale]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = n * errors**2 / unit
        counted = np.where(np.isfinite(ratio), n, 0.0)
        mean = np.cumsum(np.where(counted > 0, ratio, 0.0) * counted) / np.cumsum(counted)
        pooled: Floats = np.where(np.isfinite(errors) & np.isfinite(mean), np.sqrt(mean * unit / n), errors)
    return pooled


def _real(values: Floats, errors: Floats, n: Floats) -> tuple[Callable[[Floats], Floats], Floats, Floats]:
    del n
    return np.asarray, values, np.nan_to_num(errors) ** 2


def even_shares(values: Floats, errors: Floats, n: Floats) -> tuple[Callable[[Floats], Floats], Floats, Floats]:
    """Shares on a scale on which counts have no skewness, so that both tails are as rare as they look.

    Its variance in a window is (p (1 - p))**(1/3) / n, times what users with several requests add.
    Source   Cox & Snell, A General Definition of Residuals, JRSS B 1968: x + 1/6 of n + 1/3.
    """
    spread = values * (1 - values)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_unit = np.where((spread > 0) & (errors > 0), errors**2 / spread, 1 / n)
        inner = values + (1 - 2 * values) / 6 * per_unit
    level = _share_so_far(values, n)
    variances = np.where(np.isfinite(errors) & np.isfinite(per_unit), per_unit, 0.0) * np.cbrt(level * (1 - level))
    return _of_even, np.interp(np.clip(inner, 0.0, 1.0), *_evened()), variances


def _share_so_far(values: Floats, n: Floats) -> Floats:
    counted = np.where(np.isfinite(values) & (n > 0), n, 0.0)
    share: Floats = (np.cumsum(np.nan_to_num(values) * counted) + 0.5) / (np.cumsum(counted) + 1)
    return share


def _has_events(series: Series, values: Floats, n: Floats) -> Bools:
    """Windows that may alarm: of shares, those whose difference from the share so far is three units, rounded.

    Where an event is rare, one or two of them in a window are far from normal, whatever the scale.
    """
    if series.scale != "share":
        return np.ones(len(values), np.bool_)
    far: Bools = np.abs(values - _share_so_far(values, n)) * n >= _FEWEST_EVENTS
    return far


def _of_even(even: Floats) -> Floats:
    shares: Floats = np.interp(even, *_evened()[::-1])
    return shares


@cache
def _evened() -> tuple[Floats, Floats]:
    """Shares, and the integral of (p (1 - p))**(-1/3) up to them."""
    angles = np.linspace(0.0, math.pi / 2, _N_ANGLES)
    rate = 2 * np.cbrt(np.sin(angles) * np.cos(angles))
    steps = (rate[1:] + rate[:-1]) / 2 * np.diff(angles)
    return np.sin(angles) ** 2, np.concatenate([[0.0], np.cumsum(steps)])


def _positive(values: Floats, errors: Floats, n: Floats) -> tuple[Callable[[Floats], Floats], Floats, Floats]:
    """Logarithms, but for values that are small beside the first ones: 0 is a hundredth of these, not without end."""
    del n
    first = values[np.isfinite(values)][:LEAST_WINDOWS]
    first = first[first > 0]
    small = 2 * _SMALL * float(np.median(first)) if len(first) else 1.0
    charted = np.arcsinh(values / small)
    return (
        lambda x: small * np.sinh(np.clip(x, -600.0, 600.0)),
        charted,
        np.nan_to_num(errors) ** 2 / (values**2 + small**2),
    )


_SCALES: Mapping[Scale, Callable[[Floats, Floats, Floats], tuple[Callable[[Floats], Floats], Floats, Floats]]] = {
    "real": _real, "share": even_shares, "positive": _positive,
}  # fmt: skip
"""From values, errors and n: the way back, charted values, and their variances within windows, 0 where not known."""


def _test(p: Floats) -> tuple[Callable[[Floats], Floats], Floats, Floats]:
    """Standard normal scores that are as rare."""
    ndtri = require("scipy.special", extra="stats", what="watching tests").ndtri
    scores = np.clip(-ndtri(np.clip(p, 1e-300, 1.0)), -_MOST_SCORE, _MOST_SCORE)
    return np.asarray, scores, np.zeros(len(p))


def _rhythm(laid: Sequence[_Laid], windows: Windows, n_windows: int) -> Rhythm:
    """Effects of hours and weekdays, in the zone of the windows."""
    every = windows.every
    if isinstance(every, int) or every >= _WEEK or (every % _DAY and every > _DAY):
        return Rhythm.level(n_windows)
    starts = np.zeros(n_windows, np.int64)
    for own in laid:
        starts[own.place] = own.frame["start"].dt.epoch("us").to_numpy()
    local = pl.Series(starts).cast(TIME).dt.convert_time_zone(windows.timezone)
    hours = local.dt.hour().to_numpy().astype(np.int64) if every < _DAY else None
    return Rhythm.of(local.dt.weekday().to_numpy().astype(np.int64) - 1, hours, per_day=max(_DAY // every, 1))


def _charted(laid: Sequence[_Laid], rhythm: Rhythm) -> Charted:
    values, errors, able, excluded, restarts = (
        np.stack([getattr(own, name) for own in laid], axis=1)
        for name in ("values", "errors", "able", "excluded", "restarts")
    )
    series = [own.own.series for own in laid]
    return Charted(
        values=values, errors=errors, rhythm=rhythm, excluded=excluded, restarts=restarts,
        fixed=np.array([own.stream == "replay" and not own.is_test for own in series]),
        standard=np.array([own.is_test for own in series]),
        up=np.array([own.is_test or own.better != "higher" for own in series]),
        down=np.array([not own.is_test and own.better != "lower" for own in series]),
        able=able,
        matters=lambda i, expected, change: _matters(laid[i], expected, change),
    )  # fmt: skip


def _matters(own: _Laid, expected: float, change: float) -> bool:
    """Whether a change is as large as the floor of its series: a test has it of its value."""
    if own.own.series.is_test:
        return True
    before, after = own.natural(np.array([expected, expected + change])).tolist()
    return bool(
        abs(after - before) >= own.own.series.floor * (abs(before) if own.own.series.scale == "positive" else 1.0)
    )


def _detection(own: _Laid, result: Chart, i: int, limit: Limits) -> Detection:
    frame, rows = own.frame, own.place
    z, middle, reach = result.z[rows, i], result.likely[rows, i], result.reach[rows, i]
    learned = result.learned[rows, i]
    expected, low, high = (own.natural(column) for column in (result.expected[rows, i], middle - reach, middle + reach))
    if own.own.series.is_test:
        expected, low, high = _mean_before(frame["value"], learned), low * math.nan, high * math.nan
    columns = {"expected": expected, "low": low, "high": high, "z": z, "cusum": result.sums[rows, i]}
    known = np.isfinite(z)
    table = frame.select("start", "end", "value", "error", "n").with_columns(
        *(pl.Series(name, np.where(known, column, math.nan)).fill_nan(None) for name, column in columns.items()),
        is_reference=pl.Series(learned, dtype=pl.Boolean),
        is_alarm=pl.Series(result.in_alarm[rows, i], dtype=pl.Boolean),
    )
    raised = [alarm for alarm in result.raised if alarm.series == i]
    few = Note("monitor_few_windows", {"n": int(result.n[i]), "least": result.least})
    return Detection(
        series=own.own.series,
        segment=own.own.segment,
        state=_state(own, result, i, limit),
        chart=table.cast(pl.Schema(CHART)),
        alarms=[_test_shift(own, alarm, learned) if own.own.series.is_test else _shift(own, alarm) for alarm in raised],
        note=None if result.ready[i] else few,
        cusum_limit=limit.cusum,
    )


def _state(own: _Laid, result: Chart, i: int, limit: Limits) -> State:
    """Of the newest window."""
    if not result.ready[i] or not len(own.place):
        return "few"
    last = own.place[-1]
    if result.in_alarm[last, i]:
        return "alert"
    z, series = result.z[last, i], own.own.series
    z = (
        abs(z)
        if series.better == "either" and not series.is_test
        else z
        if series.is_test
        else z * _WORSE[series.better]
    )
    return "warn" if z > limit.run or result.sums[last, i] > _NEAR * limit.cusum else "well"


def _shift(own: _Laid, alarm: Raised) -> Shift:
    reach = t_quantile(0.975, max(alarm.df, 1.0)) * alarm.error
    levels = np.array([0.0, alarm.change, alarm.change - reach, alarm.change + reach]) + alarm.before
    before, after, low, high = own.natural(levels).tolist()
    rule = "paired" if own.own.series.stream == "replay" and alarm.rule != "restart" else alarm.rule
    return _shift_of(own, alarm, rule, (before, after, low - before, high - before))


def _test_shift(own: _Laid, alarm: Raised, learned: Bools) -> Shift:
    """Of a test: its own values, before and after."""
    values, rows = own.frame["value"].to_numpy(), np.searchsorted(own.place, [alarm.first, alarm.window])
    now = values[rows[0] : rows[1] + 1]
    usual = values[: rows[0]][learned[: rows[0]]]
    before, after = float(usual.mean()) if len(usual) else 0.0, float(np.nanmean(now))
    error = float(usual.std(ddof=1)) / math.sqrt(len(now)) if len(usual) > 1 else 0.0
    reach = t_quantile(0.975, max(len(usual) - 1.0, 1.0)) * error
    rule = "test" if alarm.rule != "restart" else alarm.rule
    return _shift_of(own, alarm, rule, (before, after, after - before - reach, after - before + reach))


def _shift_of(own: _Laid, alarm: Raised, rule: str, levels: tuple[float, float, float, float]) -> Shift:
    before, after, low, high = levels
    places = np.searchsorted(own.place, [alarm.first, alarm.first_low, alarm.first_high]).tolist()
    since, since_low, since_high = (own.frame["start"][place] for place in places)
    return Shift(
        series=own.own.series.name, segment=own.own.segment, stream=own.own.series.stream,
        better=own.own.series.better, before=before, after=after, low=low, high=high,
        since=since, since_low=since_low, since_high=since_high, rule=rule, odds=own.own.budget.odds,
    )  # fmt: skip


def _mean_before(values: pl.Series, learned: Bools) -> Floats:
    """Mean of the values that were learned before each one; NaN where there are none."""
    used = np.where(learned, values.fill_null(0.0).to_numpy(), 0.0)
    n: Ints = np.cumsum(learned) - learned
    means: Floats = np.where(n > 0, (np.cumsum(used) - used) / np.maximum(n, 1), math.nan)
    return means
