"""Statistics of load tests: lines through points, growing backlogs, and the Universal Scalability Law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import ROUNDING, Clusters, checked_seed, cluster_codes, finite, share, whole


@dataclass(frozen=True)
class Line:
    """y = at_0 + slope * x, by least squares; the ends of the slope's interval are NaN where there is none."""

    at_0: float
    slope: float
    low: float
    high: float
    n: int


def fit_line(x: Floats, y: Floats, *, clusters: Clusters | None = None, level: float = 0.95) -> Line:
    """The least-squares line through n points.

    clusters   (n,) which points belong together, such as repetitions of one question; None: each by itself
    Returns    NaN without two different x; an interval from three clusters on that leave two different x without any
               of them.  Its degrees of freedom are one less than the clusters that decide, by their squared distances
    Raises     InputError for values that are not finite
    Source     The slope's error is that of the jackknife that leaves out one cluster at a time: Hinkley, Jackknifing in
               Unbalanced Situations, Technometrics 1977; Bell & McCaffrey, Survey Methodology 2002 (as CR3).

    >>> line = fit_line(np.array([0.0, 1.0, 2.0, 3.0]), np.array([5.0, 6.0, 9.0, 10.0]))
    >>> round(line.at_0, 6), round(line.slope, 6), round(line.low, 3), round(line.high, 3)
    (4.8, 1.8, 0.22, 3.38)
    """
    x, y = finite(x, n_axes=1, what="x"), finite(y, n_axes=1, what="y")
    share(level, "level")
    n = len(x)
    center_x, center_y = (values.mean() if n else math.nan for values in (x, y))
    codes = np.arange(n) if clusters is None else cluster_codes(clusters, n)
    sums = _sums(x - center_x, y - center_y, codes)
    (slope,) = _slopes(sums.sum(axis=1, keepdims=True))
    g = sums.shape[1]
    without = _slopes(sums.sum(axis=1, keepdims=True) - sums)
    half = math.nan
    if g > 2 and not np.isnan(without).any():
        error = math.sqrt((g - 1) / g * ((without - without.mean()) ** 2).sum())
        # As many as have a say: a few points far out decide where the line goes.
        n_deciding = sums[3].sum() ** 2 / (sums[3] ** 2).sum()
        half = t_quantile((1 + level) / 2, min(max(n_deciding - 1, 1.0), g - 1)) * error
    return Line(float(center_y - slope * center_x), float(slope), float(slope - half), float(slope + half), n)


def _sums(x: Floats, y: Floats, codes: Ints) -> Floats:
    """(5, g) of each cluster: n, and the sums of x, y, x * x and x * y."""
    columns = (np.ones(len(x)), x, y, x * x, x * y)
    return np.stack([np.bincount(codes, weights=column) for column in columns])


def _slopes(sums: Floats) -> Floats:
    """(g,) slopes by the sums of points; NaN without two different x."""
    n, x, y, xx, xy = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = xx - x * x / n
        return np.asarray(np.where(squares > ROUNDING * xx, (xy - x * y / n) / squares, np.nan))


_STRETCHES = 12
"""Of the window, whose changes show how much chance moves the requests under way."""
_STEPS = 16
"""Of the simulated queue in one stretch."""
_PATHS = 10_000
_SEED = 20
_LEAST_SPREAD = 1.0
"""Requests: what is counted in whole ones is not known better, however regularly they come."""


@dataclass(frozen=True)
class Backlog:
    """Number of requests that were under way in a stretch of time, and by how much they grew.

    mean    over the time;   slope   of the line through them, in requests a second
    p       how often a system that is just able to bear the load has such a slope, or a steeper one; NaN where
            nothing was under way
    """

    mean: float
    slope: float
    p: float


def backlog(starts: Floats, ends: Floats, *, begin: float, until: float) -> Backlog:
    """Mean and slope of the requests under way between two moments, and whether they grew for sure.

    starts, ends   (n,) seconds at which requests came and were done with, of all that were under way at some time of
                   the window, in any order
    begin, until   of the window, in seconds
    Returns        p is small where the system cannot bear the load; in simulations it is below .05 in at most 5% of
                   windows of stable systems, and of those loaded to their capacity, whether they start empty or not
    Raises         InputError for lengths that differ, values that are not finite, requests that end before they start,
                   and a window without length
    Method         Requests under way move like a random walk, so that the t test of their slope rejects most queues
                   that are stable.  Here the slope is divided by the spread of the changes from stretch to stretch, and
                   held against that of a queue at its capacity, empty at the start (reflected Brownian motion): of all
                   stable systems, that one drifts most.
    Source         Whitt, Stochastic-Process Limits, 2002, section 5.2: the limit of a queue in heavy traffic.

    >>> came = np.arange(0, 60, 0.05)
    >>> calm, swamped = (backlog(came, came + delay, begin=0, until=60) for delay in (0.2, 0.2 + came / 5))
    >>> round(calm.mean, 1), calm.p > 0.5, round(swamped.slope, 1), swamped.p < 0.01
    (4.0, True, 3.3, True)
    """
    starts, ends = finite(starts, n_axes=1, what="starts"), finite(ends, n_axes=1, what="ends")
    _check_series(starts, ends, begin, until)
    length = until - begin
    first, last = (np.clip(moments, begin, until) - begin for moments in (starts, ends))
    mean = float((last - first).sum()) / length
    # The integral of (t - length / 2) over the time that a request is under way, exactly.
    moment = float(((last - first) * ((last + first) - length)).sum()) / 2
    slope = 12 * moment / length**3
    if not mean:
        return Backlog(mean, slope, math.nan)
    moments = np.linspace(begin, until, _STRETCHES + 1)
    counts = np.searchsorted(np.sort(starts), moments, "right") - np.searchsorted(np.sort(ends), moments, "right")
    spread = math.sqrt(max(float(np.diff(counts).var(ddof=1)) * _STRETCHES, _LEAST_SPREAD))
    at_capacity = _slopes_at_capacity()
    n_steeper = len(at_capacity) - np.searchsorted(at_capacity, slope * length / spread)
    return Backlog(mean, slope, float((1 + n_steeper) / (1 + len(at_capacity))))


