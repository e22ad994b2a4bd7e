"""Every measure once more, as slow and plain as its definition: loops over a ranked list of ids and a dict of gains.

Written from the literature and from what trec_eval documents, not from src; it shares nothing with src.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

Ranked = Sequence[str]
Gains = Mapping[str, float]
Gain = str | Mapping[float, float]

_ZERO_WHEN_MISSING = {"utility", "rbp_residual", "n_queries"}


def canonical(scores: Mapping[str, float]) -> list[str]:
    """Score descending, then id descending by UTF-8 bytes."""
    return sorted(scores, key=lambda doc: (scores[doc], doc.encode("utf-8")), reverse=True)


def evaluate(
    name: str, ranked: Ranked | None, gains: Gains, *, pool: str = "all", scope: str = "truth", **params: object
) -> float:
    """Value of one query; `ranked` is None where the run lacks the query."""
    if ranked is None and name in _ZERO_WHEN_MISSING:
        return 0.0
    ranked = ranked or []
    if pool == "judged":
        ranked = [doc for doc in ranked if gains.get(doc, -1) >= 0]
    if scope == "retrieved":
        gains = {doc: gain for doc, gain in gains.items() if doc in ranked}
    return float(MEASURES[name](ranked, gains, **params))


def top(ranked: Ranked, k: int | None) -> Ranked:
    return ranked if k is None else ranked[:k]


def relevant(gains: Gains, min_gain: float) -> set[str]:
    return {doc for doc, gain in gains.items() if gain >= min_gain}


def nonrelevant(gains: Gains, min_gain: float) -> set[str]:
    return {doc for doc, gain in gains.items() if 0 <= gain < min_gain}


# Sets ----------------------------------------------------------------------------------------------------------------


def n_found(ranked: Ranked, gains: Gains, *, k: int | None = None, min_gain: float = 1.0) -> int:
    return len(set(top(ranked, k)) & relevant(gains, min_gain))


def precision(ranked: Ranked, gains: Gains, *, k: int | None = None, min_gain: float = 1.0) -> float:
    places = len(ranked) if k is None else k
    return n_found(ranked, gains, k=k, min_gain=min_gain) / places if places else 0.0


def recall(ranked: Ranked, gains: Gains, *, k: int | None = None, min_gain: float = 1.0) -> float:
    good = relevant(gains, min_gain)
    return n_found(ranked, gains, k=k, min_gain=min_gain) / len(good) if good else 0.0


def f(
    ranked: Ranked, gains: Gains, *, k: int | None = None, beta: float = 1.0, beta_squared: float = 1.0,
    min_gain: float = 1.0,
) -> float:  # fmt: skip
    """van Rijsbergen's 1 - E: 1 / (a / P + (1 - a) / R), a = 1 / (1 + beta^2)."""
    p, r = precision(ranked, gains, k=k, min_gain=min_gain), recall(ranked, gains, k=k, min_gain=min_gain)
    if p == 0 or r == 0:
        return 0.0
    a = 1 / (1 + beta * beta * beta_squared)  # one of the two is 1
    return 1 / (a / p + (1 - a) / r)


def hit_rate(ranked: Ranked, gains: Gains, *, k: int | None = None, min_gain: float = 1.0) -> float:
    return float(any(gains.get(doc, -1) >= min_gain for doc in top(ranked, k)))


def recall_cap(ranked: Ranked, gains: Gains, *, k: int | None = None, min_gain: float = 1.0) -> float:
    possible = min(len(ranked) if k is None else k, len(relevant(gains, min_gain)))
    return n_found(ranked, gains, k=k, min_gain=min_gain) / possible if possible else 0.0


def set_map(ranked: Ranked, gains: Gains, *, k: int | None = None, min_gain: float = 1.0) -> float:
    return precision(ranked, gains, k=k, min_gain=min_gain) * recall(ranked, gains, k=k, min_gain=min_gain)


def judged(ranked: Ranked, gains: Gains, *, k: int | None = None) -> float:
    seen = top(ranked, k)
    return sum(doc in gains for doc in seen) / len(seen) if seen else 0.0


