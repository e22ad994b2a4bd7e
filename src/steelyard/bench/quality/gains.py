"""What rerankers make of quality: each beside the candidates as they are, and beside what their order could reach."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from steelyard.base import defaults
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.defaults import DefaultMeasures
from steelyard.bench.frames import QUALITY, Option, rows_of
from steelyard.comparison.differences import NO_INTERVAL, difference_interval, interval_alphas
from steelyard.comparison.plan import Plan
from steelyard.experiment.table.arrays import run_values
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure
from steelyard.stats.intervals.means import CapturedShare, captured_share
from steelyard.stats.intervals.percentiles import PercentileDifference, percentile_difference
from steelyard.stats.power.detectable import min_detectable_difference
from steelyard.stats.samples import ROUNDING, differences
from steelyard.stats.tests.corrections import correct
from steelyard.stats.tests.effects import win_tie_loss
from steelyard.stats.tests.paired import paired_t

MEASURES = DefaultMeasures(
    by_id=("ndcg@10", "mrr@10", "precision@5"), by_evidence=("evidence_recall@5", "ndcg@10", "mrr@10"), of_answers=()
)
"""Where a configuration names none; the first one decides.  Few, as each more costs the others certainty."""

OVERLAP_K = 10
"""Results whose overlap is shown, where the first measure has no cut-off."""


def ceiling_label(depth: int | None) -> str:
    """The name in ceilings of the best order of so many candidates.

    >>> ceiling_label(50)
    'ceiling@50'
    """
    return f"ceiling@{depth}"


def overlap_k(primary: Measure) -> int:
    """The number of first results that are compared with those before: as many as the first measure looks at."""
    return primary.depth or OVERLAP_K


@dataclass(frozen=True, eq=False)
class _Pair:
    """A reranker over one depth beside the base, by one measure, on the n questions that both have a value of.

    base, reranked, ceiling   (n,) values;   clusters   (n,) or None
    percentiles   the difference of a measure that is a percentile, over all runs; None of means
    """

    option: Option
    measure: Measure
    base: Floats
    reranked: Floats
    ceiling: Floats
    clusters: Ints | None
    percentiles: PercentileDifference | None

    @property
    def difference(self) -> Floats:
        """(n,) reranked less base; rounding is no difference."""
        return differences(self.base, self.reranked)

    @property
    def sign(self) -> int:
        """1 where higher values are better, -1 where lower ones are."""
        return 1 if self.measure.definition.higher_is_better else -1

    @property
    def p(self) -> float:
        """P of the paired t test, or that percentiles are equal; NaN for other aggregates, and too few questions."""
        if self.percentiles is not None:
            return self.percentiles.p if np.isfinite(self.percentiles.interval(1 - defaults.ALPHA)).any() else math.nan
        return paired_t(self.difference, clusters=self.clusters).p if self.measure.aggregation.arithmetic else math.nan

    def detectable(self, plan: Plan) -> float:
        """The smallest difference that so many questions show in 80 of 100 cases; NaN where that is not known."""
        if not self.measure.aggregation.arithmetic or not len(self.base):
            return math.nan
        least = min_detectable_difference(
            self.difference, alpha=plan.alpha, n_comparisons=plan.n_comparisons, clusters=self.clusters
        )
        return least if 0 < least < math.inf else math.nan  # Questions that differ by the same say nothing of others.

    def interval(self, alpha: float, plan: Plan) -> tuple[float, float]:
        """Both ends of the interval of the difference; NaN where there are none."""
        if self.percentiles is not None:
            low, high = self.percentiles.interval(1 - alpha)
            return (low if math.isfinite(low) else math.nan), (high if math.isfinite(high) else math.nan)
        if not len(self.base) or not self.measure.aggregation.arithmetic:
            return NO_INTERVAL
        return difference_interval(
            self.difference, plan, alpha=alpha, width=self.measure.definition.width, clusters=self.clusters
        )


def quality(options: Sequence[Option], scores: Scores, ceilings: Scores | None) -> pl.DataFrame:
    """Each reranker over each depth beside the candidates as they are, of schema QUALITY.

    scores, ceilings   of `weigh`; the measures are those of the ceilings, and without any there are no rows
    Tests are paired t tests, of percentiles tests by ranks, with the error of clusters where questions have some,
    corrected by Holm over all rows.  A geometric mean has none.
    """
    pairs = [] if ceilings is None else list(_pairs(options, scores, ceilings))
    tested = [pair.p for pair in pairs]
    corrected = correct(tested, method="holm", family="rerankers, depths and measures").adjusted
    alphas = _alphas(np.array(tested), corrected)
    ends = [pair.interval(alpha, _plan(scores)) for pair, alpha in zip(pairs, alphas, strict=True)]
    plan = _plan(scores, _n_tests(np.array(tested)))
    rows = [
        _row(*parts) | {"detectable": parts[0].detectable(plan)}
        for parts in zip(pairs, tested, corrected.tolist(), ends, alphas, strict=True)
    ]
    return rows_of(QUALITY, rows)


def _pairs(options: Sequence[Option], scores: Scores, ceilings: Scores) -> Iterator[_Pair]:
    """One an option and measure of those that were weighed; the first system is the base."""
    clusters = None if scores.clustering is None else scores.clustering.codes
    for option in options:
        if option.label not in scores.systems:
            continue
        i = scores.systems.index(option.label)
        for j, measure in enumerate(ceilings.measures):
            base, reranked = scores.values[0, j], scores.values[i, j]
            ceiling = ceilings.values[ceilings.systems.index(ceiling_label(option.depth)), j]
            paired = ~(np.isnan(base) | np.isnan(reranked))
            yield _Pair(
                option,
                measure,
                base=base[paired],
                reranked=reranked[paired],
                ceiling=_known_ceiling(ceiling[paired], np.maximum(base[paired], reranked[paired])),
                clusters=None if clusters is None else clusters[paired],
                percentiles=_percentiles(scores, i, j, paired),
            )


def _percentiles(scores: Scores, reranked: int, j: int, paired: Bools) -> PercentileDifference | None:
    """The difference of a percentile over all runs; None without questions, and for measures that are none.

    In place of a repetition that failed counts the mean of the others.
    """
    share = scores.measures[j].share
    if share is None or not paired.any():
        return None

    def runs(i: int) -> Floats:
        rows = run_values(scores, i, j)
        return np.where(np.isnan(rows), scores.values[i, j], rows)[:, paired]

    clusters = None if scores.clustering is None else scores.clustering.codes[paired]
    return percentile_difference(runs(0), runs(reranked), share, clusters=clusters)


def _known_ceiling(ceiling: Floats, reached: Floats) -> Floats:
    """The ceiling; NaN where some question got above it, so that it is none: the measure has another best order."""
    above = (reached > ceiling + ROUNDING * np.maximum(1.0, np.abs(ceiling))).any()
    return np.full(len(ceiling), np.nan) if above else ceiling


def _alphas(p: Floats, corrected: Floats) -> list[float]:
    """The alpha of each row's interval, so that it leaves 0 out exactly where the corrected p is small enough."""
    alpha = defaults.ALPHA
    n_shown = int((corrected <= alpha).sum())
    return list(
        interval_alphas(p, corrected, correction="holm", alpha=alpha, n_comparisons=_n_tests(p), n_shown=n_shown)
    )


