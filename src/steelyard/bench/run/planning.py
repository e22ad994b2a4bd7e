"""What a bench takes: requests, pairs, tokens, money and time, before it is measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.choices import Prefer
from steelyard.base.errors import InputError
from steelyard.base.result import Result
from steelyard.bench.choice.choice import ALPHA_OF_TWO
from steelyard.bench.choice.returns import first_mean
from steelyard.bench.config import BenchConfig
from steelyard.bench.costs import currency_of, request_costs, system_prices
from steelyard.bench.frames import RANKINGS, REQUESTS, Option
from steelyard.bench.load.calling import estimated_tokens, estimated_usage
from steelyard.bench.load.levels import search_seconds
from steelyard.bench.load.served import Request
from steelyard.bench.run.preparing import BenchWork, prepare_bench
from steelyard.experiment.table.scores import Scores
from steelyard.services.announcements import Usage
from steelyard.services.prices import Budget

_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "system": pl.String, "depth": pl.Int64, "loop": pl.String, "requests": pl.Int64, "pairs": pl.Int64,
    "tokens": pl.Int64, "cost": pl.Float64, "seconds": pl.Float64,
}  # fmt: skip
PLAN = pl.Schema(_COLUMNS)
"""A row for each reranker, depth and loop.

loop       "sequential", "open", "closed", or "search": for the sustained rate
requests   that are still to be sent, warming up included; null for users who ask as fast as they are answered, and
           for the search, which depends on what is measured
pairs, tokens, cost   of these requests: tokens are estimates, and cost is null where no price is known before
seconds    that load is put on; of the search, with the most probes, all at the lowest rate that [load] names, or one a
           second; of requests one after the other, by the time of a first answer, null before there is one

