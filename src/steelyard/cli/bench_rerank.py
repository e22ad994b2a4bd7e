"""`steelyard bench rerank`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from steelyard.base.choices import Prefer
from steelyard.bench.run.planning import plan_bench
from steelyard.bench.run.rerankers import bench_rerankers
from steelyard.cli.benching import announce, measuring
from steelyard.cli.terminal import write_result
from steelyard.reports.words import read_words


def run(
    config: Path, *, output: Path | None, overwrite: bool, dry_run: bool, prefer: Prefer | None = None,
    budget: str | None = None,
    lang: str | None = None,
) -> None:  # fmt: skip
    """Measure rerankers, and print what comes of it; or what that would take."""
    words = read_words(lang)
    if dry_run:
        plan = plan_bench(config, folder=output, overwrite=overwrite, prefer=prefer)
        write_result(plan, "table", None, lang=words.code)
        return
    with measuring(words, "blocks") as bars:
        bench = bench_rerankers(
            config, folder=output, overwrite=overwrite, prefer=prefer, budget=budget, progress=bars,
            announce=partial(announce, words=words),
        )  # fmt: skip
    write_result(bench, "table", None, lang=words.code)
