"""Systems judged by different judges: what the judges make of the same texts is taken off the difference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from steelyard.base.errors import InputError
from steelyard.comparison.plan import Plan
from steelyard.comparison.samples import Sample
from steelyard.experiment.door.choices import opened_verdicts
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.recipes import (
    check_same_judge,
    first_difference,
    judges_differ,
    methods,
    reads_verdicts,
)
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure
from steelyard.stats.labels.judge_shift import AnchorShift, bounded_difference, judge_shift, less_shift, without_shift
from steelyard.stats.labels.rogan_gladen import people_difference
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import MeanError, differences

if TYPE_CHECKING:
    from steelyard.judges.drift import Likeness
    from steelyard.judges.people.calibration import Calibration
    from steelyard.judges.tables.verdicts import Verdicts

LEAST_ANCHORS = 30
"""Fewer say too little of how far a judge shifts."""
MOST = 2.0
"""So many times as far as on anchors a judge may shift elsewhere, for the bound."""

LIKENESS = ("score", "length", "moved_score", "moved_length")
"""Columns of p: of anchors that are unlike the other sentences, and of verdicts that move more at some of them."""

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "measure": pl.String, "system": pl.String, "as_judged": pl.Float64, "shift": pl.Float64, "shift_low": pl.Float64,
    "shift_high": pl.Float64, "difference": pl.Float64, "share": pl.Float64, "n_anchors": pl.Int64,
    "n_questions": pl.Int64, "elsewhere": pl.Float64, "bound_low": pl.Float64, "bound_high": pl.Float64,
    "bound_verdict": pl.String, **dict.fromkeys(LIKENESS, pl.Float64),
    **dict.fromkeys(("people", "people_low", "people_high"), pl.Float64),
}  # fmt: skip
"""Columns of `Drift.frame`; see there."""


@dataclass(frozen=True, eq=False)
class Drift:
    """Share of differences that is due to judges.

    frame      one row for each measure and system that another judge judged than the baseline.  Columns:
               measure, system
               as_judged   its mean less the baseline's, each by its own judge
               shift       by how much its judge moved its mean, beside the baseline's judge, with the ends of its
                           interval at level 1 - alpha
               difference  without the shift: as the baseline's judge would have it
               share       of the difference as judged that the shift is; null where that is 0
               n_anchors, n_questions   what the shift was measured on
               elsewhere   share of what its judge decides about that is no anchor; 1 where anchors were kept for it
               bound_low, bound_high   the interval of the difference where the judge shifts elsewhere by anything from
                           0 to MOST times as far as on the anchors, corrected by Bonferroni over the family
               bound_verdict   "better" or "worse" where that interval leaves 0 out, else "no difference shown"
               score, length   p that anchors are like the other sentences; null where they are whole answers, or were
                           kept for it: then nothing is checked
               moved_score, moved_length   p that verdicts on anchors move alike at all scores, and lengths
               people, people_low, people_high   the difference that people would find, by the calibration of the
                           baseline's judge: without the shift, over sensitivity + specificity - 1, with the variances
                           of all; null without a calibration, and by measures other than the share that it is of
    differing  system -> how its judge differs from the baseline's
    frozen     whether anchors were kept for it, or are in what is compared
    """

    frame: pl.DataFrame = field(repr=False, metadata={"columns": COLUMNS})
    differing: Mapping[str, str]
    frozen: bool


@dataclass(frozen=True, eq=False)
class JudgeShifts:
    """Shifts of judges on anchors, beside the baseline's judge.

    shifts     (system, measure) -> of the q questions, or of those that were kept as anchors
    differing, frozen   as of Drift
    likeness   of the same, where anchors are sentences of what is compared
    calibration   of the baseline's judge, or None
    """

    shifts: Mapping[tuple[str, str], AnchorShift]
    differing: Mapping[str, str]
    frozen: bool = False
    likeness: Mapping[tuple[str, str], Likeness | None] = field(default_factory=dict)
    calibration: Calibration | None = None

    def removed(self, sample: Sample, plan: Plan) -> Sample:
        """The sample as the baseline's judge would have judged all systems."""
        values, errors = sample.values.copy(), dict[tuple[int, int], MeanError]()
        for i, system in enumerate(plan.systems):
            anchors = self.shifts.get((system, str(sample.measure)))
            if anchors is not None:
                pair = plan.reference, i
                errors[pair] = self._difference(anchors, sample, values[plan.reference], values[i])
                values[i] += values[plan.reference].mean() + errors[pair].mean - values[i].mean()
        return replace(sample, values=values, errors=errors) if errors else sample

    def _difference(self, anchors: AnchorShift, sample: Sample, baseline: Any, values: Any) -> MeanError:
        d = differences(baseline, values)
        if self.frozen:
            return less_shift(d, judge_shift(anchors), clusters=sample.clusters)
        inside = anchors.of(sample.common)
        if inside.n_anchors < LEAST_ANCHORS:
            return MeanError(math.nan, math.nan, -1, len(d))
        return without_shift(d, inside, clusters=sample.clusters)

    def drift(self, samples: Iterable[Sample], plan: Plan) -> Drift:
        """Share of the differences of some samples, as they were judged, that is due to judges."""
        rows = [
            self._row(sample, i, plan, anchors)
            for sample in samples
            for i, system in enumerate(plan.systems)
            if (anchors := self.shifts.get((system, str(sample.measure)))) is not None
        ]
        frame = pl.DataFrame(rows, schema=COLUMNS).with_columns(pl.col(pl.Float64).fill_nan(None))
        return Drift(frame, self.differing, self.frozen)

    def _row(self, sample: Sample, i: int, plan: Plan, anchors: AnchorShift) -> dict[str, object]:
        inside = anchors if self.frozen else anchors.of(sample.common)
        shift = judge_shift(inside, clusters=None if self.frozen else sample.clusters)
        d = differences(sample.values[plan.reference], sample.values[i])
        headline = float(d.mean())
        low, high = bounded_difference(
            d, inside, frozen=self.frozen, alpha=plan.alpha / max(plan.n_comparisons, 1), most=MOST,
            clusters=sample.clusters,
        )  # fmt: skip
        likeness = self.likeness.get((plan.systems[i], str(sample.measure)))
        half = t_quantile(1 - plan.alpha / 2, shift.df) * shift.error if shift.df >= 1 else math.nan
        return {
            "measure": str(sample.measure), "system": plan.systems[i], "as_judged": headline, "shift": shift.mean,
            "shift_low": shift.mean - half, "shift_high": shift.mean + half, "difference": headline - shift.mean,
            "share": shift.mean / headline if headline else math.nan, "n_anchors": inside.n_anchors,
            "n_questions": inside.n_questions,
            "elsewhere": 1.0 if self.frozen else max(float(1 - inside.anchored.sum() / inside.exposed.sum()), 0.0),
            "bound_low": low, "bound_high": high,
            "bound_verdict": _verdict(sample.sign, low, high), **(asdict(likeness) if likeness else {}),
            **self._of_people(anchors, sample, i, plan),
        }  # fmt: skip

    def _of_people(self, anchors: AnchorShift, sample: Sample, i: int, plan: Plan) -> dict[str, float]:
        """The difference that people would find, with its interval; empty where the calibration does not say."""
        if self.calibration is None or sample.measure.definition.name != self.calibration.measure:
            return {}
        difference = self._difference(anchors, sample, sample.values[plan.reference], sample.values[i])
        ends = people_difference(difference, *self.calibration.right, alpha=plan.alpha)
        return dict(zip(("people", "people_low", "people_high"), ends, strict=True))


