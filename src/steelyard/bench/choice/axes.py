"""Quality, latency and cost of all that may be chosen, and what the data show of their differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.bench.config import BenchConfig
from steelyard.bench.frames import Option
from steelyard.bench.load.latency import time_percentiles
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure
from steelyard.stats.intervals.percentiles import PercentileInterval
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import less, mean_error

_UPPER = 0.975


@dataclass(frozen=True, eq=False)
class Axis:
    """Values of all options, higher being better, and what the data show of them.

    values   (n,) NaN where unknown
    better   (n, n) whether the option of the row is shown to be better than that of the column
    """

    values: Floats
    better: Bools

    @property
    def measured(self) -> bool:
        """True if any reranker has a value; the base comes first."""
        return bool((~np.isnan(self.values[1:])).any())


@dataclass(frozen=True, eq=False)
class Quality:
    """Values of the first measure that is a mean, question by question.

    values    (n, q) of all options, higher being better;   codes   (q,) clusters, or None
    """

    measure: Measure
    values: Floats
    codes: Ints | None

    @classmethod
    def of(cls, scores: Scores, options: Sequence[Option]) -> Quality:
        """The values of these options, by the scores."""
        rows, column = [list(scores.systems).index(option.label) for option in options], first_mean(scores)
        quality = cls(
            scores.measures[column],
            scores.values[rows, column],
            None if scores.clustering is None else scores.clustering.codes,
        )
        return replace(quality, values=quality.sign * quality.values)

    @property
    def sign(self) -> float:
        """The sign of the measure's own values."""
        return -1.0 if self.measure.definition.direction == "lower" else 1.0

    @cached_property
    def means(self) -> Floats:
        """(n,) means over the questions that have a value."""
        there = ~np.isnan(self.values)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(there, self.values, 0.0).sum(axis=1) / there.sum(axis=1))

    def paired(self, i: int, j: int) -> tuple[Floats, Ints | None]:
        """By how much option i is better than j, of the questions that both have a value for; and their clusters."""
        paired = ~np.isnan(self.values[i]) & ~np.isnan(self.values[j])
        return less(self.values[i, paired], self.values[j, paired]), None if self.codes is None else self.codes[paired]

    @property
    def axis(self) -> Axis:
        """Means, and differences whose paired interval is above 0."""
        n = len(self.values)
        better = np.zeros((n, n), bool)
        for i, j in combinations(range(n), 2):
            d, codes = self.paired(i, j)
            average = mean_error(d, clusters=codes)
            if average.reason is None:
                far = abs(average.mean) > t_quantile(_UPPER, average.df) * average.error
                better[i, j], better[j, i] = far and average.mean > 0, far and average.mean < 0
        return Axis(self.means, better)


def first_mean(scores: Scores) -> int:
    """The place of the first measure that is an arithmetic mean, which questions add up to: no percentile."""
    return next((j for j, measure in enumerate(scores.measures) if measure.aggregation.arithmetic), 0)


def options_of(config: BenchConfig, scores: Scores) -> list[Option]:
    """The base, and all rerankers at all depths that were measured; none where the base was not, as under load."""
    if config.base_name not in scores.systems:
        return []
    return [Option(config.base_name, None), *(option for option in config.options if option.label in scores.systems)]


def percentile_ms(requests: pl.DataFrame, option: Option, p: float) -> PercentileInterval | None:
    """A percentile of the latency of sequential requests, as of `time_percentiles`; None without any."""
    mine = requests.filter(option.rows)
    return time_percentiles(mine, [p])[0] if mine.height else None


def latency_axis(requests: pl.DataFrame, options: Sequence[Option], p: float) -> Axis:
    """Percentiles of what reranking adds, which is nothing for the base."""
    ends = [(0.0, 0.0, 0.0)]
    for option in options[1:]:
        interval = percentile_ms(requests, option, p)
        ends.append((math.nan,) * 3 if interval is None else (interval.value, interval.low, interval.high))
    return _lower_axis(ends)


def cost_axis(costs: pl.DataFrame, options: Sequence[Option]) -> Axis:
    """Costs of a question, which is nothing for the base;   costs   of schema COSTS"""
    absent = {"per_query": math.nan, "per_query_low": -math.inf, "per_query_high": math.inf}
    ends = [(0.0, 0.0, 0.0)]
    for option in options[1:]:
        (row,) = costs.filter(option.rows).to_dicts() or [{}]
        mean, low, high = (end if (value := row.get(name)) is None else value for name, end in absent.items())
        ends.append((mean, low, high))
    return _lower_axis(ends)


def _lower_axis(ends: Sequence[tuple[float, float, float]]) -> Axis:
    """Values with their ends, lower being better: shown to be better is an interval that lies below the other."""
    value, low, high = np.array(ends, np.float64).T
    return Axis(-value, np.asarray(high[:, None] < low[None, :]))