def _check_series(starts: Floats, ends: Floats, begin: float, until: float) -> None:
    if starts.shape != ends.shape:
        raise InputError(f"{len(starts)} starts and {len(ends)} ends; expected one each of the same requests")
    if not until > begin:
        raise InputError(f"the window is from {begin} to {until} s; expected an end after its begin")
    if len(early := np.flatnonzero(ends < starts)):
        raise InputError(f"{len(early)} requests end before they start, the first at {early[0]}; check the clock")


@cache
def _slopes_at_capacity() -> Floats:
    """(p,) ascending: slopes, in units of the spread, of simulated queues that are loaded to their capacity."""
    rng = np.random.default_rng(_SEED)
    walk = np.cumsum(rng.standard_normal((_PATHS, _STRETCHES * _STEPS)), axis=1)
    queue = walk - np.minimum(np.minimum.accumulate(walk, axis=1), 0)
    queue = np.concatenate([np.zeros((_PATHS, 1)), queue], axis=1)
    middles = (queue[:, 1:] + queue[:, :-1]) / 2
    times = (np.arange(middles.shape[1]) + 0.5) / middles.shape[1] - 0.5
    slopes = 12 * (middles * times).mean(axis=1)
    spreads = np.diff(queue[:, ::_STEPS], axis=1).std(axis=1, ddof=1) * math.sqrt(_STRETCHES)
    return np.sort(slopes / spreads)


LEAST_LEVELS = 3
"""Numbers of users that three parameters need."""
_LEAST_SHARE = 0.05
"""Of a measured rate, which no draw is below: rates are above 0."""


