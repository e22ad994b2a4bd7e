"""What a report contains, before it is put into words: the same for terminal, HTML, Markdown and charts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self, Unpack

import numpy as np

from steelyard.base import defaults
from steelyard.base.machine import named_time
from steelyard.base.notes import Note
from steelyard.base.options import (
    CompareOptions,
    DiagnoseOptions,
    ReportKeywords,
    ReportOptions,
    WeighOptions,
    check_names,
    with_options,
)
from steelyard.comparison.comparison import compare_scores
from steelyard.comparison.result import Comparison
from steelyard.comparison.sensitivity import Sensitivity, sensitivity
from steelyard.diagnosis.diagnosing import Diagnosis, diagnose_weighing
from steelyard.experiment.door.evaluation import counting, weighed
from steelyard.experiment.table.same_judge import comparable
from steelyard.experiment.table.scores import Scores
from steelyard.gates.gating import Gate, gate
from steelyard.gates.profiles import Profile, profile_of
from steelyard.gates.ratings import Rating, rate
from steelyard.gates.values import Latencies
from steelyard.measures import Measure
from steelyard.measures.aggregates import percentile
from steelyard.report.details.details import Details, Judging
from steelyard.report.details.limits import LINKED, widest_questions


@dataclass(frozen=True, eq=False, repr=False)
class Contents:
    """Scores of one or several systems, and what follows from them.

    Every part is plain data, so that a report can be made of parts that were stored, without weighing again.

    scores       by the measures that were asked for, the first the primary one
    comparison   with the baseline, or of all pairs without one; None for one system, and where no question has gold for
                 the primary measure
    sensitivity  what unjudged documents and ties could change
    ratings      against the profile;   diagnosis   where the gold was lost, ceilings, advice
    details      single questions, as a page shows them
    notes        system -> what its run folder remarks, such as empty documents; systems without remarks are left out
    gate         by the profile that was named, and against the baseline where there is a margin; None where none was
                 named, or where it judges none of the measures
    judging      system -> who judged its answers, and what came of it; of systems that have verdicts
    title        of one's own, "" for the one in the language of the report
    date         when the report was made, as 2026-11-22
    latency_ms   system -> P50 and P95 of the milliseconds of its questions, of systems whose outputs report them; a
                 question that failed counts as slower than any limit
    """

    scores: Scores
    comparison: Comparison | None
    sensitivity: Sensitivity
    profile: Profile
    ratings: Sequence[Rating]
    diagnosis: Diagnosis
    details: Details = field(repr=False)
    notes: Mapping[str, Sequence[Note]]
    latency_ms: Mapping[str, tuple[float, float]]
    gate: Gate | None
    judging: Mapping[str, Judging]
    title: str
    date: str

    @classmethod
    @with_options("report")
    def of(
        cls,
        truth: object,
        runs: object = None,
        measures: Iterable[str | Measure] | str | Measure = (),
        **options: Unpack[ReportKeywords],
    ) -> Self:
        """Compute everything.

        truth, runs   as of `evaluate`; or a Weighing of `weigh` without runs
        measures   the first is the primary one; by default those that the profile recommends, else
                   REPORT_MEASURES
        profile    what to rate by, and to judge by; without one values are rated by PROFILE, and there is no gate
        date       by default the one that SOURCE_DATE_EPOCH names, or else today's
        reranked   as of `diagnose`;   all others as of `evaluate` and `compare`
        Raises     InputError, MeasureError; MissingExtraError without SciPy where systems are compared.
        """
        check_names("report", options, ReportOptions, WeighOptions)
        weighing = weighed("report", truth, runs, WeighOptions.among(options))
        declared, counted = ReportOptions.of(options), counting(options)
        profile = profile_of(declared.profile or defaults.PROFILE)
        measures = [measures] if isinstance(measures, str | Measure) else list(measures)
        scores = weighing.scores(
            weighing.measures_or(measures or profile.measures, defaults.REPORT_MEASURES), **counted
        )
        comparison, latencies = None, weighing.latency_ms
        if len(scores.systems) > 1 and scores.primary not in scores.without_gold:
            comparison = compare_scores(scores, weighing, CompareOptions.of(vars(declared)))
        ratings = rate(scores, profile, latency_ms=latencies)
        by_baseline = comparison.baseline if comparison is not None else None
        diagnosing = DiagnoseOptions(k=declared.k, baseline=by_baseline, reranked=declared.reranked)
        diagnosis = diagnose_weighing(weighing, diagnosing, scores=scores, **counted)
        return cls(
            scores=scores,
            comparison=comparison,
            sensitivity=sensitivity(
                scores.systems, weighing.run_alignments, scores.measures, counted=~np.isnan(scores.values),
                n_runs=weighing.n_runs,
            ),
            profile=profile,
            ratings=ratings,
            diagnosis=diagnosis,
            details=Details.of(weighing, named=_named(scores, diagnosis)),
            notes={system: list(folder.notes) for system, folder in weighing.folders.items() if folder.notes},
            latency_ms={
                system: (_percentile(runs, 0.5), _percentile(runs, 0.95)) for system, runs in latencies.items()
            },
            gate=_gate(scores, profile, comparison, latencies) if declared.profile and ratings else None,
            judging={name: Judging.of(run) for name, run in weighing.answers.first_runs.items()},
            title=declared.title,
            date=_date() if declared.date is None else declared.date,
        )  # fmt: skip

    def by_mean(self, measure: int = 0) -> list[int]:
        """Places of the systems, best mean first; of equal ones the one that was named first."""
        sign = 1 if self.scores.measures[measure].definition.higher_is_better else -1
        means = sign * self.scores.reported.ranked[:, measure]
        return sorted(range(len(means)), key=lambda i: (-np.nan_to_num(means[i], nan=-np.inf), i))


def _named(scores: Scores, diagnosis: Diagnosis) -> Iterator[int]:
    """Places of the questions that advice links to, and of those on which systems differ most."""
    linked = {query_id for advice in diagnosis.advice for query_id in advice.query_ids[:LINKED]}
    yield from (q for q, query_id in enumerate(scores.query_ids) if query_id in linked)
    yield from widest_questions(scores.values[:, 0]).tolist()


def _percentile(runs: Sequence[Sequence[float]], share: float) -> float:
    """A percentile of the values of all runs."""
    values = np.concatenate([np.asarray(run, np.float64) for run in runs])
    return percentile(share).of(values[~np.isnan(values)])


def _gate(
    scores: Scores, profile: Profile, comparison: Comparison | None, latency_ms: Latencies
) -> Gate | None:  # fmt: skip
    """The profile's gate; against the baseline where a margin, or the profile, says what may be lost or must be won.

    Nothing is held against a baseline that was judged in another way.
    """
    level = next(iter(profile.levels), None)
    measured = (profile.standard_of(measure) for measure in scores.measures)
    if not any(standard is not None and level in standard.levels for standard in measured):
        return None
    has_baseline = comparison is not None and comparison.baseline is not None and all(comparable(scores))
    if comparison is None or not has_baseline or (comparison.margin is None and profile.relative is None):
        return gate(scores, profile=profile, latency_ms=latency_ms)
    return gate(
        scores, profile=profile, baseline=comparison.baseline, margin=comparison.margin, latency_ms=latency_ms,
        alpha=comparison.alpha,
    )  # fmt: skip


def _date() -> str:
    """The date that SOURCE_DATE_EPOCH names, or else today's here."""
    return (named_time() or datetime.now().astimezone()).date().isoformat()
