"""Number of labels of people for an interval of a corrected mean, and for a calibration, before anybody labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.options import PlanOptions
from steelyard.base.result import Result
from steelyard.experiment.corrections import Correction
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure
from steelyard.measures.judged_answers import owners
from steelyard.stats.labels.label_counts import (
    LabelSetting,
    called_share,
    labels_for_rates,
    supported_share,
    unexplained_variance,
)
from steelyard.stats.labels.prediction_powered import FEWEST_FOR_TUNING

LabelBasis = Literal["labels", "calibration", "named", "none"]
_FACTORS = (0.5, 0.75, 1.0, 1.5, 2.0)
_WORST = 0.5

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "width": pl.Float64, "wished": pl.Boolean, "labels": pl.Int64, "people_alone": pl.Int64, "calibration": pl.Int64,
}  # fmt: skip
"""Columns of `LabelDesign.frame`; see there."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelDesign(Result):
    """Number of labels of people by which intervals are as narrow as is wished.

    frame     one row for each width, narrowest first.  Columns:
              width, wished   of a 95% interval; whether it is the one that was asked for
              labels          fewest labels, drawn among what the judge supports and what it does not, by which the
                              interval of the corrected mean is so wide; null where labels of all are too few
              people_alone    the same without the judge
              calibration     labels by which the intervals of sensitivity and specificity are both so wide; null where
                              neither is known
    basis     of what is foreseen of the judge's errors: "labels" that people have given already, "calibration" of the
              judge, "named" by options, or "none": labels are planned as if its verdicts said nothing
    n_units, n_questions   that labels can be drawn from, and their questions; None without verdicts: very many
    narrowest  the width by labels of all units, as the questions are a sample; NaN without verdicts
    called, supported      shares that the judge calls supported, and that people are foreseen to
    sensitivity, specificity   of the judge, as foreseen; NaN where not known
    n_labels  that people have given already
    """

    VIEW = "views.label_design"

    frame: pl.DataFrame = field(repr=False)
    measure: Measure | None
    system: str | None
    width: float
    basis: LabelBasis
    n_units: int | None
    n_questions: int | None
    narrowest: float
    called: float
    supported: float
    sensitivity: float
    specificity: float
    n_labels: int = 0

    @property
    def wished(self) -> Mapping[str, Any]:
        """The row of the width that was asked for."""
        return self.frame.row(by_predicate=pl.col("wished"), named=True)


def label_design(options: PlanOptions, scores: Scores | None, weighing: Weighing | None) -> LabelDesign:
    """Plan labels of one measure of one system, or of a judge as it is named.

    scores     of the one measure, with corrections where people have labelled some; None without verdicts
    weighing   of the scores
    Raises     InputError
    """
    width = _share("labels", options.labels)
    if options.difference is not None or options.sd is not None:
        raise InputError("labels: a plan is of labels or of questions; leave out --difference and --sd, or --labels")
    if scores is None or weighing is None:
        return _named(width, options)
    spec, system = scores.measures[0], scores.systems[0]
    units = _units(spec, weighing, system)
    correction = scores.corrections.get(system, {}).get(str(spec))
    rates, basis = _rates(options, scores, system)
    called = float(np.nanmean(scores.values[0, 0]))
    supported, setting, n_labels = _pilot(scores.values[0, 0], units, (called, rates), correction, options)
    return LabelDesign(
        _frame(width, setting, supported, rates), spec, system, width,
        basis="labels" if n_labels else basis, n_units=len(units), n_questions=int(setting.n_questions),
        narrowest=setting.width(len(units)), called=called, supported=supported,
        sensitivity=rates[0], specificity=rates[1], n_labels=n_labels,
    )  # fmt: skip


def _named(width: float, options: PlanOptions) -> LabelDesign:
    rates, basis = _rates(options, None, None)
    supported = _WORST if options.supported is None else _share("supported", options.supported)
    variance = supported * (1 - supported) if basis == "none" else unexplained_variance(*rates, supported)
    setting = LabelSetting(variance)
    called = math.nan if basis == "none" else called_share(*rates, supported)
    return LabelDesign(
        _frame(width, setting, supported, rates), None, None, width, basis=basis, n_units=None, n_questions=None,
        narrowest=math.nan, called=called, supported=supported, sensitivity=rates[0], specificity=rates[1],
    )  # fmt: skip


