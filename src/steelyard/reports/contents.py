"""What a report contains, before it is put into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from steelyard.base.notes import Note
from steelyard.comparison.result import Comparison
from steelyard.comparison.sensitivity import Sensitivity
from steelyard.diagnosis.diagnosing import Diagnosis
from steelyard.experiment.table.scores import Scores
from steelyard.gates.gating import Gate
from steelyard.gates.profiles import Profile
from steelyard.gates.ratings import Rating
from steelyard.reports.details.details import Details, Judging


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

    def by_mean(self, measure: int = 0) -> list[int]:
        """Places of the systems, best mean first; of equal ones the one that was named first."""
        return self.scores.by_mean(measure)
