"""The arrays of scores: what kernels fill, statistics read, frames and files are made of; and percentiles of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.align.resolver import GoldMapping
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError, quoted
from steelyard.base.notes import Note
from steelyard.data.clusters import Clustering
from steelyard.experiment.corrections import Corrections
from steelyard.measures import Measure
from steelyard.measures.judged_answers import Codes
from steelyard.measures.undefined import REASONS
from steelyard.stats.intervals.percentiles import PercentileInterval, percentile_interval

ANSWERS_FAILED = "answers_failed"
"""The note of a system that retrieved for n questions what it then failed to answer."""
NO_GOLD = "no_gold"
"""How notes begin that say what to do where no question has the gold that a measure needs."""
NOT_JUDGED = "not_judged"
CAUSES = (*REASONS[1:], NOT_JUDGED)
"""Why a value of answers is 0 or left out: what the question lacks, or that a judge has not judged enough of it."""
_OF_GOLD = [1 + CAUSES.index(cause) for cause in ("no_gold_answer", "no_gold_units", "no_nuggets")]
"""The causes that the gold of a question is to blame for, and not its answer."""
SHARED_GOLD = "shared_gold"
"""Part of the recipe: how many questions share a gold document, and clusters they would make; None where none does."""


AXES = {
    **dict.fromkeys(("values", "judged", "no_relevant", "causes"), "smq"),
    **dict.fromkeys(("missing", "failed", "unwinnable"), "sq"),
    "unjudged_queries": "s",
}
"""Array of scores -> its axes: systems, measures and queries."""


@dataclass(frozen=True, eq=False)
class ScoreArrays:
    """Values of systems, measures and queries, with what is to be said of them.

    systems, query_ids, measures   s, q and m of them
    values          (s, m, q) float; NaN where there is no value
    missing         (s, q) queries that are absent from the run
    no_relevant     (s, m, q) queries without a document that is relevant for the measure
    failed          (s, q) queries on which the system failed by its own account
    unwinnable      (s, q) queries that have gold, none of which is in any chunk of the system's corpus
    judged          (s, m, q) share of labelled documents among the first k, k being that of the measure
    unjudged_queries  (s,) how many queries of the run the truth does not judge; they are ignored
    gold            (s,) how the gold was found among the chunks of each system; None where it names them by id
    recipe_parts    how the numbers came about; a function where that takes a while
    perfect         measure -> (s, q) values of a perfect ranking, NaN where none is known; a function, likewise
    ceilings        measure -> (s, q) values of the best order of the candidates that a system reorders; NaN where it
                    reorders none, and where that order is not known
    repeats         system -> (r, m, q) values of each of its runs, of systems with several: values are their means
    notes           system -> what else a reader should know of how it was weighed
    clustering      which questions belong together, and count as one for intervals and tests; None: each by itself
    causes          (s, m, q) why a value of answers is 0 or left out: places in CAUSES from 1, 0 where nothing is to be
                    said; None where there is no such value
    corrections     system -> measure -> its mean corrected by labels of people, with a pseudo-value for each query, of
                    means that labels correct
    """

    systems: Sequence[str]
    query_ids: Sequence[str]
    measures: Sequence[Measure]
    values: Floats
    missing: Bools
    no_relevant: Bools
    failed: Bools
    unwinnable: Bools
    judged: Floats
    unjudged_queries: npt.NDArray[np.int64]
    gold: Sequence[GoldMapping | None]
    recipe_parts: Mapping[str, Any] = field(repr=False)
    perfect: Mapping[str, Floats | Callable[[], Floats]] = field(repr=False, default_factory=dict)
    ceilings: Mapping[str, Floats] = field(repr=False, default_factory=dict)
    clustering: Clustering | None = None
    repeats: Mapping[str, Floats] = field(repr=False, default_factory=dict)
    notes: Mapping[str, Sequence[Note]] = field(repr=False, default_factory=dict)
    causes: Codes | None = field(repr=False, default=None)
    corrections: Corrections = field(repr=False, default_factory=dict)

    @property
    def lacks_gold(self) -> Bools:
        """(s, m) measures that a system has no value of, as no question has the gold that they need."""
        bare = without_relevant(self.no_relevant, self.unwinnable)
        if self.causes is not None:
            bare = bare | np.isin(self.causes, _OF_GOLD).all(axis=2)
        return bare & np.isnan(self.values).all(axis=2) & bool(len(self.query_ids))


def without_relevant(no_relevant: Bools, unwinnable: Bools) -> Bools:
    """(s, m) where none of q questions has anything relevant, in a chunk or in none.

    no_relevant   (s, m, q);   unwinnable   (s, q)
    """
    return np.asarray((no_relevant & ~unwinnable[:, None]).all(axis=2))


def computed(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The same parts, those computed that are functions."""
    return {key: part() if callable(part) else part for key, part in parts.items()}


