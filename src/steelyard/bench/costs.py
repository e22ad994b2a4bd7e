"""Prices of the systems of a bench, and what questions cost, as a table and beside quality."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats
from steelyard.base.settings import SettingError, read_toml
from steelyard.bench.config import BenchConfig, BenchSystem
from steelyard.bench.frames import COSTS, SERVICE_MS, Counted, Option
from steelyard.bench.load.throughput import INCONCLUSIVE
from steelyard.bench.quality.lists import append_columns, mean_where
from steelyard.experiment.table.scores import Scores
from steelyard.services.models.endpoints import OPENAI
from steelyard.services.prices import SELF_HOST, UnitPrice, find_price, price_at, read_price
from steelyard.stats.intervals.means import skewed_intervals

_USD = "USD"


def system_prices(config: BenchConfig) -> dict[str, UnitPrice | None]:
    """The price of each system but the base; None where no price is named, and none is known of its model and address.

    Raises   SettingError for a name that no price has, a price that is none, "self-host" without [self_host], a price
             of the base, which all systems pay alike, and prices in several currencies.

    >>> config = BenchConfig.of({"systems": {"api": {"rerank": "lexical", "price": "cohere/rerank-v3.5"}}})
    >>> system_prices(config)["api"].per_search_unit
    0.002
    """
    own = own_prices(config)
    prices = dict[str, UnitPrice | None]()
    for system in config.systems.values():
        try:
            price = _price(system, config, own)
        except SettingError as error:
            raise error.inside("systems", system.name, "price", owner=f"systems.{system.name}.price") from None
        if not system.is_base:
            prices[system.name] = price
    _check_currencies(config, prices)
    return prices


def currency_of(config: BenchConfig, prices: Mapping[str, UnitPrice | None]) -> str:
    """The one currency of a bench: that of its [value], else of its prices, else US dollars."""
    if config.value is not None:
        return config.value.currency
    return next((price.currency for price in prices.values() if price is not None), _USD)


def cost_measure(currency: str) -> str:
    """The name in scores of the cost of a question.

    >>> cost_measure("USD")
    'cost_usd'
    """
    return f"cost_{currency.lower()}"


def own_prices(config: BenchConfig) -> dict[str, UnitPrice]:
    """The prices that the configuration holds, or the TOML that it names, by name.

    Raises   InputError for a file that cannot be read; SettingError for a price that is none.
    """
    if isinstance(config.prices, Path):
        values, origin = read_toml(config.prices)
        with origin.locating():
            return _read_prices(values.get("prices", values))
    try:
        return _read_prices(config.prices)
    except SettingError as error:
        raise error.inside("prices") from None


def stored_prices(config: BenchConfig) -> dict[str, dict[str, Any]]:
    """Tables of all prices that a bench uses by name, shipped ones too: what config.json keeps, as those may change."""
    prices = system_prices(config)
    systems = (system for system in config.systems.values() if not isinstance(system.price, Mapping))
    by_name = [prices[system.name] for system in systems if not system.is_base]
    used = {price.name: price for price in by_name if price is not None and price.name != SELF_HOST}
    return {name: price.as_table() for name, price in {**own_prices(config), **used}.items()}


def _read_prices(tables: Mapping[str, Any]) -> dict[str, UnitPrice]:
    prices = dict[str, UnitPrice]()
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise SettingError(f"price {name} must be a table such as {{ per_query = 0.001 }}, not {table!r}", name)
        if name == SELF_HOST:
            raise SettingError(f"{SELF_HOST} is the price of [self_host]; choose another name", name)
        try:
            prices[name] = read_price(table, name)
        except SettingError as error:
            raise error.inside(name) from None
    return prices


def _price(system: BenchSystem, config: BenchConfig, own: Mapping[str, UnitPrice]) -> UnitPrice | None:
    if system.is_base and system.price is not None:
        raise SettingError("the candidates cost all systems the same; leave it out, and price the rerankers")
    if isinstance(system.price, Mapping):
        return read_price(system.price, system.name)
    if system.price == SELF_HOST:
        return _self_host(config)
    return _at_address(system, own) if system.price is None else find_price(system.price, own)


def _self_host(config: BenchConfig) -> UnitPrice:
    if config.self_host is None:
        raise SettingError("self-host needs the price of the machine; add [self_host] with per_hour = ...")
    currency = _USD if config.value is None else config.value.currency
    hour, used = config.self_host.per_hour, config.self_host.utilisation
    return UnitPrice(name=SELF_HOST, per_gpu_hour=hour, utilisation=used, currency=currency)


def _at_address(system: BenchSystem, own: Mapping[str, UnitPrice]) -> UnitPrice | None:
    """The price of the model that a stage names, at the address that it names."""
    if system.rerank is None:
        return None
    settings, usual = system.rerank.settings, OPENAI if system.rerank.kind == "llm" else None
    model, url = settings.get("model"), settings.get("url", settings.get("base_url", usual))
    if not (isinstance(model, str) and isinstance(url, str)):
        return None
    price = price_at(model, url)
    return None if price is None else own.get(price.name, price)


def _check_currencies(config: BenchConfig, prices: Mapping[str, UnitPrice | None]) -> None:
    currency = currency_of(config, prices)
    for system, price in prices.items():
        if price is not None and price.currency != currency:
            raise SettingError(
                f"systems.{system}.price is in {price.currency}, and the bench in {currency}; name all prices and "
                "[value] in one currency, at the rate that you pay",
                "systems",
                system,
                "price",
            )


_RANKING = ["system", "depth", "repetition", "query_id"]
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

    @classmethod
    def of(cls, requests: pl.DataFrame, sustained: pl.DataFrame | None) -> _Machine:
        """The machine of one system: by the deepest of its sustained rates, but for those that say nothing of it."""
        if sustained is None or not requests.height:
            return cls()
        says_nothing = pl.col("rate").is_null() & pl.col("reason").is_in(INCONCLUSIVE).fill_null(value=False)
        rates = sustained.filter(pl.col("system") == requests["system"][0], ~says_nothing).sort("depth")
        if not rates.height:
            return cls()
        depth, rate = rates.select("depth", "rate").row(-1)
        at_depth = requests.filter(pl.col("outcome") == "ok", pl.col("depth").eq_missing(depth))
        service_s = at_depth.select(SERVICE_MS.mean() / 1000).item()
        return cls(rate * service_s if rate and service_s else None, depth, measured=True)


def request_costs(
    config: BenchConfig, requests: pl.DataFrame, rankings: pl.DataFrame, sustained: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Tokens and cost of each request that was answered, of schema REQUEST_COSTS.

    A machine of your own costs by the time that it takes for a request.  Where a sustained rate was measured, a
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
        cost = pl.lit(None) if price is None else _cost(price, _Machine.of(rows, sustained))
        tokens = pl.col("tokens_in") + pl.col("tokens_out").fill_null(0)
        parts.append(
            rows.select(*_RANKING, tokens.cast(pl.Float64).alias("tokens"), pl.col("counted").cast(_COUNTED),
                        cost.cast(pl.Float64).alias("cost"))
        )  # fmt: skip
    return pl.concat(parts)


def _cost(price: UnitPrice, machine: _Machine) -> pl.Expr:
    """The cost of a request by its columns."""
    if price.unit == "per_query":
        return pl.lit(price.amount)
    if price.unit == "per_1m_tokens":
        per_in, per_out = price.of_tokens(1), price.of_tokens(0, 1)
        return per_in * pl.col("tokens_in") + per_out * pl.col("tokens_out").fill_null(0)
    if price.unit == "per_search_unit":
        counted = pl.col("pair_tokens").map_elements(price.search_units, return_dtype=pl.Int64)
        return price.amount * pl.coalesce(pl.col("search_units"), counted.cast(pl.Float64))
    return pl.lit(None) if machine.served is None else price.of_seconds(1) / machine.served * pl.col("service_s")


def costs(
    config: BenchConfig, requests: pl.DataFrame, of_requests: pl.DataFrame, sustained: pl.DataFrame | None = None, *,
    day: datetime.date, clusters: Mapping[str, int] | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Costs of each system at each depth, of schema COSTS.

    of_requests   those of `request_costs`, which gets the same requests and sustained rates
    day        of the bench: a price that is much older is outdated
    clusters   query_id -> cluster, for intervals; None: each question by itself
    """
    prices, rows = system_prices(config), list[dict[str, Any]]()
    currency = currency_of(config, prices)
    for option in [Option(system, depth) for system in prices for depth in (None, *config.depths)]:
        if requests.filter(option.rows).is_empty():
            continue
        price = prices[option.system]
        machine = _Machine.of(requests.filter(pl.col("system") == option.system), sustained)
        row = {
            "system": option.system,
            "depth": option.depth,
            "currency": currency,
            **_amounts(of_requests.filter(option.rows), clusters),
        }
        if price is not None:
            row |= {"price": price.name, "unit": price.unit, "unit_price": price.amount, "source": price.source or None}
            row["date"] = None if price.day is None else price.day.isoformat()
        row["status"] = _status(price, row, machine, day)
        if config.value is not None and row["per_query"] is not None:
            row["per_day"] = row["per_query"] * config.value.queries_per_day
        rows.append(row)
    return pl.DataFrame(rows, schema=COSTS)


