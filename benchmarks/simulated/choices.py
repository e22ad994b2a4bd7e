"""What benches of rerankers recommend whose true quality is known: twins of unlike price, one that is better, none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import polars as pl
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.bench.choice.choice import choice
from steelyard.bench.choice.returns import net_benefit, returns
from steelyard.bench.config import BenchConfig
from steelyard.bench.costs import REQUEST_COSTS
from steelyard.bench.frames import COSTS, REQUESTS, SUSTAINED
from steelyard.bench.quality.gains import quality
from steelyard.experiment.table.scores import Scores

MARGIN, DEAR, CHEAP, SPREAD, CHANGED = 0.01, 0.002, 0.00005, 0.2, 0.6
"""Prices of a question; and by how much a reranker changes which share of the questions."""
PER_DAY = 1000
TWINS = [DEAR, CHEAP]
BETTER = [DEAR, *[CHEAP] * 3]


@dataclass(frozen=True)
class Choice:
    """What a bench recommends: the place of a reranker, or None for the base; and of it the reason and net benefit.

    high     upper end of its net benefit a day; NaN without a value;   needed   questions that reach the margin
    """

    place: int | None
    reason: str
    high: float
    needed: int | None


def choose(values: Floats, prices: Sequence[float], value: float | None = None) -> Choice:
    """What is recommended of (1 + s, n) values, those of the base first;   value   of a success"""
    n = values.shape[1]
    config, scores = _config(len(prices), value), replace(_scores(len(prices), n), values=values[:, None])
    names = [system.name for system in config.rerankers]
    amounts = {end: list(prices) for end in ("per_query", "per_query_low", "per_query_high")}
    costs = pl.DataFrame({"system": names, "depth": 50, **amounts}).match_to_schema(
        COSTS, missing_columns="insert", integer_cast="upcast"
    )
    paid = pl.DataFrame(
        {"system": np.repeat(names, n), "depth": 50, "repetition": 1, "query_id": [*scores.query_ids] * len(names),
         "cost": np.repeat(np.array(prices), n)}
    ).match_to_schema(REQUEST_COSTS, missing_columns="insert", integer_cast="upcast")  # fmt: skip
    ceilings = Scores.of(scores.filter(systems="none").frame.with_columns(system=pl.lit("ceiling@50")))
    net = None if value is None else net_benefit(config, scores, paid, returns(config, scores, paid))
    frame = choice(
        config, scores, _requests(len(prices)), gains=quality(config.options, scores, ceilings), costs=costs,
        sustained=SUSTAINED.to_frame(), net=net,
    )  # fmt: skip
    place = frame["recommended"].arg_max() or 0
    high = np.nan if net is None else float(net.high[place])
    return Choice(place - 1 if place else None, frame["reason"][place], high, frame["needed"][place])


@cache
def _config(s: int, value: float | None) -> BenchConfig:
    systems = {"none": {}, **{f"s{i}": {"rerank": "lexical"} for i in range(s)}}
    table = {} if value is None else {"value": {"value_per_success": value, "queries_per_day": PER_DAY}}
    return BenchConfig.of({"systems": systems, "depths": [50], "margin": MARGIN, **table})


@cache
def _scores(s: int, n: int) -> Scores:
    systems = ["none", *(f"s{i}@50" for i in range(s))]
    rows = {"query_id": [f"q{i:05}" for i in range(n)] * len(systems), "system": np.repeat(systems, n)}
    return Scores.of(pl.DataFrame({**rows, "measure": "hit_rate@5", "value": 0.5}))


@cache
def _requests(s: int) -> pl.DataFrame:
    rows = [{"system": f"s{i}", "query_id": f"q{q}"} for i in range(s) for q in range(80)]
    same = {"depth": 50, "loop": "sequential", "repetition": 1, "intended_s": 0.0, "end_s": 0.01, "outcome": "ok"}
    frame = pl.DataFrame(rows).with_columns(**{name: pl.lit(value) for name, value in same.items()})
    return frame.match_to_schema(REQUESTS, missing_columns="insert", integer_cast="upcast")


def draw(rng: np.random.Generator, n: int, gains: Sequence[float]) -> Floats:
    """(1 + s, n) values of the base, and of rerankers with such gains, each of which changes its own questions."""
    base, changed = rng.beta(0.6, 1.0, n), rng.random((len(gains), n)) < CHANGED
    return np.stack([base, *(base + np.array(gains)[:, None] + changed * rng.normal(0, SPREAD, (len(gains), n)))])


def choices(
    gains: Sequence[float], prices: Sequence[float], n: int, *, draws: int, seed: int, value: float | None = None
) -> list[Choice]:
    """What so many benches of n questions recommend."""
    rng = np.random.default_rng([seed, n])
    return [choose(draw(rng, n, gains), prices, value) for _ in range(draws)]


def choice_table(draws: int, seed: int) -> Table:
    """Shares of benches, by what is true of the rerankers."""
    rows = []
    for case, gains, prices in (
        ("twins, gain .05, 40 x the price", [0.05] * 2, TWINS),
        ("twins, gain .03, 40 x the price", [0.03] * 2, TWINS),
        ("one better by 2 margins, gain .1", [0.1, *[0.08] * 3], BETTER),
        ("six that change nothing on average", [0.0] * 6, [DEAR, *[CHEAP] * 5]),
    ):
        for n in (225, 700, 3000):
            made = choices(gains, prices, n, draws=draws, seed=seed)
            places, needed = Counter(one.place for one in made), [one.needed for one in made if one.needed is not None]
            rows.append([
                case, str(n), *(percent(count / draws) for count in (places[0], places[None])),
                percent(sum(one.reason == "recommended" and one.place is not None for one in made) / draws),
                f"{np.median(needed):,.0f}" if needed else "–",
            ])  # fmt: skip
    columns = ["rerankers", "questions", "the dear one", "the base", "within the margin", "questions for the margin"]
    return Table(f"What benches recommend, with a margin of {MARGIN}", columns, rows)
