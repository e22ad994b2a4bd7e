"""How much of the differences of a comparison the judges were, as a sheet and as data."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.comparison.drift import Drift
from steelyard.comparison.result import Comparison
from steelyard.report.sheets.sheet import Sheet, percent, signed
from steelyard.report.sheets.verdicts import signed_ends
from steelyard.report.visible import visible
from steelyard.report.words import Words

_HEADS = ("measure", "as_judged", "shift", "interval", "without", "share", "anchors")


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
        ]
        for row in drift.frame.iter_rows(named=True)
    ]  # fmt: skip
    level = f"{100 * (1 - comparison.alpha):g}"
    header = [words("compare.drift.title"), *(words(f"compare.drift.head.{head}", level=level) for head in _HEADS)]
    differing = [
        words("compare.drift.differs", system=system, baseline=comparison.baseline, difference=difference)
        for system, difference in drift.differing.items()
    ]
    origin = words(f"compare.drift.{'frozen' if drift.frozen else 'own'}")
    notes = [*map(visible, differing), words("compare.drift.how", baseline=comparison.baseline, anchors=origin)]
    return Sheet(header, rows, set(), notes, n_labels=2)


def drift_json(drift: Drift) -> dict[str, Any]:
    """All of it; null where there is no number."""
    return {"frozen": drift.frozen, "differing": dict(drift.differing), "systems": drift.frame.to_dicts()}


def _number(value: float | None) -> float:
    return np.nan if value is None else value
