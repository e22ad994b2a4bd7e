"""Ratings: what the levels of a profile call each value, and what else its interval could be called."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
import polars as pl

from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.experiment.scores import Scores
from steelyard.gates.profiles import Profile
from steelyard.gates.standard import Standard
from steelyard.measures.registry import Direction
from steelyard.stats.percentiles import percentile_interval
from steelyard.stats.samples import ROUNDING

Numbers = Mapping[str, float]
"""Numbers handed in, by the name that the profile gives them."""

Latencies = Mapping[str, Sequence[float]]
"""system -> milliseconds of each of its questions."""


@dataclass(frozen=True, kw_only=True)
class Rating:
    """One value of one system, held against a profile's levels.

    value       mean or percentile; NaN where the profile asks for it and it was not measured: level is then None
    low, high   ends of its 95% interval; the value itself for a number that was handed in; NaN for one question
    level       the hardest level that the value reaches, or the profile's `below`; None where no level is in reach
    could_be    the other levels that the interval reaches, nearest first, and of two as near the easier first
    levels      level -> number, from the easiest to the hardest
    reachable   mean of a perfect ranking, for measures that the truth bounds; NaN for all else
    n           questions behind the value; 0 for a number that was handed in
    n_failed    those of them that failed, for latencies: they count as slower than any limit
    n_labels    labels of people that correct the value and its interval; 0 where none do
    key         what the profile calls it: recall@k for recall@5
    """

    system: str
    measure: str
    value: float
    low: float
    high: float
    level: str | None
    could_be: tuple[str, ...]
    levels: Mapping[str, float]
    better: Direction
    n: int
    key: str
    reachable: float = math.nan
    n_failed: int = 0
    n_labels: int = 0

    @property
    def out_of_reach(self) -> tuple[str, ...]:
        """The levels that no ranking of these questions reaches: the value is not held against them."""
        return tuple(self.levels)[_n_in_reach(self.levels, self.reachable, self.better) :]

    @property
    def is_top(self) -> bool:
        """Whether the value has the hardest level that is in reach."""
        top = _n_in_reach(self.levels, self.reachable, self.better)
        return top > 0 and self.level == tuple(self.levels)[top - 1]


class Ratings(list[Rating]):
    """Ratings in order, and as columns."""

    @property
    def frame(self) -> pl.DataFrame:
        """One row a rating: system, measure, key, value, low, high, level, could_be, better, n, reachable, and
        out_of_reach; null for NaN.  Where labels of people correct a value, n_labels too.

        could_be and out_of_reach are lists; an end that is infinite stays so.
        """
        labels = {"n_labels": pl.Int64} if any(rating.n_labels for rating in self) else {}
        rows = [{name: getattr(rating, name) for name in (*_COLUMNS, *labels)} for rating in self]
        return pl.DataFrame(rows, schema={**_COLUMNS, **labels}).with_columns(pl.col(pl.Float64).fill_nan(None))


_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "system": pl.String,
    "measure": pl.String,
    "key": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "level": pl.String,
    "could_be": pl.List(pl.String),
    "better": pl.String,
    "n": pl.Int64,
    "reachable": pl.Float64,
    "out_of_reach": pl.List(pl.String),
}


@dataclass(frozen=True)
class StandardValue:
    """A value of a system beside the standard that it is held against; NaN, with n 0, where it was not measured."""

    system: str
    measure: str
    standard: Standard
    _: KW_ONLY
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    reachable: float = math.nan
    n_failed: int = 0
    n_labels: int = 0

    @property
    def is_handed_in(self) -> bool:
        """Whether the number was handed in as it is, without questions and without an interval."""
        return self.n == 0 and not math.isnan(self.value)


def rate(
    scores: Scores, profile: Profile | str, *, numbers: Numbers | None = None, latency_ms: Latencies | None = None
) -> Ratings:
    """The ratings of every system, in the order of its measures; then what the profile asks for and was not measured.

    Measures that the profile has no levels for are left out.  A level that is above what a perfect ranking has on these
    questions is not rated against: the hardest one in reach is the top.

    profile     one that was read, or the name or path of one
    numbers     name -> number, such as {"cost_usd_per_million_tokens": 0.04}, for all systems alike
    latency_ms  system -> milliseconds of each question, for the profile's latency_ms_pNN; infinite for one that failed,
                which counts as slower than any limit
    Raises      InputError for an unknown profile, a number that the profile does not ask for, or one that is not finite

    >>> from steelyard.experiment.evaluation import evaluate
    >>> scores = evaluate({"q": {"a": 1, "c": 2}}, {"q": {"a": 0.9, "b": 0.5, "c": 0.1}}, ["mrr", "recall@2"])
    >>> [(rating.measure, rating.level) for rating in rate(scores, "ratings")]
    [('mrr', 'excellent'), ('recall@2', 'poor')]
    """
    profile = profile if isinstance(profile, Profile) else Profile.read(profile)
    values = standard_values(scores, profile, numbers=numbers, latency_ms=latency_ms)
    place = {system: i for i, system in enumerate(scores.systems)}
    ratings = (_rating(value, profile) for value in values)
    return Ratings(sorted(ratings, key=lambda rating: (place[rating.system], rating.level is None)))


def standard_values(
    scores: Scores, profile: Profile, *, numbers: Numbers | None = None, latency_ms: Latencies | None = None
) -> Iterator[StandardValue]:
    """Every value that the profile has levels for, and NaN for what it asks for and was not measured.

    Means that labels of people correct are corrected, with the intervals of these.
    """
    numbers = _checked(profile, numbers or {})
    for i, system in enumerate(scores.systems):
        for j, measure in enumerate(scores.measures):
            if (standard := profile.standard_of(measure)) is not None:
                yield _mean(scores, i, j, standard)
        for name, standard in profile.unmeasured(scores.measures).items():
            yield StandardValue(system, name, standard)
        for name, standard in profile.standards.items():
            if standard.handed_in:
                yield _handed_in(system, name, standard, numbers, (latency_ms or {}).get(system, ()))


def _mean(scores: Scores, i: int, j: int, standard: Standard) -> StandardValue:
    system, measure = scores.systems[i], str(scores.measures[j])
    value = StandardValue(
        system, measure, standard, value=float(scores.means[i, j]), low=float(scores.intervals.low[i, j]),
        high=float(scores.intervals.high[i, j]), n=int((~np.isnan(scores.values[i, j])).sum()),
        reachable=float(scores.reachable[i, j]),
    )  # fmt: skip
    correction = scores.corrections.get(system, {}).get(measure)
    if correction is None:
        return value
    by_people = correction.mean.corrected
    return replace(
        value, value=by_people.mean, low=by_people.low, high=by_people.high, n_labels=correction.mean.n_labels
    )  # fmt: skip


def _handed_in(
    system: str, name: str, standard: Standard, numbers: Numbers, latencies: Sequence[float]
) -> StandardValue:
    if name in numbers:
        value = numbers[name]
        return StandardValue(system, name, standard, value=value, low=value, high=value)
    if standard.percentile is not None and len(latencies):
        interval = percentile_interval(latencies, standard.percentile)
        return StandardValue(
            system, name, standard, value=interval.value, low=interval.low, high=interval.high, n=interval.n,
            n_failed=interval.n_censored,
        )  # fmt: skip
    return StandardValue(system, name, standard)


def _checked(profile: Profile, numbers: Numbers) -> Numbers:
    names = [name for name, standard in profile.standards.items() if standard.handed_in]
    for name, number in numbers.items():
        if name not in names:
            what = nearest(name, names) if names else "it asks for no number"
            raise InputError(f"profile {profile.name} has no levels for a number {name!r}; {what}")
        if not math.isfinite(number):
            raise InputError(f"{name} is {number}, expected a finite number")
    return numbers


def _rating(value: StandardValue, profile: Profile) -> Rating:
    standard = value.standard
    top = _n_in_reach(standard.levels, value.reachable, standard.better)
    names = (profile.below, *standard.levels)
    place = min(n_reached(value.value, standard), top)
    level = None if math.isnan(value.value) or not top else names[place]
    others: list[int] = []
    if top and not (math.isnan(value.low) or math.isnan(value.high)):
        ends = [min(n_reached(end, standard), top) for end in (value.low, value.high)]
        others = [i for i in range(min(ends), max(ends) + 1) if i != place]
    others.sort(key=lambda i: (abs(i - place), i))
    return Rating(
        system=value.system, measure=value.measure, value=value.value, low=value.low, high=value.high,
        level=level, could_be=tuple(names[i] for i in others), levels=standard.levels, better=standard.better,
        n=value.n, key=standard.measure, reachable=value.reachable, n_failed=value.n_failed,
        n_labels=value.n_labels,
    )  # fmt: skip


def _n_in_reach(levels: Mapping[str, float], reachable: float, better: Direction) -> int:
    """How many of the levels, from the easiest on, some ranking reaches."""
    return sum(in_reach(number, reachable, better) for number in levels.values())


def in_reach(number: float, reachable: float, better: Direction) -> bool:
    """Whether a perfect ranking reaches a number, as far as is known; any does where lower is better.

    >>> in_reach(0.6, 0.37, "higher"), in_reach(0.3, 0.37, "higher"), in_reach(0.6, math.nan, "higher")
    (False, True, True)
    """
    return math.isnan(reachable) or better == "lower" or reaches(reachable, number, better)


def n_reached(value: float, standard: Standard) -> int:
    """How many of the levels a value reaches."""
    return sum(reaches(value, number, standard.better) for number in standard.levels.values())


def reaches(value: float, number: float, better: Direction) -> bool:
    """Whether a value is at a number or on its good side; rounding of the last digits does not count against it.

    >>> reaches(0.1 + 0.7, 0.8, "higher"), reaches(0.7999, 0.8, "higher"), reaches(310.0, 300.0, "lower")
    (True, False, False)
    """
    if math.isnan(value):
        return False
    slack = ROUNDING * abs(number)
    return value >= number - slack if better == "higher" else value <= number + slack
