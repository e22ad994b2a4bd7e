"""Notes on measures of answers: which questions they leave out or count 0, and why."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.experiment.score_arrays import CAUSES
from steelyard.experiment.scores import Scores
from steelyard.report.words import Words


def answer_notes(scores: Scores, words: Words) -> Iterator[str]:
    """One note for all measures and systems that leave out, or count 0, the same numbers for the same causes."""
    alike: dict[tuple[str, tuple[int, ...]], dict[str, list[str]]] = {}
    for kind, i, j, counts in _counts(scores):
        systems_of = alike.setdefault((kind, counts), {})
        systems_of.setdefault(str(scores.measures[j]), []).append(scores.systems[i])
    comma = words("list.comma")
    for (kind, counts), systems_of in alike.items():
        named = [
            words("scores.cause.of", cause=words(f"scores.status.{cause}"), n=n)
            for cause, n in zip(CAUSES, counts, strict=True) if n
        ]  # fmt: skip
        by_systems: dict[tuple[str, ...], list[str]] = {}
        for measure, systems in systems_of.items():
            by_systems.setdefault(tuple(systems), []).append(measure)
        for concerned, measures in by_systems.items():
            note = words(
                f"scores.cause.{kind}", measures=comma.join(measures), n=sum(counts), total=len(scores.query_ids),
                listed=comma.join(named),
            )  # fmt: skip
            everyone = len(concerned) == len(scores.systems)
            yield note if everyone else words("scores.gold.of", systems=comma.join(concerned), note=note)


def _counts(scores: Scores) -> Iterator[tuple[str, int, int, tuple[int, ...]]]:
    """Of each system and measure how many questions each cause leaves out, and lets count 0; none without any."""
    if scores.causes is None:
        return
    absent = np.isnan(scores.values)
    for i, j in np.argwhere(scores.causes.any(axis=2) & ~scores.lacks_gold).tolist():
        for kind, places in (("left_out", absent[i, j]), ("zero", ~absent[i, j])):
            counts = np.bincount(scores.causes[i, j, places], minlength=len(CAUSES) + 1)[1:]
            if counts.any():
                yield kind, i, j, tuple(counts.tolist())
