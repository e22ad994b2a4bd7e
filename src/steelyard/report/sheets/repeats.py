"""Notes on systems of which there are several runs: how much they differ, beside how much questions do."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from steelyard.report.sheets.sheet import ends, number
from steelyard.report.words import Words

_NO_SPREAD = 1e-12
"""Standard deviation of values that differ by rounding alone."""
_SHOWN = 2
"""Of so many measures, the first ones; the others are in JSON."""


def component_notes(components: pl.DataFrame, words: Words) -> Iterator[str]:
    """One note a system whose runs differ, one for all those whose runs are alike, and what all have in common.

    components   as of `Scores.components`
    """
    differ = (pl.col("sd_runs").fill_null(0.0) > _NO_SPREAD).any().over("system")
    alike = components.filter(~differ).unique("system", maintain_order=True)
    for (n,), rows in alike.group_by("n_runs", maintain_order=True):
        systems = words.listed(rows["system"].to_list())
        measures = words.listed(components["measure"].unique(maintain_order=True).to_list())
        yield words("scores.repeats.alike", systems=systems, n=n, measures=measures)
    components = components.filter(differ)
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
