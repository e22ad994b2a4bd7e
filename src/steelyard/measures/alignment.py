"""The small table that every measure is computed from, and the views that change what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from steelyard.arrays import Bools, Floats, Ints


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
    """

    query_id: Sequence[str]
    n_retrieved: Ints
    missing: Bools
    starts: Ints
    hit_rank: Ints
    hit_gain: Floats
    ideal_starts: Ints
    ideal_gain: Floats

    @property
    def n_queries(self) -> int:
        """Queries of the truth."""
        return len(self.query_id)

    @cached_property
    def hit_query(self) -> Ints:
        """(h,) the query that owns each hit."""
        return owners(self.starts)

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
        """The same table with fewer hits; ranks stay as they are."""
        starts = np.concatenate(([0], np.cumsum(mask, dtype=np.int64)))[self.starts]
        return replace(self, starts=starts, hit_rank=self.hit_rank[mask], hit_gain=self.hit_gain[mask])

    def top(self, k: int) -> Alignment:
        """As if the system had returned k documents at most."""
        return replace(self.keep_hits(self.hit_rank <= k), n_retrieved=np.minimum(self.n_retrieved, k))

    def condensed(self) -> Alignment:
        """The condensed list: documents without a label, and those labelled below 0, are removed (trec_eval -J).

        Source: Sakai, Alternatives to Bpref, SIGIR 2007.
        """
        kept = self.keep_hits(self.hit_gain >= 0)
        return replace(kept, hit_rank=ordinals(kept.starts), n_retrieved=np.diff(kept.starts))

    def retrieved_only(self) -> Alignment:
        """As if nothing but the retrieved documents had ever been judged: denominators from the list itself."""
        best_first = np.lexsort((-self.hit_gain, self.hit_query))
        return replace(self, ideal_starts=self.starts, ideal_gain=self.hit_gain[best_first])


def owners(starts: Ints) -> Ints:
    """(n,) the segment that owns each element, from (s + 1,) offsets."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


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
