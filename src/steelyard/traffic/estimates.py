"""Ratios and percentiles of many groups at once, with errors that take users as units.

Nothing here depends on the order of rows, as far as sums of the given values are exact: squares of distances from a
ratio are rounded to 16 bits below the largest one of their group, so that they add up exactly, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.base.arrays import Floats, Ints

_STEPS = 2.0**16
_LEAST_BEYOND = 2
_Z = 1.96


@dataclass(frozen=True, eq=False)
class Estimates:
    """Values of g groups.

    value   (g,) NaN where there is none;   error   (g,) standard error, NaN where unknown;   n   (g,) units behind it
    """

    value: Floats
    error: Floats
    n: Ints


@dataclass(frozen=True, eq=False)
class Units:
    """Users, or what else is independent, of several groups; a user of two groups is a unit in each.

    group   (u,) group of each unit, ascending, from 0;   n_groups   groups, some of which may have no unit
    """

    group: Ints
    n_groups: int

    @cached_property
    def _starts(self) -> Ints:
        return np.flatnonzero(np.diff(self.group, prepend=-1))

    @cached_property
    def _counts(self) -> Ints:
        return np.diff(self._starts, append=len(self.group))

    def _reduced(self, operation: np.ufunc, values: Floats) -> Floats:
        reduced = np.zeros(self.n_groups)
        if len(self._starts):
            reduced[self.group[self._starts]] = operation.reduceat(values, self._starts)
        return reduced

    def sums(self, values: Floats) -> Floats:
        """(g,) sums of a value of each unit."""
        return self._reduced(np.add, values)

    def sums_of_squares(self, values: Floats) -> Floats:
        """(g,) sums of squares."""
        largest = self._reduced(np.maximum, np.abs(values))
        scale = np.where(largest > 0, largest, 1.0) / _STEPS
        return self.sums(np.rint(values / self.spread(scale)) ** 2) * scale**2

    def spread(self, of_groups: Floats) -> Floats:
        """(u,) the value of its group for each unit."""
        return np.repeat(of_groups[self.group[self._starts]], self._counts)


def ratios(units: Units, numerator: Floats, denominator: Floats) -> Estimates:
    """Sum of numerators over sum of denominators, with the error of the delta method.

    numerator, denominator   (u,) sums of each unit; units whose denominator is 0 are none
    Source   Deng, Knoblich & Lu, Applying the Delta Method in Metric Analytics, KDD 2018.

    >>> estimates = ratios(Units(np.array([0, 0, 1]), 2), np.array([1.0, 3.0, 0.0]), np.array([2.0, 2.0, 0.0]))
    >>> estimates.value, estimates.error.round(3), estimates.n
    (array([ 1., nan]), array([0.5, nan]), array([2, 0]))
    """
    total, n = units.sums(denominator), units.sums((denominator > 0).astype(np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = units.sums(numerator) / np.where(total > 0, total, np.nan)
        squares = units.sums_of_squares(numerator - units.spread(np.nan_to_num(value)) * denominator)
        error = np.sqrt(np.where(n > 1, n / (n - 1) * squares, np.nan)) / total
    return Estimates(value, np.where(np.isnan(value), np.nan, error), n.astype(np.int64))


def totals(units: Units, values: Floats) -> Estimates:
    """Sums over units, with the error that the number of units, by chance, and their own sums give them."""
    n = units.sums(np.ones_like(values))
    value, error = units.sums(values), np.sqrt(units.sums_of_squares(values))
    return Estimates(np.where(n > 0, value, np.nan), np.where(n > 0, error, np.nan), n.astype(np.int64))


def percentiles(
    units: Units, group: Ints, values: Floats, share: float, per_unit: Callable[[Floats], Floats]
) -> Estimates:
    """A percentile of each group, by linear interpolation, with Woodruff's error: a quarter of the 95% interval.

    group, values   (n,) ascending by group, then value
    share           of the values below the percentile, in (0, 1)
    per_unit        gives sums of each unit, of a number for each of the n values
    Returns         NaN where fewer than 2 values are expected beyond the percentile
    Source          Woodruff, Confidence Intervals for Medians and Other Position Measures, JASA 1952.
    """
    if not len(values):
        nothing = np.full(units.n_groups, math.nan)
        return Estimates(nothing, nothing, np.zeros(units.n_groups, np.int64))
    count = np.bincount(group, minlength=units.n_groups)
    start, last = np.cumsum(count) - count, np.maximum(count - 1, 0)

    def at(shares: Floats) -> Floats:
        place = np.clip(shares, 0.0, 1.0) * last
        low = np.floor(place).astype(np.int64)
        ends = (values[np.minimum(start + index, len(values) - 1)] for index in (low, np.minimum(low + 1, last)))
        below, above = ends
        return np.asarray(below + (place - low) * (above - below))

    value = at(np.full(units.n_groups, share))
    below = ratios(units, per_unit((values <= value[group]).astype(np.float64)), per_unit(np.ones_like(values)))
    half = _Z * np.nan_to_num(below.error)
    error = (at(share + half) - at(share - half)) / (2 * _Z)
    enough = count * min(share, 1 - share) >= _LEAST_BEYOND
    return Estimates(np.where(enough, value, np.nan), np.where(enough & (below.n > 1), error, np.nan), below.n)
