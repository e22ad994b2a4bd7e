"""Samples that are compared: of every measure and segment, the questions that all systems have a value for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.experiment.table.arrays import CAUSES, NO_GOLD, counted, is_in_time, run_values, without_relevant
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure
from steelyard.measures.aggregates import AGGREGATIONS
from steelyard.stats.intervals.percentiles import PercentileDifference, percentile_difference, unpaired_percentiles
from steelyard.stats.samples import MeanError


@dataclass(frozen=True, eq=False)
class Sample:
    """The questions of a segment that all s systems have a value of the measure for.

    segment      its name; None for all questions
    values       (s, n); without pairs, n questions that some system has a value for, NaN where another has none
    n_left_out   questions of the segment that some system has no value for; all where none of them has gold
    lacks_gold   whether that is so
    lacking      (s,) how many of those each system has no value for
    missing      (s,) how many of the n each system's run does not hold; they count as 0
    clusters     (n,) of questions that count as one; None: each by itself
    common       (q,) which questions of the scores these are
    errors       places of a reference and of another system -> mean difference of the other from the first, with error
                 and degrees of freedom, where these are not those of its values, as they are corrected; NaN where it
                 cannot be
    lack         why a difference cannot be tested: what there is too little of to correct it, or another judge
    in_time      whether clusters are seconds, numbered in time
    runs         of a percentile, (r, n) values of each system in its r runs, inf where it failed; none of means
    """

    segment: str | None
    measure: Measure
    values: Floats
    n_left_out: int
    lacking: Ints
    missing: Ints
    common: Bools
    clusters: Ints | None = None
    errors: Mapping[tuple[int, int], MeanError] = field(default_factory=dict)
    lack: Literal["few anchors", "few labels", "other judge"] = "few anchors"
    in_time: bool = False
    runs: Sequence[Floats] = ()
    lacks_gold: bool = False

    @property
    def means(self) -> Floats:
        """(s,) what the values of each system come to: their mean, or their percentile; NaN without questions."""
        of_systems = self.runs or self.values
        aggregation = self.measure.aggregation if self.runs else AGGREGATIONS["mean"]
        return np.array([aggregation.of(values[~np.isnan(values)]) for values in of_systems])

    def counts(self, i: int) -> tuple[int, int | None]:
        """Questions that a system is compared by, and the clusters they are in; None where each counts by itself."""
        own = ~np.isnan(self.values[i])
        return int(own.sum()), None if self.clusters is None else len(np.unique(self.clusters[own]))

    def difference(self, baseline: int, other: int) -> PercentileDifference:
        """Difference by which the percentile of one system is above that of another."""
        assert self.measure.share is not None
        if np.isnan(self.values).any():
            return unpaired_percentiles(
                self.runs[baseline], self.runs[other], self.measure.share, clusters=self.clusters, in_time=self.in_time
            )
        return percentile_difference(
            self.runs[baseline], self.runs[other], self.measure.share, clusters=self.clusters, in_time=self.in_time
        )

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters; None where each question counts by itself."""
        return None if self.clusters is None else len(np.unique(self.clusters))

    @property
    def sign(self) -> int:
        """1 where higher values of the measure are better, -1 where lower ones are."""
        return 1 if self.measure.definition.higher_is_better else -1


def samples(
    scores: Scores, segment: str | None = None, members: Bools | None = None, *, paired: bool = True
) -> Iterator[Sample]:
    """One sample a measure; members (q,) marks the questions of the segment, all of them by default.

    By a measure that no question of a segment has gold for, none of them is compared.

    paired   whether only questions count that all systems have a value for; else those of each system do
    """
    inside = np.ones(len(scores.query_ids), bool) if members is None else members
    bare = np.asarray(without_relevant(scores.no_relevant[:, :, inside], scores.unwinnable[:, inside]).all(axis=0))
    for j, measure in enumerate(scores.measures):
        runs = [run_values(scores, i, j) for i in range(len(scores.systems)) if measure.share is not None]
        values = np.array([of_system.mean(axis=0) for of_system in runs]) if runs else scores.values[:, j]
        has_value = ~np.isnan(values)
        common = (has_value.all(axis=0) if paired else has_value.any(axis=0)) & inside & ~bare[j]
        lacking = (~has_value & inside) if paired else np.zeros_like(has_value)
        yield Sample(
            segment, measure, values[:, common], int((inside & ~common).sum()) if paired else 0,
            lacking=lacking.sum(axis=1), missing=(scores.missing & has_value & common).sum(axis=1), common=common,
            clusters=None if scores.clustering is None else scores.clustering.codes[common],
            in_time=is_in_time(scores), runs=[of_system[:, common] for of_system in runs], lacks_gold=bool(bare[j]),
        )  # fmt: skip


