"""Whether what comes in now is distributed as it was in a reference: how far it moved, and the p of so much by chance.

With many values every change is significant, and with few a large effect is chance: an alarm needs a small p and an
effect above its floor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.base.extras import require
from steelyard.stats.samples import SMALLEST_P, finite

FLOORS: Mapping[str, float] = {"psi": 0.1, "ks": 0.1, "chi_square": 0.1, "mmd": 0.05}
"""Effects below which a change is of no account, however sure it is."""
_LAPLACE = 0.5
_FEWEST_EXPECTED, _HARDLY = 5.0, 1.0
"""Cells in which the smaller sample is expected to have fewer are joined, and those that are empty in both left out."""
_N_PERMUTATIONS, _FEWEST_BEYOND, _MOST_VECTORS = 499, 10, 1000


def psi(reference_counts: npt.ArrayLike, counts: npt.ArrayLike) -> tuple[float, float]:
    """Population stability index of counts against those of a reference, and its p.

    Where nothing changed, it is distributed as (1/n + 1/m) times chi-square with a degree of freedom less than cells:
    a fixed limit of .1 alarms in most windows of 100 values, and in none of 5,000.

    reference_counts, counts   (b,) of the same cells in the same order, such as tenths of the reference
    Returns   index in [0, inf), p in (0, 1]; NaN, NaN where a sample is empty; 0, 1 where one cell remains
    Raises    InputError for counts that are negative or not finite, and for other shapes
    Source    Yurdakul & Naranjo, Statistical Properties of the Population Stability Index, 2020.

    >>> index, p = psi([100, 100, 100, 100], [30, 20, 25, 25])
    >>> round(index, 4), round(p, 3)
    (0.0195, 0.669)
    """
    reference, window = _cells(reference_counts, counts)
    n, m, b = window.sum(), reference.sum(), len(window)
    if not (n and m):
        return math.nan, math.nan
    before = (reference + _LAPLACE) / (m + _LAPLACE * b)
    now = (window + _LAPLACE) / (n + _LAPLACE * b)
    index = float(((now - before) * np.log(now / before)).sum())
    return index, _tail(reference, window, index / (1 / n + 1 / m))


def chi_square(reference_counts: npt.ArrayLike, counts: npt.ArrayLike) -> tuple[float, float]:
    """Share of the values that would have to move to another cell for both distributions to be one, and Pearson's p.

    reference_counts, counts   (b,) of the same cells in the same order
    Returns   share in [0, 1], p in (0, 1]; NaN, NaN where a sample is empty; 0, 1 where one cell remains
    Raises    as `psi`

    >>> effect, p = chi_square([80, 20], [60, 40])
    >>> round(effect, 3), round(p, 4)
    (0.2, 0.002)
    """
    reference, window = _cells(reference_counts, counts)
    n, m = window.sum(), reference.sum()
    if not (n and m):
        return math.nan, math.nan
    pooled = (reference + window) / (n + m)
    before, now = reference / m, window / n
    statistic = float(((now - before) ** 2 / pooled).sum()) / (1 / n + 1 / m)
    return float(np.abs(now - before).sum()) / 2, _tail(reference, window, statistic)


def ks(reference_counts: npt.ArrayLike, counts: npt.ArrayLike) -> tuple[float, float]:
    """Largest distance of two cumulative distributions over ordered cells, and its p.

    The p of Kolmogorov's distribution, in which values are all distinct: with few cells it is larger than it need be,
    so false alarms are rarer than it says.

    reference_counts, counts   (b,) of the same cells, from low to high values
    Returns   distance in [0, 1], p in (0, 1]; NaN, NaN where a sample is empty
    Raises    as `psi`
    Source    Stephens 1970 (small samples)

    >>> distance, p = ks([10, 10, 10, 10], [1, 3, 6, 10])
    >>> round(distance, 3), round(p, 3)
    (0.3, 0.148)
    """
    reference, window = _counts(reference_counts, counts)
    n, m = window.sum(), reference.sum()
    if not (n and m):
        return math.nan, math.nan
    distance = float(np.abs(np.cumsum(window) / n - np.cumsum(reference) / m).max())
    root = math.sqrt(n * m / (n + m))
    special = require("scipy.special", extra="stats", what="the test of a distribution")
    return distance, _probability(float(special.kolmogorov((root + 0.12 + 0.11 / root) * distance)))


def mmd(reference: npt.ArrayLike, vectors: npt.ArrayLike, rng: np.random.Generator) -> tuple[float, float]:
    """Maximum mean discrepancy of two samples of vectors, and its p by permutation.

    The kernel is Gaussian, as wide as the median distance.  Where a share of the vectors is replaced by quite other
    ones, the discrepancy is about that share.  A p below what the permutations resolve is that of a gamma
    distribution with their mean, spread and skewness.

    reference, vectors   (m, d) and (n, d); of more than 1,000 rows as many are drawn
    Returns   discrepancy in [0, 2**.5), p in (0, 1]; NaN, NaN for fewer than two rows in a sample; 0, 1 where all
              vectors are equal
    Raises    InputError for values that are not finite, and for vectors of other lengths
    Source    Gretton et al., A Kernel Two-Sample Test, JMLR 2012; Pearson's type III for the tail: Berry & Mielke 1983.

    >>> rng = np.random.default_rng(0)
    >>> moved, p = mmd(rng.normal(size=(200, 5)), rng.normal(size=(100, 5)) + 1, rng)
    >>> moved > FLOORS["mmd"], p < 1e-4
    (True, True)
    """
    before, now = (_drawn(finite(part, n_axes=2, what="vectors"), rng) for part in (reference, vectors))
    if min(len(before), len(now)) < 2:
        return math.nan, math.nan
    if before.shape[1] != now.shape[1]:
        raise InputError(f"vectors have {now.shape[1]} numbers, those of the reference {before.shape[1]}")
    kernel = _gaussian(np.concatenate([before, now]))
    n, n_all = len(now), len(kernel)
    first = np.zeros((_N_PERMUTATIONS + 1, n_all))
    order = np.concatenate(
        [np.arange(n_all)[None, ::-1], rng.permuted(np.tile(np.arange(n_all), (_N_PERMUTATIONS, 1)), axis=1)]
    )
    np.put_along_axis(first, order[:, :n], 1.0, axis=1)
    squares = _squares(kernel, first, n)
    return math.sqrt(max(float(squares[0]), 0.0)), _permutation_p(float(squares[0]), squares[1:])


def _squares(kernel: Floats, first: Floats, n: int) -> Floats:
    """Unbiased squares of the discrepancy, by which rows are in the first sample (a row of 0 and 1 each)."""
    m, trace = len(kernel) - n, float(np.trace(kernel))
    total, sums = kernel.sum(), kernel.sum(axis=1)
    within = np.einsum("ij,ij->i", first @ kernel, first)
    across = first @ sums - within
    rest = total - 2 * across - within
    diagonal = trace / len(kernel)
    squares: Floats = (
        (within - n * diagonal) / (n * (n - 1)) + (rest - m * diagonal) / (m * (m - 1)) - 2 * across / (n * m)
    )
    return squares


def _gaussian(rows: Floats) -> Floats:
    """Gaussian kernel of all pairs of rows, as wide as the median of the distances that are not 0."""
    centred = rows - rows.mean(axis=0)
    lengths = (centred**2).sum(axis=1)
    squares = np.maximum(lengths[:, None] + lengths - 2 * centred @ centred.T, 0.0)
    np.fill_diagonal(squares, 0.0)
    apart = squares[squares > 1e-12 * lengths.max(initial=0.0)]
    return np.exp(-squares / np.median(apart)) if len(apart) else np.ones_like(squares)


def _permutation_p(value: float, drawn: Floats) -> float:
    """The share of permutations that are as far out, or beyond them the tail of the gamma distribution they follow."""
    spread = float(drawn.std())
    if spread <= 1e-12:
        return 1.0
    n_beyond = int((drawn >= value).sum())
    if n_beyond >= _FEWEST_BEYOND:
        return (1 + n_beyond) / (1 + len(drawn))
    special = require("scipy.special", extra="stats", what="the test of vectors")
    skewness = max(float((((drawn - drawn.mean()) / spread) ** 3).mean()), 0.1)
    shape = 4 / skewness**2
    return _probability(float(special.gammaincc(shape, max(shape + (value - drawn.mean()) / spread * shape**0.5, 0))))


def _drawn(rows: Floats, rng: np.random.Generator) -> Floats:
    return rows if len(rows) <= _MOST_VECTORS else rows[np.sort(rng.choice(len(rows), _MOST_VECTORS, replace=False))]


def _counts(reference_counts: npt.ArrayLike, counts: npt.ArrayLike) -> tuple[Floats, Floats]:
    reference, window = (finite(part, n_axes=1, what="counts") for part in (reference_counts, counts))
    if len(reference) != len(window) or not len(window):
        raise InputError(
            f"{len(window)} counts, and {len(reference)} of the reference; expected as many, of the same cells"
        )
    if min(reference.min(), window.min()) < 0:
        raise InputError("a count is negative")
    return reference, window


def _cells(reference_counts: npt.ArrayLike, counts: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Both counts in cells that are large enough for chi-square: small ones are one cell, the last one.

    Which cells those are follows from the sum of both, so that it favours neither.  If the joined cell is hardly ever
    hit, the smallest large one is joined with it, but for the last one.
    """
    reference, window = _counts(reference_counts, counts)
    pooled = reference + window
    expected = pooled * min(window.sum(), reference.sum()) / max(pooled.sum(), 1.0)
    order = np.argsort(-expected, kind="stable")
    n_large = int((expected >= _FEWEST_EXPECTED).sum())
    n_large -= n_large > 1 and 0 < expected[order[n_large:]].sum() < _HARDLY
    large, rest = order[:n_large], order[n_large:]
    joined = [np.append(part[large], part[rest].sum()) for part in (reference, window)]
    usual = joined[0] + joined[1] > 0
    return joined[0][usual], joined[1][usual]


def _tail(reference: Floats, window: Floats, statistic: float) -> float:
    """P of chi-square above a statistic; of a rare cell beside one other, the two-sided binomial one."""
    if len(window) < 2:
        return 1.0
    special = require("scipy.special", extra="stats", what="the test of a distribution")
    share, hits = window.sum() / (window.sum() + reference.sum()), round(window[-1] + reference[-1])
    if len(window) == 2 and hits * min(share, 1 - share) < _FEWEST_EXPECTED:
        beyond = (special.bdtr(window[-1], hits, share), special.bdtr(reference[-1], hits, 1 - share))
        return _probability(min(2 * float(min(beyond)), 1.0))
    return _probability(float(special.chdtrc(len(window) - 1, statistic)))


def _probability(p: float) -> float:
    return max(p, SMALLEST_P)
