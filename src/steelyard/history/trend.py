"""How a measure went over time: lines of entries that can be compared, and where their level changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, cached_property, partial
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats
from steelyard.base.defaults import FALSE_ALARMS
from steelyard.base.errors import InputError, quoted
from steelyard.base.nearest import nearest
from steelyard.base.result import Result
from steelyard.experiment.table.scores import Scores
from steelyard.history.listing import moment
from steelyard.measures.spec import measure_or_column
from steelyard.stats.changes import FEWEST, distinct, find_levels, penalty_of, step_interval
from steelyard.stats.samples import Clusters
from steelyard.store.store import Store

_MOST_CONFIGS = 100
_Z = NormalDist().inv_cdf(0.975)
"""Errors to either end of a 95% interval."""


@dataclass(frozen=True)
class Level:
    """Entries one after the other whose means are alike but for chance.

    place        row of the first one in the frame of the line;   n   entries
    mean         of their means
    difference   to the level before, with the ends of its interval; NaN at the first one, whose means no other is near
    """

    place: int
    n: int
    mean: float
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Stretch:
    """Entries of a line that can be compared, as they are of the same gold.

    truth         digest of the gold, None without one
    place         row of the first one in the frame of the line;   n   entries
    n_questions   of the newest one
    basis         what says that a level changed: "noise" between entries, or "questions", those on which an entry
                  differs from the one before, for entries of which fewer than eight differ from the one before;
                  "none" where neither is there
    noise         standard deviation between entries of one level; NaN for another basis
    is_drifting   whether neighbours are alike, so that changes show more often than the rate of false alarms says
    """

    truth: str | None
    place: int
    n: int
    n_questions: int
    basis: str
    noise: float
    is_drifting: bool
    levels: Sequence[Level]


@dataclass(frozen=True, eq=False)
class TrendLine:
    """One measure of one system, over the entries of a store.

    frame       one row an entry, oldest first within its stretch: entry, time, kind, commit, dirty, truth, config,
                corpus, mean, low, high, n, outcome and baseline (of a gate), stretch and level (from 1)
    n_undefined entries without a mean, which are left out
    settings    digest of a configuration -> its settings, of those that are not the same in all: of the 100 newest ones
    """

    measure: str
    system: str
    frame: pl.DataFrame
    stretches: Sequence[Stretch]
    n_undefined: int = 0
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def changes(self) -> list[Level]:
        """Levels that follow another one of the same gold."""
        return [level for stretch in self.stretches for level in stretch.levels[1:]]

    @property
    def now(self) -> Level:
        """The level of the newest gold that the line is at; it has a difference where it is not the first one."""
        return self.stretches[-1].levels[-1]

    @cached_property
    def new_corpora(self) -> list[int]:
        """Rows of entries whose documents differ from those of the entry before, where both are known."""
        known = self.frame.with_row_index("row").drop_nulls("corpus")
        changed = known.filter((pl.col("corpus") != pl.col("corpus").shift()).over("stretch"))
        return changed["row"].to_list()

    @property
    def is_interleaved(self) -> bool:
        """True if entries of one gold come between those of another."""
        return not self.frame["time"].is_sorted()


@dataclass(frozen=True, eq=False, repr=False)
class Trend(Result):
    """How measures went over time: a line for each measure and system.

    lines          by measure as they were asked for, then those with most entries first
    store          what the entries are from
    false_alarms   share of lines without a change, at most, that show one
    since          time of the oldest entry that counts, None for all
    """

    VIEW = "trending"

    lines: Sequence[TrendLine]
    store: str
    false_alarms: float
    since: datetime | None = None

    @property
    def changed_last(self) -> TrendLine | None:
        """The line whose level changed last in its newest gold; None where none did."""
        changed = [line for line in self.lines if math.isfinite(line.now.difference)]
        return max(changed, key=lambda line: line.frame["time"][line.now.place], default=None)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row an entry of each line: measure, system, and the columns of `TrendLine.frame`."""
        named = [line.frame.select(pl.lit(line.measure).alias("measure"), pl.lit(line.system).alias("system"), pl.all())
                 for line in self.lines]  # fmt: skip
        return pl.concat(named)


