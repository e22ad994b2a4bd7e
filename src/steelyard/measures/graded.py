"""Measures of graded relevance: cumulated gain, and expected reciprocal rank."""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import MeasureError
from steelyard.measures import ties as tied
from steelyard.measures.alignment import Alignment, best_first, offsets, ordinals, owners, ratio, segment_sums
from steelyard.measures.parameters import GAIN, TIES, GainMap, Number, ParameterValue, Word, show
from steelyard.measures.registry import measure
from steelyard.measures.sets import in_top

_JARVELIN = "Järvelin & Kekäläinen, TOIS 2002"
_LARGEST_EXPONENT = 1000
_BURGES = "Burges et al., ICML 2005"


def gains_of(labels: Floats, gain: ParameterValue) -> Floats:
    """Gain of each label: itself, 2^label - 1, or what a map says; labels below 0 gain nothing unless mapped.

    labels   (n,) labels of the truth;   gain   "linear", "exp" or ((label, gain), ...)
    """
    positive: Floats = np.maximum(labels, 0.0)
    if not has_gains(labels, gain):
        raise MeasureError(f"gain=exp: 2^{positive.max():g} is too large; try gain=linear or a gain map")
    if gain == "exp":
        return np.asarray(np.exp2(positive) - 1.0, float)
    if isinstance(gain, tuple):
        for level, value in gain:
            positive[labels == level] = value
    return positive


def has_gains(labels: Floats, gain: ParameterValue) -> bool:
    """True if every label has a gain: 2^label of a large label is more than a float holds."""
    return gain != "exp" or not labels.max(initial=0.0) > _LARGEST_EXPONENT


def shares_of_highest(a: Alignment, gain: str | GainMap) -> Floats:
    """(h,) gain of each hit as a share of the highest: of the labels of its query, and of the map where there is one.

    Gains that do not exceed 1 are shares as they are.
    Raises   MeasureError for a map with a gain below 0.
    """
    mapped = [value for _, value in gain] if isinstance(gain, tuple) else []
    if min(mapped, default=0.0) < 0:
        raise MeasureError(f"gain={show(gain)}: a gain below 0 is no share of the highest; gains are 0 or more")
    starts, gains = ideal_gains(a, gain)
    highest = np.full(a.n_queries, max([1.0, *mapped]))
    first = starts[:-1][np.diff(starts) > 0]
    owner = np.flatnonzero(np.diff(starts))
    highest[owner] = np.maximum(highest[owner], gains[first])
    return np.asarray(gains_of(a.hit_gain, gain) / highest[a.hit_query])


def discounted(gains: Floats, rank: Ints) -> Floats:
    """(n,) each gain divided by log2(rank + 1)."""
    return np.asarray(gains / np.log2(rank + 1.0))


def ideal_gains(a: Alignment, gain: str | GainMap) -> tuple[Ints, Floats]:
    """(q + 1,) offsets and (n,) positive gains of the ideal ranking, best first."""
    gains = gains_of(a.ideal_gain, gain)
    query = a.ideal_query
    if isinstance(gain, tuple):
        order = best_first(gains, query)
        gains, query = gains[order], query[order]
    positive = gains > 0
    return offsets(query[positive], a.n_queries), gains[positive]


def ideal_dcg(a: Alignment, k: int | None, gain: str | GainMap) -> Floats:
    """(q,) discounted cumulated gain of the ideal ranking, cut at k."""
    starts, gains = ideal_gains(a, gain)
    rank = ordinals(starts)
    inside = np.where(rank <= k, gains, 0.0) if k is not None else gains
    return segment_sums(owners(starts), discounted(inside, rank), a.n_queries)


@measure(range=(0, np.inf), source=_JARVELIN, variants={"dcg_burges": {"gain": "exp"}}, parameters=GAIN)
def dcg(a: Alignment, *, k: int | None = None, gain: str | GainMap = "linear") -> Floats:
    """Gains of the first k documents, each divided by log2(rank + 1), added up."""
    gains = np.where(in_top(a, k), gains_of(a.hit_gain, gain), 0.0)
    return a.per_query(discounted(gains, a.hit_rank))


