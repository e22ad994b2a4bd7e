"""Measures of binary relevance that look at where in the list it is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from steelyard.base.arrays import Bools, Floats
from steelyard.measures import ties as tied
from steelyard.measures.alignment import Alignment, ratio, segment_sums
from steelyard.measures.graded import shares_of_highest
from steelyard.measures.parameters import SHARED, TIES, Gain, GainMap, Number, Word
from steelyard.measures.registry import Input, measure
from steelyard.measures.sets import in_top, n_relevant_judged

# Keeps the estimate defined where nothing was judged above a document; Yilmaz & Aslam, CIKM 2006, as in trec_eval.
_INFAP_EPSILON = 0.00001
# Below its exponential, a float is 0.
_LOG_SMALLEST = -745.2
_ELEVEN_LEVELS = [i / 10 for i in range(11)]
_LABELLED: tuple[Input, ...] = ("rankings", "labels")
PERSISTENCE = Number(above=0, below=1, about="how likely the reader goes on to the next document")


def relevant_hits(a: Alignment, k: int | None, min_gain: float) -> Bools:
    """(h,) relevant hits among the first k."""
    return in_top(a, k) & (a.hit_gain >= min_gain)


@measure(
    aliases=("RR", "recip_rank", "reciprocal_rank"),
    source="Kantor & Voorhees 2000; trec_eval recip_rank",
    parameters=TIES,
)
def mrr(a: Alignment, *, k: int | None = None, min_gain: float = 1.0, ties: str = "canonical") -> Floats:
    """Reciprocal of the rank of the first relevant document; 0 where none is among the first k."""
    if ties == "average":
        return tied.reciprocal_rank(a, a.hit_gain >= min_gain, k)
    relevant = relevant_hits(a, k, min_gain)
    first = relevant & (a.so_far(relevant) == 1)
    return a.per_query(first / a.hit_rank)


@measure(
    "map",
    aliases=("AP", "map_cut", "average_precision"),
    source="Buckley & Voorhees 2005; trec_eval map, map_cut",
    parameters=TIES,
)
def average_precision(a: Alignment, *, k: int | None = None, min_gain: float = 1.0, ties: str = "canonical") -> Floats:
    """Precision at the rank of each relevant document among the first k, added up and divided by all relevant ones."""
    return ratio(_precisions(a, k, min_gain, ties), n_relevant_judged(a, min_gain))


@measure(source="sentence-transformers InformationRetrievalEvaluator, MAP@k", parameters=TIES)
def map_cap(a: Alignment, *, k: int | None = None, min_gain: float = 1.0, ties: str = "canonical") -> Floats:
    """As map, divided by the most relevant documents that k places could hold; without k it is map."""
    return ratio(
        _precisions(a, k, min_gain, ties), np.minimum(np.inf if k is None else k, n_relevant_judged(a, min_gain))
    )


def _precisions(a: Alignment, k: int | None, min_gain: float, ties: str) -> Floats:
    """(q,) precision at the rank of each relevant document among the first k, added up."""
    if ties == "average":
        return a.per_query(tied.precisions(a, a.hit_gain >= min_gain, k))
    relevant = relevant_hits(a, k, min_gain)
    return a.per_query(np.where(relevant, a.so_far(relevant) / a.hit_rank, 0.0))


@measure(range=(-np.inf, np.inf), source="Robertson, On Smoothing Average Precision, ECIR 2012; trec_eval yaap")
def yaap(a: Alignment, *, min_gain: float = 1.0) -> Floats:
    """Smoothed average precision: log of (1 + s) / (1 + R - s), where average precision is s / R."""
    relevant = a.hit_gain >= min_gain
    total = a.per_query(np.where(relevant, a.so_far(relevant) / a.hit_rank, 0.0))
    return np.asarray(np.log((1.0 + total) / (1.0 + n_relevant_judged(a, min_gain) - total)))


@measure(source="Robertson, On GMAP, CIKM 2006; trec_eval gm_map", aggregate="geometric")
def gm_map(a: Alignment, *, min_gain: float = 1.0) -> Floats:
    """Average precision, combined over questions by the geometric mean with a floor of 0.00001."""
    return average_precision(a, min_gain=min_gain)


@measure(
    aliases=("Rprec", "Rprec_mult"),
    source="Buckley & Voorhees 2005; trec_eval Rprec, Rprec_mult",
    parameters={"multiple": Number(above=0, about="how many times R is the rank")},
)
def r_precision(a: Alignment, *, multiple: float = 1.0, min_gain: float = 1.0) -> Floats:
    """Precision at rank R, the number of relevant documents (or a multiple of R; add 0.9, round down)."""
    cutoff = np.floor(multiple * n_relevant_judged(a, min_gain) + 0.9)
    inside = (a.hit_gain >= min_gain) & (a.hit_rank <= cutoff[a.hit_query])
    return ratio(a.per_query(inside), cutoff)


def _nonrelevant_above(a: Alignment, min_gain: float) -> Floats:
    return a.so_far((a.hit_gain >= 0) & (a.hit_gain < min_gain)).astype(float)


@measure(source="Buckley & Voorhees, SIGIR 2004; trec_eval bpref", inputs=_LABELLED)
def bpref(a: Alignment, *, min_gain: float = 1.0) -> Floats:
    """Share of judged non-relevant documents that each relevant one outranks; unlabelled ones do not count."""
    relevant = a.hit_gain >= min_gain
    r = n_relevant_judged(a, min_gain)
    nonrelevant = a.per_ideal((a.ideal_gain >= 0) & (a.ideal_gain < min_gain))
    above = np.minimum(_nonrelevant_above(a, min_gain), r[a.hit_query])
    lost = ratio(above, np.minimum(r, nonrelevant)[a.hit_query])
    return ratio(a.per_query(np.where(relevant, 1.0 - lost, 0.0)), r)


@measure(source="trec_eval gm_bpref", aggregate="geometric", inputs=_LABELLED)
def gm_bpref(a: Alignment, *, min_gain: float = 1.0) -> Floats:
    """bpref, combined over questions by the geometric mean with a floor of 0.00001."""
    return bpref(a, min_gain=min_gain)


@measure(source="Yilmaz & Aslam, CIKM 2006; trec_eval infAP", inputs=_LABELLED)
def infap(a: Alignment, *, min_gain: float = 1.0) -> Floats:
    """Average precision inferred from a sampled pool: a negative label means pooled but not judged."""
    relevant = a.hit_gain >= min_gain
    above = a.hit_rank - 1.0
    relevant_above = a.so_far(relevant) - relevant.astype(float)
    nonrelevant_above = _nonrelevant_above(a, min_gain)
    pooled_above = relevant_above + nonrelevant_above + a.so_far(a.hit_gain < 0)
    judged_share = (relevant_above + _INFAP_EPSILON) / (relevant_above + nonrelevant_above + 2 * _INFAP_EPSILON)
    expected = 1.0 / a.hit_rank + above / a.hit_rank * ratio(pooled_above, above) * judged_share
    return ratio(a.per_query(np.where(relevant, expected, 0.0)), n_relevant_judged(a, min_gain))


@measure(
    source="Moffat & Zobel, TOIS 2008; gain=linear: trec_eval 10 rbp",
    parameters={
        "p": PERSISTENCE,
        "gain": Gain(
            words=("binary", "linear", "exp"),
            about="binary is 1 from min_gain on; linear is the label, exp is 2^label - 1, a map names the gain of "
            "labels: as shares of the highest gain of the question, or of the map",
        ),
        "min_gain": replace(SHARED["min_gain"], unless="gain"),
    },
)
def rbp(
    a: Alignment, *, k: int | None = None, p: float = 0.8, gain: str | GainMap = "binary", min_gain: float = 1.0
) -> Floats:
    """Rank-biased precision: what a reader finds who goes on to the next document with probability p."""
    if gain == "binary":
        return (1 - p) * a.per_query(relevant_hits(a, k, min_gain) * p ** (a.hit_rank - 1.0))
    share = np.where(in_top(a, k), shares_of_highest(a, gain), 0.0)
    reached = _reached(p, int(a.hit_rank.max(initial=1)))
    return (1 - p) * a.per_query(share * reached[np.minimum(a.hit_rank, len(reached)) - 1])


def _reached(p: float, depth: int) -> Floats:
    """(d,) how likely a reader gets to rank 1, 2, ..., to the depth or as deep as a float tells from 0.

    Multiplied rank by rank, as trec_eval multiplies.
    """
    steps = np.full(min(depth, int(_LOG_SMALLEST / math.log(p)) + 1), p)
    steps[0] = 1.0
    return np.multiply.accumulate(steps)


@measure(
    source="Moffat & Zobel, TOIS 2008; tail=unjudged: trec_eval 10 rbp_resid",
    aliases=("rbp_resid",),
    relevant=False,
    direction="lower",
    inputs=_LABELLED,
    parameters={
        "p": PERSISTENCE,
        "tail": Word(
            words=("always", "unjudged"),
            about="whether what is beyond the list counts always, or only beside an unjudged document in the list",
        ),
    },
)
def rbp_residual(a: Alignment, *, p: float = 0.8, tail: str = "always") -> Floats:
    """Amount by which rbp could still grow if every document without a label (or beyond the list) were relevant."""
    if tail == "unjudged":
        return _residual_of_unjudged(a, p)
    labelled = (1 - p) * a.per_query((a.hit_gain >= 0) * p ** (a.hit_rank - 1.0))
    return np.where(a.missing, 0.0, 1.0 - labelled)


def _residual_of_unjudged(a: Alignment, p: float) -> Floats:
    """Unjudged places one by one, and the tail where there is any, in the order in which trec_eval adds them."""
    reached = _reached(p, int(a.n_retrieved.max(initial=0)) + 1)
    query, rank = a.keep_hits(a.hit_gain >= 0).free_places(len(reached))
    unjudged = segment_sums(query, reached[rank - 1], a.n_queries)
    beyond = reached[np.minimum(a.n_retrieved, len(reached) - 1)]
    return np.where(unjudged > 0, beyond + (1 - p) * unjudged, 0.0)


@measure(aliases=("iprec_at_recall",), source="Salton & McGill 1983; trec_eval 10 iprec_at_recall")
def iprec(a: Alignment, *, recall: float, min_gain: float = 1.0) -> Floats:
    """Interpolated precision: the best at any rank whose recall reaches the level, rounded to whole documents."""
    relevant = a.hit_gain >= min_gain
    n_relevant = a.so_far(relevant)
    # Half a document rounds up, as in trec_eval 10; version 9 added 0.9 and truncated.
    wanted = np.maximum(np.floor(recall * n_relevant_judged(a, min_gain) + 0.5), 1.0)
    enough = relevant & (n_relevant >= wanted[a.hit_query])
    best = np.zeros(a.n_queries)
    np.maximum.at(best, a.hit_query[enough], n_relevant[enough] / a.hit_rank[enough])
    return best


@measure("11pt_avg", aliases=("11pt",), source="Salton & McGill 1983; trec_eval 10 11pt_avg")
def eleven_point_average(a: Alignment, *, min_gain: float = 1.0) -> Floats:
    """Mean of interpolated precision at the eleven recall levels 0, 0.1, ... 1."""
    total = sum((iprec(a, recall=level, min_gain=min_gain) for level in reversed(_ELEVEN_LEVELS)), np.zeros(1))
    return np.asarray(total / len(_ELEVEN_LEVELS))


@measure("bin_g", aliases=("binG",), source="trec_eval binG")
def binary_g(a: Alignment, *, min_gain: float = 1.0) -> Floats:
    """Mean over relevant documents of 1 / log2(2 + non-relevant documents above); unjudged ones count as such."""
    relevant = a.hit_gain >= min_gain
    others_above = a.hit_rank - a.so_far(relevant)
    return ratio(a.per_query(relevant / np.log2(2.0 + others_above)), n_relevant_judged(a, min_gain))