def check_shapes(scores: ScoreArrays) -> None:
    """Raise   InputError naming an array of scores that lacks values of systems, measures or queries, or has more, and
    a name that comes twice among them.
    """
    axes_of = {"s": scores.systems, "m": list(map(str, scores.measures)), "q": scores.query_ids}
    for names in axes_of.values():
        if len(set(names)) < len(names):
            raise InputError(f"scores name {quoted(next(own for own in names if names.count(own) > 1))} twice")
    n = {axis: len(names) for axis, names in axes_of.items()}
    arrays = [(name, getattr(scores, name), axes) for name, axes in AXES.items()]
    arrays += [("perfect", own, "sq") for own in computed(scores.perfect).values()]
    arrays += [("ceilings", own, "sq") for own in scores.ceilings.values()]
    arrays += [("repeats", own[0], "mq") for own in scores.repeats.values()]
    for name, own, axes in arrays:
        shape = tuple(n[axis] for axis in axes)
        if own is not None and own.shape != shape:
            raise InputError(f"`{name}` of scores has the shape {own.shape}, not {shape}")
    if len(scores.gold) != n["s"]:
        raise InputError(f"`gold` of scores has {len(scores.gold)} systems, not {n['s']}")


_ROUNDING = 1e-9
"""How far beyond its range a value may be that another program rounded."""


def refuse_impossible(scores: ScoreArrays) -> None:
    """Refuse values that their measure cannot have, as a mean of them would pass any gate.

    Raises   InputError naming system, query and measure.
    """
    for j, measure in enumerate(scores.measures):
        low, high = measure.definition.range
        values = scores.values[:, j]
        impossible = np.argwhere((values < low - _ROUNDING) | (values > high + _ROUNDING))
        if len(impossible):
            i, q = impossible[0].tolist()
            raise InputError(
                f"system {scores.systems[i]!r}, question {scores.query_ids[q]!r}: {measure} is {values[i, q]:g}, which "
                f"is beyond its range, {low:g} to {high:g}; percentages are divided by 100, and a column of other "
                "numbers needs a name that no measure has"
            )


SECOND = "second"
"""Clusters by this column are seconds, numbered in time: requests of neighbouring ones are alike too."""
ASKED, IN_ORDER = "asked", "in_order"
"""What recipes say of questions that were asked one after the other, in the order of the scores."""
METHOD = "binomial_ranks"
"""What recipes call the intervals of percentiles."""


def percentiles(scores: ScoreArrays, level: float) -> Iterator[tuple[int, int, PercentileInterval]]:
    """Places of system and measure, and the percentile, of all measures that are one.

    An end that values are too few for is that of the measure's range; without any value there is neither.
    """
    for j, measure in enumerate(scores.measures):
        if measure.share is None:
            continue
        for i in range(len(scores.systems)):
            values, clusters = pooled_values(scores, i, j)
            in_order = measure.definition.is_time and scores.recipe_parts.get(ASKED) == IN_ORDER
            interval = percentile_interval(
                values, measure.share, level=level, clusters=clusters, in_time=is_in_time(scores), in_order=in_order
            )
            least, most = measure.definition.range
            ends = (max(interval.low, least), min(interval.high, most)) if len(values) else (math.nan, math.nan)
            yield i, j, replace(interval, low=ends[0], high=ends[1])


def is_in_time(scores: ScoreArrays) -> bool:
    """True if clusters are seconds of a load."""
    return scores.clustering is not None and scores.clustering.by == SECOND


def pooled_values(scores: ScoreArrays, i: int, j: int) -> tuple[Floats, Ints | None]:
    """The values of one system and measure in all of its runs, and which of them belong together.

    Those of one question do, and those of one cluster.  None: each stands by itself.
    """
    rows = run_values(scores, i, j)
    there = ~np.isnan(rows)
    if scores.clustering is None and len(rows) == 1:
        return rows[there], None
    codes = np.arange(rows.shape[1]) if scores.clustering is None else scores.clustering.codes
    return rows[there], np.broadcast_to(codes, rows.shape)[there]


def run_values(scores: ScoreArrays, i: int, j: int) -> Floats:
    """(r, q) values of one system and measure in each of its runs; of times, infinite where it failed."""
    runs = scores.repeats.get(scores.systems[i])
    rows = scores.values[i, j][None] if runs is None else runs[:, j]
    if not scores.measures[j].definition.is_time:
        return rows
    asked = scores.failed[i] | ~np.isnan(rows).all(axis=0)
    return np.where(np.isnan(rows) & asked, np.inf, rows)


def counted(scores: ScoreArrays) -> Bools:
    """(s, m, q) values that means and percentiles are of; of a percentile of times, the failed ones too."""
    there = ~np.isnan(scores.values)
    for j, measure in enumerate(scores.measures):
        if measure.share is not None and measure.definition.is_time:
            there[:, j] |= scores.failed
    return there


def with_percentiles(scores: ScoreArrays, measures: Sequence[Measure]) -> dict[str, Any]:
    """Fields of the same scores with those of some percentiles that are not there, but whose values are; else none."""
    names = [str(measure) for measure in scores.measures]
    wanted = dict.fromkeys(measure for measure in measures if measure.share is not None)
    more = [measure for measure in wanted if str(measure) not in names and str(measure.column) in names]
    if not more:
        return {}
    columns = [*range(len(names)), *(names.index(str(measure.column)) for measure in more)]
    highest = {
        field: {**of, **{str(m): of[str(m.column)] for m in more if str(m.column) in of}}
        for field, of in (("perfect", scores.perfect), ("ceilings", scores.ceilings))
    }
    fields = {field: getattr(scores, field)[:, columns] for field in ("values", "judged", "no_relevant")}
    return {
        **fields,
        **highest,
        "measures": [*scores.measures, *more],
        "causes": None if scores.causes is None else scores.causes[:, columns],
        "repeats": {system: values[:, columns] for system, values in scores.repeats.items()},
    }
