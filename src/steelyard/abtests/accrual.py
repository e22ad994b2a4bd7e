"""How many units come within so many days, and how exactly a metric is known of them: read from logs, or named."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.choices import UnitKind
from steelyard.base.errors import InputError, quoted
from steelyard.traffic.estimates import Units, percentiles, ratios
from steelyard.traffic.logs import Logs
from steelyard.traffic.measures.registry import Percentile, Total, TrafficMeasure, traffic_measures
from steelyard.traffic.requests import column_type, requests
from steelyard.traffic.series import Better
from steelyard.traffic.tabulating import Columns

_DAY, _TOLERATED = timedelta(days=1), timedelta(hours=1)
"""A day, and how much of the first one may be missing: a log begins with its first request, and ends with its last."""
_WEEK = 7
_LEAST_UNITS, _LEAST_KEPT = 10, 1e-6


@dataclass(frozen=True, eq=False)
class Curve:
    """A value by days: a power of them between the days that were measured, and beyond.

    days, values   (k,) ascending, above 0; beyond the last one goes on as from the middle to the end

    >>> round(Curve.of({7: 100.0, 14: 150.0, 28: 225.0}).at(56), 1)
    337.5
    """

    days: Floats
    values: Floats

    @classmethod
    def of(cls, values: Mapping[int, float]) -> Curve:
        """A curve through these values by day."""
        days = sorted(values)
        return cls(np.array(days, np.float64), np.array([values[day] for day in days], np.float64))

    def at(self, day: float) -> float:
        """The value of so many days."""
        x, y = np.log(self.days), np.log(self.values)
        if day <= self.days[-1] or len(x) == 1:
            return math.exp(np.interp(math.log(day), x, y))
        middle = int(np.argmin(np.abs(self.days[:-1] - self.days[-1] / 2)))
        slope = (y[-1] - y[middle]) / (x[-1] - x[middle])
        return math.exp(y[-1] + slope * (math.log(day) - x[-1]))


@dataclass(frozen=True, eq=False)
class Accrual:
    """A metric of the units that come within so many days.

    value      of the metric;   better   its direction
    units      units that come within so many days
    variance   by days, that of the metric times the number of units: a unit's share of what is not known
    left       by days, the share of it that requests before the start leave (CUPED), in (0, 1]; beyond the longest
               time that has such requests it is no smaller.  None without any
    """

    metric: str
    value: float
    better: Better
    units: Curve
    variance: Curve
    left: Curve | None = None

    def left_at(self, day: int) -> float:
        """The share of the variance that is left after so many days."""
        return 1.0 if self.left is None else self.left.at(min(day, float(self.left.days[-1])))

    def variance_at(self, day: int) -> float:
        """The variance of a unit within so many days, as far as requests before the start leave it."""
        return self.variance.at(day) * self.left_at(day)


@dataclass(frozen=True)
class Accruals:
    """Metrics of the same units.

    metrics      in the order in which they were asked for
    n_days       whole days of the logs, back from the last request;   n_before   days before the start that reduce the
                 variance, 0 where there is no room for them beside a week
    n_unknown    requests without a unit;   n_requests   all
    """

    metrics: Sequence[Accrual]
    n_days: int
    n_before: int
    n_requests: int
    n_unknown: int


def steady(metric: str, *, baseline: float, per_day: float, sd: float) -> Accrual:
    """So many new units a day, each with one value of this mean and standard deviation."""
    flat = {1: sd**2, 2: sd**2}
    return Accrual(metric, baseline, "either", Curve.of({1: per_day, 2: 2 * per_day}), Curve.of(flat))


def read_accruals(logs: Logs, metrics: Sequence[str], *, unit: UnitKind, before: timedelta) -> Accruals:
    """How units and metrics accrued in the latest days of logs: those who come back add to their own sums.

    unit     what an experiment would assign;   before   time before a start whose requests reduce the variance
    Raises   InputError for metrics that have no values of units, logs of less than a week or 10 units, and metrics
             that do not vary
    """
    measures = traffic_measures(metrics, partial(column_type, logs))
    for measure in measures:
        if isinstance(measure.quantity, Total):
            raise InputError(
                f"metric {quoted(measure.series.name)} is a number of a time, not of users; expected a share, a mean "
                "or a percentile"
            )
    columns = Columns(measure.quantity for measure in measures)
    rows, n_days, n_unknown = _read(logs, columns, unit)
    n_before = before // _DAY if n_days >= _WEEK + before // _DAY else 0
    codes = rows["unit"].to_physical().to_numpy().astype(np.int64)
    log = _Log(np.unique(codes, return_inverse=True)[1], rows["age"].to_numpy(), n_days, n_before)
    accruals = [
        log.accrual(measure, [rows[name].cast(pl.Float64) for name in columns.names(measure.quantity)])
        for measure in measures
    ]
    return Accruals(accruals, n_days, n_before, len(rows) + n_unknown, n_unknown)


def _read(logs: Logs, columns: Columns, unit: UnitKind) -> tuple[pl.DataFrame, int, int]:
    """Requests with unit, age (days back from the last request, from 0) and the values of each metric; whole days."""
    if logs.first is None or logs.last is None:
        first, last = logs.impressions.select(pl.col("time").min(), last=pl.col("time").max()).collect().row(0)
    else:
        first, last = logs.first, logs.last
    n_days = 0 if last is None else int((last - first + _TOLERATED) / _DAY)
    if n_days < _WEEK:
        raise InputError(
            f"the logs hold {n_days} whole days; expected {_WEEK} at least, as days of a week differ: take longer "
            "logs, or plan without (baseline=0.2, users_per_day=500)"
        )
    frame = requests(logs, list(dict.fromkeys(["time", unit, *columns.roots()])))
    age = (pl.lit(last) - pl.col("time")).dt.total_microseconds() // (_DAY // timedelta(microseconds=1))
    units = pl.col(unit).cast(pl.Categorical).alias("unit")
    rows = frame.select(units, age=age, **columns.rounded(frame)).filter(pl.col("age") < n_days).collect()
    n = len(rows)
    rows = rows.drop_nulls("unit")
    return rows, n_days, n - len(rows)


@dataclass(frozen=True)
class _Log:
    """Requests by unit and age;   unit   (m,) from 0;   age   (m,) days back from the end."""

    unit: Ints
    age: Ints
    n_days: int
    n_before: int

    def accrual(self, measure: TrafficMeasure, columns: Sequence[pl.Series]) -> Accrual:
        """Of one metric, of a column of values, or of two that are added."""
        units, variance, left = dict[int, float](), dict[int, float](), dict[int, float]()
        name, quantity, value = measure.series.name, measure.quantity, math.nan
        for days in self._lengths():
            inside = self.age < days
            came = np.zeros(self._n_units, np.bool_)
            came[self.unit[inside]] = True
            units[days] = float(came.sum())
            if isinstance(quantity, Percentile):
                value, own = self._percentile(columns[0], quantity.share, inside)
            else:
                value, own, share_left = self._ratio([part.fill_null(0.0).to_numpy() for part in columns], came, days)
                if self.n_before and days <= self.n_days - self.n_before:
                    left[days] = max(share_left, _LEAST_KEPT)
            variance[days] = own * units[days]
        if units[self.n_days] < _LEAST_UNITS:
            raise InputError(f"the logs hold {units[self.n_days]:.0f} users; expected {_LEAST_UNITS} at least")
        variance = {days: own for days, own in variance.items() if days >= _WEEK or own > 0}
        if not all(math.isfinite(own) and own > 0 for own in variance.values()):
            raise InputError(
                f"{quoted(name)} does not vary between the users of a week of these logs, or has too few values; "
                "expected a metric with more of them"
            )
        left_curve = Curve.of(left) if left else None
        return Accrual(name, value, measure.series.better, Curve.of(units), Curve.of(variance), left_curve)

    @property
    def _n_units(self) -> int:
        return int(self.unit.max(initial=-1)) + 1

    def _lengths(self) -> list[int]:
        """Whole weeks, all days, those that have a time before them, and half of both."""
        ends = {self.n_days, self.n_days - self.n_before}
        return sorted({*range(_WEEK, self.n_days + 1, _WEEK), *ends, *(max(end // 2, 1) for end in ends)})

    def _sums(self, values: Floats, inside: Bools) -> Floats:
        return np.bincount(self.unit[inside], values[inside], self._n_units).astype(np.float64)

    def _ratio(self, sums: Sequence[Floats], came: Bools, days: int) -> tuple[float, float, float]:
        """Value and variance of a ratio in the latest days, and the share of it that the time before leaves."""
        numerator, denominator = (self._sums(part, self.age < days)[came] for part in sums)
        estimate = ratios(_one_group(int(came.sum())), numerator, denominator)
        value, variance = float(estimate.value[0]), float(estimate.error[0]) ** 2
        earlier = (self.age >= days) & (self.age < days + self.n_before)
        own, total = (self._sums(part, earlier)[came] for part in sums)
        if not total.any():
            return value, variance, 1.0
        residual, covariate = numerator - value * denominator, own - own.sum() / total.sum() * total
        squares = float(residual @ residual) * float(covariate @ covariate)
        return value, variance, 1 - float(residual @ covariate) ** 2 / squares if squares > 0 else 1.0

    def _percentile(self, values: pl.Series, share: float, inside: Bools) -> tuple[float, float]:
        """Value and variance of a percentile in the latest days."""
        own = values.to_numpy()  # null is NaN
        places = np.flatnonzero(inside & np.isfinite(own))
        places = places[np.argsort(own[places], kind="stable")]
        unit = np.unique(self.unit[places], return_inverse=True)[1]
        units = _one_group(int(unit.max(initial=-1)) + 1)

        def per_unit(weights: Floats) -> Floats:
            return np.bincount(unit, weights).astype(np.float64)

        estimate = percentiles(units, np.zeros(len(places), np.int64), own[places], share, per_unit)
        return float(estimate.value[0]), float(estimate.error[0]) ** 2


def _one_group(n: int) -> Units:
    return Units(np.zeros(n, np.int64), 1)
