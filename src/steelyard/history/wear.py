"""How worn a set of questions is: what luck explains of the best one's lead, after so many configurations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from steelyard.base import defaults
from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.base.result import Result
from steelyard.measures.spec import measure_or_column
from steelyard.stats.luck import Luck, luck, scatter
from steelyard.stats.power.detectable import detectable_errors
from steelyard.stats.samples import MeanError
from steelyard.store.store import Store

_MOST_READ = 8
"""Entries whose values are read for how much configurations scatter: the newest ones."""


@dataclass(frozen=True, repr=False)
class Wear(Result):
    """How worn the questions of a truth are; see `wear`.

    truth        its digest;   n_questions   in the newest mean
    n_configs    configurations that were tried on it;   since   when the first one was
    entry, system, mean   the best one by the measure, as it was evaluated last
    luck         its lead over the average and the next of all, and what luck gives; None where values say no scatter
    df           degrees of freedom of the error of a mean, of which luck has the size
    """

    VIEW = "views.wear"

    truth: str
    measure: str
    n_questions: int
    n_configs: int
    since: datetime
    entry: str
    system: str
    mean: float
    luck: Luck | None
    df: float = math.nan

    @property
    def detectable(self) -> float:
        """Difference of two systems that these questions show in 80 of 100 cases, as the only comparison; NaN where
        values say no scatter.
        """
        return self._detectable(1)

    @property
    def detectable_now(self) -> float:
        """The same where the level of 5% is shared among all that were tried."""
        return self._detectable(max(self.n_configs - 1, 1))

    def _detectable(self, n_comparisons: int) -> float:
        if self.luck is None:
            return math.nan
        errors = detectable_errors(int(self.df) + 1, df=self.df, n_comparisons=n_comparisons)
        return errors * math.sqrt(2) * self.luck.error

    @property
    def frame(self) -> pl.DataFrame:
        """One row: counts, the best one, its leads over average and next with what luck gives, and differences."""
        leads = {} if self.luck is None else {"over_average": self.luck.over_average, "over_next": self.luck.over_next}
        own = {name: value for name, value in vars(self).items() if name not in ("luck", "df")}
        own |= {name: getattr(self, name) for name in ("detectable", "detectable_now")}
        return pl.DataFrame([{
            **own, **{f"{name}_{key}": value for name, lead in leads.items() for key, value in vars(lead).items()}
        }])  # fmt: skip


def wear(
    store: Store, measure: str | None = None, *, truth: str | None = None, seed: int = defaults.SEED
) -> Wear | None:
    """How many configurations were tried on the questions of a truth, and how much of the best one's lead is luck.

    measure   one whose mean is arithmetic; by default that of the newest entry
    truth     digest of the gold; by default that of the newest entry that has one
    seed      of the simulation of luck
    Returns   None for a store without an entry of that truth, or with fewer than two configurations by the measure
    Raises    InputError for a measure that is a percentile or a geometric mean
    """
    if truth is None or measure is None:
        entries = store.entries().filter(pl.col("truth").is_not_null())
        if truth is not None:
            entries = entries.filter(pl.col("truth") == truth)
        if entries.is_empty():
            return None
        truth, measure = str(entries["truth"][0]), measure or str(entries["measure"][0])
    spec = measure_or_column(measure)
    if not spec.aggregation.arithmetic:
        raise InputError(f"measure {measure!r}: luck is computed of arithmetic means alone; name another one (-m)")
    latest, configs = store.latest_means(truth, measure), store.configs(truth)
    if len(latest) < 2:
        return None
    means = (1 if spec.definition.higher_is_better else -1) * latest["mean"].to_numpy()
    best = latest.row(int(means.argmax()), named=True)
    error = _scatter(store, latest, measure)
    return Wear(
        truth, measure, int(latest["n"][-1]), len(configs), configs["time"][0],
        best["entry"], best["system"], best["mean"],
        luck=None if error is None else luck(means, error, max(len(configs), len(means)), seed=seed),
        df=math.nan if error is None else error.df,
    )  # fmt: skip


def _scatter(store: Store, latest: pl.DataFrame, measure: str) -> MeanError | None:
    """Error of a mean besides what the questions do to all alike, from the newest configurations."""
    read = latest.tail(_MOST_READ)
    of_systems, clusters = list[dict[str, float]](), dict[str, int]()
    for entry, system in read.select("entry", "system").iter_rows():
        scores = store.scores(entry).filter(systems=system, measures=measure)
        values = scores.values[0, 0]
        of_systems.append({q: v for q, v in zip(scores.query_ids, values.tolist(), strict=True) if not math.isnan(v)})
        if scores.clustering is not None:
            clusters = dict(zip(scores.query_ids, scores.clustering.codes.tolist(), strict=True))
    query_ids = sorted(set(of_systems[0]).intersection(*of_systems[1:]))
    if not query_ids:
        return None
    table: Floats = np.array([[own[query_id] for query_id in query_ids] for own in of_systems])
    return scatter(table, clusters=[clusters[query_id] for query_id in query_ids] if clusters else None)
