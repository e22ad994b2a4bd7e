"""Seeded inputs of the speed benchmarks: runs and judgments with ids like those of MS MARCO passages.

python benchmarks/inputs.py [small|large]...      writes into benchmarks/data/, once
"""

from __future__ import annotations

import gzip
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import orjson
import polars as pl
from backports import zstd

DATA = Path(__file__).parent / "data"
N_PASSAGES = 8_841_823


@dataclass(frozen=True)
class Shape:
    """A collection: how many queries, documents a query, and judgments in all.

    tied      probability that a score equals the one above
    shuffled  lines in random order: within each "query", or in the whole "file"
    """

    name: str
    n_queries: int
    depth: int
    n_judgments: int
    tied: float = 0.0
    shuffled: Literal["query", "file"] | None = None

    @property
    def run(self) -> Path:
        return DATA / f"{self.name}.run"

    @property
    def qrels(self) -> Path:
        return DATA / f"{self.name}.qrels"

    def written_as(self, suffix: str) -> Path:
        """The same run in another format: gz, zst, parquet, json or jsonl."""
        return DATA / f"{self.name}.run.{suffix}"


DEEP = Shape("deep", 6_980, 1_000, 200_000)
WIDE = Shape("wide", 100_000, 10, 200_000)
HUGE = Shape("huge", 69_800, 1_000, 200_000)
TIES = Shape("ties", 6_980, 1_000, 200_000, tied=1 / 600)
HALF = Shape("half", 6_980, 1_000, 200_000, tied=1 - 0.5**0.5)
MIXED = Shape("mixed", 6_980, 1_000, 200_000, tied=1 / 600, shuffled="query")
SCATTERED = Shape("scattered", 6_980, 1_000, 200_000, tied=1 / 600, shuffled="file")
SHAPES = {"small": (DEEP, WIDE, TIES, HALF, MIXED, SCATTERED), "large": (HUGE,)}


def make(shape: Shape) -> None:
    """Write run and judgments of a shape, unless they are there."""
    DATA.mkdir(exist_ok=True)
    if shape.qrels.exists():
        return
    rng = np.random.default_rng(2026)
    queries = np.sort(rng.choice(1_102_400, shape.n_queries, replace=False))
    per_query = shape.n_judgments / shape.n_queries
    judged: list[pl.DataFrame] = []
    with shape.run.open("wb") as file:
        for chunk in np.array_split(queries, max(1, shape.n_queries * shape.depth // 1_000_000)):
            run = _run(rng, chunk, shape)
            judged.append(_judge(rng, run, chunk, per_query))
            run = run.select(
                "query_id", pl.lit("Q0").alias("Q0"), "doc_id", "rank", "score", pl.lit("bm25").alias("tag")
            )
            if shape.shuffled == "query":
                run = run[rng.permuted(np.arange(run.height).reshape(-1, shape.depth), axis=1).ravel()]
            run.write_csv(file, separator=" ", include_header=False, float_precision=4)
    if shape.shuffled == "file":
        lines = pl.read_csv(shape.run, separator="\n", has_header=False, schema={"line": pl.String}, quote_char=None)
        lines[rng.permutation(lines.height)].write_csv(shape.run, include_header=False, quote_style="never")
    pl.concat(judged).write_csv(shape.qrels, separator=" ", include_header=False)


def write_as(shape: Shape, suffix: str) -> Path:
    """The run of a shape in another format, written once."""
    path = shape.written_as(suffix)
    if path.exists():
        return path
    if suffix == "gz":
        with shape.run.open("rb") as plain, gzip.open(path, "wb", compresslevel=6) as packed:
            shutil.copyfileobj(plain, packed, 1 << 20)
    elif suffix == "zst":
        with shape.run.open("rb") as plain, zstd.open(path, "wb") as packed:
            shutil.copyfileobj(plain, packed, 1 << 20)
    elif suffix == "parquet":
        _written(shape).collect().write_parquet(path)
    else:
        _write_json(_written(shape).collect(), path, by_line=suffix == "jsonl")
    return path


def _written(shape: Shape) -> pl.LazyFrame:
    """The columns of the run's file that matter."""
    schema = dict.fromkeys(("query_id", "Q0", "doc_id", "rank", "score", "tag"), pl.String) | {"score": pl.Float64}
    rows = pl.scan_csv(shape.run, separator=" ", has_header=False, schema=schema)
    return rows.select("query_id", "doc_id", "score")


def _write_json(rows: pl.DataFrame, path: Path, *, by_line: bool) -> None:
    """{query_id: {doc_id: score}}, or a line {"qid", "retrieved": [{"id", "score"}]} for each query."""
    lists = rows.group_by("query_id", maintain_order=True).agg("doc_id", "score")
    with path.open("wb") as file:
        if by_line:
            for query, docs, scores in lists.iter_rows():
                retrieved = [{"id": doc, "score": score} for doc, score in zip(docs, scores, strict=True)]
                file.write(orjson.dumps({"qid": query, "retrieved": retrieved}) + b"\n")
        else:
            file.write(orjson.dumps({q: dict(zip(docs, scores, strict=True)) for q, docs, scores in lists.iter_rows()}))


def _run(rng: np.random.Generator, queries: np.ndarray, shape: Shape) -> pl.DataFrame:
    """Rankings whose scores survive single precision; equal scores where the shape has ties, in random order of ids."""
    n, depth = len(queries), shape.depth
    # A random start and odd steps give distinct documents without sorting.
    docs = (rng.integers(0, N_PASSAGES, (n, 1)) + np.cumsum(rng.integers(1, 8_000, (n, depth)), axis=1)) % N_PASSAGES
    steps = rng.integers(1, 300_000 // depth, (n, depth))
    if shape.tied:
        steps[rng.random(steps.shape) < shape.tied] = 0
    scores = 30 - np.cumsum(steps, axis=1) / 10_000
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
