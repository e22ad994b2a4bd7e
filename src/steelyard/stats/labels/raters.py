"""Agreement of raters on the same items: people with people, and a judge with people.
Statistics of counts take whole stacks of tables at once, as resampling needs them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.choices import Scale
from steelyard.base.errors import InputError, quoted
from steelyard.stats.samples import finite, share, whole

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


Ratings = Sequence[Any] | npt.NDArray[Any]
"""(n,) labels of one rater: words, whole numbers, truth values; NaN and None are gaps."""


def confusion_matrix(
    first: Ratings, second: Ratings, categories: Sequence[Any] | None = None
) -> tuple[Ints, Sequence[Any]]:
    """Counts of how often the first rater's label i meets the second's label j, and the categories that are counted.

    categories   all labels, in order; by default those that occur, sorted
    Raises       InputError for unequal lengths, labels that no category is

    >>> counts, categories = confusion_matrix(["yes", "no", "yes"], ["yes", "yes", None])
    >>> counts.tolist(), categories
    ([[0, 1], [0, 1]], ['no', 'yes'])
    """
    codes, known_categories = rating_codes([first, second], categories)
    both = (codes >= 0).all(axis=0)
    k = len(known_categories)
    counts = pair_counts(codes[0, both], codes[1, both], (k, k))[0]
    return counts.astype(np.int64), known_categories


def cohen_kappa(
    first: Ratings, second: Ratings, weights: Weights = "nominal", *, categories: Sequence[Any] | None = None
) -> float:
    """Cohen's kappa of two raters: how much of the disagreement that chance would give they avoid.

    weights      "nominal": all disagreements are alike;  "linear", "quadratic": by the categories between, or squared
    categories   all labels, in order, for weights by distance; by default those of the two that occur, sorted
    Returns      1 for full agreement, 0 for that of chance; NaN where it is undefined: no item has both labels, or both
                 raters give all items one and the same label
    Raises       InputError for unequal lengths, labels that no category is
    Source       Cohen, A Coefficient of Agreement for Nominal Scales, 1960; Weighted Kappa, 1968.

    >>> cohen_kappa([1, 1, 0, 0], [1, 0, 0, 0])
    0.5
    >>> cohen_kappa([1, 1], [1, 1])
    nan
    """
    counts, _ = confusion_matrix(first, second, categories)
    return float(kappa_of_counts(_of_both(counts.astype(float), categories), weights))


def krippendorff_alpha(
    ratings: Sequence[Ratings] | npt.NDArray[Any], scale: Scale = "nominal", *, categories: Sequence[Any] | None = None
) -> float:
    """Krippendorff's alpha of any number of raters with gaps.

    ratings      (r, n) one row a rater, one column an item
    scale        "nominal" for words, "ordinal" for words in order, "interval" for numbers
    categories   all labels, in order; words on an interval scale are then as far apart as their places
    Returns      1 for full agreement, 0 for that of chance; NaN where it is undefined: fewer than two labels on every
                 item, or all labels equal
    Raises       InputError for rows of unequal lengths, labels that no category is, words without categories on a scale
                 that has an order
    Source       Krippendorff, Content Analysis, 2019, chapter 12.

    >>> round(krippendorff_alpha([[1, 2, 3, 3, 2], [1, 2, 3, 3, 2], [None, 3, 3, 3, 2]], "ordinal"), 4)
    0.8231
    """
    codes, listed = rating_codes(ratings, categories)
    words = [label for label in listed if isinstance(label, str)]
    if words and categories is None and scale != "nominal" and len(listed) > 2:
        raise InputError(f"labels such as {quoted(words[0])} have no order; name all labels in order: categories=[...]")
    values = None if words else np.array(listed, float)
    return float(alpha_of_coincidences(coincidences(codes, len(listed)).sum(axis=0), scale, values))


def coincidences(codes: Ints, k: int, groups: Ints | None = None) -> Floats:
    """(g, k, k) tables of coincidences in each of g groups of items.

    codes   (r, n) places of the labels, -1 for gaps;   groups   (n,) numbers from 0, None for one group
    """
    n_items = codes.shape[1]
    groups = np.zeros(n_items, np.int64) if groups is None else groups
    n_groups = int(groups.max(initial=0)) + 1
    labels = np.zeros((n_items, k))
    for row in codes:
        rated = np.flatnonzero(row >= 0)
        labels[rated, row[rated]] += 1
    n_labels = labels.sum(axis=1)
    pairable = n_labels > 1
    weights = np.where(pairable, 1 / np.maximum(n_labels - 1, 1), 0.0)[:, None]
    tables = np.zeros((n_groups, k, k))
    for label in range(k):
        # Each label meets all others of its item, and not itself.
        met = labels[:, label, None] * labels * weights
        met[:, label] -= (labels[:, label, None] * weights)[:, 0]
        np.add.at(tables[:, label], groups, met)
    return tables


def balanced_accuracy(truth: Ratings, judged: Ratings) -> float:
    """Mean over the truth's categories of the share that is judged the same; NaN without items that have both.

    Raises   InputError for unequal lengths

    >>> balanced_accuracy([1, 1, 1, 0], [1, 1, 0, 0]).__round__(4)
    0.8333
    """
    counts, _ = confusion_matrix(truth, judged)
    return float(balanced_accuracy_of_counts(counts.astype(float)))


def auc(scores: npt.ArrayLike, positives: npt.ArrayLike) -> float:
    """Chance that a positive item scores above a negative one, half for ties (Mann & Whitney).

    scores      (n,) finite;   positives   (n,) truth values
    Returns     in [0, 1], .5 for scores that say nothing; NaN where all are positive, or none is
    Raises      InputError for unequal lengths, scores that are not finite

    >>> auc([0.1, 0.4, 0.4, 0.9], [False, True, False, True])
    0.875
    """
    values = finite(scores, n_axes=1, what="scores")
    truth: Bools = np.asarray(positives, dtype=bool)
    if truth.shape != values.shape:
        raise InputError(f"{len(values)} scores and truth values of shape {truth.shape}; expected one a score")
    return float(auc_of_counts(_table(truth.astype(float), values, rows=np.array([0.0, 1.0]))))


def spearman(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Spearman's rank correlation, ties having their mean rank; NaN where either ties all items.

    Raises   InputError for unequal lengths, values that are not finite

    >>> spearman([1, 2, 3, 4], [1, 3, 2, 4])
    0.8
    """
    one, other = finite(first, n_axes=1, what="values"), finite(second, n_axes=1, what="values")
    if one.shape != other.shape:
        raise InputError(f"{len(one)} values and {len(other)}; expected one each for the same items")
    ranks = [_centred_ranks(side) for side in (one, other)]
    squares = [float((side**2).sum()) for side in ranks]
    return float((ranks[0] * ranks[1]).sum() / math.sqrt(squares[0] * squares[1])) if all(squares) else math.nan


