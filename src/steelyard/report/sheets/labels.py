"""What labels of people correct in a comparison, as notes and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.comparison.labels import LabelCorrections
from steelyard.comparison.result import Comparison
from steelyard.report.sheets.sheet import signed
from steelyard.report.visible import single_line
from steelyard.report.words import Words


def label_correction_notes(comparison: Comparison, measure: str, words: Words) -> Iterator[str]:
    """By how many labels a measure is corrected, and what the judge alone would say; or why it is not."""
    labels = comparison.labels
    if labels is None:
        return
    rows = list(labels.frame.filter(measure=measure).iter_rows(named=True))
    if rows:
        by = [words("compare.labels.by", system=single_line(row["system"]), n=row["n_labels"]) for row in rows]
        judged = [
            words("compare.labels.judged", system=single_line(row["system"]), difference=signed(row["as_judged"], 4))
            for row in rows if row["as_judged"] is not None
        ]  # fmt: skip
        yield words("compare.labels.corrected", by=words.listed(by), judged=words.listed(judged))
        undecided = [f"{single_line(row['system'])} {row['n_undecided']:,}" for row in rows if row["n_undecided"]]
        if undecided:
            yield words("compare.labels.open", by=words.listed(undecided))
    elif systems := labels.unlabelled.get(measure):
        yield words("compare.labels.unlabelled", systems=words.listed([single_line(name) for name in systems]))
    elif measure in labels.of_t_alone:
        yield words("compare.labels.of_t_alone")


def labels_json(labels: LabelCorrections) -> dict[str, Any]:
    """All of it; null where there is no number."""
    return {
        "corrected": labels.frame.to_dicts(),
        "unlabelled": {measure: list(systems) for measure, systems in labels.unlabelled.items()},
        "of_t_alone": bool(labels.of_t_alone),
    }
