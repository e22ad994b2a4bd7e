"""An alignment put together from hits, and what the run had besides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.data.truth import Truth
from steelyard.measures.alignment import Alignment, Ties, offsets

TieBlocks = tuple[Ints, Ints, Ints]
"""(b,) query, (b,) first rank and (b,) size of blocks of ties."""


@dataclass(frozen=True)
class Aligned:
    """An alignment, and how many queries of the run are not in the truth."""

    alignment: Alignment
    n_unjudged_queries: int


def alignment_of(
    truth: Truth, *, query: Ints, rank: Ints, gain: Floats, n_retrieved: Ints, seen: Bools, tied: list[TieBlocks]
) -> Alignment:  # fmt: skip
    """Hits in any order as an alignment.

    query, rank, gain   (h,) of each judged retrieved document;   tied   blocks of ties, in any order
    n_retrieved, seen   (q,) documents that the run has for each query, and whether it has the query
    """
    order = np.lexsort((rank, query))
    return Alignment(
        query_id=truth.query_ids,
        n_retrieved=n_retrieved,
        missing=~seen,
        starts=offsets(query, len(truth)),
        hit_rank=rank[order],
        hit_gain=gain[order],
        ideal_starts=truth.starts,
        ideal_gain=truth.gain,
        ties=_ties(tied, len(truth)),
    )


def _ties(tied: list[TieBlocks], n_queries: int) -> Ties | None:
    """Blocks of ties in the truth's order."""
    if not tied:
        return None
    query, first, size = map(np.concatenate, zip(*tied, strict=True))
    order = np.lexsort((first, query))
    return Ties.of(query[order], first[order], size[order], n_queries)