def trend(
    store: Store,
    measures: Sequence[str] | str | None = None,
    *,
    system: str | None = None,
    since: datetime | str | None = None,
    false_alarms: float = FALSE_ALARMS,
) -> Trend:
    """How measures went over the entries of a store, and where the level of a system changed.

    Entries can be compared where they are of the same gold; where that changed, the line breaks.  Where eight entries
    at least differ from the one before, a change is what exceeds the noise between entries.  Of fewer, such as those
    of a system that repeats itself to the last bit, it is what exceeds the luck of the questions.

    measures      such as ndcg@10; by default the primary one of the newest entry with scores
    system        only this one;   since   only entries from then on: 2026-05-01 or a time, of the local zone
    false_alarms  share of lines without a change, at most, that show one: from .01 to .2
    Raises        InputError for a measure or system that no entry has, and another rate.

    >>> from datetime import UTC, timedelta
    >>> from tempfile import mkdtemp
    >>> store, values = Store(f"{mkdtemp()}/history.db"), [0.71, 0.7, 0.69, 0.71, 0.7, 0.6, 0.61, 0.59, 0.6, 0.61]
    >>> for day, value in enumerate(values):
    ...     clicks = pl.DataFrame({"query_id": ["q1", "q2"], "measure": "clicks", "value": [value - 0.1, value + 0.1]})
    ...     _ = store.add(Scores.of(clicks), time=datetime(2026, 5, 1, tzinfo=UTC) + timedelta(days=day))
    >>> [line] = trend(store, "clicks").lines
    >>> [(level.place, round(level.mean, 3), round(level.difference, 3)) for level in line.changes]
    [(5, 0.602, -0.1)]
    """
    penalty_of(FEWEST, false_alarms)  # Refuses a rate before anything is read.
    start, outcomes = moment(since), store.outcomes().select("entry", "system", "outcome", "baseline")
    asked = [measures] if isinstance(measures, str) else list(measures or [_primary(store)])
    pairs, lines = _pairs_of(store), list[TrendLine]()
    for measure, means in (_means(store, name, system) for name in asked):
        counted = means if start is None else means.filter(pl.col("time") >= start)
        joined = counted.join(outcomes, on=["entry", "system"], how="left", maintain_order="left")
        own = [
            replace(_line(measure, str(name), frame, pairs, false_alarms), settings=_settings(store, str(name), frame))
            for (name,), frame in joined.group_by("system", maintain_order=True)
            if frame["mean"].is_not_null().any()
        ]
        lines += sorted(own, key=lambda line: -len(line.frame))
    if not lines:
        raise InputError(f"{store.name}: no entry of that time has a mean of {', '.join(asked)}")
    return Trend(lines, store.name, false_alarms, start)


def _primary(store: Store) -> str:
    """The primary measure of the newest entry with scores.

    Raises   InputError for a store without any.
    """
    measures = store.entries()["measure"].drop_nulls()
    if measures.is_empty():
        raise InputError(f"{store.name}: no entry has scores; add some by `steelyard evaluate --store`")
    return str(measures[0])


def _means(store: Store, measure: str, system: str | None) -> tuple[str, pl.DataFrame]:
    """A measure as it is spelt in the store, and its means.

    Raises   InputError for a measure or system that no entry has.
    """
    for name in (measure, str(measure_or_column(measure))):
        means = store.means(name, system)
        if len(means):
            return name, means
    everything = store.means()
    column, name = ("system", str(system)) if measure in everything["measure"] else ("measure", measure)
    names = everything[column].unique(maintain_order=True).to_list()
    raise InputError(f"{store.name}: no entry has the {column} {quoted(name)}; {nearest(name, names)}")


_Pairs = Callable[[str, str, str, str], tuple[Floats, Clusters | None] | None]
"""From system, measure and two entries to the differences of questions that both have, and the clusters of these."""


def _pairs_of(store: Store) -> _Pairs:
    """Read pairs from the scores of a store, each entry once."""
    scores_of = cache(store.scores)

    def pairs(system: str, measure: str, before: str, after: str) -> tuple[Floats, Clusters | None] | None:
        first, second = (_values(scores_of(entry), system, measure) for entry in (before, after))
        if first is None or second is None:
            return None
        clusters = scores_of(after).clustering
        shared = [query for query in second if query in first]
        places = {query: place for place, query in enumerate(scores_of(after).query_ids)}
        codes = None if clusters is None else clusters.codes[[places[query] for query in shared]]
        return np.array([second[query] - first[query] for query in shared]), codes

    return pairs


