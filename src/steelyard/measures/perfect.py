"""The best list that a truth allows, and open ranks and labels settled the best and the worst way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.measures.alignment import Alignment, best_first, by_query, offsets, ordinals, owners, rank_order
from steelyard.measures.graded import gains_of
from steelyard.measures.spec import Measure

OF_IDEALS = frozenset(
    (
        "ndcg",
        "ndcg_rel",
        "rndcg",
        "map",
        "gm_map",
        "r_precision",
        "g",
        "iprec",
        "11pt_avg",
        "bin_g",
        "yaap",
        "ideal_dcg",
    )
)
"""Measures that hold a list against the ideal one of all that is judged."""

_NOT_OF_DOCUMENTS = {"numbers", "pieces", "characters"}


def has_maximum(spec: Measure) -> bool:
    """True if the truth bounds a measure: it looks for relevant documents, and more of them, sooner, are better.

    >>> from steelyard.measures import parse
    >>> [has_maximum(parse(name)) for name in ("recall@5", "n_retrieved", "rbp_residual", "span_recall@5")]
    [True, False, False, False]
    """
    definition = spec.definition
    of_truth = spec.options.get("scope", "truth") == "truth"
    return (
        definition.relevant
        and definition.higher_is_better
        and of_truth
        and not (_NOT_OF_DOCUMENTS & set(definition.inputs))
    )


def perfect_values(spec: Measure, a: Alignment, *, by_pieces: Bools | None = None) -> Floats:
    """(q,) values of a list that holds the relevant documents of the truth, best first, and nothing else.

    by_pieces   (q,) queries whose recall counts gold pieces; a perfect list shows all of them at once, which chunks may
                not allow: their value is an upper bound.  None where the truth names documents
    Returns     NaN where `has_maximum` says no

    >>> from steelyard import parse, weigh
    >>> a = weigh({"q": {"a": 1, "b": 2, "c": 0}}, {"q": ["c"]}).alignments[0]
    >>> [float(perfect_values(parse(name), a)[0]) for name in ("precision@5", "recall@1", "dcg@1", "ndcg@1")]
    [0.4, 0.5, 2.0, 1.0]
    """
    if not has_maximum(spec):
        return np.full(a.n_queries, np.nan)
    return spec(_perfect_list(spec, a, by_pieces))


def _perfect_list(spec: Measure, a: Alignment, by_pieces: Bools | None) -> Alignment:
    options = spec.options
    graded = options.get("gain", "binary") != "binary"
    worth = gains_of(a.ideal_gain, options["gain"]) if graded else np.maximum(a.ideal_gain, 0.0)
    least = options.get("min_gain")
    relevant = a.ideal_gain >= least if isinstance(least, float) and not graded else worth > 0
    order = best_first(worth[relevant], a.ideal_query[relevant])
    query, gain = a.ideal_query[relevant][order], a.ideal_gain[relevant][order]
    starts = offsets(query, a.n_queries)
    listed = replace(
        a, n_retrieved=np.diff(starts), missing=np.zeros(a.n_queries, bool), starts=starts, hit_rank=ordinals(starts),
        hit_gain=gain, ties=None, evidence=None,
    )  # fmt: skip
    if a.evidence is None or by_pieces is None:
        return listed
    pieces = _all_at_once(a.evidence.pieces)
    return replace(listed, evidence=replace(a.evidence, pieces=pieces, counted=by_query(by_pieces, pieces, listed)))


def _all_at_once(pieces: Alignment) -> Alignment:
    return replace(
        pieces,
        starts=pieces.ideal_starts,
        hit_rank=np.ones(len(pieces.ideal_gain), np.int64),
        hit_gain=pieces.ideal_gain,
        ties=None,
    )


def perfect_reranking(a: Alignment, n: int | Ints) -> Alignment:
    """The list as a perfect reranker of its first n would return it; the tail stays where it is.

    Documents come by gain, those judged not relevant behind the unjudged.  Chunks come by the gain of the gold pieces
    that they show first.  For a truth by ids this is exact: no order of the first n has a higher precision, recall,
    hit rate, mrr or ndcg.  Recall of gold pieces is exact where each piece is in one chunk; where chunks share
    pieces, an order that shows a piece later might be better still, so the value is a lower bound of the ceiling.
    Chunks, pieces and gold characters have a best order each; what else is shown beside the gold stays as it was, and
    so do chunks and pieces down to a rank with which chunks hold a piece together.

    n   first documents that are reordered, of all queries or (q,) of each

    >>> from steelyard import weigh
    >>> a = weigh({"q": {"a": 1, "b": 2}}, {"q": ["x", "a", "y", "b"]}).alignments[0]
    >>> perfect_reranking(a, 3).hit_rank.tolist(), perfect_reranking(a, 4).hit_gain.tolist()
    ([1, 4], [2.0, 1.0])
    """
    nothing = np.zeros(a.n_queries, np.int64)
    fixed = nothing if a.evidence is None else a.evidence.together
    evidence = a.evidence and replace(
        a.evidence,
        pieces=_best_first(a.evidence.pieces, n, fixed),
        counted=_best_first(a.evidence.counted, n, fixed),
        gold=_best_first(a.evidence.gold, n, nothing),
    )
    return replace(_best_first(a, n, fixed), evidence=evidence, ties=None)


def _best_first(a: Alignment, n: int | Ints, fixed: Ints) -> Alignment:
    """Places of the first n that hold gains, best first; hits that share a place stay together.

    fixed   (q,) first places that stay as they are
    """
    if not len(a.hit_rank):
        return a
    first = np.ones(len(a.hit_rank), bool)
    first[1:] = (a.hit_rank[1:] != a.hit_rank[:-1]) | (a.hit_query[1:] != a.hit_query[:-1])
    place = np.cumsum(first) - 1
    query, rank = a.hit_query[first], a.hit_rank[first]
    worth = np.bincount(place, np.maximum(a.hit_gain, 0.0))
    n = np.broadcast_to(n, a.n_queries)
    inside, good = (rank > fixed[query]) & (rank <= n[query]), worth > 0
    new = rank.copy()
    front = np.flatnonzero(inside & good)
    front = front[np.lexsort((rank[front], -worth[front], query[front]))]
    new[front] = fixed[query[front]] + _numbered(query[front], a.n_queries)
    back = np.flatnonzero(inside & ~good)
    n_back = np.bincount(query[back], minlength=a.n_queries)
    length = np.minimum(a.n_retrieved, n)
    new[back] = (length - n_back)[query[back]] + _numbered(query[back], a.n_queries)
    order = np.lexsort((new[place], a.hit_query))
    return replace(a, hit_rank=new[place][order], hit_gain=a.hit_gain[order], ties=None)


def _numbered(query: Ints, n: int) -> Ints:
    """Numbers from 1 within each query, of elements sorted by query."""
    starts = offsets(query, n)
    return np.arange(1, len(query) + 1) - starts[:-1][owners(starts)]


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