def without_tests(sample: Sample, scores: Scores) -> Sample:
    """The sample as it was judged, in which systems that were judged in different ways cannot be told apart."""
    if not reads_verdicts(sample.measure):
        return sample
    how: dict[str, list[Mapping[str, Any]]] = {}
    for system, method in methods(scores):
        how.setdefault(system, []).append(method)
    errors = {
        (i, j): MeanError(float(sample.means[j] - sample.means[i]), math.nan, -1, sample.values.shape[1])
        for (i, one), (j, other) in permutations(enumerate(scores.systems), 2)
        if how.get(one) != how.get(other)
    }
    return replace(sample, errors=errors, lack="other judge") if errors else sample


def _verdict(sign: int, low: float, high: float) -> str:
    side = sign * (int(low > 0) - int(high < 0))
    return "better" if side > 0 else "worse" if side < 0 else "no difference shown"


def calibrated(shifts: JudgeShifts | None, calibration: object, scores: Scores, plan: Plan) -> JudgeShifts | None:
    """Shifts with the calibration of the baseline's judge.

    calibration   or the path of its file; None for none
    Raises        InputError for that of another judge, or another threshold, and where one judge judged all.
    """
    if calibration is None:
        return shifts
    from steelyard.judges.people.calibration import Calibration

    if shifts is None:
        raise InputError("calibration: all systems were judged in one way; leave out --calibration")
    own = calibration if isinstance(calibration, Calibration) else Calibration.read(str(calibration))
    judge = _methods(scores)[plan.reference_name]["judge"]
    own.check_judge(judge, "calibration")
    own.check_threshold(judge, plan.reference_name)
    return replace(shifts, calibration=own)