def _n_tests(p: Floats) -> int:
    return max(1, int((~np.isnan(p)).sum()))


def _plan(scores: Scores, n_tests: int = 1) -> Plan:
    """The plan of so many t tests, as comparisons have it."""
    systems = [*scores.systems[:1], *(f"test {number}" for number in range(n_tests))]
    return Plan(systems, scores.measures[:1], 0, "t", "holm", defaults.ALPHA, None, defaults.SEED)


def _row(pair: _Pair, p: float, corrected: float, ends: tuple[float, float], alpha: float) -> dict[str, object]:
    d, (low, high) = pair.difference, ends
    counts, captured = win_tie_loss(pair.sign * d), _captured(pair, alpha)
    base, reranked, ceiling = (_aggregate(pair.measure, values) for values in (pair.base, pair.reranked, pair.ceiling))
    return {
        "system": pair.option.system, "depth": pair.option.depth, "measure": str(pair.measure), "n": len(d),
        "base": base, "reranked": reranked,
        "difference": reranked - base, "difference_low": low, "difference_high": high, "p": p,
        "p_corrected": corrected, "won": counts.n_wins, "tied": counts.n_ties, "lost": counts.n_losses,
        "ceiling": ceiling, "captured": captured.share,
        "captured_low": captured.low if math.isfinite(captured.low) else math.nan, "captured_high": captured.high,
        "verdict": _verdict(pair.sign * (reranked - base), corrected),
    }  # fmt: skip


def _captured(pair: _Pair, alpha: float) -> CapturedShare:
    """The share of the way to the ceiling that was gone; NaN where no ceiling is known, or hardly above the base.

    alpha   of the interval, as of the difference's
    """
    if not pair.measure.aggregation.arithmetic or not len(pair.ceiling) or np.isnan(pair.ceiling).any():
        return CapturedShare(math.nan, math.nan, math.nan, 1 - alpha)
    return captured_share(
        pair.difference,
        differences(pair.base, pair.ceiling),
        width=pair.measure.definition.width,
        level=1 - alpha,
        clusters=pair.clusters,
    )


def _aggregate(measure: Measure, values: Floats) -> float:
    """The mean of some questions, or what else the measure makes of them; NaN where one has no value."""
    return math.nan if np.isnan(values).any() else measure.aggregation.of(values)


def _verdict(gain: float, p: float) -> str:
    if not p <= defaults.ALPHA:
        return "not_shown"
    return "better" if gain > 0 else "worse"
