"""Differences that n questions can show, by their own spread, and how many more show one, by a pilot's.

The spread is an estimate, and so is what comes of it: few questions that happen to scatter little promise too much.
Here the difference, or the number of questions, is so large that it is shown often enough on average over estimates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.base.extras import require
from steelyard.stats.numerics import nodes, t_quantile
from steelyard.stats.power.power import alpha_per_test, check_power, fewest, fewest_questions
from steelyard.stats.samples import Clusters, finite, mean_error, n_clusters
from steelyard.stats.tests.paired import EXACT_QUERIES, N_RESAMPLES

_UNREST = 1.3
"""Variances of real differences scatter as normal ones of so many times fewer degrees of freedom: tails are heavier."""

_REACH, _PANELS = 9.0, 6
_PRECISION = 1e-9
_MANY_PATTERNS = 10
"""With so many sign patterns that are rare enough, sign flips show what t does."""
_SAMPLES, _NUMBERS_AT_ONCE = 2000, 1 << 20


def min_detectable_difference(
    d: npt.ArrayLike,
    *,
    test: str = "t",
    power: float = 0.8,
    alpha: float = 0.05,
    n_sides: int = 2,
    n_comparisons: int = 1,
    clusters: Clusters | None = None,
) -> float:
    """Smallest mean difference, in the measure's unit, that such questions show with this chance.

    d         (n,) differences: only their spread is used, their mean is not
    test, power, alpha, n_sides, n_comparisons   as of `detectable_errors`
    Returns   0 where there is no spread; infinite where no difference can be shown; NaN for one query or cluster
    Raises    InputError for NaN, and as `detectable_errors` does

    >>> round(min_detectable_difference([0.1, -0.1, 0.2, 0.0, -0.2]), 3)
    0.355
    """
    values = finite(d, n_axes=1, what="differences")
    average = mean_error(values, clusters=clusters)
    if average.reason:
        return math.nan
    n = n_clusters(clusters, len(values))
    errors = detectable_errors(
        n, df=average.df, test=test, power=power, alpha=alpha, n_sides=n_sides, n_comparisons=n_comparisons
    )
    return math.inf if math.isinf(errors) else errors * average.error


def detectable_errors(
    n: int,
    *,
    df: float | None = None,
    test: str = "t",
    power: float = 0.8,
    alpha: float = 0.05,
    n_sides: int = 2,
    n_comparisons: int = 1,
) -> float:
    """Number of standard errors, as n questions estimate them, of a true difference that they show with this chance.

    n               questions, or clusters: two at least;   df   degrees of freedom of their error, n - 1 by default
    test            "t" or "randomization"
    power           share of cases, over what the n questions say of the error as well as over what others show
    n_sides         2 for a test of difference; 1 for non-inferiority, where the difference is the margin
    n_comparisons   alpha is shared among so many (Bonferroni; by Holm it is at least that much)
    Returns         infinite where the test can show nothing
    Raises          InputError for alpha outside (0, 1), n_sides other than 1 and 2, a power not between alpha and 1

    >>> round(detectable_errors(7), 3), round(detectable_errors(7, test="randomization"), 3)
    (4.069, 4.255)
    >>> detectable_errors(5, test="randomization")
    inf
    """
    shared = alpha_per_test(alpha, n_sides, n_comparisons)
    check_power(power, shared)
    if test == "randomization":
        n_rare = math.floor(shared * (2 ** (n - 1) if n <= EXACT_QUERIES else 1 + N_RESAMPLES))
        if not n_rare:
            return math.inf
        if n_rare < _MANY_PATTERNS and n <= EXACT_QUERIES:
            return _errors_by_signs(n, n_rare, power)
    df = n - 1 if df is None else df
    return _errors_by_t(df, power, t_quantile(1 - shared / n_sides, df))


def questions_planned(
    effect: float, *, df: float, power: float = 0.8, alpha: float = 0.05, n_comparisons: int = 1
) -> int | None:
    """Fewest questions with which a paired t test shows an effect with this chance, on average over pilots.

    effect    above 0, the difference that matters over the standard deviation of differences, as a pilot estimates it
    df        of that standard deviation, such as those of `paired_spread`; infinite where it is exact
    Returns   None where it takes more than 2**29
    Raises    InputError as `fewest_questions` does

    >>> [questions_planned(0.3, df=df) for df in (9, 39, math.inf)]
    [114, 95, 90]
    """
    exact = fewest_questions(effect, power=power, alpha=alpha, n_comparisons=n_comparisons)
    if exact is None or math.isinf(df):
        return exact
    level = 1 - alpha / n_comparisons / 2

    def enough(n: int) -> bool:
        return _shown(effect * math.sqrt(n), max(df / _UNREST, 1.0), n - 1, t_quantile(level, n - 1)) >= power

    return fewest(enough, exact)


@cache
def stretch(df: float, *, power: float, alpha: float) -> float:
    """By how much larger an error is than estimated, so that a one-sided test of many more questions has this power.

    df   of the estimate: the power is that of the average over estimates

    >>> round(stretch(9, power=0.8, alpha=0.05), 3), round(stretch(math.inf, power=0.8, alpha=0.05), 3)
    (1.123, 1.0)
    """
    if math.isinf(df):
        return 1.0
    normal = require("scipy.special", extra="stats", what="power").ndtr
    judged, chances = _estimates(max(df / _UNREST, 1.0))
    critical, more = NormalDist().inv_cdf(1 - alpha), NormalDist().inv_cdf(power)
    return _least(lambda times: float((normal(times * (critical + more) * judged - critical) * chances).sum()), power)


@cache
def _errors_by_t(df: float, power: float, critical: float) -> float:
    """As many errors that a true difference of theirs is shown in that share of cases."""
    return _least(lambda errors: _shown(errors, df / _UNREST, df, critical), power)


def _shown(errors: float, judged_df: float, tested_df: float, critical: float) -> float:
    """The chance that Z + errors J > critical T: Z normal, J and T standard deviations that are estimated apart."""
    normal = require("scipy.special", extra="stats", what="power").ndtr
    judged, chances = _estimates(judged_df)
    tested, weights = _estimates(tested_df)
    # No matrix product: no sum may depend on a BLAS's threads.
    return float((normal(errors * judged[:, None] - critical * tested) * (chances[:, None] * weights)).sum())


@cache
def _errors_by_signs(n: int, n_rare: int, power: float) -> float:
    """The same where a difference is shown only if its sign pattern is among the rarest: by normal samples."""
    special = require("scipy.special", extra="stats", what="power")
    bounds, half = np.sqrt(n) * _sign_bounds(n, n_rare), (n - 1) / _UNREST / 2

    def shown(errors: float) -> float:
        return float(special.gammaincc(half, half * (np.maximum(bounds, 0) / errors) ** 2).mean())

    return _least(shown, power)


def _sign_bounds(n: int, n_rare: int) -> Floats:
    """(samples,) differences from which on sign flips reject, of normal samples of n questions around them.

    Each pattern and its opposite rule out a shift of more than the mean of those that they flip, or of the others.
    """
    patterns = np.unpackbits(
        np.arange(1, 2 ** (n - 1), dtype="<u4").view(np.uint8).reshape(-1, 4), axis=1, count=n, bitorder="little"
    ).astype(float)
    sizes = patterns.sum(axis=1)
    rows = max(1, _NUMBERS_AT_ONCE // len(patterns))
    rng, bounds = np.random.default_rng(0), []
    for start in range(0, _SAMPLES, rows):
        values = rng.standard_normal((min(rows, _SAMPLES - start), n))
        flipped = np.einsum("rn,pn->rp", values, patterns)
        lows = np.minimum(flipped / sizes, (values.sum(axis=1)[:, None] - flipped) / (n - sizes))
        bounds.append(-np.partition(lows, n_rare - 1, axis=1)[:, n_rare - 1])
    return np.concatenate(bounds)


@cache
def _estimates(df: float) -> tuple[Floats, Floats]:
    """Standard deviations that normal samples estimate where the true one is 1, and their chances."""
    reach = _REACH / math.sqrt(2 * df)
    s, weights = nodes(max(0.0, 1 - reach), 1 + reach, panels=_PANELS)
    weights *= np.exp((df - 1) * np.log(s) - df * (s**2 - 1) / 2)
    return s, weights / weights.sum()


def _least(shown: Callable[[float], float], power: float) -> float:
    """The number whose chance is the power, where larger ones have a larger one, by bisection."""
    low, high = 0.0, 1.0
    while shown(high) < power:
        low, high = high, 2 * high
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        low, high = (middle, high) if shown(middle) < power else (low, middle)
    return high