def _values(scores: Scores, system: str, measure: str) -> dict[str, float] | None:
    """The values of questions; None where the mean of a measure is no mean of these."""
    i, j = list(scores.systems).index(system), list(map(str, scores.measures)).index(measure)
    if not scores.measures[j].aggregation.arithmetic or measure in scores.corrections.get(system, {}):
        return None
    return {
        query: value
        for query, value in zip(scores.query_ids, scores.values[i, j].tolist(), strict=True)
        if math.isfinite(value)
    }


def _settings(store: Store, system: str, means: pl.DataFrame) -> dict[str, dict[str, str]]:
    """Digest of a configuration -> those of its settings that differ between configurations."""
    newest = means.filter(pl.col("config") != "").unique("config", keep="last", maintain_order=True).tail(_MOST_CONFIGS)
    settings = {
        config: store.entry(entry).settings.get(system, {}) for config, entry in newest.select("config", "entry").rows()
    }
    names = sorted({name for own in settings.values() for name in own})
    differing = [name for name in names if len({own.get(name) for own in settings.values()}) > 1]
    return {config: {name: own[name] for name in differing if name in own} for config, own in settings.items()}


def _line(measure: str, system: str, means: pl.DataFrame, pairs: _Pairs, false_alarms: float) -> TrendLine:
    """One line, of the means of one system, oldest first."""
    there = means.drop("system", "measure").filter(pl.col("mean").is_not_null())
    order = {truth: place for place, truth in enumerate(there["truth"].unique(maintain_order=True), 1)}
    stretch = pl.Series("stretch", [order[truth] for truth in there["truth"]], pl.Int64)
    frame = there.with_columns(stretch).sort("stretch", maintain_order=True)
    stretches, place = list[Stretch](), 0
    for own in frame.partition_by("stretch", maintain_order=True):
        between = partial(pairs, system, measure)
        stretches.append(_stretch(own, place, between, false_alarms))
        place += len(own)
    sizes = [level.n for stretch in stretches for level in stretch.levels]
    numbers = pl.Series("level", np.repeat(np.arange(1, len(sizes) + 1), sizes))
    return TrendLine(measure, system, frame.with_columns(numbers), stretches, len(means) - len(there))


def _stretch(frame: pl.DataFrame, place: int, between: Callable[[str, str], Any], false_alarms: float) -> Stretch:
    """Entries of the same gold, cut where their level changed."""
    values = frame["mean"].to_numpy()
    by_noise = find_levels(values, false_alarms=false_alarms)
    if math.isfinite(by_noise.noise):
        basis, starts = "noise", by_noise.starts.tolist()
        steps = [
            (float(after - before), _Z * math.hypot(*errors))
            for (before, after), errors in zip(pairwise(by_noise.means), pairwise(by_noise.errors), strict=True)
        ]
        changes = [(difference, difference - reach, difference + reach) for difference, reach in steps]
    else:
        by_place = _steps(frame["entry"].to_list(), distinct(values).tolist(), between, false_alarms)
        basis = "none" if by_place is None else "questions"
        starts, changes = [0, *(by_place or {})], list((by_place or {}).values())
    levels = [
        Level(place + start, end - start, float(values[start:end].mean()), *change)
        for (start, end), change in zip(pairwise([*starts, len(values)]), [(), *changes], strict=True)
    ]
    return Stretch(
        frame["truth"][0], place, len(values), int(frame["n"][-1]), basis, by_noise.noise, by_noise.is_drifting, levels
    )


def _steps(
    entries: Sequence[str], firsts: Sequence[int], between: Callable[[str, str], Any], false_alarms: float
) -> dict[int, tuple[float, float, float]] | None:
    """Place -> difference and interval, of steps that are more than luck of the questions.

    None where no step could be tested, as of measures that are no means of questions.
    """
    pairs = {place: between(entries[place - 1], entries[place]) for place in firsts[1:]}
    tested = {
        place: step_interval(pair[0], n_steps=len(pairs), clusters=pair[1], false_alarms=false_alarms)
        for place, pair in pairs.items()
        if pair is not None
    }
    if pairs and not tested:
        return None
    return {place: step for place, step in tested.items() if step[1] > 0 or step[2] < 0}
