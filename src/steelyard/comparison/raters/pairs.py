"""Two raters: statistics of their labels on the items that both labelled, with intervals; and alpha of all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.choices import Scale
from steelyard.base.progress import Progress, usual_progress
from steelyard.data.ratings import Label, Ratings
from steelyard.stats.intervals.resampling import Statistics, cluster_bootstrap
from steelyard.stats.labels.raters import (
    alpha_of_coincidences,
    auc_of_counts,
    balanced_accuracy_of_counts,
    binary_counts,
    coincidences,
    coincidences_of_pairs,
    kappa_of_counts,
    kendall_of_counts,
    pair_counts,
    spearman_of_counts,
)


@dataclass(frozen=True)
class LabelMeaning:
    """Meaning of the labels of a table: rows and columns alike, unless they are scores.

    values       of the columns on an interval scale, None for words without an order;   row_values   of the rows
    have_order   whether the labels are in order
    positive     place of the first row that counts as positive; None where none does
    are_scores   whether there are too many values to be labels, so that only their order counts
    """

    values: Floats | None
    row_values: Floats | None
    have_order: bool
    positive: int | None
    are_scores: bool = False


Statistic = Callable[[Floats, LabelMeaning], Floats]
"""(b,) values from (b, r, c) tables of a rater's labels (columns) by the other's, or the reference's (rows)."""


def _alpha(tables: Floats, meaning: LabelMeaning) -> Floats:
    return alpha_of_coincidences(coincidences_of_pairs(tables), "interval", meaning.values)


def _exact(tables: Floats, meaning: LabelMeaning) -> Floats:
    return _over(np.trace(tables, axis1=-2, axis2=-1), tables)


def _mean_difference(tables: Floats, meaning: LabelMeaning) -> Floats:
    columns, rows = (
        (tables.sum(axis=axis) * (0.0 if values is None else values)).sum(axis=-1)
        for axis, values in ((-2, meaning.values), (-1, meaning.row_values))
    )
    return _over(columns - rows, tables)


def _binary(statistic: Callable[[Floats], Floats], tables: Floats, meaning: LabelMeaning) -> Floats:
    return statistic(binary_counts(tables, meaning.positive or 0))


def _auc(tables: Floats, meaning: LabelMeaning) -> Floats:
    return auc_of_counts(np.add.reduceat(tables, [0, meaning.positive or 0], axis=-2))


def _over(sums: Floats, tables: Floats) -> Floats:
    n = tables.sum(axis=(-2, -1))
    return np.asarray(np.divide(sums, n, out=np.full(n.shape, np.nan), where=n > 0))


STATISTICS: Mapping[str, Statistic] = {
    "exact": _exact,
    "kappa": lambda tables, meaning: kappa_of_counts(tables),
    "kappa_linear": lambda tables, meaning: kappa_of_counts(tables, "linear"),
    "kappa_quadratic": lambda tables, meaning: kappa_of_counts(tables, "quadratic"),
    "alpha_nominal": lambda tables, meaning: alpha_of_coincidences(coincidences_of_pairs(tables), "nominal"),
    "alpha_ordinal": lambda tables, meaning: alpha_of_coincidences(coincidences_of_pairs(tables), "ordinal"),
    "alpha_interval": _alpha,
    "mean_difference": _mean_difference,
    "spearman": lambda tables, meaning: spearman_of_counts(tables),
    "kendall": lambda tables, meaning: kendall_of_counts(tables),
    "balanced_accuracy": lambda tables, meaning: balanced_accuracy_of_counts(tables),
    "binary_kappa": partial(_binary, kappa_of_counts),
    "binary_balanced_accuracy": partial(_binary, balanced_accuracy_of_counts),
    "auc": _auc,
}
"""exact, kappa (nominal, linear, quadratic), alpha (nominal, ordinal, interval), the mean of what the rater says above
the other, Spearman's and Kendall's correlation, balanced accuracy against the reference; and of labels cut in two at
`min_gain` kappa, balanced accuracy, and the AUC of the rater's labels or scores."""

_ORDERED = frozenset({"kappa_linear", "kappa_quadratic", "alpha_ordinal", "spearman", "kendall"})
_NUMBERS = frozenset({"alpha_interval", "mean_difference"})
_CUT = frozenset({"binary_kappa", "binary_balanced_accuracy", "auc"})
_OF_REFERENCE = frozenset({"balanced_accuracy", "binary_balanced_accuracy", "auc"})
_OF_SCORES = frozenset({"mean_difference", "spearman", "kendall", "auc"})


def wanted_statistics(meaning: LabelMeaning, *, against_reference: bool) -> list[str]:
    """The names of those that labels of this meaning have; those of a truth only against a reference."""
    left_out = set[str]()
    left_out |= set() if meaning.have_order else _ORDERED
    left_out |= set() if meaning.values is not None else _NUMBERS
    left_out |= set() if meaning.positive is not None else _CUT
    left_out |= set() if against_reference else _OF_REFERENCE
    return [name for name in STATISTICS if name not in left_out and (not meaning.are_scores or name in _OF_SCORES)]


