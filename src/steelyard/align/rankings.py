"""The seam: any run and a truth in, one Alignment out.

Order, duplicates, disorder, missing and unjudged queries are all settled here; no measure ever sees them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import SETTLE_DUPLICATES, DuplicateError, NoCommonQueryError
from steelyard.base.hashing import block_starts, find_duplicate, hash_ids
from steelyard.base.schema import FrameReader
from steelyard.data.run import Run, StreamedRun
from steelyard.data.truth import OnDuplicate, Truth
from steelyard.io.objects import RunDict, finite
from steelyard.measures.alignment import Alignment, Ties

_SHOWN_IDS = 3
# Ties further down are kept only where they hold a judged document, so that memory does not grow with a long run.
_TIES_KEPT = 1000
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Aligned:
    """An alignment, and what the run held besides."""

    alignment: Alignment
    n_unjudged_queries: int


_alignments: WeakKeyDictionary[Run, WeakKeyDictionary[Truth, dict[OnDuplicate, Aligned]]] = WeakKeyDictionary()


def align(truth: Truth, run: Run | StreamedRun, *, on_duplicate: OnDuplicate = "error") -> Aligned:
    """The ranks of the judged documents of a run; computed once for a run in memory and a truth.

    Raises   InputError, DuplicateError, NoCommonQueryError naming the place.
    """
    if isinstance(run, StreamedRun):
        return _align_content(truth, run.content, on_duplicate)
    by_policy = _alignments.setdefault(run, WeakKeyDictionary()).setdefault(truth, {})
    if on_duplicate not in by_policy:
        by_policy[on_duplicate] = _align_content(truth, run.content, on_duplicate)
    return by_policy[on_duplicate]


def _align_content(truth: Truth, content: FrameReader | RunDict, on_duplicate: OnDuplicate) -> Aligned:
    if isinstance(content, RunDict):
        return align_rankings(truth, content.rankings, content.name, on_duplicate=on_duplicate)
    return align_rows(truth, content, on_duplicate=on_duplicate)


def align_rows(truth: Truth, run: FrameReader, *, on_duplicate: OnDuplicate = "error") -> Aligned:
    """Read a run batch by batch and keep the ranks of its judged documents.

    Memory holds a few batches and the judged documents, however long the run is.  Queries whose rows stand in several
    blocks are read a second time, together.

    Raises   InputError, DuplicateError, NoCommonQueryError naming the place.
    """
    hits = _Hits(truth, run, on_duplicate)
    with closing(run.batches()) as batches:
        for blocks in _whole_queries(batches):
            hits.add(blocks)
    if hits.scattered:
        hits.add_scattered()
    if not hits.seen.any():
        raise _no_common_query(truth, run.name, sorted(hits.unjudged))
    return Aligned(hits.alignment(), len(hits.unjudged))


def _whole_queries(batches: Iterable[pl.DataFrame]) -> Iterator[_Blocks]:
    """The same rows in frames that end where a query's block ends; only the block at a batch's edge is copied."""
    held: list[pl.DataFrame] = []
    for batch in batches:
        if batch.is_empty():
            continue
        blocks = _blocks(batch)
        if held and blocks.ids[0] == held[0]["query_id"][0]:
            held.append(batch[: blocks.starts[1]] if len(blocks.ids) > 1 else batch)
            blocks = blocks.slice(1, len(blocks.ids))
        if held and len(blocks.ids):
            yield _blocks(pl.concat(held, rechunk=True))
            held = []
        if len(blocks.ids):
            held.append(blocks.frame[blocks.starts[-2] :])
            if len(blocks.ids) > 1:
                yield blocks.slice(0, len(blocks.ids) - 1)
    if held:
        yield _blocks(pl.concat(held, rechunk=True))


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


def _blocks(frame: pl.DataFrame) -> _Blocks:
    firsts = block_starts(frame["query_id"])
    return _Blocks(frame, frame["query_id"].gather(firsts), np.append(firsts, frame.height))


@dataclass
class _Hits:
    """What is kept of a run while it is read."""

    truth: Truth
    run: FrameReader
    on_duplicate: OnDuplicate
    unjudged: set[str] = field(default_factory=set)
    scattered: set[int] = field(default_factory=set)
    query: list[Ints] = field(default_factory=list)
    rank: list[Ints] = field(default_factory=list)
    label: list[Ints] = field(default_factory=list)
    tied: list[tuple[Ints, Ints, Ints]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n_retrieved: Ints = np.zeros(len(self.truth), np.int64)
        self.seen = np.zeros(len(self.truth), bool)

    def add(self, blocks: _Blocks) -> None:
        """Take whole blocks; a query met for the second time is put aside."""
        query = self.truth.places(blocks.ids)
        if (query < 0).any():
            self.unjudged.update(blocks.ids.gather(np.flatnonzero(query < 0)).to_list())
        first_of_its_kind = np.zeros(len(query), bool)
        first_of_its_kind[np.unique(query, return_index=True)[1]] = True
        taken = (query >= 0) & first_of_its_kind & ~self.seen[query]
        self.scattered.update(query[(query >= 0) & ~taken].tolist())
        frame, counts = blocks.frame, np.diff(blocks.starts)
        if not taken.all():
            frame, query, counts = frame.filter(np.repeat(taken, counts)), query[taken], counts[taken]
        self.seen[query] = True
        if len(query):
            self._take(frame, query, counts)

    def add_scattered(self) -> None:
        """Read the run again for the queries whose rows came in several blocks, and replace what is known of them."""
        scattered = np.array(sorted(self.scattered))
        wanted = pl.Series("query_id", [self.truth.query_ids[q] for q in scattered])
        with closing(self.run.batches()) as batches:
            rows = [batch.filter(pl.col("query_id").is_in(wanted.implode())) for batch in batches]
        frame = pl.concat(rows).sort("query_id", maintain_order=True)
        # The truth's queries ascend by bytes, and so do the sorted rows: blocks and positions agree.
        stale = np.zeros(len(self.truth), bool)
        stale[scattered] = True
        for i, query in enumerate(self.query):
            kept = ~stale[query]
            self.query[i], self.rank[i], self.label[i] = query[kept], self.rank[i][kept], self.label[i][kept]
        for i, (query, first, size) in enumerate(self.tied):
            kept = ~stale[query]
            self.tied[i] = query[kept], first[kept], size[kept]
        self._take(frame, scattered, np.diff(_blocks(frame).starts))

    def _take(self, frame: pl.DataFrame, query: Ints, counts: Ints) -> None:
        if frame["doc_id"].null_count():
            there = frame["doc_id"].is_not_null().to_numpy()
            counts = np.bincount(np.repeat(np.arange(len(counts)), counts)[there], minlength=len(counts))
            frame = frame.filter(there)
        hashes = hash_ids(frame["doc_id"])
        if (duplicate := find_duplicate(frame["doc_id"], hashes, counts)) is not None:
            frame, counts = self._settle_duplicates(frame, counts, duplicate)
            hashes = hash_ids(frame["doc_id"])
        rows, label = self.truth.index.find(query, counts, hashes, frame["doc_id"])
        order, same = _canonical_order(frame, counts)
        block, offsets = np.repeat(np.arange(len(counts)), counts)[rows], np.cumsum(counts) - counts
        place = rows if order is None else _inverse(order)[rows]
        self.n_retrieved[query] = counts
        self.query.append(query[block])
        self.rank.append(place - offsets[block] + 1)
        self.label.append(label)
        if same is not None:
            first, size = _streaks(same)
            block = np.searchsorted(np.cumsum(counts), first, "right")
            rank = first - offsets[block] + 1
            kept = (rank <= _TIES_KEPT) | _any_within(first, size, place)
            self.tied.append((query[block[kept]], rank[kept], size[kept]))

    def _settle_duplicates(self, frame: pl.DataFrame, counts: Ints, row: int) -> tuple[pl.DataFrame, Ints]:
        if self.on_duplicate == "error":
            query_id, doc_id = frame["query_id"][row], frame["doc_id"][row]
            raise DuplicateError(
                f"{self.run.locate(query_id, doc_id)}: document {doc_id!r} is retrieved twice for query {query_id!r}; "
                f"{SETTLE_DUPLICATES}"
            )
        block = pl.Series("block", np.repeat(np.arange(len(counts)), counts))
        frame = frame.with_columns(block)
        if self.on_duplicate == "max":
            frame = frame.sort("block", "score", descending=[False, True], maintain_order=True)
        frame = frame.unique(["block", "doc_id"], keep="first", maintain_order=True)
        return frame.drop("block"), np.bincount(frame["block"].to_numpy(), minlength=len(counts))

    def alignment(self) -> Alignment:
        """Everything in the truth's order."""
        query, rank, label = (np.concatenate([np.zeros(0, np.int64), *parts])
                              for parts in (self.query, self.rank, self.label))  # fmt: skip
        gain = self.truth.gain[label]
        return _in_order(self.truth, query, rank, gain, self.n_retrieved, self.seen, self.tied)


