"""The rows of a comparison: every system beside the baseline, by every measure, p corrected over the family."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats, Ints
from steelyard.comparison.corrected_rows import corrected_columns, corrected_ends
from steelyard.comparison.groups import system_groups
from steelyard.comparison.intervals import difference_interval, interval_alphas
from steelyard.comparison.margins import correct_margins, margin_tests
from steelyard.comparison.percentile_rows import percentile_columns, percentile_ends
from steelyard.comparison.plan import TESTS, Plan
from steelyard.comparison.power import Units, detectable_difference, questions_for
from steelyard.comparison.result import COLUMNS, NoTestReason
from steelyard.comparison.samples import Sample
from steelyard.stats.corrections import correct
from steelyard.stats.effects import WinTieLoss, relative_change, standardised, win_tie_loss
from steelyard.stats.guarded import guarded_tukey
from steelyard.stats.paired import PairedTest, wilcoxon
from steelyard.stats.pairs import Pairs, placed
from steelyard.stats.samples import differences

_WORKING = {"lean": pl.Float64, "not_worse_p": pl.Float64, "equivalent_p": pl.Float64, "unit_size": pl.Float64,
            "unit_effect": pl.Float64}  # fmt: skip
"""Columns on the way to a verdict."""

_ENDS = ("low", "high", "relative", "relative_low", "relative_high")
"""Columns that wait for corrected p."""


def comparison_rows(samples: Sequence[Sample], plan: Plan) -> pl.DataFrame:
    """All columns of `Comparison.frame`, best mean first within a measure; one correction covers all rows."""
    all_pairs = [_all_pairs(sample, plan) if plan.test == "tukey" else None for sample in samples]
    groups = system_groups(samples, all_pairs, plan)
    parts = zip(samples, all_pairs, groups, strict=True)
    listed = [row for sample, pairs, numbers in parts for row in _sample_rows(sample, plan, pairs, numbers)]
    rows = pl.DataFrame(listed, schema={**COLUMNS, **_WORKING}).with_columns(pl.col(pl.Float64).fill_nan(None))
    rows = _intervals(_adjusted(rows, plan), samples, all_pairs, plan)
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
            "n": sample.values.shape[1],
            "n_left_out": sample.n_left_out,
            "n_lacking": int(sample.lacking[i]),
            "n_missing": int(sample.missing[i]),
            "n_clusters": sample.n_clusters,
            "mean": float(means[i]),
            "groups": groups[i],
            **_beside_baseline(sample, i, plan, pairs),
        }


def _beside_baseline(sample: Sample, i: int, plan: Plan, pairs: Pairs | None) -> dict[str, object]:
    """One system less the baseline; the baseline's own row has counts alone."""
    if sample.runs:
        return percentile_columns(sample, i, plan)
    if i in sample.errors:
        return corrected_columns(sample, i, plan)
    reference, values = sample.values[plan.reference], sample.values[i]
    d = differences(reference, values)
    counts = win_tie_loss(sample.sign * d)
    row: dict[str, object] = {"n_wins": counts.n_wins, "n_ties": counts.n_ties, "n_losses": counts.n_losses}
    if i == plan.reference:
        return {**row, "difference": 0.0, "effect": 0.0}
    test, units = _paired_test(d, i, plan, pairs, sample.clusters), Units.of(d, sample.clusters)
    return {
        **row,
        "difference": float(d.mean()) if len(d) else math.nan,
        "p": test.p,
        "reason": None if test.reason is None else _reason(sample),
        "effect": _finite(standardised(d).hedges_g),
        "detectable": detectable_difference(sample, i, plan, None if pairs is None else pairs.critical),
        "unit_size": units.size,
        "unit_effect": units.effect,
        "lean": _lean(plan.test, sample.sign * d, counts) if test.p <= plan.alpha else None,
        **margin_tests(
            sample.sign * d,
            plan.margin,
            width=sample.measure.definition.width,
            identical=plan.systems[i] in plan.identical,
            clusters=sample.clusters,
        ),
    }


def _reason(sample: Sample) -> NoTestReason:
    """Why there is no test."""
    if sample.values.shape[1] < 2:
        return "few questions"
    return "one cluster" if sample.n_clusters == 1 else "no spread"