def _units(spec: Measure, weighing: Weighing, system: str) -> Ints:
    """(u,) the question of each unit that a label may be of."""
    if spec.items is None:
        raise InputError(
            f"labels: {spec} is no mean of what people label one by one; plan another, such as faithfulness"
        )
    arrays = weighing.answers.verdicts_of(system)[0].arrays(weighing.query_ids)
    owner = owners(arrays, spec.items)
    return np.asarray(owner[(spec.undefined_reasons(arrays) == 0)[owner]])


def _pilot(
    values: Floats, owner: Ints, judge: tuple[float, tuple[float, float]], correction: Correction | None,
    options: PlanOptions,
) -> tuple[float, LabelSetting, int]:  # fmt: skip
    """The share that people support, what labels are drawn from, and how many they have given already.

    judge   the share that it calls supported, sensitivity and specificity
    """
    (called, rates), defined = judge, values[~np.isnan(values)]
    n = len(defined)
    if n < 2 or not len(owner):
        raise InputError(f"labels: {n} questions have verdicts, expected two at least, better twenty")
    share = 1 / np.bincount(owner)[owner] / n
    design = len(owner) * float(np.square(share).sum())
    mean = None if correction is None or correction.mean.n_labels < FEWEST_FOR_TUNING else correction.mean
    if options.supported is not None:
        supported = _share("supported", options.supported)
    elif mean is not None:
        supported = min(max(mean.corrected.mean, 0.0), 1.0)
    else:
        supported = called if math.isnan(rates[0]) else supported_share(*rates, called)
    most = supported * (1 - supported)
    variance, n_labels = (most if math.isnan(rates[0]) else unexplained_variance(*rates, supported)), 0
    if mean is not None and mean.corrected.residuals is not None and options.sensitivity is None:
        by_labels = mean.n_labels * float(np.square(mean.corrected.residuals).sum()) / n**2 / design
        variance, n_labels = min(by_labels, most), mean.n_labels
    by_judge = called * (1 - called)
    spread = float(np.var(defined, ddof=1)) / n * (most / by_judge if by_judge else 1.0)
    return supported, LabelSetting(variance, len(owner), n, spread, design), n_labels


def _rates(options: PlanOptions, scores: Scores | None, system: str | None) -> tuple[tuple[float, float], LabelBasis]:
    """Sensitivity and specificity of the judge, NaN where not known, and what says so."""
    sensitivity, specificity = options.sensitivity, options.specificity
    if sensitivity is not None and specificity is not None:
        rates = _share("sensitivity", sensitivity), _share("specificity", specificity)
        if sum(rates) <= 1:
            raise InputError(
                f"labels: a judge of sensitivity {rates[0]:g} and specificity {rates[1]:g} is no better than a coin; "
                "their sum is above 1"
            )
        return rates, "named"
    if sensitivity is not None or specificity is not None:
        raise InputError("labels: how often a judge is right are two shares; name both (--sensitivity, --specificity)")
    recipes: Mapping[str, Any] = {} if scores is None else scores.recipe_parts.get("verdicts") or {}
    of_runs: Sequence[Mapping[str, Any]] = recipes.get(system or "") or [{}]
    calibration = of_runs[0].get("calibration")
    if isinstance(calibration, Mapping):
        known = calibration.get("sensitivity"), calibration.get("specificity")
        if isinstance(known[0], float) and isinstance(known[1], float) and known[0] + known[1] > 1:
            return (known[0], known[1]), "calibration"
    return (math.nan, math.nan), "none"


def _frame(width: float, setting: LabelSetting, supported: float, rates: tuple[float, float]) -> pl.DataFrame:
    alone = setting.without_judge(supported)
    rows = []
    for factor in _FACTORS:
        own = width if factor == 1 else float(f"{factor * width:.12g}")
        calibration = (
            None
            if math.isnan(rates[0])
            else labels_for_rates(own, sensitivity=rates[0], specificity=rates[1], supported=supported)
        )
        if own < 1:
            rows.append((own, factor == 1, setting.needed(own), alone.needed(own), calibration))
    return pl.DataFrame(rows, COLUMNS, orient="row")


def _share(name: str, value: float | None) -> float:
    if value is None or not 0 < value < 1:
        raise InputError(f"{name} is {value}, expected a number between 0 and 1")
    return value
