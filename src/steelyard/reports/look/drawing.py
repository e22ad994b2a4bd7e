"""Charts of series: small ones as SVG, and the numbers that the script of the page draws control charts of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.monitoring.alerts import Change, Shift
from steelyard.monitoring.detection import Detection

N_SMALL = 72
"""Windows of a small chart: the newest ones."""
MOST_WINDOWS, MOST_POINTS, FEWEST = 600, 40_000, 60
"""Windows of a control chart at most, of all of a page together, and of one at least."""
_WIDTH, _HEIGHT, _PAD = 320, 88, 8
_STEPS = 9999
_LINES = ("value", "expected", "low", "high")


def small_chart(detection: Detection) -> str:
    """The newest windows as SVG: limits as a band, what is expected as a dashed line, and a triangle at each alarm.

    It has no text and is hidden from readers that do not see it, whom the words around it serve.
    """
    chart = detection.chart.tail(N_SMALL)
    lines = {name: chart[name].to_numpy() for name in _LINES}
    finite = np.concatenate([line[np.isfinite(line)] for line in lines.values()])
    parts = list[str]()
    if finite.size:
        low, high = float(finite.min()), float(finite.max())
        x = _PAD + (_WIDTH - 2 * _PAD) * np.arange(len(chart)) / max(len(chart) - 1, 1)
        y = {name: _heights(line, low, high) for name, line in lines.items()}
        parts += [_path(runs, 'fill="var(--tint)"', close=True) for runs in _bands(x, y["low"], y["high"])]
        dashes = 'fill="none" stroke="var(--muted)" stroke-width="2" stroke-dasharray="4 6"'
        parts += [_path(run, dashes) for run in _runs(x, y["expected"])]
        parts += [_path(run, 'fill="none" stroke="var(--accent)" stroke-width="3"') for run in _runs(x, y["value"])]
        alarmed = chart["is_alarm"].fill_null(value=False).to_numpy() & np.isfinite(y["value"])
        parts += [_triangle(*place) for place in zip(x[alarmed], y["value"][alarmed], strict=True)]
        last = np.flatnonzero(np.isfinite(y["value"]))
        if last.size and not alarmed[last[-1]]:
            parts.append(f'<circle cx="{x[last[-1]]:.0f}" cy="{y["value"][last[-1]]:.0f}" r="5" fill="var(--accent)"/>')
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-hidden="true">{"".join(parts)}</svg>'


def _heights(values: Floats, low: float, high: float) -> Floats:
    share = (values - low) / (high - low) if high > low else np.where(np.isfinite(values), 0.5, np.nan)
    heights: Floats = _HEIGHT - _PAD - (_HEIGHT - 2 * _PAD) * share
    return heights


def _runs(x: Floats, y: Floats) -> Iterator[Floats]:
    """Stretches of points without a gap, as rows of x and y."""
    there = np.flatnonzero(np.isfinite(y))
    for run in np.split(there, np.flatnonzero(np.diff(there) > 1) + 1):
        if run.size:
            yield np.column_stack([x[run], y[run]])


def _bands(x: Floats, low: Floats, high: Floats) -> Iterator[Floats]:
    """Outlines of the stretches that have both limits, or one, beyond which the other ends at the edge of the chart."""
    low, high = (
        np.where(np.isnan(low) & ~np.isnan(high), _HEIGHT, low),
        np.where(np.isnan(high) & ~np.isnan(low), 0, high),
    )
    for run in _runs(x, low):
        own = np.isin(x, run[:, 0])
        yield np.concatenate([run, np.column_stack([x[own], high[own]])[::-1]])


def _path(points: Floats, style: str, *, close: bool = False) -> str:
    """A line through points, in steps from each to the next, which take few bytes."""
    (x, y), *steps = np.diff(np.rint(points).astype(int), axis=0, prepend=0).tolist()
    return f'<path d="M{x} {y}l{" ".join(f"{dx} {dy}" for dx, dy in steps or [[1, 0]])}{"Z" * close}" {style}/>'


def _triangle(x: float, y: float) -> str:
    return f'<path d="M{x - 8:.0f} {y + 6:.0f}h16l-8 -14z" fill="var(--bad)"/>'


# What the script draws -----------------------------------------------------------------------------------------------


def charts_data(detections: Sequence[Detection], changes: Sequence[Change]) -> dict[str, Any]:
    """Every chart in few bytes: times as steps, which charts share, and values as places in their range."""
    most = min(MOST_WINDOWS, max(FEWEST, MOST_POINTS // max(len(detections), 1)))
    times = list[dict[str, Any]]()
    charts = [_chart_data(detection, most, times) for detection in detections]
    marks = [
        {"time": _seconds(change.time), "until": None if change.until is None else _seconds(change.until)}
        for change in changes
    ]
    return {"charts": charts, "times": times, "changes": marks, "steps": _STEPS}


def shown_windows(chart: pl.DataFrame, most: int) -> Ints:
    """Places of the windows that are shown: of more than so many the newest half, those in alarm, and every so many."""
    n = len(chart)
    if n <= most:
        return np.arange(n)
    newest = np.arange(n - most // 2, n)
    alarms = np.flatnonzero(chart["is_alarm"].fill_null(value=False).to_numpy())[-(most // 4) :]
    step = -(-n // max(most // 4, 1))
    return np.union1d(np.union1d(newest, alarms), np.arange(0, n, step))


def _chart_data(detection: Detection, most: int, times: list[dict[str, Any]]) -> dict[str, Any]:
    chart = detection.chart[shown_windows(detection.chart, most).tolist()]
    alarms: Bools = chart["is_alarm"].fill_null(value=False).to_numpy()
    reference: Bools = chart["is_reference"].fill_null(value=False).to_numpy()
    limit = detection.cusum_limit
    range, lines = _places([chart[name].to_numpy() for name in _LINES])
    cusum_range, [cusum] = _places([chart["cusum"].to_numpy()])
    return {
        "time": _shared(_steps(chart["start"].to_list()), times), "total": len(detection.chart), "range": range,
        **dict(zip(_LINES, lines, strict=True)), "cusum_range": cusum_range, "cusum": cusum,
        "limit": limit if limit is not None and math.isfinite(limit) else None,
        "n": chart["n"].to_list(), "alarms": np.flatnonzero(alarms).tolist(),
        "reference": int(np.flatnonzero(reference)[-1]) + 1 if reference.any() else 0,
        "shifts": [_shift_data(shift) for shift in detection.alarms],
    }  # fmt: skip


def _places(lines: Sequence[Floats]) -> tuple[list[float], list[list[int | None]]]:
    """The range of some lines, and their values as whole numbers between its ends; null where there is none."""
    finite = np.concatenate([line[np.isfinite(line)] for line in lines])
    if not finite.size:
        return [0.0, 1.0], [[] for _ in lines]
    low, high = float(finite.min()), float(finite.max())
    share = _STEPS / (high - low) if high > low else 0.0
    return [low, high], [
        [round((value - low) * share) if np.isfinite(value) else None for value in line.tolist()]
        if np.isfinite(line).any() else []
        for line in lines
    ]  # fmt: skip


def _steps(times: Sequence[datetime]) -> dict[str, Any]:
    """The first of some times, and the steps from each to the next, in a unit that all of them are multiples of."""
    seconds = [_seconds(time) for time in times]
    steps = np.diff(seconds)
    unit = int(np.gcd.reduce(steps)) or 1 if len(steps) else 1
    return {"first": seconds[0] if seconds else 0, "unit": unit, "steps": (steps // unit).tolist()}


def _shared(times: dict[str, Any], all_times: list[dict[str, Any]]) -> int:
    """The number of some times, which are listed once."""
    if times not in all_times:
        all_times.append(times)
    return all_times.index(times)


def _shift_data(shift: Shift) -> dict[str, Any]:
    since, low, high = map(_seconds, (shift.since, shift.since_low, shift.since_high))
    return {"since": since, "low": low, "high": high, "is_alarm": shift.rule != "restart"}


def _seconds(time: datetime) -> int:
    return int(time.timestamp())


def alarmed(detections: Iterable[Detection], shifts: Sequence[Shift]) -> list[int]:
    """Places of the detections that some shifts are of, in the order of the shifts."""
    places = {(own.series.name, own.segment): place for place, own in enumerate(detections)}
    keys = ((shift.series, shift.segment) for shift in shifts)
    return [places[key] for key in keys if key in places]
