"""Seeded inputs of the speed benchmarks: runs and judgments with ids like those of MS MARCO passages.

python benchmarks/inputs.py [small|large]...      writes into benchmarks/data/, once
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

DATA = Path(__file__).parent / "data"
N_PASSAGES = 8_841_823


@dataclass(frozen=True)
class Shape:
    """A collection: how many queries, documents a query, judgments in all, and the first query id."""

    name: str
    n_queries: int
    depth: int
    n_judgments: int

    @property
    def run(self) -> Path:
        return DATA / f"{self.name}.run"

    @property
    def qrels(self) -> Path:
        return DATA / f"{self.name}.qrels"

    @property
    def parquet(self) -> Path:
        return DATA / f"{self.name}.parquet"


DEEP = Shape("deep", 6_980, 1_000, 200_000)
WIDE = Shape("wide", 100_000, 10, 200_000)
HUGE = Shape("huge", 69_800, 1_000, 200_000)
SHAPES = {"small": (DEEP, WIDE), "large": (HUGE,)}


def make(shape: Shape) -> None:
    """Write run (text and Parquet) and judgments of a shape, unless they are there."""
    DATA.mkdir(exist_ok=True)
    if shape.qrels.exists():
        return
    rng = np.random.default_rng(2026)
    queries = np.sort(rng.choice(1_102_400, shape.n_queries, replace=False))
    per_query = shape.n_judgments / shape.n_queries
    judged: list[pl.DataFrame] = []
    with shape.run.open("wb") as file:
        for chunk in np.array_split(queries, max(1, shape.n_queries * shape.depth // 1_000_000)):
            run = _run(rng, chunk, shape.depth)
            run.select(
                "query_id", pl.lit("Q0").alias("Q0"), "doc_id", "rank", "score", pl.lit("bm25").alias("tag")
            ).write_csv(file, separator=" ", include_header=False, float_precision=4)
            judged.append(_judge(rng, run, chunk, per_query))
    if shape is not HUGE:
        schema = dict.fromkeys(("query_id", "Q0", "doc_id", "rank", "score", "tag"), pl.String) | {"score": pl.Float64}
        written = pl.scan_csv(shape.run, separator=" ", has_header=False, schema=schema)
        written.select("query_id", "doc_id", "score").collect().write_parquet(shape.parquet)
    pl.concat(judged).write_csv(shape.qrels, separator=" ", include_header=False)


def _run(rng: np.random.Generator, queries: np.ndarray, depth: int) -> pl.DataFrame:
    """Rankings without ties, whose scores survive single precision."""
    n = len(queries)
    # A random start and odd steps give distinct documents without sorting.
    docs = (rng.integers(0, N_PASSAGES, (n, 1)) + np.cumsum(rng.integers(1, 8_000, (n, depth)), axis=1)) % N_PASSAGES
    scores = 30 - np.cumsum(rng.integers(1, 300_000 // depth, (n, depth)), axis=1) / 10_000
    return pl.DataFrame(
        {
            "query_id": np.repeat(queries, depth),
            "doc_id": rng.permuted(docs, axis=1).ravel(),
            "rank": np.tile(np.arange(1, depth + 1), n),
            "score": scores.ravel(),
        }
    )


def _judge(rng: np.random.Generator, run: pl.DataFrame, queries: np.ndarray, per_query: float) -> pl.DataFrame:
    """About two thirds of the judged documents are retrieved, more of them near the top."""
    n = len(queries)
    depth = run.height // n
    counts = np.maximum(1, rng.poisson(per_query, n))
    query = np.repeat(np.arange(n), counts)
    place = (rng.random(len(query)) ** 2 * depth).astype(int)
    retrieved = run["doc_id"].to_numpy()[query * depth + place]
    doc = np.where(rng.random(len(query)) < 0.67, retrieved, rng.integers(0, N_PASSAGES, len(query)))
    labels = pl.DataFrame(
        {"query_id": queries[query], "iteration": 0, "doc_id": doc, "gain": rng.integers(0, 4, len(query))}
    )
    return labels.unique(["query_id", "doc_id"], keep="first", maintain_order=True)


if __name__ == "__main__":
    for size in sys.argv[1:] or ["small"]:
        for wanted in SHAPES[size]:
            make(wanted)
            print(f"{wanted.run}: {wanted.run.stat().st_size / 1e6:.0f} MB, {wanted.qrels}")
