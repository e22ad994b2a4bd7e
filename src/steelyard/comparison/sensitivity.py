"""Distances by which means could move: through labels of unjudged documents, and the order of tied ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import combinations

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import MeasureError
from steelyard.io.source import ahead
from steelyard.measures import Alignment, Measure, make
from steelyard.measures.alignment import ratio, segment_sums, stacked, stacks
from steelyard.measures.graded import gains_of, has_gains
from steelyard.measures.perfect import ties_best, ties_worst, unjudged_relevant
from steelyard.stats.spread import means_of_runs

_DEEPEST = 1000
_MOVED = 0.01


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Means of systems under other labels and other orders of ties.

    `low` and `high` belong to two labellings: all unjudged documents among the first k are irrelevant, which gives the
    plain mean, or all of them have the highest gain of the truth.  The plain mean is always one of the two.  A
    labelling between them may lie outside: new relevant documents also raise what recall, map and ndcg divide by, and
    a measure such as bpref falls with irrelevant labels.  For precision@k, recall@k, hit_rate@k and mrr@k the upper end
    is the one where all are relevant.

    A value is NaN where it cannot be computed: a measure that refuses the changed list, no query in the mean, of
    evidence every order of ties under which gold pieces might move, and all values of measures of answers, which look
    at no list.

    systems, measures   s and m names and specs
    mean                (s, m) plain means
    low, high           (s, m) the two means by labels, in order
    judged              (s, m) mean share of labelled documents among the first k
    tie_mass            (s, m) mean share of the first k places, down to the end of the list and to rank 1000 at most,
                        that tie with another one; 0 for a query that got nothing
    tie_low, tie_high   (s, m) means where of tied documents the worst or the best come first, in order
    labelled            whether documents without a label may be relevant: not where the gold is evidence, which every
                        chunk is held against
    """

    systems: Sequence[str]
    measures: Sequence[Measure]
    mean: Floats
    low: Floats
    high: Floats
    judged: Floats
    tie_mass: Floats
    tie_low: Floats
    tie_high: Floats
    labelled: bool = True

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row for each measure and system: measure, system, mean, low, high, judged, tie_mass, tie_low, tie_high.

        Null where the value is NaN.
        """
        columns = ("mean", "low", "high", "judged", "tie_mass", "tie_low", "tie_high")
        named = pl.DataFrame(
            [(str(measure), system) for measure in self.measures for system in self.systems],
            schema={"measure": pl.String, "system": pl.String},
            orient="row",
        )
        return named.with_columns(pl.Series(name, getattr(self, name).T.ravel(), nan_to_null=True) for name in columns)


def sensitivity(
    systems: Sequence[str],
    alignments: Sequence[Alignment],
    measures: Sequence[Measure],
    *,
    counted: Bools | None = None,
    n_runs: Sequence[int] | None = None,
) -> Sensitivity:
    """Measure all systems again under the other labels and orders.

    alignments   (s,) of the systems with one truth, or of all their runs, system after system
    counted      (s, m, q) which values enter the means, e.g. `~np.isnan(scores.values)`; all of them by default
    n_runs       (s,) how many runs each system has, of which the means are then taken; one each by default

    >>> from steelyard.align.rankings import align
    >>> from steelyard.data.run import Run
    >>> from steelyard.data.truth import Truth
    >>> from steelyard.measures import parse
    >>> a = align(Truth({"q": {"b": 1, "c": 0}}), Run({"q": {"a": 1.0, "b": 0.5, "c": 0.5}})).alignment
    >>> bounds = sensitivity(["bm25"], [a], [parse("precision@2")])
    >>> [float(getattr(bounds, name)[0, 0]) for name in ("low", "high", "tie_mass", "tie_low", "tie_high")]
    [0.0, 0.5, 0.5, 0.0, 0.5]
    """
    shape = (len(systems), len(measures), alignments[0].n_queries) if alignments else (0, 0, 0)
    counted = np.broadcast_to(True, shape) if counted is None else counted
    counted = counted if n_runs is None else np.repeat(counted, n_runs, axis=0)
    groups = list(stacks(alignments))
    firsts = np.cumsum([0, *map(len, groups)])
    parts = [(group, counted[first : first + len(group)]) for group, first in zip(groups, firsts[:-1], strict=True)]
    tables = ahead(lambda part: _table(part[0], measures, part[1]), parts, workers=2)
    table = np.concatenate([np.zeros((0, len(measures), 6)), *tables])
    table = table if n_runs is None else means_of_runs(table, n_runs)
    mean, relevant, judged, tie_mass, worst, best = np.moveaxis(table, 2, 0)
    return Sensitivity(
        systems,
        measures,
        mean,
        low=np.minimum(mean, relevant),
        high=np.maximum(mean, relevant),
        judged=judged,
        tie_mass=tie_mass,
        tie_low=np.minimum(worst, best),
        tie_high=np.maximum(worst, best),
        labelled=any(alignment.evidence is None for alignment in alignments),
    )


def _table(group: Sequence[Alignment], measures: Sequence[Measure], counted: Bools) -> Floats:
    """(s, m, 6) columns of `_six` of a stack of systems;   counted   (s, m, q)."""
    a = stacked(group)
    # Measures that look equally deep share the list with other labels.
    relabelled = cache(partial(unjudged_relevant, a))
    try:
        return np.stack([
            np.full((len(counted), 6), np.nan) if spec.definition.of_answers
            else _six(spec, a, counted[:, j], relabelled)
            for j, spec in enumerate(measures)
        ], axis=1)  # fmt: skip
    except MeasureError:
        # A kernel refuses some list: only it knows which.
        return np.concatenate([_table([one], measures, counted[i : i + 1]) for i, one in enumerate(group)])


def overlapping(s: Sensitivity, j: int) -> list[tuple[str, str]]:
    """Pairs of systems whose means differ while their intervals [low, high] overlap, for measure j.

    Which of the two is better may then depend on labels that are missing.  Two systems without an unjudged
    document have no intervals but their means, and are never such a pair.
    """
    low, high, mean = s.low[:, j], s.high[:, j], s.mean[:, j]
    return [
        (s.systems[x], s.systems[y])
        for x, y in combinations(range(len(s.systems)), 2)
        if mean[x] != mean[y] and low[x] <= high[y] and low[y] <= high[x]
    ]


def count_overlapping(s: Sensitivity, j: int) -> int:
    """Number of pairs that `overlapping` has, without making a list of them."""
    low, high, mean = _known(s, j)[1:]
    # Equal means overlap, as each lies in its own interval; of the others those overlap of which neither is below.
    n_alike = np.unique(mean, return_counts=True)[1]
    n_apart = int(np.searchsorted(np.sort(high), low, "left").sum())
    return len(mean) * (len(mean) - 1) // 2 - n_apart - int((n_alike * (n_alike - 1) // 2).sum())


def highest_overlapping(s: Sensitivity, j: int) -> tuple[str, str] | None:
    """The pair of `overlapping` that is highest up the leaderboard, the system with the greater mean first."""
    place, low, high, mean = _known(s, j)
    for value in np.unique(mean)[::-1]:
        better = np.flatnonzero(mean == value)
        overlaps = (mean < value) & (high >= low[better, None])
        if overlaps.any():
            overlaps &= mean == mean[overlaps.any(axis=0)].max()
            pairs = [(int(place[better[x]]), int(place[y])) for x, y in np.argwhere(overlaps).tolist()]
            one, other = min(pairs, key=sorted)
            return s.systems[one], s.systems[other]
    return None


def _known(s: Sensitivity, j: int) -> tuple[Ints, Floats, Floats, Floats]:
    """Places of the systems whose mean and both ends are known, and these."""
    columns = np.stack([s.low[:, j], s.high[:, j], s.mean[:, j]])
    place = np.flatnonzero(~np.isnan(columns).any(axis=0))
    low, high, mean = columns[:, place]
    return place, low, high, mean


def moved_by_ties(s: Sensitivity, j: int, *, least: float = _MOVED) -> list[str]:
    """Systems whose mean of measure j moves by more than `least` with the order of tied documents."""
    moved = s.tie_high[:, j] - s.tie_low[:, j] > least
    return [system for system, far in zip(s.systems, moved.tolist(), strict=True) if far]


def _six(spec: Measure, a: Alignment, counted: Bools, relabelled: Callable[..., Alignment]) -> Floats:
    """(s, 6) of stacked systems: mean, mean with all relevant, judged, tie mass, mean with the worst, the best first.

    counted   (s, q)
    """
    k = spec.depth
    # Of lists that are there: an absent one has no document that could lack a label.
    there = counted & (a.n_retrieved > 0).reshape(counted.shape)
    there = np.where(there.any(axis=1, keepdims=True), there, counted)
    columns = [
        _mean(spec, a, counted),
        _mean(spec, _all_relevant(spec, a, k, relabelled), counted),
        _mean(make("judged", k), a, there),
        _plain_means(_tie_mass(a, k).reshape(counted.shape), counted),
        *(
            np.full(len(counted), np.nan) if order is None else _mean(spec, order, counted)
            for order in _orders(spec, a)
        ),
    ]
    return np.stack(columns, axis=1)


def _mean(spec: Measure, a: Alignment, counted: Bools) -> Floats:
    """(s,) means as Scores gives them; NaN where the measure refuses the list of the only system.

    Raises   MeasureError where it refuses those of several systems
    """
    values = _values(spec, a, several=len(counted) > 1)
    if values is None:
        return np.full(len(counted), np.nan)
    values = values.reshape(counted.shape)
    if spec.aggregation.arithmetic:
        return _plain_means(values, counted)
    counted = counted & ~np.isnan(values)
    return np.array([spec.aggregation.of(row[mask]) for row, mask in zip(values, counted, strict=True)])


def _values(spec: Measure, a: Alignment, *, several: bool = False) -> Floats | None:
    """(q,) values, or None where the kernel refuses the list: only it knows for which labels and ties it does."""
    try:
        return spec(a)
    except MeasureError:
        if several:
            raise
        return None


def _plain_means(values: Floats, counted: Bools) -> Floats:
    """(s,) mean of the counted values of each of (s, q)."""
    counted = counted & ~np.isnan(values)
    whole = counted.all(axis=1)
    means = np.full(len(values), np.nan)
    means[whole] = values[whole].mean(axis=1)
    means[~whole] = [_plain_mean(row[mask]) for row, mask in zip(values[~whole], counted[~whole], strict=True)]
    return means


def _plain_mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan


def _all_relevant(spec: Measure, a: Alignment, k: int | None, relabelled: Callable[..., Alignment]) -> Alignment:
    """As if all unjudged documents among the first k were as good as any label of the truth is for the measure."""
    if not len(a.ideal_gain):
        return relabelled(k=k)
    # A gain map may make another label than the highest one the best.
    worth = _gains(spec, a.ideal_gain)
    best = float(a.ideal_gain[worth.argmax()]) if worth.max() > 0 else None
    return relabelled(k=k) if best == a.ideal_gain.max() else relabelled(gain=best, k=k)


def _orders(spec: Measure, a: Alignment) -> list[Alignment | None]:
    """The list with the worst and with the best of tied documents first, or None where gold pieces might move."""
    if a.ties is None:
        return [a, a]
    if a.evidence is not None and not _counts_tied_chunks(spec, a):
        return [None, None]
    worth = _gains(spec, a.hit_gain)
    return [ties_worst(a, worth=worth), ties_best(a, worth=worth)]


def _counts_tied_chunks(spec: Measure, a: Alignment) -> bool:
    """True if a measure of a system with evidence looks at nothing but its chunks."""
    if "ties" not in spec.definition.parameters:
        return False
    return _values(make(spec.name, spec.k, {**dict(spec.params), "ties": "average"}), a) is not None


def _gains(spec: Measure, labels: Floats) -> Floats:
    """Gain of each label in the measure; the label itself where it has none, or a label is too high for one."""
    gain = spec.options.get("gain", "binary")
    return gains_of(labels, gain) if gain != "binary" and has_gains(labels, gain) else labels


def _tie_mass(a: Alignment, k: int | None) -> Floats:
    """(q,) share of the first k places that tie with another one."""
    seen = np.minimum(a.n_retrieved, _DEEPEST if k is None else min(k, _DEEPEST))
    if a.ties is None:
        return np.zeros(a.n_queries)
    ties = a.ties
    counted = np.clip(seen[ties.query] - ties.first + 1, 0, ties.size)
    return ratio(segment_sums(ties.query, counted, a.n_queries), seen)
