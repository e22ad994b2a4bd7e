"""Agreement of raters from counts of labels: whole stacks of tables at once, as resampling needs them.

A table of two raters has at [i, j] how many items the first calls i and the second j.  A table of coincidences has at
[i, j] how often i and j meet on an item, each item weighing as many labels as it has (Krippendorff).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.base.choices import Scale

Weights = Literal["nominal", "linear", "quadratic"]
"""What it costs two raters to be i and j categories apart: 1, |i - j|, (i - j)²."""


def kappa_of_counts(counts: Floats, weights: Weights = "nominal") -> Floats:
    """Cohen's kappa of (..., k, k) tables of two raters; NaN where both give the same label to every item.

    Source   Cohen 1960, 1968: 1 - sum(w observed) / sum(w expected)

    >>> kappa_of_counts(np.array([[[20.0, 5.0], [10.0, 15.0]]])).round(4)
    array([0.4])
    """
    k = counts.shape[-1]
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(float)
    cost = {"nominal": np.minimum(apart, 1), "linear": apart, "quadratic": apart**2}[weights]
    rows, columns = counts.sum(axis=-1), counts.sum(axis=-2)
    observed = (counts * cost).sum(axis=(-2, -1)) * rows.sum(axis=-1)
    expected = ((rows @ cost) * columns).sum(axis=-1)
    return _less_than_chance(observed, expected)


def alpha_of_coincidences(coincidences: Floats, scale: Scale, values: Floats | None = None) -> Floats:
    """Krippendorff's alpha of (..., k, k) tables of coincidences; NaN where all labels are equal, or there are none.

    values   (k,) what the labels are on an interval scale; their places by default
    Source   Krippendorff, Content Analysis, 2019, chapter 12.  Ordinal distances are those of the labels' mean ranks.

    >>> alpha_of_coincidences(np.array([[[4.0, 1.0], [1.0, 4.0]]]), "nominal").round(4)
    array([0.64])
    """
    n = coincidences.sum(axis=-1)
    total = n.sum(axis=-1)
    if scale == "nominal":
        observed = total - np.trace(coincidences, axis1=-2, axis2=-1)
        expected = total**2 - (n**2).sum(axis=-1)
    else:
        places = np.arange(n.shape[-1], dtype=float) if values is None else values
        at = mean_ranks(n) if scale == "ordinal" else np.broadcast_to(places, n.shape)
        observed = (coincidences * (at[..., :, None] - at[..., None, :]) ** 2).sum(axis=(-2, -1))
        centre = (n * at).sum(axis=-1) / np.maximum(total, 1)
        expected = 2 * total * (n * (at - centre[..., None]) ** 2).sum(axis=-1)
    several = (n > 0).sum(axis=-1) > 1
    return _less_than_chance(observed * (total - 1), np.where(several, expected, 0.0))


def coincidences_of_pairs(counts: Floats) -> Floats:
    """(..., k, k) tables of coincidences of two raters, from tables of their pairs of labels."""
    return counts + np.swapaxes(counts, -2, -1)


def mean_ranks(counts: Floats) -> Floats:
    """(..., k) mean rank, less one half, of the items of each category, from (..., k) counts in ascending order."""
    return np.asarray(np.cumsum(counts, axis=-1) - counts / 2)


def spearman_of_counts(counts: Floats) -> Floats:
    """Spearman's correlation with mean ranks of ties, of (..., r, c) tables; NaN where either rater ties all.

    >>> spearman_of_counts(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    array(0.5)
    """
    rows, columns = counts.sum(axis=-1), counts.sum(axis=-2)
    total = rows.sum(axis=-1)
    first, second = (mean_ranks(side) - total[..., None] / 2 for side in (rows, columns))
    both = (first * (counts @ second[..., None])[..., 0]).sum(axis=-1)
    squares = (rows * first**2).sum(axis=-1) * (columns * second**2).sum(axis=-1)
    return _ratio(both, np.sqrt(squares))


def kendall_of_counts(counts: Floats) -> Floats:
    """Kendall's tau-b of (..., r, c) tables, rows and columns in ascending order; NaN where either rater ties all.

    >>> kendall_of_counts(np.array([[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]])).round(4)
    array([0.3333])
    """
    rows, columns = counts.sum(axis=-1), counts.sum(axis=-2)
    total = rows.sum(axis=-1)
    # Below each cell: the items that both raters place lower, and those that only the first one does.
    below = np.cumsum(counts, axis=-2) - counts
    left = np.cumsum(below, axis=-1) - below
    right = below.sum(axis=-1)[..., None] - left - below
    difference = (counts * (left - right)).sum(axis=(-2, -1))
    pairs = [(total**2 - (side**2).sum(axis=-1)) / 2 for side in (rows, columns)]
    return _ratio(difference, np.sqrt(pairs[0] * pairs[1]))


def auc_of_counts(counts: Floats) -> Floats:
    """Chance that a positive scores above a negative, half for ties: (..., 2, c) counts of negatives and positives.

    Scores ascend.  NaN where either is missing.

    >>> auc_of_counts(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    array(0.875)
    """
    negatives, positives = counts[..., 0, :], counts[..., 1, :]
    above = (positives * mean_ranks(negatives)).sum(axis=-1)
    return _ratio(above, negatives.sum(axis=-1) * positives.sum(axis=-1))


def balanced_accuracy_of_counts(counts: Floats) -> Floats:
    """Mean over the truth's categories (rows) of the share that is called the same; NaN for an empty table.

    Categories that the truth does not have are left out.

    >>> balanced_accuracy_of_counts(np.array([[9.0, 1.0], [1.0, 1.0]]))
    array(0.7)
    """
    n = counts.sum(axis=-1)
    shares = np.diagonal(counts, axis1=-2, axis2=-1) / np.maximum(n, 1e-300)
    return _ratio(shares.sum(axis=-1), (n > 0).sum(axis=-1).astype(float))


def binary_counts(counts: Floats, place: int) -> Floats:
    """(..., 2, 2) tables of (..., r, c) ones, the categories cut in two before this place."""
    cut = np.add.reduceat(counts, [0, place], axis=-2)
    return np.asarray(np.add.reduceat(cut, [0, place], axis=-1))


def pair_counts(first: Ints, second: Ints, shape: tuple[int, int], groups: Ints | None = None) -> Floats:
    """(g, r, c) tables of two raters' labels, in each of g groups of items; (1, r, c) without groups.

    first, second   (n,) places of the labels;   groups   (n,) numbers from 0
    """
    rows, columns = shape
    groups = np.zeros(len(first), np.int64) if groups is None else groups
    n_groups = int(groups.max(initial=0)) + 1
    cells = (groups * rows + first) * columns + second
    tables = np.bincount(cells, minlength=n_groups * rows * columns).reshape(n_groups, rows, columns)
    return tables.astype(np.float64)


def _less_than_chance(observed: Floats, expected: Floats) -> Floats:
    return np.asarray(1 - _ratio(observed, expected))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """NaN over 0."""
    part, whole = np.asarray(part), np.asarray(whole)
    undefined = np.full(np.broadcast(part, whole).shape, np.nan)
    return np.asarray(np.divide(part, whole, out=undefined, where=whole > 0))
