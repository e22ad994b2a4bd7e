"""Means over questions drawn from traffic, by weight and plain, where the mean over all requests is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from benchmarks.simulated.tables import Table, percent

from steelyard.stats.weighted import weighted_mean
from steelyard.traffic.drawing import draw, in_strata

N = 120
"""Questions that are drawn."""
SHAPES: Mapping[str, tuple[int, float]] = {
    "search: 3,000 queries, Zipf 1.0": (3_000, 1.0),
    "assistant: 6,000 queries, Zipf 0.6": (6_000, 0.6),
    "all asked once: 2,000 queries": (2_000, 0.0),
}
"""Different queries, and the exponent of how often they are asked; 0 for once each."""


@dataclass(frozen=True)
class Estimates:
    """What draws of questions say of a mean.

    truth          over all requests;   weighted, plain   averages of the means over questions, over all draws
    cover          share of the draws whose interval holds the truth
    sd, sd_chance  spread of the weighted mean, and of the mean of as many requests that are drawn by chance
    failures, failures_chance   failures of the service among the questions, on average, and among requests by chance
    """

    truth: float
    weighted: float
    plain: float
    cover: float
    sd: float
    sd_chance: float
    failures: float
    failures_chance: float


def traffic(shape: str, rng: np.random.Generator) -> tuple[pl.DataFrame, pl.Series]:
    """Queries with how often they were asked and signs, and how well each is answered: rare ones are answered worse.

    Of the failures (a value below .5) three in five show a sign, of the others one in ten.
    """
    n, exponent = SHAPES[shape]
    counts = np.maximum(1, np.round(n * exponent / np.arange(1, n + 1) ** exponent)).astype(int) if exponent else 1
    counts = np.broadcast_to(counts, n)
    level = 0.65 + 0.05 * np.minimum(np.log2(counts), 5)
    values = np.where(rng.random(n) < level, rng.uniform(0.6, 1, n), rng.uniform(0, 0.5, n))
    has_sign = rng.random(n) < np.where(values < 0.5, 0.6, 0.1)
    signs = [["empty"] if own else [] for own in has_sign]
    queries = pl.DataFrame(
        {"query": [f"q{i}" for i in range(n)], "language": ["en"] * n, "n_requests": counts, "signs": signs},
        schema_overrides={"n_requests": pl.Int64, "signs": pl.List(pl.String)},
    )
    return in_strata(queries)[0], pl.Series(values)


def estimates(shape: str, draws: int, seed: int) -> Estimates:
    """Means over so many draws from one traffic."""
    rng = np.random.default_rng([seed, *shape.encode()])
    queries, values = traffic(shape, rng)
    counts = queries["n_requests"].to_numpy()
    value_of = dict(zip(queries["query"], values, strict=True))
    truth = float(np.average(values.to_numpy(), weights=counts))
    rows = []
    for _ in range(draws):
        drawn = draw(queries, N, int(rng.integers(2**31)))
        own = np.array([value_of[query] for query in drawn["query"]])
        mean = weighted_mean(own, drawn["weight"], drawn["stratum"].to_list(), drawn["probability"])
        chance = rng.choice(values.to_numpy(), N, p=counts / counts.sum())
        holds = mean.low <= truth <= mean.high
        rows.append((mean.mean, own.mean(), holds, chance.mean(), (own < 0.5).sum(), (chance < 0.5).sum()))
    weighted, plain, holds, chance, failures, failures_chance = np.array(rows, float).T
    averages = (weighted.mean(), plain.mean(), holds.mean(), weighted.std(), chance.std())
    return Estimates(truth, *map(float, averages), float(failures.mean()), float(failures_chance.mean()))


def drawing_table(draws: int, seed: int) -> Table:
    """Bias, coverage and spread of means over drawn questions."""
    rows = []
    for shape in SHAPES:
        own = estimates(shape, draws, seed)
        rows.append(
            [shape, f"{own.truth:.3f}", f"{own.weighted:.3f}", f"{own.plain:.3f}", percent(own.cover), f"{own.sd:.4f}",
             f"{own.sd_chance:.4f}", f"{own.failures:.0f} / {own.failures_chance:.0f}"]
        )  # fmt: skip
    columns = [
        "traffic", "truth", "weighted mean", "plain mean", "95% interval holds", "its sd", "sd of requests by chance",
        "failures drawn / by chance",
    ]  # fmt: skip
    return Table(f"Means over {N} questions drawn from traffic", columns, rows)