A first answer has tokens, as far as the server counts them, and a time; those of other questions are in proportion to
the estimates of their tokens.
"""


_SHARES = (0.25, 1.0)
"""How much two rerankers of the same candidates differ, beside how much questions do: simulated ones of noise .25, and
of noise .8, over the bundled questions."""
_POWER = 0.8


@dataclass(frozen=True)
class MarginPlan:
    """Questions with which one of two rerankers that are equally good is shown to be within the margin of the other.

    measure   by which;   n   questions that are there
    least     if they differ from each other by a quarter as much as questions differ, as very similar ones do
    most      if they differ as much as questions do
    """

    measure: str
    margin: float
    n: int
    least: int
    most: int

    @classmethod
    def of(cls, margin: float, base: Scores) -> MarginPlan | None:
        """By the candidates as they are, which is all that there is before rerankers are asked.

        base   scores of them;   Returns   None where their values do not differ
        """
        column = first_mean(base)
        values = base.values[0, column][~np.isnan(base.values[0, column])]
        spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        if not spread:
            return None
        least, most = (margin_questions(margin, share * spread) for share in _SHARES)
        return cls(str(base.measures[column]), margin, len(values), least, most)


def margin_questions(margin: float, spread: float) -> int:
    """Fewest questions that show one of two equally good rerankers to be within the margin, in 80 of 100 cases.

    spread   standard deviation of their differences, question by question

    >>> margin_questions(0.01, 0.3), margin_questions(0.01, 0.075)
    (8555, 535)
    """
    normal = NormalDist()
    errors = normal.inv_cdf(1 - ALPHA_OF_TWO) + normal.inv_cdf(_POWER)
    return math.ceil((errors * spread / margin) ** 2)


@dataclass(frozen=True, eq=False, repr=False)
class BenchPlan(Result):
    """What a bench takes.

    name       of the bench;   folder   it is written into
    n_blocks   blocks one after the other;   n_done   those of them that the folder holds already
    frame      of schema PLAN;   currency   of its costs
    callers    systems that are asked elsewhere, where what has no price may still cost something
    margin     how many questions show the margin of the configuration, or None where nothing says it
    """

    VIEW = "views.bench"

    name: str
    folder: Path
    n_blocks: int
    n_done: int
    frame: pl.DataFrame
    currency: str
    callers: Sequence[str]
    margin: MarginPlan | None

    def total(self, column: str, *, searches: bool = True) -> float | None:
        """The sum of a column of the frame; None where nothing of it is known.

        searches   whether the search for the sustained rate counts
        """
        frame = self.frame if searches else self.frame.filter(pl.col("loop") != "search")
        known = frame[column].drop_nulls().to_list()
        return sum(known) if known else None

    def refuse_above(self, budget: Budget) -> None:
        """Raise   InputError where it takes more than a budget, or nobody knows beforehand."""
        unit = self.currency if budget.unit == "usd" else "tokens"
        unpriced = [system for system in self.without_price if system in self.callers] if budget.unit == "usd" else []
        if unpriced or unit not in ("USD", "tokens"):
            fact = f"the price of {', '.join(unpriced)} is not known" if unpriced else f"prices are in {unit}"
            raise InputError(
                f"{fact}, so no budget in dollars can hold; name a price (price = {{ per_query = 0.002 }}), or a "
                "budget in tokens (500000tokens)"
            )
        if self.frame["loop"].n_unique() > 1:
            raise InputError("what [load] takes is not known before, so no budget can hold; leave one of them out")
        amount = self.total("cost" if budget.unit == "usd" else "tokens") or 0
        if amount > budget.limit:
            raise InputError(
                f"{self.name} takes about {amount:.9g}{budget.unit}, and the budget is {budget}; raise it, or ask "
                "fewer questions, systems, depths or repetitions; nothing was measured but one question to each system"
            )

    @property
    def without_price(self) -> list[str]:
        """Systems whose cost is not known."""
        sequential = self.frame.filter(loop="sequential")
        costs = sequential.group_by("system", maintain_order=True).agg(pl.col("cost").is_null().all())
        return costs.filter("cost")["system"].to_list()


def plan_bench(
    config: str | Path | Mapping[str, Any] | BenchConfig,
    *,
    folder: str | Path | None = None,
    overwrite: bool = False,
    prefer: Prefer | None = None,
) -> BenchPlan:
    """A plan of what `bench_rerankers` would take with these arguments; nobody is asked, and nothing is written."""
    work = prepare_bench(config, folder, prefer=prefer)
    return plan_work(work, set(work.writer(overwrite=overwrite).done))


def plan_work(work: BenchWork, done: set[str], answers: Mapping[str, Request] | None = None) -> BenchPlan:
    """The work that is left of a bench.

    done      names of the blocks that are on disk;   answers   of systems to a first question, by name
    """
    frame = pl.DataFrame(list(_rows(work, done, answers or {})), schema=PLAN)
    currency = currency_of(work.config, system_prices(work.config))
    callers = [name for name, reranker in work.rerankers.items() if hasattr(reranker, "concurrency")]
    margin = MarginPlan.of(work.config.margin, work.base)
    return BenchPlan(work.config.name, work.path, len(work.blocks), len(done), frame, currency, callers, margin)


def _rows(work: BenchWork, done: set[str], answers: Mapping[str, Request]) -> Iterator[dict[str, object]]:
    of_questions = _questions(work, answers)
    per_question = of_questions.group_by("system", "depth", maintain_order=True).agg(
        pl.col("pairs", "tokens", "cost", "seconds").mean()
    )
    for row in per_question.iter_rows(named=True):
        blocks = [block for block in work.blocks if block.option == Option(row["system"], row["depth"])]
        n = len(work.candidates.searched) * sum(block.name not in done for block in blocks)
        n += min(work.config.warm_up, len(work.candidates.searched)) if n else 0
        yield _row(row, "sequential", n) | {"seconds": None if row["seconds"] is None else row["seconds"] * n}
        if work.config.load is not None and row["depth"] == (work.config.load.depth or work.config.depths[-1]):
            yield from _load_rows(work.config, row)


def _load_rows(config: BenchConfig, row: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Levels of load, and the search for the sustained rate, whose levels follow from the first ones."""
    load = config.load
    assert load is not None
    seconds = load.duration + load.warm_up
    if (log := config.arrival_log) is not None:
        speeds = load.speeds or [1.0]
        lengths = [log.seconds(speed, load.log_s) for speed in speeds]
        n = round(sum(log.rate(speed) * (s + load.warm_up) for speed, s in zip(speeds, lengths, strict=True)))
        yield _row(row, "open", n) | {"seconds": sum(lengths) + load.warm_up * len(lengths)}
    if load.rates:
        n = round(sum(load.rates) * seconds)
        yield _row(row, "open", n) | {"seconds": seconds * len(load.rates)}
    if load.concurrency:
        yield _row(row, "closed", None) | {"seconds": seconds * len(load.concurrency)}
    if load.searches:
        yield _row(row, "search", None) | {"seconds": search_seconds(load)}


