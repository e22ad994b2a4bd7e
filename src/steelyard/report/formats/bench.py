"""A bench as text: for a terminal, in Markdown, as a LaTeX table, as CSV and JSON."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from steelyard.bench.bench import Bench
from steelyard.report.formats.blocks import blocks_markdown, blocks_terminal, escaped
from steelyard.report.formats.scores import FORMATS
from steelyard.report.formats.sheets import sheet_latex
from steelyard.report.views.bench import bench_sections, bench_summary_section
from steelyard.report.views.bench_summary import recommended_row
from steelyard.report.visible import visible
from steelyard.report.words import Words
from steelyard.report.wrapping import wrapped

FORMAT = 1
"""Of the JSON; it rises where a key is renamed or goes."""

AXES = ("quality", "diagnostics", "latency", "stages", "streaming", "token_fit", "throughput", "sustained", "ramp",
        "scalability", "costs", "returns", "choice")  # fmt: skip
"""The frames of a bench, in the order of its report."""


def bench_summary(bench: Bench, words: Words, *, width: int | None = None, colour: bool = False) -> str:
    """What `bench rerank` and `bench load` print: the recommendation and why, one row a system, and what is next."""
    section = bench_summary_section(bench, words)
    # A path with blanks is one word of a command.
    section.sheets[-1].notes.append(words("bench.summary.next", folder=shlex.quote(_short(bench.folder.path))))
    return blocks_terminal([section], width=width, colour=colour)


def _short(path: Path) -> str:
    """A path as it is typed here: relative where it is below the working directory."""
    here, whole = Path.cwd(), path.absolute()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


def bench_terminal(
    bench: Bench, words: Words, *, title: str = "", width: int | None = None, colour: bool = False
) -> str:  # fmt: skip
    """The whole bench for a terminal of so many columns, None for as many as it takes."""
    head = "\n".join(wrapped(visible(title or bench_title(bench, words)), width))
    return f"{head}\n\n{blocks_terminal(bench_sections(bench, words), width=width, colour=colour)}"


def bench_markdown(bench: Bench, words: Words, *, title: str = "") -> str:
    """The whole bench with headings, for a wiki or an issue."""
    return f"# {escaped(title or bench_title(bench, words))}\n\n{blocks_markdown(bench_sections(bench, words))}"


def bench_latex(bench: Bench, words: Words) -> str:
    """The table of the summary, for a paper; the caption says what is recommended."""
    section = bench_summary_section(bench, words)
    sheet = replace(section.sheets[0], notes=[section.title, *section.sheets[0].notes])
    return sheet_latex(sheet, words=words, label="bench")


def bench_csv(bench: Bench) -> str:
    """One row for each system, query and measure, times, tokens and cost among them; the same in every language."""
    return FORMATS["csv"](bench.scores, per_query=True)


def bench_json(bench: Bench) -> str:
    """Every axis in full precision; null where there is no number, or no end of an interval."""
    row = recommended_row(bench)
    content = {
        "format": FORMAT, "kind": bench.folder.kind, "name": bench.config.name, "config": bench.config.resolved(),
        "manifest": dict(bench.folder.manifest),
        "recommended": None if row is None else {"system": row["system"], "depth": row["depth"]},
        **{axis: _rows(getattr(bench, axis)) for axis in AXES},
    }  # fmt: skip
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False, default=str) + "\n"


def _rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return [{name: _finite(value) for name, value in row.items()} for row in frame.to_dicts()]


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def bench_title(bench: Bench, words: Words) -> str:
    """What the report of a bench is called."""
    return words(f"bench.title.{bench.folder.kind}", name=bench.config.name)
