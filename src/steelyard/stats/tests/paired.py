"""Tests on the differences of two systems, query by query, and the exact sums under tests that flip signs.
The sums are exact, so that no bit of a p depends on threads or on the size of blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Ints
from steelyard.base.extras import require
from steelyard.stats.samples import (
    NO_SPREAD,
    ROUNDING,
    SMALLEST_P,
    Clusters,
    MeanError,
    cluster_sums,
    finite,
    mean_error,
    share,
    t_sf,
    too_few,
    whole,
)

EXACT_QUERIES = 16
"""Up to here all 2**n sign patterns are tried."""

_NUMBERS_AT_ONCE = 1 << 21
_MANTISSA = 52


@dataclass(frozen=True)
class OnGrid:
    """Whole numbers (s, n) that stand for values, and by how much two equal sums of differences may seem to differ.

    unit   what one step is worth
    """

    steps: Floats
    slack: float
    unit: float


def on_grid(values: Floats) -> OnGrid:
    """Round (s, n) values, less each query's smallest, to whole steps whose sums are exact.

    Differences between systems are kept to about n * 2**-52 of the largest one; slack, in steps, covers what
    this rounding and that of the values themselves can add to the two sums that a test compares.
    """
    away = values - values.min(axis=0)
    largest, n = float(away.max()), values.shape[1]
    if largest == 0:
        return OnGrid(away, 0.0, 0.0)
    exponent = _MANTISSA - math.ceil(math.log2(n)) - math.frexp(largest)[1]
    noise = 4 * np.finfo(np.float64).eps * math.ldexp(float(np.abs(values).max()), exponent)
    return OnGrid(np.rint(np.ldexp(away, exponent)), 2 * n * (1 + noise), math.ldexp(1.0, -exponent))


def sign_blocks(n: int, *, n_resamples: int | None, seed: int, width: int) -> Iterator[Floats]:
    """Blocks (r, n) of -1 and 1: all 2**n patterns if n_resamples is None, else that many random ones.

    seed    of the signs; row i is the same whatever the width
    width   how many numbers the caller makes of each row: it bounds the block's size, nothing else
    """
    rows = max(1, _NUMBERS_AT_ONCE // max(n, width))
    total = 2**n if n_resamples is None else n_resamples
    rng = np.random.default_rng(seed)
    for start in range(0, total, rows):
        size = min(rows, total - start)
        if n_resamples is None:
            words = np.arange(start, start + size, dtype=np.uint64)[:, None]
        else:
            # Whole words a row: cutting the stream into other blocks then gives the same rows.
            words = rng.integers(0, 2**64, (size, -(-n // 64)), dtype=np.uint64)
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=n, bitorder="little")
        yield bits.astype(np.float64) * 2 - 1


def count_extreme(grid: OnGrid, first: Ints, second: Ints, *, n_resamples: int | None, seed: int) -> Ints:
    """(m,) in how many sign patterns |sum of signed differences| reaches the observed one, for m pairs of systems.

    One matrix product a block gives every system's signed sum; a pair's is the difference of two of them.
    """
    sums = grid.steps.sum(axis=1)
    bounds = (np.abs(sums[second] - sums[first]) - grid.slack)[:, None]
    by_system = np.ascontiguousarray(grid.steps.T)
    counts = np.zeros(len(first), dtype=np.int64)
    for signs in sign_blocks(grid.steps.shape[1], n_resamples=n_resamples, seed=seed, width=len(first)):
        signed = np.ascontiguousarray((signs @ by_system).T)
        counts += np.count_nonzero(np.abs(signed[second] - signed[first]) >= bounds, axis=1)
    return counts


def unrejected_shifts(
    d: Floats, slack: float, *, sizes: Floats, n_resamples: int | None, seed: int
) -> tuple[Floats, Floats]:
    """(r,) lowest and (r,) highest shift of the differences at which each sign pattern reaches the observed mean.

    A pattern that flips some questions reaches it for all shifts between the mean of those and the mean of the others;
    one that flips all or none, for every shift.

    d, sizes   (n,) whole steps of questions, or the sums of clusters that flip together, and how many questions each is
    slack      as of OnGrid
    Source     Hartigan, Using Subsample Values as Typical Values, JASA 1969.
    """
    n, total = sizes.sum(), d.sum()
    lows, highs = [], []
    for signs in sign_blocks(len(d), n_resamples=n_resamples, seed=seed, width=1):
        signed = signs @ d
        n_flipped = (n - signs @ sizes) / 2
        some = (n_flipped > 0) & (n_flipped < n)
        divided = np.where(some, n_flipped, 1.0), np.where(some, n - n_flipped, 1.0)
        sums = (total - signed) / 2, (total + signed) / 2
        low = np.minimum(*((part - slack / 2) / size for part, size in zip(sums, divided, strict=True)))
        high = np.maximum(*((part + slack / 2) / size for part, size in zip(sums, divided, strict=True)))
        lows.append(np.where(some, low, -np.inf))
        highs.append(np.where(some, high, np.inf))
    return np.concatenate(lows), np.concatenate(highs)


def shuffled_ranges(grid: OnGrid, *, n_resamples: int, seed: int) -> Floats:
    """(n_resamples,) largest less smallest sum over s systems, their labels shuffled within each query; ascending."""
    by_query = np.ascontiguousarray(grid.steps.T)
    rng = np.random.default_rng(seed)
    rows = max(1, _NUMBERS_AT_ONCE // by_query.size)
    ranges = []
    for start in range(0, n_resamples, rows):
        block = np.tile(by_query, (min(rows, n_resamples - start), 1, 1))
        ranges.append(np.ptp(rng.permuted(block, axis=2, out=block).sum(axis=1), axis=1))
    return np.sort(np.concatenate(ranges))


N_RESAMPLES = 100_000
EXACT_RANKS = 50
"""Up to so many differences other than zero, the signed rank statistic's distribution is counted out."""

