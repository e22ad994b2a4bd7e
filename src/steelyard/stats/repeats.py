"""How much values differ between questions, and between runs of one system over the same questions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.stats.samples import finite


def means_of_runs(values: Floats, n_runs: Sequence[int]) -> Floats:
    """(s, ...) means over the runs of each of s systems, of (r, ...) values of all runs, system after system."""
    if len(values) == len(n_runs):
        return values
    firsts = np.cumsum([0, *n_runs]).tolist()
    return np.stack([values[a:b].mean(axis=0) if b - a > 1 else values[a] for a, b in pairwise(firsts)])


@dataclass(frozen=True)
class VarianceComponents:
    """Standard deviations of r runs of one system over the same n questions.

    sd_questions   between questions, were each asked in very many runs: 0 where runs differ as much as questions
    sd_runs        between runs, of the value of one question;   both NaN for fewer than two questions, or runs
    run_means      mean of each run
    """

    n: int
    sd_questions: float
    sd_runs: float
    run_means: tuple[float, ...]


def variance_components(values: npt.ArrayLike) -> VarianceComponents:
    """Both components, by the mean squares between and within questions.

    values   (r, n) a row a run
    Raises   InputError for values that are not finite
    Source   One-way random effects: Searle, Casella & McCulloch, Variance Components, 1992.

    >>> components = variance_components([[0.0, 0.5, 1.0], [0.25, 0.5, 0.75]])
    >>> round(components.sd_questions, 3), round(components.sd_runs, 3)
    (0.361, 0.144)
    """
    array = finite(values, n_axes=2, what="values")
    r, n = array.shape
    run_means = tuple(row.mean() if n else math.nan for row in array)
    if r < 2 or n < 2:
        return VarianceComponents(n, math.nan, math.nan, run_means)
    means = array.mean(axis=0)
    within = float(((array - means) ** 2).sum() / (n * (r - 1)))
    between = float(means.var(ddof=1)) - within / r
    return VarianceComponents(n, math.sqrt(max(between, 0.0)), math.sqrt(within), tuple(map(float, run_means)))
