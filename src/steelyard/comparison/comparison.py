"""Is the difference real: systems compared with a baseline, query by query, on the questions that all of them have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np
import polars as pl

from steelyard.base import defaults
from steelyard.base.arrays import Bools
from steelyard.base.differences import differences
from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.base.options import CompareKeywords, CompareOptions, WeighOptions, check_names, with_options
from steelyard.comparison.changes import SettingsDiff, changes, settings_diff
from steelyard.comparison.drift import JudgeShifts, calibrated, check_anchors, judge_shifts, without_tests
from steelyard.comparison.labels import corrected_sample, label_corrections, with_pseudo_values
from steelyard.comparison.leaderboards import agreements
from steelyard.comparison.lucky import luck_of, tried
from steelyard.comparison.plan import Plan, plan, segment_plan
from steelyard.comparison.result import Comparison, Segmentation
from steelyard.comparison.rows import comparison_rows
from steelyard.comparison.samples import Sample, check_common, check_segments, leader, samples, with_gold
from steelyard.comparison.sensitivity import sensitivity
from steelyard.comparison.unpaired import common_questions, refuse_scores, unpaired_scores
from steelyard.data.segments import length_bounds
from steelyard.data.segments import segments as parted
from steelyard.experiment.door.evaluation import counting, weighed_or_scores
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.arrays import SHARED_GOLD
from steelyard.experiment.table.recipes import check_same_judge, first_apart, judges_differ
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure


@with_options("compare")
def compare(
    truth: object,
    runs: object = None,
    measures: Iterable[str | Measure] | str | Measure = (),
    **options: Unpack[CompareKeywords],
) -> Comparison:
    """Compare systems with a baseline, or all with all, and group those that are not shown to differ.

    truth, runs  as of `evaluate`; or a Weighing of `weigh`, or Scores, without runs; of two systems at least.  All but
                 Scores that were read from a file also show what labels and ties could change, the questions that
                 moved, and where the settings of run folders differ.  A question that a system has no value for is left
                 out for all of them
    measures     by default one alone, ndcg@10 or for gold evidence evidence_recall@5; or those of Scores.  The first
                 measure is the primary one, which decides and is tested alone; all others are secondary
    correction   is over the comparisons by the primary measure, and by itself over those by all others; Tukey's p are
                 family-wise for each measure by themselves, and never below the pair's own sign-flip p
    margin       "not worse" and "equivalent" are then tested, with the correction that the tests of difference have
                 (Holm beside Tukey)
    segments     each is compared by itself, with the baseline and by the same test (t where that is Tukey)
    unpaired     each system counts with its own questions, as Scores of two periods do that are given as truth and runs
                 ({"may": scores} names one), which may be paths of files or run folders; Welch's t, with room for
                 values that no question has shown.  The first is the baseline unless another is named
    anchors      Verdicts, or paths to them, of the two judges.  Where judges differ, what they make of anchors is taken
                 off the difference (`drift`); without enough of them the comparison is refused
    Raises       InputError; MissingExtraError without SciPy.

    >>> truth = {f"q{i}": {"d": 1} for i in range(6)}
    >>> a, b = {q: ["x", "y", "d"] for q in truth}, {q: ["d"] if q != "q5" else ["x", "d"] for q in truth}
    >>> comparison = compare(truth, {"a": a, "b": b}, "mrr")
    >>> comparison.frame.select("system", "verdict").rows()
    [('b', 'better'), ('a', 'baseline')]
    """
    check_names("compare", options, CompareOptions, WeighOptions)
    declared = CompareOptions.of(options)
    if declared.unpaired:
        scores = unpaired_scores(truth, runs, measures, WeighOptions.among(options), mixed_judges=declared.mixed_judges)
        return compare_scores(scores, scores.weighing, declared).of_scores(scores)
    refuse_scores(truth)
    evaluated = weighed_or_scores("compare", truth, runs, WeighOptions.among(options))
    weighing = evaluated if isinstance(evaluated, Weighing) else evaluated.weighing
    if isinstance(evaluated, Scores) and (weighing is None or not measures):
        scores = evaluated
    else:
        scores = weighing.scores(weighing.measures_or(measures, defaults.COMPARED_MEASURES), **counting(options))
    if weighing is None:
        _refuse({"measures": measures or None, "movers": declared.movers})
    comparison = compare_scores(scores, weighing, declared)
    if weighing is not None:
        comparison = _with_lists(comparison, weighing, scores, declared.movers)
    return comparison.of_scores(scores)


def compare_scores(scores: Scores, weighing: Weighing | None, options: CompareOptions) -> Comparison:
    """Compare the systems of scores, without what only rankings and run folders show.

    weighing   of the scores, for tags of questions and for the answers that two judges judged; None without one
    Raises     InputError; MissingExtraError without SciPy.
    """
    scores, anchors, segments, paired = with_gold(scores), options.anchors, options.segments, not options.unpaired
    whole = plan(scores, options, paired=paired)
    masks = _masks(scores, weighing, segments)
    check_common(scores, require_all=options.require_all, paired=paired)
    if not paired:
        _refuse_pairs(scores, options)
    labels = label_corrections(scores, whole)
    by_people = [] if labels is None else labels.measures
    compared = scores if labels is None else with_pseudo_values(scores, labels)
    of_all = list(samples(compared, paired=paired))
    if whole.all_pairs:
        whole = replace(whole, reference=leader(of_all[0]))
        labels = label_corrections(scores, whole)
    of_parts = [sample for name, mask in masks.items() for sample in samples(compared, name, mask, paired=paired)]
    part = segment_plan(whole, options.segment_correction, len(masks))
    by_judge = [str(measure) for measure in scores.measures if str(measure) not in by_people]
    shifts, drift = None, None
    if anchors is not None and (options.mixed_judges or not by_judge):
        what = (
            "values are compared as they were judged"
            if options.mixed_judges
            else "labels of people correct all measures"
        )
        raise InputError(f"anchors: {what}; leave out --anchors")
    if by_judge and paired and not options.mixed_judges:
        shifts = judge_shifts(_of_measures(scores, by_judge), weighing, whole, anchors)
    shifts = calibrated(shifts, options.calibration, scores, whole)
    if shifts is not None:
        _refuse_without_baseline(whole, shifts)
        _refuse_shifted_percentiles(scores)
        check_anchors(shifts, of_all, whole)
        drift = shifts.drift(of_all, whole)

    def corrected(sample: Sample) -> Sample:
        if str(sample.measure) in by_people:
            return corrected_sample(sample, scores, whole)
        if options.mixed_judges:
            return without_tests(sample, scores)
        return sample if shifts is None else shifts.removed(sample, whole)

    of_all, of_parts = ([corrected(sample) for sample in part] for part in (of_all, of_parts))
    listed = [(of_all, family) for family in whole.families]
    listed += [(of_parts, family) for family in part.families] if masks else []
    return Comparison(
        pl.concat([comparison_rows(of_family, family) for of_family, family in listed]),
        whole.baseline, whole.reference_name, scores.measures, test=whole.shown_test,
        correction=whole.correction, families=[family.family for family in whole.families],
        alpha=options.alpha, margin=options.margin, seed=options.seed, recipe=_recipe(scores, whole),
        components=scores.components, notes=scores.notes if drift or not by_judge else _notes(scores, by_judge),
        drift=drift, labels=labels,
        common=None if paired else common_questions(scores, whole.reference_name),
        luck=None if labels or drift or not paired else luck_of(of_all[0], tried(scores, options), seed=options.seed),
        agreement=agreements(of_all, whole.systems),
        segmentation=Segmentation(
            segments if isinstance(segments, str) else None, tuple(masks), test=part.shown_test,
            correction=part.correction, families=[family.family for family in part.families],
            lengths=length_bounds(weighing.questions, scores.query_ids) if weighing and segments == "length" else None,
        ) if masks else None,
    )  # fmt: skip


def _refuse_pairs(scores: Scores, options: CompareOptions) -> None:
    """Refuse options that are of pairs, and measures of answers that were judged in different ways.

    Raises   InputError
    """
    for name in ("movers", "anchors", "calibration"):
        if getattr(options, name) is not None:
            raise InputError(f"{name} is of the same questions; leave it out of a comparison without pairs")
    if not options.mixed_judges:
        check_same_judge([scores])


def _refuse_without_baseline(whole: Plan, shifts: JudgeShifts) -> None:
    """Refuse systems that were judged in different ways, where no baseline says whose judge counts.

    Raises   InputError
    """
    if whole.all_pairs:
        system, difference = next(iter(shifts.differing.items()))
        raise InputError(
            f"{whole.reference_name} and {system} were judged differently: {difference}; name the baseline "
            "whose judge counts (baseline=..., --baseline NAME)"
        )


def _refuse_shifted_percentiles(scores: Scores) -> None:
    """Refuse percentiles of measures of answers that were judged in different ways.

    Raises   InputError
    """
    for measure in scores.measures:
        if measure.share is not None and measure.definition.of_answers:
            raise InputError(
                f"{measure} is a percentile, and the answers were judged in different ways: what a judge shifts can be "
                f"taken off means alone; compare by {measure.column}, or judge all by one judge"
            )


def _recipe(scores: Scores, whole: Plan) -> dict[str, object]:
    """The recipe of the scores; of shared gold documents, with how far differences are less sure for them."""
    recipe = dict(scores.recipe)
    if SHARED_GOLD in recipe:
        d = scores.values - scores.values[whole.reference] if whole.paired else scores.values
        d = np.delete(d, whole.reference, axis=0)
        shared = scores.shared_gold
        unknown = {**recipe[SHARED_GOLD], "widening": None}
        recipe[SHARED_GOLD] = unknown if shared is None else shared.facts(d.reshape(-1, d.shape[2]))
    return recipe


def _of_measures(scores: Scores, names: Sequence[str]) -> Scores:
    return scores if len(names) == len(scores.measures) else scores.filter(measures=names)


def _notes(scores: Scores, by_judge: Sequence[str]) -> Mapping[str, Sequence[Note]]:
    """The notes of the scores; where systems were judged in different ways, that of each says so."""
    judged = _of_measures(scores, by_judge)
    apart = first_apart([judged])
    if not apart:
        return scores.notes
    (_, one), (_, other) = apart
    key, *_ = next(differences(one, other))
    note = Note("judges_differ", {"difference": judges_differ([judged]), "key": key})
    return {system: [note, *scores.notes.get(system, ())] for system in scores.systems}


def _masks(scores: Scores, weighing: Weighing | None, segments: str | Mapping[str, Bools] | None) -> dict[str, Bools]:
    """(q,) the questions of each segment; none where questions are not parted."""
    if not isinstance(segments, str):
        return check_segments(scores, segments or {})
    if weighing is None:
        raise InputError(
            f"segments by {segments} need texts and tags of questions; pass what `weigh` returns, or masks"
        )
    return parted(weighing.questions, scores.query_ids, segments)


def _with_lists(comparison: Comparison, weighing: Weighing, scores: Scores, movers: int | None) -> Comparison:
    """The comparison with what only rankings and run folders show."""
    scores = _of_measures(scores, [str(measure) for measure in comparison.measures])
    others = [row.system for row in comparison.rows[comparison.primary] if not row.is_reference]
    corrected = comparison.drift is not None or (comparison.labels is not None and comparison.labels.measures)
    apart = any(row.reason == "other judge" for row in comparison.rows[comparison.primary])
    n = int(len(others) == 1 and not corrected and not apart) if movers is None else movers
    compared = ~np.isnan(scores.values).any(axis=0, keepdims=True)
    return replace(
        comparison,
        sensitivity=sensitivity(
            scores.systems,
            weighing.run_alignments,
            scores.measures,
            counted=np.broadcast_to(compared, scores.values.shape),
            n_runs=weighing.n_runs,
        ),
        changes=changes(weighing, scores, baseline=comparison.reference, systems=others, n=n) if n else (),
        settings=_settings(weighing, comparison.reference),
    )


def _settings(weighing: Weighing, reference: str) -> SettingsDiff | None:
    """Differences between the configurations of run folders, the reference's first; None for fewer than two of them."""
    folders = dict(sorted(weighing.folders.items(), key=lambda item: item[0] != reference))
    return settings_diff(folders) if len(folders) > 1 else None


def _refuse(options: Mapping[str, object]) -> None:
    """Refuse options that only a Weighing takes."""
    for name, value in options.items():
        if value is not None:
            raise InputError(f"{name} needs rankings, and these are scores; pass what `weigh` returns, or leave it out")
