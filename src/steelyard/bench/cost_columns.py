"""The cost of each question beside its quality, so that whatever compares and gates scores does so with costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats
from steelyard.bench.config import BenchConfig, system_label
from steelyard.bench.costs import request_costs
from steelyard.bench.pricing import cost_measure, currency_of, system_prices
from steelyard.experiment.scores import Scores
from steelyard.measures.spec import measure_or_column


def with_costs(
    config: BenchConfig, scores: Scores, requests: pl.DataFrame, rankings: pl.DataFrame,
    sustained: pl.DataFrame | None = None,
) -> Scores:  # fmt: skip
    """The scores with one more column of numbers, such as cost_usd; as they are where nothing has a price.

    requests, rankings, sustained   as of `request_costs`
    Returns   costs of the candidates as they are are 0, since all pay these alike; NaN where a cost is not known
    """
    prices = system_prices(config)
    if all(price is None for price in prices.values()):
        return scores
    of_runs = _costs_of_runs(request_costs(config, requests, rankings, sustained), requests, scores.query_ids)
    s, _, q = scores.values.shape
    unknown = np.full((1, q), np.nan)
    values = np.stack([_mean_of_runs(of_runs.get(system, unknown)) for system in scores.systems])
    values[[system == config.base_name for system in scores.systems]] = 0.0
    repeats = dict[str, Floats]()
    for system, runs in scores.repeats.items():
        of_label = np.broadcast_to(of_runs.get(system, unknown), (len(runs), q))
        repeats[system] = np.concatenate([runs, of_label[:, None]], axis=1)
    name = cost_measure(currency_of(config, prices))
    return replace(
        scores, measures=[*scores.measures, measure_or_column(name)], repeats=repeats,
        values=np.concatenate([scores.values, values[:, None]], axis=1),
        judged=np.concatenate([scores.judged, np.full((s, 1, q), np.nan)], axis=1),
        no_relevant=np.concatenate([scores.no_relevant, np.zeros((s, 1, q), bool)], axis=1),
        causes=None if scores.causes is None else np.pad(scores.causes, [(0, 0), (0, 1), (0, 0)]),
    )  # fmt: skip


def _costs_of_runs(
    of_requests: pl.DataFrame, requests: pl.DataFrame, query_ids: Sequence[str]
) -> dict[str, Floats]:  # fmt: skip
    """Label -> (r, q) cost of each question in each repetition; NaN where it is not known."""
    place = {query_id: q for q, query_id in enumerate(query_ids)}
    keys = ["system", "depth"]
    costs = of_requests.drop_nulls("cost").partition_by(keys, as_dict=True)
    of_runs = dict[str, Floats]()
    for (system, depth), asked in requests.partition_by(keys, as_dict=True).items():
        repetition_row = {repetition: r for r, repetition in enumerate(asked["repetition"].unique().sort())}
        of_label = np.full((len(repetition_row), len(place)), np.nan)
        rows = costs.get((system, depth), of_requests.clear())
        for repetition, query_id, cost in rows.select("repetition", "query_id", "cost").iter_rows():
            if query_id in place:
                of_label[repetition_row[repetition], place[query_id]] = cost
        of_runs[system_label(str(system), depth)] = of_label
    return of_runs


def _mean_of_runs(costs: Floats) -> Floats:
    """(q,) means of (r, q) costs, of the repetitions that have one; NaN where none has."""
    there = ~np.isnan(costs)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(there, costs, 0.0).sum(axis=0) / there.sum(axis=0))