def _all_pairs(sample: Sample, plan: Plan) -> Pairs:
    """Tukey's p of all pairs; shuffled by name, so that the order in which systems are listed moves no p."""
    by_name = sorted(range(len(plan.systems)), key=lambda i: plan.systems[i])
    pairs = guarded_tukey(sample.values[by_name], seed=plan.seed, alpha=plan.alpha, clusters=sample.clusters)
    return placed(pairs, by_name)


def _paired_test(d: Floats, i: int, plan: Plan, pairs: Pairs | None, clusters: Ints | None) -> PairedTest:
    """The test of one system against the baseline."""
    if pairs is None:
        return TESTS[plan.test](d, plan.seed, clusters)
    low, high = min(i, plan.reference), max(i, plan.reference)
    at = int(np.flatnonzero((pairs.first == low) & (pairs.second == high))[0])
    return PairedTest("tukey", float(pairs.difference[at]), float(pairs.p[at]), pairs.n, reason=pairs.reason)


def _intervals(
    rows: pl.DataFrame, samples: Sequence[Sample], all_pairs: Sequence[Pairs | None], plan: Plan
) -> pl.DataFrame:
    """The rows with intervals of differences, and of relative changes beside t tests, whose p theirs agree with."""
    places = {system: i for i, system in enumerate(plan.systems)}
    columns = zip(rows["system"], rows["p"], interval_alphas(rows, plan).tolist(), strict=True)
    ends: list[dict[str, float]] = []
    for (system, p, alpha), at in zip(columns, np.repeat(range(len(samples)), len(places)).tolist(), strict=True):
        reference, values = (samples[at].values[i] for i in (plan.reference, places[system]))
        if system == plan.baseline:
            ends.append({})
            continue
        if samples[at].runs:
            ends.append(percentile_ends(samples[at], places[system], plan, alpha))
            continue
        if places[system] in samples[at].errors:
            ends.append(corrected_ends(samples[at], places[system], plan, alpha))
            continue
        pairs = all_pairs[at]
        low, high = difference_interval(
            differences(reference, values), plan, alpha=alpha, p=math.nan if p is None else p,
            critical=math.nan if pairs is None else pairs.critical, clusters=samples[at].clusters,
            width=samples[at].measure.definition.width,
        )  # fmt: skip
        change = relative_change(reference, values, level=1 - alpha, clusters=samples[at].clusters)
        ends.append({"low": low, "high": high, "relative": change.change})
        if plan.test == "t" and math.isfinite(low):
            ends[-1] |= {"relative_low": change.low, "relative_high": change.high}
    kinds = {name: kind for name, kind in COLUMNS.items() if name in _ENDS}
    return rows.with_columns(*pl.DataFrame(ends, schema=kinds).fill_nan(None))


def _finite(number: float) -> float:
    return number if math.isfinite(number) else math.nan


def _lean(test: str, gain: Floats, counts: WinTieLoss) -> float:
    """Above 0 where the test leans to the system: tests of ranks and of signs may contradict the mean."""
    if test == "sign":
        return counts.n_wins - counts.n_losses
    return wilcoxon(gain).statistic - wilcoxon(-gain).statistic if test == "wilcoxon" else float(gain.mean())


def _adjusted(rows: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """The rows with p corrected over all of them, and the answers against the margin too."""
    p = rows["p"].fill_null(math.nan).to_numpy()
    adjusted = p if plan.test == "tukey" else correct(p, method=plan.correction, family=plan.family).adjusted
    rows = rows.with_columns(pl.Series("adjusted", adjusted, nan_to_null=True))
    return correct_margins(rows, correction=plan.correction, family=plan.family, alpha=plan.alpha)


def _verdicts(rows: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    verdict = (
        pl.when(system=plan.baseline)
        .then(pl.lit("baseline"))
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
    """How many questions would show the effect, of the rows that show no difference."""
    for n, difference, effect, detectable, verdict, *units in rows.select(
        "n", "difference", "effect", "detectable", "verdict", "unit_size", "unit_effect"
    ).iter_rows():
        asked = plan.is_of_means and verdict == "no difference shown" and effect is not None
        yield questions_for(
            effect, n=n, difference=difference, detectable=detectable, plan=plan, units=Units(*units)
        ) if asked else None  # fmt: skip
