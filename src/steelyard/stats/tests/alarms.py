"""A loss that is shown at the level which false alarms allow, and the luck of a baseline that was run once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.stats.intervals.means import skewed_intervals
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import Clusters, finite, mean_error, n_clusters, share


def highest_gain(gain: npt.ArrayLike, *, level: float, clusters: Clusters | None = None) -> float:
    """One-sided upper limit of a mean gain at 1 - level: a loss is shown where it is below 0.

    The larger one of two limits: Student's t, and the same corrected for skewness, since a mean of many small losses
    and a few large gains that happen to be missing looks like a loss too often.  Unlike `non_inferiority` it does not
    allow for a large gain on a kind of question that none of these is: with 120 questions that would hide any loss
    below .04, and where gains and losses are alike the level holds without it (see benchmarks/DECISIONS.md).

    gain      (n,) differences, above 0 being better;   level   share of false alarms, in (0, 1)
    clusters  (n,) of questions that count as one
    Returns   0 where all are 0: an identical system never shows a loss.  Where all are equal otherwise, that value if
              so many equal signs are rarer than the level; NaN if not, and for fewer than two questions or clusters
    Raises    InputError for NaN, a level outside (0, 1), clusters of another length
    Source    Willink, A Confidence Interval and Test for the Mean of an Asymmetric Distribution, 2005.

    >>> gain = np.tile([-0.1, 0.0, 0.02, -0.03], 30)
    >>> round(highest_gain(gain, level=0.005), 4), highest_gain(np.zeros(9), level=0.005)
    (-0.0166, 0.0)
    """
    values = finite(gain, n_axes=1, what="gains")
    average = mean_error(values, clusters=clusters)
    share(level, "level")
    if average.reason:
        return math.nan
    if average.flat:
        rare = 0.5 ** n_clusters(clusters, len(values)) <= level
        return average.mean if rare or not average.mean else math.nan
    by_t = average.mean + t_quantile(1 - level, average.df) * average.error
    skewed = skewed_intervals(values[:, None], level=1 - 2 * level, clusters=clusters)
    return max(by_t, float(skewed.high[0]))


def expected_luck(mean: float, others: Sequence[float], *, error: float) -> float:
    """How much of a mean is expected to be the luck of its own runs, since it was chosen when it was high.

    It regresses to the mean of all measurements by the share of their variance that is not between what was measured:
    (1 - between / (between + within)) (mean - average of all).  Never below 0, as nothing is accepted for being low.

    mean     of what was chosen, above the others being better
    others   means of other measurements on the same questions, whether they passed or not
    error    standard deviation that the mean has from run to run: that of one question over the root of n and of runs
    Returns  0 with fewer than two others, and without such an error
    Source   James & Stein 1961; Efron & Morris, Stein's Estimation Rule and Its Competitors, JASA 1973.

    >>> round(expected_luck(0.73, [0.70, 0.71, 0.69, 0.70], error=0.01), 4)
    0.0104
    >>> expected_luck(0.73, [0.50, 0.55, 0.60, 0.65], error=0.01) < 0.005
    True
    """
    if len(others) < 2 or not error > 0:
        return 0.0
    means: Floats = np.array([mean, *others], np.float64)
    variance = float(means.var(ddof=1))
    between = max(variance - error**2, 0.0)
    return max((1 - between / (between + error**2)) * (mean - float(means.mean())), 0.0)