FEWEST = 10
"""Items, or questions where they are known, from which on intervals are given."""
SCALES: tuple[Scale, ...] = ("nominal", "ordinal", "interval")
MOST_RESAMPLED = 200
"""Pairs from which on none has an interval: each takes some hundredths of a second."""
_AT_ONCE = 32
_MOST_LABELS = 50
_MOST_CELLS, _MOST_FACTOR = 1 << 27, 8
"""Cells of all resamples together, which take seconds; of all questions, which are held at once, an eighth."""


@dataclass(frozen=True)
class Estimate:
    """A statistic and its interval; NaN where it is undefined, or has none."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class RaterPair:
    """Agreement of a rater with another, or with the reference.

    n            items that both labelled;   n_questions   they belong to, None where that is not known
    estimates    by the names of STATISTICS, as far as the labels allow them
    undefined    why some are NaN: "no_items", "one_label" (both give all items the same label), "one_rater_ties" (one
                 of them does); "" for none
    no_interval  why none is given: "few" (fewer than 10 items or questions), "large" (too many values to resample),
                 "many" (more than MOST_RESAMPLED pairs), ""
    confusion    (r, c) counts of labels: rows of `against`, columns of `rater`
    labels       (c,) those of the columns;   row_labels   (r,) the same, unless they are scores
    """

    rater: str
    against: str
    n: int
    n_questions: int | None
    estimates: Mapping[str, Estimate]
    undefined: str
    no_interval: str
    confusion: Ints = field(repr=False)
    labels: Sequence[Label] = field(repr=False)
    row_labels: Sequence[Label] = field(repr=False)


@dataclass(frozen=True)
class PairOptions:
    """Options that all pairs share.

    min_gain   the label from which on an item is positive;   level, n_resamples, seed   of the intervals
    """

    ratings: Ratings
    min_gain: Label | None
    level: float
    n_resamples: int
    seed: int


@dataclass(frozen=True, eq=False)
class _Counts:
    """Counts of which label of a rater meets which of another.

    rows, columns   places of the labels of `other` and `rater`;   tables   (g, r, c) counts in each of g questions
    """

    rater: str
    other: str
    n: int
    n_questions: int | None
    rows: Ints
    columns: Ints
    tables: Floats
    undefined: str
    no_interval: str


def rater_pairs(
    options: PairOptions,
    places: Sequence[tuple[int, int]],
    *,
    against_reference: bool,
    progress: Progress = usual_progress,
) -> list[RaterPair]:
    """Statistics of pairs of raters, by their places; of more than MOST_RESAMPLED without intervals."""
    categories, pairs = options.ratings.categories, list[RaterPair]()
    for start in range(0, len(places), _AT_ONCE):
        progress("pairs", start, len(places))
        block = [
            _counts(options, *place, resample=len(places) <= MOST_RESAMPLED)
            for place in places[start : start + _AT_ONCE]
        ]
        for counts, estimates in zip(block, _estimates(block, options, against_reference), strict=True):
            labels, row_labels = ([categories[at] for at in ats.tolist()] for ats in (counts.columns, counts.rows))
            confusion = counts.tables.sum(axis=0).astype(np.int64)
            pairs.append(RaterPair(
                rater=counts.rater, against=counts.other, n=counts.n, n_questions=counts.n_questions,
                estimates=estimates, undefined=counts.undefined, no_interval=counts.no_interval,
                confusion=confusion, labels=labels, row_labels=row_labels,
            ))  # fmt: skip
    return pairs


def _counts(options: PairOptions, rater: int, other: int, *, resample: bool) -> _Counts:
    ratings = options.ratings
    both = (ratings.codes[rater] >= 0) & (ratings.codes[other] >= 0)
    first, second = ratings.codes[other, both], ratings.codes[rater, both]
    columns, rows = _labels_of(ratings, first, second)
    first, second = np.searchsorted(rows, first), np.searchsorted(columns, second)
    groups, n_questions = _groups(ratings, both)
    shape, n_groups = (len(rows), len(columns)), int(groups.max(initial=-1)) + 1
    too_large = max(_MOST_FACTOR * n_groups, options.n_resamples) * math.prod(shape) > _MOST_CELLS
    no_interval = "few" if n_groups < FEWEST else "large" if too_large else "" if resample else "many"
    tables = pair_counts(first, second, shape, None if no_interval else groups)
    return _Counts(
        rater=ratings.raters[rater], other=ratings.raters[other], n=len(first), n_questions=n_questions, rows=rows,
        columns=columns, tables=tables, undefined=_undefined(rows[first], columns[second]), no_interval=no_interval,
    )  # fmt: skip


def _estimates(block: Sequence[_Counts], options: PairOptions, against_reference: bool) -> list[dict[str, Estimate]]:
    """Statistics by name of each pair, at once of those that use the same labels."""
    estimates: list[dict[str, Estimate]] = [{} for _ in block]
    alike: dict[tuple[bytes, bytes], list[int]] = {}
    for place, counts in enumerate(block):
        alike.setdefault((counts.rows.tobytes(), counts.columns.tobytes()), []).append(place)
    for places in alike.values():
        first = block[places[0]]
        labels, row_labels = (
            [options.ratings.categories[at] for at in ats.tolist()] for ats in (first.columns, first.rows)
        )
        meaning = _meaning(options.ratings, labels, row_labels, options.min_gain)
        names = wanted_statistics(meaning, against_reference=against_reference)
        statistics = partial(_statistics, names, meaning)
        sums = np.stack([block[place].tables.sum(axis=0) for place in places])
        for place, values, n in zip(places, statistics(sums), sums.sum(axis=(1, 2)), strict=True):
            counts = block[place]
            if n and not counts.no_interval:
                found = _ends(counts.tables, statistics, options, resample=True)
            else:
                found = [Estimate(value if n else math.nan, math.nan, math.nan) for value in values.tolist()]
            estimates[place] = dict(zip(names, found, strict=True))
    return estimates


def _statistics(names: Sequence[str], meaning: LabelMeaning, sums: Floats) -> Floats:
    return np.stack([STATISTICS[name](sums, meaning) for name in names], axis=1)


def _labels_of(ratings: Ratings, first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Places of the categories in columns and rows: all that are named, else those that the two use, since others must
    not lie between them; of scores each rater's own.
    """
    used = np.arange(len(ratings.categories)) if ratings.are_named else np.unique([first, second])
    return (used, used) if len(used) <= _MOST_LABELS else (np.unique(second), np.unique(first))


