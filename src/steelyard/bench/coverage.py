"""How many gold pieces a few chunks can show: the chunks that cover most of them, of all choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from steelyard.base.arrays import Ints
from steelyard.data.run import ranked
from steelyard.experiment.weighed import Weighed

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