def judge_shifts(
    scores: Scores, weighing: Weighing | None, plan: Plan, anchors: tuple[object, object] | None
) -> JudgeShifts | None:
    """Shifts on anchors of judges that differ from the baseline's; None where all systems were judged in one way.

    weighing   of the scores, whose answers are anchors where they are the same; None: there are none but `anchors`
    anchors    verdicts of both judges on answers that were kept for it, or None
    Raises     InputError where judges differ and there is nothing to measure by how much.
    """
    specs = [measure for measure in scores.measures if reads_verdicts(measure)]
    if not judges_differ([scores]):
        return _of_dates(scores, specs, weighing, plan, anchors)
    if weighing is None and anchors is None:
        check_same_judge([scores])
    how = _methods(scores)
    differing = {
        system: first_difference(how[plan.reference_name], method)
        for system, method in how.items()
        if method != how[plan.reference_name]
    }
    if plan.test != "t":
        raise InputError(
            f"{judges_differ([scores])}; what is the judges' is taken off by t tests alone: leave out --test, or "
            "insist with --mixed-judges (mixed_judges=True)"
        )
    if anchors is not None:
        shifts = _frozen(specs, plan.reference_name, {system: how[system] for system in differing}, how, anchors)
        return JudgeShifts(shifts, differing, frozen=True)
    from steelyard.judges.drift import anchor_likeness, anchor_shift  # Judges take a moment to import.

    assert weighing is not None
    of_baseline = weighing.answers.verdicts_of(plan.reference_name)
    shifts = {
        (system, str(measure)): anchor_shift(
            measure, of_baseline, weighing.answers.verdicts_of(system), scores.query_ids
        )
        for system in differing
        for measure in specs
    }
    likeness = {
        (system, str(measure)): anchor_likeness(
            measure, of_baseline, weighing.answers.verdicts_of(system), scores.query_ids
        )
        for system in differing
        for measure in specs
    }
    return JudgeShifts(shifts, differing, likeness=likeness)


def _of_dates(
    scores: Scores,
    specs: Sequence[Measure],
    weighing: Weighing | None,
    plan: Plan,
    anchors: tuple[object, object] | None,
) -> JudgeShifts | None:
    """Shifts of one judge on anchors between dates; None where it says the same, or there are few of them.

    A model behind an address may change while its name stays: where its verdicts on the same texts differ, dates are
    taken for two judges.
    """
    dates = _dates(scores) if specs else {}
    first = dates.get(plan.reference_name)
    differing = {
        system: f"date is {first} and {date}" for system, date in dates.items() if first and date and date != first
    }
    if anchors is not None and not differing:
        raise InputError("anchors: all systems were judged in one way; leave out --anchors")
    if not differing or plan.test != "t":
        return None
    from steelyard.judges.drift import anchor_likeness, anchor_shift

    shifts: dict[tuple[str, str], AnchorShift] = {}
    likeness: dict[tuple[str, str], Likeness | None] = {}
    if anchors is not None:
        old, new = _dated(anchors, _methods(scores)[plan.reference_name])
        query_ids = [query_id for query_id in old.records if query_id in new.records]
        for system, measure in ((system, measure) for system in differing for measure in specs):
            before, after = (old, new) if str(first) < dates[system] else (new, old)
            shifts[system, str(measure)] = anchor_shift(measure, [before], [after], query_ids)
        return JudgeShifts(shifts, differing, frozen=True)
    if weighing is None:
        return None
    for system, measure in ((system, measure) for system in differing for measure in specs):
        of_baseline, own = (weighing.answers.verdicts_of(name) for name in (plan.reference_name, system))
        shift = anchor_shift(measure, of_baseline, own, scores.query_ids)
        common = np.asarray(~np.isnan(scores.values[:, scores.measures.index(measure)]).any(axis=0))
        if shift.shift.any() and shift.of(common).n_anchors >= LEAST_ANCHORS:
            shifts[system, str(measure)] = shift
            likeness[system, str(measure)] = anchor_likeness(measure, of_baseline, own, scores.query_ids)
    moved = {system: how for system, how in differing.items() if any(system == other for other, _ in shifts)}
    return JudgeShifts(shifts, moved, likeness=likeness) if shifts else None


