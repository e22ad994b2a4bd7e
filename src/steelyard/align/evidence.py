"""Questions with gold evidence against the outputs of a system: one Alignment, with the evidence beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from steelyard.align.gold import Gold, Loss, LossCode, Resolution, has_texts, kinds, resolve
from steelyard.align.rankings import Aligned, align
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.data.corpus import Chunks, Document
from steelyard.data.outputs import ChunkTable, Outputs, read_chunks
from steelyard.data.questions import Questions
from steelyard.data.run_folder import is_run_folder, read_run_folder
from steelyard.data.truth import OnDuplicate, Truth
from steelyard.measures.alignment import Alignment, Evidence, by_query, offsets, segment_sums
from steelyard.text.folding import DEFAULT_STEPS
from steelyard.text.spans import Rule, Spans, cover

_STAND_IN = "\x00gold "


@dataclass(frozen=True)
class GoldMapping:
    """How the gold was found among the chunks of one system.

    rule, steps    by which a chunk holds a piece, and text was folded
    kinds          how many pieces of each kind there are
    complete       whether all chunks of the corpus were known, or only the retrieved ones
    placed         whether documents were at hand; without them quotes are compared with chunks as texts are
    lost           (query_id, piece, reason) of every piece that no chunk holds, nor any alternative of it
    unwinnable     ids of the questions all of whose gold is lost
    codes          why each piece of `lost` is lost, in the same order: not_in_corpus, cut or unknown
    """

    rule: str
    steps: tuple[str, ...]
    kinds: dict[str, int]
    complete: bool
    placed: bool
    lost: tuple[tuple[str, str, str], ...]
    unwinnable: tuple[str, ...]
    codes: tuple[LossCode, ...] = ()

    @property
    def n_pieces(self) -> int:
        """Gold pieces of all questions."""
        return sum(self.kinds.values())

    @property
    def n_coarse(self) -> int:
        """Pieces that name whole documents."""
        return self.kinds.get("document", 0)


@dataclass(frozen=True)
class Corpus:
    """What is known of a corpus apart from any run.

    chunks     all of them, where they are known;   documents   the texts that they were cut from
    """

    chunks: ChunkTable | None = None
    documents: Sequence[Document] | None = None


def read_corpus(path: str | Path) -> Corpus:
    """The corpus of a run folder, or the chunks of a JSONL file."""
    if is_run_folder(path) and (chunks := read_run_folder(path).chunks) is not None:
        return Corpus(ChunkTable.of(chunks), chunks.documents)
    return Corpus(read_chunks(path))


def check_gold(
    questions: Questions, chunks: Chunks, *, rule: str = "any", steps: Sequence[str] | None = None
) -> None:  # fmt: skip
    """See whether gold can be looked up in a corpus, before anything is retrieved from it.

    Raises   InputError for a quote, page or span that its document does not have, naming the question.
    """
    folding = DEFAULT_STEPS if steps is None else steps
    resolve(Gold.of(list(questions)), ChunkTable.of(chunks), chunks.documents, rule=Rule.parse(rule), steps=folding)


@dataclass(frozen=True, eq=False)
class ResolvedGold:
    """Gold resolved among chunks: all that does not depend on the order in which a system ranks them.

    resolution  the gold pieces among the chunks of table
    mapping     how they were resolved
    labels      the gain of every chunk that holds gold
    lost        rows of the pieces that no chunk holds -> why
    """

    resolution: Resolution
    table: ChunkTable
    mapping: GoldMapping
    labels: Truth
    lost: Mapping[int, Loss]


class Resolver:
    """Resolves the gold of questions among the chunks of systems, once for each corpus.

    corpus   chunks or documents; by default those that the outputs themselves have
    rule     when a chunk holds a span: any, contains, or share>=X;   steps   of folding, for quotes and texts
    Raises   InputError for a rule that does not exist.
    """

    def __init__(
        self,
        questions: Questions,
        *,
        corpus: Corpus | None = None,
        rule: str = "any",
        steps: Sequence[str] = DEFAULT_STEPS,
    ) -> None:
        self._name, self._gold = questions.name, Gold.of(list(questions))
        self._corpus, self._rule, self._steps = corpus, Rule.parse(rule), tuple(steps)
        self._resolved: list[tuple[ChunkTable, Sequence[Document] | None, ResolvedGold]] = []

    def resolve(self, outputs: Outputs) -> ResolvedGold:
        """The gold among the chunks that a system could have retrieved.

        Where all chunks of the corpus are at hand, outputs of one corpus (equal chunks and documents) share one result,
        and so do the candidates of a reranker and what it returned.  Where only the retrieved chunks are, a chunk holds
        gold only for the questions that retrieved it, and nothing is shared.
        Raises   InputError and its children.
        """
        table, documents = _searched(outputs, self._corpus)
        if not table.complete:
            retrieved = _retrieved(outputs.run.frame, table, self._gold.query_ids)
            return self._resolve(outputs.name, table, documents, retrieved)
        for other_table, other_documents, resolved in self._resolved:
            if table.equals(other_table) and _equal_documents(documents, other_documents):
                return resolved
        resolved = self._resolve(outputs.name, table, documents, None)
        self._resolved.append((table, documents, resolved))
        return resolved

    def _resolve(
        self, name: str, table: ChunkTable, documents: Sequence[Document] | None, retrieved: tuple[Ints, Ints] | None
    ) -> ResolvedGold:
        gold = self._gold
        unfindable = _unfindable(gold, table, documents, name)
        resolution = resolve(gold, table, documents, rule=self._rule, steps=self._steps, retrieved=retrieved)
        losses = dict(sorted({**resolution.lost, **unfindable}.items()))
        mapping = GoldMapping(
            rule=str(self._rule),
            steps=self._steps,
            kinds=kinds(gold),
            complete=table.complete,
            placed=documents is not None,
            lost=tuple((gold.query_ids[gold.query[i]], str(gold.pieces[i]), loss.why) for i, loss in losses.items()),
            unwinnable=_unwinnable(resolution, table),
            codes=tuple(loss.code for loss in losses.values()),
        )
        return ResolvedGold(resolution, table, mapping, _labels(resolution, table, self._name), losses)


def _equal_documents(some: Sequence[Document] | None, others: Sequence[Document] | None) -> bool:
    return some is others or (some is not None and others is not None and list(some) == list(others))


def align_evidence(gold: ResolvedGold, outputs: Outputs, *, on_duplicate: OnDuplicate = "error") -> Aligned:
    """The ranks of the chunks that hold gold, with the gold itself beside them.

    gold     of a Resolver, for these outputs
    Raises   InputError and its children.
    """
    frame = outputs.run.checked_frame(on_duplicate)
    aligned = align(gold.labels, outputs.run, on_duplicate=on_duplicate)
    ranks = _ranks(frame, gold.table, gold.labels)
    place = gold.labels.places(pl.Series(gold.resolution.gold.query_ids))
    evidence = _evidence(gold.resolution, gold.table, aligned.alignment, ranks, place)
    return replace(aligned, alignment=replace(aligned.alignment, evidence=evidence))


def _searched(outputs: Outputs, corpus: Corpus | None) -> tuple[ChunkTable, Sequence[Document] | None]:
    """Chunks and documents: those of the run's own corpus, else those of `corpus`, else the retrieved ones."""
    if outputs.chunks is not None:
        return outputs.table, outputs.chunks.documents
    if corpus is None:
        return outputs.table, None
    return outputs.table if corpus.chunks is None else corpus.chunks, corpus.documents


