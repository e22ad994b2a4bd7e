"""How much of the differences of a comparison the judges were, as a sheet and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from steelyard.comparison.drift import Drift
from steelyard.comparison.result import Comparison
from steelyard.report.sheets.sheet import Sheet, p_text, percent, signed
from steelyard.report.sheets.verdicts import signed_ends
from steelyard.report.visible import visible
from steelyard.report.words import Words

_HEADS = ("measure", "as_judged", "shift", "interval", "without", "share", "anchors", "bound", "verdict")
_UNLIKE = 0.05
"""Of the checks of anchors."""


def drift_sheet(comparison: Comparison, words: Words) -> Sheet | None:
    """A row for each system that another judge judged than the baseline, and measure; None where one judged all."""
    drift = comparison.drift
    if drift is None:
        return None
    rows = [
        [
            row["system"], row["measure"], signed(_number(row["as_judged"]), 4), signed(_number(row["shift"]), 4),
            signed_ends(_number(row["shift_low"]), _number(row["shift_high"]), words),
            signed(_number(row["difference"]), 4), percent(row["share"]), f"{row['n_anchors']:,}",
            signed_ends(_number(row["bound_low"]), _number(row["bound_high"]), words),
            words(f"compare.drift.verdict.{row['bound_verdict'].split()[0]}"),
        ]
        for row in drift.frame.iter_rows(named=True)
    ]  # fmt: skip
    level = f"{100 * (1 - comparison.alpha):g}"
    header = [words("compare.drift.title"), *(words(f"compare.drift.head.{head}", level=level) for head in _HEADS)]
    differing = [
        words("compare.drift.differs", system=system, baseline=comparison.reference, difference=difference)
        for system, difference in drift.differing.items()
    ]
    origin = words(f"compare.drift.{'frozen' if drift.frozen else 'own'}")
    notes = [*map(visible, differing), words("compare.drift.how", baseline=comparison.reference, anchors=origin)]
    if (drift.frame["elsewhere"] > 0).any():
        notes.append(words("compare.drift.bound"))
        notes += map(visible, _likeness(drift, words))
    return Sheet(header, rows, set(), notes, n_labels=2)


def _likeness(drift: Drift, words: Words) -> Iterator[str]:
    """What the checks of anchors say of each system and measure, or that there are none."""
    for row in drift.frame.filter(pl.col("elsewhere") > 0).iter_rows(named=True):
        names = {"system": row["system"], "measure": row["measure"]}
        if row["score"] is None and row["length"] is None:
            yield words("compare.drift.unchecked", **names)
            continue
        unlike, moving = (
            [name for name in ("score", "length") if (row[f"{of}{name}"] or 1.0) <= _UNLIKE] for of in ("", "moved_")
        )
        if unlike:
            how = words.listed([words(f"compare.drift.by.{name}") for name in unlike])
            yield words("compare.drift.unlike", **names, how=how)
        else:
            p = [p_text(_number(row[name]), sign=True) for name in ("score", "length")]
            yield words("compare.drift.alike", **names, score=p[0], length=p[1])
        if moving:
            how = words.listed([words(f"compare.drift.by.{name}") for name in moving])
            yield words("compare.drift.moves", **names, how=how)


def drift_json(drift: Drift) -> dict[str, Any]:
    """All of it; null where there is no number."""
    return {"frozen": drift.frozen, "differing": dict(drift.differing), "systems": drift.frame.to_dicts()}


def _number(value: float | None) -> float:
    return np.nan if value is None else value
