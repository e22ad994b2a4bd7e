"""The prices of the systems of a bench: named, written out, by the hour of a machine, or known by model and address."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.base.settings import SettingError, read_toml
from steelyard.bench.config import BenchConfig, BenchSystem
from steelyard.services.models.endpoints import OPENAI
from steelyard.services.prices import SELF_HOST, UnitPrice, find_price, price_at, read_price

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