@measure("ideal_dcg", range=(0, np.inf), source=f"{_JARVELIN}; trec_eval ideal_dcg", relevant=False, parameters=GAIN)
def dcg_of_ideal(a: Alignment, *, k: int | None = None, gain: str | GainMap = "linear") -> Floats:
    """dcg@k of the ideal ranking, which ndcg divides by: all judged documents, best first; the run plays no part."""
    return ideal_dcg(a, k, gain)


@measure(
    source=f"{_JARVELIN}; gain=exp: {_BURGES}; trec_eval ndcg, ndcg_cut",
    aliases=("ndcg_cut",),
    variants={"ndcg_burges": {"gain": "exp"}},
    parameters=GAIN | TIES | {"ideal": Word(words=("judged", "retrieved"), about="what the ideal ranking is made of")},
)
def ndcg(
    a: Alignment, *, k: int | None = None, gain: str | GainMap = "linear", ideal: str = "judged",
    ties: str = "canonical",
) -> Floats:  # fmt: skip
    """dcg@k divided by that of the ideal ranking: all judged (or all retrieved) documents, best first, cut at k."""
    best = a.retrieved_only() if ideal == "retrieved" else a
    if ties == "average":
        got = a.per_query(tied.discounted(a, gains_of(a.hit_gain, gain), k))
    else:
        got = dcg(a, k=k, gain=gain)
    return ratio(got, ideal_dcg(best, k, gain))


@measure(
    source="Chapelle et al., CIKM 2009; gdeval",
    parameters={"max_gain": Number(above=0, at_most=_LARGEST_EXPONENT, about="the highest label there is")},
)
def err(a: Alignment, *, k: int | None = None, max_gain: float = 4.0) -> Floats:
    """Expected reciprocal rank of where a reader stops, who stops at a label g with (2^g - 1) / 2^max_gain."""
    highest = max(a.ideal_gain.max(initial=0.0), a.hit_gain.max(initial=0.0))
    if highest > max_gain:
        hint = (
            f"try err(max_gain={highest:g})" if highest <= _LARGEST_EXPONENT else "its labels are small whole numbers"
        )
        raise MeasureError(f"err: a label of {highest:g} exceeds max_gain={max_gain:g}; {hint}")
    stop = (np.exp2(np.maximum(a.hit_gain, 0.0)) - 1.0) / np.exp2(max_gain)
    useful = in_top(a, k) & (stop > 0)
    query, rank, stop = a.hit_query[useful], a.hit_rank[useful], stop[useful]
    starts = offsets(query, a.n_queries)
    value, reading = np.zeros(a.n_queries), np.ones(a.n_queries)
    place = ordinals(starts)
    # One step per useful document of the longest list; each step serves all queries at once.
    for step in range(1, int(place.max(initial=0)) + 1):
        now = place == step
        value[query[now]] += reading[query[now]] * stop[now] / rank[now]
        reading[query[now]] *= 1.0 - stop[now]
    return value


def _running(values: Floats, starts: Ints) -> Floats:
    """(n,) cumulative sum that starts anew in every segment, added in order."""
    out = values.copy()
    place = ordinals(starts)
    for step in range(2, int(place.max(initial=0)) + 1):
        now = np.flatnonzero(place == step)
        out[now] += out[now - 1]
    return out


def _at_depth(running: Floats, starts: Ints, query: Ints, depth: Ints) -> Floats:
    """(n,) running total of a query's segment after `depth` elements, or all of them; 0 for none."""
    count = np.minimum(depth, starts[query + 1] - starts[query])
    padded = np.append(running, 0.0)
    return np.where(count > 0, padded[starts[query] + count - 1], 0.0)


