"""Every pair of s systems on the same n questions, tested at once: alpha shared by Holm, or Tukey's difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.extras import require
from steelyard.stats.numerics import nodes
from steelyard.stats.samples import Clusters, cluster_sums, finite, less, n_clusters, too_few, whole
from steelyard.stats.tests.corrections import correct
from steelyard.stats.tests.paired import (
    EXACT_QUERIES,
    N_RESAMPLES,
    count_extreme,
    on_grid,
    paired_t,
    share_reached,
    shuffled_ranges,
)


@dataclass(frozen=True)
class Pairs:
    """Comparisons of m pairs out of s systems.

    test          "t", "randomization" or "tukey"
    first         (m,) index of the baseline of each pair;   second   (m,) of the other system
    difference    (m,) mean of second less mean of first
    p             (m,) of each test alone; for "tukey" the same as adjusted
    adjusted      (m,) family-wise, or false discovery rate for "bh"; the plain p where correction is "none"
    correction    "tukey", "holm", "bonferroni", "bh" or "none"
    family        which comparisons the correction covers, in words
    n             queries
    exact         whether all sign patterns were tried;   n_resamples, seed   of random ones, else None
    critical      "tukey": a difference beyond it has p of alpha or less; NaN for other tests
    reason        why p is NaN, where it is for want of queries; else None
    """

    test: str
    first: Ints
    second: Ints
    difference: Floats
    p: Floats
    adjusted: Floats
    correction: str
    family: str
    n: int
    exact: bool = False
    n_resamples: int | None = None
    seed: int | None = None
    reason: str | None = None
    critical: float = math.nan


def all_pairs(s: int) -> Ints:
    """(m, 2) every pair of s systems once, the earlier one first.

    >>> all_pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return np.array(list(combinations(range(s), 2)), dtype=np.int64).reshape(-1, 2)


def placed(pairs: Pairs, rows: Sequence[int]) -> Pairs:
    """All pairs of s systems, renumbered and in the order of `all_pairs`.

    rows     (s,) the number that each system of the pairs gets, every number once
    Returns  the same comparisons; of each the lesser number comes first, and the difference turns with it

    >>> two = t_pairs([[0.1, 0.2, 0.3], [0.2, 0.5, 0.4]])
    >>> turned = placed(two, [1, 0])
    >>> (turned.first.tolist(), turned.second.tolist()), turned.difference.round(3).tolist()
    (([0], [1]), [-0.167])
    """
    number = np.asarray(rows, dtype=np.int64)
    first, second = number[pairs.first], number[pairs.second]
    low, high = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((high, low))
    difference = np.where(first < second, pairs.difference, -pairs.difference)
    return replace(
        pairs, first=low[order], second=high[order], difference=difference[order], p=pairs.p[order],
        adjusted=pairs.adjusted[order],
    )  # fmt: skip


def sign_flip_pairs(
    scores: npt.ArrayLike,
    *,
    seed: int,
    pairs: npt.ArrayLike | None = None,
    n_resamples: int = N_RESAMPLES,
    clusters: Clusters | None = None,
    correction: str = "holm",
) -> Pairs:
    """Sign-flip randomisation test of many pairs under the same signs; each p is that of `paired.sign_flip`.

    scores       (s, n) one row a system, two systems at least
    pairs        (m, 2) indices (baseline, other); None: all pairs
    correction   "holm", "bonferroni", "bh" or "none", over these pairs
    Returns      p is NaN with a reason for one query or cluster
    Raises       InputError for NaN, fewer than two systems, n_resamples < 1, an unknown correction

    >>> plain = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    >>> sign_flip_pairs([plain, plain + 0.5, plain], seed=0).p.tolist()
    [0.03125, 1.0, 0.03125]
    """
    values = systems_of(scores)
    whole(n_resamples, "n_resamples")
    indices = _indices(pairs, len(values))
    sums = cluster_sums(values, clusters)
    g = sums.shape[1]
    reason = too_few(values.shape[1], g - 1)
    exact = reason is None and g <= EXACT_QUERIES
    drawn = None if exact else n_resamples
    if reason:
        p = np.full(len(indices), np.nan)
    else:
        counts = count_extreme(on_grid(sums), indices[:, 0], indices[:, 1], n_resamples=drawn, seed=seed)
        p = share_reached(counts, drawn, g)
    pairs_tested = replace(
        plain_pairs("randomization", values, indices, p),
        exact=exact,
        n_resamples=drawn,
        seed=None if exact else seed,
        reason=reason,
    )
    return corrected(pairs_tested, correction)


