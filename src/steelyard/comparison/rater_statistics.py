"""What is computed of two raters, each from a table of how often which label meets which; by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.stats.rater_counts import (
    alpha_of_coincidences,
    auc_of_counts,
    balanced_accuracy_of_counts,
    binary_counts,
    coincidences_of_pairs,
    kappa_of_counts,
    kendall_of_counts,
    spearman_of_counts,
)


@dataclass(frozen=True)
class LabelMeaning:
    """What the labels of a table are: rows and columns alike, unless they are scores.

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
    columns, rows = ((tables.sum(axis=axis) * (0.0 if values is None else values)).sum(axis=-1)
                     for axis, values in ((-2, meaning.values), (-1, meaning.row_values)))  # fmt: skip
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
