"""Percentiles of scores: over all runs of a system, failures included."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.experiment.table.arrays import ScoreArrays
from steelyard.measures import Measure
from steelyard.stats.intervals.percentiles import PercentileInterval, percentile_interval

SECOND = "second"
"""Clusters by this column are seconds, numbered in time: requests of neighbouring ones are alike too."""
ASKED, IN_ORDER = "asked", "in_order"
"""What recipes say of questions that were asked one after the other, in the order of the scores."""
METHOD = "binomial_ranks"
"""What recipes call the intervals of percentiles."""


def percentiles(scores: ScoreArrays, level: float) -> Iterator[tuple[int, int, PercentileInterval]]:
    """Places of system and measure, and the percentile, of all measures that are one.

    An end that values are too few for is that of the measure's range; without any value there is neither.
    """
    for j, measure in enumerate(scores.measures):
        if measure.share is None:
            continue
        for i in range(len(scores.systems)):
            values, clusters = pooled_values(scores, i, j)
            in_order = measure.definition.is_time and scores.recipe_parts.get(ASKED) == IN_ORDER
            interval = percentile_interval(
                values, measure.share, level=level, clusters=clusters, in_time=is_in_time(scores), in_order=in_order
            )
            least, most = measure.definition.range
            ends = (max(interval.low, least), min(interval.high, most)) if len(values) else (math.nan, math.nan)
            yield i, j, replace(interval, low=ends[0], high=ends[1])


def is_in_time(scores: ScoreArrays) -> bool:
    """True if clusters are seconds of a load."""
    return scores.clustering is not None and scores.clustering.by == SECOND


def pooled_values(scores: ScoreArrays, i: int, j: int) -> tuple[Floats, Ints | None]:
    """The values of one system and measure in all of its runs, and which of them belong together.

    Those of one question do, and those of one cluster.  None: each stands by itself.
    """
    rows = run_values(scores, i, j)
    there = ~np.isnan(rows)
    if scores.clustering is None and len(rows) == 1:
        return rows[there], None
    codes = np.arange(rows.shape[1]) if scores.clustering is None else scores.clustering.codes
    return rows[there], np.broadcast_to(codes, rows.shape)[there]


def run_values(scores: ScoreArrays, i: int, j: int) -> Floats:
    """(r, q) values of one system and measure in each of its runs; of times, infinite where it failed."""
    runs = scores.repeats.get(scores.systems[i])
    rows = scores.values[i, j][None] if runs is None else runs[:, j]
    if not scores.measures[j].definition.is_time:
        return rows
    asked = scores.failed[i] | ~np.isnan(rows).all(axis=0)
    return np.where(np.isnan(rows) & asked, np.inf, rows)


def counted(scores: ScoreArrays) -> Bools:
    """(s, m, q) values that means and percentiles are of; of a percentile of times, the failed ones too."""
    there = ~np.isnan(scores.values)
    for j, measure in enumerate(scores.measures):
        if measure.share is not None and measure.definition.is_time:
            there[:, j] |= scores.failed
    return there


def with_percentiles(scores: ScoreArrays, measures: Sequence[Measure]) -> dict[str, Any]:
    """Fields of the same scores with those of some percentiles that are not there, but whose values are; else none."""
    names = [str(measure) for measure in scores.measures]
    wanted = dict.fromkeys(measure for measure in measures if measure.share is not None)
    more = [measure for measure in wanted if str(measure) not in names and str(measure.column) in names]
    if not more:
        return {}
    columns = [*range(len(names)), *(names.index(str(measure.column)) for measure in more)]
    highest = {
        field: {**of, **{str(m): of[str(m.column)] for m in more if str(m.column) in of}}
        for field, of in (("perfect", scores.perfect), ("ceilings", scores.ceilings))
    }
    fields = {field: getattr(scores, field)[:, columns] for field in ("values", "judged", "no_relevant")}
    return {
        **fields,
        **highest,
        "measures": [*scores.measures, *more],
        "causes": None if scores.causes is None else scores.causes[:, columns],
        "repeats": {system: values[:, columns] for system, values in scores.repeats.items()},
    }
