"""The configuration of a bench, what it names, the folder that comes of it, and the commands that read them."""

from __future__ import annotations

import json
from pathlib import Path

from steelyard.bench.run.rerankers import bench_rerankers
from tests.bench.run.test_rerankers import bench_config
from tests.fuzz.target import Target

CONFIG = """\
name = "small"
truth = "bench-in/qrels.txt"
candidates = "bench-in/bm25.run"
documents = "bench-in/corpus.jsonl"
exclude = "bench-in/exclude.jsonl"
depths = [3, 6]
repetitions = 2
warm_up = 1
margin = 0.02
[systems.none]
[systems.words]
rerank = "lexical"
price = "words"
[systems."对"]
rerank = { kind = "lexical", pairs = 1.0 }
price = { per_1m_tokens = 0.05, currency = "USD", date = 2026-01-01, source = "https://example.com" }
[prices.words]
per_query = 0.001
[load]
rates = [4, 8]
slo = { p95 = "500ms" }
[value]
value_per_success = 0.01
queries_per_day = 100_000
"""


def bench_targets(folder: Path) -> list[Target]:
    """Everything that a bench reads, and everything that it writes."""
    bench_config(folder / "bench-in")
    (folder / "bench-in" / "exclude.jsonl").write_text('{"qid": "q1", "exclude": ["d5", "d6"]}\n')
    (folder / "bench.toml").write_text(CONFIG, encoding="utf-8")
    # Without load, whose requests take as long as they are to take.
    text = CONFIG[: CONFIG.index("[load]")] + CONFIG[CONFIG.index("[value]") :]
    (folder / "unloaded.toml").write_text(text, encoding="utf-8")
    bench = bench_rerankers(folder / "unloaded.toml", folder=folder / "bench")
    assert json.loads((bench.folder.path / "manifest.json").read_text())["finished"]
    plan, on = ("bench", "rerank", "bench.toml", "--dry-run", "-o", "planned"), ("unloaded.toml", "-o", "bench")
    report = ("report", "bench")
    readers = (
        report,
        (*report, "--lang", "zh"),
        ("gate", "bench", "-p", "reranker"),
        ("bench", "rerank", *on, "--dry-run"),
    )
    read = [f"bench/{name}" for name in ("manifest.json", "config.json", "scores.json", "ceilings.json")]
    blocks = [f"bench/blocks/r1-words-3{end}.parquet" for end in ("", ".rankings")]
    inputs = [
        f"bench-in/{name}" for name in ("qrels.txt", "bm25.run", "corpus.jsonl", "queries.jsonl", "exclude.jsonl")
    ]
    return [
        *[Target("bench.toml", (plan, (*plan, "--lang", "zh")))] * 4,
        *[Target(file, readers) for file in read],
        *[Target(file, (report, ("report", "bench", "--lang", "zh"))) for file in blocks],
        *[Target(file, (plan,)) for file in inputs],
    ]
