"""`steelyard review pool`."""

from __future__ import annotations

from pathlib import Path

from steelyard.base.choices import PoolKind, Unit
from steelyard.cli.reviewing import text_of
from steelyard.cli.terminal import write_result
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.reports.pooling import pool_review
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format
from steelyard.reviewing.pools import PooledReview


def run(
    questions: str, sources: list[str], *, output: Path, into: Path, kind: PoolKind, n: int | None, scale: str,
    depth: int, unit: Unit, corpus: str | None, adjudicate: bool, title: str, instructions: Path | None,
    format: str | None, seed: int, lang: str | None,
) -> None:  # fmt: skip
    """Draw, write the form, and say what it asks."""
    words, format = read_words(lang), chosen_format(PooledReview, None, format)
    refuse_overwriting(into, [questions, *run_paths(sources)])
    pooled = pool_review(
        questions, sources, output, into, kind=kind, n=n, scale=scale, depth=depth, unit=unit, corpus=corpus,
        adjudicate=adjudicate, seed=seed, title=title, instructions=text_of(instructions), lang=words.code,
    )  # fmt: skip
    write_result(pooled, format, None, lang=words.code)
