"""How often an off-policy evaluation misses what another ranking really gets, and is wrong about which gets more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import numpy as np
import polars as pl
from benchmarks.simulated.tables import Table, percent

from steelyard.abtests.offpolicy.evaluating import OffPolicy, off_policy
from steelyard.base.arrays import Floats, Ints
from steelyard.traffic.logs import Logs
from steelyard.traffic.schema import ANSWERS, EVENTS, IMPRESSIONS

_START = datetime(2026, 11, 2, tzinfo=UTC)


@dataclass(frozen=True)
class World:
    """A service that turns the list of each query by a random number of places, so that propensities are known.

    n, n_users   requests, and users, who click more or less for themselves where there are fewer of them
    n_docs, k    documents of a query, and how many are shown;   rate   mean share of clicks at the first position
    spread       of the turns' probabilities: Dirichlet's parameter;   floor   the smallest of them
    is_good      whether turns are the likelier, the more their first document is clicked
    other        the other policy: each document alike, one ranking of each query by chance, or the best one
    is_equal     whether all documents are clicked alike, so that no policy is better
    """

    n: int
    n_docs: int
    k: int = 1
    rate: float = 0.05
    n_users: int | None = None
    spread: float = 0.6
    floor: float = 2e-3
    is_good: bool = False
    other: Literal["uniform", "ranking", "best"] = "uniform"
    is_equal: bool = False
    n_queries: int = 20


WORLDS: Mapping[str, World] = {
    "20 documents, 2,000 requests, 5% clicks": World(2_000, 20),
    "34 documents, 10,000 requests, 0.5% clicks": World(10_000, 34, rate=0.005),
    "the same, propensities from 0.00001 on": World(10_000, 34, rate=0.005, floor=1e-5),
    "20 documents, the log shows what is clicked": World(2_000, 20, is_good=True),
    "another ranking of 5 of 10 documents": World(2_000, 10, k=5, rate=0.2, other="ranking", floor=0.02),
    "the same, 300 users who return": World(2_000, 10, k=5, rate=0.2, n_users=300, other="ranking", floor=0.02),
    "the best ranking of 5 of 10 documents": World(2_000, 10, k=5, rate=0.2, other="best", floor=0.02),
    "5 documents, 50 requests, 40% clicks": World(50, 5, rate=0.4, spread=2.0, floor=0.05, n_queries=2),
    "20 documents, all clicked alike": World(2_000, 20, is_equal=True),
}


def simulated(world: World, rng: np.random.Generator) -> tuple[Logs, pl.DataFrame | str, float, float]:
    """A log, another policy, and what both really get a request."""
    q, n_docs, k = world.n_queries, world.n_docs, world.k
    liking = np.ones((q, n_docs)) if world.is_equal else rng.gamma(2.0, size=(q, n_docs))
    liking = np.minimum(liking / liking.mean() * world.rate, 0.8)
    turns = rng.dirichlet(np.full(n_docs, world.spread), q) * (liking if world.is_good else 1.0)
    turns = np.maximum(turns / turns.sum(axis=1, keepdims=True), world.floor)
    turns /= turns.sum(axis=1, keepdims=True)
    seen = 1 / np.arange(1, k + 1)
    query = rng.integers(q, size=world.n)
    turn = (rng.random((world.n, 1)) > turns.cumsum(axis=1)[query]).sum(axis=1).clip(0, n_docs - 1)
    docs = (turn[:, None] + np.arange(k)) % n_docs
    user = np.arange(world.n) if world.n_users is None else rng.integers(world.n_users, size=world.n)
    taste = np.ones(world.n) if world.n_users is None else rng.uniform(0.25, 1.75, world.n_users)[user]
    clicked = rng.random((world.n, k)) < np.minimum(liking[query[:, None], docs] * seen * taste[:, None], 1.0)
    logs = _logs(query, user, docs, np.repeat(turns[query, turn][:, None], k, axis=1), clicked)
    at_each = np.stack([(turns * np.roll(liking, -place, axis=1)).sum(axis=1) for place in range(k)], axis=1)
    logged = float((at_each * seen).sum(axis=1).mean())
    if world.other == "uniform":
        return logs, "uniform", float(liking.mean() * seen.sum()), logged
    order = rng.permuted(np.tile(np.arange(n_docs), (q, 1)), axis=1)[:, :k]
    if world.other == "best":
        order = np.argsort(-liking, axis=1)[:, :k]
    table = pl.DataFrame(
        {
            "query": np.repeat([f"query {number}" for number in range(q)], k), "doc_id": order.ravel().astype(str),
            "position": np.tile(np.arange(1, k + 1), q), "probability": 1.0,
        }
    )  # fmt: skip
    return logs, table, float((np.take_along_axis(liking, order, axis=1) * seen).sum(axis=1).mean()), logged


def _logs(
    query: Ints, user: Ints, docs: Ints, propensities: Floats, clicked: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
) -> Logs:
    n = len(query)
    request = pl.Series(np.arange(n)).cast(pl.String)
    frame = pl.DataFrame(
        {
            "request": request, "user": pl.Series(user).cast(pl.String), "doc_ids": docs.tolist(),
            "query": pl.Series(query).cast(pl.String), "propensities": propensities.tolist(),
        }
    )  # fmt: skip
    lists = pl.col("doc_ids").cast(pl.List(pl.String))
    frame = frame.with_columns(lists, query="query " + pl.col("query"), is_bot=pl.lit(False))
    rows, places = np.nonzero(clicked)
    events = pl.DataFrame(
        {"request": request.gather(rows), "kind": ["click"] * len(rows), "position": places.astype(np.int32) + 1}
    )
    return Logs(_whole(frame, IMPRESSIONS), _whole(events, EVENTS), pl.LazyFrame(schema=ANSWERS))


def _whole(frame: pl.DataFrame, schema: pl.Schema) -> pl.LazyFrame:
    lacking = [pl.lit(None, dtype).alias(name) for name, dtype in schema.items() if name not in frame.columns]
    return frame.with_columns(lacking).with_columns(time=pl.lit(_START)).lazy()


def off_policy_table(draws: int, seed: int) -> Table:
    """Intervals of 95% that miss the true value, and verdicts that are wrong, of those that were given."""
    rows = [_row(name, world, max(draws // 2, 1), seed) for name, world in WORLDS.items()]
    columns = ["log and policy", "effective size", "no value, or too few", "IPS misses", "SNIPS misses",
               "doubly robust misses", "wrong verdict", "right verdict"]  # fmt: skip
    return Table("What another ranking gets, from a log: 95% intervals that miss the truth", columns, rows)


def _row(name: str, world: World, draws: int, seed: int) -> list[str]:
    sizes, misses, wrong, right = list[float](), list[list[bool]](), 0, 0
    for draw in range(draws):
        logs, policy, value, logged = simulated(world, np.random.default_rng([seed, draw]))
        result = off_policy(logs, policy)
        sizes.append(result.overlap[0].effective)
        if result.verdict in ("few", "refused"):
            continue
        misses.append(missed(result, value))
        truth = "better" if value > logged + 1e-12 else "worse" if value < logged - 1e-12 else "unclear"
        wrong += result.verdict not in (truth, "unclear")
        right += result.verdict == truth
    shares = np.mean(misses, axis=0) if misses else [np.nan] * 3
    n = max(len(misses), 1)
    return [
        name, f"{np.median(sizes):,.0f}", percent(1 - len(misses) / draws), *(percent(share) for share in shares),
        percent(wrong / n), "–" if world.is_equal else percent(right / n),
    ]  # fmt: skip


def missed(result: OffPolicy, value: float) -> list[bool]:
    """Whether the interval of each estimator lies beside the true value."""
    return [not row.low <= value <= row.high for row in result.estimates[1:]]
