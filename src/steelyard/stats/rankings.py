"""Rankings of the same systems: how far two agree, how sure the first place is, and what nothing beats on all axes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Bools, Floats
from steelyard.base.errors import InputError
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import ROUNDING, Clusters, cluster_codes, cluster_sums, finite, mean_error
from steelyard.stats.tests.paired import on_grid, sign_blocks, t_test

_ROWS_AT_ONCE = 1 << 8


def kendall_tau(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Kendall's tau-b between two scorings of the same s systems; ties, also by rounding alone, are allowed for.

    first, second   (s,) scores, larger being better
    Returns         in [-1, 1]; NaN where either ties all systems, or for fewer than two systems
    Raises          InputError for NaN, unequal lengths
    Source          Kendall 1938, 1945.

    >>> round(kendall_tau([0.4, 0.3, 0.2, 0.1], [0.4, 0.2, 0.3, 0.1]), 4)
    0.6667
    """
    one, other = _both(first, second)
    # Counts of ordered pairs are whole numbers, so agreement is exactly 1 and reversal exactly -1.
    counts = np.zeros(3, np.int64)
    for start in range(0, len(one), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        a, b = _order(one[rows], one), _order(other[rows], other)
        counts += (a * b).sum(dtype=np.int64), np.count_nonzero(a), np.count_nonzero(b)
    both, *squares = counts.tolist()
    return both / math.sqrt(squares[0] * squares[1]) if all(squares) else math.nan


def tau_ap(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    """AP correlation of an estimated ranking with the true one: Kendall's tau with the weight at the top.

    For each system of the estimated ranking but the first: the share of the systems above it that truly belong
    there; their mean, scaled to [-1, 1].  Not symmetric.

    Ties are settled by expectation: the value is the mean over all ways of breaking the ties of either ranking, each
    equally likely (Urbano & Marrero's tau_AP,a).  A ranking of nothing but ties therefore gives 0.

    truth, estimate   (s,) scores of the same systems, larger being better
    Returns           in [-1, 1]; NaN for fewer than two systems
    Raises            InputError for NaN, unequal lengths
    Source            Yilmaz, Aslam & Robertson, A New Rank Correlation Coefficient for Information Retrieval, SIGIR
                      2008; Urbano & Marrero, The Treatment of Ties in AP Correlation, ICTIR 2017.

    >>> round(tau_ap([0.4, 0.3, 0.2, 0.1], [0.3, 0.4, 0.2, 0.1]), 4), round(tau_ap([4, 3, 2, 1], [4, 3, 1, 2]), 4)
    (0.3333, 0.7778)
    """
    first, second = _both(truth, estimate)
    s = len(first)
    if s < 2:
        return math.nan
    order = np.argsort(-second, kind="stable")
    starts = [0, *(np.flatnonzero(_apart(second[order][:-1], second[order][1:])) + 1).tolist()]
    total = 0.0
    for start, stop in zip(starts, [*starts[1:], s], strict=True):
        tied = order[start:stop]
        # Chances that the truth puts those before above each of these.
        right_before = ((1 - _order(first[tied], first[order[:start]])) / 2).sum(axis=1).mean()
        for place in range(max(start, 1), stop):
            # Of a pair within the tie, one is above the other: half of them are right, whatever the truth.
            total += (right_before + (place - start) / 2) / place
    return float(2 * total / (s - 1) - 1)


@dataclass(frozen=True)
class RankBiasedOverlap:
    """Rank-biased overlap of two rankings.

    extrapolated   what it is if the seen agreement goes on, in [low, high]
    low, high      what it is if everything unseen differs, agrees
    """

    extrapolated: float
    low: float
    high: float


def rank_biased_overlap(first: Sequence[Hashable], second: Sequence[Hashable], *, p: float = 0.9) -> RankBiasedOverlap:
    """Mean overlap of two rankings over all depths, depth d weighing (1 - p) p**(d - 1).

    They may differ in length and in what they hold.

    first, second   ids, best first, of any lengths; ties have to be settled before
    p               how far down one looks, in (0, 1): the mean depth is 1 / (1 - p)
    Raises          InputError for an empty ranking, an id that is in one twice, p outside (0, 1)
    Source          Webber, Moffat & Zobel, A Similarity Measure for Indefinite Rankings, TOIS 2010: extrapolation by
                    their equation 32; the bounds hold also where one ranking is longer.

    >>> overlap = rank_biased_overlap("abc", "acb", p=0.5)
    >>> round(overlap.extrapolated, 4), round(overlap.low, 4), round(overlap.high, 4)
    (0.875, 0.8294, 0.875)
    """
    if not 0 < p < 1:
        raise InputError(f"p is {p}, expected a number between 0 and 1, such as 0.9")
    short, long = sorted((_ids(first), _ids(second)), key=len)
    s, n = len(short), len(long)
    shared = _overlaps(short, long)
    seen = shared[-1]
    depths = np.arange(1, n + 1)
    weights = (1 - p) * p ** (depths - 1.0)
    # Agreement weighs p**d / d at depth d; over all depths that sums to -log(1 - p).
    beyond = max(0.0, -math.log1p(-p) - float((p**depths / depths).sum())) * (1 - p) / p
    low = float((weights * shared / depths).sum()) + seen * beyond
    carried = np.maximum(depths - s, 0) * shared[s - 1] / (s * depths)
    last = (seen - shared[s - 1]) / n + shared[s - 1] / s
    extrapolated = float((weights * (shared / depths + carried)).sum()) + last * p**n
    full = int(n + s - seen)
    reach = np.arange(1, full + 1)
    most = np.concatenate([shared, np.full(full - n, seen)]) + np.maximum(reach - s, 0) + np.maximum(reach - n, 0)
    high = float(((1 - p) * p ** (reach - 1.0) * most / reach).sum()) + p**full
    # Rounding must not put the three out of order.
    low = min(low, 1.0)
    high = min(max(low, high), 1.0)
    return RankBiasedOverlap(float(min(max(extrapolated, low), high)), float(low), float(high))


def _overlaps(short: list[Hashable], long: list[Hashable]) -> Floats:
    """(n,) how many ids the rankings share among their first 1, 2, … n; the short one ends before."""
    met: set[Hashable] = set()
    both, shared = 0, list[float]()
    for place, item in enumerate(long):
        for new in [item, *short[place : place + 1]]:
            both += new in met
            met.add(new)
        shared.append(float(both))
    return np.array(shared)


def _ids(ranking: Sequence[Hashable]) -> list[Hashable]:
    ids = list(ranking)
    if not ids:
        raise InputError("a ranking is empty; expected at least one id")
    twice = [item for item, count in Counter(ids).items() if count > 1]
    if twice:
        raise InputError(f"{twice[0]!r} is in a ranking twice; expected each id once")
    return ids


def _both(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[Floats, Floats]:
    a, b = finite(first, n_axes=1, what="scores"), finite(second, n_axes=1, what="scores")
    if a.shape != b.shape:
        raise InputError(f"scores of {len(a)} and of {len(b)} systems; expected the same systems in both")
    return a, b


def _apart(first: Floats, second: Floats) -> npt.NDArray[np.bool_]:
    return np.abs(first - second) > ROUNDING * np.maximum(np.abs(first), np.abs(second))


def _order(scores: Floats, others: Floats) -> npt.NDArray[np.int8]:
    """(r, s) at [i, j]: 1 where score i is better than other j, -1 where worse, 0 where tied."""
    rows, columns = scores[:, None], others[None, :]
    return (np.sign(rows - columns) * _apart(rows, columns)).astype(np.int8)


_RESAMPLES = 4_999


@dataclass(frozen=True)
class Lead:
    """The lead of a mean, and what chance gives equally good systems.

    lead    the difference of two means, 0 or more
    limit   equally good systems lead by more in a share of 1 - level of all samples of questions
    p       the chance that they lead as far; as `limit` NaN where there is no test
    """

    lead: float
    limit: float
    p: float


def lead_over_next(values: Floats, *, level: float = 0.95, clusters: Clusters | None = None) -> Lead:
    """The lead of the best of (s, n) values over the second, by the paired t test of these two.

    Two systems that are equally good and ahead of all others lead each other by more than the limit in 1 - level of
    all samples; more than two, more rarely.
    Source   Gutmann & Maymin, Is the Selected Population the Best?, Annals of Statistics 1987.

    >>> lead = lead_over_next(np.array([[0.2, 0.3, 0.1, 0.4], [0.5, 0.7, 0.4, 0.6], [0.0, 0.1, 0.2, 0.1]]))
    >>> round(lead.lead, 3), round(lead.limit, 3), round(lead.p, 4)
    (0.3, 0.13, 0.0052)
    """
    second, best = np.argsort(values.mean(axis=1), kind="stable")[-2:]
    if (values[best] == values[second]).all():
        return Lead(0.0, 0.0, 1.0)
    error = mean_error(values[best] - values[second], clusters=clusters)
    test = t_test(error)
    limit = math.nan if math.isnan(test.p) else t_quantile((1 + level) / 2, error.df) * error.error
    return Lead(max(0.0, error.mean), limit, test.p)


def lead_over_average(
    values: Floats, *, seed: int, level: float = 0.95, clusters: Clusters | None = None, n_resamples: int = _RESAMPLES
) -> Lead:
    """The lead of the best of (s, n) values over the mean of all, held against that of s equally good systems.

    The values of each system, less their mean, change sign at random, at each question for all systems alike: what
    systems have in common remains, and how much each of them scatters.  Each pattern is then divided by the root of a
    chi-square variable over its degrees of freedom, since so few questions estimate the scatter; of two systems the
    test is the paired t test.

    seed   of the signs;   n_resamples   how many patterns

    >>> values = np.random.default_rng(0).normal(size=(8, 50))
    >>> lead = lead_over_average(values, seed=0)
    >>> bool(0 < lead.lead < lead.limit), lead.p > 0.05
    (True, True)
    """
    s, n = values.shape
    means = values.mean(axis=1)
    lead = float(means.max() - means.mean())
    if lead <= ROUNDING * float(np.abs(values).max()):
        return Lead(0.0, 0.0, 1.0)
    error = mean_error(values[means.argmax()] - values.mean(axis=0), clusters=clusters)
    if error.reason or error.flat:
        return Lead(lead, math.nan, math.nan)
    away = cluster_sums(values - means[:, None], clusters) / n
    sizes = np.ones(n) if clusters is None else np.bincount(cluster_codes(clusters, n))
    grid = on_grid(away / np.sqrt(1 - sizes / n))
    steps = np.ascontiguousarray(grid.steps.T)
    leads = np.concatenate([
        sums.max(axis=1) - sums.mean(axis=1)
        for sums in (signs @ steps for signs in sign_blocks(len(steps), n_resamples=n_resamples, seed=seed, width=s))
    ]) * grid.unit  # fmt: skip
    chi_square = np.random.default_rng([seed, 1]).chisquare(error.df, n_resamples)
    leads *= np.sqrt(error.df / chi_square)
    p = (1 + np.count_nonzero(leads >= lead * (1 - ROUNDING))) / (1 + n_resamples)
    return Lead(lead, float(np.quantile(leads, level, method="higher")), float(p))


def dominates(points: Floats) -> Bools:
    """Which point dominates which: it is at least as good on every axis, and better on one.

    points   (n, a) values of a axes, higher being better
    Returns  (n, n) whether the point of the row dominates that of the column; none with a NaN does, or is dominated

    >>> dominates(np.array([[2.0, 1.0], [1.0, 1.0], [1.0, 3.0]])).tolist()
    [[False, True, False], [False, False, False], [False, True, False]]
    """
    first, second = points[:, None], points[None, :]
    return np.asarray((first >= second).all(axis=2) & (first > second).any(axis=2))