def t_pairs(
    scores: npt.ArrayLike,
    *,
    pairs: npt.ArrayLike | None = None,
    clusters: Clusters | None = None,
    correction: str = "holm",
) -> Pairs:
    """Paired t test of many pairs; each p is that of `paired.paired_t`.

    scores       (s, n) one row a system, two systems at least
    pairs        (m, 2) indices (baseline, other); None: all pairs
    correction   "holm", "bonferroni", "bh" or "none", over these pairs
    Returns      p is NaN for pairs without a test; those are left out of the family
    Raises       InputError for NaN, fewer than two systems, an unknown correction

    >>> t_pairs([[0.1, 0.2, 0.3, 0.4], [0.2, 0.5, 0.5, 0.8]]).p.round(4).tolist()
    [0.0305]
    """
    values = systems_of(scores)
    indices = _indices(pairs, len(values))
    outcomes = [paired_t(less(values[j], values[i]), clusters=clusters) for i, j in indices]
    p = np.array([outcome.p for outcome in outcomes])
    n = values.shape[1]
    n_groups = n_clusters(clusters, n)
    return corrected(replace(plain_pairs("t", values, indices, p), reason=too_few(n, n_groups - 1)), correction)


def corrected(pairs: Pairs, correction: str, *, family: str | None = None) -> Pairs:
    """The same comparisons with their p-values corrected; the family is these pairs, unless it is named otherwise.

    Raises   InputError for an unknown correction, and for Tukey's pairs, which are corrected already.
    """
    if pairs.test == "tukey":
        raise InputError(f"Tukey's p-values are family-wise already; leave out the correction {correction!r}")
    correction_of_all = correct(pairs.p, method=correction, family=family or pairs.family)
    return replace(pairs, adjusted=correction_of_all.adjusted, correction=correction, family=correction_of_all.family)


def systems_of(scores: npt.ArrayLike) -> Floats:
    """(s, n) finite scores of two systems at least.

    Raises   InputError
    """
    values = finite(scores, n_axes=2, what="scores")
    if len(values) < 2:
        raise InputError(f"scores of {len(values)} system: a comparison needs at least two")
    return values


def _indices(pairs: npt.ArrayLike | None, s: int) -> Ints:
    if pairs is None:
        return all_pairs(s)
    indices = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if ((indices < 0) | (indices >= s)).any() or (indices[:, 0] == indices[:, 1]).any():
        raise InputError(f"pairs are two different systems each, numbered from 0 to {s - 1}")
    return indices


def plain_pairs(test: str, values: Floats, pairs: Ints, p: Floats) -> Pairs:
    """The pairs with their p-values as they are."""
    first, second, n = pairs[:, 0], pairs[:, 1], values.shape[1]
    return Pairs(
        test, first, second,
        difference=pair_differences(values, pairs),
        p=p, adjusted=p, correction="none", family=_family(values, pairs), n=n,
    )  # fmt: skip


def pair_differences(values: Floats, pairs: Ints) -> Floats:
    """(m,) mean of the second less mean of the first system of each pair; NaN without queries."""
    # The mean of the differences, not the difference of the means: equal systems differ by 0 exactly.
    return np.array([less(values[j], values[i]).mean() if values.shape[1] else np.nan for i, j in pairs])


def _family(values: Floats, pairs: Ints) -> str:
    s, m = len(values), len(pairs)
    if m == s * (s - 1) // 2:
        return f"all {m} pairs of {s} systems" if m > 1 else "one pair"
    return f"{m} pairs of {s} systems" if m > 1 else "one pair"


N_SHUFFLES = 10_000


