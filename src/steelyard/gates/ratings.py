"""Ratings: what the levels of a profile call each value, and what else its interval could be called."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import polars as pl

from steelyard.base.result import Result
from steelyard.base.short_repr import plural, short_repr
from steelyard.experiment.door.evaluation import check_scores
from steelyard.experiment.table.scores import Scores
from steelyard.gates.profiles import Profile, profile_of
from steelyard.gates.standard import Standard
from steelyard.gates.values import Latencies, Numbers, StandardValue, standard_values
from steelyard.measures.registry import Direction
from steelyard.stats.samples import ROUNDING


@dataclass(frozen=True, kw_only=True, repr=False)
class Rating:
    """One value of one system, held against a profile's levels.

    value       mean or percentile; NaN where the profile asks for it and it was not measured: level is then None
    low, high   ends of its 95% interval; the value itself for a number that was handed in; NaN for one question
    level       the hardest level that the value reaches, or the profile's `below`; None where no level is in reach
    could_be    the other levels that the interval reaches, nearest first, and of two as near the easier first
    levels      level -> number, from the easiest to the hardest
    reachable   mean of a perfect ranking, or of the best order of the candidates that are reranked, for measures that
                they bound; NaN for all else
    n           questions behind the value; 0 for a number that was handed in
    n_failed    those of them that failed, for latencies: they count as slower than any limit
    n_labels    labels of people that correct the value and its interval; 0 where none do
    n_undecided   of what was drawn for them, those without a label, where the interval allows for all at either end
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
    n_undecided: int = 0

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def out_of_reach(self) -> tuple[str, ...]:
        """The levels that no ranking of these questions reaches: the value is not held against them."""
        return tuple(self.levels)[_n_in_reach(self.levels, self.reachable, self.better) :]

    @property
    def is_top(self) -> bool:
        """True if the value has the hardest level that is in reach."""
        top = _n_in_reach(self.levels, self.reachable, self.better)
        return top > 0 and self.level == tuple(self.levels)[top - 1]


@dataclass(frozen=True, repr=False)
class Ratings(Result, Sequence[Rating]):
    """Ratings of all systems by a profile, in order."""

    VIEW = "views.ratings"

    ratings: tuple[Rating, ...]
    profile: Profile

    @overload
    def __getitem__(self, place: int) -> Rating: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Rating]: ...

    def __getitem__(self, place: int | slice) -> Rating | Sequence[Rating]:
        return self.ratings[place]

    def __len__(self) -> int:
        return len(self.ratings)

    def __repr__(self) -> str:
        return f"Ratings({plural(len(self), 'rating')} by the profile {self.profile.name})"

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
    **dict.fromkeys(("system", "measure", "key"), pl.String),
    **dict.fromkeys(("value", "low", "high"), pl.Float64),
    **{"level": pl.String, "could_be": pl.List(pl.String), "better": pl.String, "n": pl.Int64},
    **{"reachable": pl.Float64, "out_of_reach": pl.List(pl.String)},
}


def rate(
    scores: Scores, profile: Profile | str, *, numbers: Numbers | None = None, latency_ms: Latencies | None = None
) -> Ratings:
    """The ratings of every system, in the order of its measures; then what the profile asks for and was not measured.

    Measures that the profile has no levels for are left out.  A level that is above what a perfect ranking has on these
    questions is not rated against: the hardest one in reach is the top.

    profile     one that was read, or the name or path of one
    numbers     name -> number, such as {"cost_usd_per_million_tokens": 0.04}, for all systems alike; they count before
                columns of the scores
    latency_ms  system -> milliseconds of each question, or of each in each run, for the profile's latency_ms:pNN where
                the scores have no such column; infinite for one that failed, which counts as slower than any limit
    Raises      InputError for an unknown profile, a number that the profile does not ask for, or one that is not finite

    >>> from steelyard.experiment.door.evaluation import evaluate
    >>> scores = evaluate({"q": {"a": 1, "c": 2}}, {"q": {"a": 0.9, "b": 0.5, "c": 0.1}}, ["mrr", "recall@2"])
    >>> [(rating.measure, rating.level) for rating in rate(scores, "ratings")]
    [('mrr', 'excellent'), ('recall@2', 'poor')]
    """
    check_scores("rate", scores)
    profile = profile_of(profile)
    values = standard_values(scores, profile, numbers=numbers, latency_ms=latency_ms)
    place = {system: i for i, system in enumerate(scores.systems)}
    ratings = (_rating(value, profile) for value in values)
    return Ratings(tuple(sorted(ratings, key=lambda rating: (place[rating.system], rating.level is None))), profile)


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
        n_labels=value.n_labels, n_undecided=value.n_undecided,
    )  # fmt: skip


def _n_in_reach(levels: Mapping[str, float], reachable: float, better: Direction) -> int:
    """Number of the levels that, from the easiest on, some ranking reaches."""
    return sum(in_reach(number, reachable, better) for number in levels.values())


def in_reach(number: float, reachable: float, better: Direction) -> bool:
    """True if a perfect ranking reaches a number, as far as is known; any does where lower is better.

    >>> in_reach(0.6, 0.37, "higher"), in_reach(0.3, 0.37, "higher"), in_reach(0.6, math.nan, "higher")
    (False, True, True)
    """
    return math.isnan(reachable) or better == "lower" or reaches(reachable, number, better)


def n_reached(value: float, standard: Standard) -> int:
    """Number of the levels that a value reaches."""
    return sum(reaches(value, number, standard.better) for number in standard.levels.values())


def reaches(value: float, number: float, better: Direction) -> bool:
    """True if a value is at a number or on its good side; rounding of the last digits does not count against it.

    >>> reaches(0.1 + 0.7, 0.8, "higher"), reaches(0.7999, 0.8, "higher"), reaches(310.0, 300.0, "lower")
    (True, False, False)
    """
    if math.isnan(value):
        return False
    slack = ROUNDING * abs(number)
    return value >= number - slack if better == "higher" else value <= number + slack
