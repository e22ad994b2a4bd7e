"""What the best order of the first candidates would reach, the tail behind them as it is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.bench.candidates import Candidates
from steelyard.bench.frames import Option
from steelyard.bench.quality.gains import ceiling_label
from steelyard.data.run import ranked
from steelyard.experiment.door.weighed import Weighed
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Alignment, Measure
from steelyard.measures.alignment import Evidence, by_query, rank_order
from steelyard.measures.graded import gains_of, has_gains
from steelyard.measures.perfect import perfect_reranking

_OTHERWISE = {"numbers", "characters", "answers"}
"""Inputs of measures that no order of the labels decides."""


def ceilings(depths: Sequence[int], candidates: Candidates, base: Weighed, quality: Scores) -> Scores:
    """The scores of the best order of the first candidates, depth by depth; no value where the base has none.

    base   the candidates as they are;   quality   their scores, and those of rerankers
    """
    names, s = [ceiling_label(depth) for depth in depths], len(depths)
    document_of = {} if base.documents is None else base.documents.document_of
    values = []
    for depth in depths:
        # Chunks or documents that the first candidates are: fewer, where chunks share documents.
        heads = (candidates.first(query_id, depth) for query_id in base.alignment.query_id)
        n = np.array([len({document_of.get(doc_id, doc_id) for doc_id in head}) for head in heads], np.int64)
        values.append(np.stack([ideal_values(base, spec, n) for spec in quality.measures]))
    ideal = np.where(np.isnan(quality.values[0]), np.nan, np.stack(values))
    first = quality.filter(systems=[quality.systems[0]])

    def again(array: Any) -> Any:
        return np.repeat(array, s, axis=0)

    of_systems = ("missing", "no_relevant", "failed", "unwinnable", "unjudged_queries")
    return replace(
        first, systems=names, values=ideal, judged=np.full(ideal.shape, np.nan), gold=[*first.gold] * s, notes={},
        **{name: again(getattr(first, name)) for name in of_systems},
        perfect={name: again(part() if callable(part) else part) for name, part in first.perfect.items()},
        recipe_parts={**first.recipe_parts, "runs": lambda: _digests(names, base)},
    )  # fmt: skip


def ceilings_of_rerankers(options: Sequence[Option], quality: Scores, of_depths: Scores) -> Mapping[str, Floats]:
    """measure -> (s, q) values of the best order of what each system reranks, as `Scores.ceilings` has them.

    of_depths   those that `ceilings` returns
    """
    ceiling_of = {option.label: of_depths.systems.index(ceiling_label(option.depth)) for option in options}
    values = np.full((len(quality.systems), *of_depths.values.shape[1:]), np.nan)
    for i, system in enumerate(quality.systems):
        if system in ceiling_of:
            values[i] = of_depths.values[ceiling_of[system]]
    return {str(measure): values[:, j] for j, measure in enumerate(of_depths.measures)}


def _digests(names: Sequence[str], base: Weighed) -> dict[str, str]:
    """Fingerprints of lists in their best order, by which no two depths are taken for the same run."""
    return {name: "sha256:" + hashlib.sha256(f"{base.digest()}\n{name}".encode()).hexdigest() for name in names}


def ideal_values(weighed: Weighed, spec: Measure, n: Ints) -> Floats:
    """(q,) the highest value that an order of the first n documents of each list has.

    For labels by id that is the order by gain, those labelled 0 or less behind those without a label.  Gold pieces
    may share chunks, or be in several: of all choices of k chunks, the one that covers most pieces counts.

    n         (q,) documents at the head of each list that may change places
    Returns   NaN throughout where the best order is not known: measures of characters, columns of numbers, gains that
              do not rise with the label, pieces that chunks hold together, and pieces in so many chunks that not all
              choices can be looked at
    """
    a = weighed.alignment
    if not has_ideal_order(spec, a) or (a.evidence is not None and a.evidence.together.any()):
        return np.full(a.n_queries, np.nan)
    ideal = perfect_reranking(a, n)
    if a.evidence is not None:
        evidence = _with_best_pieces(weighed, spec, n)
        if evidence is None:
            return np.full(a.n_queries, np.nan)
        ideal = replace(ideal, evidence=evidence)
    return spec(ideal)


def has_ideal_order(spec: Measure, a: Alignment) -> bool:
    """True if no order is better than that by gain: more of what is relevant, sooner, is better for the measure."""
    definition, options = spec.definition, spec.options
    if not (definition.relevant and definition.higher_is_better) or _OTHERWISE & set(definition.inputs):
        return False
    least, gain = options.get("min_gain"), options.get("gain", "binary")
    if isinstance(least, float) and least <= 0 and gain == "binary":
        return False
    labels = np.unique(a.ideal_gain)
    if gain == "binary" or not len(labels):
        return True
    if not has_gains(labels, gain):
        return False
    worth = gains_of(labels, gain)
    return bool((np.diff(worth) >= 0).all() and (np.where(labels > 0, worth, -worth) >= 0).all())


def _with_best_pieces(weighed: Weighed, spec: Measure, n: Ints) -> Evidence | None:
    """The evidence with as many relevant pieces among the first k as any choice of chunks shows; None: not known."""
    a, k, least = weighed.alignment, spec.depth, spec.options.get("min_gain")
    assert a.evidence is not None
    if k is None or not isinstance(least, float):  # The whole list shows the same in any order.
        return a.evidence
    pieces = a.evidence.pieces
    query, reordered = pieces.hit_query, (n > k)[pieces.hit_query]
    inside = reordered & (pieces.hit_gain >= least) & (pieces.hit_rank <= n[pieces.hit_query])
    shown = np.bincount(query[inside], minlength=a.n_queries)
    for q, masks in pieces_of_chunks(weighed, np.flatnonzero(shown > k), n, least).items():
        covered = most_covered(masks, k)
        if covered is None:
            return None
        shown[q] = covered
    rank = np.where(inside, np.where(_ordinal(query, inside) <= shown[query], 1, k + 1), pieces.hit_rank)
    order = rank_order(query, rank)
    best = replace(pieces, hit_rank=rank[order], hit_gain=pieces.hit_gain[order])
    counted = by_query(_is_by_pieces(weighed), best, perfect_reranking(a, n))
    return replace(a.evidence, pieces=best, counted=counted)


def _ordinal(query: Ints, mask: Bools) -> Ints:
    """(h,) how many hits of the mask are at or above each, within its query."""
    running = np.cumsum(mask)
    before = np.concatenate(([0], running))[np.searchsorted(query, query, "left")]
    return np.asarray(running - before, np.int64)


def _is_by_pieces(weighed: Weighed) -> Bools:
    """(q,) queries whose recall counts pieces rather than chunks, as alignments of evidence have it."""
    gold = weighed.evidence
    assert gold is not None
    pieces, mask = gold.resolution.gold, np.zeros(weighed.alignment.n_queries, bool)
    mask[gold.labels.places(pl.Series(pieces.query_ids))] = pieces.has_texts | (not gold.table.complete)
    return mask


_STATES = 20_000
"""Unions that are looked at, at most: beyond, the best choice is not known."""


def most_covered(masks: Iterable[int], k: int) -> int | None:
    """The most bits that the union of k masks has; None where there are too many unions to look at.

    >>> most_covered([0b0011, 0b0110, 0b1100], 1), most_covered([0b0011, 0b0110, 0b1100], 2)
    (2, 4)
    """
    useful = _undominated(masks)
    if (greedy := _greedy(useful, k)) == _bound(useful, k):
        return greedy
    unions = {0}
    for _ in range(min(k, len(useful))):
        unions = {union | mask for union in unions for mask in useful}
        if len(unions) > _STATES:
            return None
    return max(union.bit_count() for union in unions)


def _greedy(masks: Sequence[int], k: int) -> int:
    """The bits that k masks cover, each of which adds most to those before."""
    union = 0
    for _ in range(min(k, len(masks))):
        union |= max(masks, key=lambda mask: (union | mask).bit_count())
    return union.bit_count()


def _bound(masks: Sequence[int], k: int) -> int:
    """No k masks cover more bits: than there are, or than the k largest have."""
    everything = 0
    for mask in masks:
        everything |= mask
    return min(everything.bit_count(), sum(sorted(map(int.bit_count, masks), reverse=True)[:k]))


def _undominated(masks: Iterable[int]) -> Sequence[int]:
    """Masks that are within no other one, each once."""
    useful = list[int]()
    for mask in sorted(set(masks), key=int.bit_count, reverse=True):
        if not any(mask | other == other for other in useful):
            useful.append(mask)
    return useful


def pieces_of_chunks(weighed: Weighed, queries: Ints, n: Ints, least: float) -> dict[int, list[int]]:
    """The gold that the first chunks of some queries hold: query -> a mask a chunk, a bit for each group of pieces.

    queries   places of queries;   n   (q,) how many chunks of each list;   least   the smallest gain that counts
    """
    place = {weighed.alignment.query_id[q]: q for q in queries.tolist()}
    held = _held(weighed, place, least).join(_listed(weighed, place, n), on=["q", "chunk"])
    numbered = held.with_columns(bit=pl.col("group").rank("dense").over("q") - 1).sort("q", "chunk", "bit")
    masks: dict[int, dict[int, int]] = {q: {} for q in queries.tolist()}
    for q, chunk, bit in numbered.select("q", "chunk", "bit").iter_rows():
        masks[q][chunk] = masks[q].get(chunk, 0) | 1 << bit
    return {q: list(of_chunks.values()) for q, of_chunks in masks.items()}


def _held(weighed: Weighed, place: Mapping[str, int], least: float) -> pl.DataFrame:
    """q, chunk and group: which chunks hold which groups of relevant pieces of these queries."""
    assert weighed.evidence is not None
    resolution = weighed.evidence.resolution
    gold = resolution.gold
    gains = np.full(gold.n_groups, -np.inf)
    np.maximum.at(gains, gold.group, gold.gain)
    group = gold.group[resolution.piece]
    owner = np.array([place.get(query_id, -1) for query_id in gold.query_ids], np.int64)
    pairs = {"q": owner[gold.query[resolution.piece]], "chunk": resolution.chunk, "group": group}
    return pl.DataFrame(pairs).filter(pl.Series(gains[group] >= least), pl.col("q") >= 0).unique()


def _listed(weighed: Weighed, place: Mapping[str, int], n: Ints) -> pl.DataFrame:
    """q and chunk of the first n of the lists of these queries."""
    assert weighed.evidence is not None
    assert weighed.outputs is not None
    row_of = weighed.evidence.table.row_of
    rows = ranked(weighed.outputs.run.frame.filter(pl.col("query_id").is_in(list(place))))
    q = np.array([place[query_id] for query_id in rows["query_id"].to_list()], np.int64)
    chunk = np.array([row_of.get(chunk_id, -1) for chunk_id in rows["doc_id"].to_list()], np.int64)
    inside = rows["rank"].to_numpy() <= n[q]
    return pl.DataFrame({"q": q[inside], "chunk": chunk[inside]})
