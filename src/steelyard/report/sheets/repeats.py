"""Notes on systems of which there are several runs: how much they differ, beside how much questions do."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from steelyard.report.sheets.sheet import ends, number
from steelyard.report.words import Words

_SHOWN = 2
"""Of so many measures, the first ones; the others are in JSON."""


def component_notes(components: pl.DataFrame, words: Words) -> Iterator[str]:
    """One note a system with several runs, and what all of them have in common.

    components   as of `Scores.components`
    """
    for (system,), rows in components.group_by("system", maintain_order=True):
        listed = [
            words(
                "scores.repeats.components", measure=row["measure"], questions=_shown(row["sd_questions"]),
                runs=_shown(row["sd_runs"]), means=ends(row["least"], row["greatest"]),
            )
            for row in rows.head(_SHOWN).iter_rows(named=True)
        ]  # fmt: skip
        yield words(
            "scores.repeats.of", system=system, n=rows["n_runs"][0], listed=words("list.semicolon").join(listed)
        )
    if len(components):
        yield words("scores.repeats.about")


def _shown(sd: float | None) -> str:
    return "–" if sd is None else number(sd)
