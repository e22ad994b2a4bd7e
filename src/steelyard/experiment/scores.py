"""The result: one value for each system, query and measure, its means, and what stands behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from steelyard.base.arrays import Bools, Floats
from steelyard.base.schema import SCORES
from steelyard.measures import Measure
from steelyard.measures.registry import GEOMETRIC_FLOOR
from steelyard.stats.intervals import Intervals, mean_intervals

if TYPE_CHECKING:
    from steelyard.align.resolver import GoldMapping

LEVEL = 0.95
STATUSES = ("ok", "failed", "missing", "unwinnable", "no_relevant", "unplaced")


@dataclass(frozen=True, eq=False)
class Scores:
    """What `evaluate` found.

    systems, query_ids, measures   s, q and m of them
    values          (s, m, q) float; NaN where the query is skipped
    missing         (s, q) queries that are absent from the run
    no_relevant     (s, m, q) queries without a document that is relevant for the measure
    failed          (s, q) queries on which the system failed, as it says itself
    unwinnable      (s, q) queries that have gold, none of which is in any chunk of the system's corpus
    judged          (s, m, q) share of labelled documents among the first k, k being that of the measure
    unjudged_queries  (s,) how many queries of the run the truth does not judge; they are ignored
    gold            (s,) how the gold was found among the chunks of each system; None where it names them by id
    recipe          how the numbers came about: version, measures, input digests, policies, seed
    """

    systems: Sequence[str]
    query_ids: Sequence[str]
    measures: Sequence[Measure]
    values: Floats
    missing: Bools
    no_relevant: Bools
    failed: Bools
    unwinnable: Bools
    judged: Floats
    unjudged_queries: npt.NDArray[np.int64]
    gold: Sequence[GoldMapping | None]
    seed: int
    recipe_parts: Mapping[str, Any] = field(repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the recipe's digests as they are now, without the inputs that they come from."""
        parts = {key: value() if callable(value) else value for key, value in self.recipe_parts.items()}
        return {**self.__dict__, "recipe_parts": parts}

    def __repr__(self) -> str:
        return f"Scores({len(self.systems)} systems × {len(self.measures)} measures × {len(self.query_ids)} queries)"

    @cached_property
    def per_query(self) -> pl.DataFrame:
        """One row for each system, query and measure: system, query_id, measure, value, status.

        status is ok, failed (the system says so), missing (the query is absent from the run), unwinnable (its gold is
        in no chunk of the corpus), no_relevant, or unplaced (nobody knows where the gold's characters stand); a
        skipped value is null.
        """
        s, m, q = self.values.shape
        names = pl.Series(STATUSES)
        status = self.statuses().transpose(0, 2, 1).ravel()
        return pl.DataFrame(
            {
                "system": pl.Series(self.systems).gather(np.repeat(np.arange(s), q * m)),
                "query_id": pl.Series(self.query_ids).gather(np.tile(np.repeat(np.arange(q), m), s)),
                "measure": pl.Series([str(measure) for measure in self.measures]).gather(np.tile(np.arange(m), s * q)),
                "value": pl.Series(self.values.transpose(0, 2, 1).ravel(), nan_to_null=True),
                "status": names.gather(status),
            },
            schema=SCORES,
        )

    def statuses(self) -> npt.NDArray[np.int64]:
        """(s, m, q) the place of each value's status in STATUSES; the first that holds."""
        shape = self.values.shape
        conditions = {
            "failed": self.failed[:, None],
            "missing": self.missing[:, None],
            "unwinnable": self.unwinnable[:, None],
            "no_relevant": self.no_relevant,
            "unplaced": np.isnan(self.values),
        }
        held = [np.broadcast_to(condition, shape) for condition in conditions.values()]
        return np.select(held, [STATUSES.index(name) for name in conditions], 0)

    def mean(self) -> pl.DataFrame:
        """One row for each system and measure: mean, 95 % interval (low, high), n, and counts of queries.

        n is the number of queries in the mean; missing, failed, unwinnable and no_relevant count those of the truth,
        whether they enter it as 0 or not at all; judged is the mean share of labelled documents down to the k of the
        measure.  Measures named gm_ have a geometric mean.
        """
        rows = []
        for i, system in enumerate(self.systems):
            for j, measure in enumerate(self.measures):
                kept = ~np.isnan(self.values[i, j])
                rows.append(
                    {
                        "system": system,
                        "measure": str(measure),
                        "mean": self.means[i, j],
                        "low": self.intervals.low[i, j],
                        "high": self.intervals.high[i, j],
                        "n": int(kept.sum()),
                        "missing": int(self.missing[i].sum()),
                        "failed": int(self.failed[i].sum()),
                        "unwinnable": int(self.unwinnable[i].sum()),
                        "no_relevant": int(self.no_relevant[i, j].sum()),
                        "judged": _mean(self.judged[i, j][kept]),
                    }
                )
        return pl.DataFrame(rows, strict=False).with_columns(pl.col("mean", "low", "high", "judged").fill_nan(None))

    @cached_property
    def means(self) -> Floats:
        """(s, m) mean over the queries that are not skipped; NaN where there is none."""
        scaled = [[_mean(_scale(measure, self.values[i, j][~np.isnan(self.values[i, j])]))
                   for j, measure in enumerate(self.measures)] for i in range(len(self.systems))]  # fmt: skip
        return _unscale(self.measures, np.array(scaled))

    @cached_property
    def intervals(self) -> Intervals:
        """(s, m) ends of the intervals of the means."""
        s, m, q = self.values.shape
        series = np.stack([_scale(measure, self.values[:, j]) for j, measure in enumerate(self.measures)], axis=1)
        series = series.reshape(s * m, q)
        low, high, method = np.full(s * m, np.nan), np.full(s * m, np.nan), "none"
        # Series over the same queries are resampled together: same draws, one pass.
        together: dict[bytes, list[int]] = {}
        for row in range(s * m):
            together.setdefault(np.isnan(series[row]).tobytes(), []).append(row)
        for rows in together.values():
            values = series[rows][:, ~np.isnan(series[rows[0]])].T
            found = mean_intervals(values, seed=self.seed, level=LEVEL)
            low[rows], high[rows] = found.low, found.high
            method = found.method if found.method != "none" else method
        return Intervals(
            _unscale(self.measures, low.reshape(s, m)), _unscale(self.measures, high.reshape(s, m)), method
        )

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything that is needed to get the same numbers again; digests are computed now."""
        parts = {key: value() if callable(value) else value for key, value in self.recipe_parts.items()}
        interval = {"level": LEVEL, "method": self.intervals.method}
        return {**parts, "measures": [str(measure) for measure in self.measures], "interval": interval}


def _mean(values: Floats) -> float:
    """The mean over queries, which always stand in the truth's order, so that no order of the input can move a bit."""
    return float(values.mean()) if len(values) else math.nan


def _scale(measure: Measure, values: Floats) -> Floats:
    if measure.definition.aggregate != "geometric":
        return values
    return np.log(np.maximum(values, GEOMETRIC_FLOOR))


def _unscale(measures: Sequence[Measure], values: Floats) -> Floats:
    geometric = np.array([measure.definition.aggregate == "geometric" for measure in measures])
    return np.where(geometric, np.exp(np.where(geometric, values, 0.0)), values)
