"""Results of a comparison of systems, as columns; rows, groups and segments are views of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import polars as pl

from steelyard.base.notes import Note
from steelyard.base.result import Result
from steelyard.comparison.changes import Changes, SettingsDiff
from steelyard.comparison.drift import Drift
from steelyard.comparison.labels import LabelCorrections
from steelyard.comparison.leaderboards import LeaderboardAgreement
from steelyard.comparison.plan import Family
from steelyard.comparison.sensitivity import Sensitivity
from steelyard.experiment.table.behind import OfScores
from steelyard.experiment.table.recipes import Signature, signature_of
from steelyard.experiment.table.scores import COMPONENTS
from steelyard.measures import Measure
from steelyard.stats.luck import Luck

Verdict = Literal["baseline", "leader", "better", "worse", "not worse", "no difference shown", "no test"]
NoTestReason = Literal[
    "few questions", "one cluster", "no spread", "few anchors", "few labels", "few values", "other judge", "no gold"
]

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "segment": pl.String,
    "measure": pl.String,
    "system": pl.String,
    "n": pl.Int64,
    "n_left_out": pl.Int64,
    "n_lacking": pl.Int64,
    "n_missing": pl.Int64,
    "n_clusters": pl.Int64,
    "mean": pl.Float64,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "limit_low": pl.Float64,
    "limit_high": pl.Float64,
    "relative": pl.Float64,
    "relative_low": pl.Float64,
    "relative_high": pl.Float64,
    "p": pl.Float64,
    "adjusted": pl.Float64,
    "effect": pl.Float64,
    "n_wins": pl.Int64,
    "n_ties": pl.Int64,
    "n_losses": pl.Int64,
    "detectable": pl.Float64,
    "needed": pl.Int64,
    "verdict": pl.String,
    "not_worse": pl.Boolean,
    "equivalent": pl.Boolean,
    "reason": pl.String,
    "groups": pl.List(pl.Int64),
}
"""Columns of `Comparison.frame`; see there."""


@dataclass(frozen=True, kw_only=True)
class ComparisonRow:
    """One row of `Comparison.frame`, for code that reads one system at a time; NaN where the frame has no number."""

    segment: str | None
    measure: str
    system: str
    n: int
    n_left_out: int
    n_lacking: int
    n_missing: int
    n_clusters: int | None
    mean: float
    difference: float
    low: float
    high: float
    limit_low: float
    limit_high: float
    relative: float
    relative_low: float
    relative_high: float
    p: float
    adjusted: float
    effect: float
    n_wins: int | None
    n_ties: int | None
    n_losses: int | None
    detectable: float
    needed: int | None
    verdict: Verdict
    not_worse: bool | None
    equivalent: bool | None
    reason: NoTestReason | None
    groups: Sequence[int] | None

    @property
    def is_reference(self) -> bool:
        """True if this is the system that the others are shown beside."""
        return self.verdict in ("baseline", "leader")


@dataclass(frozen=True)
class Segmentation:
    """Segments into which questions were parted, and the tests of the parts; one correction covers all segments.

    by        "tag", "language" or "length"; None for masks of one's own
    names     of the segments, in order
    families  as of Comparison, over all segments
    lengths   language -> segment -> fewest and most tokens, where questions were parted by length
    """

    by: str | None
    names: Sequence[str]
    test: str
    correction: str
    families: Sequence[Family]
    lengths: Mapping[str, Mapping[str, tuple[int, int]]] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(OfScores, Result):
    """Systems beside a baseline, or beside the one that leads, by one or several measures.

    The first measure is the primary one and is tested alone; all others are secondary, and corrected among themselves.

    frame         one row for each measure and system, best mean first; then the same of each segment.  Columns:
                  segment     null for all questions
                  measure, system
                  n           questions that all systems have a value for, and that are compared; without pairs, those
                              that this system has a value for
                  n_left_out  other questions;   n_lacking  those among them that this system has no value for
                  n_missing   questions of the n that this system's run does not hold: they count as 0
                  n_clusters  in how many clusters the n questions are; null where each counts by itself
                  mean, difference   of the system, and less the reference's: the baseline's, or without one the
                              leader's
                  low, high   ends of the interval of the difference, which leaves out 0 exactly where adjusted p is at
                              most alpha; null for tests of ranks and signs, and where there is none
                  limit_low, limit_high   one-sided limits of the difference, by the tests against the margin: not_worse
                              where the one on the side of a loss is within it, equivalent where both are; null without
                              a margin
                  relative, relative_low, relative_high   the difference as a share of the baseline's mean, and beside a
                              t test its interval
                  p, adjusted   before and after the correction; null where there is no test, and reason says why:
                              "few questions" (fewer than two), "no gold" (in a segment), "one cluster" (all questions
                              are in it), "no spread" (all differences are equal, which a t test cannot judge), "few
                              anchors" or "few labels" (to correct a difference by, see drift and labels), "few values"
                              (for an interval of this percentile), "other judge" (than the reference's, and mixed
                              judges were asked for)
                  effect      standardised difference (d_z with Hedges' correction; without pairs in the root mean
                              square of both standard deviations); null for two questions, and where all differences
                              are equal but not 0
                  n_wins, n_ties, n_losses   questions on which the system is better than, level with, worse than the
                              baseline; null, as is the effect, where the difference is corrected, and without pairs
                  detectable  smallest difference that these questions would show in 80 of 100 cases, alpha shared among
                              all comparisons of the family; infinite where values of the measure cannot differ by so
                              much; null for tests of ranks and signs, which are not about means, and below 6 questions
                  needed      where no difference is shown: how many questions would show the effect observed in 80 of
                              100 cases, were it the true one; null elsewhere, and where it is 0 or needs too many.
                              Without pairs, of this system, and of the baseline in proportion
                  verdict     baseline, leader, better, worse, not worse, no difference shown, no test; better is what
                              the measure's direction says
                  not_worse   than the margin, and equivalent within it; null without a margin
                  groups      numbers, from 0, of the groups of systems that tests of all pairs cannot part; null for
                              two systems and for more than a hundred, and beside a baseline but for t and Tukey
    baseline      its name; None of three systems or more of which none was named.  There is then a family of all pairs
    reference     the system that the others are shown beside: the baseline, or the leader by the primary measure
    families      the comparisons by the primary measure, and those by all others, if any: each has its own correction
    components    how much values differ between questions and between runs, as of Scores
    notes         system -> what a reader should know of how it was weighed, as of Scores
    agreement     of each further measure's leaderboard with the first one's, for three systems or more
    segmentation  how questions were parted; None where they were not
    sensitivity   to labels and ties;   changes   of the lists, from the baseline to the other systems
    drift         how much of the differences the judges were, which is taken off; None where one judge judged all
    labels        which means and differences labels of people correct; None without any
    common        system -> how many of its questions the reference was asked too, where systems are compared without
                  pairs, each over its own questions; None where they are compared question by question
    luck          how far the best leads by the primary measure, and would by luck, where it is known how many
                  configurations were tried; None where it is not, and where means are corrected
    settings      of the run folders, where two systems at least have one.  These three need a Weighing: None or empty
                  for Scores
    """

    VIEW = "views.comparison"

    frame: pl.DataFrame = field(repr=False, metadata={"columns": COLUMNS})
    baseline: str | None
    reference: str
    measures: Sequence[Measure]
    test: str
    correction: str
    families: Sequence[Family]
    alpha: float
    margin: float | None
    seed: int
    recipe: Mapping[str, object] = field(repr=False, default_factory=dict)
    components: pl.DataFrame = field(
        repr=False, default_factory=lambda: pl.DataFrame(schema=COMPONENTS), metadata={"columns": COMPONENTS}
    )
    notes: Mapping[str, Sequence[Note]] = field(repr=False, default_factory=dict)
    agreement: Sequence[LeaderboardAgreement] = ()
    segmentation: Segmentation | None = None
    sensitivity: Sensitivity | None = None
    changes: Sequence[Changes] = ()
    settings: SettingsDiff | None = None
    drift: Drift | None = None
    labels: LabelCorrections | None = None
    common: Mapping[str, int] | None = None
    luck: Luck | None = None

    @property
    def primary(self) -> str:
        """The measure that decides, and is tested alone."""
        return str(self.measures[0])

    def family_of(self, measure: str) -> Family:
        """The comparisons that those by this measure are corrected with."""
        return next(family for family in self.families if measure in family.measures)

    @property
    def signature(self) -> Signature:
        """One quotable line, and its data, as of Scores; its questions are those that are compared."""
        n = [row.n for rows in self.rows.values() for row in rows]
        return signature_of(self.recipe, (min(n), max(n)))

    @cached_property
    def rows(self) -> dict[str, list[ComparisonRow]]:
        """By measure, the rows of all questions."""
        return {
            name: [
                _row(row) for row in self.frame.filter(pl.col("segment").is_null(), measure=name).iter_rows(named=True)
            ]
            for name in map(str, self.measures)
        }

    @cached_property
    def groups(self) -> dict[str, list[list[str]]]:
        """By measure: sets of systems that the tests of all pairs cannot part, best first."""
        return {
            measure: [
                [row.system for row in rows if row.groups is not None and number in row.groups]
                for number in range(1 + max(max(row.groups or [0]) for row in rows))
            ]
            for measure, rows in self.rows.items()
            if rows[0].groups is not None
        }

    def shown(self, measure: str) -> list[tuple[str, str]]:
        """Pairs of systems, the better one first, that are shown to differ by a measure, best mean first.

        A system and the reference are told apart by the test of these two, others by that of all pairs, if any.
        """
        groups, pairs = self.groups.get(measure), list[tuple[str, str]]()
        for ahead, behind in combinations(self.rows[measure], 2):
            beside = behind if ahead.is_reference else ahead if behind.is_reference else None
            if beside is not None and beside.verdict in ("better", "worse"):
                ahead_wins = (beside is ahead) == (beside.verdict == "better")
                pairs.append((ahead.system, behind.system) if ahead_wins else (behind.system, ahead.system))
            elif beside is None and groups and not any({ahead.system, behind.system} <= {*group} for group in groups):
                pairs.append((ahead.system, behind.system))
        return pairs

    @cached_property
    def opposed(self) -> dict[str, list[tuple[str, str]]]:
        """By secondary measure: pairs, the better one first, that it shows the other way round than the primary one."""
        primary = {pair[::-1] for pair in self.shown(self.primary)}
        pairs = {name: [pair for pair in self.shown(name) if pair in primary] for name in map(str, self.measures[1:])}
        return {name: opposed for name, opposed in pairs.items() if opposed}

    @property
    def n(self) -> dict[str, int]:
        """By measure: questions that are compared."""
        return {measure: rows[0].n for measure, rows in self.rows.items()}

    @property
    def left_out(self) -> dict[str, int]:
        """By measure: questions that some system has no value for."""
        return {measure: rows[0].n_left_out for measure, rows in self.rows.items()}

    @cached_property
    def lacking(self) -> dict[str, dict[str, int]]:
        """By measure: system -> questions that it has no value for, of the systems that lack any."""
        return {
            measure: {row.system: row.n_lacking for row in rows if row.n_lacking} for measure, rows in self.rows.items()
        }

    @cached_property
    def missing(self) -> dict[str, int]:
        """System -> questions that its run does not hold and that count 0, of the systems that miss any."""
        first = next(iter(self.rows.values()))
        return {row.system: row.n_missing for row in first if row.n_missing}

    @cached_property
    def segments(self) -> dict[str, Comparison]:
        """By name: the comparison among the questions of one segment."""
        parted = self.segmentation
        if parted is None:
            return {}
        return {
            name: replace(
                self, frame=self.frame.filter(pl.col("segment") == name).with_columns(segment=pl.lit(None, pl.String)),
                test=parted.test, correction=parted.correction, families=parted.families, agreement=(),
                segmentation=None, sensitivity=None, changes=(), settings=None, drift=None, labels=None,
            )
            for name in parted.names
        }  # fmt: skip


def _row(values: Mapping[str, Any]) -> ComparisonRow:
    numbers: dict[str, Any] = {name: math.nan for name, kind in COLUMNS.items() if kind == pl.Float64}
    return ComparisonRow(**{**values, **{name: number for name, number in numbers.items() if values[name] is None}})