def alpha_together(options: PairOptions) -> tuple[dict[Scale, Estimate], int]:
    """Alpha of all raters on each scale that the labels have, and the number of items that it rests on."""
    ratings = options.ratings
    rated = (ratings.codes >= 0).sum(axis=0) > 1
    n, k = int(rated.sum()), len(ratings.categories)
    meaning = _meaning(ratings, ratings.categories, ratings.categories, None)
    scales = [scale for scale in SCALES if scale == "nominal" or meaning.have_order]
    scales = [scale for scale in scales if scale != "interval" or meaning.values is not None]
    if meaning.are_scores:
        return {}, n
    if not n:
        return {scale: Estimate(math.nan, math.nan, math.nan) for scale in scales}, n
    groups, _ = _groups(ratings, rated)
    n_groups = int(groups.max(initial=-1)) + 1
    resample = n_groups >= FEWEST and _MOST_FACTOR * n_groups * k * k <= _MOST_CELLS
    tables = coincidences(ratings.codes[:, rated], k, groups if resample else None)

    def alphas(sums: Floats) -> Floats:
        return np.stack([alpha_of_coincidences(sums, scale, meaning.values) for scale in scales], axis=1)

    ends = _ends(tables, alphas, options, resample=resample)
    return dict(zip(scales, ends, strict=True)), n


def _ends(tables: Floats, statistics: Statistics, options: PairOptions, *, resample: bool) -> list[Estimate]:
    if not resample:
        values = statistics(tables.sum(axis=0, keepdims=True))[0].tolist()
        return [Estimate(value, math.nan, math.nan) for value in values]
    resampled = cluster_bootstrap(
        tables, statistics, level=options.level, n_resamples=options.n_resamples, seed=options.seed
    )
    ends = np.stack([resampled.values, resampled.low, resampled.high], axis=1).tolist()
    return [Estimate(*end) for end in ends]


def _meaning(
    ratings: Ratings, labels: Sequence[Label], row_labels: Sequence[Label], min_gain: Label | None
) -> LabelMeaning:
    values, row_values = _values(ratings, labels), _values(ratings, row_labels)
    positive = _positive(ratings, row_labels, min_gain)
    are_scores = max(len(labels), len(row_labels)) > _MOST_LABELS
    return LabelMeaning(values, row_values, ratings.have_order, positive, are_scores)


def _values(ratings: Ratings, labels: Sequence[Label]) -> Floats | None:
    if ratings.are_numbers:
        return np.array(labels, float)
    return np.array([ratings.categories.index(label) for label in labels], float) if ratings.are_named else None


def _positive(ratings: Ratings, labels: Sequence[Label], min_gain: Label | None) -> int | None:
    """Place of the first label that counts as positive; None where all do, or none does, or none was named."""
    if min_gain is None:
        return None
    if ratings.are_numbers:
        place = int(np.searchsorted(np.array(labels, float), float(min_gain)))
    else:
        place = labels.index(min_gain) if min_gain in labels else len(labels)
    return place if 0 < place < len(labels) else None


def _groups(ratings: Ratings, items: Bools) -> tuple[Ints, int | None]:
    """Number of the question of each of some items, from 0, and of how many; items count by themselves without."""
    if ratings.clusters is None:
        return np.arange(int(items.sum())), None
    groups = np.unique(ratings.clusters[items], return_inverse=True)[1].astype(np.int64)
    return groups, int(groups.max(initial=-1)) + 1


def _undefined(first: Ints, second: Ints) -> str:
    if not len(first):
        return "no_items"
    if len(np.unique([first, second])) == 1:
        return "one_label"
    return "one_rater_ties" if len(np.unique(first)) == 1 or len(np.unique(second)) == 1 else ""
