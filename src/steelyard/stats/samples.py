"""Inputs of the tests: finite values, differences free of rounding, sums per cluster, a mean and its error."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.extras import require

ROUNDING = 1e-12
"""Relative to the largest value: differences below it are rounding."""

NEAR = 0.1
"""Share of a range: values that are nearer to each other than this agree in part, and wholly where they are equal."""

RARE = 1.5
"""Of n where something never happened, times 1/n: the error of its share.  Two errors are 3/n, which is as often as it
may happen all the same, with 95% certainty (Hanley & Lippman-Hand, JAMA 1983)."""

SMALLEST_P = sys.float_info.min
"""No test here proves anything: where a p-value underflows, it is this."""

Clusters = npt.NDArray[Any] | Sequence[Any]
"""(n,) which conversation, document, … each query belongs to: integers or strings."""

NO_SPREAD = "all differences are equal: there is no spread to test against"


def finite(values: npt.ArrayLike, *, n_axes: int, what: str) -> Floats:
    """The values as floats, refused unless they have that many axes and are finite.

    Raises   InputError: wrong shape; NaN or infinite, with how many and where the first one is.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != n_axes:
        raise InputError(f"{what} have {array.ndim} axes, expected {n_axes}: {'(s, n)' if n_axes == 2 else '(n,)'}")
    bad = ~np.isfinite(array)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"{what} hold {int(bad.sum())} values that are not finite, the first at {place}: {array[place]}; "
            "leave out the questions that have no value, for all systems alike, and count them"
        )
    return array


def differences(baseline: npt.ArrayLike, other: npt.ArrayLike) -> Floats:
    """Gains of the other system, query by query; rounding is not a difference.

    baseline, other   (n,) values of the same n queries in the same order
    Returns           (n,) other - baseline, 0 where they agree to 12 digits
    Raises            InputError for NaN, infinite values, or unequal lengths.

    >>> differences([0.3, 0.5], [0.1 + 0.2, 0.75])
    array([0.  , 0.25])
    """
    reference = finite(baseline, n_axes=1, what="the baseline's values")
    values = finite(other, n_axes=1, what="the other system's values")
    if reference.shape != values.shape:
        raise InputError(
            f"the baseline has {len(reference)} values and the other system {len(values)}; expected one each for the "
            "same questions: keep the questions that both answered"
        )
    return less(values, reference)


def less(values: Floats, others: Floats) -> Floats:
    """values - others, 0 where they agree to 12 digits."""
    away = values - others
    return np.where(np.abs(away) <= ROUNDING * np.maximum(np.abs(values), np.abs(others)), 0.0, away)


def cluster_codes(clusters: Clusters, n: int) -> Ints:
    """(n,) clusters numbered from 0 in sorted order.

    Raises   InputError unless there is one cluster a query.
    """
    names = np.asarray(clusters)
    if names.shape != (n,):
        raise InputError(f"clusters have shape {names.shape}, expected ({n},): one a question")
    # Numbers from 0 without a gap, as most are, need no sorting.
    if names.dtype.kind == "i" and n and names.min() == 0 and names.max() < n and np.bincount(names).all():
        return names.astype(np.int64)
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def n_clusters(clusters: Clusters | None, n: int) -> int:
    """Number of clusters that n queries are in: each in one of its own without clusters."""
    return n if clusters is None else len(np.unique(cluster_codes(clusters, n)))


def cluster_sums(values: Floats, clusters: Clusters | None) -> Floats:
    """(s, g) sums of (s, n) values over each of g clusters; the values themselves without clusters."""
    if clusters is None:
        return values
    codes = cluster_codes(clusters, values.shape[1])
    return np.stack([np.bincount(codes, weights=row) for row in values]) if len(values) else values


