"""The rows of a comparison: every system beside the reference, by every measure, p corrected over the family."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl

from steelyard.comparison.differences import NO_INTERVAL, Difference, interval_alphas
from steelyard.comparison.families import correct_margins, system_groups, tested_pairs
from steelyard.comparison.plan import Plan
from steelyard.comparison.power import Units, questions_for
from steelyard.comparison.result import COLUMNS
from steelyard.comparison.samples import Sample
from steelyard.stats.tests.corrections import correct
from steelyard.stats.tests.pairs import Pairs

_WORKING = {"lean": pl.Float64, "not_worse_p": pl.Float64, "equivalent_p": pl.Float64, "unit_size": pl.Float64,
            "unit_effect": pl.Float64}  # fmt: skip
"""Columns on the way to a verdict."""

_ENDS = ("low", "high", "relative", "relative_low", "relative_high")
"""Columns that wait for corrected p."""


def comparison_rows(samples: Sequence[Sample], plan: Plan) -> pl.DataFrame:
    """The rows of `Comparison.frame` of one family, best mean first within a measure.

    samples   of which those by the measures of the plan count
    """
    samples = [sample for sample in samples if sample.measure in plan.measures]
    all_pairs = tested_pairs(samples, plan)
    parts = [
        (sample, pairs, system_groups(sample, pairs, plan)) for sample, pairs in zip(samples, all_pairs, strict=True)
    ]
    listed = [row for sample, pairs, numbers in parts for row in _sample_rows(sample, plan, pairs, numbers)]
    rows = pl.DataFrame(listed, schema={**COLUMNS, **_WORKING}).with_columns(pl.col(pl.Float64).fill_nan(None))
    rows, n_shown = _adjusted(rows, all_pairs, plan)
    rows = _limits(_intervals(rows, samples, all_pairs, plan, n_shown), samples, plan)
    return _verdicts(rows, plan).select(list(COLUMNS))


def _sample_rows(
    sample: Sample, plan: Plan, pairs: Pairs | None, groups: Sequence[list[int] | None]
) -> Iterator[dict[str, object]]:
    """One row a system, best mean first; of equal means the system that was named first."""
    means = sample.means
    for i in np.argsort(np.nan_to_num(-sample.sign * means, nan=np.inf), kind="stable").tolist():
        yield {
            "segment": sample.segment,
            "measure": str(sample.measure),
            "system": plan.systems[i],
            "n": sample.counts(i)[0],
            "n_left_out": sample.n_left_out,
            "n_lacking": int(sample.lacking[i]),
            "n_missing": int(sample.missing[i]),
            "n_clusters": sample.counts(i)[1],
            "mean": float(means[i]),
            "groups": groups[i],
            **Difference.of(sample, plan, plan.reference, i).columns(pairs),
        }


def _intervals(
    rows: pl.DataFrame, samples: Sequence[Sample], all_pairs: Sequence[Pairs | None], plan: Plan, n_shown: int
) -> pl.DataFrame:
    """The rows with intervals of differences, and of relative changes beside t tests, whose p theirs agree with."""
    p, adjusted = (rows[name].fill_null(math.nan).to_numpy() for name in ("p", "adjusted"))
    alphas = interval_alphas(
        p, adjusted, correction=plan.correction, alpha=plan.alpha, n_comparisons=plan.n_comparisons, n_shown=n_shown
    )
    ends = [
        {} if i == plan.reference else Difference.of(samples[at], plan, plan.reference, i).ends(alpha, all_pairs[at])
        for (at, i), alpha in zip(_places(rows, plan), alphas.tolist(), strict=True)
    ]
    kinds = {name: kind for name, kind in COLUMNS.items() if name in _ENDS}
    return rows.with_columns(*pl.DataFrame(ends, schema=kinds).fill_nan(None))


def _limits(rows: pl.DataFrame, samples: Sequence[Sample], plan: Plan) -> pl.DataFrame:
    """The rows with the limits of differences that tests against the margin put; null without a margin."""
    limits = []
    for (at, i), *alphas in zip(_places(rows, plan), rows["not_worse_alpha"], rows["equivalent_alpha"], strict=True):
        below, above = alphas if samples[at].sign > 0 else alphas[::-1]
        is_limited = plan.margin is not None and i != plan.reference
        beside = Difference.of(samples[at], plan, plan.reference, i)
        limits.append(beside.limits(below, above) if is_limited else NO_INTERVAL)
    kinds = dict.fromkeys(("limit_low", "limit_high"), pl.Float64)
    return rows.with_columns(*pl.DataFrame(limits, schema=kinds, orient="row").fill_nan(None))


def _places(rows: pl.DataFrame, plan: Plan) -> list[tuple[int, int]]:
    """Places of each row's sample and system."""
    places = {system: i for i, system in enumerate(plan.systems)}
    return [(row // len(places), places[system]) for row, system in enumerate(rows["system"])]


def _adjusted(rows: pl.DataFrame, all_pairs: Sequence[Pairs | None], plan: Plan) -> tuple[pl.DataFrame, int]:
    """The rows with p corrected over the family, and the answers against the margin too; and how many are shown."""
    if plan.test == "tukey" or plan.all_pairs:
        adjusted = np.concatenate([pairs.adjusted for pairs in all_pairs if pairs is not None])
    else:
        p = rows["p"].fill_null(math.nan).to_numpy()
        adjusted = correct(p, method=plan.correction, family="with the baseline").adjusted
        rows = rows.with_columns(pl.Series("adjusted", adjusted, nan_to_null=True))
    rows = correct_margins(rows, plan)
    return rows, int((adjusted <= plan.alpha).sum())


def _verdicts(rows: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    verdict = (
        pl.when(system=plan.reference_name)
        .then(pl.lit("leader" if plan.all_pairs else "baseline"))
        .when(pl.col("adjusted").is_null())
        .then(pl.lit("no test"))
        .when(pl.col("adjusted") <= plan.alpha, pl.col("lean") > 0)
        .then(pl.lit("better"))
        .when(pl.col("adjusted") <= plan.alpha)
        .then(pl.lit("worse"))
        .when(pl.col("not_worse"))
        .then(pl.lit("not worse"))
        .otherwise(pl.lit("no difference shown"))
    )
    rows = rows.with_columns(verdict=verdict)
    return rows.with_columns(pl.Series("needed", list(_needed(rows, plan)), pl.Int64))


def _needed(rows: pl.DataFrame, plan: Plan) -> Iterable[int | None]:
    """Number of questions that would show the effect, of the rows that show no difference."""
    for n, difference, effect, detectable, verdict, *units in rows.select(
        "n", "difference", "effect", "detectable", "verdict", "unit_size", "unit_effect"
    ).iter_rows():
        asked = plan.is_of_means and verdict == "no difference shown" and effect is not None
        yield (
            questions_for(effect, n=n, difference=difference, detectable=detectable, plan=plan, units=Units(*units))
            if asked
            else None
        )
