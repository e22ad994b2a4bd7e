"""What is not settled about a list, settled the best and the worst way: the order of ties, and unjudged documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.measures.alignment import Alignment, best_first, offsets, ordinals, rank_order


def ties_best(a: Alignment, *, worth: Floats | None = None) -> Alignment:
    """As if of all documents with one score the better ones came first.

    A document without a label is worth 0: those worth less, if any, come after it.  What comes back has no ties, and
    no evidence, since the ranks of gold pieces are not known once tied chunks change places.

    worth   (h,) of each hit; its gain by default
    """
    return _moved(a, a.hit_gain if worth is None else worth, best=True)


def ties_worst(a: Alignment, *, worth: Floats | None = None) -> Alignment:
    """As if of all documents with one score the better ones came last: every block of `ties_best`, turned round."""
    return _moved(a, a.hit_gain if worth is None else worth, best=False)


def _moved(a: Alignment, worth: Floats, *, best: bool) -> Alignment:
    if a.ties is None:
        return replace(a, evidence=None)
    rank = a.hit_rank.copy()
    tied = np.flatnonzero(a.hit_block >= 0)
    tied = tied[np.lexsort((-worth[tied], a.hit_block[tied]))]
    block = a.hit_block[tied]
    n_hits = np.bincount(block, minlength=len(a.ties.first))
    before = ordinals(np.concatenate(([0], np.cumsum(n_hits)))) - 1
    first, size = a.ties.first[block], a.ties.size[block]
    place = np.where(worth[tied] >= 0, before, size - n_hits[block] + before)
    rank[tied] = first + (place if best else size - 1 - place)
    order = rank_order(a.hit_query, rank)
    return replace(a, hit_rank=rank[order], hit_gain=a.hit_gain[order], evidence=None, ties=None)


def unjudged_relevant(a: Alignment, *, gain: float | None = None, k: int | None = None) -> Alignment:
    """As if every retrieved document without a label were judged, and as good as any.

    A label below 0 is none, as for `unjudged` and pool=judged (`judged` alone counts it).  The new labels count among
    the ideal ones as well, so that values stay in their range; what was labelled below 0 keeps that label among them
    too, where no measure counts it unless a gain map says so.  The other extreme, where no such document is relevant,
    is the alignment itself.  With gold evidence nothing is unjudged: a chunk without any is judged by that, and the
    same alignment comes back.

    gain   of these documents; by default the highest of all labels of the truth, or 1 where none is above 0
    k      only those among the first k
    """
    if a.evidence is not None:
        return a
    if gain is None:
        highest = float(a.ideal_gain.max(initial=0.0))
        gain = highest if highest > 0 else 1.0
    labelled = a.keep_hits(a.hit_gain >= 0)
    query, rank = labelled.free_places(k)
    # Below the cut a document without a label keeps what it had.
    rest = np.flatnonzero((a.hit_gain < 0) & (a.hit_rank > (np.inf if k is None else k)))
    query = np.concatenate((labelled.hit_query, a.hit_query[rest], query))
    new = np.full(len(rank), gain)
    rank = np.concatenate((labelled.hit_rank, a.hit_rank[rest], rank))
    gains = np.concatenate((labelled.hit_gain, a.hit_gain[rest], new))
    order = rank_order(query, rank)
    ideal_query = np.concatenate((a.ideal_query, query[len(query) - len(new) :]))
    ideal_gain = np.concatenate((a.ideal_gain, new))
    return replace(
        a,
        starts=offsets(query, a.n_queries),
        hit_rank=rank[order],
        hit_gain=gains[order],
        ideal_starts=offsets(ideal_query, a.n_queries),
        ideal_gain=ideal_gain[best_first(ideal_gain, ideal_query)],
    )
