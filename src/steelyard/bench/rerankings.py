"""What rerankers gave, question by question: scores and times of all repetitions, from the blocks of a bench."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats
from steelyard.base.errors import InputError
from steelyard.bench.candidates import Candidates
from steelyard.bench.config import BenchConfig, system_label
from steelyard.bench.requests import LATENCY_MS

OF_REQUESTS = ("truncated_pairs", "latency_ms", "tokens")
"""What each request is asked for: see `steelyard.bench.columns.COLUMNS`."""


@dataclass(frozen=True, eq=False)
class Reranking:
    """What one system gave the candidates of all questions, over one depth, in r repetitions.

    scores   query_id -> scores of the first candidates, of each repetition; questions that it failed on are absent
    failed   (r, q) questions that it failed on
    timed    (r, 3, q) values of OF_REQUESTS; NaN where there are none
    """

    label: str
    scores: Sequence[Mapping[str, Sequence[float]]]
    failed: Bools
    timed: Floats


def rerankings_of(
    config: BenchConfig, candidates: Candidates, rankings: pl.DataFrame, requests: pl.DataFrame
) -> Iterator[Reranking]:
    """One a reranker and depth that was measured, in the order of the configuration."""
    scored = rankings.partition_by("system", "depth", as_dict=True)
    timed = _timed(requests).partition_by("system", "depth", as_dict=True)
    place = {query_id: q for q, query_id in enumerate(sorted(candidates.query_ids))}
    for system in config.rerankers:
        for depth in config.depths:
            if (rows := scored.get((system.name, depth))) is not None:
                label = system_label(system.name, depth)
                yield _reranking(label, depth, candidates, rows, timed.get((system.name, depth)), place)


def _reranking(
    label: str, depth: int, candidates: Candidates, rows: pl.DataFrame, requests: pl.DataFrame | None,
    place: Mapping[str, int],
) -> Reranking:  # fmt: skip
    repetitions = sorted(rows["repetition"].unique().to_list())
    number = {repetition: r for r, repetition in enumerate(repetitions)}
    scores: list[dict[str, list[float]]] = [{} for _ in repetitions]
    failed = np.zeros((len(repetitions), len(place)), bool)
    for repetition, query_id, of_query in rows.select("repetition", "query_id", "scores").iter_rows():
        r = number[repetition]
        if of_query is None:
            failed[r, place[query_id]] = True
            continue
        if len(of_query) != len(candidates.first(query_id, depth)):
            raise InputError(
                f"{label}: gave {len(of_query)} scores for question {query_id!r}, which has "
                f"{len(candidates.first(query_id, depth))} candidates; the candidates have changed since: measure anew"
            )
        scores[r][query_id] = of_query
    timed = np.full((len(repetitions), len(OF_REQUESTS), len(place)), np.nan)
    if requests is not None:
        for repetition, query_id, *numbers in requests.select("repetition", "query_id", *OF_REQUESTS).iter_rows():
            if repetition in number and query_id in place:
                timed[number[repetition], :, place[query_id]] = numbers
    return Reranking(label, scores, failed, timed)


def _timed(requests: pl.DataFrame) -> pl.DataFrame:
    """The columns of requests that are of questions; NaN of what failed, and of what is not known."""
    answered = pl.col("outcome") == "ok"
    return requests.filter(loop="sequential").with_columns(
        truncated_pairs=_known(answered, pl.col("n_truncated") / pl.col("n_pairs")),
        latency_ms=_known(answered, LATENCY_MS),
        tokens=_known(answered, pl.col("tokens_in") + pl.col("tokens_out").fill_null(0)),
    )


def _known(answered: pl.Expr, number: pl.Expr) -> pl.Expr:
    return pl.when(answered).then(number.cast(pl.Float64)).fill_null(float("nan"))
