"""Where the level of a series changes: means of entry after entry that vary by chance, and now and then for good."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.defaults import FALSE_ALARMS
from steelyard.base.errors import InputError
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import Clusters, finite, mean_error

FEWEST = 8
"""Distinct values from which on the noise between entries is estimated from them."""
RATES = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Shares of series without a change that may show one, for which penalties were simulated."""
_LENGTHS = (8, 12, 20, 50, 100, 300, 1000)
_PENALTIES = np.array([
    [24.7, 18.5, 12.2, 8.4, 5.6], [21.1, 16.5, 11.6, 8.7, 6.2], [17.8, 14.8, 11.1, 8.8, 6.6],
    [15.1, 13.2, 10.8, 9.1, 7.3], [15.1, 13.1, 10.9, 9.4, 7.8], [14.4, 13.1, 11.3, 9.8, 8.7],
    [14.6, 13.5, 11.9, 10.7, 9.7],
])  # fmt: skip
"""By length and rate, in variances of the noise as estimated; `python -m benchmarks.simulated.changes` draws them."""
_QUARTER, _ALIKE, _SPIKE = 0.75, 1e-9, 1.0
_RATIO = math.sqrt(2) * NormalDist().inv_cdf((1 + _QUARTER) / 2)
"""Absolute differences of neighbours that are normal: a quarter are above so many times the noise."""
_CORRELATED = 4.0
"""Times 1/sqrt(n): a correlation of n independent neighbours is above it in some 5% of series."""


@dataclass(frozen=True)
class Levels:
    """The levels of a series.

    starts        (l,) place of the first value of each level, 0 among them
    means         (l,) mean of its values;   errors   (l,) standard error of that, by the noise
    noise         standard deviation of values at the same level; NaN for fewer than FEWEST distinct values, and then
                  there is one level
    n_distinct    values that are unlike the one before
    correlation   of neighbours at the same level; NaN where the noise is
    """

    starts: Ints
    means: Floats
    errors: Floats
    noise: float
    n_distinct: int
    correlation: float

    @property
    def is_drifting(self) -> bool:
        """True if neighbours are alike: what moves by and by shows changes more often than the rate says."""
        return self.correlation * math.sqrt(self.n_distinct) > _CORRELATED


def find_levels(values: npt.ArrayLike, *, false_alarms: float = FALSE_ALARMS) -> Levels:
    """The levels of a series: the partition with the least sum of squares plus a penalty for each change.

    Of series in which nothing changes, at most the share `false_alarms` has a change, where the noise is normal,
    independent and as large everywhere.  A level has two values at least.  Values that equal the one before are no
    further evidence: they count as one, as an entry has them that measured nothing again.  A value counts as at most
    a standard deviation above both its neighbours, or below both, so that no spike makes a level.

    values         (n,) in the order of time, n > 0
    false_alarms   from .01 to .2
    Raises         InputError for values that are not finite, and for another rate.
    Source         Killick, Fearnhead & Eckley 2012 (the optimum); Maidstone et al. 2017 (the search, which is exact).

    >>> levels = find_levels([0.71, 0.7, 0.69, 0.71, 0.7, 0.6, 0.61, 0.59, 0.6, 0.61])
    >>> levels.starts.tolist(), levels.means.round(3).tolist()
    ([0, 5], [0.702, 0.602])
    """
    array = finite(values, n_axes=1, what="values")
    firsts = distinct(array)
    counts, points = np.diff([*firsts, len(array)]), array[firsts]
    differences, noise, starts = np.diff(points), math.nan, np.zeros(1, np.int64)
    if len(points) >= FEWEST:
        noise = float(np.quantile(np.abs(differences), _QUARTER)) / _RATIO
        usual = _without_spikes(points, _SPIKE * noise, counts == 1) / noise
        starts = least_squares_partition(usual, penalty_of(len(points), false_alarms), counts > 1)
    parts = [slice(*ends) for ends in pairwise([*starts.tolist(), len(points)])]
    means = [np.average(points[own], weights=counts[own]) for own in parts]
    errors = [noise * math.sqrt((counts[own] ** 2).sum()) / counts[own].sum() for own in parts]
    correlation = math.nan if math.isnan(noise) else _correlation(differences)
    return Levels(firsts[starts], np.array(means), np.array(errors), noise, len(points), correlation)


def distinct(values: Floats) -> Ints:
    """Places of values that differ from the one before, beyond rounding; the first one does.

    >>> distinct(np.array([0.3, 0.1 + 0.2, 0.5])).tolist()
    [0, 2]
    """
    tolerance = _ALIKE * np.abs(values).max(initial=0.0)
    return np.flatnonzero(np.abs(np.diff(values, prepend=math.inf)) > tolerance)


