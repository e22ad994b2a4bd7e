"""Collections of which the truth is known: drawn from a formula, or from scores of TREC's systems by question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from steelyard.base.arrays import Floats

REAL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "trec_topic_scores"
"""Folder of CSV files, a column a system and a row a question."""

SPREAD_OUT = ("adhoc5_ap", "adhoc6_p10", "adhoc7_rr", "web2011_err20")
"""Measures of many kinds."""


def alike(rng: np.random.Generator, s: int, n: int) -> Floats:
    """(s, n) scores like nDCG of equally good systems: bounded, skewed, of easy and hard queries, tied at 0 and 1."""
    difficulty = rng.beta(1, 1, n)
    return np.clip(np.round(difficulty + rng.normal(0, 0.25, (s, n)), 2), 0, 1)


def near_copies(rng: np.random.Generator, n_copies: int, n_others: int, n: int) -> Floats:
    """(s, n) scores of equally good systems: some that hardly differ, and others as unlike as systems are."""
    difficulty = rng.beta(1, 1, n)
    ranked = difficulty + np.repeat(rng.normal(0, 0.2, (1 + n_others, n)), [n_copies] + [1] * n_others, axis=0)
    return ranked + rng.normal(0, 0.02, ranked.shape)


def real_scores(folder: Path = REAL, names: Sequence[str] = SPREAD_OUT) -> list[Floats]:
    """(s, n) scores of TREC's systems, by file."""
    return [np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1).T for name in names]


def resampled(rng: np.random.Generator, values: Floats, n: int) -> Floats:
    """(s, n) scores of n questions drawn from those of the (s, q) values, moved so that no two systems truly differ."""
    centred = values - values.mean(axis=1, keepdims=True)
    return np.asarray(centred[:, rng.integers(0, values.shape[1], n)])


def drawn_pair(rng: np.random.Generator, matrices: Sequence[Floats]) -> Floats:
    """(q,) differences of two systems of one of the matrices that are no copies of each other."""
    while True:
        values = matrices[rng.integers(len(matrices))]
        a, b = rng.choice(len(values), 2, replace=False)
        d = np.asarray(values[b] - values[a])
        if np.count_nonzero(d) > len(d) / 4:
            return d
