"""What is usual of series: level, rhythm of days and weeks, spread, and how alike neighbouring windows are.

It is learned window after window, for many series at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints

LEAST_WINDOWS = 20
"""Windows from which on the spread between them is known well enough."""
_LEAST_TESTED = 10
"""Of these, windows that were expected from earlier ones of the same hour and weekday."""
_MOST_UNKNOWN = 1.5
"""Variance of an expectation, in variances of a window, above which its window does not count for the spread."""
_RIDGE, _LEVEL_RIDGE, _NONE_RIDGE = 1e-3, 1e-9, 1e12
"""Precision, in windows, with which an hour or a weekday is taken to be as any other, before it was seen."""
LAGS = 4
"""Windows apart at which neighbours are compared."""
_LIKENESS = np.arange(0.05, 0.96, 0.05)
_CLEARLY = 4.0
"""Times what products of independent neighbours explain by chance: less is no likeness."""
_TRUST = 50.0
"""Windows that errors within windows are worth, where windows differ by less than these say."""
_HEAVIEST, _MOST_Z, _WEIGHTS, _TINY = 4.5, 6.0, (0.01, 100.0), 1e-300


@dataclass(frozen=True, eq=False)
class Rhythm:
    """What windows have by their hour and weekday: effects that are added.

    effects      (t, e) which of the effects each window has; the first one is the level, and the last one is none
    n_effects    of them, that one among them
    least        windows from which on there is a chart: with hours, those of a week and a day
    n_lasting    of them, those that are an error of many windows in succession: the levels of days, by hours
    """

    effects: Ints
    n_effects: int
    n_lasting: int = 1
    least: int = LEAST_WINDOWS

    @classmethod
    def of(cls, weekdays: Ints, hours: Ints | None, *, per_day: int = 24) -> Rhythm:
        """Of weekdays, from 0, Monday, and of hours of the day at which windows begin; None for days.

        per_day   windows of a day, where they have hours

        An hour of a weekend has an effect of its own beside those of the hour and of the weekday.

        >>> Rhythm.of(np.array([0, 5]), None).effects.tolist()
        [[0, 1], [0, 6]]
        """
        columns = [np.zeros_like(weekdays), 1 + weekdays]
        if hours is not None:
            columns += [8 + hours, np.where(weekdays >= 5, 32 + hours, 56)]
        return cls(
            np.stack(columns, axis=1), *((57, 7, max(8 * per_day, LEAST_WINDOWS)) if hours is not None else (9, 1))
        )

    @classmethod
    def level(cls, n: int) -> Rhythm:
        """Of n windows without any rhythm."""
        return cls(np.zeros((n, 1), np.int64), 2)


@dataclass(frozen=True)
class Spread:
    """Spread of s series around what is expected.

    alike       (s,) variance that neighbours share:  its correlation from window to window is `likeness`
    own         (s,) variance of each window beside it, without what is known of the error within the window
    of_errors   (s,) what known errors are multiplied by: below 1 where windows differ by less than these say
    df          (s,) degrees of freedom behind the variance;   tails   (s,) those of Student's t that the values follow
    """

    alike: Floats
    likeness: Floats
    own: Floats
    of_errors: Floats
    df: Floats
    tails: Floats


@dataclass(frozen=True, eq=False)
class Learned:
    """Windows to learn from, after LAGS that precede them.

    used       (l, s) those that are learned now;   unknown   (l, s) variance of what was expected, as `expect` has it
    z          (l, s) standard scores, NaN without
    scaled     (LAGS + l, s) deviations as they were weighted, and weights, of windows that were learned; 0 for others
    """

    used: Bools
    unknown: Floats
    z: Floats
    scaled: Floats
    weights: Floats


class Usual:
    """What is usual of s series, by the windows that were learned, of which later ones count more."""

    def __init__(self, n_series: int, rhythm: Rhythm, *, memory: int, fixed: Bools) -> None:
        """Nothing learned yet.

        memory   windows after which one counts a third of a new one;   fixed   (s,) series whose level is known to be 0
        """
        n_effects, self._least = rhythm.n_effects, rhythm.least
        self._forget, self._fixed = float(np.exp(-1 / memory)), fixed
        self._information = np.zeros((n_series, n_effects, n_effects))
        self._sums = np.zeros((n_series, n_effects))
        self._ridge = np.full(n_effects, _RIDGE)
        self._ridge[[0, -1]] = _LEVEL_RIDGE, _NONE_RIDGE
        self._products, self._pairs = np.zeros((LAGS + 1, n_series)), np.zeros((LAGS + 1, n_series))
        self._errors, self._pairs_squared = np.zeros(n_series), np.zeros(n_series)
        self._fourth, self._tested = np.zeros(n_series), np.zeros(n_series)
        self._count, self._count_squared, self._usual_errors = (np.zeros(n_series) for _ in range(3))
        self._totals = (
            self._products,
            self._pairs,
            self._errors,
            self._fourth,
            self._tested,
            self._count,
            self._usual_errors,
        )
        self._squared = (self._pairs_squared, self._count_squared)
        self._n_spread, self.n = np.zeros(n_series, np.int64), np.zeros(n_series, np.int64)
        self._covariance, self._effects = self._solved()

    @property
    def is_ready(self) -> Bools:
        """(s,) whether enough was learned for limits."""
        ready: Bools = (self.n >= self._least) & (self._n_spread >= _LEAST_TESTED)
        return ready

    @property
    def n_effective(self) -> Floats:
        """(s,) windows of equal count that would say as much about a mean as those that were learned."""
        return self._count**2 / np.maximum(self._count_squared, _TINY)

    @property
    def levels(self) -> Floats:
        """(s,) level without rhythm: the mean of what is expected over the windows that were learned."""
        shares = self._information[:, 0, :] / np.maximum(self._information[:, 0, :1], _TINY)
        levels: Floats = np.einsum("sp,sp->s", shares, self._effects)
        return levels

    def expect(self, effects: Ints) -> tuple[Floats, Floats]:
        """(l, s) what is expected of l windows with these (l, e) effects, and its variance in those of a window."""
        expected = self._effects[:, effects].sum(axis=2).T
        unknown = self._covariance[:, effects[:, :, None], effects[:, None, :]].sum(axis=(2, 3)).T
        return expected, np.where(self._fixed, 0.0, unknown)

    def spread(self) -> Spread:
        """Variances by the products of what windows were off by: those of neighbours share no error within them."""
        means = self._products / np.maximum(self._pairs, _TINY)
        errors = self._errors / np.maximum(self._pairs[0], _TINY)
        between = np.maximum(means[0] - errors, 0.0)
        shared, likeness = self._likeness(means, between)
        counted = self._pairs[0] ** 2 / np.maximum(self._pairs_squared, _TINY)
        of_errors = np.clip((means[0] * counted / np.maximum(errors, _TINY) + _TRUST) / (counted + _TRUST), 0.0, 1.0)
        correlation = likeness * shared / np.maximum(means[0], _TINY)
        excess = self._fourth / np.maximum(self._tested, 1.0) - 3 - 2 * np.sqrt(24 / np.maximum(2 * self._tested, 1.0))
        return Spread(
            alike=shared, likeness=likeness, own=between - shared, of_errors=of_errors,
            df=np.maximum(counted * (1 - correlation**2) / (1 + correlation**2), 2.0),
            tails=np.where(excess > 0, np.maximum(4 + 6 / np.maximum(excess, 1e-9), _HEAVIEST), np.inf),
        )  # fmt: skip

    def _likeness(self, means: Floats, between: Floats) -> tuple[Floats, Floats]:
        """(s,) variance that neighbours share, and its correlation from window to window.

        All that windows differ by is shared unless products further apart clearly say that it is a part: then these
        say how soon it is forgotten, and those of neighbours how much it is.

        means   (LAGS + 1, s) mean products at each distance;   between   (s,) variance beside errors within windows
        """
        lags, safe = np.arange(1, LAGS + 1)[:, None], np.maximum(between, _TINY)
        noise = _CLEARLY * means[0] ** 2 / np.maximum(self._pairs[1] * self.n_effective, 1.0) * self._count
        whole = np.clip(means[1] / safe, 0.0, _LIKENESS[-1])
        by_whole = ((means[1:] - between * whole**lags) ** 2).sum(axis=0)
        powers = _LIKENESS**lags
        parts = np.clip(np.einsum("ks,kg->sg", means[1:], powers) / (powers**2).sum(axis=0), 0.0, between[:, None])
        by_part = ((means[1:, :, None] - parts * powers[:, None, :]) ** 2).sum(axis=0)
        best = by_part.argmin(axis=1)
        is_part = by_whole - by_part.min(axis=1) > noise
        likeness = np.where(is_part, _LIKENESS[best], whole)
        shared = np.where(is_part, np.clip(means[1] / np.maximum(likeness, _TINY), 0.0, between), between)
        none = (means[1:] ** 2).sum(axis=0) - np.where(is_part, by_part.min(axis=1), by_whole) <= noise
        return np.where(none, 0.0, shared), np.where(none, 0.0, likeness)

    def learn(self, effects: Ints, off: Floats, windows: Learned, *, expected: Floats, errors: Floats) -> None:
        """Take in l windows.

        effects    (l, e) that they have;   off   (l, s) how far they were from what was expected
        expected   (l, s) by the effects as they were known then;   errors   (l, s) variances within, 0 where not known
        windows    which of them to learn from, and what is to be remembered of them; it is changed
        """
        used, unknown, z = windows.used, windows.unknown, windows.z
        values = expected + off
        decay, n = self._forget ** used.sum(axis=0), used.sum(axis=0)
        self._information *= decay[:, None, None]
        self._sums *= decay[:, None]
        for total in self._totals:
            total *= decay
        for squares in self._squared:
            squares *= decay**2
        weights = self._weights_of(errors) * used
        values = np.where(used, values, 0.0) * weights
        for own, weight, value in zip(effects, weights, values, strict=True):
            self._information[:, own[:, None], own] += weight[:, None, None]
            self._sums[:, own] += value[:, None]
        self._count += n
        self._count_squared += n
        self._usual_errors += (errors * used).sum(axis=0)
        self.n += n
        tested = used & np.isfinite(z)
        self._fourth += (np.clip(np.where(tested, z, 0.0), -_MOST_Z, _MOST_Z) ** 4).sum(axis=0)
        self._tested += tested.sum(axis=0)
        weights *= unknown <= _MOST_UNKNOWN
        windows.weights[LAGS:][used] = weights[used]
        windows.scaled[LAGS:][used] = (off / np.sqrt(1 + unknown) * weights)[used]
        self._learn_spread(windows, weights, errors)
        self._covariance, self._effects = self._solved()

    def _weights_of(self, errors: Floats) -> Floats:
        """Weights by the variance of windows: 1 for usual ones, less for those with large errors."""
        pairs = np.maximum(self._pairs[0], _TINY)
        between = np.maximum(self._products[0] / pairs - self._errors / pairs, 0.0)
        usual = between + self._usual_errors / np.maximum(self._count, 1.0)
        return np.where(usual > 0, np.clip(usual / np.maximum(between + errors, _TINY), *_WEIGHTS), 1.0)

    def _learn_spread(self, windows: Learned, weights: Floats, errors: Floats) -> None:
        scaled = windows.scaled[LAGS:] * windows.used
        for lag in range(LAGS + 1):
            earlier = slice(LAGS - lag, len(windows.scaled) - lag)
            self._products[lag] += (scaled * windows.scaled[earlier]).sum(axis=0)
            self._pairs[lag] += (weights * windows.weights[earlier]).sum(axis=0)
        self._errors += (errors * weights**2).sum(axis=0)
        self._pairs_squared += (weights**4).sum(axis=0)
        self._n_spread += (weights > 0).sum(axis=0)

    def _solved(self) -> tuple[Floats, Floats]:
        """Covariance of the effects, in variances of a window, and the effects."""
        covariance: Floats = np.linalg.inv(self._information + np.diag(self._ridge)).astype(np.float64)
        effects: Floats = np.where(self._fixed[:, None], 0.0, np.einsum("spq,sq->sp", covariance, self._sums))
        share = np.where(self._count > 0, self._count_squared / np.maximum(self._count, _TINY), 1.0)
        return covariance * share[:, None, None], effects
