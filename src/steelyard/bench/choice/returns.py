"""Quality, latency, cost and net benefit of all that may be chosen, and what the data show of their differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.bench.config import BenchConfig, ValueTable
from steelyard.bench.frames import RETURNS, Option
from steelyard.bench.load.latency import time_percentiles
from steelyard.experiment.table.scores import Scores
from steelyard.gates.against import Sides, relative_check
from steelyard.gates.profiles import Profile
from steelyard.gates.standard import Relative
from steelyard.measures import Measure, parse
from steelyard.stats.intervals.percentiles import PercentileInterval
from steelyard.stats.intervals.resampling import Resampled, cluster_bootstrap
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import cluster_sums, less, mean_error

_UPPER = 0.975


@dataclass(frozen=True, eq=False)
class Axis:
    """Values of all options, higher being better, and what the data show of them.

    values   (n,) NaN where unknown
    better   (n, n) whether the option of the row is shown to be better than that of the column
    """

    values: Floats
    better: Bools

    @property
    def measured(self) -> bool:
        """True if any reranker has a value; the base comes first."""
        return bool((~np.isnan(self.values[1:])).any())


@dataclass(frozen=True, eq=False)
class Quality:
    """Values of the first measure that is a mean, question by question.

    values    (n, q) of all options, higher being better;   codes   (q,) clusters, or None
    """

    measure: Measure
    values: Floats
    codes: Ints | None

    @classmethod
    def of(cls, scores: Scores, options: Sequence[Option]) -> Quality:
        """The values of these options, by the scores."""
        rows, column = [list(scores.systems).index(option.label) for option in options], first_mean(scores)
        quality = cls(
            scores.measures[column],
            scores.values[rows, column],
            None if scores.clustering is None else scores.clustering.codes,
        )
        return replace(quality, values=quality.sign * quality.values)

    @property
    def sign(self) -> float:
        """The sign of the measure's own values."""
        return -1.0 if self.measure.definition.direction == "lower" else 1.0

    @cached_property
    def means(self) -> Floats:
        """(n,) means over the questions that have a value."""
        there = ~np.isnan(self.values)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(there, self.values, 0.0).sum(axis=1) / there.sum(axis=1))

    def paired(self, i: int, j: int) -> tuple[Floats, Ints | None]:
        """By how much option i is better than j, of the questions that both have a value for; and their clusters."""
        paired = ~np.isnan(self.values[i]) & ~np.isnan(self.values[j])
        return less(self.values[i, paired], self.values[j, paired]), None if self.codes is None else self.codes[paired]

    @property
    def axis(self) -> Axis:
        """Means, and differences whose paired interval is above 0."""
        n = len(self.values)
        better = np.zeros((n, n), bool)
        for i, j in combinations(range(n), 2):
            d, codes = self.paired(i, j)
            average = mean_error(d, clusters=codes)
            if average.reason is None:
                far = abs(average.mean) > t_quantile(_UPPER, average.df) * average.error
                better[i, j], better[j, i] = far and average.mean > 0, far and average.mean < 0
        return Axis(self.means, better)


def first_mean(scores: Scores) -> int:
    """The place of the first measure that is an arithmetic mean, which questions add up to: no percentile."""
    return next((j for j, measure in enumerate(scores.measures) if measure.aggregation.arithmetic), 0)


def options_of(config: BenchConfig, scores: Scores) -> list[Option]:
    """The base, and all rerankers at all depths that were measured; none where the base was not, as under load."""
    if config.base_name not in scores.systems:
        return []
    return [Option(config.base_name, None), *(option for option in config.options if option.label in scores.systems)]


def percentile_ms(requests: pl.DataFrame, option: Option, p: float) -> PercentileInterval | None:
    """A percentile of the latency of sequential requests, as of `time_percentiles`; None without any."""
    mine = requests.filter(option.rows)
    return time_percentiles(mine, [p])[0] if mine.height else None


def latency_axis(requests: pl.DataFrame, options: Sequence[Option], p: float) -> Axis:
    """Percentiles of what reranking adds, which is nothing for the base."""
    ends = [(0.0, 0.0, 0.0)]
    for option in options[1:]:
        interval = percentile_ms(requests, option, p)
        ends.append((math.nan,) * 3 if interval is None else (interval.value, interval.low, interval.high))
    return _lower_axis(ends)


