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
_LAGS = 4
_LIKENESS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95])
_TRUST = 50.0
"""Windows that errors within windows are worth, where windows differ by less than these say."""
_HEAVIEST, _MOST_Z, _WEIGHTS, _TINY = 4.5, 6.0, (0.01, 100.0), 1e-300


@dataclass(frozen=True, eq=False)
class Rhythm:
    """What windows have by their hour and weekday: effects that are added.

    effects      (t, e) which of the effects each window has; the first one is the level, and the last one is none
    n_effects    of them, that one among them
    """

    effects: Ints
    n_effects: int

    @classmethod
    def of(cls, weekdays: Ints, hours: Ints | None) -> Rhythm:
        """Of weekdays, from 0, Monday, and of hours of the day at which windows begin; None for days.

        An hour of a weekend has an effect of its own beside those of the hour and of the weekday.

        >>> Rhythm.of(np.array([0, 5]), None).effects.tolist()
        [[0, 1], [0, 6]]
        """
        columns = [np.zeros_like(weekdays), 1 + weekdays]
        if hours is not None:
            columns += [8 + hours, np.where(weekdays >= 5, 32 + hours, 56)]
        return cls(np.stack(columns, axis=1), 57 if hours is not None else 9)

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


class Usual:
    """What is usual of s series, by the windows that were learned, of which later ones count more."""

    def __init__(self, n_series: int, n_effects: int, *, memory: int, fixed: Bools) -> None:
        """Nothing learned yet.

        memory   windows after which one counts a third of a new one;   fixed   (s,) series whose level is known to be 0
        """
        self._forget, self._fixed = float(np.exp(-1 / memory)), fixed
        self._information = np.zeros((n_series, n_effects, n_effects))
        self._sums = np.zeros((n_series, n_effects))
        self._ridge = np.full(n_effects, _RIDGE)
        self._ridge[[0, -1]] = _LEVEL_RIDGE, _NONE_RIDGE
        self._products, self._pairs = np.zeros((_LAGS + 1, n_series)), np.zeros((_LAGS + 1, n_series))
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
        self._last, self._last_weights = np.zeros((_LAGS, n_series)), np.zeros((_LAGS, n_series))
        self._n_spread, self.n = np.zeros(n_series, np.int64), np.zeros(n_series, np.int64)
        self._covariance, self._effects = self._solved()

    @property
    def is_ready(self) -> Bools:
        """(s,) whether enough was learned for limits."""
        ready: Bools = (self.n >= LEAST_WINDOWS) & (self._n_spread >= _LEAST_TESTED)
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
        powers = _LIKENESS ** np.arange(1, _LAGS + 1)[:, None]
        norms = np.maximum((powers**2).sum(axis=0), 1e-12)
        alike = np.clip(np.einsum("ks,kg->sg", means[1:], powers) / norms, 0.0, between[:, None])
        misfit = ((means[1:, :, None] - alike * powers[:, None, :]) ** 2).sum(axis=0)
        best = misfit.argmin(axis=1)
        shared = np.where(best > 0, alike[np.arange(len(best)), best], 0.0)
        counted = self._pairs[0] ** 2 / np.maximum(self._pairs_squared, _TINY)
        of_errors = np.clip((means[0] * counted / np.maximum(errors, _TINY) + _TRUST) / (counted + _TRUST), 0.0, 1.0)
        correlation = _LIKENESS[best] * shared / np.maximum(means[0], _TINY)
        excess = self._fourth / np.maximum(self._tested, 1.0) - 3 - 2 * np.sqrt(24 / np.maximum(2 * self._tested, 1.0))
        return Spread(
            alike=shared, likeness=_LIKENESS[best], own=between - shared, of_errors=of_errors,
            df=np.maximum(counted * (1 - correlation**2) / (1 + correlation**2), 2.0),
            tails=np.where(excess > 0, np.maximum(4 + 6 / np.maximum(excess, 1e-9), _HEAVIEST), np.inf),
        )  # fmt: skip

    def learn(
        self, effects: Ints, values: Floats, off: Floats, z: Floats, *, unknown: Floats, errors: Floats, used: Bools
    ) -> None:
        """Take in l windows.

        effects   (l, e) that they have;   values   (l, s);   off   (l, s) from what was expected
        z         (l, s) the same as standard scores;   unknown   (l, s) variance of what was expected, of `expect`
        errors    (l, s) variances within windows, 0 where not known;   used   (l, s) windows to learn from
        """
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
        self._learn_spread(np.where(used, off, 0.0), weights * (unknown <= _MOST_UNKNOWN), unknown, errors)
        self._covariance, self._effects = self._solved()

    def _weights_of(self, errors: Floats) -> Floats:
        """Weights by the variance of windows: 1 for usual ones, less for those with large errors."""
        pairs = np.maximum(self._pairs[0], _TINY)
        between = np.maximum(self._products[0] / pairs - self._errors / pairs, 0.0)
        usual = between + self._usual_errors / np.maximum(self._count, 1.0)
        return np.where(usual > 0, np.clip(usual / np.maximum(between + errors, _TINY), *_WEIGHTS), 1.0)

    def _learn_spread(self, off: Floats, weights: Floats, unknown: Floats, errors: Floats) -> None:
        scaled = np.concatenate([self._last, off / np.sqrt(1 + unknown) * weights])
        weighed = np.concatenate([self._last_weights, weights])
        for lag in range(_LAGS + 1):
            earlier, later = slice(_LAGS - lag, len(scaled) - lag), slice(_LAGS, None)
            self._products[lag] += (scaled[later] * scaled[earlier]).sum(axis=0)
            self._pairs[lag] += (weighed[later] * weighed[earlier]).sum(axis=0)
        self._errors += (errors * weights**2).sum(axis=0)
        self._pairs_squared += (weights**4).sum(axis=0)
        self._n_spread += (weights > 0).sum(axis=0)
        self._last, self._last_weights = scaled[-_LAGS:], weighed[-_LAGS:]

    def _solved(self) -> tuple[Floats, Floats]:
        """Covariance of the effects, in variances of a window, and the effects."""
        covariance: Floats = np.linalg.inv(self._information + np.diag(self._ridge)).astype(np.float64)
        effects: Floats = np.where(self._fixed[:, None], 0.0, np.einsum("spq,sq->sp", covariance, self._sums))
        share = np.where(self._count > 0, self._count_squared / np.maximum(self._count, _TINY), 1.0)
        return covariance * share[:, None, None], effects