def _retrieved(frame: pl.DataFrame, table: ChunkTable, query_ids: Sequence[str]) -> tuple[Ints, Ints]:
    """Number of the question and row of the chunk of everything retrieved."""
    number = {query_id: i for i, query_id in enumerate(query_ids)}
    listed = frame.drop_nulls("doc_id").filter(pl.col("query_id").is_in(list(number)))
    query = np.array([number[query_id] for query_id in listed["query_id"].to_list()], np.int64)
    return query, np.array([table.row_of[id] for id in listed["doc_id"].to_list()], np.int64)


def _labels(found: Resolution, table: ChunkTable, name: str) -> Truth:
    """The chunks that hold gold, each with the best gain that it holds.

    Where not all chunks are known, every piece that no known chunk holds has a stand-in, or else ideal rankings and
    denominators would be made of what the system itself found.
    """
    gold, query_ids = found.gold, found.gold.query_ids
    labels: dict[str, dict[str, float]] = {query_id: {} for query_id in query_ids}
    for row, chunk in zip(found.piece.tolist(), found.chunk.tolist(), strict=True):
        gains, id = labels[query_ids[gold.query[row]]], table.ids[chunk]
        gains[id] = max(gains.get(id, -np.inf), float(gold.gain[row]))
    held = np.zeros(gold.n_groups, bool)
    held[gold.group[found.piece]] = True
    for row, piece in enumerate(gold.pieces):
        gains = labels[query_ids[gold.query[row]]]
        if piece.kind == "chunk":
            gains[piece.chunk_id] = max(gains.get(piece.chunk_id, -np.inf), float(gold.gain[row]))
        elif not table.complete and not held[gold.group[row]]:
            stand_in = f"{_STAND_IN}{gold.group[row]}"
            gains[stand_in] = max(gains.get(stand_in, -np.inf), float(gold.gain[row]))
    return Truth(labels, name=name)


