"""A rate that rises from one end to the other: what users wait at each stretch of it, and where they wait too long."""

from __future__ import annotations

import polars as pl

from steelyard.bench.config_table import LoadTable, percentile_share
from steelyard.bench.frames import RAMP, RAMP_ENDS
from steelyard.bench.latency import time_percentiles
from steelyard.bench.throughput import Objective
from steelyard.stats.samples import ROUNDING

N_STRETCHES = 10
"""Of equal length in time, and so in rates."""
_LABEL = ("system", "depth")
_SHARES = (0.5, 0.95, 0.99)


def stretch_rates(first: float, last: float) -> list[float]:
    """The ends of the stretches, in requests a second.

    >>> stretch_rates(1, 51)[:3]
    [1.0, 6.0, 11.0]
    """
    return [first + (last - first) * i / N_STRETCHES for i in range(N_STRETCHES + 1)]


def middle_rate(duration_s: float, first: float, last: float) -> pl.Expr:
    """The rate in the middle of the stretch that a request came in, which names it."""
    stretch = (pl.col("intended_s") / duration_s * N_STRETCHES).floor().clip(0, N_STRETCHES - 1)
    return (first + (last - first) * (stretch + 0.5) / N_STRETCHES).round_sig_figs(4)


def ramp(requests: pl.DataFrame, load: LoadTable | None) -> pl.DataFrame:
    """A row of schema RAMP for each stretch of a rate that rose, of requests of schema REQUESTS.

    Verdicts are by the percentiles that were measured: a stretch is short, and its seconds are alike, so that intervals
    would leave nearly all of them open.
    """
    rows, objective = [], Objective.of(load)
    if load is None or load.ramp is None:
        return RAMP.to_frame()
    first, last = load.ramp
    ends = stretch_rates(first, last)
    for key, stretch in requests.filter(loop="ramp").group_by(*_LABEL, "rate", maintain_order=True):
        place = sum(end < key[2] for end in ends) - 1
        p50, p95, p99 = time_percentiles(stretch, _SHARES)
        error_rate = float(stretch.select((pl.col("outcome") != "ok").mean()).item())
        rows.append({
            **dict(zip((*_LABEL, "rate"), key, strict=True)), "low_rate": ends[place], "high_rate": ends[place + 1],
            "n": stretch.height, "error_rate": error_rate, "p50": p50.value, "p95": p95.value, "p95_low": p95.low,
            "p95_high": p95.high, "p99": p99.value,
            "verdict": _verdict(stretch, objective, error_rate),
        })  # fmt: skip
    return pl.DataFrame(rows, schema=RAMP)


def _verdict(stretch: pl.DataFrame, objective: Objective, error_rate: float) -> str:
    """ "few" where a percentile has no request beyond it: the slowest of all would decide alone."""
    shares = {name: percentile_share(name) for name in objective.slo}
    if stretch.height < max(1 / (1 - share) for share in shares.values()) * (1 - ROUNDING):
        return "few"
    values = [interval.value for interval in time_percentiles(stretch, list(shares.values()))]
    late = any(value > 1000 * limit for value, limit in zip(values, objective.slo.values(), strict=True))
    return "missed" if late or error_rate > objective.max_error else "held"


def ramp_ends(stretches: pl.DataFrame, load: LoadTable | None) -> pl.DataFrame:
    """Where a rate that rose was too high, of schema RAMP_ENDS: a row for each system and depth of schema RAMP."""
    rows, first_and_last = [], [] if load is None or load.ramp is None else load.ramp
    for key, own in stretches.group_by(_LABEL, maintain_order=True):
        ordered = own.sort("rate")
        missed = ordered.filter(verdict="missed").head(1)
        before = ordered if missed.is_empty() else ordered.filter(pl.col("rate") < missed["rate"].item())
        held = before.filter(verdict="held")["high_rate"].max()
        ends = missed.select("low_rate", "high_rate").row(0) if missed.height else (None, None)
        rows.append([*key, *first_and_last, held, *ends])
    return pl.DataFrame(rows, schema=RAMP_ENDS, orient="row")