_TWO_SIDED = 2.0


@dataclass(frozen=True)
class PairedTest:
    """p of a test of paired values, and how it was computed.

    test          "t", "randomization", "wilcoxon" or "sign"
    statistic     t; mean difference; sum of the positive differences' ranks; number of positive differences
    p             in (0, 1]; NaN where there is no test, and then reason says why
    n             queries
    exact         whether p comes from the full distribution rather than from samples or an approximation
    n_resamples   random sign patterns behind p, None where none were drawn;   seed   of them
    """

    test: str
    statistic: float
    p: float
    n: int
    exact: bool = False
    n_resamples: int | None = None
    seed: int | None = None
    reason: str | None = None


def paired_t(d: npt.ArrayLike, *, clusters: Clusters | None = None) -> PairedTest:
    """Student's paired t test, with a cluster-robust error where queries carry a cluster.

    d         (n,) differences;   clusters   (n,) or None
    Returns   p = 1 where all differences are zero; no test (NaN) for one query or cluster, and where all differences
              are equal but not zero: then only the sign-flip test has something to say.
    Raises    InputError for NaN.
    Source    Student 1908; Sakai, Statistical Reform in Information Retrieval?, SIGIR Forum 2014.

    >>> test = paired_t([0.1, 0.3, 0.2, 0.4])
    >>> round(test.statistic, 3), round(test.p, 4)
    (3.873, 0.0305)
    """
    values = finite(d, n_axes=1, what="differences")
    average = mean_error(values, clusters=clusters)
    if not (average.reason or values.any()):
        return PairedTest("t", 0.0, 1.0, average.n)
    return t_test(average)


def t_test(average: MeanError) -> PairedTest:
    """Student's t test that a mean is 0, of its error; no test (NaN) where there is none, or it is 0."""
    if average.reason:
        return PairedTest("t", math.nan, math.nan, average.n, reason=average.reason)
    if average.flat:
        return PairedTest("t", math.copysign(math.inf, average.mean), math.nan, average.n, reason=NO_SPREAD)
    t = average.mean / average.error
    return PairedTest("t", t, min(1.0, _TWO_SIDED * t_sf(abs(t), average.df)), average.n)