def _in_order(
    truth: Truth, query: Ints, rank: Ints, gain: Floats, n_retrieved: Ints, seen: Bools,
    tied: list[tuple[Ints, Ints, Ints]],
) -> Alignment:  # fmt: skip
    order = np.lexsort((rank, query))
    return Alignment(
        query_id=truth.query_ids,
        n_retrieved=n_retrieved,
        missing=~seen,
        starts=np.concatenate(([0], np.cumsum(np.bincount(query, minlength=len(truth))))),
        hit_rank=rank[order],
        hit_gain=gain[order],
        ideal_starts=truth.starts,
        ideal_gain=truth.gain,
        ties=_ties(tied, len(truth)),
    )


def _ties(tied: list[tuple[Ints, Ints, Ints]], n_queries: int) -> Ties | None:
    """Blocks of ties in the truth's order, from (query, first rank, size) of some at a time."""
    if not tied:
        return None
    query, first, size = map(np.concatenate, zip(*tied, strict=True))
    order = np.lexsort((first, query))
    return Ties.of(query[order], first[order], size[order], n_queries)


def align_rankings(
    truth: Truth,
    rankings: Mapping[str, Mapping[str, float] | list[str]],
    name: str,
    *,
    on_duplicate: OnDuplicate = "error",
) -> Aligned:
    """The same for a run held as {query_id: {doc_id: score}} or {query_id: [doc_ids, best first]}.

    Only judged documents are looked up: their rank is one more than the number of scores above theirs.

    Raises   InputError, DuplicateError, NoCommonQueryError.
    """
    query: list[int] = []
    rank: list[int] = []
    gain: list[float] = []
    tied: list[tuple[Ints, Ints, Ints]] = []
    n_retrieved: Ints = np.zeros(len(truth), np.int64)
    seen = np.zeros(len(truth), bool)
    for i, (query_id, labels) in enumerate(zip(truth.query_ids, truth.labels, strict=True)):
        ranking = rankings.get(query_id)
        if ranking is None:
            continue
        where = f"{name}, query {query_id!r}"
        if isinstance(ranking, list):
            ranking = ranking if on_duplicate == "error" else list(dict.fromkeys(ranking))
            found, places = _listed_ranks(ranking, labels, where)
        else:
            found, places, (first, size) = _scored_ranks(ranking, labels, where)
            if len(first):
                tied.append((np.full(len(first), i), first, size))
        seen[i], n_retrieved[i] = True, len(ranking)
        query += [i] * len(found)
        rank += places
        gain += [labels[doc] for doc in found]
    unjudged = rankings.keys() - set(truth.query_ids)
    if not seen.any():
        raise _no_common_query(truth, name, sorted(unjudged))
    found_query, found_rank = np.array(query, np.int64), np.array(rank, np.int64)
    found_gain = np.array(gain, float)
    return Aligned(_in_order(truth, found_query, found_rank, found_gain, n_retrieved, seen, tied), len(unjudged))


