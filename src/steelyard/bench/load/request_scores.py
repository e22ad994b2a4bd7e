"""Requests under load as scores: a value for each request, which compare, gate and report read like any other."""

from __future__ import annotations

import polars as pl

from steelyard.bench.frames import DISPATCH_MS, ITL_MS, LATENCY_MS, SERVICE_MS, TTFT_MS, system_label
from steelyard.experiment.table.arrays import SECOND
from steelyard.experiment.table.scores import Scores

_OPTIONAL = ("tokens", "search_units", "ttft_ms", "itl_ms")


def load_name(rate: float | None, users: int | None) -> str:
    """A level of load: requests a second of an open loop, or users of a closed one.

    >>> load_name(2.5, None), load_name(None, 1)
    ('2.5/s', '1 user')
    """
    return f"{users} user{'s' * (users != 1)}" if rate is None else f"{rate:g}/s"


def request_scores(requests: pl.DataFrame) -> Scores:
    """A system for each level of load, such as "mine 20/s", and a question for each request, such as "20/s:000017".

    requests   of schema REQUESTS, at least one
    Measures   latency_ms from the intended start, service_ms from sending, dispatch_ms between the two; where they are
               known tokens and search_units, and ttft_ms and itl_ms of streamed answers.  A request without an answer
               has no value, and failed

    Requests of the same second count as one for intervals and tests: they stood in the same queue; for percentiles,
    those of neighbouring seconds count as far as they are alike.  Those of closed
    loops are called after the system too, since nothing makes pairs of them.
    """
    load = pl.struct("rate", "users").map_elements(
        lambda level: load_name(level["rate"], level["users"]), return_dtype=pl.String
    )
    load = pl.concat_str(pl.when(pl.col("loop") == "ramp").then(pl.lit("ramp ")).otherwise(pl.lit("")), load)
    system = pl.struct("system", "depth").map_elements(
        lambda label: system_label(label["system"], label["depth"]), return_dtype=pl.String
    )
    configured = requests.filter(repetition=1)  # The others looked for a rate.
    ordered = configured.sort("loop", "rate", "users", descending=[True, False, False], maintain_order=True)
    labelled = ordered.with_columns(_load=load).with_columns(system=pl.concat_str(system, pl.lit(" "), "_load"))
    # Open loops of one rate send the same requests at the same times, whatever the system, so that these are pairs.
    series = pl.when(pl.col("loop") != "closed").then(pl.col("_load")).otherwise(pl.col("system"))
    # Times are differences of a clock's: whole seconds may have lost a billionth.
    second = pl.col("intended_s").round(6).floor().cast(pl.Int64).cast(pl.String)
    labelled = labelled.with_columns(
        query_id=pl.concat_str(series, pl.lit(":"), pl.col("number").cast(pl.String).str.zfill(6)),
        second=pl.concat_str(series, pl.lit(":"), second),
        status=pl.when(pl.col("outcome") == "ok").then(pl.lit("ok")).otherwise(pl.lit("failed")),
        latency_ms=LATENCY_MS, service_ms=SERVICE_MS, dispatch_ms=DISPATCH_MS, tokens=pl.col("tokens_in"),
        ttft_ms=TTFT_MS, itl_ms=ITL_MS,
    )  # fmt: skip
    measures = ["latency_ms", "service_ms", "dispatch_ms"]
    measures += [name for name in _OPTIONAL if labelled[name].is_not_null().any()]
    rows = labelled.select(
        "system", "query_id", "status", SECOND, *(pl.col(name).cast(pl.Float64) for name in measures)
    )
    long = rows.unpivot(measures, index=["system", "query_id", "status", SECOND], variable_name="measure")
    answered = pl.when(pl.col("status") == "ok").then(pl.col("value"))
    return Scores.of(long.with_columns(value=answered), cluster=SECOND)
