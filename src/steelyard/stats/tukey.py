"""Tukey's honestly significant difference of all pairs of systems: by shuffling, and at its normal limit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.base.extras import require
from steelyard.stats.flipping import on_grid, shuffled_ranges
from steelyard.stats.pairs import Pairs, all_pairs, pair_differences, plain_pairs, systems_of
from steelyard.stats.quadrature import nodes
from steelyard.stats.samples import Clusters, cluster_sums, too_few, whole

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
    """What `tukey` comes to with very many queries: the shuffled means are then normal, and nothing need be drawn.

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
    """How far apart s standard normal variables lie at most with this probability, by bisection."""
    low, high = 0.0, 4 * _REACH
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _range_sf(np.array([middle]), s)[0] > 1 - share else (low, middle)
    return high
