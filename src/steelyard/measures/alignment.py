"""The small table that every measure is computed from, and the views that change it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError, MeasureError
from steelyard.base.short_repr import plural

_STACKED_HITS = 1 << 15


@dataclass(frozen=True, repr=False, eq=False)
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
    ties          places whose documents have one score; None where no two scores tie, or whether they do is not known
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

    def __repr__(self) -> str:
        return f"Alignment({plural(len(self.query_id), 'question')}, {plural(len(self.hit_rank), 'judged result')})"

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
        """Units that recall counts: relevant chunks, or gold pieces where the relevant chunks cannot all be known."""
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
        preceded = np.flatnonzero(block >= 0)
        own = block[preceded]
        beyond = self.hit_rank[preceded] >= ties.first[own] + ties.size[own]
        block[preceded[(ties.query[own] != self.hit_query[preceded]) | beyond]] = -1
        return block

    @cached_property
    def ideal_query(self) -> Ints:
        """(j,) the query that owns each judged gain."""
        return owners(self.ideal_starts)

    @classmethod
    def concat(cls, parts: Iterable[Alignment]) -> Alignment:
        """The queries of several alignments of one system as one alignment, ascending by UTF-8 bytes.

        Equal to the bit to the alignment of all these queries at once, evidence and ties included.
        Raises   InputError where there is no part, a query is in two parts, or only some parts have evidence.
        """
        parts = list(parts)
        if not parts:
            raise InputError("there are no alignments to put together; pass one or several")
        if len({part.evidence is None for part in parts}) > 1:
            raise InputError("some alignments have gold evidence and others have none; align all of them the same way")
        one_after_another = stacked(parts)
        order = sorted(range(one_after_another.n_queries), key=one_after_another.query_id.__getitem__)
        together = one_after_another.take(np.array(order, np.int64))
        twice = next((a for a, b in pairwise(together.query_id) if a == b), None)
        if twice is not None:
            raise InputError(f"question {twice!r} is in two alignments; put together parts that share no question")
        return together

    def take(self, queries: Ints) -> Alignment:
        """Some queries, by their places, in the order of these."""
        starts, hits = _elements(self.starts, queries)
        ideal_starts, ideal = _elements(self.ideal_starts, queries)
        evidence = self.evidence and self.evidence.map(lambda a: a.take(queries)).of_queries(queries)
        return Alignment(
            query_id=[self.query_id[q] for q in queries.tolist()],
            n_retrieved=self.n_retrieved[queries],
            missing=self.missing[queries],
            starts=starts,
            hit_rank=self.hit_rank[hits],
            hit_gain=self.hit_gain[hits],
            ideal_starts=ideal_starts,
            ideal_gain=self.ideal_gain[ideal],
            evidence=evidence,
            ties=self.ties and self.ties.take(queries),
        )

    def per_query(self, weights: npt.NDArray[np.generic]) -> Floats:
        """(q,) sum of one weight per hit, added in rank order, as trec_eval adds."""
        return segment_sums(self.hit_query, weights, self.n_queries)

    def per_ideal(self, weights: npt.NDArray[np.generic]) -> Floats:
        """(q,) sum of one weight per judged document, best first."""
        return segment_sums(self.ideal_query, weights, self.n_queries)

    def so_far(self, mask: Bools) -> Ints:
        """(h,) how many hits of the mask are at or above each hit, within its query."""
        running = np.cumsum(mask, dtype=np.int64)
        if self.n_queries == 1:
            return running
        before = np.concatenate(([0], running))[self.starts[:-1]]
        return running - before[self.hit_query]

    def keep_hits(self, mask: Bools) -> Alignment:
        """The same table with fewer hits; ranks stay as they are, and so do the ties, which are of places."""
        starts = np.concatenate(([0], np.cumsum(mask, dtype=np.int64)))[self.starts]
        return replace(self, starts=starts, hit_rank=self.hit_rank[mask], hit_gain=self.hit_gain[mask])

    def free_places(self, k: int | None) -> tuple[Ints, Ints]:
        """Query and rank of every place among the first k that no hit has, by query, then rank."""
        length = self.n_retrieved if k is None else np.minimum(self.n_retrieved, k)
        starts = np.concatenate(([0], np.cumsum(length)))
        free = np.ones(starts[-1], bool)
        inside = self.hit_rank <= length[self.hit_query]
        free[starts[self.hit_query[inside]] + self.hit_rank[inside] - 1] = False
        return owners(starts)[free], ordinals(starts)[free]

    def top(self, k: int) -> Alignment:
        """As if the system had returned k documents at most; of a block of ties, what is above the cut is left."""
        top = self.keep_hits(self.hit_rank <= k)
        evidence = self.evidence and self.evidence.map(lambda a: a.top(k))
        ties = self.ties and self.ties.top(k)
        return replace(top, n_retrieved=np.minimum(self.n_retrieved, k), evidence=evidence, ties=ties)

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
        labelled = self.keep_hits(self.hit_gain >= 0)
        rank, block = ordinals(labelled.starts), self.hit_block[self.hit_gain >= 0]
        tied = np.flatnonzero(block >= 0)
        _, first, size = np.unique(block[tied], return_index=True, return_counts=True)
        first, size = tied[first[size > 1]], size[size > 1]
        ties = Ties.of(labelled.hit_query[first], rank[first], size, self.n_queries)
        return replace(labelled, hit_rank=rank, n_retrieved=np.diff(labelled.starts), ties=ties)

    def retrieved_only(self) -> Alignment:
        """As if nothing but the retrieved documents had ever been judged: denominators from the list itself."""
        order = best_first(self.hit_gain, self.hit_query)
        evidence = self.evidence and self.evidence.map(Alignment.retrieved_only)
        return replace(self, ideal_starts=self.starts, ideal_gain=self.hit_gain[order], evidence=evidence)


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
        return cls(offsets(query, n_queries), first, size)

    @cached_property
    def query(self) -> Ints:
        """(b,) the query that owns each block."""
        return owners(self.starts)

    def take(self, queries: Ints) -> Ties | None:
        """The blocks of some queries, by their places, in the order of these."""
        starts, blocks = _elements(self.starts, queries)
        return Ties(starts, self.first[blocks], self.size[blocks]) if len(blocks) else None

    def part(self, first: int, last: int) -> Ties | None:
        """The blocks of the queries from the first place up to the last."""
        blocks = slice(self.starts[first], self.starts[last])
        starts = self.starts[first : last + 1] - self.starts[first]
        return Ties(starts, self.first[blocks], self.size[blocks]) if starts[-1] else None

    def top(self, k: int) -> Ties | None:
        """Blocks cut at the first k places."""
        size = np.minimum(self.size, k - self.first + 1)
        left = size > 1
        return Ties.of(self.query[left], self.first[left], size[left], len(self.starts) - 1)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Gold pieces and their characters as alignments of their own: recall over them needs no other arithmetic.

    They have no ties, whatever the chunks have: a piece has the first rank down to which chunks hold it, so a block of
    tied chunks is no block of pieces that could change places.

    pieces    a document is a gold piece (or a group of alternatives): its rank is the first with which it is held
    counted   what recall counts, query by query: relevant chunks or gold pieces
    gold      a document is a stretch of gold characters, its gain their number, its rank the first that shows them
    shown     the same for all characters of the retrieved chunks, each counted once
    placed    (q,) whether the characters of a query's gold are known; gold and shown hold nothing for other queries
    together  (q,) the last rank with which chunks hold a piece together of which none of them has enough; 0 without
    """

    pieces: Alignment
    counted: Alignment
    gold: Alignment
    shown: Alignment
    placed: Bools
    together: Ints

    def map(self, change: Callable[[Alignment], Alignment]) -> Evidence:
        """The same with every alignment changed."""
        pieces, counted, gold, shown = map(change, (self.pieces, self.counted, self.gold, self.shown))
        return Evidence(pieces, counted, gold, shown, self.placed, self.together)

    def of_queries(self, queries: Ints) -> Evidence:
        """The same with what is not in alignments of some queries, by their places."""
        return replace(self, placed=self.placed[queries], together=self.together[queries])