def _row(of_question: Mapping[str, Any], loop: str, n: int | None) -> dict[str, object]:
    """So many requests at the means of a question."""
    pairs, tokens, cost = (
        None if n is None or of_question[name] is None else of_question[name] * n
        for name in ("pairs", "tokens", "cost")
    )
    return {
        "system": of_question["system"], "depth": of_question["depth"], "loop": loop, "requests": n,
        "pairs": None if pairs is None else round(pairs), "tokens": None if tokens is None else round(tokens),
        "cost": cost, "seconds": None,
    }  # fmt: skip


def _questions(work: BenchWork, answers: Mapping[str, Request]) -> pl.DataFrame:
    """system, depth, query_id, pairs, tokens, seconds and cost of each question, asked once."""
    deepest = estimated_tokens(work.candidates, work.config.depths[-1])
    first = {
        name: _First.of(answer, estimated_usage(reranker, work.candidates, answer.query_id, deepest[answer.query_id]))
        for name, reranker in work.rerankers.items()
        if (answer := answers.get(name)) is not None
    }
    requests, rankings = list[dict[str, object]](), list[dict[str, object]]()
    for depth in work.config.depths:
        tokens = estimated_tokens(work.candidates, depth)
        for system, reranker in work.rerankers.items():
            label = {"system": system, "depth": depth, "repetition": 1}
            for query_id, counts in tokens.items():
                usage = estimated_usage(reranker, work.candidates, query_id, counts)
                usage, seconds = (usage, None) if system not in first else first[system].scaled(usage)
                requests.append({
                    **label, "query_id": query_id, "outcome": "ok", "loop": "sequential", "n_pairs": len(counts),
                    "tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out, "counted": "estimate",
                    "sent_s": None if seconds is None else 0.0, "end_s": seconds,
                })  # fmt: skip
                rankings.append({**label, "query_id": query_id, "pair_tokens": counts})
    frame = pl.DataFrame(requests, schema=REQUESTS)
    costs = request_costs(work.config, frame, pl.DataFrame(rankings, schema=RANKINGS))
    keys = ["system", "depth", "query_id"]
    return frame.select(
        *keys, pairs="n_pairs", tokens=pl.col("tokens_in") + pl.col("tokens_out"), seconds="end_s"
    ).join(costs.select(*keys, "cost"), on=keys, how="left", maintain_order="left")


@dataclass(frozen=True)
class _First:
    """What a first answer took, beside the estimate of its tokens."""

    seconds: float
    usage: Usage
    estimate: Usage

    @classmethod
    def of(cls, answer: Request, estimate: Usage) -> _First:
        counted = None if answer.served is None else answer.served.usage
        return cls(answer.end - answer.sent, counted or estimate, estimate)

    def scaled(self, estimate: Usage) -> tuple[Usage, float]:
        """Tokens and seconds of another question, in proportion to their estimates."""
        share_in = estimate.tokens_in / max(self.estimate.tokens_in, 1)
        share_out = estimate.tokens_out / self.estimate.tokens_out if self.estimate.tokens_out else share_in
        usage = Usage(round(self.usage.tokens_in * share_in), round(self.usage.tokens_out * share_out))
        return usage, self.seconds * share_in
