"""What questions cost, by tokens, search units, questions or the hours of a machine, as a table and beside quality."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats
from steelyard.bench.config import BenchConfig, system_label
from steelyard.bench.frames import COSTS, SERVICE_MS, Counted
from steelyard.bench.load.throughput import INCONCLUSIVE
from steelyard.bench.money.pricing import cost_measure, currency_of, system_prices
from steelyard.experiment.table.scores import Scores
from steelyard.measures.spec import measure_or_column
from steelyard.services.prices import UnitPrice
from steelyard.stats.intervals.means import skewed_intervals

_LABEL = ["system", "depth"]
_RANKING = [*_LABEL, "repetition", "query_id"]
_COUNTED = pl.Enum(get_args(Counted))
_MILLION = 1_000_000

_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "system": pl.String, "depth": pl.Int64, "repetition": pl.Int64, "query_id": pl.String, "tokens": pl.Float64,
    "counted": _COUNTED, "cost": pl.Float64,
}  # fmt: skip
REQUEST_COSTS = pl.Schema(_COLUMNS)
"""A row for each request that was answered: its tokens, read and written, and its cost; null where not known."""


@dataclass(frozen=True)
class _Machine:
    """How many requests a machine serves at once at the rate that it sustains, by Little's law.

    served   None where no rate held;   depth   at which the rate was measured, None where none was
    """

    served: float | None = 1.0
    depth: int | None = None
    measured: bool = False


def request_costs(
    config: BenchConfig, requests: pl.DataFrame, rankings: pl.DataFrame, sustained: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Tokens and cost of each request that was answered, of schema REQUEST_COSTS.

    A machine of one's own costs by the time that it takes for a request.  Where a sustained rate was measured, a
    request pays for its share of that time: at that depth costs have the mean hour / (3600 · rate · utilisation), and
    at other depths they are in proportion to the time one after the other.  Without a sustained rate, a request pays
    for the machine as long as it takes.

    requests    sequential ones, of schema REQUESTS;   rankings   beside them, of schema RANKINGS
    sustained   of schema SUSTAINED; None where no load was put on
    """
    answered = requests.filter(pl.col("outcome") == "ok").with_columns(service_s=SERVICE_MS / 1000)
    pairs = rankings.select(*_RANKING, "pair_tokens")
    answered = answered.join(pairs, on=_RANKING, how="left", nulls_equal=True, maintain_order="left")
    parts = [REQUEST_COSTS.to_frame()]
    for system, price in system_prices(config).items():
        rows = answered.filter(pl.col("system") == system)
        cost = pl.lit(None, pl.Float64) if price is None else _COST[price.unit](price, _machine(rows, sustained))
        tokens = pl.col("tokens_in") + pl.col("tokens_out").fill_null(0)
        parts.append(
            rows.select(*_RANKING, tokens.cast(pl.Float64).alias("tokens"), pl.col("counted").cast(_COUNTED),
                        cost.cast(pl.Float64).alias("cost"))
        )  # fmt: skip
    return pl.concat(parts)


def costs(
    config: BenchConfig, requests: pl.DataFrame, rankings: pl.DataFrame, sustained: pl.DataFrame | None = None, *,
    day: datetime.date, clusters: Mapping[str, int] | None = None,
) -> pl.DataFrame:  # fmt: skip
    """What each system costs at each depth, of schema COSTS.

    requests, rankings, sustained   as of `request_costs`
    day        of the bench: a price that is much older is outdated
    clusters   query_id -> cluster, for intervals; None: each question by itself
    """
    prices = system_prices(config)
    currency = currency_of(config, prices)
    of_requests = request_costs(config, requests, rankings, sustained)
    rows = []
    measured = set(requests.select(_LABEL).unique().iter_rows())
    for system, depth in [(system, depth) for system in prices for depth in (None, *config.depths)]:
        if (system, depth) not in measured:
            continue
        price = prices[system]
        mine = of_requests.filter(pl.col("system") == system, pl.col("depth").eq_missing(depth))
        machine = _machine(requests.filter(pl.col("system") == system), sustained)
        row = {"system": system, "depth": depth, "currency": currency, **_described(price), **_amounts(mine, clusters)}
        row["status"] = _status(price, row, machine, day)
        if config.value is not None and row["per_query"] is not None:
            row["per_day"] = row["per_query"] * config.value.queries_per_day
        rows.append(row)
    return pl.DataFrame(rows, schema=COSTS)


_Cost = Callable[[UnitPrice, _Machine], pl.Expr]


def _of_query(price: UnitPrice, _: _Machine) -> pl.Expr:
    return pl.lit(price.amount)