def _listed_ranks(ranking: list[str], labels: Mapping[str, float], where: str) -> tuple[list[str], list[int]]:
    if len(set(ranking)) < len(ranking):
        twice = next(doc for doc in ranking if ranking.count(doc) > 1)
        raise DuplicateError(f"{where}: document {twice!r} is retrieved twice; {SETTLE_DUPLICATES}")
    found = [(doc, place) for place, doc in enumerate(ranking, 1) if doc in labels]
    return [doc for doc, _ in found], [place for _, place in found]


def _scored_ranks(
    ranking: Mapping[str, float], labels: Mapping[str, float], where: str
) -> tuple[list[str], list[int], tuple[Ints, Ints]]:
    """The judged documents, their ranks, and first rank and size of the blocks of ties."""
    descending = -_scores(ranking, where)
    same = descending[1:] <= descending[:-1]
    if same.any():
        descending.sort()
        same = descending[1:] == descending[:-1]
    found = [doc for doc in labels if doc in ranking]
    own = -np.array([ranking[doc] for doc in found], float)
    ranks = (np.searchsorted(descending, own, "left") + 1).tolist()
    if not same.any():
        return found, ranks, (_NONE, _NONE)
    first, size = _streaks(np.concatenate(([False], same)))
    tied = np.flatnonzero(_streak_of(first, size, np.array(ranks, np.int64) - 1) >= 0).tolist()
    groups: dict[float, list[str]] = {float(ranking[found[i]]): [] for i in tied}
    if groups:
        for doc, score in ranking.items():
            if (group := groups.get(float(score))) is not None:
                group.append(doc)
        place = {doc: at for docs in groups.values() for at, doc in enumerate(sorted(docs, reverse=True))}
        for i in tied:
            ranks[i] += place[found[i]]
    kept = (first < _TIES_KEPT) | _any_within(first, size, np.array(ranks, np.int64) - 1)
    return found, ranks, (first[kept] + 1, size[kept])


def _scores(ranking: Mapping[str, float], where: str) -> Floats:
    """(n,) scores of a ranking; a sum tells quickly whether all of them are finite numbers."""
    try:
        sound = math.isfinite(sum(ranking.values()))
    except (TypeError, ValueError, OverflowError):
        sound = False
    if not sound:
        return np.array([finite(score, f"{where}, document {doc!r}: score") for doc, score in ranking.items()], float)
    return np.fromiter(ranking.values(), float, len(ranking))


