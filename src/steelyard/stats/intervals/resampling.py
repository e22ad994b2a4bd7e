"""Intervals by resampling questions, of any statistic that is a function of sums over questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import checked_seed, share, whole

Statistics = Callable[[Floats], Floats]
"""From (b, ...) sums to (b, m) statistics of each; NaN where a statistic is undefined."""
N_RESAMPLES = 10_000
_NORMAL = NormalDist()
_CELLS_AT_ONCE = 1 << 22
_LEAST_DEFINED = 0.95


@dataclass(frozen=True)
class Resampled:
    """Statistics of all questions, and the ends of their intervals.

    values      (m,) NaN where undefined
    low, high   (m,) NaN where there is no interval: fewer than two questions, no spread between resamples, or undefined
                in more than one resample of twenty
    above       (m,) share of the resamples in which it is above 0, and half of those in which it is 0; NaN where low is
    """

    values: Floats
    low: Floats
    high: Floats
    above: Floats


def cluster_bootstrap(
    sums: Floats, statistics: Statistics, *, level: float = 0.95, n_resamples: int = N_RESAMPLES, seed: int = 0
) -> Resampled:
    """Bias-corrected and accelerated intervals of statistics of whole questions, drawn with replacement.

    The ends are as far out as Student's t is of so many questions, since few questions show less spread than there is.

    sums         (q, ...) what each question adds, such as its table of two raters' labels
    statistics   from (b, ...) such sums to (b, m) values
    Source       Efron, Better Bootstrap Confidence Intervals, JASA 1987; the tails' share by Hesterberg, What Teachers
                 Should Know About the Bootstrap, The American Statistician 2015, section 4.2.

    >>> tables = np.array([[[8.0, 1.0], [1.0, 6.0]], [[5.0, 2.0], [0.0, 7.0]], [[9.0, 0.0], [3.0, 4.0]]])
    >>> from steelyard.stats.labels.raters import kappa_of_counts
    >>> kappa = cluster_bootstrap(tables, lambda sums: kappa_of_counts(sums)[:, None])
    >>> kappa.values.round(3), bool(kappa.low[0] < kappa.values[0] < kappa.high[0])
    (array([0.692]), True)
    """
    share(level, "level")
    whole(n_resamples, "n_resamples")
    q = len(sums)
    total = sums.sum(axis=0, keepdims=True)
    values = statistics(total)[0]
    if q < 2:
        return Resampled(values, *np.full((3, len(values)), np.nan))
    # Questions that add the same are alike: items of few categories make few kinds.
    kinds, counts = np.unique(sums.reshape(q, -1), axis=0, return_counts=True)
    shape = sums.shape[1:]
    draws = _draws(kinds, counts, shape, statistics, n_resamples=n_resamples, seed=seed)
    without = statistics(total - kinds.reshape(-1, *shape))
    ends = [_ends(values[m], draws[:, m], without[:, m], counts, level=level) for m in range(len(values))]
    low, high = np.array(ends).reshape(-1, 2).T
    return Resampled(values, low, high, np.where(np.isnan(low), np.nan, _share_above(draws)))


def _draws(
    kinds: Floats, counts: Ints, shape: tuple[int, ...], statistics: Statistics, *, n_resamples: int, seed: int
) -> Floats:
    """(b, m) statistics of resamples."""
    at_once = max(1, _CELLS_AT_ONCE // max(len(kinds), kinds.shape[1]))
    if n_resamples <= at_once:
        blocks: Iterable[Floats] = [_drawn(counts.tobytes(), n_resamples, checked_seed(seed))]
    else:
        blocks = _drawn_in_blocks(counts, n_resamples, checked_seed(seed), at_once)
    return np.concatenate([statistics((drawn @ kinds).reshape(len(drawn), *shape)) for drawn in blocks])


def _drawn_in_blocks(counts: Ints, n_resamples: int, seed: int, at_once: int) -> Iterator[Floats]:
    """Blocks of (b, kinds) how often each kind is drawn, in so many resamples at once."""
    rng, q = np.random.default_rng(seed), int(counts.sum())
    for start in range(0, n_resamples, at_once):
        n = min(at_once, n_resamples - start)
        yield rng.multinomial(q, counts / q, size=n).astype(float)


# To draw takes most of the time, and systems on the same questions, which mostly differ, have the same draws.
@lru_cache(maxsize=1)
def _drawn(counts: bytes, n_resamples: int, seed: int) -> Floats:
    (drawn,) = _drawn_in_blocks(np.frombuffer(counts, dtype=np.intp), n_resamples, seed, n_resamples)
    return drawn


def _share_above(draws: Floats) -> Floats:
    """(m,) share of the defined (b, m) draws that are above 0, and half of those that are 0."""
    n_defined = np.maximum(np.isfinite(draws).sum(axis=0), 1)
    return np.asarray(((draws > 0).sum(axis=0) + (draws == 0).sum(axis=0) / 2) / n_defined)


def _ends(value: float, draws: Floats, without: Floats, counts: Ints, *, level: float) -> tuple[float, float]:
    """Both ends of one statistic's interval, from its resamples and from all but one question of each kind."""
    defined = draws[np.isfinite(draws)]
    if not math.isfinite(value) or len(defined) < _LEAST_DEFINED * len(draws) or np.ptp(defined) < 1e-12:
        return math.nan, math.nan
    q = int(counts.sum())
    below = (np.count_nonzero(defined < value - 1e-12) + np.count_nonzero(defined <= value + 1e-12)) / 2 / len(defined)
    # Where all resamples are on one side, the bias is as far as so many can show.
    bias = _NORMAL.inv_cdf(min(max(below, 0.5 / len(defined)), 1 - 0.5 / len(defined)))
    acceleration = _acceleration(without, counts)
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = bias + math.sqrt(q / (q - 1)) * t_quantile(tail, q - 1)
        # The ends may not meet again beyond the turning point of the correction.
        shifted = bias + z / (1 - acceleration * z) if acceleration * z < 1 else math.copysign(math.inf, z)
        ends.append(_NORMAL.cdf(shifted))
    low, high = np.quantile(defined, ends)
    return float(low), float(high)


def _acceleration(without: Floats, counts: Ints) -> float:
    """Rate at which the standard error changes with the value, from the jackknife; 0 where that is undefined."""
    usable = np.isfinite(without)
    values, weights = without[usable], counts[usable]
    if len(values) < 2:
        return 0.0
    away = (values * weights).sum() / weights.sum() - values
    squares = float((weights * away**2).sum())
    return float((weights * away**3).sum() / (6 * squares**1.5)) if squares > 0 else 0.0
