"""Speed of evidence and pipelines: chunking, matching, span mapping, search beside the bare libraries, overhead.

    python benchmarks/pipeline.py [--rounds 3] [--markdown FILE]

Every row first checks values against the other side, or against a naive loop on a sample; then both sides take turns
and the ratio of the medians is printed.  Needs Steelyard's extras rag and faiss; inputs are made from a seed, texts
from the bundled documents.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import steelyard
from steelyard import Document, Pipeline
from steelyard.rag.stages.searching import BM25, Dense
from steelyard.text.chunks import Recursive, Sentences
from steelyard.text.matching import match_texts
from steelyard.text.spans import Spans, join

SEED = 7
N_CHUNKS, N_QUERIES, K = 100_000, 200, 10
DEMO = Path(steelyard.__file__).parent / "demo_data" / "documents"


@dataclass
class Row:
    """One line of the table."""

    work: str
    target: str
    measured: str
    holds: bool


def median(rounds: int, *sides: Callable[[], object]) -> list[float]:
    """Median seconds of each side; they take turns, after one round to warm up."""
    times: list[list[float]] = [[] for _ in sides]
    for number in range(rounds + 1):
        for side, taken in zip(sides, times, strict=True):
            start = time.perf_counter()
            side()
            if number:
                taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def bundled(language: str, n_bytes: int) -> str:
    """About so many bytes of the bundled documents of one language, again and again."""
    text = "\n\n".join(path.read_text("utf-8") for path in sorted(DEMO.glob(f"{language}-*.md")))
    return "\n\n".join([text] * (n_bytes // len(text.encode()) + 1))


def chunking(rounds: int) -> list[Row]:
    rows = []
    for chunker, target in ((Recursive(), 20.0), (Sentences(), 20.0)):
        for language, name in (("en", "English"), ("zh", "Chinese")):
            text = bundled(language, 10_000_000)
            spans = chunker.spans(text)
            shown = np.zeros(len(text), bool)
            for start, end in spans:
                shown[start:end] = True
            assert all(text[i].isspace() for i in np.flatnonzero(~shown)), "a character is in no chunk"
            (seconds,) = median(rounds, lambda chunker=chunker, text=text: chunker.spans(text))
            speed = len(text.encode()) / 1e6 / seconds
            what = f"{type(chunker).__name__.lower()} chunker with offsets, {name}"
            rows.append(Row(what, f">= {target:.0f} MB/s", f"{speed:.0f} MB/s", speed >= target))
    return rows


def words(rng: np.random.Generator, n: int) -> list[str]:
    """n words, the frequent ones as frequent as in a language."""
    return [f"w{i}" for i in np.minimum(rng.zipf(1.2, n), 50_000)]


def texts(n: int, length: int) -> list[str]:
    rng = np.random.default_rng(SEED)
    flat = words(rng, n * length)
    return [" ".join(flat[i * length : (i + 1) * length]) for i in range(n)]


def bm25(rounds: int, chunks: list[str]) -> Row:
    import bm25s

    from steelyard.text.tokens import Tokenizer

    tokenizer = Tokenizer(stem="none")
    index = BM25(stem="none")
    index.build(chunks, None)
    bare = bm25s.BM25()
    bare.index(tokenizer.many(chunks), show_progress=False)
    queries = texts(N_QUERIES, 8)
    tokens = tokenizer.many(queries)
    for query, asked in zip(queries, tokens, strict=True):
        ours = index.search(query, None, K)[1]
        theirs = bare.retrieve([asked], k=K, show_progress=False, n_threads=1).scores[0]
        assert np.allclose(ours, theirs[: len(ours)], rtol=1e-5), "scores differ"
    ours, theirs = median(
        rounds,
        lambda: [index.search(query, None, K) for query in queries],
        lambda: [bare.retrieve([asked], k=K, show_progress=False, n_threads=1) for asked in tokens],
    )
    ratio = ours / theirs
    return Row("BM25, 100,000 chunks, one question at a time / bm25s bare", "<= 1.2x", f"{ratio:.2f}x", ratio <= 1.2)


def dense(rounds: int) -> Row:
    import faiss

    rng = np.random.default_rng(SEED)
    vectors = rng.normal(size=(N_CHUNKS, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries = vectors[:: N_CHUNKS // 50][:50] + rng.normal(scale=0.02, size=(50, 384)).astype(np.float32)
    threads = min(2, os.cpu_count() or 1)
    index = Dense(backend="faiss", threads=threads)
    index.build([""] * N_CHUNKS, vectors)
    faiss.omp_set_num_threads(threads)
    bare = faiss.IndexFlatIP(384)
    bare.add(vectors)
    for query in queries:
        assert index.search("", query, K)[0].tolist() == bare.search(query[None], K)[1][0].tolist(), "order differs"
    ours, theirs = median(
        rounds,
        lambda: [index.search("", query, K) for query in queries],
        lambda: [bare.search(query[None], K) for query in queries],
    )
    ratio = ours / theirs
    what = f"dense, 100,000 x 384, {threads} threads / faiss IndexFlatIP bare"
    return Row(what, "<= 1.2x", f"{ratio:.2f}x", ratio <= 1.2)


def mapping(rounds: int) -> Row:
    rng = np.random.default_rng(SEED)
    n_docs, per_doc = 1_000, 1_000
    start = np.tile(np.arange(per_doc) * 900, n_docs)
    chunks = Spans(np.repeat(np.arange(n_docs), per_doc), start, start + 1000)
    doc, first = rng.integers(0, n_docs, 100_000), rng.integers(0, 890_000, 100_000)
    spans = Spans(doc, first, first + rng.integers(20, 2_000, 100_000))
    span, chunk = join(spans, chunks)
    for i in rng.integers(0, 100_000, 200).tolist():
        held = np.minimum(spans.end[i], chunks.end) - np.maximum(spans.start[i], chunks.start)
        assert np.array_equal(chunk[span == i], np.flatnonzero((held > 0) & (chunks.doc == spans.doc[i])))
    (seconds,) = median(rounds, lambda: join(spans, chunks))
    return Row("100,000 gold spans onto 1,000,000 chunks", "< 2 s", f"{seconds:.2f} s", seconds < 2)


def matching(rounds: int, chunks: list[str]) -> Row:
    rng = np.random.default_rng(SEED)
    chosen = rng.choice(len(chunks), 300, replace=False).tolist()
    golds = [
        chunks[row][40:640] if n % 3 else f"{chunks[row]} and more that is in no chunk" for n, row in enumerate(chosen)
    ]
    found = match_texts(golds, chunks)
    for gold in range(0, 300, 10):
        want = [i for i, chunk in enumerate(chunks) if golds[gold].strip() in chunk or chunk in golds[gold]]
        assert found.chunk[found.gold == gold].tolist() == want, "matches differ"
    (seconds,) = median(rounds, lambda: match_texts(golds, chunks))
    return Row("300 gold texts against 100,000 chunks, folding included", "< 5 s", f"{seconds:.1f} s", seconds < 5)


def overhead(chunks: list[str], n_chunks: int, stages: dict[str, object], what: str) -> Row:
    """What a run takes beside its stages: writing included, the folder's set-up too."""
    documents = [Document(f"d{i}", text) for i, text in enumerate(chunks[:n_chunks])]
    questions = [{"qid": f"q{i}", "query": query} for i, query in enumerate(texts(10_000, 6))]
    pipeline = Pipeline(documents, chunk="whole", **stages)
    pipeline.prepare()
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        made = pipeline.run(questions, Path(folder) / "run")
        seconds = time.perf_counter() - start
        spent = 0.0
        n = 0
        for line in made.outputs.open(encoding="utf-8"):
            latency = json.loads(line)["latency_ms"]
            spent += sum(ms for stage, ms in latency.items() if stage != "total") / 1000
            n += 1
    assert n == len(questions)
    share = (seconds - spent) / spent
    each = f"{(seconds - spent) / n * 1e6:.0f} µs of {seconds / n * 1e6:.0f} µs a question"
    return Row(
        f"overhead of a run over its stages, 10,000 questions, {what}", "< 5%", f"{share:.1%} ({each})", share < 0.05
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    chunks = texts(N_CHUNKS, 200)
    rows = [
        *chunking(options.rounds),
        bm25(options.rounds, chunks),
        dense(options.rounds),
        mapping(options.rounds),
        matching(options.rounds, chunks),
        overhead(chunks, 100_000, {"index": "bm25"}, "BM25 over 100,000 chunks"),
        overhead(chunks, 5_000, {"index": ["bm25", "dense"], "rerank": "lexical"},
                 "BM25 + LSA + lexical rerank over 5,000 chunks"),
        overhead(chunks, 5_000, {"index": "bm25"}, "BM25 over 5,000 chunks"),
    ]  # fmt: skip
    lines = ["| work | target | measured |", "|---|---:|---:|"]
    lines += [f"| {row.work} | {row.target} | {row.measured}{'' if row.holds else ' (missed)'} |" for row in rows]
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("bm25s", "faiss-cpu", "numpy", "polars")
    )
    lines += [
        "",
        f"Medians of {options.rounds} rounds on {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}, {versions}.",
    ]
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if options.markdown:
        options.markdown.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