def unjudged(ranked: Ranked, gains: Gains, *, k: int | None = None) -> float:
    places = len(ranked) if k is None else k
    return sum(gains.get(doc, -1) < 0 for doc in top(ranked, k)) / places if places else 0.0


def utility(
    ranked: Ranked,
    gains: Gains,
    *,
    tp: float = 1.0,
    fp: float = -1.0,
    fn: float = 0.0,
    tn: float = 0.0,
    n_docs: float = 0.0,
    min_gain: float = 1.0,
) -> float:
    good, got = relevant(gains, min_gain), set(ranked)
    cells = len(got & good), len(got - good), len(good - got)
    return tp * cells[0] + fp * cells[1] + fn * cells[2] + tn * (n_docs - sum(cells))


def n_retrieved(ranked: Ranked, gains: Gains, *, k: int | None = None) -> int:
    return len(top(ranked, k))


def n_relevant(ranked: Ranked, gains: Gains, *, min_gain: float = 1.0) -> int:
    return len(relevant(gains, min_gain))


def n_nonrelevant_retrieved(ranked: Ranked, gains: Gains, *, k: int | None = None, min_gain: float = 1.0) -> int:
    return len(set(top(ranked, k)) & nonrelevant(gains, min_gain))


# Binary rankings -----------------------------------------------------------------------------------------------------


def mrr(ranked: Ranked, gains: Gains, *, k: int | None = None, min_gain: float = 1.0) -> float:
    for rank, doc in enumerate(top(ranked, k), 1):
        if gains.get(doc, -1) >= min_gain:
            return 1 / rank
    return 0.0


def average_precision(ranked: Ranked, gains: Gains, *, k: int | None = None, min_gain: float = 1.0) -> float:
    good = relevant(gains, min_gain)
    at = [
        precision(ranked, gains, k=rank, min_gain=min_gain) for rank, doc in enumerate(top(ranked, k), 1) if doc in good
    ]
    return sum(at) / len(good) if good else 0.0


def map_cap(ranked: Ranked, gains: Gains, *, k: int | None = None, min_gain: float = 1.0) -> float:
    """Word for word as sentence-transformers computes MAP@k."""
    good, n_correct, total = relevant(gains, min_gain), 0, 0.0
    for rank, doc in enumerate(top(ranked, k)):
        if doc in good:
            n_correct += 1
            total += n_correct / (rank + 1)
    most = min(len(good) if k is None else k, len(good))
    return total / most if most else 0.0


def r_precision(ranked: Ranked, gains: Gains, *, multiple: float = 1.0, min_gain: float = 1.0) -> float:
    # trec_eval's way of rounding up: add 0.9, drop the fraction.
    cutoff = int(multiple * len(relevant(gains, min_gain)) + 0.9)
    return precision(ranked, gains, k=cutoff, min_gain=min_gain) if cutoff else 0.0


def bpref(ranked: Ranked, gains: Gains, *, min_gain: float = 1.0) -> float:
    """1/R sum over retrieved relevant r of 1 - |first R judged non-relevant above r| / min(R, N)."""
    good, bad = relevant(gains, min_gain), nonrelevant(gains, min_gain)
    total = 0.0
    for place, doc in enumerate(ranked):
        if doc in good:
            above = [other for other in ranked[:place] if other in bad][: len(good)]
            total += 1 - len(above) / min(len(good), len(bad)) if above else 1
    return total / len(good) if good else 0.0


def infap(ranked: Ranked, gains: Gains, *, min_gain: float = 1.0) -> float:
    """Mean over relevant of 1/k + (k-1)/k * |pool above|/(k-1) * (rel + e)/(rel + nonrel + 2e), k being their ranks."""
    good, bad, epsilon = relevant(gains, min_gain), nonrelevant(gains, min_gain), 1e-5
    total = 0.0
    for k, doc in enumerate(ranked, 1):
        if doc not in good:
            continue
        above = ranked[: k - 1]
        if not above:
            total += 1.0
            continue
        rel, nonrel = sum(d in good for d in above), sum(d in bad for d in above)
        pooled = sum(d in gains for d in above)
        share = (rel + epsilon) / (rel + nonrel + 2 * epsilon)
        total += 1 / k + (k - 1) / k * (pooled / (k - 1)) * share
    return total / len(good) if good else 0.0