def sign_flip(
    d: npt.ArrayLike, *, seed: int, n_resamples: int = N_RESAMPLES, clusters: Clusters | None = None
) -> PairedTest:
    """Randomisation test: if the systems were alike, every difference could as well have the other sign.

    With b of B random sign patterns whose |mean| reaches the observed one, p = (1 + b) / (1 + B).  For up to
    EXACT_QUERIES queries (or clusters, whose queries change sign together) all patterns are tried and p is their share.

    seed      of the signs; the same data and seed give the same p to the bit, whatever the number of threads
    Returns   p = 1 where all differences are zero; no test (NaN) for one query or cluster
    Raises    InputError for NaN, n_resamples < 1
    Source    Fisher 1935; Smucker, Allan & Carterette, A Comparison of Statistical Significance Tests for
              Information Retrieval Evaluation, CIKM 2007; Phipson & Smyth 2010 (the 1 + b).

    >>> sign_flip([1.0, 1.0, 1.0, 1.0, 1.0], seed=0).p
    0.0625
    """
    values = finite(d, n_axes=1, what="differences")
    whole(n_resamples, "n_resamples")
    average = mean_error(values, clusters=clusters)
    if average.reason:
        return PairedTest("randomization", average.mean, math.nan, average.n, reason=average.reason)
    grid = on_grid(cluster_sums(np.stack([np.zeros_like(values), values]), clusters))
    exact = grid.steps.shape[1] <= EXACT_QUERIES
    drawn = None if exact else n_resamples
    count = count_extreme(grid, np.array([0]), np.array([1]), n_resamples=drawn, seed=seed)
    p = float(share_reached(count, drawn, grid.steps.shape[1])[0])
    return PairedTest(
        "randomization", average.mean, p, average.n, exact=exact, n_resamples=drawn, seed=None if exact else seed
    )


def sign_flip_interval(
    d: npt.ArrayLike, *, seed: int, level: float = 0.95, n_resamples: int = N_RESAMPLES,
    clusters: Clusters | None = None,
) -> tuple[float, float]:  # fmt: skip
    """The sign-flip test inverted: from the lowest to the highest mean difference that it does not reject.

    d, seed, n_resamples, clusters   as of `sign_flip`, whose p is at most 1 - level exactly where 0 lies outside
    Returns   both ends; infinite where no sign pattern is rare enough at this level; NaN below two queries or clusters
    Raises    InputError for NaN, n_resamples < 1, a level outside (0, 1)
    Source    Hartigan, Using Subsample Values as Typical Values, JASA 1969; Garthwaite 1996.

    >>> low, high = sign_flip_interval([0.1, 0.3, 0.2, 0.4, 0.3, 0.2], seed=0)
    >>> round(low, 3), round(high, 3)
    (0.1, 0.4)
    """
    values = finite(d, n_axes=1, what="differences")
    whole(n_resamples, "n_resamples")
    alpha = 1 - share(level, "level")
    nothing, sums, sizes = cluster_sums(np.stack([np.zeros_like(values), values, np.ones_like(values)]), clusters)
    n = len(sums)
    if n < 2:
        return math.nan, math.nan
    grid = on_grid(np.stack([nothing, sums]))
    exact = n <= EXACT_QUERIES
    # The fewest patterns that give a p above alpha.
    count = math.floor(alpha * 2**n) + 1 if exact else math.floor(alpha * (1 + n_resamples))
    if not count:
        return -math.inf, math.inf
    lows, highs = unrejected_shifts(
        grid.steps[1] - grid.steps[0], grid.slack, sizes=sizes, n_resamples=None if exact else n_resamples, seed=seed
    )
    low = np.partition(lows, count - 1)[count - 1]
    high = -np.partition(-highs, count - 1)[count - 1]
    return float(low) * grid.unit if math.isfinite(low) else -math.inf, (
        float(high) * grid.unit if math.isfinite(high) else math.inf
    )


