"""Correct means of measures of answers by what people decided about some of what a judge judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.experiment.corrections import Correction, SystemCorrections
from steelyard.experiment.door.verdict_choice import RunVerdicts
from steelyard.experiment.labelled_units import LabelledUnits, SystemLabels
from steelyard.judges.people.calibration import labels_digest
from steelyard.judges.people.review import Review
from steelyard.judges.people.samples import StratifiedSample
from steelyard.measures import Measure
from steelyard.stats.labels.prediction_powered import FEWEST_FOR_TUNING, CorrectedMean, Ends, corrected_mean

MANY_UNDECIDED = 0.1
"""Share of what was drawn from which on items without a label are not taken to be like the others."""


def correct(
    specs: Sequence[Measure],
    run: RunVerdicts,
    review: Review,
    *,
    system: str,
    left_out: Bools,
    clusters: Ints | None,
    handed_in: bool = False,
) -> SystemCorrections:
    """Correct the means of a system by the labels of a review.

    specs      measures that verdicts are needed for;   run   those on the answers of the system
    left_out   (q,) questions that are in no mean;   clusters   (q,) questions that count as one
    handed_in  whether the labels were handed in for this system: they are refused where they are of other answers
    Raises     InputError for a review without a sample of the system, and for samples of other answers, if handed in.
    """
    samples = _samples(review, system)
    if not samples:
        return _none(system, review, handed_in=handed_in)
    records = [run.verdicts.records[query_id] for query_id in run.query_ids]
    labels = SystemLabels(records, run.arrays, samples, review.labels)
    digest = labels_digest({**review.labels.support, **review.labels.consensus})
    corrections, notes = dict[str, Correction](), list[Note]()
    without, not_asked = list[str](), dict[str, list[str]]()
    for spec in specs:
        units = labels.units(spec)
        if units is None:
            table = spec.definition.items
            asked = table is None or any(sample.table == table for sample in samples)
            (without if asked else not_asked.setdefault(str(table), [])).append(str(spec))
            continue
        if units.outside.any():
            notes.append(_outside(spec, units, system, handed_in=handed_in))
            continue
        correction = _correction(spec, units, len(records), left_out=left_out, clusters=clusters)
        notes += _notes(spec, units, correction)
        if not np.isnan(correction.mean.corrected.low):
            corrections[str(spec)] = replace(correction, digest=digest)
    notes += [Note("labels_of_no_table", {"measures": names, "table": table}) for table, names in not_asked.items()]
    if without:
        notes.append(Note("labels_do_not_correct", {"measures": without}))
    return SystemCorrections(corrections, notes)


def _samples(review: Review, system: str) -> Sequence[StratifiedSample]:
    """Samples of a system by its name, or of the only one that there is."""
    own = [sample for sample in review.samples if sample.system == system]
    alone = len({sample.system for sample in review.samples}) == 1
    return own or (review.samples if alone else ())


def _none(system: str, review: Review, *, handed_in: bool) -> SystemCorrections:
    names = sorted({sample.system for sample in review.samples})
    if handed_in:
        of = f"those of {', '.join(names)}" if names else "none"
        raise InputError(
            f"labels: hold {of}, and nothing that was drawn of the answers of {system} (`steelyard review sample`); "
            "labels without a random sample correct no mean"
        )
    return SystemCorrections({}, [Note("labels_of_others", {"names": names})] if len(review.labels) else [])


def _outside(spec: Measure, units: LabelledUnits, system: str, *, handed_in: bool) -> Note:
    values = {"measure": str(spec), "n": int(units.outside.sum()), "total": len(units.owner)}
    if handed_in and values["n"] == values["total"]:
        raise InputError(
            f"{system}: the labels are of other answers: {spec} has {values['total']} units to be labelled, and none "
            "of them is among those that were drawn from; draw again (`steelyard review sample`), or leave the labels "
            "out (--no-labels)"
        )
    return Note("labels_of_other_answers", values)


def _correction(
    spec: Measure, units: LabelledUnits, n_questions: int, *, left_out: Bools, clusters: Ints | None
) -> Correction:
    counted = ~left_out[units.owner]

    def corrected(people: Floats) -> CorrectedMean:
        return corrected_mean(
            units.owner[counted], units.judged[counted], people[counted], units.stratum[counted], n_questions,
            bounds=spec.definition.range, clusters=clusters,
        )  # fmt: skip

    mean = corrected(units.people)
    n_undecided = units.n_drawn - units.n_decided
    if n_undecided >= MANY_UNDECIDED * units.n_drawn and n_undecided and np.isfinite(spec.definition.range).all():
        low, high = (corrected(np.where(units.undecided, end, units.people)).corrected for end in spec.definition.range)
        mean = replace(mean, ends=Ends(low, high, n_undecided))
    return Correction(mean, units.unit, units.n_drawn, n_undecided=n_undecided)


def _notes(spec: Measure, units: LabelledUnits, correction: Correction) -> Iterator[Note]:
    n, name = correction.mean.n_labels, str(spec)
    if np.isnan(correction.mean.corrected.low):
        yield Note("labels_too_few", {"measure": name, "n": n})
    elif n < FEWEST_FOR_TUNING:
        yield Note("labels_few", {"measure": name, "n": n, "least": FEWEST_FOR_TUNING})
    if undecided := correction.n_undecided:
        values = {"measure": name, "n": undecided, "total": units.n_drawn}
        ends = correction.mean.ends
        bounds = {} if ends is None else {"low": round(ends.lowest.mean, 4), "high": round(ends.highest.mean, 4)}
        yield Note("labels_undecided_bounds" if bounds else "labels_undecided", values | bounds)
    if n and (names := list(units.unlabelled)):
        yield Note("labels_strata_merged", {"measure": name, "n": len(names), "names": names})