def cost_axis(costs: pl.DataFrame, options: Sequence[Option]) -> Axis:
    """Costs of a question, which is nothing for the base;   costs   of schema COSTS"""
    absent = {"per_query": math.nan, "per_query_low": -math.inf, "per_query_high": math.inf}
    ends = [(0.0, 0.0, 0.0)]
    for option in options[1:]:
        (row,) = costs.filter(option.rows).to_dicts() or [{}]
        mean, low, high = (end if (value := row.get(name)) is None else value for name, end in absent.items())
        ends.append((mean, low, high))
    return _lower_axis(ends)


def _lower_axis(ends: Sequence[tuple[float, float, float]]) -> Axis:
    """Values with their ends, lower being better: shown to be better is an interval that lies below the other."""
    value, low, high = np.array(ends, np.float64).T
    return Axis(-value, np.asarray(high[:, None] < low[None, :]))


MIN_QUESTIONS = 50
"""Of fewer, a gain of just 15% is called less than that in up to 34% of cases, as their intervals are too short."""
SUCCESS = "hit_rate@5"
"""A question succeeds, unless [value] names another measure, where something relevant is among the first five."""
ALPHA = 0.05
"""So often at most is the reranker with the highest net benefit called better than one that is as good."""
CLEAR_BASE = 3.0
"""Standard errors that the base must be above 0 for gains as shares of it, which ten successes in 200 are: with four or
five, intervals missed a relative gain of 15% in 10% to 28% of cases."""
_MILLION = 1_000_000
_STATISTICS = ("gain", "relative_gain", "net_per_day", "roi", "yield")
"""`yield` is the gain for a unit of money: the inverse of the break-even value, which has no pole."""
_NET = _STATISTICS.index("net_per_day")


@dataclass(frozen=True)
class _Paired:
    """Sums that a question adds, of each reranker that has a value for it: (q, s, 4) n, base, reranked, cost.

    priced   (s,) whose cost is known
    clear    (s,) whose base is so far above 0 that a share of it means something
    """

    sums: Floats
    priced: Bools
    clear: Bools


def returns(config: BenchConfig, scores: Scores, of_requests: pl.DataFrame) -> pl.DataFrame:
    """Gain, net benefit, return and break-even value of each reranker at each depth, of schema RETURNS.

    Without [value], only gains, and whether they are worth having.
    scores        of the base and of all rerankers;   of_requests   of schema REQUEST_COSTS
    Raises        InputError where [value] names a measure of success that the scores do not have
    """
    rerankers = options_of(config, scores)[1:]
    if not rerankers:
        return RETURNS.to_frame()
    success = success_measure(config, scores)
    paired = _paired(config, scores, success, rerankers, of_requests)
    statistics = partial(_statistics, config.value, paired=paired)
    resampled = cluster_bootstrap(_grouped(paired, scores), statistics, seed=config.seed)
    rows = [
        {"system": option.system, "depth": option.depth, "success": str(scores.measures[success]),
         **_row(config.value, paired, resampled, i), **_worth(scores, config.base_name, option.label)}
        for i, option in enumerate(rerankers)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=RETURNS)


@dataclass(frozen=True, eq=False)
class NetBenefit(Axis):
    """Net benefit a day of the base, which is 0, and of each reranker; NaN where a price is missing.

    Shown to be better is one whose difference has a whole interval above 0, questions drawn for both at once.  As the
    one with the most of all is looked at, levels are shared: beside the base among the rerankers, and among these by
    all pairs.

    low, high    (n,) ends of the 95% interval of each by itself, as of `returns`; infinite where there is none
    differences  from pairs of rerankers, counted from 0, and a level to intervals of their differences
    """

    low: Floats
    high: Floats
    differences: Callable[[Ints, Ints, float], Resampled] = field(repr=False)

    def ahead(self, i: int, others: Sequence[int]) -> Bools:
        """True if option i is shown to bring in more than each of some others, with the level shared among them."""
        ahead = np.array([j == 0 and self.low[i] > 0 for j in others], bool)
        rerankers = np.array([j for j in others if j], int)
        if i and len(rerankers):
            level = 1 - ALPHA / len(others)
            intervals = self.differences(np.full(len(rerankers), i - 1), rerankers - 1, level)
            ahead[[j != 0 for j in others]] = intervals.low > 0
        return ahead