@dataclass(frozen=True)
class _Ranks:
    """Every retrieved chunk: its query (a row of the truth), its row (-1 where the table lacks it), and its rank."""

    query: Ints
    chunk: Ints
    rank: Ints


def _ranks(frame: pl.DataFrame, table: ChunkTable, truth: Truth) -> _Ranks:
    ordered = frame.drop_nulls("doc_id").sort(
        "query_id", "score", "doc_id", descending=[False, True, True], maintain_order=True
    )
    rank = ordered.select(rank=pl.int_range(1, pl.len() + 1).over("query_id"))["rank"].to_numpy()
    query = truth.places(ordered["query_id"])
    chunk = np.array([table.row_of.get(id, -1) for id in ordered["doc_id"].to_list()], np.int64)
    kept = query >= 0
    return _Ranks(query[kept], chunk[kept], rank[kept])


def _evidence(found: Resolution, table: ChunkTable, a: Alignment, ranks: _Ranks, place: Ints) -> Evidence:
    pieces = _pieces(found, a, ranks, place)
    by_pieces = np.zeros(a.n_queries, bool)
    by_pieces[place] = has_texts(found.gold) | (not table.complete)
    gold, shown, placed = _characters(found, table, a, ranks, place)
    return Evidence(pieces, by_query(by_pieces, pieces, a), gold, shown, placed)


def _pieces(found: Resolution, a: Alignment, ranks: _Ranks, place: Ints) -> Alignment:
    """Groups of gold pieces, each at the first rank whose chunk holds one of its pieces."""
    gold = found.gold
    query, gain = np.zeros(gold.n_groups, np.int64), np.full(gold.n_groups, -np.inf)
    query[gold.group] = place[gold.query]
    np.maximum.at(gain, gold.group, gold.gain)
    first = np.full(gold.n_groups, np.iinfo(np.int64).max)
    rank_of = pl.DataFrame({"query": ranks.query, "chunk": ranks.chunk, "rank": ranks.rank})
    held = pl.DataFrame(
        {"group": gold.group[found.piece], "query": query[gold.group[found.piece]], "chunk": found.chunk}
    )
    hits = held.join(rank_of, on=["query", "chunk"])
    np.minimum.at(first, hits["group"].to_numpy(), hits["rank"].to_numpy())
    return _alignment(a, query, gain, np.where(first == np.iinfo(np.int64).max, 0, first))


def _alignment(a: Alignment, query: Ints, gain: Floats, rank: Ints) -> Alignment:
    """Items of any kind as an alignment over the queries of another one; rank 0 is not found."""
    hit = np.flatnonzero(rank > 0)
    hit = hit[np.lexsort((rank[hit], query[hit]))]
    ideal = np.lexsort((-gain, query))
    n = a.n_queries
    return replace(
        a,
        starts=offsets(query[hit], n),
        hit_rank=rank[hit],
        hit_gain=gain[hit],
        ideal_starts=offsets(query, n),
        ideal_gain=gain[ideal],
        evidence=None,
        ties=None,
    )


def _characters(
    found: Resolution, table: ChunkTable, a: Alignment, ranks: _Ranks, place: Ints
) -> tuple[Alignment, Alignment, Bools]:  # fmt: skip
    """Gold and shown characters as alignments, and the queries whose gold characters are known."""
    gold = found.gold
    chunk_rows, chunk_spans = table.spans(found.doc_row)
    # One more than there are chunks: the last one, -1, is what the table lacks.
    at = np.full(len(table) + 1, -1, np.int64)
    at[chunk_rows] = np.arange(len(chunk_rows))
    known = at[ranks.chunk] >= 0
    shown = chunk_spans.take(at[ranks.chunk[known]])
    shown_query, shown_rank = ranks.query[known], ranks.rank[known]

    positive = np.flatnonzero(gold.gain[found.placed] > 0)
    rows = positive[_first_places(found, positive, place, shown_query, shown, shown_rank)]
    placed, spans = found.placed[rows], found.spans.take(rows)
    cut = cover(place[gold.query[placed]], spans, shown_query, shown, shown_rank)

    unplaced = _unplaced_groups(gold, found)
    rows = np.flatnonzero(cut.gold)
    query = np.concatenate([cut.query[rows], place[gold.query[unplaced]]])
    length = np.concatenate([cut.length[rows].astype(float), np.nan_to_num(found.n_unplaced[unplaced])])
    rank = np.concatenate([cut.rank[rows], np.zeros(len(unplaced), np.int64)])
    seen = np.flatnonzero(cut.rank > 0)
    unknown = np.zeros(a.n_queries, bool)
    unknown[place[gold.query[np.isnan(found.n_unplaced) & (gold.gain > 0)]]] = True
    unknown[ranks.query[~known]] = True
    return (
        _alignment(a, query, length, rank),
        _alignment(a, cut.query[seen], cut.length[seen].astype(float), cut.rank[seen]),
        ~unknown,
    )


