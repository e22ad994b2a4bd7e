"""Means over questions that were drawn with unequal probabilities, and speak for different numbers of requests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import finite, fsum, share


@dataclass(frozen=True)
class WeightedMean:
    """A weighted mean, its standard error and interval, NaN where there is none.

    n          questions;   n_effective   so many of equal weight would do as well: (sum of w)**2 / sum of w**2
    """

    mean: float
    error: float
    low: float
    high: float
    n: int
    n_effective: float


def weighted_mean(
    values: npt.ArrayLike,
    weights: npt.ArrayLike,
    strata: Sequence[str] | None = None,
    probabilities: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> WeightedMean:
    """Mean of values by weights that are inverse inclusion probabilities, times what each unit counts.

    The error is that of the ratio of two weighted sums, linearised, from the scatter within strata.  The interval is
    Student's, with as many degrees of freedom as questions beyond strata; a stratum of one question joins the next one.
    With probabilities, those that were certain add no error, and the others less, as in draws without replacement.

    values    (n,) finite;   weights   (n,) above 0;   strata   (n,) names of the strata; None for one
    probabilities   (n,) of being drawn, in (0, 1]; None: as if drawn with replacement, which is never too narrow
    level     coverage, in (0, 1);   bounds   lowest and highest mean that there can be
    Raises    InputError for lengths that differ, for no value, and for weights that are not above 0
    Source    Hajek 1971, comment on Basu; Sarndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992, 5.7;
              Hajek 1964 for draws with unequal probabilities, Annals of Mathematical Statistics 35

    >>> average = weighted_mean([0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 4.0, 2.0])
    >>> average.mean, round(average.low, 3), round(average.high, 3)
    (0.625, -0.332, 1.582)
    """
    share(level, "level")
    own, by = finite(values, n_axes=1, what="values"), finite(weights, n_axes=1, what="weights")
    n = len(own)
    if n == 0 or len(by) != n or (strata is not None and len(strata) != n):
        raise InputError(f"{n} values and {len(by)} weights have no mean; expected one weight for each of some values")
    if not (by > 0).all():
        raise InputError("weights must be above 0: each is one over the probability with which its question was drawn")
    total = fsum(by)
    mean = fsum(own * by) / total
    chance = np.ones(n) if probabilities is None else 1 - finite(probabilities, n_axes=1, what="probabilities")
    parts, is_open = by * (own - mean) / total, chance > 0
    codes = np.zeros(n, np.int64) if strata is None else np.unique(strata, return_inverse=True)[1]
    codes, parts, chance = _joined(codes[is_open]), parts[is_open], chance[is_open]
    groups = [codes == code for code in np.unique(codes)]
    df = len(parts) - len(groups)
    if not len(parts):
        return WeightedMean(mean, 0.0, mean, mean, n, total**2 / fsum(by**2))
    if df <= 0:
        return WeightedMean(mean, math.nan, math.nan, math.nan, n, total**2 / fsum(by**2))
    error = math.sqrt(sum(_scatter(parts[group], chance[group]) for group in groups))
    reach = t_quantile((1 + level) / 2, df) * error
    low, high = max(bounds[0], mean - reach), min(bounds[1], mean + reach)
    return WeightedMean(mean, error, low, high, n, total**2 / fsum(by**2))


def _scatter(parts: Floats, chance: Floats) -> float:
    """Variance of the sum of some parts, by how far each was left to chance."""
    away = parts - float(np.average(parts, weights=chance))
    return len(parts) / max(len(parts) - 1, 1) * float((chance * away**2).sum())


def _joined(codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Codes of strata, those of one unit with those of the next, the last with those before."""
    joined, n = codes.copy(), int(codes.max(initial=0)) + 1
    for code in range(n):
        if np.count_nonzero(joined == code) == 1 and n > 1:
            joined[joined == code] = code + 1 if code + 1 < n else max(joined[joined != code], default=code)
    return joined
