"""Expected values of measures where documents of one score come in any order, each as likely as another.

A block of n tied documents takes n neighbouring places; a document of it is on each of them with probability 1/n.
The blocks themselves do not move, so everything follows from how a block's relevant documents fall on its places.  A
hit that ties with nothing counts as it always does, by the same operations, so that lists without ties keep their
value to the last bit.

Source: McSherry & Najork, Computing information retrieval performance measures efficiently in the presence of tied
scores, ECIR 2008; cut-offs inside a block are worked out here in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import MeasureError
from steelyard.measures.alignment import Alignment

# Places of a block that are looked at together; a fixed number, so that no value depends on what else is computed.
_SLAB = 64


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks that hold hits, in the order of the list; a hit that ties with nothing is a block of one place.

    of_hit   (h,) the block of each hit
    first    (b,) rank of its first place;   size   (b,) its places;   inside   (b,) those among the first k
    """

    of_hit: Ints
    first: Ints
    size: Ints
    inside: Ints

    @classmethod
    def of(cls, a: Alignment, k: int | None) -> Blocks:
        """The blocks of an alignment, cut at k."""
        block = a.hit_block
        begins = np.ones(len(block), bool)
        begins[1:] = (block[1:] != block[:-1]) | (block[1:] < 0)
        first, size = a.hit_rank[begins], np.ones(int(begins.sum()), np.int64)
        if a.ties is not None:
            tied = np.flatnonzero(block[begins] >= 0)
            first[tied], size[tied] = a.ties.first[block[begins][tied]], a.ties.size[block[begins][tied]]
        inside = size if k is None else np.clip(k - first + 1, 0, size)
        return cls(np.cumsum(begins) - 1, first, size, inside)

    @cached_property
    def tied(self) -> Bools:
        """(h,) hits that tie with another document."""
        return self.size[self.of_hit] > 1

    def count(self, mask: Bools) -> Ints:
        """(b,) hits of the mask in each block."""
        return np.bincount(self.of_hit[mask], minlength=len(self.size))

    def span(self, weight: Callable[[Ints], Floats]) -> Floats:
        """(b,) sum of the weights of the places of each tied block that are among the first k; 0 for other blocks.

        weight   of each of (n,) ranks
        """
        some = (self.size > 1) & (self.inside > 0)
        above = self.first[some] - 1
        last = above + self.inside[some]
        total = np.concatenate(([0.0], np.cumsum(weight(np.arange(1, last.max(initial=0) + 1)))))
        sums = np.zeros(len(some))
        sums[some] = total[last] - total[above]
        return sums


def counted(a: Alignment) -> Alignment:
    """Units that recall counts: the documents themselves.

    Raises   MeasureError where it counts pieces of evidence and chunks tie.
    """
    if a.ties is None or a.evidence is None:
        return a.counted
    theirs = a.evidence.counted
    columns = ("starts", "hit_rank", "hit_gain", "ideal_starts", "ideal_gain")
    if all(np.array_equal(getattr(a, name), getattr(theirs, name)) for name in columns):
        return a
    raise MeasureError(
        "ties=average: recall counts gold pieces here, and their ranks are not known if tied chunks change places; use "
        "ties=canonical, or a measure of chunks such as precision, hit_rate or ndcg"
    )


def n_relevant_in_top(a: Alignment, relevant: Bools, k: int | None) -> Floats:
    """(q,) expected number of relevant documents among the first k.

    relevant   (h,) hits that count as relevant, whatever their rank
    """
    blocks = Blocks.of(a, k)
    return a.per_query(relevant * (blocks.inside / blocks.size)[blocks.of_hit])


def hit_rate(a: Alignment, relevant: Bools, k: int | None) -> Floats:
    """(q,) probability that a relevant document is among the first k.

    That all r relevant documents of a block miss its m places inside is hypergeometric, C(n - r, m) / C(n, m): the
    first misses with probability (n - m) / n, the next one then with (n - m - 1) / (n - 1), and so on.
    """
    blocks = Blocks.of(a, k)
    hit = np.flatnonzero(relevant)
    block = blocks.of_hit[hit]
    before = np.arange(len(hit)) - np.searchsorted(block, block, "left")
    outside = np.maximum(blocks.size[block] - blocks.inside[block] - before, 0)
    none = np.ones(a.n_queries)
    np.multiply.at(none, a.hit_query[hit], outside / (blocks.size[block] - before))
    return 1.0 - none