def _inverse(order: Ints) -> Ints:
    """(n,) the place of each row, from the row at each place."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def _streaks(same: Bools) -> tuple[Ints, Ints]:
    """First row and size of each streak of equal rows, from whether each row equals the one before it."""
    rows = np.flatnonzero(same)
    opens = np.flatnonzero(np.diff(rows, prepend=-1) > 1)
    return rows[opens] - 1, np.diff(opens, append=len(rows)) + 1


def _streak_of(first: Ints, size: Ints, rows: Ints) -> Ints:
    """(n,) the streak in which each of n rows lies, or -1."""
    streak = np.searchsorted(first, rows, "right") - 1
    return np.where(rows < first[streak] + size[streak], streak, -1) if len(first) else np.full(len(rows), -1)


def _any_within(first: Ints, size: Ints, rows: Ints) -> Bools:
    """(b,) streaks in which any of the rows lies."""
    held = np.zeros(len(first), bool)
    streak = _streak_of(first, size, rows)
    held[streak[streak >= 0]] = True
    return held


def _canonical_order(frame: pl.DataFrame, counts: Ints) -> tuple[Ints | None, Bools | None]:
    """Rows by score, then doc_id, both descending, within each block, and which ordered rows tie with the one above.

    Order is None if the rows stand so already; ties are None if there are none.
    """
    score = frame["score"].to_numpy()
    follows = np.ones(len(score), bool)
    follows[(np.cumsum(counts) - counts)[counts > 0]] = False
    rises = np.zeros(len(score), bool)
    rises[1:] = score[1:] >= score[:-1]
    suspects = np.flatnonzero(rises & follows)
    if not len(suspects):
        return None, None
    order = _order(score, frame["doc_id"], counts, suspects)
    if order is not None:
        score = score[order]
    same = follows
    same[1:] &= score[1:] == score[:-1]
    return order, same if same.any() else None


def _order(score: Floats, doc_ids: pl.Series, counts: Ints, suspects: Ints) -> Ints | None:
    """Rows in canonical order, or None; suspects are those whose score is not below the one above."""
    tied = score[suspects] == score[suspects - 1]
    tied[tied] = (doc_ids.gather(suspects[tied]) < doc_ids.gather(suspects[tied] - 1)).to_numpy()
    wrong = suspects[~tied]
    if not len(wrong):
        return None
    block = np.repeat(np.arange(len(counts)), counts)
    bad = np.zeros(len(counts), bool)
    bad[block[wrong]] = True
    rows = np.flatnonzero(bad[block])
    order = np.arange(len(score))
    order[rows] = _sorted_rows(block[rows], score[rows], doc_ids, rows)
    return order


def _sorted_rows(block: Ints, score: Floats, doc_ids: pl.Series, rows: Ints) -> Ints:
    """Rows in canonical order; ids are compared only where scores are equal.

    block, score   (n,) of the rows;   doc_ids   of all rows there are
    """
    order = np.lexsort((-score, block))
    same = np.zeros(len(order) + 1, bool)
    same[1:-1] = (score[order][1:] == score[order][:-1]) & (block[order][1:] == block[order][:-1])
    tied = np.flatnonzero(same[:-1] | same[1:])
    if len(tied):
        group = np.cumsum(~same[:-1])[tied]
        ties = pl.DataFrame({"group": group, "doc_id": doc_ids.gather(rows[order[tied]]), "row": order[tied]})
        order[tied] = ties.sort("group", "doc_id", descending=[False, True])["row"].to_numpy()
    return rows[order]


def _no_common_query(truth: Truth, run_name: str, run_ids: list[str]) -> NoCommonQueryError:
    ours, theirs = truth.query_ids[:_SHOWN_IDS], run_ids[:_SHOWN_IDS]
    shown = f"the truth has {', '.join(map(repr, ours))}; the run has {', '.join(map(repr, theirs)) or 'none'}"
    return NoCommonQueryError(f"{run_name}: no query of the run is in the truth: {shown}" + _slip(truth, run_ids))


def _slip(truth: Truth, run_ids: list[str]) -> str:
    """Why ids that should be equal are not, where one simple change would make them so."""
    slips: dict[str, Callable[[str], str]] = {
        "upper and lower case differ": str.casefold,
        "white space around the ids differs": str.strip,
        "leading zeros or a decimal point differ; ids are text": _as_number,
        "one side has a prefix that the other lacks": _without_prefix,
    }
    for reason, fold in slips.items():
        ours = {fold(id) for id in truth.query_ids}
        if any(fold(id) in ours for id in run_ids):
            return f"; {reason}"
    return "; are these files of the same collection, and is the truth the first one?"


def _as_number(text: str) -> str:
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def _without_prefix(text: str) -> str:
    return text.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-:# ").lstrip("0") or text