def leader(sample: Sample) -> int:
    """Place of the system with the best mean; of equal ones that which was named first."""
    return int(np.argmax(np.nan_to_num(sample.sign * sample.means, nan=-np.inf, posinf=np.inf, neginf=-np.inf)))


def with_gold(scores: Scores) -> Scores:
    """The scores by measures that some question has gold for; where some are left out, notes say so.

    Raises   InputError where that is not the primary one
    """
    bare, n = [str(measure) for measure in scores.without_gold], len(scores.query_ids)
    if not bare:
        return scores
    others = [str(measure) for measure in scores.measures if str(measure) not in bare]
    if str(scores.primary) in bare:
        remedy = (
            f"name what was measured first: -m {others[0]}"
            if others
            else "add expected answers (`answer`) to the questions"
            if scores.of_answers[0]
            else "grade what was retrieved: `steelyard label QUESTIONS RUN... -o grades.jsonl`; "
            "`steelyard evaluate` says more"
        )
        raise InputError(
            f"{scores.primary}: nothing was measured, as none of the {n} questions has gold for it; {remedy}"
        )
    note = Note(f"{NO_GOLD}_compared", {"measures": bare, "total": n})
    measured = scores.filter(measures=others)
    return replace(measured, notes={name: [note, *measured.notes.get(name, ())] for name in scores.systems})


def check_common(scores: Scores, *, require_all: bool, paired: bool = True) -> None:
    """Refuse measures that no question has a value of for every system; with require_all, systems that lack questions.

    paired   else each system needs a value by itself, and none lacks the questions of others
    Raises   InputError
    """
    if require_all and not paired:
        raise InputError("require_all is of pairs: without them each system has questions of its own; leave it out")
    for j, measure in enumerate(scores.measures):
        unscored = ~counted(scores)[:, j]
        if not paired:
            if (bare := np.flatnonzero(unscored.all(axis=1))).size:
                system = scores.systems[int(bare[0])]
                raise InputError(f"{measure}: {system} has no value of any question{_causes(scores, j)}")
            continue
        if unscored.any(axis=0).all():
            why = _causes(scores, j) or (
                "; systems that were asked other questions are compared without pairs (--unpaired, unpaired=True)"
            )
            raise InputError(f"{measure}: no question has a value for every system{why}")
        lacking = scores.missing | unscored
        if require_all and lacking.any():
            rows = np.flatnonzero(lacking.any(axis=0))
            counts = zip(scores.systems, lacking.sum(axis=1).tolist(), strict=True)
            listed = ", ".join(f"{system}: {n}" for system, n in counts if n)
            raise InputError(
                f"{measure}: {len(rows)} of {len(scores.query_ids)} questions lack a value ({listed}), first "
                f"{scores.query_ids[int(rows[0])]!r}; without --require-all they count 0, or are left out "
                "(--missing skip)"
            )


def _causes(scores: Scores, j: int) -> str:
    """Why systems have no value of a measure of answers, in brackets; empty where nothing is known of that."""
    if scores.causes is None or not scores.of_answers[j]:
        return ""
    left_out = np.where(np.isnan(scores.values[:, j]), scores.causes[:, j], 0)
    listed = [
        f"{system}: " + ", ".join(f"{cause} {n}" for cause, n in zip(CAUSES, counts, strict=True) if n)
        for system, row in zip(scores.systems, left_out, strict=True)
        if any(counts := np.bincount(row, minlength=len(CAUSES) + 1)[1:].tolist())
    ]
    return f" ({'; '.join(listed)}); leave the measure out" if listed else ""


def check_segments(scores: Scores, segments: Mapping[str, Bools]) -> dict[str, Bools]:
    """The masks as arrays of truth values.

    Raises   InputError for a mask of another length than the questions
    """
    masks = {name: np.asarray(mask, dtype=bool) for name, mask in segments.items()}
    for name, mask in masks.items():
        if mask.shape != (len(scores.query_ids),):
            raise InputError(
                f"segment {name!r} has shape {mask.shape}, expected ({len(scores.query_ids)},): one truth value for "
                "each question of the scores"
            )
    return masks
