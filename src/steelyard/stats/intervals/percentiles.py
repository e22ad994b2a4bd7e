"""Percentiles, such as the P95 of latencies, and their differences, with intervals that suppose no distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.percentiles import percentile_value
from steelyard.stats.intervals.inversion import ByInterval
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import Clusters, cluster_codes, cluster_sums, equal_pairs, finite, share

_FEWEST_IN_TIME = 10
_RARELY = NormalDist().inv_cdf(0.99)


@dataclass(frozen=True)
class PercentileInterval:
    """A percentile and the ends of its interval.

    value       by linear interpolation between the two nearest values; NaN without any
    low, high   values themselves; -inf or inf where n values are too few for that end to exist
    n_censored  how many of the n values are infinite: known to be large, and not how large
    n_effective as many independent values say as much; n without clusters
    """

    value: float
    low: float
    high: float
    n: int
    level: float
    n_censored: int = 0
    n_effective: int = 0


def percentile_interval(
    values: npt.ArrayLike, p: float, *, level: float = 0.95, clusters: Clusters | None = None, in_time: bool = False,
    in_order: bool = False,
) -> PercentileInterval:  # fmt: skip
    """A percentile of n values, between two of them by their ranks.

    values   (n,) such as milliseconds; inf for one that is known to be larger than all others
    p        share below the percentile, in (0, 1): 0.95 is P95
    level    coverage, in (0, 1); it is at least that, whatever the distribution
    clusters (n,) which values belong together: repetitions of one question, requests of one second; they count as so
             many independent values as say as much about this percentile.  None: each by itself
    in_time  whether clusters are numbered in time and neighbours are alike too, such as seconds in which a queue is
             long: more of them are then taken together, as far as 10 are left.  That holds the level of a queue at
             80% of its capacity over 5 minutes, and not over one (89% of intervals hold the P95 then)
    in_order whether values come in the order of time, one after the other, such as requests: where neighbours are more
             alike than chance has it, they count as so many as say as much in time, too
    Returns  low is -inf or high inf where n is too small: P95 has an upper end at 95% from 72 values on, P99 from 368;
             value and ends are inf where they fall on, or next to, an infinite value
    Raises   InputError for NaN or -inf, p or level outside (0, 1)
    Source   Conover, Practical Nonparametric Statistics, 1999, section 3.2: ranks from binomial quantiles.
             Clusters: Woodruff, Confidence Intervals for Medians and Other Position Measures, JASA 1952; Korn &
             Graubard, Confidence Intervals for Proportions with Small Expected Number of Positive Counts, Survey
             Methodology 1998.

    >>> interval = percentile_interval(range(1, 101), 0.5)
    >>> interval.value, interval.low, interval.high
    (50.5, 40.0, 61.0)
    """
    return percentile_intervals(values, [p], level=level, clusters=clusters, in_time=in_time, in_order=in_order)[0]


def percentile_intervals(
    values: npt.ArrayLike, shares: Sequence[float], *, level: float = 0.95, clusters: Clusters | None = None,
    in_time: bool = False, in_order: bool = False,
) -> list[PercentileInterval]:  # fmt: skip
    """Several percentiles of the same values, as of `percentile_interval`; they are sorted once."""
    values = np.asarray(values, dtype=np.float64)
    censored = np.isposinf(values)
    finite(np.where(censored, 0.0, values), n_axes=1, what="values")
    for p in shares:
        share(p, "the percentile's share")
    share(level, "level")
    sample = PercentileSample.of(values, clusters, in_time=in_time, in_order=in_order)
    return [sample.percentile(p).interval(level) for p in shares]


@dataclass(frozen=True, eq=False)
class PercentileSample:
    """Values in ascending order, of which percentiles are asked.

    values, codes   (n,) in the order that they came in; codes are of clusters, None where each stands by itself
    in_order        whether that is the order of time, and neighbours are more alike than chance has it
    """

    values: Floats
    ordered: Floats
    codes: Ints | None
    in_time: bool = False
    in_order: bool = False

    @classmethod
    def of(
        cls, values: Floats, clusters: Clusters | None, *, in_time: bool = False, in_order: bool = False
    ) -> PercentileSample:
        """Sort values once."""
        codes = None if clusters is None else cluster_codes(clusters, len(values))
        return cls(values, np.sort(values), codes, in_time, in_order and neighbours_alike(values))

    def percentile(self, p: float) -> Percentile:
        """One percentile, which then has an interval at any level."""
        value = percentile_value(self.ordered, p)
        blocks, n = list[tuple[float, int]](), len(self.values)
        if self.codes is not None and n:
            blocks = _design_effects(self.values, self.codes, p, value, in_time=self.in_time)
            if blocks[0][1] == n and not self.in_time:
                blocks = []
        if self.in_order:
            blocks += _design_effects(self.values, np.arange(n), p, value, in_time=True)
        return Percentile(self, p, value, blocks)


@dataclass(frozen=True, eq=False)
class Percentile:
    """A percentile of a sample.

    blocks   how much more the number of values beyond it varies than if each were by itself, and over how many blocks
             that was measured; none where each is by itself
    """

    sample: PercentileSample
    p: float
    value: float
    blocks: Sequence[tuple[float, int]]

    def interval(self, level: float) -> PercentileInterval:
        """The percentile with its interval."""
        ordered, n_effective = self.sample.ordered, self.n_effective(level)
        low, high = _ends(ordered, self.p, level, n_effective)
        n_censored = int(np.isposinf(ordered).sum())
        return PercentileInterval(self.value, low, high, len(ordered), level, n_censored, n_effective)

    def ends_between(self, level: float) -> tuple[float, float]:
        """Ends between two values, beyond which the percentile is in (1 - level) / 2 of cases, and not in fewer.

        That is nearly so, whatever the distribution: ranks and values are interpolated.  They are infinite where those
        of the interval are.

        Source   Beran & Hall, Interpolated Nonparametric Prediction Intervals and Confidence Intervals, JRSS B 1993.
        """
        ordered, n_effective = self.sample.ordered, self.n_effective(level)
        if not len(ordered):
            return -math.inf, math.inf
        (first, below), tail = _binomial(n_effective, self.p), (1 - level) / 2
        ranks = (first + np.arange(1, len(below) + 1)) * (len(ordered) + 1) / (n_effective + 1)
        low, high = (float(np.interp(share, below, ranks)) for share in (tail, 1 - tail))
        return (
            -math.inf if below[0] > tail else _at_rank(ordered, low)[0],
            math.inf if below[-1] < 1 - tail else _at_rank(ordered, high)[1],
        )

    def n_effective(self, level: float) -> int:
        """As many independent values as say as much.

        That is n over the design effect, in time the largest of all lengths of blocks.  Few blocks say little of how
        far they vary: Student's t takes its share off.
        """
        n = len(self.sample.ordered)
        if not self.blocks:
            return n
        counts = (n / max(effect, 1.0) * _certainty(n_blocks, level) for effect, n_blocks in self.blocks)
        return max(int(min(counts)), 1)


def _at_rank(ordered: Floats, rank: float) -> tuple[float, float]:
    """The value at a rank from 1, as lower and as upper end: next to an infinite one these differ."""
    place = min(max(rank, 1.0), len(ordered)) - 1
    first, second = float(ordered[math.floor(place)]), float(ordered[math.ceil(place)])
    if math.isinf(second):
        return first, second
    value = first + (place - math.floor(place)) * (second - first)
    return value, value


def _certainty(n_blocks: int, level: float) -> float:
    """By how much t's variance of so many blocks falls short of the normal's."""
    at = (1 + level) / 2
    return (NormalDist().inv_cdf(at) / t_quantile(at, n_blocks - 1)) ** 2 if n_blocks > 1 else 0.0


def _ends(ordered: Floats, p: float, level: float, n_effective: int) -> tuple[float, float]:
    """The ends by binomial quantiles of so many independent values."""
    n = len(ordered)
    if n == 0:
        return -math.inf, math.inf
    start, below = _binomial(n_effective, p)
    first, last = (start + int(np.searchsorted(below, tail)) for tail in ((1 - level) / 2, (1 + level) / 2))
    per = n / n_effective
    low = float(ordered[math.floor(first * per) - 1]) if first >= 1 else -math.inf
    high = float(ordered[min(math.ceil((last + 1) * per), n) - 1]) if last < n_effective else math.inf
    return low, high


def _design_effects(values: Floats, codes: Ints, p: float, value: float, *, in_time: bool) -> list[tuple[float, int]]:
    """Excess variance of counts of values beyond a percentile, by length of blocks, and the numbers of blocks.

    Source   Korn & Graubard 1998.
    """
    n, sizes = len(values), np.bincount(codes).astype(float)
    beyond, tail = (values > value, 1 - p) if p >= 0.5 else (values <= value, p)
    counts = np.bincount(codes, weights=beyond)
    effects = list[tuple[float, int]]()
    for length in _lengths(len(sizes), in_time):
        starts = np.arange(0, len(sizes), length)
        n_beyond, n_all = np.add.reduceat(counts, starts), np.add.reduceat(sizes, starts)
        more = _largest_again(n_beyond) if in_time else _whole_cluster(n_beyond, n_all)
        squares = ((n_beyond - n_all * tail) ** 2).sum() + more * (1 - tail) ** 2
        effects.append((float(squares / (n * tail * (1 - tail))), len(starts)))
    return effects


def _whole_cluster(n_beyond: Floats, n_all: Floats) -> float:
    """Pairs of a cluster more that lies beyond the percentile as a whole, though none has been seen yet.

    Its weight is the chance that two clusters, drawn with replacement, have as many values there, as in
    `mean_intervals`: where counts differ, they show how far they vary.
    """
    agreement = float(equal_pairs(n_beyond[None, :])[0]) / len(n_beyond) ** 2
    return agreement * float((n_all * (n_all - 1)).mean())


def _largest_again(n_beyond: Floats) -> float:
    """Pairs of another burst as large as the largest, each counted once: the next one may be in another second."""
    largest = float(n_beyond.max())
    return largest * (largest - 1) / 2


def neighbours_alike(values: Floats) -> bool:
    """True if values that follow each other are more alike than chance has it, over any length of blocks.

    Ranks are summed by 2, 4, 8, ... neighbours, while 10 such blocks are left: where sums vary more than those of drawn
    ranks do in 99 of 100 cases, by one of the lengths, values are alike.

    values   (n,) in the order of time; inf for what is known to be larger than all others

    >>> neighbours_alike(np.arange(100.0)), neighbours_alike(np.random.default_rng(1).random(100))
    (True, False)
    """
    n = len(values)
    places = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(places[2]) - (places[2] + 1) / 2)[places[1]]
    away = ranks - ranks.mean() if n else ranks
    variance = float((away**2).sum()) / max(n - 1, 1)
    for length in _lengths(n, in_time=True)[1:]:
        n_blocks = n // length
        sums = away[: n_blocks * length].reshape(n_blocks, length).sum(axis=1)
        # Sums of ranks drawn without replacement, and Wilson and Hilferty's chi-square.
        expected = variance * length * (1 - length / n)
        most = (1 - 2 / (9 * n_blocks) + _RARELY * math.sqrt(2 / (9 * n_blocks))) ** 3
        if variance and float((sums**2).sum()) > most * n_blocks * expected:
            return True
    return False


def _lengths(n_clusters: int, in_time: bool) -> list[int]:
    """Numbers of neighbouring clusters taken together: one; and in time 2, 4, 8, ... while 10 of them are left."""
    most = max(n_clusters // _FEWEST_IN_TIME, 1) if in_time else 1
    return [1 << power for power in range(most.bit_length())]


def _binomial(n: int, p: float) -> tuple[int, Floats]:
    """The first number that is not beyond all chance, and the chance of at most k successes in n, for k from it on.

    k is below n, and within 10 standard deviations and 50 of what is expected: beyond, the chance is below 1e-20.
    """
    expected, reach = n * p, 10 * math.sqrt(n * p * (1 - p)) + 50
    first, last = max(math.floor(expected - reach), 0), min(math.ceil(expected + reach), n - 1)
    k = np.arange(first + 1, last + 1)
    log_odds = math.log(p) - math.log1p(-p)
    start = n * math.log1p(-p)
    if first:
        start += math.lgamma(n + 1) - math.lgamma(first + 1) - math.lgamma(n - first + 1) + first * log_odds
    logs = np.concatenate(([0.0], np.cumsum(np.log((n - k + 1) / k) + log_odds))) + start
    return first, np.asarray(np.minimum(np.cumsum(np.exp(logs)), 1.0))


@dataclass(frozen=True, eq=False)
class PercentileDifference(ByInterval):
    """Difference by which a percentile of B is above that of A, on questions that both were asked.

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
        """Length of the difference's interval, from those of both percentiles, which are alike to some degree."""
        if math.isinf(a + b):
            return math.inf
        return math.sqrt(max(a**2 + b**2 - 2 * self.alike * a * b, 0.0))


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


