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
_RIDGE, _LEVEL_RIDGE = 1e-3, 1e-9
"""Precision, in windows, with which an hour or a weekday is taken to be as any other, before it was seen."""
_LAGS = 4
_LIKENESS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95])
_HEAVIEST = 4.5


def rhythm(weekdays: Ints, hours: Ints | None) -> Floats:
    """Columns that are 1 in windows of a weekday, of an hour, of an hour of a weekend, and in all windows.

    weekdays   (n,) from 0, Monday;   hours   (n,) of the day at which windows begin, or None for days
    Returns    (n, p), the first column that of all windows

    >>> rhythm(np.array([0, 5]), None)
    array([[1., 1., 0., 0., 0., 0., 0., 0.],
           [1., 0., 0., 0., 0., 0., 1., 0.]])
    """
    columns = [np.ones((len(weekdays), 1)), np.eye(7)[weekdays]]
    if hours is not None:
        of_day = np.eye(24)[hours][:, np.bincount(hours, minlength=24) > 0]
        columns += [of_day, of_day * (weekdays >= 5)[:, None]]
    return np.concatenate(columns, axis=1)


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

    def __init__(self, n_series: int, n_features: int, *, memory: int, fixed: Bools) -> None:
        """Nothing learned yet.

        memory   windows after which one counts a third of a new one;   fixed   (s,) series whose level is known to be 0
        """
        self._forget, self._fixed = float(np.exp(-1 / memory)), fixed
        self._information = np.zeros((n_series, n_features, n_features))
        self._sums = np.zeros((n_series, n_features))
        self._ridge = np.full(n_features, _RIDGE)
        self._ridge[0] = _LEVEL_RIDGE
        self._products, self._pairs = np.zeros((_LAGS + 1, n_series)), np.zeros((_LAGS + 1, n_series))
        self._errors, self._fourth, self._tested = np.zeros(n_series), np.zeros(n_series), np.zeros(n_series)
        self._weights, self._squares = np.zeros(n_series), np.zeros(n_series)
        self._last, self._last_used = np.zeros((_LAGS, n_series)), np.zeros((_LAGS, n_series))
        self.n = np.zeros(n_series, np.int64)
        self._covariance, self._effects = self._solved()

    @property
    def is_ready(self) -> Bools:
        """(s,) whether enough was learned for limits."""
        ready: Bools = (self.n >= LEAST_WINDOWS) & (self._pairs[0] >= _LEAST_TESTED)
        return ready

    @property
    def n_effective(self) -> Floats:
        """(s,) windows of equal count that would say as much about a mean as those that were learned."""
        return self._weights**2 / np.maximum(self._squares, 1e-300)

    @property
    def levels(self) -> Floats:
        """(s,) level without rhythm: the mean of what is expected over the windows that were learned."""
        shares = self._information[:, 0, :] / np.maximum(self._information[:, 0, :1], 1e-300)
        levels: Floats = np.einsum("sp,sp->s", shares, self._effects)
        return levels

    def expect(self, features: Floats) -> tuple[Floats, Floats]:
        """(l, s) what is expected in l windows, and its variance in variances of a window."""
        expected = features @ self._effects.T
        seen = np.tensordot(features, self._covariance, (1, 1))
        unknown = np.einsum("lsp,lp->ls", seen, features)
        return expected, np.where(self._fixed, 0.0, unknown)

    def spread(self) -> Spread:
        """Variances by the products of what windows were off by: those of neighbours share no error within them."""
        means = self._products / np.maximum(self._pairs, 1e-300)
        errors = self._errors / np.maximum(self._pairs[0], 1e-300)
        between = np.maximum(means[0] - errors, 0.0)
        powers = _LIKENESS ** np.arange(1, _LAGS + 1)[:, None]
        norms = np.maximum((powers**2).sum(axis=0), 1e-12)
        alike = np.clip(np.einsum("ks,kg->sg", means[1:], powers) / norms, 0.0, between[:, None])
        misfit = ((means[1:, :, None] - alike * powers[:, None, :]) ** 2).sum(axis=0)
        best = misfit.argmin(axis=1)
        shared = np.where(best > 0, alike[np.arange(len(best)), best], 0.0)
        of_errors = np.clip(means[0] / np.maximum(errors, 1e-300), 0.0, 1.0)
        correlation = _LIKENESS[best] * shared / np.maximum(means[0], 1e-300)
        counted = self._pairs[0] * self._weights / np.maximum(self._squares, 1e-300)
        excess = self._fourth / np.maximum(self._tested, 1.0) - 3 - 2 * np.sqrt(24 / np.maximum(2 * self._tested, 1.0))
        return Spread(
            alike=shared, likeness=_LIKENESS[best], own=between - shared, of_errors=of_errors,
            df=np.maximum(counted * (1 - correlation**2) / (1 + correlation**2), 2.0),
            tails=np.where(excess > 0, np.maximum(4 + 6 / np.maximum(excess, 1e-9), _HEAVIEST), np.inf),
        )  # fmt: skip

    def learn(
        self,
        features: Floats,
        values: Floats,
        residuals: Floats,
        z: Floats,
        *,
        unknown: Floats,
        errors: Floats,
        used: Bools,
    ) -> None:
        """Take in l windows.

        features (l, p);   values (l, s);   residuals (l, s) values less what was expected;   z   (l, s) standardised
        unknown  (l, s) variance of what was expected, as `expect` has it;   errors (l, s) squared, 0 where not known
        used     (l, s) windows to learn from
        """
        weights = self._window_weights(errors) * used
        decay = self._forget ** used.sum(axis=0)
        self._information *= decay[:, None, None]
        self._sums *= decay[:, None]
        for total in (self._products, self._pairs, self._errors, self._fourth, self._tested, self._weights):
            total *= decay
        self._squares *= decay**2
        values = np.where(used, values, 0.0)
        weighted = features[:, None, :] * weights[:, :, None]
        self._information += np.einsum("lsp,lq->spq", weighted, features, optimize=True)
        self._sums += np.einsum("lsp,ls->sp", weighted, values)
        self._weights += used.sum(axis=0)
        self._squares += used.sum(axis=0)
        self.n += used.sum(axis=0)
        self._learn_spread(np.where(used, residuals, 0.0), unknown, errors, used)
        tested = used & np.isfinite(z)
        self._fourth += (np.clip(np.where(tested, z, 0.0), -6, 6) ** 4).sum(axis=0)
        self._tested += tested.sum(axis=0)
        self._covariance, self._effects = self._solved()

    def _window_weights(self, errors: Floats) -> Floats:
        """Weights by the variance of windows: 1 for usual ones, less for those with large errors."""
        total = self._products[0] / np.maximum(self._pairs[0], 1e-300)
        usual = self._errors / np.maximum(self._pairs[0], 1e-300)
        variance = np.maximum(total - usual, 0.0) + errors
        return np.where(total > 0, np.clip(total / np.maximum(variance, 1e-300), 0.01, 10.0), 1.0)

    def _learn_spread(self, residuals: Floats, unknown: Floats, errors: Floats, used: Bools) -> None:
        counted = (used & (unknown <= _MOST_UNKNOWN)).astype(np.float64)
        scaled = residuals / np.sqrt(1 + unknown) * counted
        all_scaled = np.concatenate([self._last, scaled])
        all_counted = np.concatenate([self._last_used, counted])
        for lag in range(_LAGS + 1):
            earlier = slice(_LAGS - lag, len(all_scaled) - lag)
            self._products[lag] += (scaled * all_scaled[earlier]).sum(axis=0)
            self._pairs[lag] += (counted * all_counted[earlier]).sum(axis=0)
        self._errors += (errors * counted).sum(axis=0)
        self._last, self._last_used = all_scaled[-_LAGS:], all_counted[-_LAGS:]

    def _solved(self) -> tuple[Floats, Floats]:
        """Covariance of the effects, in variances of a window, and the effects."""
        covariance: Floats = np.linalg.inv(self._information + np.diag(self._ridge)).astype(np.float64)
        effects: Floats = np.where(self._fixed[:, None], 0.0, np.einsum("spq,sq->sp", covariance, self._sums))
        share = np.where(self._weights > 0, self._squares / np.maximum(self._weights, 1e-300), 1.0)
        return covariance * share[:, None, None], effects