def rbp(
    ranked: Ranked, gains: Gains, *, k: int | None = None, p: float = 0.8, gain: Gain = "binary", min_gain: float = 1.0
) -> float:
    """Of graded labels the share of the highest there is; one up to 1 is a share already."""
    if gain == "binary":
        share = dict.fromkeys(relevant(gains, min_gain), 1.0)
    else:
        named = [] if isinstance(gain, str) else list(gain.values())
        values = dict(zip(gains, gain_list(list(gains), gains, gain), strict=True))
        highest = max([1.0, *named, *values.values()])
        share = {doc: value / highest for doc, value in values.items()}
    return (1 - p) * sum(p**place * share.get(doc, 0.0) for place, doc in enumerate(top(ranked, k)))


def rbp_residual(ranked: Ranked, gains: Gains, *, p: float = 0.8, tail: str = "always") -> float:
    """What unlabelled documents and the endless tail after the list may still bring: sum_tail = p^n / (1 - p)."""
    places = [place for place, doc in enumerate(ranked) if gains.get(doc, -1) < 0]
    unknown = sum(p**place for place in places)
    return (1 - p) * (unknown + p ** len(ranked) / (1 - p)) if places or tail == "always" else 0.0


def yaap(ranked: Ranked, gains: Gains, *, min_gain: float = 1.0) -> float:
    """Log of (1 + s) / (1 + R - s), s being what average precision divides by R."""
    n_relevant = len(relevant(gains, min_gain))
    total = average_precision(ranked, gains, min_gain=min_gain) * n_relevant
    return math.log((1 + total) / (1 + n_relevant - total))


def iprec(ranked: Ranked, gains: Gains, *, recall: float, min_gain: float = 1.0) -> float:
    """Best precision from where the level is reached; a level is a count, rounded half up (trec_eval 10)."""
    count = math.floor(recall * len(relevant(gains, min_gain)) + 0.5)
    best = 0.0
    for rank in range(1, len(ranked) + 1):
        if n_found(ranked, gains, k=rank, min_gain=min_gain) >= count:
            best = max(best, precision(ranked, gains, k=rank, min_gain=min_gain))
    return best


def eleven_points(ranked: Ranked, gains: Gains, *, min_gain: float = 1.0) -> float:
    return sum(iprec(ranked, gains, recall=i / 10, min_gain=min_gain) for i in range(11)) / 11


def bin_g(ranked: Ranked, gains: Gains, *, min_gain: float = 1.0) -> float:
    good = relevant(gains, min_gain)
    total, others = 0.0, 0
    for doc in ranked:
        if doc in good:
            total += 1 / math.log2(2 + others)
        else:
            others += 1
    return total / len(good) if good else 0.0


# Graded rankings -----------------------------------------------------------------------------------------------------


def gain_of(label: float, gain: Gain) -> float:
    if isinstance(gain, Mapping):
        return gain.get(label, max(label, 0.0))
    return {"linear": max(label, 0.0), "exp": 2 ** max(label, 0.0) - 1}[gain]


def gain_list(ranked: Ranked, gains: Gains, gain: Gain) -> list[float]:
    """Gain at each place of the list."""
    return [gain_of(gains[doc], gain) if doc in gains else 0.0 for doc in ranked]


def ideal_list(gains: Gains, gain: Gain) -> list[float]:
    """Positive gains of all judged documents, best first."""
    return sorted((value for label in gains.values() if (value := gain_of(label, gain)) > 0), reverse=True)


def cumulated(values: Sequence[float], k: int | None = None) -> float:
    return sum(value / math.log2(rank + 1) for rank, value in enumerate(values[:k], 1))


def dcg(ranked: Ranked, gains: Gains, *, k: int | None = None, gain: Gain = "linear") -> float:
    return cumulated(gain_list(ranked, gains, gain), k)


