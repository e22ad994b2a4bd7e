"""Number of questions for a wished difference, from a pilot: one or several runs, or the spread of differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, Unpack

import polars as pl

from steelyard.base import defaults
from steelyard.base.arrays import Ints
from steelyard.base.errors import InputError
from steelyard.base.options import PlanKeywords, PlanOptions, WeighOptions, check_names, with_options
from steelyard.base.result import Result
from steelyard.comparison.label_design import LabelDesign, label_design
from steelyard.comparison.power import reportable
from steelyard.comparison.samples import Sample, samples, with_gold
from steelyard.experiment.door.evaluation import counting, weighed_or_scores
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.recipes import Signature, check_same_judge, signature_of
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure, parse_all
from steelyard.stats.power.detectable import detectable_errors, questions_planned
from steelyard.stats.power.power import check_power, fewest_questions, fewest_questions_f
from steelyard.stats.power.power import power as power_of_test
from steelyard.stats.samples import share, whole
from steelyard.stats.spread import Spread, paired_spread

Basis = Literal["differences", "values", "sd"]


class _Tests(TypedDict):
    power: float
    alpha: float
    n_comparisons: int


_FACTORS = (0.5, 0.75, 1.0, 1.5, 2.0)
_MOST_SDS = 1000

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "difference": pl.Float64,
    "wished": pl.Boolean,
    "effect": pl.Float64,
    "needed": pl.Int64,
    "needed_low": pl.Int64,
    "needed_high": pl.Int64,
    "needed_f": pl.Int64,
    "power_low": pl.Float64,
    "power_high": pl.Float64,
}
"""Columns of `Design.frame`; see there."""


@dataclass(frozen=True)
class DesignRow:
    """One row of `Design.frame`."""

    difference: float
    wished: bool
    effect: float
    needed: int | None
    needed_low: int | None
    needed_high: int | None
    needed_f: int | None
    power_low: float | None
    power_high: float | None


@dataclass(frozen=True)
class Pilot:
    """Pilot from which a plan is made.

    systems     those of the pilot
    n           questions that all of them have a value for
    lacking     system -> questions left out since it has no value for them;   n_left_out  how many are left out in all
    missing     system -> questions of the n that its run does not hold, and that count 0
    detectable  smallest difference that the n questions show with the power of the plan, with alpha shared; infinite
                where values of the measure cannot differ by so much; NaN for fewer than six questions
    n_clusters  of the questions, where these do not count by themselves
    """

    systems: tuple[str, ...]
    n: int
    n_left_out: int
    lacking: Mapping[str, int]
    missing: Mapping[str, int]
    detectable: float
    n_clusters: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Design(Result):
    """Number of questions that show a wished difference, and others around it.

    frame       one row for each difference, smallest first.  Columns:
                difference, wished   in the unit of the measure; whether it is the one that was asked for
                effect      the difference over sd (d_z)
                needed      fewest questions with which a paired t test shows it with this power, alpha shared among
                            n_comparisons (Bonferroni); null where no number up to 2**29 does.  From a pilot, it is the
                            power on average over what the pilot's questions may say of the standard deviation
                needed_low, needed_high   the same were the standard deviation sd_low and sd_high; null without a pilot
                needed_f    of three systems or more: fewest questions with which an F test shows that some differ, if
                            best and worst differ by that much and the others are midway; null for two
                power_low, power_high   power of the needed questions were the standard deviation sd_high and sd_low;
                            null without a pilot
    basis       of sd: "differences" of two runs or more, pooled over all pairs; "values" of one run, times the
                root of 2: an upper estimate; "sd" where it was named
    sd          standard deviation of the difference of two systems from question to question; of clusters, what a mean
                scatters by, times the root of the questions
    sd_low, sd_high   its 95% interval; NaN without a pilot
    pilot       None without one
    """

    VIEW = "views.design"

    frame: pl.DataFrame = field(repr=False)
    measure: Measure | None
    difference: float
    power: float
    alpha: float
    n_systems: int
    basis: Basis
    sd: float
    sd_low: float
    sd_high: float
    pilot: Pilot | None = None
    recipe: Mapping[str, object] = field(repr=False, default_factory=dict)

    @property
    def n_comparisons(self) -> int:
        """Comparisons with the baseline, among which alpha is shared."""
        return self.n_systems - 1

    @property
    def rows(self) -> list[DesignRow]:
        """The rows of the frame as objects."""
        return [DesignRow(**row) for row in self.frame.iter_rows(named=True)]

    @property
    def wished(self) -> DesignRow:
        """The row of the difference that was asked for."""
        return next(row for row in self.rows if row.wished)

    @property
    def signature(self) -> Signature | None:
        """One quotable line of the pilot, as of Scores; None without one."""
        return signature_of(self.recipe, self.pilot.n) if self.pilot else None


@with_options("plan")
def plan(
    truth: object = None,
    runs: object = None,
    measures: Iterable[str | Measure] | str | Measure = (),
    **options: Unpack[PlanKeywords],
) -> Design | LabelDesign:
    """Number of questions that show a difference, or of labels of people that make an interval narrow.

    Before they are written and labelled.

    truth, runs  of a pilot, as of `evaluate`; or a Weighing of `weigh`, or Scores of `evaluate`, without runs: of one
                 system or several on the same questions; none with `sd`
    measures     the one that decides, ndcg@10 by default
    Raises       InputError; MissingExtraError without SciPy

    >>> design = plan(difference=0.05, sd=0.25)
    >>> design.frame.select("difference", "needed").rows()
    [(0.025, 787), (0.0375, 351), (0.05, 199), (0.075, 90), (0.1, 52)]
    """
    check_names("plan", options, PlanOptions, WeighOptions)
    declared = PlanOptions.of(options)
    difference, sd, n_systems = declared.difference, declared.sd, declared.n_systems
    power, alpha = declared.power, declared.alpha
    if declared.labels is not None:
        return _of_labels(truth, runs, measures, options, declared)
    _check_for_labels_alone(declared)
    if difference is None:
        raise InputError(
            "a plan needs the smallest difference that matters (difference=0.05, --difference 0.05), or the width of "
            "an interval that labels of people are to make (labels=0.1, --labels 0.1)"
        )
    if not (math.isfinite(difference) and difference > 0):
        raise InputError(f"difference is {difference}, expected a number above 0, such as 0.05")
    check_power(power, share(alpha, "alpha"))
    if n_systems is not None:
        whole(n_systems, "systems (n_systems)", least=2)
    if (truth is None) == (sd is None):
        raise InputError(
            "a plan needs either a pilot, a truth and a run or several (better two), or the standard deviation of "
            "differences (sd=0.25, --sd 0.25), and not both"
        )
    scores = None if truth is None else _scores(truth, runs, measures, options)
    sample = None if scores is None else next(samples(scores))
    systems = scores.systems if scores else ()
    measure = sample.measure if sample else _only(parse_all(measures)) if measures else None
    spread = _spread(sample, systems) if sample else _named(sd)
    per_cluster = sample.values.shape[1] / sample.n_clusters if sample and sample.n_clusters else 1.0
    widest = math.inf if measure is None else measure.definition.range[1] - measure.definition.range[0]
    if difference > widest:
        raise InputError(f"difference is {difference:g}, and values of {measure} differ by {widest:g} at most")
    if difference > _MOST_SDS * spread.sd:
        raise InputError(
            f"difference is {difference:g}, more than {_MOST_SDS} times the standard deviation of differences "
            f"({spread.sd:g}); are both in the unit of the measure?"
        )
    n_systems = n_systems or max(2, len(systems))
    tests: _Tests = {"power": power, "alpha": alpha, "n_comparisons": n_systems - 1}
    return Design(
        _frame(_around(difference, widest), spread, difference, per_cluster=per_cluster, tests=tests),
        measure, difference, power=power, alpha=alpha, n_systems=n_systems,
        basis="differences" if len(systems) > 1 else "values" if systems else "sd",
        sd=spread.sd, sd_low=spread.low, sd_high=spread.high,
        pilot=_pilot(sample, systems, _detectable(sample, spread, widest, **tests)) if sample else None,
        recipe=dict(scores.recipe) if scores else {},
    )  # fmt: skip


def _of_labels(
    truth: object, runs: object, measures: Iterable[str | Measure] | str | Measure, options: Mapping[str, Any],
    declared: PlanOptions,
) -> LabelDesign:  # fmt: skip
    """The plan of labels, from the verdicts of a run or from what is named."""
    if truth is None:
        return label_design(declared, None, None)
    evaluating = {name: value for name, value in options.items() if name != "labels"}
    pilot = weighed_or_scores("plan", truth, runs, WeighOptions.among(evaluating))
    weighing = pilot if isinstance(pilot, Weighing) else pilot.weighing
    if weighing is None or len(weighing.systems) > 1:
        raise InputError("labels: a plan of labels is for one run with its questions; name one (QUESTIONS RUN)")
    measure = _only(parse_all(measures or _LABELLED))
    return label_design(declared, weighing.scores([measure], **counting(evaluating)), weighing)


_LABELLED = "faithfulness"
"""The measure whose labels are planned where none is named."""


def _check_for_labels_alone(declared: PlanOptions) -> None:
    for name in ("sensitivity", "specificity", "supported"):
        if getattr(declared, name) is not None:
            raise InputError(
                f"{name}: is for a plan of labels; give the width that you want (labels=0.1, --labels 0.1)"
            )


def _scores(
    truth: object, runs: object, measures: Iterable[str | Measure] | str | Measure, options: Mapping[str, Any]
) -> Scores:
    """The pilot's values of the one measure."""
    pilot = weighed_or_scores("plan", truth, runs, WeighOptions.among(options))
    if isinstance(pilot, Weighing):
        pilot = pilot.scores(pilot.measures_or(measures, defaults.COMPARED_MEASURES), **counting(options))
    elif measures:
        pilot = pilot.filter(measures=parse_all(measures))
    check_same_judge([pilot])
    measure = _only(with_gold(pilot).measures)
    if not (aggregation := measure.aggregation).arithmetic:
        raise InputError(f"{measure} is {aggregation.noun}, and the tests are of arithmetic means; plan another")
    return pilot