def net_benefit(
    config: BenchConfig, scores: Scores, of_requests: pl.DataFrame, returns: pl.DataFrame
) -> NetBenefit | None:
    """The net benefit of each option; None where nothing says what success is worth.

    returns   of `returns`, whose intervals are those that a reader sees
    """
    rerankers = options_of(config, scores)[1:]
    if config.value is None or not rerankers:
        return None
    paired = _paired(config, scores, success_measure(config, scores), rerankers, of_requests)
    s, sums = len(rerankers), _grouped(paired, scores)

    def nets(total: Floats) -> Floats:
        return _statistics(config.value, total, paired).reshape(len(total), s, -1)[..., _NET]

    def differences(first: Ints, second: Ints, level: float) -> Resampled:
        return cluster_bootstrap(
            sums, lambda total: nets(total)[:, first] - nets(total)[:, second], level=level, seed=config.seed
        )

    better = np.zeros((s + 1, s + 1), bool)
    by_itself = cluster_bootstrap(sums, nets, level=1 - ALPHA / s, seed=config.seed)
    better[1:, 0], better[0, 1:] = by_itself.low > 0, by_itself.high < 0
    if s > 1:
        first, second = np.triu_indices(s, 1)
        pairs = differences(first, second, 1 - ALPHA / len(first))
        better[1 + first, 1 + second], better[1 + second, 1 + first] = pairs.low > 0, pairs.high < 0
    low, high = (
        np.append(0.0, returns[f"net_per_day_{end}"].fill_null(unknown).to_numpy())
        for end, unknown in (("low", -math.inf), ("high", math.inf))
    )
    return NetBenefit(np.append(0.0, by_itself.values), better, low, high, differences)


def _grouped(paired: _Paired, scores: Scores) -> Floats:
    """(g, s, 4) sums of each cluster of questions."""
    sums = np.moveaxis(paired.sums, 0, -1)
    clusters = None if scores.clustering is None else scores.clustering.codes
    grouped = cluster_sums(sums.reshape(-1, sums.shape[-1]), clusters).reshape(*sums.shape[:2], -1)
    return np.moveaxis(grouped, -1, 0)


def success_of(config: BenchConfig) -> Measure | None:
    """The measure of success that value goes by: value per success goes by SUCCESS, where no other one is named.

    None stands for the first measure that is a mean.
    """
    value = config.value
    if value is None or (value.success is None and value.value_per_success is None):
        return None
    options = {} if config.min_gain is None else {"min_gain": config.min_gain}
    return parse(value.success or SUCCESS, **options)


def success_measure(config: BenchConfig, scores: Scores) -> int:
    """The place of the measure that value goes by.

    Raises   InputError where it was not measured, or is no mean.
    """
    success = success_of(config)
    if success is None:
        return first_mean(scores)
    if not success.aggregation.arithmetic:
        raise InputError(f"[value] goes by {success}, {success.aggregation.noun}; value is of means, such as {SUCCESS}")
    if success not in scores.measures:
        hint = nearest(str(success), map(str, scores.measures))
        raise InputError(f"[value] goes by {success}, which was not measured; {hint}")
    return list(scores.measures).index(success)


def saving_per_query(value: ValueTable | None) -> float:
    """The saving of shorter prompts for each question.

    >>> saving_per_query(None)
    0.0
    """
    if value is None or value.prompt is None:
        return 0.0
    prompt = value.prompt
    chunks = prompt.chunks_before - prompt.chunks_after
    return chunks * prompt.tokens_per_chunk * prompt.price_per_1m_tokens / _MILLION


def _paired(
    config: BenchConfig, scores: Scores, success: int, rerankers: Sequence[Option], of_requests: pl.DataFrame
) -> _Paired:
    values = dict(zip(scores.systems, scores.values[:, success], strict=True))
    base = values[config.base_name]
    codes = None if scores.clustering is None else scores.clustering.codes
    sums, (priced, clear) = np.zeros((len(base), len(rerankers), 4)), np.zeros((2, len(rerankers)), bool)
    for i, option in enumerate(rerankers):
        reranked, cost = values[option.label], _costs_of(of_requests, option, scores.query_ids)
        priced[i] = not np.isnan(cost).all()
        paired = ~np.isnan(base) & ~np.isnan(reranked)
        if priced[i]:  # What a question without an answer costs is not known: as much as the others on average.
            cost = np.where(np.isnan(cost), np.nanmean(cost), cost)
        columns = np.stack([np.ones(len(base)), base, reranked, cost], axis=1)
        sums[paired, i] = np.nan_to_num(columns[paired])
        average = mean_error(base[paired], clusters=None if codes is None else codes[paired])
        clear[i] = average.mean > CLEAR_BASE * np.nan_to_num(average.error)
    return _Paired(sums, priced, clear)


