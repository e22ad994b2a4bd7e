"""Measures of the top k as a set: how much of it is relevant, and how much of the relevant is in it."""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Bools, Floats
from steelyard.measures import ties as tied
from steelyard.measures.alignment import Alignment, ratio
from steelyard.measures.parameters import TIES, Number
from steelyard.measures.registry import measure


def in_top(a: Alignment, k: int | None) -> Bools:
    """(h,) hits among the first k."""
    return np.ones(len(a.hit_rank), bool) if k is None else a.hit_rank <= k


def n_relevant_in_top(a: Alignment, k: int | None, min_gain: float, ties: str = "canonical") -> Floats:
    """(q,) relevant documents among the first k; the expected number under ties="average"."""
    if ties == "average":
        return tied.n_relevant_in_top(a, a.hit_gain >= min_gain, k)
    return a.per_query(in_top(a, k) & (a.hit_gain >= min_gain))


def n_relevant_judged(a: Alignment, min_gain: float) -> Floats:
    """(q,) relevant documents of the truth, retrieved or not: R."""
    return a.per_ideal(a.ideal_gain >= min_gain)


def depth(a: Alignment, k: int | None) -> Floats:
    """(q,) what precision divides by: k, even beyond the end of the list, or the whole list."""
    return a.n_retrieved.astype(float) if k is None else np.full(a.n_queries, float(k))


@measure(aliases=("P", "set_P", "SetP"), source="Cleverdon 1967; trec_eval P, set_P", parameters=TIES)
def precision(a: Alignment, *, k: int | None = None, min_gain: float = 1.0, ties: str = "canonical") -> Floats:
    """Share of the first k documents that are relevant; k divides even where fewer were retrieved."""
    return ratio(n_relevant_in_top(a, k, min_gain, ties), depth(a, k))


@measure(aliases=("R", "set_recall", "SetR"), source="Cleverdon 1967; trec_eval recall, set_recall", parameters=TIES)
def recall(a: Alignment, *, k: int | None = None, min_gain: float = 1.0, ties: str = "canonical") -> Floats:
    """Share of the relevant documents that are among the first k; for gold given as texts, share of these texts."""
    counted = tied.counted(a) if ties == "average" else a.counted
    return ratio(n_relevant_in_top(counted, k, min_gain, ties), n_relevant_judged(counted, min_gain))


@measure(
    aliases=("set_F", "SetF"),
    source="van Rijsbergen, Information Retrieval, 1979",
    parameters=TIES
    | {
        "beta": Number(above=0, at_most=1e6, about="how much recall counts, precision being 1", unless="beta_squared"),
        "beta_squared": Number(above=0, at_most=1e12, about="the square of beta, which trec_eval and ir_measures name"),
    },
)
def f(
    a: Alignment, *, k: int | None = None, beta: float = 1.0, beta_squared: float = 1.0, min_gain: float = 1.0,
    ties: str = "canonical",
) -> Floats:  # fmt: skip
    """Weighted harmonic mean of precision@k and recall@k; recall counts beta times as much."""
    # Both have what was found as numerator, and so has their mean, over a fixed sum: expected values may be put in.
    p, r = precision(a, k=k, min_gain=min_gain, ties=ties), recall(a, k=k, min_gain=min_gain, ties=ties)
    x = beta_squared if beta_squared != 1 else beta**2
    return ratio((1 + x) * p * r, x * p + r)


@measure(source="van Rijsbergen, Information Retrieval, 1979", parameters=TIES)
def f1(a: Alignment, *, k: int | None = None, min_gain: float = 1.0, ties: str = "canonical") -> Floats:
    """Harmonic mean of precision@k and recall@k."""
    return f(a, k=k, min_gain=min_gain, ties=ties)


@measure(aliases=("success", "coverage", "hits"), source="trec_eval success", parameters=TIES)
def hit_rate(a: Alignment, *, k: int | None = None, min_gain: float = 1.0, ties: str = "canonical") -> Floats:
    """1 where any relevant document is among the first k, else 0."""
    if ties == "average":
        return tied.hit_rate(a, a.hit_gain >= min_gain, k)
    return (n_relevant_in_top(a, k, min_gain) > 0).astype(float)


@measure(aliases=("relative_P", "set_relative_P", "SetRelP"), source="trec_eval relative_P; BEIR recall_cap")
def recall_cap(a: Alignment, *, k: int | None = None, min_gain: float = 1.0) -> Floats:
    """Relevant documents among the first k, divided by the most that k places could hold."""
    most = np.minimum(depth(a, k), n_relevant_judged(a.counted, min_gain))
    # One chunk may hold several gold texts, so that more are found than there are places.
    return np.minimum(ratio(n_relevant_in_top(a.counted, k, min_gain), most), 1.0)


