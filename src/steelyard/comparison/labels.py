"""Differences corrected by what people decided about some of what a judge judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from steelyard.comparison.plan import Plan
from steelyard.comparison.samples import Sample
from steelyard.experiment.scores import Scores
from steelyard.stats.corrected_differences import corrected_difference
from steelyard.stats.samples import MeanError, differences

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "measure": pl.String, "system": pl.String, "n_labels": pl.Int64, "judge": pl.Float64, "as_judged": pl.Float64
}  # fmt: skip
"""Columns of `LabelCorrections.frame`; see there."""


@dataclass(frozen=True, eq=False)
class LabelCorrections:
    """Which means and differences labels of people correct.

    frame        one row for each system and measure that is corrected.  Columns: measure, system, n_labels, judge (the
                 mean by the judge alone, on the questions compared), as_judged (that less the baseline's)
    unlabelled   measure -> systems without labels, of measures that labels correct for others alone: differences are
                 then by the judge
    of_t_alone   whether differences are by the judge since the test is another than t
    """

    frame: pl.DataFrame = field(repr=False)
    unlabelled: Mapping[str, Sequence[str]]
    of_t_alone: bool = False

    @property
    def measures(self) -> list[str]:
        """The measures whose means and differences are corrected."""
        return self.frame["measure"].unique(maintain_order=True).to_list()


def label_corrections(scores: Scores, plan: Plan) -> LabelCorrections | None:
    """What labels correct in a comparison; None where there are none."""
    if not scores.corrections:
        return None
    labelled = {
        str(measure): [system for system in scores.systems if str(measure) in scores.corrections.get(system, {})]
        for measure in scores.measures
    }
    whole = [name for name, systems in labelled.items() if len(systems) == len(scores.systems) and plan.test == "t"]
    unlabelled = {
        name: [system for system in scores.systems if system not in systems]
        for name, systems in labelled.items() if 0 < len(systems) < len(scores.systems)
    }  # fmt: skip
    of_t_alone = plan.test != "t" and any(len(systems) == len(scores.systems) for systems in labelled.values())
    rows = [row for j, measure in enumerate(scores.measures) if str(measure) in whole for row in _rows(scores, j, plan)]
    return LabelCorrections(pl.DataFrame(rows, schema=COLUMNS), unlabelled, of_t_alone)


def _rows(scores: Scores, j: int, plan: Plan) -> Sequence[Mapping[str, object]]:
    name, values = str(scores.measures[j]), scores.values[:, j]
    means = values[:, ~np.isnan(values).any(axis=0)].mean(axis=1)
    return [
        {
            "measure": name, "system": system, "n_labels": scores.corrections[system][name].mean.n_labels,
            "judge": means[i], "as_judged": None if i == plan.reference else means[i] - means[plan.reference],
        }
        for i, system in enumerate(scores.systems)
    ]  # fmt: skip


def with_pseudo_values(scores: Scores, corrections: LabelCorrections) -> Scores:
    """The scores with the pseudo-values of what is corrected in the place of values by the judge."""
    values = scores.values.copy()
    for j, measure in enumerate(map(str, scores.measures)):
        if measure in corrections.measures:
            values[:, j] = [scores.corrections[system][measure].mean.corrected.values for system in scores.systems]
    return replace(scores, values=values)


def corrected_sample(sample: Sample, scores: Scores, plan: Plan) -> Sample:
    """A sample of pseudo-values, with the error that their differences from the baseline have."""
    name, n = str(sample.measure), sample.values.shape[1]
    of_measure = [scores.corrections[system][name].mean for system in scores.systems]
    n_all = int((~np.isnan(of_measure[plan.reference].corrected.values)).sum())
    errors: dict[int, MeanError] = {
        i: corrected_difference(
            differences(sample.values[plan.reference], sample.values[i]), [mean, of_measure[plan.reference]],
            share=min(n / max(n_all, 1), 1.0), clusters=sample.clusters,
        )
        for i, mean in enumerate(of_measure) if i != plan.reference
    }  # fmt: skip
    return replace(sample, errors=errors, lack="few labels")
