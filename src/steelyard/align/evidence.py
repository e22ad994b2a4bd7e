"""Resolved gold against the rankings of a system: one Alignment, with the evidence beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from steelyard.align.gold import Gold
from steelyard.align.hits import Aligned
from steelyard.align.rankings import align
from steelyard.align.resolution import Resolution
from steelyard.align.resolver import ResolvedGold
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.choices import OnDuplicate
from steelyard.data.outputs import Outputs
from steelyard.data.run import ranked
from steelyard.data.truth import Truth
from steelyard.measures.alignment import Alignment, Evidence, best_first, by_query, offsets
from steelyard.text.spans import Spans, cover


def align_evidence(gold: ResolvedGold, outputs: Outputs, *, on_duplicate: OnDuplicate = "error") -> Aligned:
    """The ranks of the chunks that hold gold, with the gold itself beside them.

    gold     of a Resolver, for these outputs
    Raises   InputError and its children.
    """
    ranking = _ranking(outputs.run.checked_frame(on_duplicate), gold)
    place = gold.labels.places(pl.Series(gold.resolution.gold.query_ids))
    shown = gold.resolution.first_ranks(ranking, place)
    items = _Items.of(gold.resolution, shown, place)
    aligned = align(gold.labels, outputs.run, on_duplicate=on_duplicate)
    a = _with_hits(aligned.alignment, items.take(np.flatnonzero(~gold.resolution.is_held_alone & (items.gain > 0))))
    pieces = _align_items(a, items)
    by_pieces = np.zeros(a.n_queries, bool)
    by_pieces[place] = gold.resolution.gold.has_texts | (not gold.table.complete)
    counted, together = by_query(by_pieces, pieces, a), _last_together(shown, a.n_queries)
    evidence = Evidence(pieces, counted, *_align_characters(gold, a, ranking, place), together)
    return replace(aligned, alignment=replace(a, evidence=evidence))


def reached(gold: ResolvedGold, *lists: Outputs) -> Bools:
    """(g,) groups of gold pieces that some of the lists hold, at whatever rank."""
    resolution = gold.resolution
    place = gold.labels.places(pl.Series(resolution.gold.query_ids))
    mask = np.zeros(resolution.gold.n_groups, bool)
    for outputs in lists:
        shown = resolution.first_ranks(_ranking(outputs.run.checked_frame("first"), gold), place)
        mask[shown.filter(pl.col("first") > 0)["group"].to_numpy()] = True
    return mask


def labels_of_parts(gold: ResolvedGold, outputs: Outputs) -> Truth:
    """The labels, and those of chunks that a list holds gold together with, where no chunk does by itself."""
    resolution, labels = gold.resolution, gold.labels
    alone = resolution.is_held_alone
    if alone.all():
        return labels
    place = labels.places(pl.Series(resolution.gold.query_ids))
    shown = resolution.first_ranks(_ranking(outputs.run.checked_frame("first"), gold), place)
    parts = shown.filter((pl.col("rank") <= pl.col("first")) & pl.Series(~alone[shown["group"].to_numpy()]))
    if parts.is_empty():
        return labels
    gain = np.full(resolution.gold.n_groups, -np.inf)
    np.maximum.at(gain, resolution.gold.group, resolution.gold.gain)
    more = [dict(of_query) for of_query in labels.labels]
    for query, chunk, group in parts.select("query", "chunk", "group").iter_rows():
        id = gold.table.ids[chunk]
        more[query][id] = max(more[query].get(id, -np.inf), float(gain[group]))
    return Truth(dict(zip(labels.query_ids, more, strict=True)), name=labels.name)


def _ranking(frame: pl.DataFrame, gold: ResolvedGold) -> pl.DataFrame:
    """Every retrieved chunk: query (a row of the labels), chunk (a row of the table; -1 where it lacks it), rank."""
    rows = ranked(frame)
    row_of = gold.table.row_of
    return rows.select(
        "rank",
        query=pl.Series(gold.labels.places(rows["query_id"])),
        chunk=pl.Series([row_of.get(id, -1) for id in rows["doc_id"].to_list()], dtype=pl.Int64),
    ).filter(pl.col("query") >= 0)


@dataclass(frozen=True, eq=False)
class _Items:
    """Groups of gold pieces, or stretches of characters: query, gain and rank of each; rank 0 is not retrieved."""

    query: Ints
    gain: Floats
    rank: Ints

    @classmethod
    def of(cls, resolution: Resolution, shown: pl.DataFrame, place: Ints) -> _Items:
        """Groups of pieces, each at the first rank down to which chunks hold one of its pieces."""
        gold = resolution.gold
        query, gain = np.zeros(gold.n_groups, np.int64), np.full(gold.n_groups, -np.inf)
        query[gold.group] = place[gold.query]
        np.maximum.at(gain, gold.group, gold.gain)
        first = shown.filter(pl.col("first") > 0).group_by("group").agg(pl.col("first").min())
        rank = np.zeros(gold.n_groups, np.int64)
        rank[first["group"].to_numpy()] = first["first"].to_numpy()
        return cls(query, gain, rank)

    def take(self, rows: Ints) -> _Items:
        return _Items(self.query[rows], self.gain[rows], self.rank[rows])


def _with_hits(a: Alignment, held: _Items) -> Alignment:
    """Chunks that complete what no chunk holds by itself are hits too: one of several gains has the best."""
    held = held.take(np.flatnonzero(held.rank > 0))
    if not len(held.rank):
        return a
    query, rank = np.concatenate([a.hit_query, held.query]), np.concatenate([a.hit_rank, held.rank])
    gain = np.concatenate([a.hit_gain, held.gain])
    order = np.lexsort((-gain, rank, query))
    query, rank, gain = query[order], rank[order], gain[order]
    first = np.ones(len(query), bool)
    first[1:] = (query[1:] != query[:-1]) | (rank[1:] != rank[:-1])
    return replace(a, starts=offsets(query[first], a.n_queries), hit_rank=rank[first], hit_gain=gain[first])


def _last_together(shown: pl.DataFrame, n_queries: int) -> Ints:
    """(q,) the last rank with which chunks hold a piece together of which none has enough; 0 without any."""
    last = np.zeros(n_queries, np.int64)
    np.maximum.at(last, shown["query"].to_numpy(), shown["by_parts"].to_numpy())
    return last


def _align_items(a: Alignment, items: _Items) -> Alignment:
    """Items of any kind as an alignment over the queries of another one."""
    query, gain, rank = items.query, items.gain, items.rank
    hit = np.flatnonzero(rank > 0)
    hit = hit[np.lexsort((rank[hit], query[hit]))]
    ideal = best_first(gain, query)
    return replace(
        a,
        starts=offsets(query[hit], a.n_queries),
        hit_rank=rank[hit],
        hit_gain=gain[hit],
        ideal_starts=offsets(query, a.n_queries),
        ideal_gain=gain[ideal],
        evidence=None,
        ties=None,
    )


# Characters ----------------------------------------------------------------------------------------------------------


def _align_characters(
    gold: ResolvedGold, a: Alignment, ranking: pl.DataFrame, place: Ints
) -> tuple[Alignment, Alignment, Bools]:
    """Gold and shown characters as alignments, and the queries whose gold characters can be counted."""
    resolution, pieces = gold.resolution, gold.resolution.gold
    shown, without_place = _shown(gold, ranking)
    stretches = _stretches(resolution, place)
    counted = stretches.filter(_is_in_first_place(stretches, shown))
    cut = cover(
        counted["query"].to_numpy(),
        Spans(*(counted[name].to_numpy() for name in ("doc", "start", "end"))),
        shown["query"].to_numpy(),
        Spans(*(shown[name].to_numpy() for name in ("doc", "start", "end"))),
        shown["rank"].to_numpy(),
    )
    unplaced = _unplaced_groups(pieces, resolution)
    rows = np.flatnonzero(cut.gold)
    query = np.concatenate([cut.query[rows], place[pieces.query[unplaced]]])
    length = np.concatenate([cut.length[rows].astype(float), np.nan_to_num(resolution.n_unplaced[unplaced])])
    rank = np.concatenate([cut.rank[rows], np.zeros(len(unplaced), np.int64)])
    seen = np.flatnonzero(cut.rank > 0)
    uncountable = np.zeros(a.n_queries, bool)
    uncountable[place[pieces.query[np.isnan(resolution.n_unplaced) & (pieces.gain > 0)]]] = True
    uncountable[without_place] = True
    return (
        _align_items(a, _Items(query, length, rank)),
        _align_items(a, _Items(cut.query[seen], cut.length[seen].astype(float), cut.rank[seen])),
        ~uncountable,
    )


def _shown(gold: ResolvedGold, ranking: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """The retrieved chunks with a place: query, doc, start, end, rank; and the queries that retrieved others."""
    rows, spans = gold.table.spans(gold.resolution.documents.row)
    chunks = pl.DataFrame({"chunk": rows, "doc": spans.doc, "start": spans.start, "end": spans.end})
    shown = ranking.join(chunks, on="chunk", how="left", maintain_order="left")
    return shown.drop_nulls("doc"), shown.filter(pl.col("doc").is_null())["query"].to_numpy()


def _stretches(resolution: Resolution, place: Ints) -> pl.DataFrame:
    """The stretches of characters of relevant pieces: group, query, piece, place, doc, start, end."""
    gold = resolution.gold
    rows = np.flatnonzero(gold.gain[resolution.placed] > 0)
    piece, spans = resolution.placed[rows], resolution.spans.take(rows)
    return pl.DataFrame(
        {
            "group": gold.group[piece],
            "query": place[gold.query[piece]],
            "piece": piece,
            "place": resolution.place[rows],
            "doc": spans.doc,
            "start": spans.start,
            "end": spans.end,
        }
    )


def _is_in_first_place(stretches: pl.DataFrame, shown: pl.DataFrame) -> pl.Series:
    """(l,) whether a stretch belongs to the place of its group that the system shows first.

    Of places that one chunk shows first, the one of which it shows the larger share counts, then the one labelled
    first; so what is ranked below k does not change which gold is shown above it.
    """
    contested = stretches.select(pl.col("place").n_unique().over("group") > 1).to_series()
    if not contested.any():
        return ~contested
    candidates = stretches.filter(contested)
    # Chunks have different ranks, so one chunk alone shows the first characters of a place.
    first_shown = (
        candidates.join(shown, on=["query", "doc"], suffix="_chunk")
        .with_columns(n_shown=pl.min_horizontal("end", "end_chunk") - pl.max_horizontal("start", "start_chunk"))
        .filter(pl.col("n_shown") > 0)
        .filter(pl.col("rank") == pl.col("rank").min().over("place"))
        .group_by("place")
        .agg(pl.col("rank").first(), pl.col("n_shown").sum())
    )
    places = candidates.group_by("place").agg(
        pl.col("group", "piece").first(), length=(pl.col("end") - pl.col("start")).sum()
    )
    first_places = (
        places.join(first_shown, on="place", how="left")
        .with_columns(missing_share=-pl.col("n_shown") / pl.col("length"))
        .sort("group", "rank", "missing_share", "piece", "place", nulls_last=True)
        .unique("group", keep="first", maintain_order=True)
    )
    return ~contested | stretches["place"].is_in(first_places["place"].implode())


def _unplaced_groups(gold: Gold, resolution: Resolution) -> Ints:
    """One piece of every group that has characters without a place, unless another piece of the group has a place."""
    has_place = np.zeros(gold.n_groups, bool)
    has_place[gold.group[resolution.placed]] = True
    rows = np.flatnonzero((resolution.n_unplaced > 0) & (gold.gain > 0) & ~has_place[gold.group])
    return rows[np.unique(gold.group[rows], return_index=True)[1]]