@measure(source="trec_eval ndcg_rel", parameters=GAIN)
def ndcg_rel(a: Alignment, *, gain: str | GainMap = "linear") -> Floats:
    """ndcg averaged over the ranks of the relevant documents; those not retrieved count with the end of the list."""
    starts, gains = ideal_gains(a, gain)
    ideal = _running(discounted(gains, ordinals(starts)), starts)
    got = gains_of(a.hit_gain, gain)
    reached = _running(discounted(got, a.hit_rank), a.starts)
    good = got > 0
    here = ratio(reached[good], _at_depth(ideal, starts, a.hit_query[good], a.hit_rank[good]))
    total = segment_sums(a.hit_query[good], here, a.n_queries)
    n_good, n_retrieved = np.diff(starts), np.bincount(a.hit_query[good], minlength=a.n_queries)
    at_end = ratio(dcg(a, gain=gain), ideal_dcg(a, None, gain))
    return ratio(total + (n_good - n_retrieved) * at_end, n_good)


@measure("rndcg", source="trec_eval Rndcg", parameters=GAIN)
def ndcg_at_levels(a: Alignment, *, gain: str | GainMap = "linear", min_gain: float = 1.0) -> Floats:
    """ndcg averaged over the ranks where the ideal ranking drops to a lower gain, and at the end of the list."""
    starts, gains = ideal_gains(a, gain)
    query, place = owners(starts), ordinals(starts)
    ideal = _running(discounted(gains, place), starts)
    drops: Bools = np.zeros(len(gains), bool)
    drops[:-1] = gains[1:] != gains[:-1]
    drops[starts[1:][np.diff(starts) > 0] - 1] = True
    reached = _dcg_at(a, gain, query[drops], place[drops])
    total = segment_sums(query[drops], reached / ideal[drops], a.n_queries)
    n_points = np.bincount(query[drops], minlength=a.n_queries).astype(float)
    # trec_eval adds the end of the list only where it goes on for more than one document after the last drop.
    has_end = (a.n_retrieved > np.diff(starts) + 1) & (n_points > 0)
    total += np.where(has_end, ratio(dcg(a, gain=gain), ideal_dcg(a, None, gain)), 0.0)
    relevant = a.per_ideal(a.ideal_gain >= min_gain) > 0
    return np.where(relevant, ratio(total, n_points + has_end), 0.0)


def _dcg_at(a: Alignment, gain: str | GainMap, query: Ints, depth: Ints) -> Floats:
    """(n,) dcg of a query's list cut at a depth of its own."""
    running = np.append(0.0, _running(discounted(gains_of(a.hit_gain, gain), a.hit_rank), a.starts))
    span = int(a.hit_rank.max(initial=0)) + int(depth.max(initial=0)) + 1
    hits_so_far = np.searchsorted(a.hit_query * span + a.hit_rank, query * span + depth, side="right")
    return np.where(hits_so_far > a.starts[query], running[hits_so_far], 0.0)


@measure(source="trec_eval G", parameters=GAIN)
def g(a: Alignment, *, gain: str | GainMap = "linear") -> Floats:
    """Normalised gain: each gain is divided by log2(2 + what an ideal list would have gained more by then)."""
    starts, gains = ideal_gains(a, gain)
    # A place costs its ideal gain, or 1 where the ideal gain is smaller or used up.
    cost = _running(np.maximum(gains, 1.0), starts)
    n_good = np.diff(starts)[a.hit_query]
    paid = _at_depth(cost, starts, a.hit_query, a.hit_rank) + np.maximum(a.hit_rank - n_good, 0)
    got = gains_of(a.hit_gain, gain)
    spread = 2.0 + paid - _running(got, a.starts)
    useful = np.where(got != 0, got / np.log2(np.where(got != 0, spread, 2.0)), 0.0)
    return ratio(a.per_query(useful), segment_sums(owners(starts), gains, a.n_queries))