def owners(starts: Ints) -> Ints:
    """(n,) the segment that owns each element, from (s + 1,) offsets."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def offsets(owner: Ints, n: int) -> Ints:
    """(n + 1,) offsets of n segments, from the owner of each element."""
    return np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=n))))


def by_query(mask: Bools, yes: Alignment, no: Alignment) -> Alignment:
    """Query by query, one alignment where the mask holds and the other elsewhere; ties are left out."""
    if yes.evidence is None or no.evidence is None:
        yes, no = replace(yes, evidence=None), replace(no, evidence=None)
    both = stacked([replace(yes, ties=None), replace(no, ties=None)])
    return both.take(np.arange(yes.n_queries) + np.where(mask, 0, yes.n_queries))


def stacked(parts: Sequence[Alignment]) -> Alignment:
    """The queries of several alignments one after another, whatever their ids are."""
    if len(parts) == 1:
        return parts[0]
    evidence = [part.evidence for part in parts if part.evidence is not None]
    n_before = np.cumsum([0, *(part.n_queries for part in parts)])
    tied = [(part.ties, n) for part, n in zip(parts, n_before[:-1], strict=True) if part.ties is not None]
    return Alignment(
        query_id=[query_id for part in parts for query_id in part.query_id],
        n_retrieved=np.concatenate([part.n_retrieved for part in parts]),
        missing=np.concatenate([part.missing for part in parts]),
        starts=_stacked_offsets([part.starts for part in parts]),
        hit_rank=np.concatenate([part.hit_rank for part in parts]),
        hit_gain=np.concatenate([part.hit_gain for part in parts]),
        ideal_starts=_stacked_offsets([part.ideal_starts for part in parts]),
        ideal_gain=np.concatenate([part.ideal_gain for part in parts]),
        evidence=_stacked_evidence(evidence) if evidence else None,
        ties=Ties.of(
            np.concatenate([ties.query + n for ties, n in tied]), np.concatenate([ties.first for ties, _ in tied]),
            np.concatenate([ties.size for ties, _ in tied]), int(n_before[-1]),
        ) if tied else None,
    )  # fmt: skip


def stacks(alignments: Iterable[Alignment]) -> Iterator[list[Alignment]]:
    """Alignments that follow one another and have one truth, few enough for arrays that stay in a processor's cache.

    What a function finds for the queries of one of them it also finds where they are `stacked`, in one call for all.
    """
    stack: list[Alignment] = []
    n_hits = 0
    for a in alignments:
        alike = bool(stack) and a.ideal_gain is stack[0].ideal_gain and a.evidence is stack[0].evidence
        if stack and not (alike and n_hits + len(a.hit_rank) <= _STACKED_HITS):
            yield stack
            stack, n_hits = [], 0
        stack.append(a)
        n_hits += len(a.hit_rank)
    if stack:
        yield stack


def _stacked_evidence(parts: Sequence[Evidence]) -> Evidence:
    pieces, counted, gold, shown = (
        stacked([getattr(part, name) for part in parts]) for name in ("pieces", "counted", "gold", "shown")
    )
    placed, together = (np.concatenate([getattr(part, name) for part in parts]) for name in ("placed", "together"))
    return Evidence(pieces, counted, gold, shown, placed, together)


def _stacked_offsets(starts: Sequence[Ints]) -> Ints:
    return np.concatenate(([0], np.cumsum(np.concatenate([np.diff(part) for part in starts]))))


def _elements(starts: Ints, segments: Ints) -> tuple[Ints, Ints]:
    """(s + 1,) offsets of some segments put one after another, and (n,) where their elements are now."""
    counts = np.diff(starts)[segments]
    ends = np.cumsum(counts)
    return np.concatenate(([0], ends)), np.arange(counts.sum()) + np.repeat(starts[segments] - ends + counts, counts)


def rank_order(query: Ints, rank: Ints) -> Ints:
    """(n,) the order of rows by query, then rank; one stable sort of both as a number, as most are in order already."""
    return np.argsort(query * (rank.max(initial=0) + 1) + rank, kind="stable")


def best_first(gain: Floats, query: Ints) -> Ints:
    """(n,) the order of elements by query, then gain, best first; equal ones keep their order."""
    n, levels = len(gain), np.unique(gain)
    if (int(query.max(initial=0)) + 1) * len(levels) * n > np.iinfo(np.int64).max:
        return np.lexsort((-gain, query))
    # All three as one number, and its own row the last: no two are equal, so the quickest sort is a stable one.
    keys = (query * len(levels) + (len(levels) - 1 - np.searchsorted(levels, gain))) * n + np.arange(n)
    keys.sort()
    return keys % max(n, 1)


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