def share_reached(counts: Ints, n_resamples: int | None, n: int) -> Floats:
    """p of counted sign patterns: their share of all 2**n, or with the observed one among the random ones."""
    return counts / 2.0**n if n_resamples is None else (1 + counts) / (1 + n_resamples)


def wilcoxon(d: npt.ArrayLike) -> PairedTest:
    """Wilcoxon's signed rank test; zeros are ranked and then left out, as Pratt proposed; ties share their mean rank.

    Up to EXACT_RANKS differences other than zero the distribution is counted out, ties and zeros included; from there
    on it is taken as normal, with the variance of the ranks as they are and no continuity correction.

    Returns   p = 1 where all differences are zero; no test (NaN) for fewer than two queries
    Raises    InputError for NaN
    Source    Wilcoxon 1945; Pratt, Remarks on Zeros and Ties in the Wilcoxon Signed Rank Procedures, JASA 1959.

    >>> test = wilcoxon([0.0, 0.1, -0.2, 0.3, 0.4])
    >>> test.statistic, test.p
    (11.0, 0.375)
    """
    values = finite(d, n_axes=1, what="differences")
    reason = too_few(len(values), len(values) - 1)
    if reason:
        return PairedTest("wilcoxon", math.nan, math.nan, len(values), reason=reason)
    doubled = _doubled_ranks(np.abs(values))
    ranks, positive = doubled[values != 0], int(doubled[values > 0].sum())
    total = int(ranks.sum())
    off = abs(2 * positive - total)
    exact = len(ranks) <= EXACT_RANKS
    if not len(ranks):
        p = 1.0
    elif exact:
        chances = _rank_sum_chances(ranks)
        p = float(chances[np.abs(2 * np.arange(total + 1) - total) >= off].sum())
    else:
        z = off / math.sqrt(math.fsum(ranks.astype(np.float64) ** 2))
        p = math.erfc(z / math.sqrt(2))
    return PairedTest("wilcoxon", positive / 2, min(1.0, max(p, SMALLEST_P)), len(values), exact=exact)


def _doubled_ranks(sizes: Floats) -> Ints:
    """(n,) twice the mean rank of each size from 1: whole numbers; sizes that differ by rounding alone are tied."""
    order = np.argsort(sizes, kind="stable")
    ascending = sizes[order]
    starts = np.flatnonzero(np.diff(ascending, prepend=-np.inf) > ROUNDING * ascending)
    lengths = np.diff(starts, append=len(sizes))
    ranks = np.empty(len(sizes), dtype=np.int64)
    ranks[order] = np.repeat(2 * starts + lengths + 1, lengths)
    return ranks


def _rank_sum_chances(doubled: Ints) -> Floats:
    """Chance of each sum 0, 1, … of the positive differences' doubled ranks, when every sign is a fair coin."""
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled:
        moved = np.zeros_like(chances)
        moved[rank:] = chances[: len(chances) - rank]
        chances = (chances + moved) / 2
    return chances


def sign_test(d: npt.ArrayLike) -> PairedTest:
    """Exact binomial test that B wins as often as it loses; ties are left out.

    Returns   p = 1 where all differences are zero; no test (NaN) for fewer than two queries
    Raises    InputError for NaN
    Source    Arbuthnott 1710; Conover, Practical Nonparametric Statistics.

    >>> sign_test([0.1, 0.2, 0.0, 0.3, 0.1, 0.4]).p
    0.0625
    """
    values = finite(d, n_axes=1, what="differences")
    reason = too_few(len(values), len(values) - 1)
    if reason:
        return PairedTest("sign", math.nan, math.nan, len(values), reason=reason)
    n_wins, n_losses = int((values > 0).sum()), int((values < 0).sum())
    if n_wins == n_losses:
        return PairedTest("sign", float(n_wins), 1.0, len(values), exact=True)
    special = require("scipy.special", extra="stats", what="the sign test")
    tail = float(special.bdtr(min(n_wins, n_losses), n_wins + n_losses, 0.5))
    return PairedTest("sign", float(n_wins), min(1.0, max(_TWO_SIDED * tail, SMALLEST_P)), len(values), exact=True)