def equal_pairs(values: Floats) -> Ints:
    """(c,) ordered pairs of equal values in each row of (c, n), a value and itself too; rounding is no difference.

    >>> equal_pairs(np.array([[1.0, 0.0, 1.0, 1.0], [0.1, 0.2, 0.3, 0.4]]))
    array([10,  4])
    """
    ascending = np.sort(values, axis=1)
    c, n = ascending.shape
    differs = np.ones((c, n), bool)
    differs[:, 1:] = np.diff(ascending, axis=1) > ROUNDING * np.abs(ascending).max(axis=1)[:, None]
    starts = np.flatnonzero(differs)
    counts = np.diff(starts, append=c * n)
    pairs = np.zeros(c, np.int64)
    np.add.at(pairs, starts // n, counts**2)
    return pairs


def near_pairs(values: Floats, range_: Floats) -> Floats:
    """(c,) ordered pairs of near values in each row of (c, n), a value and itself too.

    A pair counts 1 where both are equal, 0 where they are NEAR of the range apart or more, and in between by distance,
    so that a rounding or a little noise changes the count by a little.

    range_   (c,) from the lowest to the highest value that there can be, above 0

    >>> near_pairs(np.array([[1.0, 0.0, 1.0, 1.0], [0.1, 0.15, 0.3, 0.4]]), np.ones(2)).round(9)
    array([10.,  5.])
    """
    ascending = np.sort(values, axis=1)
    scaled = (ascending - ascending[:, :1]) / (NEAR * range_[:, None])
    starts = np.array([row.searchsorted(row - 1) for row in scaled], np.int64).reshape(scaled.shape)
    sums = np.cumsum(np.pad(scaled, ((0, 0), (1, 0))), axis=1)
    counts = np.arange(1, values.shape[1] + 1) - starts
    upwards = counts * (1 - scaled) + sums[:, 1:] - np.take_along_axis(sums, starts, axis=1)
    return np.asarray(2 * upwards.sum(axis=1) - values.shape[1])


def fsum(values: Floats) -> float:
    """The exact sum of (n,) values, rounded once; several times as fast of plain floats as of an array's."""
    return math.fsum(values.tolist())


@dataclass(frozen=True)
class MeanError:
    """A mean, its standard error and degrees of freedom; the error is NaN for fewer than two queries or clusters.

    below, above   by how much it may be lower or higher besides, for a cause that no error covers
    """

    mean: float
    error: float
    df: float
    n: int
    below: float = 0.0
    above: float = 0.0

    def toward(self, value: float) -> MeanError:
        """The same with the mean that is nearest to a value, and no other."""
        nearest = min(max(value, self.mean - self.below), self.mean + self.above)
        return MeanError(nearest, self.error, self.df, self.n)

    def ends(self, below: float, above: float) -> tuple[float, float]:
        """Both ends of its interval, so many errors below and above what it may be."""
        return self.mean - self.below - below * self.error, self.mean + self.above + above * self.error

    @property
    def reason(self) -> str | None:
        """Why no error can be given, or none."""
        return too_few(self.n, self.df)

    @property
    def flat(self) -> bool:
        """True if all values, or all clusters' means, are equal, so that the error is 0."""
        return self.error == 0


def too_few(n: int, df: float) -> str | None:
    """Why there is no test: at least two queries are needed, in at least two clusters."""
    if n < 2:
        return f"{n} {'question' if n == 1 else 'questions'}: a test needs at least two"
    return "all questions are in one cluster: a test needs at least two" if df < 1 else None


def mean_error(values: Floats, *, clusters: Clusters | None = None) -> MeanError:
    """Mean and standard error of (n,) values; the error allows for queries that move together in a cluster.

    Sums are exact (math.fsum), so the order of the queries moves no bit of a result without clusters.

    clusters   None: every query for itself.  Else the cluster-robust error of `mean_covariance`, with the degrees of
               freedom that the clusters' sizes leave it: one less than their number where they are of one size, fewer
               where a few large ones decide.  With one query a cluster that is the same as none.
    Source     Bell & McCaffrey, Bias Reduction in Standard Errors for Linear Regression with Multi-Stage Samples,
               Survey Methodology 2002; Imbens & Kolesar, Robust Standard Errors in Small Samples, REStat 2016.

    >>> average = mean_error(np.array([0.0, 1.0, 2.0]))
    >>> average.mean, round(average.error, 6), average.df
    (1.0, 0.57735, 2)
    >>> average = mean_error(np.array([0.0, 0.0, 1.0, 1.0, 0.0, 1.0]), clusters=["a", "a", "b", "b", "c", "c"])
    >>> round(average.error, 6), average.df
    (0.288675, 2)
    """
    n = len(values)
    if n == 0:
        return MeanError(math.nan, math.nan, -1, 0)
    mean = fsum(values) / n
    away = values - mean
    sums = cluster_sums(away[None, :], clusters)[0]
    n_groups = len(sums)
    if n_groups < 2:
        return MeanError(mean, math.nan, n_groups - 1, n)
    df = n - 1 if clusters is None else _degrees_of_freedom(away, cluster_codes(clusters, n))
    if np.abs(sums).max() <= ROUNDING * n / n_groups * np.abs(values).max():
        return MeanError(mean, 0.0, df, n)
    return MeanError(mean, math.sqrt(mean_covariance(away, away, clusters=clusters)), df, n)


def mean_covariance(first: Floats, second: Floats, *, clusters: Clusters | None) -> float:
    """The covariance of two means over the same n queries, from (n,) values less their means.

    By cluster: products of summed residuals, each over the share of all queries that lie outside the cluster, since the
    mean draws the residuals of a large cluster to 0 (CR2 of Bell & McCaffrey).
    """
    n = len(first)
    sums = cluster_sums(np.stack([first, second]), clusters)
    products = sums[0] * sums[1]
    if clusters is None:
        return fsum(products) * n / (n - 1) / n**2
    return fsum(products / (1 - np.bincount(cluster_codes(clusters, n)) / n)) / n**2


def _degrees_of_freedom(away: Floats, codes: Ints) -> float:
    """Degrees of freedom of a chi-square like the squared error, by its first two moments (Satterthwaite).

    Queries of a cluster are taken for equally correlated, by as much as these are (and not below 0).

    away   (n,) values less their mean;   codes   (n,) cluster of each, of two at least
    """
    n, sizes = len(away), np.bincount(codes).astype(float)
    if not np.ptp(sizes):
        return len(sizes) - 1
    squares, pairs = (away**2).sum(), (sizes * (sizes - 1)).sum()
    sums = np.bincount(codes, weights=away)
    alike = float(((sums**2).sum() - squares) / pairs / (squares / n)) if squares and pairs else 0.0
    spread = sizes * (1 + (sizes - 1) * min(max(alike, 0.0), 1.0))
    # The sums of residuals have the covariance diag(spread) - share spread' - spread share' + total share share'.
    share, total, weights = sizes / n, spread.sum(), 1 / (1 - sizes / n)
    own = 2 * share * spread - total * share**2
    within, both, across = ((weights * product).sum() for product in (share**2, share * spread, spread**2))
    shared = 2 * within * across + 2 * both**2 + (total * within) ** 2 - 4 * total * within * both
    moments = (weights * (spread - own)).sum(), (weights**2 * (spread**2 - 2 * spread * own)).sum() + shared
    return float(min(max(moments[0] ** 2 / moments[1], 1.0), len(sizes) - 1))


def t_sf(t: float, df: float) -> float:
    """P(T > t) of Student's t, above 0."""
    special = require("scipy.special", extra="stats", what="the t test")
    return max(float(special.stdtr(df, -t)), SMALLEST_P)


def share(value: float, name: str) -> float:
    """The value, refused unless it lies strictly between 0 and 1."""
    if not 0 < value < 1:
        raise InputError(f"{name} is {value}, expected a number between 0 and 1, such as 0.05")
    return value


def checked_seed(seed: int) -> int:
    """The seed, refused unless it is a whole number from 0."""
    if not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed must be a whole number from 0, not {seed!r}")
    return seed


def whole(value: int, name: str, least: int = 1) -> int:
    """The value, refused where it is below the least."""
    if value < least:
        raise InputError(f"{name} is {value}, expected at least {least}")
    return value
