"""Rules of thumb in circulation, beside what a bench has measured: for comparison alone."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl

from steelyard.base.choices import Language
from steelyard.bench.config import BenchConfig, system_label
from steelyard.bench.frames import REFERENCE_LATENCY, REFERENCE_LEVELS, REFERENCE_RATES
from steelyard.experiment.scores import Scores

_LATENCY = {"latency_ms:p50": "p50", "latency_ms:p95": "p95", "latency_ms:p99": "p99"}


@dataclass(frozen=True)
class Reference:
    """Own figures, and beside them those in circulation.

    latency   of schema REFERENCE_LATENCY;   rates   of REFERENCE_RATES;   levels   of REFERENCE_LEVELS
    """

    latency: pl.DataFrame
    rates: pl.DataFrame
    levels: pl.DataFrame

    @classmethod
    def of(cls, config: BenchConfig, scores: Scores, latency: pl.DataFrame, throughput: pl.DataFrame) -> Reference:
        """Beside what a bench has measured: `latency` of schema LATENCY, `throughput` of schema THROUGHPUT."""
        levels = levels_beside(_means(config, scores), latency, config.base_name)
        return cls(latency_beside(latency), rates_beside(throughput), levels)


@cache
def rules_of_thumb() -> Mapping[str, Any]:
    """The tables latency, rates and levels, as `reference.toml` has them, and its note."""
    return tomllib.loads((files("steelyard.bench.choice") / "reference.toml").read_text(encoding="utf-8"))


def reference_note(language: Language) -> str:
    """Where the figures come from, as far as that is known; to be printed wherever they are."""
    note: str = rules_of_thumb()["note"][language]
    return note


def latency_beside(latency: pl.DataFrame) -> pl.DataFrame:
    """Own percentiles, and those in circulation for as many candidates.

    latency   of schema LATENCY; only what was asked one after the other is compared
    Returns   of schema REFERENCE_LATENCY
    """
    names = ("p50", "p95", "p99")
    reference = pl.DataFrame(rules_of_thumb()["latency"]).select(
        pl.col("depth").cast(pl.Int64), *(pl.col(name).cast(pl.Float64).alias(f"reference_{name}") for name in names)
    )
    return (
        latency.filter(loop="sequential")
        .select("system", "depth", *names)
        .join(reference, on="depth", how="left", maintain_order="left")
        .match_to_schema(REFERENCE_LATENCY)
    )


def rates_beside(throughput: pl.DataFrame) -> pl.DataFrame:
    """Rates in circulation by threads, then own ones by users at once, where these are as many as the threads are.

    throughput   of schema THROUGHPUT
    Returns      of schema REFERENCE_RATES
    """
    reference = pl.DataFrame(rules_of_thumb()["rates"]).select(
        system="model", depth=pl.lit(None, pl.Int64), threads=pl.col("threads").cast(pl.Int64),
        rate=pl.col("rate").cast(pl.Float64), is_own=False,
    )  # fmt: skip
    own = throughput.filter(pl.col("loop") == "closed", pl.col("users").is_in(reference["threads"].to_list())).select(
        "system", "depth", threads="users", rate="achieved", is_own=True
    )
    return pl.concat([reference, own]).match_to_schema(REFERENCE_RATES)


def levels_beside(means: pl.DataFrame, latency: pl.DataFrame, base: str) -> pl.DataFrame:
    """What is commonly asked in production, and the own value of each system that it concerns.

    means     system, depth, measure and mean of quality
    latency   of schema LATENCY
    base      what the candidates as they are are called in `means`
    Returns   of schema REFERENCE_LEVELS
    """
    timed = latency.filter(loop="sequential").unpivot(
        on=list(_LATENCY.values()), index=["system", "depth"], variable_name="percentile", value_name="value"
    )
    measure = pl.col("percentile").replace_strict({name: spec for spec, name in _LATENCY.items()})
    own = pl.concat([
        means.select("system", "depth", "measure", value="mean"),
        timed.select("system", "depth", measure, "value").rename({"percentile": "measure"}),
    ]).with_columns(of=pl.when(pl.col("system") == base).then(pl.lit("before")).otherwise(pl.lit("after")))  # fmt: skip
    labels = own.select("system", "depth", "of").unique(maintain_order=True)
    levels = pl.DataFrame(rules_of_thumb()["levels"], schema_overrides={"below": pl.Float64, "above": pl.Float64})
    return (
        levels.join(labels, on="of", how="inner", maintain_order="left_right")
        .join(own.drop("of"), on=["system", "depth", "measure"], how="left", nulls_equal=True, maintain_order="left")
        .select(REFERENCE_LEVELS.names())
        .match_to_schema(REFERENCE_LEVELS)
    )


def _means(config: BenchConfig, scores: Scores) -> pl.DataFrame:
    """system, depth, measure and mean of what scores call the base, and rerankers over so many candidates."""
    labels = {config.base_name: (config.base_name, None)} | {
        system_label(system.name, depth): (system.name, depth) for system in config.rerankers for depth in config.depths
    }
    rows = [
        (*labels[name], str(measure), float(mean))
        for name, means in zip(scores.systems, scores.means, strict=True)
        for measure, mean in zip(scores.measures, means, strict=True)
        if name in labels and not math.isnan(mean)
    ]
    schema = {"system": pl.String, "depth": pl.Int64, "measure": pl.String, "mean": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")