def _amounts(of_requests: pl.DataFrame, clusters: Mapping[str, int] | None) -> dict[str, Any]:
    """Means over questions, of their means over repetitions."""
    means = of_requests.group_by("query_id", maintain_order=True).agg(pl.col("tokens", "cost").mean())
    priced = means.drop_nulls("cost")
    groups = None if clusters is None else [clusters[query_id] for query_id in priced["query_id"]]
    cost, low, high = cost_interval(priced["cost"].to_numpy(), groups)
    total = pl.col("cost").sum() / pl.col("tokens").sum() * _MILLION
    per_1m_tokens = priced.drop_nulls("tokens").filter(pl.col("tokens") > 0).select(total).item()
    return {
        "tokens": means["tokens"].mean(),
        "counted": of_requests["counted"].max(),
        "per_query": cost,
        "per_query_low": low,
        "per_query_high": high,
        "per_1m_tokens": None if math.isnan(per_1m_tokens) else per_1m_tokens,
    }


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
    """The gravest remark on a cost."""
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


def with_costs(config: BenchConfig, scores: Scores, requests: pl.DataFrame, of_requests: pl.DataFrame) -> Scores:
    """The scores with one more column of numbers, such as cost_usd; as they are where nothing has a price.

    requests, of_requests   as of `costs`
    Returns   costs of the candidates as they are are 0, since all pay these alike; NaN where a cost is not known
    """
    prices = system_prices(config)
    if all(price is None for price in prices.values()):
        return scores
    of_runs, q = _costs_of_runs(requests, of_requests, scores.query_ids), len(scores.query_ids)
    runs = {system: of_runs.get(system, np.full((1, q), np.nan)) for system in scores.systems}
    values = np.stack([mean_where(costs, ~np.isnan(costs)) for costs in runs.values()])
    values[[system == config.base_name for system in scores.systems]] = 0.0
    repeats = {
        system: np.concatenate([rows, np.broadcast_to(runs[system], (len(rows), q))[:, None]], axis=1)
        for system, rows in scores.repeats.items()
    }
    return append_columns(scores, [cost_measure(currency_of(config, prices))], values[:, None], repeats)


def _costs_of_runs(requests: pl.DataFrame, of_requests: pl.DataFrame, query_ids: Sequence[str]) -> dict[str, Floats]:
    """Label -> (r, q) cost of each question in each repetition; NaN where it is not known."""
    place = {query_id: q for q, query_id in enumerate(query_ids)}
    of_runs = dict[str, Floats]()
    for system, depth in requests.select("system", "depth").unique().iter_rows():
        option = Option(system, depth)
        row = {repetition: r for r, repetition in enumerate(requests.filter(option.rows)["repetition"].unique().sort())}
        costs = of_runs[option.label] = np.full((len(row), len(place)), np.nan)
        known = of_requests.filter(option.rows).drop_nulls("cost").select("repetition", "query_id", "cost")
        for repetition, query_id, cost in known.iter_rows():
            if query_id in place:
                costs[row[repetition], place[query_id]] = cost
    return of_runs
