"""What models cost, from the table `prices.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from steelyard.services.addresses import host_of
from steelyard.services.budget import Price


def price_of(model: str, url: str) -> Price | None:
    """The price of a model at an address; None where it is not known: elsewhere the same name may cost something else.

    >>> price_of("gpt-4o-mini", "https://api.openai.com/v1").usd_in, price_of("gpt-4o-mini", "http://127.0.0.1/v1")
    (0.15, None)
    """
    return _prices().get((host_of(url), model))


@cache
def _prices() -> Mapping[tuple[str, str], Price]:
    rows = tomllib.loads((files("steelyard.services") / "prices.toml").read_text(encoding="utf-8"))["prices"]
    return {
        (row["host"], model): Price(row["usd_in"], row["usd_out"], row["source"], row["date"].isoformat())
        for row in rows
        for model in row["models"]
    }