def _only(measures: Sequence[Measure]) -> Measure:
    if len(measures) != 1:
        raise InputError(
            f"a plan is for one measure, and there are {', '.join(map(str, measures))}; name the one that decides"
        )
    return measures[0]


def _named(sd: float | None) -> Spread:
    """A standard deviation that is taken as exact."""
    if sd is None or not (math.isfinite(sd) and sd > 0):
        raise InputError(f"sd is {sd}, expected a number above 0, such as 0.25")
    return Spread(sd, math.nan, math.nan, math.inf)


def _spread(sample: Sample, systems: Sequence[str]) -> Spread:
    """The spread of differences in a pilot.

    Raises   InputError for fewer than two questions or clusters, and where nothing scatters
    """
    names, (s, n) = ", ".join(systems), sample.values.shape
    if n > 1 and sample.n_clusters == 1:
        raise InputError(f"the pilot's {n} questions are all in one cluster, expected two at least, better twenty")
    if n < 2:
        raise InputError(
            f"the pilot has {n} {'question' if n == 1 else 'questions'} that {names} have a value for, expected two at "
            "least, better twenty; ask more, or name the standard deviation of differences (sd=0.25, --sd 0.25)"
        )
    spread = paired_spread(sample.values, clusters=sample.clusters)
    if spread.sd == 0:
        alike = f"the differences of {names} are" if s > 1 else f"the values of {names} are"
        raise InputError(
            f"{alike} equal on all {n} questions: nothing scatters; try a run of another system, or name the standard "
            "deviation of differences (sd=0.25, --sd 0.25)"
        )
    return spread


