"""Pearson's tests of counts: against declared shares, and of two classifications against each other."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.stats.samples import finite

ENOUGH_EXPECTED = 5
"""Expected count of the rarest cell from which on Pearson's p is close to the exact one (Cochran 1954)."""


def goodness_of_fit(counts: npt.ArrayLike, shares: npt.ArrayLike) -> float:
    """P of counts as far from declared shares as these, by Pearson's chi-square.

    counts   (c,) from 0;   shares   (c,) above 0, of any sum
    Returns  p in (0, 1]; NaN where nothing is counted
    Raises   InputError for arrays of different lengths, counts below 0 and shares that are not above 0

    >>> round(goodness_of_fit([5210, 4790], [0.5, 0.5]), 7)
    2.67e-05
    """
    n, share = (finite(part, n_axes=1, what=what) for part, what in ((counts, "counts"), (shares, "shares")))
    if len(n) != len(share) or (n < 0).any() or (share <= 0).any():
        raise InputError(f"{len(n)} counts of {len(share)} shares; expected as many, counts from 0, shares above 0")
    if not n.sum():
        return math.nan
    expected = share / share.sum() * n.sum()
    return chi_square_sf(float(((n - expected) ** 2 / expected).sum()), len(n) - 1)


def independence(table: npt.ArrayLike) -> float:
    """P of two classifications as far from independent as these, by Pearson's chi-square.

    table    (r, c) counts from 0; rows and columns without a count are left out
    Returns  p in (0, 1]; NaN where fewer than two rows or columns are left

    >>> round(independence([[30, 70], [50, 50]]), 6)
    0.003892
    """
    counts = np.asarray(table, np.float64)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if min(counts.shape) < 2:
        return math.nan
    expected: Floats = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    return chi_square_sf(float(((counts - expected) ** 2 / expected).sum()), (len(counts) - 1) * (counts.shape[1] - 1))


def chi_square_sf(statistic: float, df: int) -> float:
    """Probability of chi-square above a statistic from 0, of a whole number of degrees of freedom from 1.

    By the recurrence of the incomplete gamma function, all of whose terms are positive.
    Source   Abramowitz & Stegun, Handbook of Mathematical Functions, 26.4.4 and 26.4.5.

    >>> round(chi_square_sf(3.841459, 1), 6), round(chi_square_sf(11.0705, 5), 5)
    (0.05, 0.05)
    """
    y = statistic / 2
    if not y > 0:
        return 1.0
    a, tail = (1.0, math.exp(-y)) if df % 2 == 0 else (0.5, math.erfc(math.sqrt(y)))
    while a < df / 2:
        tail += math.exp(a * math.log(y) - y - math.lgamma(a + 1))
        a += 1
    return min(tail, 1.0)
