"""The small table that every measure is computed from, and the views that change what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import MeasureError


@dataclass(frozen=True, eq=False)
class Alignment:
    """One system against one truth, sorted by query, then rank.

    query_id      q ids: every query of the truth, ascending by UTF-8 bytes
    n_retrieved   (q,) how many documents the system returned; 0 where it returned nothing
    missing       (q,) True where the query is absent from the run
    starts        (q + 1,) offsets: query i owns hits starts[i]:starts[i + 1], which may be empty
    hit_rank      (h,) rank from 1 in the canonical order, of each judged retrieved document
    hit_gain      (h,) its gain; judged 0 and negative gains are kept
    ideal_starts  (q + 1,) the same offsets into ideal_gain
    ideal_gain    (j,) all judged gains of each query, best first
    evidence      the same system against the gold pieces themselves; None where the truth names documents by id
    ties          places whose documents have one score; None where no two scores tie, or nobody knows whether they do
    """

    query_id: Sequence[str]
    n_retrieved: Ints
    missing: Bools
    starts: Ints
    hit_rank: Ints
    hit_gain: Floats
    ideal_starts: Ints
    ideal_gain: Floats
    evidence: Evidence | None = None
    ties: Ties | None = None

    @property
    def n_queries(self) -> int:
        """Queries of the truth."""
        return len(self.query_id)

    @property
    def pieces(self) -> Alignment:
        """The gold pieces, each at the first rank whose chunk holds it; the documents themselves without evidence."""
        return self if self.evidence is None else self.evidence.pieces

    @property
    def counted(self) -> Alignment:
        """What recall counts: relevant chunks, or gold pieces where the relevant chunks cannot all be known."""
        return self if self.evidence is None else self.evidence.counted

    @cached_property
    def hit_query(self) -> Ints:
        """(h,) the query that owns each hit."""
        return owners(self.starts)

    @cached_property
    def hit_block(self) -> Ints:
        """(h,) the block of ties that holds each hit, or -1 for a hit that ties with nothing."""
        if self.ties is None:
            return np.full(len(self.hit_rank), -1)
        ties = self.ties
        span = max(int(self.hit_rank.max(initial=0)), int(ties.first.max(initial=0))) + 1
        begin = ties.query * span + ties.first
        block = np.searchsorted(begin, self.hit_query * span + self.hit_rank, side="right") - 1
        known = np.flatnonzero(block >= 0)
        own = block[known]
        beyond = self.hit_rank[known] >= ties.first[own] + ties.size[own]
        block[known[(ties.query[own] != self.hit_query[known]) | beyond]] = -1
        return block

    @cached_property
    def ideal_query(self) -> Ints:
        """(j,) the query that owns each judged gain."""
        return owners(self.ideal_starts)

    def per_query(self, weights: npt.NDArray[np.generic]) -> Floats:
        """(q,) sum of one weight per hit, added in rank order, as trec_eval adds."""
        return segment_sums(self.hit_query, weights, self.n_queries)

    def per_ideal(self, weights: npt.NDArray[np.generic]) -> Floats:
        """(q,) sum of one weight per judged document, best first."""
        return segment_sums(self.ideal_query, weights, self.n_queries)

    def so_far(self, mask: Bools) -> Ints:
        """(h,) how many hits of the mask stand at or above each hit, within its query."""
        running = np.cumsum(mask, dtype=np.int64)
        if self.n_queries == 1:
            return running
        before = np.concatenate(([0], running))[self.starts[:-1]]
        return running - before[self.hit_query]

    def keep_hits(self, mask: Bools) -> Alignment:
        """The same table with fewer hits; ranks stay as they are, and so do the ties, which are of places."""
        starts = np.concatenate(([0], np.cumsum(mask, dtype=np.int64)))[self.starts]
        return replace(self, starts=starts, hit_rank=self.hit_rank[mask], hit_gain=self.hit_gain[mask])

    def top(self, k: int) -> Alignment:
        """As if the system had returned k documents at most; of a block of ties, what stands above the cut is left."""
        kept = self.keep_hits(self.hit_rank <= k)
        evidence = self.evidence and self.evidence.each(lambda a: a.top(k))
        ties = self.ties and self.ties.top(k)
        return replace(kept, n_retrieved=np.minimum(self.n_retrieved, k), evidence=evidence, ties=ties)

    def condensed(self) -> Alignment:
        """The condensed list: documents without a label, and those labelled below 0, are removed (trec_eval -J).

        What tied still ties: of each block of ties the documents that stay are a block of the condensed list.
        Raises   MeasureError for evidence: a chunk that holds none of it is known not to be relevant.
        Source: Sakai, Alternatives to Bpref, SIGIR 2007.
        """
        if self.evidence is not None:
            raise MeasureError(
                "pool=judged has no meaning for gold evidence: every chunk without any is judged by that"
            )
        kept = self.keep_hits(self.hit_gain >= 0)
        rank, block = ordinals(kept.starts), self.hit_block[self.hit_gain >= 0]
        tied = np.flatnonzero(block >= 0)
        _, first, size = np.unique(block[tied], return_index=True, return_counts=True)
        first, size = tied[first[size > 1]], size[size > 1]
        ties = Ties.of(kept.hit_query[first], rank[first], size, self.n_queries)
        return replace(kept, hit_rank=rank, n_retrieved=np.diff(kept.starts), ties=ties)

    def retrieved_only(self) -> Alignment:
        """As if nothing but the retrieved documents had ever been judged: denominators from the list itself."""
        best_first = np.lexsort((-self.hit_gain, self.hit_query))
        evidence = self.evidence and self.evidence.each(Alignment.retrieved_only)
        return replace(self, ideal_starts=self.starts, ideal_gain=self.hit_gain[best_first], evidence=evidence)


@dataclass(frozen=True, eq=False)
class Ties:
    """Blocks of places of the canonical list whose documents have one score, sorted by query, then rank.

    Only the documents' ids settle the order inside a block.  Blocks that begin below rank 1000 and hold no judged
    document are left out: no measure can see them, and a run may have very many.

    starts   (q + 1,) offsets: query i owns blocks starts[i]:starts[i + 1]
    first    (b,) rank from 1 of the first document of each block
    size     (b,) how many documents the block has, 2 or more
    """

    starts: Ints
    first: Ints
    size: Ints

    @classmethod
    def of(cls, query: Ints, first: Ints, size: Ints, n_queries: int) -> Ties | None:
        """Blocks sorted by query and rank, from the query of each; None where there is none."""
        if not len(first):
            return None
        return cls(np.concatenate(([0], np.cumsum(np.bincount(query, minlength=n_queries)))), first, size)

    @cached_property
    def query(self) -> Ints:
        """(b,) the query that owns each block."""
        return owners(self.starts)

    def top(self, k: int) -> Ties | None:
        """What the first k places have of the blocks."""
        size = np.minimum(self.size, k - self.first + 1)
        kept = size > 1
        return Ties.of(self.query[kept], self.first[kept], size[kept], len(self.starts) - 1)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Gold pieces and their characters as alignments of their own: recall over them needs no other arithmetic.

    They have no ties, whatever the chunks have: a piece stands where the first chunk that holds it stands, so a block
    of tied chunks is no block of pieces that could change places.

    pieces    a document is a gold piece (or a group of alternatives): its rank is the first one whose chunk holds it
    counted   what recall counts, query by query: relevant chunks or gold pieces
    gold      a document is a stretch of gold characters, its gain their number, its rank the first that shows them
    shown     the same for all characters of the retrieved chunks, each counted once
    placed    (q,) whether the characters of a query's gold are known; gold and shown tell nothing of other queries
    """

    pieces: Alignment
    counted: Alignment
    gold: Alignment
    shown: Alignment
    placed: Bools

    def each(self, change: Callable[[Alignment], Alignment]) -> Evidence:
        """The same with every alignment changed."""
        pieces, counted, gold, shown = map(change, (self.pieces, self.counted, self.gold, self.shown))
        return Evidence(pieces, counted, gold, shown, self.placed)


