"""Corrected means as data of a JSON file of scores, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args

import numpy as np

from steelyard.experiment.corrections import Correction
from steelyard.judges.people.samples import Drawn
from steelyard.stats.labels.prediction_powered import CorrectedMean, Ends, LabelledMean

_NUMBERS = ("mean", "low", "high", "error", "df")


def correction_json(correction: Correction) -> dict[str, Any]:
    """A correction as data; null for NaN."""
    mean = correction.mean
    return {
        "unit": correction.unit,
        "n_drawn": correction.n_drawn,
        "digest": correction.digest,
        "n_labels": mean.n_labels,
        "n_units": mean.n_units,
        "judge": _number(mean.judge),
        "people": _labelled(mean.people),
        "corrected": _labelled(mean.corrected),
        "weight": mean.weight,
        "worth": _number(mean.worth),
        "n_strata": mean.n_strata,
        "method": mean.method,
        "n_undecided": correction.n_undecided,
        **(
            {}
            if mean.ends is None
            else {"lowest": _labelled(mean.ends.lowest), "highest": _labelled(mean.ends.highest)}
        ),
    }


def correction_of(values: Mapping[str, Any], n_questions: int) -> Correction:
    """A correction from data.

    Raises   ValueError and KeyError for another shape, and for other numbers of questions.
    """
    if (unit := values["unit"]) not in get_args(Drawn):
        raise ValueError(f"labels are of {unit!r}, expected {' or '.join(get_args(Drawn))}")
    people, corrected = (_labelled_of(values[name], n_questions) for name in ("people", "corrected"))
    ends = None
    if "lowest" in values:
        lowest, highest = (_labelled_of(values[name], n_questions) for name in ("lowest", "highest"))
        ends = Ends(lowest, highest, int(values["n_undecided"]))
    mean = CorrectedMean(
        judge=_float(values["judge"]), people=people, corrected=corrected, weight=_float(values["weight"]),
        n_labels=int(values["n_labels"]), n_units=int(values["n_units"]), worth=_float(values["worth"]),
        n_strata=int(values.get("n_strata", 1)), ends=ends,
    )  # fmt: skip
    return Correction(mean, unit, int(values["n_drawn"]), str(values["digest"]), int(values.get("n_undecided", 0)))


def _labelled(mean: LabelledMean) -> dict[str, Any]:
    numbers = asdict(mean)
    return {
        **{name: _number(numbers[name]) for name in _NUMBERS},
        "values": [_number(value) for value in mean.values.tolist()],
    }


def _labelled_of(values: Mapping[str, Any], n_questions: int) -> LabelledMean:
    if len(values["values"]) != n_questions:
        raise ValueError(f"a correction has {len(values['values'])} values for {n_questions} questions")
    mean, low, high, error, df = (_float(values[name]) for name in _NUMBERS)
    pseudo = np.array([_float(value) for value in values["values"]])
    return LabelledMean(pseudo, mean=mean, low=low, high=high, error=error, df=df)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _float(value: object) -> float:
    """A number; NaN for null."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, float | int) or not math.isfinite(value):
        raise ValueError(f"a value is {value!r}, expected a number or null")
    return float(value)