def wilson_interval(n_successes: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """Interval of a share of n independent items, which holds also near 0 and 1; (NaN, NaN) without items.

    Raises   InputError for more successes than items, a level outside (0, 1)
    Source   Wilson, Probable Inference, the Law of Succession, and Statistical Inference, JASA 1927.

    >>> low, high = wilson_interval(9, 10)
    >>> round(low, 4), round(high, 4)
    (0.5958, 0.9821)
    """
    if not 0 <= n_successes <= n:
        raise InputError(f"{n_successes} of {n} items; expected between 0 and all")
    return wilson_ends(n_successes / max(n, 1), whole(n, "n", 0), level=level)


def wilson_ends(value: float, n: float, *, level: float = 0.95) -> tuple[float, float]:
    """As `wilson_interval`, of a share of as many items as it is worth, which may be no whole number.

    >>> wilson_ends(0.9, 10) == wilson_interval(9, 10)
    True
    """
    z = NormalDist().inv_cdf((1 + share(level, "level")) / 2)
    if n == 0:
        return math.nan, math.nan
    centre = (value * n + z * z / 2) / (n + z * z)
    reach = z * math.sqrt(value * (1 - value) * n + z * z / 4) / (n + z * z)
    return (0.0 if value == 0 else centre - reach), (1.0 if value == 1 else centre + reach)


def worth_of_share(right: Bools, weights: Floats, clusters: Ints) -> tuple[float, float]:
    """A weighted share, and how many independent items it is worth: fewer than there are, by weights and clusters.

    right, weights   (n,) of one item at least;   clusters   (n,) of items that are drawn together, from 0

    >>> worth_of_share(np.array([True, True, False, False]), np.ones(4), np.array([0, 0, 1, 1]))
    (0.5, 2.0)
    """
    value = float((weights * right).sum() / weights.sum())
    away = weights * (right - value)
    squares = float((away**2).sum())
    together = float((np.bincount(clusters, away) ** 2).sum() / squares) if squares > 0 else 1.0
    return value, float(weights.sum() ** 2 / (weights**2).sum()) / max(together, 1.0)


def rating_codes(
    ratings: Sequence[Ratings] | npt.NDArray[Any], categories: Sequence[Any] | None = None
) -> tuple[Ints, Sequence[Any]]:
    """(r, n) places of labels in their categories, -1 for gaps; and the categories.

    categories   by default the labels that occur, sorted
    Raises       InputError for rows of unequal lengths, a label that no category is, words among numbers
    """
    rows = [_labels(row) for row in ratings]
    if len({len(row) for row in rows}) > 1:
        raise InputError(f"raters have {', '.join(str(len(row)) for row in rows)} labels; expected one each an item")
    occurring = {label for row in rows for label in row if label is not None}
    if categories is None and len({isinstance(label, str) for label in occurring}) > 1:
        words = sorted(label for label in occurring if isinstance(label, str))
        raise InputError(f"labels are numbers and words, such as {quoted(words[0])}; expected one or the other")
    listed = sorted(occurring) if categories is None else list(categories)
    places: dict[Any, int] = {label: place for place, label in enumerate(listed)}
    if occurring - places.keys():
        foreign = sorted(occurring - places.keys(), key=str)
        raise InputError(f"the label {quoted(foreign[0])} is none of {', '.join(map(quoted, listed))}")
    codes = [[-1 if label is None else places[label] for label in row] for row in rows]
    return np.array(codes, np.int64).reshape(len(rows), -1), listed


def _labels(row: Ratings) -> list[Any]:
    """Labels as plain values, gaps as None."""
    values = row.tolist() if isinstance(row, np.ndarray) else list(row)
    return [None if isinstance(value, float) and math.isnan(value) else value for value in values]


def _of_both(counts: Floats, categories: Sequence[Any] | None) -> Floats:
    """Without categories that neither rater uses on common items, unless all were named."""
    if categories is not None:
        return counts
    used = counts.sum(axis=0) + counts.sum(axis=1) > 0
    return counts[np.ix_(used, used)]


def _table(first: Floats, second: Floats, *, rows: Floats | None = None) -> Floats:
    """(r, c) counts of pairs of values, both ascending."""
    first_values = np.unique(first) if rows is None else rows
    columns, second_codes = np.unique(second, return_inverse=True)
    first_codes = np.searchsorted(first_values, first)
    return np.asarray(pair_counts(first_codes, second_codes, (len(first_values), len(columns)))[0])


def _centred_ranks(values: Floats) -> Floats:
    """Ranks less their mean, ties having their mean rank."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - counts / 2 - len(values) / 2)[codes])