def _dates(scores: Scores) -> dict[str, str]:
    """System -> when its first run was judged; empty where that is not known."""
    recipes = scores.recipe_parts.get("verdicts") or {}
    listed = {system: recipes.get(system) or [{}] for system in scores.systems}
    return {system: str(of_runs[0].get("date") or "") for system, of_runs in listed.items()}


def _dated(anchors: tuple[object, object], method: Mapping[str, Any]) -> tuple[Verdicts, Verdicts]:
    """Both, the earlier first.

    Raises   InputError for verdicts that are by another judge than the systems', or of one date.
    """
    old, new = sorted((opened_verdicts(item, "anchors") for item in anchors), key=lambda v: str(v.recipe.get("date")))
    for verdicts in (old, new):
        if verdicts.method != method:
            raise InputError(
                f"anchors: they are by another judge than the systems ({first_difference(method, verdicts.method)})"
            )
    if old.recipe.get("date") == new.recipe.get("date"):
        raise InputError("anchors: both were judged at the same time; give verdicts of both dates, OLD and NEW")
    return old, new


def _methods(scores: Scores) -> dict[str, Mapping[str, Any]]:
    """System -> how all its runs were judged.

    Raises   InputError for one whose runs were judged in different ways.
    """
    how: dict[str, Mapping[str, Any]] = {}
    for system, method in methods(scores):
        if how.setdefault(system, method) != method:
            raise InputError(
                f"{system}: its runs were judged differently: {first_difference(how[system], method)}; judge all alike "
                "(steelyard judge, --judge NAME), or insist with --mixed-judges (mixed_judges=True)"
            )
    return how


def check_anchors(shifts: JudgeShifts, samples: Sequence[Sample], plan: Plan) -> None:
    """Raise   InputError where a measure has fewer anchors than say how far a judge shifts."""
    for sample in samples:
        for system, difference in shifts.differing.items():
            anchors = shifts.shifts.get((system, str(sample.measure)))
            n = (
                LEAST_ANCHORS
                if anchors is None
                else (anchors if shifts.frozen else anchors.of(sample.common)).n_anchors
            )
            if n < LEAST_ANCHORS:
                raise InputError(
                    f"{plan.reference_name} and {system} were judged differently: {difference}; by {sample.measure} "
                    f"both judged {n} sentences or answers with the same texts, and {LEAST_ANCHORS} at least say how "
                    "far their judges are apart; judge both alike (steelyard judge, --judge NAME), give verdicts of "
                    "both judges on the same answers (--anchors OLD NEW), or insist with --mixed-judges "
                    "(mixed_judges=True)"
                )


def _frozen(
    specs: Sequence[Measure],
    baseline: str,
    differing: Mapping[str, Mapping[str, Any]],
    how: Mapping[str, Mapping[str, Any]],
    anchors: tuple[object, object],
) -> dict[tuple[str, str], AnchorShift]:
    """The shifts on anchors that were kept for it.

    Raises   InputError for verdicts that are by other judges than the systems'.
    """
    from steelyard.judges.drift import anchor_shift

    first, second = (opened_verdicts(item, "anchors") for item in anchors)
    shifts: dict[tuple[str, str], AnchorShift] = {}
    for system, method in differing.items():
        both = next(
            (
                pair
                for pair in ((first, second), (second, first))
                if [v.method for v in pair] == [how[baseline], method]
            ),
            None,
        )
        if both is None:
            raise InputError(_other_judges((first, second), (baseline, how[baseline]), (system, method)))
        query_ids = [query_id for query_id in first.records if query_id in second.records]
        for measure in specs:
            shifts[system, str(measure)] = anchor_shift(measure, [both[0]], [both[1]], query_ids)
    return shifts


def _other_judges(
    anchors: tuple[Verdicts, Verdicts], one: tuple[str, Mapping[str, Any]], other: tuple[str, Mapping[str, Any]]
) -> str:
    """Which judge of a system none of the anchors is by."""
    system, method = one if one[1] not in [verdicts.method for verdicts in anchors] else other
    odd = next((v for v in anchors if v.method not in (one[1], other[1])), anchors[1])
    where = first_difference(method, odd.method) if odd.method != method else "both are by one judge"
    return (
        f"anchors: none of them is by the judge of {system} ({where}); give verdicts on the same answers by the judges "
        f"of {one[0]} and {other[0]}"
    )
