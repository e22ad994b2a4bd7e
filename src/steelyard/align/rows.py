"""Runs read batch by batch: order, duplicates, disorder, missing and unjudged queries are settled here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from steelyard.align.hits import Aligned, Hits, Ordered, TieBlocks, alignments_of, no_common_query, refuse_look_alikes
from steelyard.base.arrays import Bools, Ints
from steelyard.base.choices import OnDuplicate
from steelyard.base.errors import SETTLE_DUPLICATES, DuplicateError
from steelyard.base.hashing import block_starts, find_duplicate, hash_ids
from steelyard.base.schema import FrameReader
from steelyard.data.truth import Truth
from steelyard.io.tables import checked

_EDGE_ROWS = 1 << 14
_GATHERED_ROWS = 1 << 18

Places = npt.NDArray[np.int32]
"""Places of queries in the truth, four bytes each."""


def align_rows(truth: Truth, run: FrameReader, *, on_duplicate: OnDuplicate = "error") -> Aligned:
    """Read a run batch by batch and keep the ranks of its judged documents.

    Memory holds a few batches and the judged documents, however long the run is.  Queries whose rows are in several
    blocks are read a second time, together: memory then holds their rows, 28 bytes each and the characters of ids that
    have more than twelve.

    Raises   InputError, DuplicateError, NoCommonQueryError naming the place.
    """
    hits = _Hits(truth, run, on_duplicate)
    with closing(run.batches()) as batches:
        for lists in hits.selected(batches):
            hits.add(hits.match(lists))
    if hits.scattered:
        hits.add_scattered()
    if not hits.seen.any():
        raise no_common_query(truth, run.name, sorted(hits.unjudged[0]))
    aligned = hits.aligned()[0]
    if not len(aligned.alignment.hit_rank):
        with closing(run.batches()) as batches:
            refuse_look_alikes(truth, run.name, next(batches)["doc_id"].drop_nulls().unique(maintain_order=True))
    return aligned


def align_frames(truth: Truth, frame: pl.DataFrame, heights: Ints) -> list[Aligned] | None:
    """The ranks of the judged documents of several small runs at once, as `align_rows` finds them one by one.

    frame     the rows of all runs, one run after another;   heights   (r,) how many rows each has
    Returns   one a run; None where a run has anything to be settled or refused, which `align_rows` does
    """
    firsts = np.union1d(block_starts(frame["query_id"]), np.cumsum(heights)[:-1])
    blocks = _Blocks(frame, frame["query_id"][firsts], np.append(firsts, frame.height))
    hits = _Hits(truth, checked(frame, "runs", "run"), "error", len(heights))
    lists = hits.select(blocks, np.searchsorted(np.cumsum(heights), firsts, "right"))
    if hits.scattered or lists is None:
        return None
    try:
        hits.add(hits.match(lists))
    except DuplicateError:
        return None
    if not hits.seen.reshape(len(heights), -1).any(axis=1).all():
        return None
    aligned = hits.aligned()
    return aligned if all(len(each.alignment.hit_rank) for each in aligned) else None


def _whole_queries(batches: Iterable[pl.DataFrame]) -> Iterator[_Blocks]:
    """The same rows in frames that end where a query's block ends; only blocks at the edges of batches are copied.

    The latter come in frames of their own, several together, as each frame costs time however small it is.
    """
    edge: list[pl.DataFrame] = []
    edges: list[pl.DataFrame] = []
    for batch in batches:
        if batch.is_empty():
            continue
        blocks = _blocks(batch)
        if edge and blocks.ids[0] == edge[0]["query_id"][0]:
            edge.append(batch[: blocks.starts[1]] if len(blocks.ids) > 1 else batch)
            blocks = blocks.slice(1, len(blocks.ids))
        if edge and len(blocks.ids):
            edges += edge
            edge = []
        if len(blocks.ids):
            edge.append(blocks.frame[blocks.starts[-2] :])
            if len(blocks.ids) > 1:
                yield blocks.slice(0, len(blocks.ids) - 1)
        if sum(frame.height for frame in edges) > _EDGE_ROWS:
            yield _blocks(pl.concat(edges, rechunk=True))
            edges = []
    if edges + edge:
        yield _blocks(pl.concat(edges + edge, rechunk=True))


@dataclass(frozen=True)
class _Blocks:
    """Rows of a run in blocks of one query each: starts has one offset more than there are blocks."""

    frame: pl.DataFrame
    ids: pl.Series
    starts: Ints

    def slice(self, first: int, last: int) -> _Blocks:
        """Blocks from first up to last."""
        starts = self.starts[first : last + 1]
        return _Blocks(self.frame[starts[0] : starts[-1]], self.ids[first:last], starts - starts[0])


def _stable_order(codes: Ints | Places) -> Ints:
    """(n,) rows by rising code, none below 0; NumPy sorts small types by counting."""
    most = int(codes.max()) if len(codes) else 0
    return np.argsort(codes.astype(np.min_scalar_type(most)), kind="stable")


def _spans(counts: Ints, n_rows: int) -> Iterator[tuple[int, int]]:
    """First query and the one after the last of neighbouring queries with at most so many rows in all, or of one."""
    ends = np.cumsum(counts)
    first = before = 0
    while first < len(counts):
        last = max(first + 1, int(np.searchsorted(ends, before + n_rows, "right")))
        yield first, last
        first, before = last, int(ends[last - 1])


def _blocks(frame: pl.DataFrame) -> _Blocks:
    firsts = block_starts(frame["query_id"])
    return _Blocks(frame, frame["query_id"][firsts], np.append(firsts, frame.height))


_FIRST = np.zeros(1, np.int64)


@dataclass(frozen=True)
class _Lists:
    """Rows of whole queries, laid end to end: (b,) query of each list, and (b,) how many rows it has."""

    frame: pl.DataFrame
    query: Ints
    counts: Ints


@dataclass(frozen=True)
class _Part:
    """Hits of some lists.

    listed, counts      (b,) their queries, and how many documents each has
    query, rank, label  (h,) of each judged document;   tied   blocks of ties, if there are any
    """

    listed: Ints
    counts: Ints
    query: Ints
    rank: Ints
    label: Ints
    tied: TieBlocks | None


@dataclass
class _Hits:
    """The hits of a run, collected while it is read; or of several runs, which are in one frame.

    A query is numbered run * len(truth) + its place in the truth, so that each run has its own.
    """

    truth: Truth
    run: FrameReader
    on_duplicate: OnDuplicate
    n_runs: int = 1
    scattered: set[int] = field(default_factory=set)
    query: list[Ints] = field(default_factory=list)
    rank: list[Ints] = field(default_factory=list)
    label: list[Ints] = field(default_factory=list)
    tied: list[TieBlocks] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n_retrieved: Ints = np.zeros(self.n_runs * len(self.truth), np.int64)
        self.seen = np.zeros(self.n_runs * len(self.truth), bool)
        self.unjudged: list[set[str]] = [set() for _ in range(self.n_runs)]

    def selected(self, batches: Iterable[pl.DataFrame]) -> Iterator[_Lists]:
        """The lists to be matched; where half of the queries are scattered, nothing more: all are then read anew."""
        for blocks in _whole_queries(batches):
            if (lists := self.select(blocks)) is not None:
                yield lists
            if len(self.scattered) > len(self.truth) // 2:
                self.scattered.update(range(len(self.truth)))
                return

    def select(self, blocks: _Blocks, run: Ints = _FIRST) -> _Lists | None:
        """Whole blocks of judged queries; a query that comes a second time is put aside.

        run   (b,) to which each block belongs
        """
        query = self.truth.places(blocks.ids)
        unjudged = np.flatnonzero(query < 0)
        run = np.broadcast_to(run, query.shape)
        for of, query_id in zip(run[unjudged].tolist(), blocks.ids[unjudged].to_list(), strict=True):
            self.unjudged[of].add(query_id)
        query = np.where(query < 0, query, query + run * len(self.truth))
        # The first block of each query; one more place is for the queries that are not judged.
        first = np.empty(len(self.seen) + 1, np.int64)
        first[query[::-1]] = np.arange(len(query))[::-1]
        taken = (query >= 0) & (first[query] == np.arange(len(query))) & ~self.seen[query]
        self.scattered.update(query[(query >= 0) & ~taken].tolist())
        frame, counts = blocks.frame, np.diff(blocks.starts)
        if not taken.all():
            frame, query, counts = frame.filter(np.repeat(taken, counts)), query[taken], counts[taken]
        self.seen[query] = True
        return _Lists(frame, query, counts) if len(query) else None

    def add_scattered(self) -> None:
        """Read the run again for the queries whose rows came in several blocks, and replace their hits."""
        stale = np.zeros(len(self.truth), bool)
        stale[list(self.scattered)] = True
        for i, query in enumerate(self.query):
            fresh = ~stale[query]
            self.query[i], self.rank[i], self.label[i] = query[fresh], self.rank[i][fresh], self.label[i][fresh]
        for i, (query, first, size) in enumerate(self.tied):
            fresh = ~stale[query]
            self.tied[i] = query[fresh], first[fresh], size[fresh]
        with closing(self.run.batches()) as batches:
            parts = [self._rows_of(stale, batch) for batch in batches]
        counts = np.sum([np.bincount(query, minlength=len(self.truth)) for query, _ in parts], axis=0)
        self.seen |= counts > 0
        for start, end in _spans(counts, _GATHERED_ROWS):
            pieces = [
                (query[a:b], frame[a:b]) for query, frame in parts for a, b in [np.searchsorted(query, (start, end))]
            ]
            order = _stable_order(np.concatenate([query for query, _ in pieces]) - start)
            queries = start + np.flatnonzero(counts[start:end])
            frame = pl.concat([frame for _, frame in pieces])[order]
            self.add(self.match(_Lists(frame, queries, counts[queries])))

    def _rows_of(self, queries: Bools, batch: pl.DataFrame) -> tuple[Places, pl.DataFrame]:
        """Rows of some of the truth's queries in the truth's order: (n,) place of the query, and the other columns."""
        blocks = _blocks(batch)
        query = self.truth.places(blocks.ids)
        self.unjudged[0].update(blocks.ids[np.flatnonzero(query < 0)].to_list())
        query = np.repeat(query, np.diff(blocks.starts))
        rows = np.flatnonzero((query >= 0) & queries[query])
        rows = rows[_stable_order(query[rows])]
        return query[rows].astype(np.int32), batch.select("doc_id", "score")[rows]

    def match(self, lists: _Lists) -> _Part:
        """The ranks of the judged documents of some lists, of which each holds its query's rows."""
        frame, query, counts = lists.frame, lists.query, lists.counts
        if frame["doc_id"].null_count():
            there = frame["doc_id"].is_not_null().to_numpy()
            counts = np.bincount(np.repeat(np.arange(len(counts)), counts)[there], minlength=len(counts))
            frame = frame.filter(there)
        hashes = hash_ids(frame["doc_id"])
        if (duplicate := find_duplicate(frame["doc_id"], hashes, counts)) is not None:
            frame, counts = self._settle_duplicates(frame, query, counts, duplicate)
            hashes = hash_ids(frame["doc_id"])
        rows, label = self.truth.index.find(query % len(self.truth), counts, hashes, frame["doc_id"])
        ordered = Ordered.of(frame["score"].to_numpy(), counts)
        place, streak = ordered.places(rows, frame["doc_id"])
        starts, block = np.cumsum(counts) - counts, np.repeat(np.arange(len(counts)), counts)[rows]
        tied = None
        if len(streaks := ordered.streaks):
            of = np.searchsorted(np.cumsum(counts), streaks.first, "right")
            first = streaks.first - starts[of] + 1
            visible = streaks.visible(first, streak[streak >= 0])
            tied = query[of[visible]], first[visible], streaks.size[visible]
        return _Part(query, counts, query[block], rank=place - starts[block] + 1, label=label, tied=tied)

    def add(self, part: _Part) -> None:
        """Keep what some lists hold."""
        self.n_retrieved[part.listed] = part.counts
        self.query.append(part.query)
        self.rank.append(part.rank)
        self.label.append(part.label)
        if part.tied is not None:
            self.tied.append(part.tied)

    def _settle_duplicates(self, frame: pl.DataFrame, query: Ints, counts: Ints, row: int) -> tuple[pl.DataFrame, Ints]:
        if self.on_duplicate == "error":
            block = np.searchsorted(np.cumsum(counts), row, "right")
            query_id = self.truth.query_ids[query[block] % len(self.truth)]
            doc_id = frame["doc_id"][row]
            raise DuplicateError(
                f"{self.run.locate(query_id, doc_id)}: document {doc_id!r} is retrieved twice for question "
                f"{query_id!r}; {SETTLE_DUPLICATES}"
            )
        blocks = pl.Series("block", np.repeat(np.arange(len(counts)), counts))
        frame = frame.with_columns(blocks)
        if self.on_duplicate == "max":
            frame = frame.sort("block", "score", descending=[False, True], maintain_order=True)
        frame = frame.unique(["block", "doc_id"], keep="first", maintain_order=True)
        return frame.drop("block"), np.bincount(frame["block"].to_numpy(), minlength=len(counts))

    def aligned(self) -> list[Aligned]:
        """Everything in the truth's order, run by run."""
        query, rank, label = (
            np.concatenate([np.zeros(0, np.int64), *parts]) for parts in (self.query, self.rank, self.label)
        )
        hits = Hits(query, rank, self.truth.gain[label], self.n_retrieved, self.seen, self.tied)
        alignments = alignments_of(self.truth, hits)
        return [Aligned(a, len(unjudged)) for a, unjudged in zip(alignments, self.unjudged, strict=True)]
