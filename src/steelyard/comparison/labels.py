"""Differences corrected by what people decided about some of what a judge judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools
from steelyard.comparison.plan import Plan
from steelyard.comparison.samples import Sample
from steelyard.experiment.table.scores import Scores
from steelyard.stats.labels.prediction_powered import with_error_of_labels
from steelyard.stats.samples import MeanError, differences, mean_error
from steelyard.stats.unpaired import unpaired_difference

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "measure": pl.String, "system": pl.String, "n_labels": pl.Int64, "n_undecided": pl.Int64, "judge": pl.Float64,
    "as_judged": pl.Float64,
}  # fmt: skip
"""Columns of `LabelCorrections.frame`; see there."""


@dataclass(frozen=True, eq=False)
class LabelCorrections:
    """Which means and differences labels of people correct.

    frame        one row for each system and measure that is corrected.  Columns: measure, system, n_labels,
                 n_undecided (drawn, without a label, and allowed for at either end), judge (the mean by the judge
                 alone, on the questions compared), as_judged (that less the baseline's)
    unlabelled   measure -> systems without labels, of measures that labels correct for others alone: differences are
                 then by the judge
    of_t_alone   measures that labels correct for all systems, whose differences are by the judge all the same since the
                 test is another than t
    """

    frame: pl.DataFrame = field(repr=False, metadata={"columns": COLUMNS})
    unlabelled: Mapping[str, Sequence[str]]
    of_t_alone: Sequence[str] = ()

    @property
    def measures(self) -> list[str]:
        """The measures whose means and differences are corrected."""
        return self.frame["measure"].unique(maintain_order=True).to_list()

    def left_to_the_judge(self, measure: str) -> bool:
        """True if systems are compared by the judge alone, although labels correct a mean of some or all of them."""
        return measure in self.unlabelled or measure in self.of_t_alone


def label_corrections(scores: Scores, plan: Plan) -> LabelCorrections | None:
    """Means and differences that labels correct in a comparison; None where there are none."""
    if not scores.corrections:
        return None
    labelled = {
        str(measure): [system for system in scores.systems if str(measure) in scores.corrections.get(system, {})]
        for measure in scores.measures
    }
    of_all = [name for name, systems in labelled.items() if len(systems) == len(scores.systems)]
    whole = of_all if plan.test == "t" else []
    unlabelled = {
        name: [system for system in scores.systems if system not in systems]
        for name, systems in labelled.items()
        if 0 < len(systems) < len(scores.systems)
    }
    rows = [row for j, measure in enumerate(scores.measures) if str(measure) in whole for row in _rows(scores, j, plan)]
    return LabelCorrections(pl.DataFrame(rows, schema=COLUMNS), unlabelled, () if plan.test == "t" else of_all)


def _rows(scores: Scores, j: int, plan: Plan) -> Sequence[Mapping[str, object]]:
    name, values = str(scores.measures[j]), scores.values[:, j]
    whole = ~np.isnan(values).any(axis=0)
    means = [float(row[whole if plan.paired else ~np.isnan(row)].mean()) for row in values]
    return [
        {
            "measure": name,
            "system": system,
            "n_labels": scores.corrections[system][name].mean.n_labels,
            "n_undecided": scores.corrections[system][name].mean.n_undecided,
            "judge": means[i],
            "as_judged": None if i == plan.reference else means[i] - means[plan.reference],
        }
        for i, system in enumerate(scores.systems)
    ]


def with_pseudo_values(scores: Scores, corrections: LabelCorrections) -> Scores:
    """The scores with the pseudo-values of what is corrected in the place of values by the judge."""
    values = scores.values.copy()
    for j, measure in enumerate(map(str, scores.measures)):
        if measure in corrections.measures:
            values[:, j] = [scores.corrections[system][measure].mean.corrected.values for system in scores.systems]
    return replace(scores, values=values)


def corrected_sample(sample: Sample, scores: Scores, plan: Plan) -> Sample:
    """A sample of pseudo-values, with the error that their differences from the baseline have."""
    name = str(sample.measure)
    of_measure = [scores.corrections[system][name].mean for system in scores.systems]
    own = [_own_places(sample, i) for i in range(len(of_measure))]
    shares = [
        at.sum() / max((~np.isnan(mean.corrected.values)).sum(), 1) for at, mean in zip(own, of_measure, strict=True)
    ]

    def average(first: int, second: int) -> MeanError:
        if plan.paired:
            return mean_error(differences(sample.values[first], sample.values[second]), clusters=sample.clusters)
        return unpaired_difference(sample.values, (first, second), clusters=sample.clusters).average

    places = range(len(of_measure))
    pairs = combinations(places, 2) if plan.all_pairs else ((plan.reference, i) for i in places if i != plan.reference)
    errors: dict[tuple[int, int], MeanError] = {}
    for first, second in pairs:
        errors[first, second] = with_error_of_labels(
            average(first, second), [of_measure[second], of_measure[first]],
            share=float(min(shares[first], shares[second], 1.0)), places=[own[second], own[first]],
        )  # fmt: skip
        error = errors[first, second]
        errors[second, first] = replace(error, mean=-error.mean, below=error.above, above=error.below)
    return replace(sample, errors=errors, lack="few labels")


def _own_places(sample: Sample, i: int) -> Bools:
    """(q,) which questions of the scores a system is compared by."""
    places = sample.common.copy()
    places[places] = ~np.isnan(sample.values[i])
    return places
