"""What could be reached: by a perfect reranker, by more results, by the better of two systems for each question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.diagnosis.lists import Lists, perfect_reranking
from steelyard.measures import Measure

NS = (10, 20, 50, 100)
DEEPER = ("recall", "hit_rate")
_NO_HEADROOM = 1e-9


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
    """How much of the way to a perfect order of its first n candidates a reranker went.

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
    """What could be reached; s systems, m measures, n candidate counts, d depths.  NaN: the lists are not that deep.

    base        (s, m) means of the candidates before reranking; of what was returned where there is no reranker
    reached     (s, m) means of what was returned
    perfect     (s, m, n) means with the first n candidates in a perfect order, the tail untouched
    depth       (s,) rank down to which candidates are known
    deeper_names, deeper_ks, deeper   recall and hit rate (s, 2, d) of what was returned, with d results instead of k
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


@dataclass(frozen=True, eq=False)
class Values:
    """Values of m measures for every question; s systems, q questions, n candidate counts.

    base, reached   (s, m, q);   perfect   (s, n, m, q), NaN where the candidates are not known that deep
    """

    base: Floats
    reached: Floats
    perfect: Floats


def values(lists: Sequence[Lists], measures: Sequence[Measure], ns: Sequence[int] = NS) -> Values:
    """Measure the lists as they are, before reranking, and in perfect order."""
    reached = np.array([[spec(of_one.final) for spec in measures] for of_one in lists])
    base = np.array(
        [
            [spec(of_one.before) for spec in measures] if of_one.reranked else reached[i]
            for i, of_one in enumerate(lists)
        ]
    )  # fmt: skip
    s, m, q = reached.shape
    perfect = np.full((s, len(ns), m, q), np.nan)
    for i, of_one in enumerate(lists):
        for j, n in enumerate(ns):
            if of_one.reach(n):
                best = perfect_reranking(of_one.before, n)
                perfect[i, j] = [spec(best) for spec in measures]
    return Values(base, reached, perfect)


def ceilings(
    systems: Sequence[str], lists: Sequence[Lists], measures: Sequence[Measure], found: Values, *, k: int,
    deeper: Floats, deeper_ks: Sequence[int], ns: Sequence[int] = NS,
) -> Ceilings:  # fmt: skip
    """Means of what could be reached.

    found    of `values`, with the same lists, measures and ns
    deeper   (s, 2, d) means of recall and hit rate at each of deeper_ks, NaN where they are not known
    """
    names = [str(measure) for measure in measures]
    made = [pair for j, name in enumerate(names) for pair in _pairs(systems, name, found.reached[:, j])]
    return Ceilings(
        systems, names, k, tuple(ns), found.base.mean(axis=2), found.reached.mean(axis=2),
        found.perfect.mean(axis=3).transpose(0, 2, 1), [of_one.depth for of_one in lists], DEEPER, tuple(deeper_ks),
        deeper, made,
    )  # fmt: skip


def _pairs(systems: Sequence[str], name: str, each: Floats) -> list[Pair]:
    means = each.mean(axis=1)
    made = []
    for i, j in combinations(range(len(systems)), 2):
        best = float(np.maximum(each[i], each[j]).mean())
        made.append(
            Pair(
                systems[i], systems[j], name, best, best - float(max(means[i], means[j])),
                int((each[i] > each[j]).sum()), int((each[j] > each[i]).sum()),
            )
        )  # fmt: skip
    return made


def captured(made: Ceilings, reranked: Sequence[bool]) -> list[Captured]:
    """What each reranker captured of its headroom: by measure, for each count of candidates that is known."""
    rows = []
    for i, system in enumerate(made.systems):
        for j, measure in enumerate(made.measures if reranked[i] else ()):
            for place, n in enumerate(made.ns):
                base, reached, ceiling = made.base[i, j], made.reached[i, j], made.perfect[i, j, place]
                if not math.isnan(ceiling):
                    room = ceiling - base
                    share = float((reached - base) / room) if room > _NO_HEADROOM else math.nan
                    rows.append(Captured(system, measure, n, float(base), float(reached), float(ceiling), share))
    return rows
