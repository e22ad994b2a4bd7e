"""Measures by depth, and what could be reached by a perfect reranker, by more results, by the better of two systems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats
from steelyard.diagnosis.lists import Lists
from steelyard.measures import Measure, parse
from steelyard.measures.perfect import perfect_reranking, perfect_values
from steelyard.stats.intervals.means import mean_intervals

KS = (1, 2, 3, 5, 10, 20, 50, 100)
NAMES = ("precision", "recall", "hit_rate", "ndcg", "mrr")


@dataclass(frozen=True, eq=False)
class Curves:
    """Means of measures at several depths.

    systems, names, ks  s, n and k of them
    values, low, high   (s, n, k) means and the ends of their 95% intervals; NaN where lists are not that deep
    """

    systems: Sequence[str]
    names: Sequence[str]
    ks: Sequence[int]
    values: Floats
    low: Floats
    high: Floats

    def at(self, system: int, name: str, k: int) -> float:
        """The mean of a measure of a system at a depth; NaN where the lists are not that deep."""
        return float(self.values[system, self.names.index(name), self.ks.index(k)])

    def unmeasured(self) -> Curves:
        """The same without numbers, where no question has gold."""
        return replace(self, **{name: np.full_like(getattr(self, name), np.nan) for name in ("values", "low", "high")})

    @property
    def frame(self) -> pl.DataFrame:
        """One row a mean: system, measure (its name), k, mean, low, high; null where the lists are not that deep."""
        s, n, k = self.values.shape
        return pl.DataFrame(
            {
                "system": np.repeat(self.systems, n * k),
                "measure": np.tile(np.repeat(self.names, k), s),
                "k": np.tile(self.ks, s * n),
                "mean": self.values.ravel(),
                "low": self.low.ravel(),
                "high": self.high.ravel(),
            }
        ).fill_nan(None)


def curves(
    systems: Sequence[str], lists: Sequence[Lists], *, names: Sequence[str] = NAMES, min_gain: float = 1.0,
    ks: Sequence[int] = KS,
) -> Curves:  # fmt: skip
    """Measures at each depth, of what each system returned.

    names      of measures with a cut-off
    min_gain   smallest gain that counts as relevant; ndcg counts gains as they are
    """
    values, low, high = (np.full((len(systems), len(names), len(ks)), np.nan) for _ in range(3))
    for i, of_system in enumerate(lists):
        depths = [j for j, k in enumerate(ks) if of_system.reach(k, final=True)]
        if not depths:
            continue
        shape = (len(names), len(depths))
        specs = [parse(f"{name}@{ks[j]}", min_gain=min_gain) for name in names for j in depths]
        per_query = np.array([spec(of_system.final) for spec in specs]).T
        highest = [np.nan_to_num(perfect_values(spec, of_system.final), nan=1.0).max(initial=0.0) for spec in specs]
        intervals = mean_intervals(per_query, bounds=(0.0, highest))
        values[i][:, depths] = per_query.mean(axis=0).reshape(shape)
        low[i][:, depths], high[i][:, depths] = intervals.low.reshape(shape), intervals.high.reshape(shape)
    return Curves(systems, tuple(names), tuple(ks), values, low, high)


NS = (10, 20, 50, 100)
_NO_HEADROOM = 1e-9
_SCHEMA = {"system": pl.String, "measure": pl.String, "lists": pl.String, "n": pl.Int64, "mean": pl.Float64}


@dataclass(frozen=True)
class Pair:
    """The better one of two systems for each question: an oracle, which no fusion reaches without knowing the answer.

    mean          of the better value of each question;   gain   over the better one of the two systems
    first_only, second_only   questions that one of them wins
    """

    first: str
    second: str
    measure: str
    mean: float
    gain: float
    first_only: int
    second_only: int


@dataclass(frozen=True)
class Captured:
    """Share of the way to a perfect order of its first n candidates that a reranker went.

    base      mean of the candidates as they came;   reached   of what was returned;   ceiling   of the perfect order
    share     (reached - base) / (ceiling - base), below 0 where the reranker harms; NaN where there is no headroom
    """

    system: str
    measure: str
    n: int
    base: float
    reached: float
    ceiling: float
    share: float


@dataclass(frozen=True, eq=False)
class Ceilings:
    """Reachable values; s systems, m measures, n candidate counts, d depths.  NaN: the lists are not that deep.

    base        (s, m) means of the candidates before reranking; of what was returned where there is no reranker
    reached     (s, m) means of what was returned
    perfect     (s, m, n) means with the first n candidates in a perfect order, the tail untouched
    depth       (s,) length of the longest list of candidates
    deeper_names, deeper_ks, deeper   recall (of gold pieces where the gold is evidence) and hit rate (s, 2, d) of what
                was returned, with d results instead of k
    pairs       by measure, for every two systems
    """

    systems: Sequence[str]
    measures: Sequence[str]
    k: int
    ns: Sequence[int]
    base: Floats
    reached: Floats
    perfect: Floats
    depth: Sequence[int]
    deeper_names: Sequence[str]
    deeper_ks: Sequence[int]
    deeper: Floats
    pairs: Sequence[Pair]

    def unmeasured(self) -> Ceilings:
        """The same without numbers, where no question has gold."""
        means = ("base", "reached", "perfect", "deeper")
        return replace(self, pairs=(), **{name: np.full_like(getattr(self, name), np.nan) for name in means})

    @property
    def frame(self) -> pl.DataFrame:
        """One row a mean.

        system, measure   as they are called;   mean   null where the lists are not that deep
        lists, n   what was measured: "before_reranking" and "returned" with n null; "perfect_order" of the first n
                   candidates; "more_results", n of them instead of k
        """
        return pl.DataFrame(list(self._rows()), schema=_SCHEMA, orient="row").fill_nan(None)

    def _rows(self) -> Iterator[tuple[str, str, str, int | None, float]]:
        for i, system in enumerate(self.systems):
            for j, measure in enumerate(self.measures):
                yield system, measure, "before_reranking", None, float(self.base[i, j])
                yield system, measure, "returned", None, float(self.reached[i, j])
                for n, mean in zip(self.ns, self.perfect[i, j].tolist(), strict=True):
                    yield system, measure, "perfect_order", n, mean
            for name, means in zip(self.deeper_names, self.deeper[i].tolist(), strict=True):
                for depth, mean in zip(self.deeper_ks, means, strict=True):
                    yield system, f"{name}@{depth}", "more_results", depth, mean


@dataclass(frozen=True, eq=False)
class Values:
    """Values of m measures for every question; s systems, q questions, n candidate counts.

    measures        m of them
    base, reached   (s, m, q);   perfect   (s, m, n, q), NaN where the lists are not that deep
    """

    measures: Sequence[Measure]
    base: Floats
    reached: Floats
    perfect: Floats


def values(lists: Sequence[Lists], measures: Sequence[Measure]) -> Values:
    """Measure the lists as they are, before reranking, and in perfect order."""
    reached = np.array([[spec(of_system.final) for spec in measures] for of_system in lists])
    base = reached.copy()
    s, m, q = reached.shape
    perfect = np.full((s, m, len(NS), q), np.nan)
    for i, of_system in enumerate(lists):
        if of_system.reranked:
            base[i] = [spec(of_system.before) for spec in measures]
        for place, n in enumerate(NS):
            if of_system.reach(n):
                best = perfect_reranking(of_system.before, n)
                perfect[i, :, place] = [spec(best) for spec in measures]
    return Values(measures, base, reached, perfect)


def ceilings(
    lists: Sequence[Lists], values: Values, curves: Curves, *, k: int,
    deeper_names: Sequence[str] = ("recall", "hit_rate"),
) -> Ceilings:  # fmt: skip
    """Means of what could be reached.

    values   of `values`, with the same lists;   curves   of the same lists, in the same order
    deeper_names   measures of the curves, with more results than k
    """
    systems, names = curves.systems, [str(measure) for measure in values.measures]
    depths = [depth for depth in curves.ks if depth > k and depth in NS]
    deeper = [[[curves.at(i, name, depth) for depth in depths] for name in deeper_names] for i in range(len(systems))]
    return Ceilings(
        systems=systems,
        measures=names,
        k=k,
        ns=NS,
        base=values.base.mean(axis=2),
        reached=values.reached.mean(axis=2),
        perfect=values.perfect.mean(axis=3),
        depth=[of_system.depth for of_system in lists],
        deeper_names=tuple(deeper_names),
        deeper_ks=tuple(depths),
        deeper=np.array(deeper, float).reshape(len(systems), len(deeper_names), len(depths)),
        pairs=[pair for j, name in enumerate(names) for pair in _pairs(systems, name, values.reached[:, j])],
    )


def _pairs(systems: Sequence[str], measure: str, values: Floats) -> Iterator[Pair]:
    """Every two systems, from (s, q) values of a measure."""
    means = values.mean(axis=1)
    for i, j in combinations(range(len(systems)), 2):
        mean = float(np.maximum(values[i], values[j]).mean())
        yield Pair(
            first=systems[i],
            second=systems[j],
            measure=measure,
            mean=mean,
            gain=mean - float(max(means[i], means[j])),
            first_only=int((values[i] > values[j]).sum()),
            second_only=int((values[j] > values[i]).sum()),
        )


def captured(ceilings: Ceilings, reranked: Sequence[bool]) -> list[Captured]:
    """Share that each reranker captured of its headroom: by measure, for each count of candidates within the lists."""
    rerankers = [i for i in range(len(ceilings.systems)) if reranked[i]]
    return [
        _captured(ceilings, i, j, place)
        for i in rerankers
        for j in range(len(ceilings.measures))
        for place in range(len(ceilings.ns))
        if not math.isnan(ceilings.perfect[i, j, place])
    ]


def _captured(ceilings: Ceilings, i: int, j: int, place: int) -> Captured:
    base, reached, ceiling = ceilings.base[i, j], ceilings.reached[i, j], ceilings.perfect[i, j, place]
    headroom = ceiling - base
    share = float((reached - base) / headroom) if headroom > _NO_HEADROOM else math.nan
    return Captured(
        system=ceilings.systems[i],
        measure=ceilings.measures[j],
        n=ceilings.ns[place],
        base=float(base),
        reached=float(reached),
        ceiling=float(ceiling),
        share=share,
    )
