"""Differences of two means, each of which labels of people correct."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.stats.prediction_powered import CorrectedMean
from steelyard.stats.samples import RARE, MeanError, mean_error

LEAST_LABELS = 10
"""With fewer among the questions that are compared, a difference is not tested."""


def corrected_difference(
    d: Floats, means: Sequence[CorrectedMean], *, share: float = 1.0, clusters: Ints | None = None,
    places: Sequence[Bools] = (),
) -> MeanError:  # fmt: skip
    """The mean difference of two systems from pseudo-values, pair by pair of the same question, and its error.

    Each system's labels were drawn by themselves.  Their degrees of freedom are those of the two means (Welch), and to
    the error that of what rarely happens is added (RARE), by the labels of the system with fewer: a judge that few
    labels contradict may be wrong where there are none.

    d         (n,) pseudo-values of one system less those of the other
    means     of both systems, over all questions;   share   of these that the n are: of a segment less than 1
    clusters  (n,) of questions that count as one, or None
    places    which questions of each system the n are: units of these that were drawn and have no label may have the
              lowest value of one and the highest of the other, and the reverse.  Empty: all have a label, or few not
    Returns   NaN for the error where one has fewer than LEAST_LABELS labels among the questions
    """
    average = mean_error(d, clusters=clusters)
    n_labels = [share * mean.n_labels for mean in means]
    if min(n_labels) < LEAST_LABELS or average.reason:
        return MeanError(average.mean, math.nan, -1, average.n)
    guard = max((1 - mean.n_labels / mean.n_units) * (RARE / n) ** 2 for mean, n in zip(means, n_labels, strict=True))
    own = [mean.corrected for mean in means]
    squares = [mean.error**2 for mean in own]
    (below, above), (less, more) = (
        (mean.reach(at) for mean, at in zip(means, places, strict=True)) if places else ((0.0, 0.0),) * 2
    )
    guard += sum(mean.squared_error - mean.corrected.error**2 for mean in means) if places else 0.0
    df = min(mean.df for mean in own)
    if sum(squares):
        df = sum(squares) ** 2 / sum(square**2 / mean.df for square, mean in zip(squares, own, strict=True))
    return MeanError(
        average.mean, math.sqrt(average.error**2 + guard), max(min(share * df, average.df), 1.0), average.n,
        below=below + more, above=above + less,
    )  # fmt: skip
