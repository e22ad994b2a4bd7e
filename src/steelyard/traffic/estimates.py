"""Ratios and percentiles of many groups at once, with errors that take users as units.

Nothing here depends on the order of rows, as far as sums of the given values are exact: squares of distances from the
ratio are rounded to 16 bits below the largest one of their group, so that they add up exactly, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats, Ints

_STEPS = 2.0**16
_Z = 1.96


@dataclass(frozen=True, eq=False)
class Estimates:
    """Values of g groups.

    value   (g,) NaN where there is none;   error   (g,) standard error, NaN where unknown;   n   (g,) units behind it
    """

    value: Floats
    error: Floats
    n: Ints


def ratios(group: Ints, numerator: Floats, denominator: Floats, n_groups: int) -> Estimates:
    """Sum of numerators over sum of denominators, with the error of the delta method.

    group                    (u,) group of each unit, from 0; a unit may be in several groups, once in each
    numerator, denominator   (u,) sums of the unit in that group; units whose denominator is 0 are none
    Source   Deng, Knoblich & Lu, Applying the Delta Method in Metric Analytics, KDD 2018.

    >>> estimates = ratios(np.array([0, 0, 1]), np.array([1.0, 3.0, 0.0]), np.array([2.0, 2.0, 0.0]), 2)
    >>> estimates.value, estimates.error.round(3), estimates.n
    (array([ 1., nan]), array([0.5, nan]), array([2, 0]))
    """
    total, n = _sums(group, denominator, n_groups), np.bincount(group[denominator > 0], minlength=n_groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = _sums(group, numerator, n_groups) / np.where(total > 0, total, np.nan)
        distance = numerator - np.nan_to_num(value)[group] * denominator
        squares = _sums_of_squares(group, distance, n_groups)
        error = np.sqrt(np.where(n > 1, n / (n - 1.0) * squares, np.nan)) / total
    return Estimates(value, np.where(np.isnan(value), np.nan, error), n)


def totals(group: Ints, values: Floats, n_groups: int) -> Estimates:
    """Sums over units, with the error that the number of units, by chance, and their own sums give them.

    group, values   (u,) of each unit
    """
    n = np.bincount(group, minlength=n_groups)
    value = np.where(n > 0, _sums(group, values, n_groups), np.nan)
    return Estimates(value, np.where(n > 0, np.sqrt(_sums_of_squares(group, values, n_groups)), np.nan), n)


def percentiles(
    group: Ints, values: Floats, share: float, n_groups: int, per_unit: Callable[[Floats], tuple[Ints, Floats, Floats]]
) -> Estimates:
    """A percentile of each group, by linear interpolation, with Woodruff's error: a quarter of the 95% interval.

    group, values   (n,) ascending by group, then value
    share           of the values below the percentile, in (0, 1)
    per_unit        gives group, sum and count of each unit, for a number of each of the n rows
    Returns         NaN where fewer than 2 values are expected beyond the percentile
    Source          Woodruff, Confidence Intervals for Medians and Other Position Measures, JASA 1952.
    """
    count = np.bincount(group, minlength=n_groups)
    start = np.cumsum(count) - count
    enough = count * min(share, 1 - share) >= 2

    def at(shares: Floats) -> Floats:
        place = np.clip(shares, 0.0, 1.0) * np.maximum(count - 1, 0)
        low = np.floor(place).astype(np.int64)
        high = np.minimum(low + 1, np.maximum(count - 1, 0))
        ends = values[np.minimum(start + low, len(values) - 1)], values[np.minimum(start + high, len(values) - 1)]
        return np.asarray(ends[0] + (place - low) * (ends[1] - ends[0]))

    if not len(values):
        nothing = np.full(n_groups, math.nan)
        return Estimates(nothing, nothing, count)
    value = at(np.full(n_groups, share))
    below = ratios(*per_unit((values <= value[group]).astype(np.float64)), n_groups)
    half = _Z * np.nan_to_num(below.error)
    error = (at(share + half) - at(share - half)) / (2 * _Z)
    return Estimates(np.where(enough, value, np.nan), np.where(enough & (below.n > 1), error, np.nan), below.n)


def _sums(group: Ints, values: Floats, n_groups: int) -> Floats:
    return np.bincount(group, values, n_groups).astype(np.float64, copy=False)


def _sums_of_squares(group: Ints, values: Floats, n_groups: int) -> Floats:
    largest = np.zeros(n_groups)
    np.maximum.at(largest, group, np.abs(values))
    scale = np.where(largest > 0, largest, 1.0) / _STEPS
    return _sums(group, np.rint(values / scale[group]) ** 2, n_groups) * scale**2
