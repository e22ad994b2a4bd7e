"""The difference of two means of different questions: Welch's t, with room for values that no question has shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.stats.intervals.inversion import ByInterval
from steelyard.stats.intervals.means import UNBOUNDED, guarded_or_skewed
from steelyard.stats.numerics import t_quantile
from steelyard.stats.power.detectable import detectable_errors
from steelyard.stats.samples import MeanError, mean_error, share


@dataclass(frozen=True, eq=False)
class UnpairedDifference(ByInterval):
    """The mean of one sample of questions less that of another.

    first, second   (n,) and (m,) values
    clusters        (n,) and (m,) codes of questions that count as one, or None; a code that is in both samples, as of
                    a question that is in both, makes their means move together
    bounds          lowest and highest value there can be
    """

    first: Floats
    second: Floats
    clusters: tuple[Ints, Ints] | None = None
    bounds: tuple[float, float] = UNBOUNDED

    @cached_property
    def means(self) -> tuple[MeanError, MeanError]:
        """Both means with their errors, by cluster as of `mean_error`."""
        codes = self.clusters or (None, None)
        return mean_error(self.first, clusters=codes[0]), mean_error(self.second, clusters=codes[1])

    @cached_property
    def alike(self) -> float:
        """Correlation of the two means by the clusters that are in both samples; 0 where none is.

        Products of summed residuals, each over the share of its sample that lies outside the cluster: CR2 of Bell and
        McCaffrey, of a regression on which sample a value is of.
        """
        if self.clusters is None or not {*self.clusters[0].tolist()} & {*self.clusters[1].tolist()}:
            return 0.0
        n_codes = 1 + max(int(codes.max()) for codes in self.clusters)
        sums = [
            _adjusted_sums(values, codes, n_codes)
            for values, codes in zip((self.first, self.second), self.clusters, strict=True)
        ]
        squares = [float((own**2).sum()) for own in sums]
        return float((sums[0] * sums[1]).sum() / math.sqrt(math.prod(squares))) if all(squares) else 0.0

    @cached_property
    def average(self) -> MeanError:
        """The difference with its standard error, and Welch's degrees of freedom.

        They are at most one less than the number of clusters in both samples together.  The error is NaN where either
        sample has fewer than two questions or clusters.
        Source   Welch, The Generalization of Student's Problem When Several Different Population Variances Are
                 Involved, Biometrika 1947.
        """
        a, b = self.means
        n, value = a.n + b.n, b.mean - a.mean
        if a.reason or b.reason:
            return MeanError(value, math.nan, min(a.df, b.df), n)
        squares = a.error**2 + b.error**2
        error = math.sqrt(max(squares - 2 * self.alike * a.error * b.error, 0.0))
        df = squares**2 / (a.error**4 / a.df + b.error**4 / b.df) if squares else min(a.df, b.df)
        if self.clusters is not None:
            df = min(df, len({*self.clusters[0].tolist()} | {*self.clusters[1].tolist()}) - 1)
        return MeanError(value, error, max(df, 1.0), n)

    @property
    def effect(self) -> float:
        """The difference in standard deviations, of the root mean square of both, with Hedges' correction; else NaN."""
        average, n = self.average, min(len(self.first), len(self.second))
        sd = math.sqrt((self.first.var(ddof=1) + self.second.var(ddof=1)) / 2) if n > 1 else 0.0
        return average.mean / sd * (1 - 3 / (4 * average.df - 1)) if sd else math.nan

    def interval(self, level: float) -> tuple[float, float]:
        """Both ends: each as far away as those of both means beside it together, by Pythagoras, less what is shared.

        The means' own ends are Student's, widened for values that no question has shown (`mean_intervals`), or moved
        towards a long tail where there is no bound (`skewed_intervals`).  So the interval is no shorter than Welch's:
        where one sample has only equal values, Welch's error knows nothing of it, and its intervals cover as little as
        37%.

        level     coverage, in (0, 1)
        Returns   infinite ends where a mean has no interval
        Source    Zou & Donner, Construction of Confidence Limits about Effect Measures, Statistics in Medicine 2008.

        >>> june = UnpairedDifference(np.array([0.4, 0.5, 0.6, 0.5]), np.array([0.8, 0.7, 0.9, 0.9, 0.7]))
        >>> [round(end, 3) for end in june.interval(0.95)], round(june.p, 4)
        ([0.095, 0.494], 0.0207)
        """
        share(level, "level")
        if self.average.reason or math.isnan(self.average.error):
            return -math.inf, math.inf
        codes = self.clusters or (None, None)
        (a, a_low, a_high), (b, b_low, b_high) = (
            (mean.mean, *guarded_or_skewed(values, level=level, bounds=self.bounds, clusters=own))
            for mean, values, own in zip(self.means, (self.first, self.second), codes, strict=True)
        )
        down, up = self._length(b - b_low, a_high - a), self._length(b_high - b, a - a_low)
        return self.average.mean - down, self.average.mean + up

    def detectable(self, *, alpha: float = 0.05, n_comparisons: int = 1) -> float:
        """The difference that such samples show in 80 of 100 cases, were their spread the same.

        By the interval at this level, alpha shared among the comparisons: where it is longer than Welch's by what it
        leaves for unseen values, it takes a larger difference.
        Returns   NaN where there is no interval
        """
        average, level = self.average, 1 - alpha / n_comparisons
        low, high = self.interval(level)
        if not (average.error > 0 and math.isfinite(high - low)):
            return math.nan
        longer = max(average.mean - low, high - average.mean) / t_quantile((1 + level) / 2, average.df)
        errors = detectable_errors(average.n, df=average.df, alpha=alpha, n_comparisons=n_comparisons)
        return errors * max(longer, average.error)

    def _length(self, one: float, other: float) -> float:
        """Length of one side of the interval; infinite where a mean has no end there."""
        if not math.isfinite(one + other):
            return math.inf
        return math.sqrt(max(one**2 + other**2 - 2 * self.alike * one * other, 0.0))


