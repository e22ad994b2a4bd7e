"""How often questions that move together show a difference that is none."""

from __future__ import annotations

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats, Ints
from steelyard.stats.tests.paired import paired_t, sign_flip

SIZES = {
    "5 documents of 1 to 4 questions": (5, 4),
    "10 of 1 to 8": (10, 8),
    "20 of 1 to 8": (20, 8),
    "40 of 1 to 20": (40, 20),
}
CORRELATIONS = (0.0, 0.1, 0.2, 0.3)


def clustered_differences(
    rng: np.random.Generator, n_clusters: int, largest: int, correlation: float
) -> tuple[Floats, Ints]:
    """Differences of two equally good systems, alike within clusters of 1 to `largest` questions; and the clusters."""
    clusters = np.repeat(np.arange(n_clusters), rng.integers(1, largest + 1, n_clusters))
    shared, own = rng.normal(size=n_clusters)[clusters], rng.normal(size=len(clusters))
    return np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own, clusters


def false_positives(draws: int, seed: int, n_clusters: int, largest: int, correlation: float) -> list[float]:
    """The share of samples with p of .05 or less: each question by itself, by cluster with t, and with sign flips."""
    rng, shown = np.random.default_rng(seed), np.zeros(3)
    for i in range(draws):
        d, clusters = clustered_differences(rng, n_clusters, largest, correlation)
        flips = sign_flip(d, seed=seed + i, n_resamples=999, clusters=clusters)
        shown += [test.p <= 0.05 for test in (paired_t(d), paired_t(d, clusters=clusters), flips)]
    return (shown / draws).tolist()


def clustered_losses(
    rng: np.random.Generator, n_clusters: int, largest: int, loss: float, correlation: float
) -> tuple[Floats, Ints]:
    """Differences of hits, -1 where one is lost, alike within clusters: lost by this share on average; the clusters."""
    clusters = np.repeat(np.arange(n_clusters), rng.integers(1, largest + 1, n_clusters))
    spread = (1 - correlation) / correlation
    shares = rng.beta(loss * spread, (1 - loss) * spread, n_clusters)[clusters]
    return -(rng.random(len(clusters)) < shares).astype(float), clusters


def cluster_table(draws: int, seed: int) -> Table:
    """False positives of questions about documents of unequal size, by the correlation of differences within one."""
    return Table(
        "How often a difference is shown that is none, of questions about the same documents",
        ["documents", "correlation", "each question by itself", "by cluster, t", "by cluster, sign flips"],
        [
            [name, f"{correlation:g}", *map(percent, false_positives(draws, seed, *size, correlation))]
            for name, size in SIZES.items()
            for correlation in CORRELATIONS
        ],
    )
