"""The rankings of a system as deep as they are at hand: what it returned, and what that was taken from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.base.arrays import Ints
from steelyard.experiment.door.weighed import Weighed
from steelyard.measures import Alignment
from steelyard.measures.alignment import by_query, offsets, rank_order

_MANY = 10
"""Of fewer lists, one may be the longest though all were cut at its length."""


@dataclass(frozen=True, eq=False)
class Lists:
    """A system's rankings, as deep as they are at hand.

    final     what the system returned; without a reranker, the longer list that this is the head of, where there is one
              and k results were returned
    before    the candidates, in the order before reranking; `final` itself where there are none
    reranked  whether a reranker is between the two
    whole     whether nothing lies below `before`: it holds the whole corpus, or no common depth cut the lists
    """

    final: Alignment
    before: Alignment
    reranked: bool
    whole: bool

    @cached_property
    def depth(self) -> int:
        """Length of the longest list of candidates; what they would be below it is unknown."""
        return int(self.before.n_retrieved.max(initial=0))

    @cached_property
    def final_depth(self) -> int:
        """Length of the longest list that was returned."""
        return int(self.final.n_retrieved.max(initial=0))

    def reach(self, k: int, *, final: bool = False) -> bool:
        """True if the lists hold the first k places of the candidates (or of what was returned)."""
        return k <= (self.final_depth if final else self.depth) or (self.whole and not (final and self.reranked))


def lists_of(weighed: Weighed, *, k: int = 1, reranked: bool | None = None) -> Lists:
    """The rankings of a system.

    k          results that count as found: where fewer were returned, candidates do not count as such
    reranked   whether it has a reranker; by default, whether its results are in another order than its candidates
    """
    n_chunks = None if weighed.corpus is None else len(weighed.corpus)
    final = weighed.alignment
    before = final if weighed.candidates is None else _candidates(weighed.candidates, final)
    whole = (n_chunks is not None and before.n_retrieved.max(initial=0) >= n_chunks) or (
        before.n_queries >= _MANY and int((before.n_retrieved == before.n_retrieved.max()).sum()) == 1
    )
    same = before is final or is_head(final, before)
    if same if reranked is None else not reranked:
        shown = before if same and k <= final.n_retrieved.max(initial=0) else final
        return Lists(shown, before if same else final, False, whole and same)
    return Lists(final, before, True, whole)


def _candidates(candidates: Alignment, final: Alignment) -> Alignment:
    """The candidates, and what was returned where a question has none."""
    listed = (candidates.n_retrieved > 0) | (final.n_retrieved == 0)
    before = candidates if listed.all() else by_query(listed, candidates, final)
    return replace(before, missing=final.missing)


def is_head(final: Alignment, before: Alignment) -> bool:
    """True if a list begins with the other, as far as judged documents show."""
    head = before.hit_rank <= final.n_retrieved[before.hit_query]
    return (
        bool((final.n_retrieved <= before.n_retrieved).all())
        and int(head.sum()) == len(final.hit_rank)
        and np.array_equal(before.hit_query[head], final.hit_query)
        and np.array_equal(before.hit_rank[head], final.hit_rank)
        and np.array_equal(before.hit_gain[head], final.hit_gain)
    )


def reversed_lists(a: Alignment) -> Alignment:
    """Every list from its end."""
    rank = a.n_retrieved[a.hit_query] + 1 - a.hit_rank
    order = rank_order(a.hit_query, rank)
    evidence = a.evidence and replace(
        a.evidence,
        pieces=reversed_lists(a.evidence.pieces),
        counted=reversed_lists(a.evidence.counted),
        gold=reversed_lists(a.evidence.gold),
    )
    return replace(a, hit_rank=rank[order], hit_gain=a.hit_gain[order], evidence=evidence, ties=None)


def completed(a: Alignment, k: int) -> Alignment:
    """Lists shorter than k, as if they went on to k with all the gold that they lack, best first."""
    query, rank, gain = [a.hit_query], [a.hit_rank], [a.hit_gain]
    for q in np.flatnonzero(a.n_retrieved < k).tolist():
        ideal = a.ideal_gain[a.ideal_starts[q] : a.ideal_starts[q + 1]]
        left = Counter(ideal[ideal > 0].tolist())
        left.subtract(a.hit_gain[a.starts[q] : a.starts[q + 1]].tolist())
        more = sorted((+left).elements(), reverse=True)[: k - int(a.n_retrieved[q])]
        query.append(np.full(len(more), q))
        rank.append(a.n_retrieved[q] + np.arange(1, len(more) + 1))
        gain.append(np.array(more, float))
    query_of, ranks, gains = np.concatenate(query), np.concatenate(rank), np.concatenate(gain)
    order = rank_order(query_of, ranks)
    evidence = a.evidence and replace(
        a.evidence, pieces=completed(a.evidence.pieces, k), counted=completed(a.evidence.counted, k)
    )
    return replace(
        a, n_retrieved=np.maximum(a.n_retrieved, k), starts=offsets(query_of, a.n_queries), hit_rank=ranks[order],
        hit_gain=gains[order], evidence=evidence, ties=None,
    )  # fmt: skip


def count_gold(a: Alignment, min_gain: float) -> Ints:
    """(q,) relevant documents, or pieces of gold."""
    return np.bincount(a.ideal_query[a.ideal_gain >= min_gain], minlength=a.n_queries)
