"""Spread of values between questions, between runs over the same questions, and between two systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.base.extras import require
from steelyard.stats.samples import ROUNDING, Clusters, cluster_sums, finite, fsum, share


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


@dataclass(frozen=True)
class Spread:
    """A standard deviation of differences with its interval; all NaN below two questions, 0 where nothing scatters."""

    sd: float
    low: float
    high: float
    df: float


def paired_spread(values: npt.ArrayLike, *, level: float = 0.95, clusters: Clusters | None = None) -> Spread:
    """Standard deviation of the difference of two systems from question to question, pooled over all pairs.

    values    (s, n) of s systems on n questions.  Of two systems it is the standard deviation of the differences; of
              one system the root of 2 times that of its values, as if two systems had nothing in common: an upper
              estimate where systems scatter alike and find the same questions hard
    level     of the interval
    clusters  (n,) of questions that count as one: then what a mean scatters by, times the root of the questions
    Returns   the interval of the chi-square distribution, with as many degrees of freedom as the questions' shares in
              the variance bear out (Satterthwaite): (s - 1)(n - 1) for normal values, fewer where some questions
              scatter far more than others
    Raises    InputError for values that are not finite

    >>> spread = paired_spread([[0.5, 0.25, 1.0, 0.5], [0.75, 0.25, 0.75, 1.0]])
    >>> round(spread.sd, 4), round(spread.low, 4), round(spread.high, 4)
    (0.3227, 0.1828, 1.2034)
    """
    share(level, "level")
    array = finite(values, n_axes=2, what="values")
    s, n_questions = array.shape
    residuals = array - array.mean(axis=1, keepdims=True) if n_questions else array
    if s > 1:
        residuals -= residuals.mean(axis=0)
    residuals = cluster_sums(residuals, clusters)
    n = residuals.shape[1]
    if n < 2 or not s:
        return Spread(math.nan, math.nan, math.nan, math.nan)
    if np.abs(residuals).max() <= ROUNDING * np.abs(array).max():
        return Spread(0.0, 0.0, 0.0, 0.0)
    axes = max(s - 1, 1)
    parts = 2 * (residuals**2).sum(axis=0) / axes * (n / n_questions)
    variance = fsum(parts) / (n - 1)
    df = spread_df(parts, most=axes * (n - 1))
    special = require("scipy.special", extra="stats", what="the interval of a standard deviation")
    sd, beyond = math.sqrt(variance), (1 - level) / 2
    low, high = (sd * math.sqrt(df / float(special.chdtri(df, p))) for p in (beyond, 1 - beyond))
    return Spread(sd, low, high, df)


def spread_df(parts: Floats, *, most: float) -> float:
    """Degrees of freedom that n shares in a variance bear out (Satterthwaite): fewer where some are far larger.

    parts   (n,) such as squares of what differs from the mean;   most   those of normal values

    >>> spread_df(np.array([1.0, 2.0, 1.0, 1.5]), most=3.0), round(spread_df(np.array([0.0] * 9 + [4.0]), most=9.0), 2)
    (3.0, 2.47)
    """
    n, variance = len(parts), fsum(parts) / (len(parts) - 1)
    unrest = fsum((parts - fsum(parts) / n) ** 2) / (n - 1)
    return float(min(most, 2 * n * variance**2 / unrest)) if unrest else float(most)