def _without_spikes(points: Floats, reach: float, single: Bools) -> Floats:
    """Points, of which single ones are at most `reach` above both neighbours, or below: no spike makes a level."""
    before, after = points[:-2], points[2:]
    low, high = np.minimum(before, after) - reach, np.maximum(before, after) + reach
    usual = points.copy()
    usual[1:-1] = np.where(single[1:-1], np.clip(points[1:-1], low, high), points[1:-1])
    return usual


def _correlation(differences: Floats) -> float:
    """The correlation of neighbours, by the signs of differences of theirs: steps that are rare hardly count.

    In independent values, neighbouring differences have the same sign a third of the time.
    """
    signs = np.sign(differences)
    return 1 + 2 * math.sin(math.pi / 2 * float((signs[1:] * signs[:-1]).mean()))


def penalty_of(n: int, false_alarms: float) -> float:
    """How many variances of the noise a change must explain, in a series of n distinct values, FEWEST at least.

    Between the lengths and rates that were simulated, it is straight in their logarithms; so it is beyond the longest.
    Raises   InputError for a rate outside [.01, .2].
    """
    if not RATES[0] <= false_alarms <= RATES[-1]:
        raise InputError(f"a rate of false alarms is from {RATES[0]:g} to {RATES[-1]:g}, not {false_alarms:g}")
    lengths = np.log(_LENGTHS)
    by_length = [np.interp(math.log(false_alarms), np.log(RATES), row) for row in _PENALTIES]
    beyond = max(math.log(n) - lengths[-1], 0.0) * (by_length[-1] - by_length[-2]) / (lengths[-1] - lengths[-2])
    return float(np.interp(math.log(n), lengths, by_length) + beyond)


def least_squares_partition(values: Floats, penalty: float, alone: Bools) -> Ints:
    """The first place of each part of the partition with the least sum of squares plus penalty times changes.

    values   (n,) finite;   alone   (n,) whether a value may be a part by itself; others have two at least
    Returns  (l,) places, 0 first.

    A start of the last part is kept while there is a mean at which no later start is better: `low` to `high`.
    """
    n, centred = len(values), values - values.mean()
    sums, squares = (np.concatenate([[0.0], np.cumsum(part)]) for part in (centred, centred**2))
    cost, last = np.full(n + 1, math.inf), np.zeros(n + 1, np.int64)
    cost[0] = -penalty
    starts, low, high = np.empty(0, np.int64), np.empty(0), np.empty(0)
    for end in range(1, n + 1):
        for new in [end - 2] * (end > 1 and not alone[end - 2]) + [end - 1] * bool(alone[end - 1]):
            if not math.isfinite(cost[new]):
                continue
            lengths, between = new - starts, sums[new] - sums[starts]
            means = between / lengths
            reach = (cost[new] - cost[starts] - squares[new] + squares[starts] + between * means) / lengths
            width = np.sqrt(np.maximum(reach, 0.0))
            low, high = np.maximum(low, means - width), np.minimum(high, means + width)
            kept = (reach >= 0) & (low <= high)
            starts = np.append(starts[kept], new)
            low, high = np.append(low[kept], -math.inf), np.append(high[kept], math.inf)
        if len(starts):
            between = sums[end] - sums[starts]
            costs = cost[starts] - squares[starts] - between**2 / (end - starts)
            place = int(costs.argmin())
            cost[end], last[end] = costs[place] + squares[end] + penalty, starts[place]
    places, end = list[int](), n
    while end > 0:
        end = int(last[end])
        places.append(end)
    return np.array(places[::-1] or [0], np.int64)


def step_interval(
    d: Floats, *, n_steps: int, false_alarms: float = FALSE_ALARMS, clusters: Clusters | None = None
) -> tuple[float, float, float]:
    """The mean of paired differences, and its interval; a step shows where that leaves out 0.

    Of systems none of whose steps is more than luck of the questions, at most the share `false_alarms` shows any.

    d          (n,) differences question by question;   clusters   (n,) or None
    n_steps    among which the rate is shared
    Returns    mean, low, high; both ends NaN where there are too few questions, or none differs from the others.

    >>> mean, low, high = step_interval(np.array([-0.1, -0.3, -0.2, -0.4]), n_steps=1)
    >>> round(mean, 3), round(low, 3), round(high, 3)
    (-0.25, -0.455, -0.045)
    """
    average = mean_error(d, clusters=clusters)
    if average.reason or average.flat:
        return average.mean, math.nan, math.nan
    reach = t_quantile(1 - false_alarms / n_steps / 2, average.df) * average.error
    return average.mean, average.mean - reach, average.mean + reach