@dataclass(frozen=True)
class Parameter:
    """A parameter and the ends of its interval; NaN where there is none."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Scalability:
    """rate = gamma c / (1 + sigma (c - 1) + kappa c (c - 1)), over c users at once.

    gamma   rate of one user;   sigma   contention: the share of work that is done one after the other, in [0, 1]
    kappa   coherency: what each pair of users costs, from 0;   n   levels that it was fitted to
    """

    gamma: Parameter
    sigma: Parameter
    kappa: Parameter
    n: int

    def rate(self, users: float) -> float:
        """Requests a second of so many users at once."""
        slowdown = 1 + self.sigma.value * (users - 1) + self.kappa.value * users * (users - 1)
        return self.gamma.value * users / slowdown

    @property
    def peak_users(self) -> float:
        """The number of users beyond which the rate falls; infinite where it never does."""
        if not self.kappa.value:
            return math.inf
        return max(math.sqrt((1 - self.sigma.value) / self.kappa.value), 1.0)

    @property
    def peak_rate(self) -> float:
        """The highest rate of any number of users, or what it comes near to; infinite where it grows without end."""
        if math.isfinite(self.peak_users):
            return self.rate(self.peak_users)
        return self.gamma.value / self.sigma.value if self.sigma.value else math.inf


def fit_scalability(
    users: npt.ArrayLike, rates: npt.ArrayLike, *, level: float = 0.95, n_resamples: int = 2000, seed: int = 0
) -> Scalability:
    """Fit the law by least squares of relative errors, with sigma in [0, 1] and kappa from 0.

    users   (n,) users at once of each level, at least three different numbers of them
    rates   (n, b) requests a second at that level, in each of b stretches of time of equal length; with b = 1 only the
            distance of the levels from the law says how sure it is
    level   of the intervals: the mean of each level is drawn anew around what was measured, as far as stretches differ,
            and further where the levels are further from the law than that explains
    Returns intervals are NaN for three levels, which three parameters always fit
    Raises  InputError for fewer levels, users below 1, rates below 0, and levels whose mean is 0
    Source  Gunther, Guerrilla Capacity Planning, 2007.  In simulations of the law the intervals cover 92% to 100%
            where rates scatter as counts do, and 88% or more where high ones scatter more.

    >>> law = fit_scalability([1, 2, 4, 8, 16], [[10.0], [18.0], [29.0], [37.0], [33.0]])
    >>> round(law.gamma.value, 1), round(law.sigma.value, 3), round(law.kappa.value, 4), round(law.peak_users, 1)
    (10.0, 0.079, 0.011, 9.2)
    """
    share(level, "level")
    counts = finite(users, n_axes=1, what="users")
    stretches = finite(rates, n_axes=2, what="rates")
    _check(counts, stretches)
    rng = np.random.default_rng(checked_seed(seed))
    means = stretches.mean(axis=1)
    values = _fits(counts, means[None, :])[0]
    draws = _draws(counts, stretches, values, whole(n_resamples, "n_resamples"), rng)
    if draws is None:
        return _law(values, np.full((3, 2), math.nan), len(counts))
    fits = _fits(counts, np.maximum(draws, means * _LEAST_SHARE))
    low, high = np.quantile(fits, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return _law(values, np.stack([np.minimum(low, values), np.maximum(high, values)], axis=1), len(counts))


def _check(users: Floats, rates: Floats) -> None:
    if len(users) != len(rates):
        raise InputError(f"{len(users)} numbers of users and rates of {len(rates)} levels; expected one each")
    least = rates.mean(axis=1).min() if rates.size else math.inf
    if len(users) and (users.min() < 1 or least <= 0 or rates.min(initial=0) < 0):
        raise InputError(
            f"the fewest users are {users.min():g} and the lowest mean rate is {least:g} a second; expected users from "
            "1, and rates above 0: leave out levels that answered nothing"
        )
    n = len(np.unique(users))
    if n < LEAST_LEVELS or not rates.shape[1]:
        raise InputError(f"rates of {n} numbers of users; expected {LEAST_LEVELS} at least, such as 1, 4 and 16")


def _law(values: Floats, ends: Floats, n: int) -> Scalability:
    gamma, sigma, kappa = (
        Parameter(float(value), float(low), float(high)) for value, (low, high) in zip(values, ends, strict=True)
    )
    return Scalability(gamma, sigma, kappa, n)


def _draws(
    users: Floats, stretches: Floats, values: Floats, n_resamples: int, rng: np.random.Generator
) -> Floats | None:
    """(r, n) means of levels as they might have been measured as well; None where no level is to spare."""
    (n, b), means, spare = stretches.shape, stretches.mean(axis=1), len(users) - LEAST_LEVELS
    if not spare:
        return None
    law = _law(values, np.full((3, 2), math.nan), n)
    away = means - np.array([law.rate(count) for count in users])
    # The variance of a count is in proportion to it: one factor for all levels, which many stretches show well.
    factor = float((stretches.var(axis=1, ddof=1) / means).mean() / b) if b > 1 else 0.0
    scatter = float((away**2 / means).sum() / spare)
    variances = np.full(n_resamples, factor)
    if scatter > factor:
        variances = scatter * spare / rng.chisquare(spare, n_resamples)
    return np.asarray(means + rng.standard_normal((n_resamples, n)) * np.sqrt(variances[:, None] * means))


def _fits(users: Floats, rates: Floats) -> Floats:
    """(r, 3) gamma, sigma and kappa of (r, n) rates.

    users / rate = a + s (c - 1) + k c (c - 1) with a = 1 / gamma, s = sigma a, k = kappa a is linear.  Least squares
    within 0 <= s <= a, 0 <= k is that of one of the faces of this region: the best one that lies in it.  The face a = 0
    is none, as one user would be infinitely fast there.
    """
    weights = rates / users
    pairs = users * (users - 1)
    # Each face: its columns, and which of a, s, k each column adds to.
    faces: list[tuple[tuple[Floats, ...], Floats]] = []
    for kappa in (True, False):
        ones = np.ones_like(users)
        faces += [
            ((ones, users - 1, pairs)[: 2 + kappa], np.eye(3)[: 2 + kappa]),
            ((ones, pairs)[: 1 + kappa], np.eye(3)[[0, 2][: 1 + kappa]]),
            ((users, pairs)[: 1 + kappa], np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])[: 1 + kappa]),
        ]
    best, least = np.full((len(rates), 3), math.nan), np.full(len(rates), math.inf)
    for columns, parts in faces:
        design = weights[:, :, None] * np.stack(columns, axis=1)
        scales = np.sqrt((design**2).sum(axis=1))
        scaled = design / scales[:, None, :]
        solution = np.linalg.pinv(scaled) @ np.ones((len(users), 1))
        errors = ((1 - scaled @ solution)[:, :, 0] ** 2).sum(axis=1)
        linear = (solution[:, :, 0] / scales) @ parts
        a, s, k = linear.T
        inside = (a > 0) & (s >= 0) & (k >= 0) & (s <= a)
        better = inside & (errors < least)
        best[better], least[better] = linear[better], errors[better]
    a, s, k = best.T
    return np.stack([1 / a, s / a, k / a], axis=1)
