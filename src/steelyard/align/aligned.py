"""An alignment put together from hits, and what the run had besides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.data.truth import Truth
from steelyard.measures.alignment import Alignment, Ties, offsets, rank_order

TieBlocks = tuple[Ints, Ints, Ints]
"""(b,) query, (b,) first rank and (b,) size of blocks of ties."""


@dataclass(frozen=True)
class Aligned:
    """An alignment, and how many queries of the run are not in the truth."""

    alignment: Alignment
    n_unjudged_queries: int


def alignments_of(
    truth: Truth, *, query: Ints, rank: Ints, gain: Floats, n_retrieved: Ints, seen: Bools, tied: list[TieBlocks]
) -> list[Alignment]:  # fmt: skip
    """Hits in any order as the alignments of r runs.

    query, rank, gain   (h,) of each judged retrieved document; a query is numbered run * len(truth) + its place
    tied                blocks of ties, in any order
    n_retrieved, seen   (r * q,) documents that each run has for each query, and whether it has the query
    """
    order = rank_order(query, rank)
    starts = offsets(query, len(seen))
    rank, gain, ties = rank[order], gain[order], _ties(tied, len(seen))
    return [
        Alignment(
            query_id=truth.query_ids,
            n_retrieved=n_retrieved[first : first + len(truth)],
            missing=~seen[first : first + len(truth)],
            starts=starts[first : first + len(truth) + 1] - starts[first],
            hit_rank=rank[starts[first] : starts[first + len(truth)]],
            hit_gain=gain[starts[first] : starts[first + len(truth)]],
            ideal_starts=truth.starts,
            ideal_gain=truth.gain,
            ties=ties and ties.part(first, first + len(truth)),
        )
        for first in range(0, len(seen), len(truth))
    ]


def _ties(tied: list[TieBlocks], n_queries: int) -> Ties | None:
    """Blocks of ties in the truth's order, run by run."""
    if not tied:
        return None
    query, first, size = map(np.concatenate, zip(*tied, strict=True))
    order = rank_order(query, first)
    return Ties.of(query[order], first[order], size[order], n_queries)