def tukey(
    scores: npt.ArrayLike, *, seed: int, n_resamples: int = N_SHUFFLES, alpha: float = 0.05,
    clusters: Clusters | None = None,
) -> Pairs:  # fmt: skip
    """Randomised Tukey HSD: a family-wise p for every pair of systems.

    The systems' labels are shuffled within each query (or cluster); p of a pair is the share of shuffles whose best
    and worst means differ at least as much as the pair does, the observed labels counted once: (1 + b) / (1 + B).

    scores    (s, n) one row a system, two systems at least;   alpha   of the critical difference
    Returns   all s (s - 1) / 2 pairs; p is NaN with a reason for one query or cluster
    Raises    InputError for NaN, fewer than two systems, n_resamples < 1
    Source    Carterette, Multiple Testing in Statistical Analysis of Systems-Based Information Retrieval
              Experiments, TOIS 2012; Sakai 2014.

    >>> rng = np.random.default_rng(0)
    >>> pairs = tukey(rng.random((3, 20)) + np.array([[0.0], [0.0], [1.0]]), seed=0, n_resamples=999)
    >>> pairs.p.round(3).tolist(), pairs.family
    ([0.961, 0.001, 0.001], 'all 3 pairs of 3 systems')
    """
    values = systems_of(scores)
    whole(n_resamples, "n_resamples")
    pairs = all_pairs(len(values))
    sums = cluster_sums(values, clusters)
    reason, critical = too_few(values.shape[1], sums.shape[1] - 1), math.nan
    if reason:
        p = np.full(len(pairs), np.nan)
    else:
        grid = on_grid(sums)
        totals = grid.steps.sum(axis=1)
        ranges = shuffled_ranges(grid, n_resamples=n_resamples, seed=seed)
        observed = np.abs(totals[pairs[:, 1]] - totals[pairs[:, 0]]) - grid.slack
        p = (1 + n_resamples - np.searchsorted(ranges, observed, side="left")) / (1 + n_resamples)
        place = min(math.ceil((1 + n_resamples) * (1 - alpha)), n_resamples) - 1
        critical = float(ranges[place]) * grid.unit / values.shape[1]
    return replace(
        plain_pairs("tukey", values, pairs, p), correction="tukey", n_resamples=n_resamples, seed=seed, reason=reason,
        critical=critical,
    )  # fmt: skip


def tukey_limit(scores: npt.ArrayLike, *, alpha: float = 0.05) -> Pairs:
    """Limit of `tukey` with very many queries: the shuffled means are then normal, and nothing need be drawn.

    Shuffling s labels within a query whose values have the variance v gives each system a value of variance v, any two
    of them a covariance of -v / (s - 1).  Means over n queries are so alike that the range of s of them is the range of
    s independent normal variables of variance s / (s - 1) times the mean of v over n.

    scores    (s, n) one row a system, two systems at least; some hundreds of queries on which systems differ
    Returns   as `tukey`; n_resamples and seed are None
    Raises    InputError for NaN or fewer than two systems; MissingExtraError without SciPy
    Source    Hoeffding, A combinatorial central limit theorem, 1951; range of normal variables: Tukey 1953.

    >>> rng = np.random.default_rng(0)
    >>> tukey_limit(rng.random((3, 2000)) + np.array([[0.0], [0.0], [0.03]])).p.round(3).tolist()
    [0.871, 0.001, 0.0]
    """
    values = systems_of(scores)
    s, n = values.shape
    pairs = all_pairs(s)
    spread = float(np.sqrt(s / (s - 1) * values.var(axis=0).mean() / n))
    distances = np.abs(pair_differences(values, pairs))
    p = _range_sf(distances / spread, s) if spread else np.ones(len(pairs))
    critical = spread * _range_quantile(1 - alpha, s)
    if reason := too_few(n, n - 1):
        p, critical = np.full(len(pairs), np.nan), math.nan
    return replace(plain_pairs("tukey", values, pairs, p), correction="tukey", reason=reason, critical=critical)


_REACH = 9.0


def _range_sf(r: Floats, s: int) -> Floats:
    """(m,) probability that s standard normal variables lie r or more apart: 1 less the chance that all s - 1 others
    lie within r below the largest, whose density is integrated by Gauss and Legendre's rule."""
    ndtr = require("scipy.special", extra="stats", what="comparing systems").ndtr
    x, weights = nodes(-_REACH, _REACH)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    within = (ndtr(x) - ndtr(x - r[:, None])) ** (s - 1)
    # einsum, not a matrix product: no sum may depend on a BLAS's threads.
    return np.asarray(np.clip(1.0 - s * np.einsum("mx,x->m", within, density * weights), 0.0, 1.0))


def _range_quantile(share: float, s: int) -> float:
    """Largest distance of s standard normal variables with this probability, by bisection."""
    low, high = 0.0, 4 * _REACH
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _range_sf(np.array([middle]), s)[0] > 1 - share else (low, middle)
    return high