def _of_tokens(price: UnitPrice, _: _Machine) -> pl.Expr:
    per_in, per_out = price.of_tokens(1), price.of_tokens(0, 1)
    return per_in * pl.col("tokens_in") + per_out * pl.col("tokens_out").fill_null(0)


def _of_search_units(price: UnitPrice, _: _Machine) -> pl.Expr:
    counted = pl.col("pair_tokens").map_elements(price.search_units, return_dtype=pl.Int64)
    return price.amount * pl.coalesce(pl.col("search_units"), counted.cast(pl.Float64))


def _of_time(price: UnitPrice, machine: _Machine) -> pl.Expr:
    if machine.served is None:
        return pl.lit(None, pl.Float64)
    return price.of_seconds(1) / machine.served * pl.col("service_s")


_COST: Mapping[str, _Cost] = {
    "per_query": _of_query, "per_1m_tokens": _of_tokens, "per_search_unit": _of_search_units, "per_gpu_hour": _of_time,
}  # fmt: skip


def _machine(requests: pl.DataFrame, sustained: pl.DataFrame | None) -> _Machine:
    """The machine of one system: by the deepest of its sustained rates."""
    if sustained is None or not requests.height:
        return _Machine()
    rates = sustained.filter(pl.col("system") == requests["system"][0], ~_says_nothing()).sort("depth")
    if not rates.height:
        return _Machine()
    depth, rate = rates.select("depth", "rate").row(-1)
    at_depth = requests.filter(pl.col("outcome") == "ok", pl.col("depth").eq_missing(depth))
    service_s = at_depth.select(SERVICE_MS.mean() / 1000).item()
    served = rate * service_s if rate and service_s else None
    return _Machine(served, depth, measured=True)


def _says_nothing() -> pl.Expr:
    """Of rates that were sustained: whether none was found for reasons that say nothing of the system."""
    return pl.col("rate").is_null() & pl.col("reason").is_in(INCONCLUSIVE).fill_null(value=False)


def _described(price: UnitPrice | None) -> dict[str, Any]:
    if price is None:
        return {}
    day = "" if price.day is None else price.day.isoformat()
    return {
        "price": price.name, "unit": price.unit, "unit_price": price.amount, "date": day or None,
        "source": price.source or None,
    }  # fmt: skip


def _amounts(of_requests: pl.DataFrame, clusters: Mapping[str, int] | None) -> dict[str, Any]:
    """Means over questions, of their means over repetitions."""
    means = of_requests.group_by("query_id", maintain_order=True).agg(pl.col("tokens", "cost").mean())
    priced = means.drop_nulls("cost")
    groups = None if clusters is None else [clusters[query_id] for query_id in priced["query_id"]]
    cost, low, high = cost_interval(priced["cost"].to_numpy(), groups)
    total = pl.col("cost").sum() / pl.col("tokens").sum() * _MILLION
    per_1m_tokens = priced.drop_nulls("tokens").filter(pl.col("tokens") > 0).select(total).item()
    return {
        "tokens": means["tokens"].mean(), "counted": of_requests["counted"].max(), "per_query": cost,
        "per_query_low": low, "per_query_high": high,
        "per_1m_tokens": None if math.isnan(per_1m_tokens) else per_1m_tokens,
    }  # fmt: skip


def cost_interval(
    costs_of_questions: Floats, clusters: list[int] | None = None
) -> tuple[float | None, float | None, float | None]:
    """Mean and 95% interval; the mean itself where all questions cost the same; None without questions."""
    if not len(costs_of_questions):
        return None, None, None
    mean = float(costs_of_questions.mean())
    codes = None if clusters is None else np.array(clusters)
    interval = skewed_intervals(costs_of_questions[:, None], clusters=codes)
    low, high = max(float(interval.low[0]), 0.0), float(interval.high[0])
    if math.isnan(low):
        equal = len(costs_of_questions) > 1 and not np.ptp(costs_of_questions)
        return (mean, mean, mean) if equal else (mean, None, None)
    return mean, low, high


def _status(price: UnitPrice | None, row: Mapping[str, Any], machine: _Machine, day: datetime.date) -> str:
    """What is to be said of a cost: the gravest."""
    if price is None:
        return "no_price"
    by_hour = price.unit == "per_gpu_hour"
    conditions = {
        "no_rate": by_hour and machine.served is None,
        "no_tokens": row["per_query"] is None,
        "outdated": price.is_outdated(day),
        "sequential": by_hour and not machine.measured,
        "scaled": by_hour and machine.depth != row["depth"],
    }
    return next((status for status, holds in conditions.items() if holds), "known")


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
