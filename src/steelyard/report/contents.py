"""What a report contains, before it is put into words: the same for terminal, HTML, Markdown and charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from steelyard.base.notes import Note
from steelyard.comparison.comparison import compare
from steelyard.comparison.result import Comparison
from steelyard.comparison.sensitivity import Sensitivity, sensitivity
from steelyard.diagnosis.diagnosing import Diagnosis, diagnose
from steelyard.experiment import defaults
from steelyard.experiment.defaults import Policy
from steelyard.experiment.scores import Scores
from steelyard.experiment.weighing import Weighing
from steelyard.gates.profiles import Profile
from steelyard.gates.ratings import Rating, rate
from steelyard.measures import Measure
from steelyard.report.details.details import Details
from steelyard.stats.percentiles import percentile_interval


@dataclass(frozen=True, eq=False)
class Contents:
    """Scores of one or several systems, and what follows from them.

    Every part is plain data, so that a report can be made of parts that were stored, without weighing again.

    scores       by the measures that were asked for, the first the primary one
    comparison   with the baseline or of all pairs; None for one system
    sensitivity  what unjudged documents and ties could change
    ratings      against the profile;   diagnosis   where the gold was lost, ceilings, advice
    details      single questions, as a page shows them
    notes        system -> what its run folder remarks, such as empty documents; systems without remarks are left out
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

    @classmethod
    def of(
        cls,
        weighing: Weighing,
        measures: Iterable[str | Measure] | str | Measure = (),
        *,
        baseline: str | None = None,
        test: str | None = None,
        correction: str | None = None,
        margin: float | None = None,
        alpha: float = defaults.ALPHA,
        profile: Profile | str = defaults.PROFILE,
        k: int | None = None,
        reranked: Mapping[str, bool] | None = None,
        min_gain: float | None = None,
        missing: Policy = defaults.MISSING,
        seed: int = defaults.SEED,
    ) -> Self:
        """Compute everything.

        measures   the first is the primary one; by default those that the profile recommends, else REPORT_MEASURES
        baseline, test, correction, margin, alpha   as of `compare`
        k, reranked   as of `diagnose`
        min_gain, missing, seed   as of `evaluate`
        Raises     InputError, MeasureError; MissingExtraError without SciPy where systems are compared.
        """
        profile = Profile.read(profile) if isinstance(profile, str) else profile
        measures = [measures] if isinstance(measures, str | Measure) else list(measures)
        scores = weighing.scores(
            measures or profile.measures or defaults.REPORT_MEASURES, min_gain=min_gain, missing=missing, seed=seed
        )  # fmt: skip
        comparison, latencies = None, weighing.latency_ms
        if len(scores.systems) > 1:
            comparison = compare(
                scores, baseline=baseline, test=test, correction=correction, margin=margin, alpha=alpha, seed=seed
            )  # fmt: skip
        return cls(
            scores=scores,
            comparison=comparison,
            sensitivity=sensitivity(
                scores.systems, weighing.alignments, scores.measures, counted=~np.isnan(scores.values)
            ),
            profile=profile,
            ratings=rate(scores, profile, latency_ms=latencies),
            diagnosis=diagnose(
                weighing, k=k, scores=scores, comparison=comparison, reranked=reranked,
                min_gain=min_gain, seed=seed,
            ),
            details=Details.of(weighing),
            notes={system: list(folder.notes) for system, folder in weighing.folders.items() if folder.notes},
            latency_ms={
                system: (percentile_interval(values, 0.5).value, percentile_interval(values, 0.95).value)
                for system, values in latencies.items()
            },
        )  # fmt: skip

    def by_mean(self, measure: int = 0) -> list[int]:
        """Places of the systems, best mean first; of equal ones the one that was named first."""
        sign = 1 if self.scores.measures[measure].definition.higher_is_better else -1
        means = sign * self.scores.means[:, measure]
        return sorted(range(len(means)), key=lambda i: (-np.nan_to_num(means[i], nan=-np.inf), i))
