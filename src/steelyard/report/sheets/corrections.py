"""Means that labels of people correct: by the judge, by people alone, by both, and what that is worth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.experiment.corrections import Correction
from steelyard.experiment.scores import Scores
from steelyard.report.sheets.sheet import Sheet, ends, number
from steelyard.report.words import Words, read_words

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
    heads = ("measure", "judge", "people", "interval", "corrected", "interval", "labels", "worth")
    header = [words(f"corrected.head.{name}") for name in (("system",) if several else ()) + heads]
    rows = [[*((system,) if several else ()), name, *_cells(mean)] for system, name, mean in _listed(scores)]
    notes = [words("corrected.about"), *dict.fromkeys(worth_notes(scores, words))]
    return Sheet(header, rows, notes=notes, n_labels=1 + several)


def worth_notes(scores: Scores, words: Words) -> Iterator[str]:
    """For each mean that labels correct, how many labels without a judge would do as well."""
    for system, name, correction in _listed(scores):
        mean = correction.mean
        if np.isnan(mean.worth):
            continue
        key = "worth" if mean.worth >= _ADDS * mean.n_labels else "worth_nothing"
        text = words(f"corrected.{key}.{correction.unit}", measure=name, n=mean.n_labels, worth=_whole(mean.worth))
        yield words("scores.gold.of", systems=system, note=text) if len(scores.systems) > 1 else text


def _listed(scores: Scores) -> Iterator[tuple[str, str, Correction]]:
    """System, measure and correction, in the order of the scores."""
    for system in scores.systems:
        for name, correction in scores.corrections.get(system, {}).items():
            yield system, name, correction


def _cells(correction: Correction) -> list[str]:
    mean = correction.mean
    worth = "–" if np.isnan(mean.worth) else _whole(mean.worth)
    return [
        number(mean.judge), number(mean.people.mean), ends(mean.people.low, mean.people.high),
        number(mean.corrected.mean), ends(mean.corrected.low, mean.corrected.high), f"{mean.n_labels:,}", worth,
    ]  # fmt: skip


def _whole(worth: float) -> str:
    return f"{int(worth):,}"
