"""How throughput grows with users at once: the Universal Scalability Law, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.stats.samples import checked_seed, finite, share, whole

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