def unpaired_difference(
    values: Floats, places: tuple[int, int], *, clusters: Ints | None = None, bounds: tuple[float, float] = UNBOUNDED
) -> UnpairedDifference:
    """The difference of two rows of values, each over its own questions.

    values     (s, q) of s systems; NaN for a question that a system was not asked
    places     of the first and the second row;   clusters   (q,) codes from 0, or None
    bounds     lowest and highest value there can be; infinite where there is none
    Raises     InputError for infinite values

    >>> values = np.array([[0.0, 1.0, 0.5, np.nan, np.nan], [np.nan, np.nan, 0.5, 1.0, 1.0]])
    >>> difference = unpaired_difference(values, (0, 1), bounds=(0, 1))
    >>> round(difference.average.mean, 3), round(difference.alike, 3)
    (0.333, 0.0)
    """
    rows = [values[place] for place in places]
    if np.isinf(rows).any():
        raise InputError(
            "values hold infinite ones, whose mean says nothing; compare percentiles, such as latency_ms:p95"
        )
    there = [~np.isnan(row) for row in rows]
    codes = np.arange(values.shape[1]) if clusters is None else clusters
    shared = clusters is not None or (there[0] & there[1]).any()
    return UnpairedDifference(
        rows[0][there[0]], rows[1][there[1]],
        clusters=(codes[there[0]], codes[there[1]]) if shared else None, bounds=bounds,
    )  # fmt: skip


def _adjusted_sums(values: Floats, codes: Ints, n_codes: int) -> Floats:
    """(n_codes,) residuals summed by cluster, over the root of the share that is outside; 0 of one that has none."""
    away, sizes = values - values.mean(), np.bincount(codes, minlength=n_codes)
    return np.asarray(np.bincount(codes, weights=away, minlength=n_codes) / np.sqrt(1 - sizes / len(values)))
