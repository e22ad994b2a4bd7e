"""Means and differences that labels of people correct, beside those of the judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.experiment.corrections import Correction
from steelyard.experiment.table.scores import Scores
from steelyard.reports.views.numbers import ends, number, signed
from steelyard.reports.views.view import Sheet
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words, read_words

if TYPE_CHECKING:  # A table of means needs no comparison, which takes a moment to import.
    from steelyard.comparison.labels import LabelCorrections
    from steelyard.comparison.result import Comparison

_NAMED = 4
_ADDS = 1.05
"""So many times as much as the labels alone is not nothing."""


def corrected_sheet(scores: Scores, words: Words | None = None) -> Sheet | None:
    """A row for each system and measure whose mean labels correct; None where there is none.

    words   that of the locale by default
    """
    words = words or read_words()
    if not scores.corrections:
        return None
    several = len(scores.systems) > 1
    open_ = any(correction.mean.ends is not None for _, _, correction in _listed(scores))
    heads = ("measure", "judge", "people", "interval", "corrected", "interval",
             *(("undecided", "interval") if open_ else ()), "labels", "worth")  # fmt: skip
    header = [words(f"corrected.head.{name}") for name in (("system",) if several else ()) + heads]
    rows = [
        [*((system,) if several else ()), name, *_cells(mean, open_=open_)] for system, name, mean in _listed(scores)
    ]
    notes = [words("corrected.about"), *dict.fromkeys((*_methods(scores, words), *worth_notes(scores, words)))]
    return Sheet(header, rows, notes=notes, n_labels=1 + several)


def _methods(scores: Scores, words: Words) -> Iterator[str]:
    """For each mean that the judge's verdicts do not enter, how it comes about."""
    for system, name, correction in _listed(scores):
        if (method := correction.mean.method) != "verdicts":
            yield _of_system(scores, system, words(f"corrected.by_{method}", measure=name), words)


def _of_system(scores: Scores, system: str, note: str, words: Words) -> str:
    return words("scores.gold.of", systems=system, note=note) if len(scores.systems) > 1 else note


def correction_notes(scores: Scores, words: Words) -> Iterator[str]:
    """Which means labels correct, and where people decided about some systems alone; nothing without labels."""
    corrected = scores.reported.corrected
    for j, measure in enumerate(map(str, scores.measures)):
        systems = [system for system, own in zip(scores.systems, corrected[:, j].tolist(), strict=True) if not own]
        if not systems:
            yield words("scores.corrected", measure=measure)
        elif corrected[:, j].any():
            yield words(
                "scores.partly_corrected", measure=measure, n=len(systems), systems=words.together(systems, _NAMED)
            )


def worth_notes(scores: Scores, words: Words) -> Iterator[str]:
    """For each mean that labels correct, how many labels without a judge would do as well."""
    for system, name, correction in _listed(scores):
        mean = correction.mean
        if np.isnan(mean.worth):
            continue
        key = "worth" if mean.worth >= _ADDS * mean.n_labels else "worth_nothing"
        text = words(f"corrected.{key}.{correction.unit}", measure=name, n=mean.n_labels, worth=_whole(mean.worth))
        yield _of_system(scores, system, text, words)


def _listed(scores: Scores) -> Iterator[tuple[str, str, Correction]]:
    """System, measure and correction, in the order of the scores."""
    for system in scores.systems:
        for name, correction in scores.corrections.get(system, {}).items():
            yield system, name, correction


def _cells(correction: Correction, *, open_: bool) -> list[str]:
    """Numbers of a mean;   open_   with those where units without a label are at either end, a dash where few are."""
    mean, extremes = correction.mean, ["–", "–"] * open_
    if mean.ends is not None:
        extremes = [ends(mean.ends.lowest.mean, mean.ends.highest.mean, 4), ends(*mean.interval)]
    worth = "–" if np.isnan(mean.worth) else _whole(mean.worth)
    return [
        number(mean.judge), number(mean.people.mean), ends(mean.people.low, mean.people.high),
        number(mean.corrected.mean), ends(mean.corrected.low, mean.corrected.high), *extremes,
        f"{mean.n_labels:,}", worth,
    ]  # fmt: skip


def _whole(worth: float) -> str:
    return f"{int(worth):,}"


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
            for row in rows
            if row["as_judged"] is not None
        ]
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