def _detectable(
    sample: Sample, spread: Spread, widest: float, *, power: float, alpha: float, n_comparisons: int
) -> float:
    n = sample.n_clusters or sample.values.shape[1]
    errors = detectable_errors(n, power=power, alpha=alpha, n_comparisons=n_comparisons)
    return reportable(errors * spread.sd / math.sqrt(sample.values.shape[1]), n, widest)


def _pilot(sample: Sample, systems: Sequence[str], detectable: float) -> Pilot:
    def counted(counts: Ints) -> dict[str, int]:
        return {system: n for system, n in zip(systems, counts.tolist(), strict=True) if n}

    return Pilot(
        tuple(systems), sample.values.shape[1], sample.n_left_out, counted(sample.lacking), counted(sample.missing),
        detectable, sample.n_clusters,
    )  # fmt: skip


def _around(difference: float, widest: float) -> list[float]:
    """The difference, and some that are smaller and larger, up to the widest."""
    factored = [difference if factor == 1 else float(f"{factor * difference:.12g}") for factor in _FACTORS]
    return [value for value in factored if value <= widest]


def _frame(
    differences: Sequence[float], spread: Spread, wished: float, *, per_cluster: float, tests: _Tests
) -> pl.DataFrame:
    """per_cluster   questions in a cluster; as many clusters are needed as single questions of their effect"""
    power, alpha, n_comparisons = tests["power"], tests["alpha"], tests["n_comparisons"]

    def questions(n_clusters: int | None) -> int | None:
        return None if n_clusters is None else math.ceil(n_clusters * per_cluster)

    def effect(difference: float, sd: float) -> float:
        return math.sqrt(per_cluster) * difference / sd

    def needed(difference: float, sd: float) -> int | None:
        if math.isnan(sd):
            return None
        return fewest_questions(effect(difference, sd), power=power, alpha=alpha, n_comparisons=n_comparisons)

    def power_of(n_clusters: int | None, difference: float, sd: float) -> float | None:
        if n_clusters is None or math.isnan(sd):
            return None
        return power_of_test(effect(difference, sd), n_clusters, alpha=alpha, n_comparisons=n_comparisons)

    def row(difference: float) -> tuple[object, ...]:
        at_sd = effect(difference, spread.sd)
        planned = questions_planned(at_sd, df=spread.df, power=power, alpha=alpha, n_comparisons=n_comparisons)
        plain, by_f = needed(difference, spread.sd), None
        if n_comparisons > 1 and planned and plain:
            # The pilot's uncertainty takes as much of the effect as it does of the t test's.
            less = at_sd * math.sqrt(plain / planned)
            by_f = fewest_questions_f(less, n_systems=n_comparisons + 1, power=power, alpha=alpha)
        return (
            difference, difference == wished, difference / spread.sd, questions(planned),
            questions(needed(difference, spread.low)), questions(needed(difference, spread.high)), questions(by_f),
            power_of(planned, difference, spread.high), power_of(planned, difference, spread.low),
        )  # fmt: skip

    return pl.DataFrame([row(difference) for difference in differences], COLUMNS, orient="row")
