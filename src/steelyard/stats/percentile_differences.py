"""Percentiles of two systems over the same questions: their difference, with an interval and a test."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.stats.percentiles import Percentile, PercentileSample
from steelyard.stats.samples import Clusters, cluster_codes, cluster_sums, finite, share

_LEAST_TAIL = 1e-9
_STEPS = 30


@dataclass(frozen=True, eq=False)
class PercentileDifference:
    """How far a percentile of B is above that of A, on questions that both were asked.

    first, second   the percentiles of A and of B
    alike           correlation, over questions or clusters, of how many of their values lie beyond the percentile
    """

    first: Percentile
    second: Percentile
    alike: float

    @property
    def value(self) -> float:
        """B less A; NaN where either falls on values that are only known to be large."""
        a, b = self.first.value, self.second.value
        return b - a if math.isfinite(a) and math.isfinite(b) else math.nan

    def interval(self, level: float) -> tuple[float, float]:
        """Both ends; infinite where there are too few values for them.

        Source   Zou & Donner, Construction of Confidence Limits about Effect Measures, Statistics in Medicine 2008:
                 from the intervals of both percentiles, and their correlation.
        """
        share(level, "level")
        (a_low, a_high), (b_low, b_high) = self.first.ends_between(level), self.second.ends_between(level)
        if math.isnan(self.value):
            down, up = b_low - a_high, b_high - a_low
            return -math.inf if math.isnan(down) else down, math.inf if math.isnan(up) else up
        down = self._length(self.second.value - b_low, a_high - self.first.value)
        up = self._length(b_high - self.second.value, self.first.value - a_low)
        return self.value - down, self.value + up

    def _length(self, a: float, b: float) -> float:
        """Of the difference's interval, from those of both percentiles, which are alike to some degree."""
        if math.isinf(a + b):
            return math.inf
        return math.sqrt(max(a**2 + b**2 - 2 * self.alike * a * b, 0.0))

    def p_above(self, limit: float) -> float:
        """One-sided p of a difference of at most this: the least at which the interval is above it."""
        return self._tail(lambda low, _: low > limit)

    def p_below(self, limit: float) -> float:
        """One-sided p of a difference of at least this: the least at which the interval is below it."""
        return self._tail(lambda _, high: high < limit)

    @cached_property
    def p(self) -> float:
        """Two-sided p of equal percentiles: the least at which the interval leaves out 0."""
        return min(1.0, 2 * min(self.p_above(0.0), self.p_below(0.0)))

    def _tail(self, leaves_out: Callable[[float, float], bool]) -> float:
        least, most = math.log(_LEAST_TAIL), math.log(0.5)
        if not leaves_out(*self.interval(1 - 2 * math.exp(most - 1e-9))):
            return 1.0
        if leaves_out(*self.interval(1 - 2 * _LEAST_TAIL)):
            return _LEAST_TAIL
        for _ in range(_STEPS):
            middle = (least + most) / 2
            least, most = (least, middle) if leaves_out(*self.interval(1 - 2 * math.exp(middle))) else (middle, most)
        return math.exp(most)


def percentile_difference(
    baseline: npt.ArrayLike, other: npt.ArrayLike, p: float, *, clusters: Clusters | None = None, in_time: bool = False
) -> PercentileDifference:
    """The difference of a percentile of two systems over the same n questions.

    baseline, other   (r, n) values of A and B, of as many runs as each has; inf for what is known to be larger than all
                      others
    p                 share below the percentile, in (0, 1)
    clusters          (n,) of questions that count as one; None: each question by itself, all of its runs together
    in_time           whether clusters are numbered in time, as of `percentile_interval`
    Raises            InputError for NaN, other numbers of questions, p outside (0, 1)

    >>> slow, fast = 10.0 + np.arange(100)[None], 5.0 + np.arange(100)[None]
    >>> difference = percentile_difference(slow, fast, 0.5)
    >>> difference.value, [round(end, 3) for end in difference.interval(0.95)], difference.p < 0.001
    (-5.0, [-5.0, -5.0], True)
    """
    share(p, "the percentile's share")
    rows = [np.asarray(values, dtype=np.float64) for values in (baseline, other)]
    for values, what in zip(rows, ("the baseline's values", "the other system's values"), strict=True):
        finite(np.where(np.isposinf(values), 0.0, values), n_axes=2, what=what)
    n = rows[0].shape[1]
    if rows[1].shape[1] != n:
        raise InputError(f"the baseline has values of {n} questions and the other system of {rows[1].shape[1]}")
    codes = np.arange(n) if clusters is None else cluster_codes(clusters, n)
    first, second = (_percentile(values, codes, p, in_time) for values in rows)
    beyond = np.stack([(values > part.value).mean(axis=0) for values, part in zip(rows, (first, second), strict=True)])
    return PercentileDifference(first, second, _correlation(cluster_sums(beyond - beyond.mean(axis=1)[:, None], codes)))


def _percentile(values: Floats, codes: Ints, p: float, in_time: bool) -> Percentile:
    clusters = np.broadcast_to(codes, values.shape).ravel()
    return PercentileSample.of(values.ravel(), clusters, in_time=in_time).percentile(p)


def _correlation(sums: Floats) -> float:
    squares = (sums**2).sum(axis=1)
    return float((sums[0] * sums[1]).sum() / math.sqrt(squares.prod())) if squares.all() else 0.0