def owners(starts: Ints) -> Ints:
    """(n,) the segment that owns each element, from (s + 1,) offsets."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def offsets(owner: Ints, n: int) -> Ints:
    """(n + 1,) offsets of n segments, from the owner of each element."""
    return np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=n))))


def by_query(chosen: Bools, yes: Alignment, no: Alignment) -> Alignment:
    """Query by query, one alignment or the other; ties are forgotten."""
    parts = [(yes, chosen), (no, ~chosen)]
    evidence = None
    if yes.evidence is not None and no.evidence is not None:
        ours, theirs = yes.evidence, no.evidence
        evidence = Evidence(
            pieces=by_query(chosen, ours.pieces, theirs.pieces),
            counted=by_query(chosen, ours.counted, theirs.counted),
            gold=by_query(chosen, ours.gold, theirs.gold),
            shown=by_query(chosen, ours.shown, theirs.shown),
            placed=np.where(chosen, ours.placed, theirs.placed),
        )
    hits = np.concatenate([a.hit_query[kept[a.hit_query]] for a, kept in parts])
    rank = np.concatenate([a.hit_rank[kept[a.hit_query]] for a, kept in parts])
    gain = np.concatenate([a.hit_gain[kept[a.hit_query]] for a, kept in parts])
    ideals = np.concatenate([a.ideal_query[kept[a.ideal_query]] for a, kept in parts])
    best = np.concatenate([a.ideal_gain[kept[a.ideal_query]] for a, kept in parts])
    by_hit, by_ideal = np.lexsort((rank, hits)), np.lexsort((-best, ideals))
    return replace(
        yes, n_retrieved=np.where(chosen, yes.n_retrieved, no.n_retrieved), starts=offsets(hits, yes.n_queries),
        hit_rank=rank[by_hit], hit_gain=gain[by_hit], ideal_starts=offsets(ideals, yes.n_queries),
        ideal_gain=best[by_ideal], evidence=evidence, ties=None,
    )  # fmt: skip


def segment_sums(owner: Ints, weights: npt.ArrayLike, n: int) -> Floats:
    """(n,) sum of the weights of each owner, added one by one in their order."""
    return np.bincount(owner, weights=np.asarray(weights, float), minlength=n).astype(float, copy=False)


def ordinals(starts: Ints) -> Ints:
    """(n,) position from 1 of each element within its segment, from (s + 1,) offsets."""
    return np.arange(1, starts[-1] + 1) - np.repeat(starts[:-1], np.diff(starts))


def ratio(part: npt.ArrayLike, whole: npt.ArrayLike) -> Floats:
    """part / whole, and 0 where there is nothing to divide by."""
    part, whole = np.broadcast_arrays(np.asarray(part, float), np.asarray(whole, float))
    return np.asarray(np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0))
