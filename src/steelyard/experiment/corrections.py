"""Means that labels of people correct: what Scores keep of them, and what they add to tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats
from steelyard.base.notes import Note

if TYPE_CHECKING:
    from steelyard.judges.people.review import Drawn
    from steelyard.stats.labels.prediction_powered import CorrectedMean, LabelledMean


@dataclass(frozen=True, eq=False)
class Correction:
    """A mean of a system corrected by labels.

    mean     by judge, people and both, with a pseudo-value for each question, in the order of the scores
    unit     what people were asked about: items, each a unit of an answer, or whole answers
    n_drawn  how many, over all questions; those that no rater can say, or that raters disagree on, have no label
    n_undecided   how many those are;   digest   of the labels, with what they are about
    """

    mean: CorrectedMean
    unit: Drawn
    n_drawn: int
    digest: str = ""
    n_undecided: int = 0


Corrections = Mapping[str, Mapping[str, Correction]]
"""System -> measure -> the correction of its mean; of those that labels correct."""


@dataclass(frozen=True, eq=False)
class SystemCorrections:
    """The corrections of one system, and what is to be said of them."""

    of: Mapping[str, Correction]
    notes: Sequence[Note]


COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(
        ("corrected", "corrected_low", "corrected_high", "people", "people_low", "people_high"), pl.Float64()
    ),
    "n_labels": pl.Int64(),
    "worth": pl.Float64(),
    "n_undecided": pl.Int64(),
    **dict.fromkeys(("lowest", "lowest_low", "highest", "highest_high"), pl.Float64()),
}
"""What corrections add to a table of means."""


def corrected_columns(corrections: Corrections, systems: Sequence[str], measures: Sequence[str]) -> pl.DataFrame:
    """COLUMNS for rows of systems and measures; null where there is no correction."""
    rows = [corrections.get(system, {}).get(name) for system, name in zip(systems, measures, strict=True)]
    return pl.DataFrame([dict(zip(COLUMNS, _cells(row), strict=True)) for row in rows], schema=COLUMNS).with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )


def _cells(correction: Correction | None) -> Sequence[float | int | None]:
    if correction is None:
        return (None,) * len(COLUMNS)
    mean = correction.mean
    return (
        mean.corrected.mean, mean.corrected.low, mean.corrected.high, mean.people.mean, mean.people.low,
        mean.people.high, mean.n_labels, mean.worth, correction.n_undecided,
        *((None,) * 4 if mean.ends is None else mean.ends.numbers),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ReportedMeans:
    """Means as reports show them first: corrected by labels of people where there are some, else as measured.

    mean, low, high   (s, m), and ends of the 95% interval, with room for what is undecided where that is much
    corrected         (s, m) which are corrected
    ranked            (s, m) means that systems are ordered by: corrected where labels correct all systems, else all as
                      measured, since people and judges do not mix
    """

    mean: Floats
    low: Floats
    high: Floats
    corrected: Bools
    ranked: Floats


def reported_means(
    corrections: Corrections, systems: Sequence[str], measures: Sequence[str], means: Floats, low: Floats, high: Floats
) -> ReportedMeans:
    """The (s, m) means as measured, with their intervals, and in their place those that labels correct."""
    corrected, reported = np.zeros(means.shape, bool), [means.copy(), low.copy(), high.copy()]
    for (i, system), (j, measure) in product(enumerate(systems), enumerate(measures)):
        if (correction := corrections.get(system, {}).get(measure)) is not None:
            corrected[i, j] = True
            for values, value in zip(
                reported, (correction.mean.corrected.mean, *correction.mean.interval), strict=True
            ):
                values[i, j] = value
    ranked = np.where(corrected.all(axis=0), reported[0], means)
    return ReportedMeans(reported[0], reported[1], reported[2], corrected, ranked)


def taken(corrections: Corrections, systems: Sequence[str], measures: Sequence[str]) -> Corrections:
    """The alignments of some systems and measures."""
    some = {
        system: {name: corrections[system][name] for name in measures if name in corrections[system]}
        for system in systems
        if system in corrections
    }
    return {system: of for system, of in some.items() if of}


def placed(correction: Correction, places: Sequence[int], n_questions: int) -> Correction:
    """The same among more questions, of which these are at some places; the others have no pseudo-value."""

    def wide(labelled: LabelledMean) -> LabelledMean:
        values = np.full(n_questions, np.nan)
        values[list(places)] = labelled.values
        return replace(labelled, values=values, residuals=None)

    mean = correction.mean
    ends = mean.ends and replace(mean.ends, lowest=wide(mean.ends.lowest), highest=wide(mean.ends.highest))
    own = replace(mean, people=wide(mean.people), corrected=wide(mean.corrected), ends=ends, counts=None)
    return replace(correction, mean=own)