def reciprocal_rank(a: Alignment, relevant: Bools, k: int | None) -> Floats:
    """(q,) expected reciprocal of the rank of the first relevant document; 0 for orders that have it below k.

    The first relevant document is always one of the first block that holds any.
    """
    blocks = Blocks.of(a, k)
    hit = np.flatnonzero(relevant)
    query, at = np.unique(a.hit_query[hit], return_index=True)
    block = blocks.of_hit[hit[at]]
    value = np.zeros(a.n_queries)
    value[query] = (blocks.inside[block] > 0) / blocks.first[block]
    tied = blocks.size[block] > 1
    own = block[tied]
    value[query[tied]] = _first_of_block(
        blocks.first[own], blocks.size[own], blocks.inside[own], blocks.count(relevant)[own]
    )
    return value


def _first_of_block(first: Ints, size: Ints, inside: Ints, n_relevant: Ints) -> Floats:
    """(b,) expected reciprocal of the rank of a block's first relevant document, 0 where it is not inside.

    Where none is on the places above, place j of n (from 0) is relevant with probability r / (n - j).
    """
    value, none_yet = np.zeros(len(first)), np.ones((len(first), 1))
    first, size, inside, n_relevant = (column[:, None] for column in (first, size, inside, n_relevant))
    for start in range(0, int(inside.max(initial=0)), _SLAB):
        place = start + np.arange(_SLAB)
        left = np.maximum(size - place, n_relevant)
        none = none_yet * np.cumprod((left - n_relevant) / left, axis=1)
        above = np.concatenate((none_yet, none[:, :-1]), axis=1)
        value += np.where(place < inside, above * (n_relevant / left) / (first + place), 0.0).sum(axis=1)
        none_yet = none[:, -1:]
    return value


def precisions(a: Alignment, relevant: Bools, k: int | None) -> Floats:
    """(h,) expected precision at the rank of each relevant hit, 0 for orders that have it below k; 0 for other hits.

    A relevant document on place j of n (from 0) has all relevant ones of higher blocks above it, and of the others
    of its own block, r - 1 on n - 1 places, j (r - 1) / (n - 1).  With s = (r - 1) / (n - 1), and H for the sum of
    1 / rank over the places inside, the mean over its n places is (s m + (above + 1 - s first) H) / n.
    """
    blocks = Blocks.of(a, k)
    n_relevant = blocks.count(relevant)
    so_far = a.so_far(relevant)
    # Hits of a block share what is above the block: what is so far at its first hit, less that hit itself.
    begins = np.flatnonzero(np.diff(blocks.of_hit, prepend=-1))
    above = so_far[begins] - relevant[begins]
    share = (n_relevant - 1) / np.maximum(blocks.size - 1, 1)
    reciprocals = blocks.span(lambda rank: 1.0 / rank)
    expected = (share * blocks.inside + (above + 1 - share * blocks.first) * reciprocals) / blocks.size
    alone = np.where(blocks.inside[blocks.of_hit] > 0, so_far / a.hit_rank, 0.0)
    return np.where(relevant, np.where(blocks.tied, expected[blocks.of_hit], alone), 0.0)


def discounted(a: Alignment, gains: Floats, k: int | None) -> Floats:
    """(h,) expected gain of each hit divided by log2(rank + 1), 0 for orders that have it below k.

    gains   (h,) of the hits
    """
    blocks = Blocks.of(a, k)
    discounts = blocks.span(lambda rank: np.asarray(1.0 / np.log2(rank + 1.0)))
    expected = gains * (discounts / blocks.size)[blocks.of_hit]
    alone = np.where(blocks.inside[blocks.of_hit] > 0, gains, 0.0) / np.log2(a.hit_rank + 1.0)
    return np.where(blocks.tied, expected, alone)