def unpaired_percentiles(
    baseline: Floats, other: Floats, p: float, *, clusters: Ints | None = None, in_time: bool = False
) -> PercentileDifference:
    """The difference of a percentile of two systems, each over its own of n questions.

    baseline, other   (r, n) values of A and B in their runs, as of `percentile_difference`; NaN where it was not asked
    clusters          (n,) of questions that count as one, or None.  Those that both systems were asked, or that are of
                      one cluster, make both percentiles move together
    """
    codes = np.arange(baseline.shape[1]) if clusters is None else cluster_codes(clusters, baseline.shape[1])
    sums, parts = list[Floats](), list[Percentile]()
    for values in (baseline, other):
        there = ~np.isnan(values).any(axis=0)
        part = _percentile(values[:, there], codes[there], p, in_time)
        beyond = (values[:, there] > part.value).mean(axis=0)
        away = np.bincount(codes[there], weights=beyond - beyond.mean(), minlength=int(codes.max()) + 1)
        sums.append(away.astype(float))
        parts.append(part)
    return PercentileDifference(parts[0], parts[1], _correlation(np.stack(sums)))


def _percentile(values: Floats, codes: Ints, p: float, in_time: bool) -> Percentile:
    clusters = np.broadcast_to(codes, values.shape).ravel()
    return PercentileSample.of(values.ravel(), clusters, in_time=in_time).percentile(p)


def _correlation(sums: Floats) -> float:
    squares = (sums**2).sum(axis=1)
    return float((sums[0] * sums[1]).sum() / math.sqrt(squares.prod())) if squares.all() else 0.0
