"""What reranking does to the results of a bench: quality, ceilings, and how lists change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from steelyard.report.sheets.bench_cells import difference_ends, heads, row_name, rows_of, share_ends, without_empty
from steelyard.report.sheets.sheet import Sheet, best_places, number, p_text, percent, signed
from steelyard.report.words import Words

_COUNTS = ("n_short", "n_failed", "n_unstable", "n_repaired")


def quality_sheets(quality: pl.DataFrame, base: str, words: Words) -> list[Sheet]:
    """A table for each measure, the base in its first row; the notes are below the last."""
    measures = quality["measure"].unique(maintain_order=True).to_list()
    sheets = [_quality(quality.filter(measure=measure), measure, base, words) for measure in measures]
    if sheets:
        sheets[-1].notes += list(_notes(quality, len(measures), words))
    return sheets


def _quality(quality: pl.DataFrame, measure: str, base: str, words: Words) -> Sheet:
    """Questions and base have columns where some rerankers lack a value for some questions."""
    rows = rows_of(quality)
    uneven = quality["n"].n_unique() > 1
    names = (*(("questions", "base") if uneven else ()), "mean", "difference", "interval", "p", "counts", "ceiling",
             "captured", "interval", "verdict")  # fmt: skip
    means = [None if uneven else rows[0]["base"], *(row["reranked"] for row in rows)]
    cells = [[base, *["–"] * (2 * uneven), number(means[0]), *["–"] * 7, words("bench.verdict.base")]]
    cells += [
        [row_name(row), *([f"{row['n']:,}", number(row["base"])] if uneven else []), number(row["reranked"]),
         signed(row["difference"], 4), difference_ends(row, "difference", words), p_text(row["p_corrected"]),
         f"{row['won']:,}/{row['tied']:,}/{row['lost']:,}", number(row["ceiling"]), percent(row["captured"]),
         share_ends(row, "captured", words), words(f"bench.verdict.{row['verdict']}")]
        for row in rows
    ]  # fmt: skip
    best = best_places(np.array(means, dtype=float))
    return Sheet([measure, *heads(names, words)], cells[uneven:], {(r - uneven, 1 + 2 * uneven) for r in best})


def _notes(quality: pl.DataFrame, n_measures: int, words: Words) -> Iterator[str]:
    n = quality["n"].max()
    yield words("bench.quality.family", questions=words("count.questions", n=n), family=len(quality), n=n_measures)
    yield words("bench.quality.ceiling")
    if quality["captured"].is_null().any():
        yield words("bench.quality.no_headroom")


def changes_sheet(diagnostics: pl.DataFrame, words: Words) -> Sheet:
    """What happened to the lists; counts of what is odd have a column where there is any."""
    rows = rows_of(diagnostics)
    odd = [name for name in _COUNTS if any(row[name] for row in rows)]
    names = ("first_changed", "overlap", "tau", "ties", "truncated", "judged", "could_be", *odd)
    k = rows[0]["k"] if rows else 0
    cells = [
        [row_name(row), percent(row["first_changed"]), percent(row["overlap"]), signed(row["tau"], 2),
         percent(row["ties"], 1), percent(row["truncated"], 1), _judged(row, words), _could_be(row),
         *(f"{row[name]:,}" for name in odd)]
        for row in rows
    ]  # fmt: skip
    header = heads(["system", *names], words, k=k)
    return Sheet(*without_empty(header, cells), notes=_change_notes(rows, odd, words))


def _judged(row: dict[str, Any], words: Words) -> str:
    before, after = percent(row["judged_before"]), percent(row["judged_after"])
    return "–" if row["judged_after"] is None else words("bench.from_to", before=before, after=after)


def _could_be(row: dict[str, Any]) -> str:
    return "–" if row["worst"] is None else f"{number(row['worst'], 3)}–{number(row['best'], 3)}"


def _change_notes(rows: Sequence[dict[str, Any]], odd: Sequence[str], words: Words) -> list[str]:
    notes = [words("bench.changes.tau")]
    if any(row["worst"] is not None for row in rows):
        notes.append(words("bench.changes.could_be"))
    return [*notes, *(words(f"bench.changes.{name}") for name in odd)]
