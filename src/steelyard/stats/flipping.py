"""The arithmetic under randomisation tests: sums that are exact, so that no bit depends on threads or block size.

Values are rounded once to whole multiples of a unit, fine enough for about 2**52 / n steps between the smallest and
the largest difference.  Every sum of n of them then fits a float64 without rounding, so a matrix product gives the
same bits in whatever order a BLAS adds, and equal statistics are equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats, Ints

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
) -> tuple[Floats, Floats]:  # fmt: skip
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