def _first_places(found: Resolution, rows: Ints, place: Ints, shown_query: Ints, shown: Spans, rank: Ints) -> Ints:
    """Of every group the place that the system shows first: places among `rows`.

    Of places that one chunk shows first, the one of which it shows the larger share counts, then the one labelled
    first; so what stands below rank k does not change which gold was found above it.
    """
    gold = found.gold
    group, number = gold.group[found.placed[rows]], found.place[rows]
    n_places = np.zeros(gold.n_groups, np.int64)
    np.add.at(n_places, group[np.unique(number, return_index=True)[1]], 1)
    alone = n_places[group] == 1
    if alone.all():
        return np.arange(len(rows))
    contested = np.flatnonzero(~alone)
    spans = found.spans.take(rows[contested])
    numbers, first_row, of_place = np.unique(number[contested], return_index=True, return_inverse=True)
    # Each contested place is a query of its own, shown what its question is shown.
    owner = place[gold.query[found.placed[rows[contested][first_row]]]]
    by_query = np.argsort(shown_query, kind="stable")
    lows = np.searchsorted(shown_query[by_query], owner, "left")
    counts = np.searchsorted(shown_query[by_query], owner, "right") - lows
    at = by_query[np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(lows, counts)]
    n = len(numbers)
    cut = cover(of_place, spans, np.repeat(np.arange(n), counts), shown.take(at), rank[at])
    seen = cut.gold & (cut.rank > 0)
    first = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first, cut.query[seen], cut.rank[seen])
    at_first = seen & (cut.rank == first[cut.query])
    share = segment_sums(cut.query, np.where(at_first, cut.length, 0), n) / np.bincount(
        of_place, spans.end - spans.start
    )
    of_group = group[contested][first_row]
    label = found.placed[rows[contested][first_row]]
    order = np.lexsort((numbers, label, -share, first, of_group))
    chosen = numbers[order[np.unique(of_group[order], return_index=True)[1]]]
    return np.flatnonzero(alone | np.isin(number, chosen))


def _unplaced_groups(gold: Gold, found: Resolution) -> Ints:
    """One piece of every group that has characters without a place, unless another piece of the group has a place."""
    wholly = np.zeros(gold.n_groups, bool)
    wholly[gold.group[found.placed]] = True
    rows = np.flatnonzero((found.n_unplaced > 0) & (gold.gain > 0) & ~wholly[gold.group])
    return rows[np.unique(gold.group[rows], return_index=True)[1]]


def _unwinnable(found: Resolution, table: ChunkTable) -> tuple[str, ...]:
    """Questions that have gold, none of which any chunk of the corpus holds."""
    if not table.complete:
        return ()
    gold, query_ids = found.gold, found.gold.query_ids
    has_gold, held = np.zeros(len(query_ids), bool), np.zeros(len(query_ids), bool)
    has_gold[gold.query[gold.gain > 0]] = True
    held[gold.query[found.piece[gold.gain[found.piece] > 0]]] = True
    return tuple(query_ids[q] for q in np.flatnonzero(has_gold & ~held).tolist())


def _unfindable(gold: Gold, table: ChunkTable, documents: Sequence[Document] | None, name: str) -> dict[int, Loss]:
    """Pieces that nothing in the outputs could be compared with, and why.

    Raises   InputError where no piece can be.
    """
    docs = any(doc is not None for doc in table.docs)
    pages = (documents is not None and table.has_offsets) or any(listed is not None for listed in table.pages)
    findable = {
        "span": (table.has_offsets, "`doc`, `start` and `end`"),
        "quote": (table.has_text or (table.has_offsets and documents is not None), "`text`"),
        "text": (table.has_text, "`text`"),
        "document": (docs, "`doc`"),
        "pages": (pages, "`page`"),
    }
    needed = {kind: what for kind, (found, what) in findable.items() if not found and len(table)}
    lost = {
        row: Loss("unknown", f"no retrieved item has {needed[piece.kind]}")
        for row, piece in enumerate(gold.pieces)
        if piece.kind in needed
    }
    if lost and len(lost) == len(gold.pieces):
        raise InputError(
            f"{name}: {gold.where(0)} names {gold.pieces[0]}, and {lost[0].why}; add it to the outputs, or name the "
            "corpus (--corpus)"
        )
    return lost
