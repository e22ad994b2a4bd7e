"""What could mislead whoever reads a bench."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from steelyard.base.notes import Note
from steelyard.bench.bench import Bench
from steelyard.report.sheets.bench_cells import Row, in_order, load_text, row_name, rows_of
from steelyard.report.sheets.bench_costs import status_notes
from steelyard.report.sheets.notes import note_text
from steelyard.report.visible import single_line
from steelyard.report.words import Words

_TRUNCATED, _TIED, _LESS_JUDGED, _LITTLE = 0.05, 0.2, 0.05, 0.05
"""From which share on a reader should know: of pairs cut, of pairs tied, of labels lost, of Little's law missed."""


def care(bench: Bench, words: Words) -> Iterator[str]:
    """What could mislead: failures, lists that do not change, pairs that were cut, labels that are missing, notes."""
    yield from _failed(bench, words)
    for code, condition in _CONDITIONS.items():
        systems = [single_line(row_name(row)) for row in rows_of(bench.diagnostics.filter(condition))]
        if systems:
            yield words(f"bench.care.{code}", systems=words.listed(systems))
    odd = rows_of(in_order(bench.throughput.filter(pl.col("little_gap").abs() > _LITTLE), bench.config))
    if odd:
        yield words("bench.care.little", levels=words.listed(_by_system(odd, words)))
    if bench.folder.kind == "rerank":
        yield from status_notes(bench.costs, words)
    yield from _notes(bench, words)


def _by_system(levels: Sequence[Row], words: Words) -> list[str]:
    """Levels of load, those of a system together."""
    loads: dict[str, list[str]] = {}
    for row in levels:
        loads.setdefault(single_line(row_name(row)), []).append(load_text(row, words))
    return [
        words("bench.care.little_of", system=system, loads=words.listed(listed)) for system, listed in loads.items()
    ]


def _notes(bench: Bench, words: Words) -> Iterator[str]:
    """The first note of each kind, and how many more there are."""
    kinds: dict[str, list[Note]] = {}
    for note in map(Note.of_json, bench.folder.manifest.get("notes", ())):
        kinds.setdefault(note.code, []).append(note)
    for first, *others in kinds.values():
        more = words("bench.care.alike", n=len(others)) if others else ""
        yield words("runs.note", note=note_text(first, words)) + more


def _failed(bench: Bench, words: Words) -> Iterator[str]:
    """Requests without an answer, by system and load."""
    failed = bench.latency.group_by("system", "depth", maintain_order=True).agg(pl.col("n_censored", "n").sum())
    systems = [
        words("bench.care.failed_of", system=single_line(row_name(row)), n=row["n_censored"], total=row["n"])
        for row in rows_of(failed.filter(pl.col("n_censored") > 0))
    ]
    if systems:
        yield words("bench.care.failed", listed=words.listed(systems))


_CONDITIONS = {
    "unchanged": (pl.col("tau") == 1) & (pl.col("depth") > 1),
    "same_set": (pl.col("overlap") == 1) & (pl.col("tau") < 1) & (pl.col("depth") > pl.col("k")),
    "truncated": pl.col("truncated") > _TRUNCATED,
    "tied": pl.col("ties") > _TIED,
    "unjudged": pl.col("judged_before") - pl.col("judged_after") > _LESS_JUDGED,
    "unstable": pl.col("n_unstable") > 0,
    "repaired": pl.col("n_repaired") > 0,
}
"""What a row of the diagnostics shows that a reader should know."""