@measure(source="trec_eval set_map", aliases=("SetAP",))
def set_map(a: Alignment, *, k: int | None = None, min_gain: float = 1.0) -> Floats:
    """Precision times recall of the retrieved set: average precision of a list whose order is unknown."""
    n_relevant, n_counted = n_relevant_in_top(a, k, min_gain), n_relevant_in_top(a.counted, k, min_gain)
    return ratio(n_relevant * n_counted, depth(a, k) * n_relevant_judged(a.counted, min_gain))


@measure(source="Sakai, SIGIR 2007; ir_measures Judged", relevant=False)
def judged(a: Alignment, *, k: int | None = None) -> Floats:
    """Share of the first k retrieved documents that have a label, whatever it is; 0 where nothing was retrieved.

    Gold evidence judges every chunk: one that holds none is not relevant.
    """
    seen = a.n_retrieved if k is None else np.minimum(a.n_retrieved, k)
    return ratio(seen if a.evidence is not None else a.per_query(in_top(a, k)), seen)


@measure(aliases=("unj",), source="trec_eval 10 unj", relevant=False, direction="lower")
def unjudged(a: Alignment, *, k: int | None = None) -> Floats:
    """Share of k places that hold a document without a label or with one below 0; 0 where nothing was retrieved."""
    if a.evidence is not None:
        return np.zeros(a.n_queries)
    seen = a.n_retrieved if k is None else np.minimum(a.n_retrieved, k)
    return ratio(seen - a.per_query(in_top(a, k) & (a.hit_gain >= 0)), depth(a, k))


@measure(
    range=(-np.inf, np.inf),
    source="trec_eval utility",
    relevant=False,
    parameters={
        "tp": Number(about="what a relevant document in the list is worth"),
        "fp": Number(about="what another document in the list is worth"),
        "fn": Number(about="what a relevant document outside of the list is worth"),
        "tn": Number(about="what another document outside of the list is worth"),
        "n_docs": Number(about="how many documents there are in all"),
    },
)
def utility(
    a: Alignment, *, tp: float = 1.0, fp: float = -1.0, fn: float = 0.0, tn: float = 0.0, n_docs: float = 0.0,
    min_gain: float = 1.0,
) -> Floats:  # fmt: skip
    """Weighted sum of the four cells: relevant retrieved, other retrieved, relevant left, other left (of n_docs)."""
    hits, r, n = n_relevant_in_top(a, None, min_gain), n_relevant_judged(a, min_gain), a.n_retrieved
    value = tp * hits + fp * (n - hits) + fn * (r - hits) + tn * (n_docs + hits - n - r)
    return np.where(a.missing, 0.0, value)


@measure(aliases=("num_q", "NumQ"), source="trec_eval num_q", aggregate="total", relevant=False)
def n_queries(a: Alignment) -> Floats:
    """1 where the run has the question, else 0: on average the share that it has, in total their number."""
    return (~a.missing).astype(float)


@measure(
    aliases=("num_ret", "NumRet"), range=(0, np.inf), source="trec_eval num_ret", aggregate="total", relevant=False
)
def n_retrieved(a: Alignment, *, k: int | None = None) -> Floats:
    """How many documents were retrieved."""
    return np.minimum(a.n_retrieved, np.inf if k is None else k).astype(float)


@measure(
    aliases=("num_rel", "NumRel"), range=(0, np.inf), source="trec_eval num_rel", aggregate="total", relevant=False
)
def n_relevant(a: Alignment, *, min_gain: float = 1.0) -> Floats:
    """How many documents of the truth are relevant."""
    return n_relevant_judged(a, min_gain)


@measure(aliases=("num_rel_ret", "NumRelRet"), range=(0, np.inf), source="trec_eval num_rel_ret", aggregate="total",
         relevant=False)  # fmt: skip
def n_relevant_retrieved(a: Alignment, *, k: int | None = None, min_gain: float = 1.0) -> Floats:
    """How many relevant documents were retrieved."""
    return n_relevant_in_top(a, k, min_gain)


@measure(aliases=("num_nonrel_judged_ret",), range=(0, np.inf), source="trec_eval num_nonrel_judged_ret",
         aggregate="total", relevant=False, direction="lower", inputs=("rankings", "labels"))  # fmt: skip
def n_nonrelevant_retrieved(a: Alignment, *, k: int | None = None, min_gain: float = 1.0) -> Floats:
    """How many retrieved documents are judged not relevant (labels from 0 up to min_gain)."""
    return a.per_query(in_top(a, k) & (a.hit_gain >= 0) & (a.hit_gain < min_gain))