def _costs_of(of_requests: pl.DataFrame, option: Option, query_ids: Sequence[str]) -> Floats:
    """(q,) mean cost of each question over its repetitions; NaN where it is not known."""
    means = dict(of_requests.filter(option.rows).group_by("query_id").agg(pl.col("cost").mean()).iter_rows())
    return np.array([np.nan if (cost := means.get(query_id)) is None else cost for query_id in query_ids], np.float64)


def _statistics(value: ValueTable | None, total: Floats, paired: _Paired) -> Floats:
    """(b, s * m) all of _STATISTICS of each reranker, from (b, s, 4) sums."""
    n, base, reranked, paid = np.moveaxis(total, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = (reranked - base) / n
        relative = np.where(paired.clear & (base > 0), (reranked - base) / base, np.nan)
        cost = np.where(paired.priced, paid / n, np.nan)
        effect, worth = _effect(value, gain, relative)
        more = cost - saving_per_query(value)
        net = worth * effect - more
        per_day = net * (np.nan if value is None else value.queries_per_day)
        roi = np.where(cost > 0, net / cost, np.nan)
        per_money = np.where(more > 0, effect / more, np.nan)
    return np.stack([gain, relative, per_day, roi, per_money], axis=-1).reshape(len(total), -1)


def _effect(value: ValueTable | None, gain: Floats, relative: Floats) -> tuple[Floats, float]:
    """The unit that is paid for, and the number of it for one gain: gains as they are, or as shares of the base."""
    if value is None:
        return np.full(gain.shape, np.nan), math.nan
    if value.value_per_success is not None:
        return gain, value.value_per_success
    return relative, value.value_per_query or math.nan


def _row(value: ValueTable | None, paired: _Paired, resampled: Resampled, i: int) -> dict[str, Any]:
    at = {name: i * len(_STATISTICS) + m for m, name in enumerate(_STATISTICS)}
    total = paired.sums[:, i].sum(axis=0)
    row: dict[str, Any] = {
        "cost": total[3] / total[0] if paired.priced[i] and total[0] else None,
        "saving": None if value is None else saving_per_query(value),
    }
    for name in ("gain", "relative_gain", "net_per_day", "roi"):
        row |= _ends(name, *(array[at[name]] for array in (resampled.values, resampled.low, resampled.high)))
    per_money = [array[at["yield"]] for array in (resampled.values, resampled.high, resampled.low)]
    row |= _ends("break_even", *(math.inf if gain <= 0 else 1 / gain for gain in per_money))
    above = resampled.above[at["net_per_day"]]
    return row | {"p_positive": None if math.isnan(above) else above}


def _ends(name: str, value: float, low: float, high: float) -> dict[str, float | None]:
    columns = {name: value, f"{name}_low": low, f"{name}_high": high}
    return {column: None if math.isnan(number) else float(number) for column, number in columns.items()}


def _worth(scores: Scores, base: str, label: str) -> dict[str, Any]:
    """True if the relative gain is as high as the profile "reranker" asks for, by the check that a gate makes."""
    relative, measure = worth_of(scores)
    sides, better = Sides(scores, label, scores, base), measure.definition.direction
    check = relative_check(sides, measure, least=relative.least, min_questions=MIN_QUESTIONS, better=better)
    answers = {"reached": "yes", "missed": "no"}
    ends = _ends("worth_gain", check.value, check.low, check.high)
    return {"worth_measure": str(measure), **ends, "worth": answers.get(check.reason, "open")}


def worth_of(scores: Scores) -> tuple[Relative, Measure]:
    """The least gain of a reranker that is worth having, and the measure of it.

    It is that of the profile, where it was measured, or else the first that is a mean.
    """
    relative = Profile.read("reranker").relative
    assert relative is not None
    return relative, relative.measure if relative.measure in scores.measures else scores.measures[first_mean(scores)]
