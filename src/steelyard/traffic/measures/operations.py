"""Measures of what the service took: time, money, tokens, and what failed."""

import polars as pl

from steelyard.traffic.measures.feedback import SERVED
from steelyard.traffic.measures.registry import Ratio, Total, Values, traffic_measure

_TINY = 2.0**-36
"""Of a dollar: a short text costs a ten-millionth."""


@traffic_measure(
    stream="operations", better="lower", scale="positive", floor=0.1, needs=["impression:latency_ms"],
    usual=[":p50", ":p95", ":p99"],
)  # fmt: skip
def latency_ms() -> Values:
    """Milliseconds of the requests that were served; error_rate has the others."""
    return Values(pl.when(SERVED).then("latency_ms"))


@traffic_measure(stream="operations", better="lower", floor=0.002)
def error_rate() -> Ratio:
    """Requests that were not served."""
    return Ratio(~SERVED, pl.lit(value=True))


@traffic_measure(stream="operations", better="lower", scale="positive", floor=0.05, needs=["impression:cost_usd"])
def cost_usd() -> Values:
    """Dollars of a request, mean."""
    return Values(pl.col("cost_usd"), _TINY)


@traffic_measure(stream="operations", better="either", scale="positive", floor=0.05, needs=["impression:tokens_in"])
def tokens_in() -> Values:
    """Tokens that a request read, mean."""
    return Values(pl.col("tokens_in"))


@traffic_measure(stream="operations", better="either", scale="positive", floor=0.05, needs=["impression:tokens_out"])
def tokens_out() -> Values:
    """Tokens that a request wrote, mean."""
    return Values(pl.col("tokens_out"))


@traffic_measure(stream="operations", better="higher", scale="positive", floor=0.1)
def requests() -> Total:
    """Requests of a window: fewer may alarm, and growth is none."""
    return Total("requests")


@traffic_measure(stream="operations", better="higher", scale="positive", floor=0.1, needs=["impression:user"])
def users() -> Total:
    """Users of a window: fewer may alarm, and growth is none."""
    return Total("users")
