"""Corrections of the means of some questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.base.arrays import Ints
from steelyard.base.notes import Note
from steelyard.experiment.corrections import Correction, Corrections
from steelyard.experiment.table.arrays import ScoreArrays
from steelyard.stats.labels.prediction_powered import LEAST_OF_PART, corrected_part


def of_questions(
    corrections: Corrections, scores: ScoreArrays, places: Ints
) -> tuple[Corrections, Mapping[str, Sequence[Note]]]:
    """Corrections of the means of some questions, and what is to be said of the means that labels do not correct then.

    corrections   of all questions of the scores;   places   (p,) the questions, each once
    """
    if len(places) == len(scores.query_ids):
        return corrections, {}
    clusters = None if scores.clustering is None else scores.clustering.take(places).codes
    parts, notes = dict[str, dict[str, Correction]](), dict[str, list[Note]]()
    for system, of in corrections.items():
        for measure in (measure for measure in scores.measures if str(measure) in of):
            own, name = of[str(measure)], str(measure)
            judged = scores.values[scores.systems.index(system), scores.measures.index(measure)]
            mean = corrected_part(own.mean, judged, places, bounds=measure.definition.range, clusters=clusters)
            if mean is not None:
                parts.setdefault(system, {})[name] = replace(own, mean=mean)
            elif own.mean.counts is not None:
                n = int(own.mean.counts.labels[places].sum())
                note = Note("labels_few_of_part", {"measure": name, "n": n, "least": LEAST_OF_PART})
                notes.setdefault(system, []).append(note)
    return parts, notes