def ndcg(ranked: Ranked, gains: Gains, *, k: int | None = None, gain: Gain = "linear", ideal: str = "judged") -> float:
    known = gains if ideal == "judged" else {doc: gains[doc] for doc in ranked if doc in gains}
    best = cumulated(ideal_list(known, gain), k)
    return dcg(ranked, gains, k=k, gain=gain) / best if best else 0.0


def err(ranked: Ranked, gains: Gains, *, k: int | None = None, max_gain: float = 4.0) -> float:
    reading, value = 1.0, 0.0
    for rank, doc in enumerate(top(ranked, k), 1):
        stop = (2 ** max(gains.get(doc, 0.0), 0.0) - 1) / 2**max_gain
        value += reading * stop / rank
        reading *= 1 - stop
    return value


def ndcg_rel(ranked: Ranked, gains: Gains, *, gain: Gain = "linear") -> float:
    """Mean over documents with positive gain of ndcg at their rank; of ndcg at the end for those not retrieved."""
    got, best = gain_list(ranked, gains, gain), ideal_list(gains, gain)
    if not best:
        return 0.0
    points = [cumulated(got, rank) / cumulated(best, rank) for rank, value in enumerate(got, 1) if value > 0]
    points += [cumulated(got) / cumulated(best)] * (len(best) - len(points))
    return sum(points) / len(best)


def rndcg(ranked: Ranked, gains: Gains, *, gain: Gain = "linear", min_gain: float = 1.0) -> float:
    """Mean of ndcg at the depths where the ideal list falls to another gain, and at the end of a longer list."""
    got, best = gain_list(ranked, gains, gain), ideal_list(gains, gain)
    if not best or not relevant(gains, min_gain):
        return 0.0
    depths = [n for n in range(1, len(best) + 1) if n == len(best) or best[n] != best[n - 1]]
    points = [cumulated(got, n) / cumulated(best, n) for n in depths]
    if len(ranked) > len(best) + 1:  # trec_eval looks at the end only where two documents or more follow the ideal ones
        points.append(cumulated(got) / cumulated(best))
    return sum(points) / len(points)


def g(ranked: Ranked, gains: Gains, *, gain: Gain = "linear") -> float:
    """Sum of gain / log2(2 + ideal so far - gained so far), a place costing at least 1; divided by the ideal total."""
    got, best = gain_list(ranked, gains, gain), ideal_list(gains, gain)
    if not best:
        return 0.0
    cost, gained, total = 0.0, 0.0, 0.0
    for place, value in enumerate(got):
        cost += max(best[place], 1.0) if place < len(best) else 1.0
        gained += value
        total += value / math.log2(2 + cost - gained) if value else 0.0
    return total / sum(best)


def ideal_dcg(ranked: Ranked, gains: Gains, *, k: int | None = None, gain: Gain = "linear") -> float:
    return cumulated(ideal_list(gains, gain), k)


MEASURES: dict[str, Callable[..., float]] = {
    "precision": precision,
    "recall": recall,
    "f": f,
    "f1": f,
    "evidence_recall": recall,  # of a truth that names documents by id, the documents are the pieces
    "hit_rate": hit_rate,
    "recall_cap": recall_cap,
    "set_map": set_map,
    "judged": judged,
    "unjudged": unjudged,
    "utility": utility,
    "n_queries": lambda ranked, gains: 1.0,
    "n_retrieved": n_retrieved,
    "n_relevant": n_relevant,
    "n_relevant_retrieved": n_found,
    "n_nonrelevant_retrieved": n_nonrelevant_retrieved,
    "dcg": dcg,
    "ideal_dcg": ideal_dcg,
    "ndcg": ndcg,
    "err": err,
    "ndcg_rel": ndcg_rel,
    "rndcg": rndcg,
    "g": g,
    "mrr": mrr,
    "map": average_precision,
    "map_cap": map_cap,
    "gm_map": average_precision,
    "r_precision": r_precision,
    "bpref": bpref,
    "gm_bpref": bpref,
    "infap": infap,
    "yaap": yaap,
    "rbp": rbp,
    "rbp_residual": rbp_residual,
    "iprec": iprec,
    "11pt_avg": eleven_points,
    "bin_g": bin_g,
}
