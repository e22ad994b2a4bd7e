"""The seam: any run and a truth in, one Alignment out; no measure ever sees how the run was written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np

from steelyard.align.hits import Aligned, Hits, Streaks, TieBlocks, alignments_of, no_common_query, refuse_look_alikes
from steelyard.align.rows import align_frames, align_rows
from steelyard.base.arrays import Floats, Ints
from steelyard.base.choices import OnDuplicate
from steelyard.base.errors import SETTLE_DUPLICATES, DuplicateError
from steelyard.base.schema import FrameReader
from steelyard.data.run import Run, StreamedRun
from steelyard.data.truth import Truth
from steelyard.io.native import EXACT
from steelyard.io.objects import RunDict, finite
from steelyard.io.source import BLOCK_BYTES, ahead
from steelyard.io.trec import TrecFile, read_together

_NONE = np.zeros(0, np.int64)


def align_rankings(
    truth: Truth,
    rankings: Mapping[str, Mapping[str, float] | list[str]],
    name: str,
    *,
    on_duplicate: OnDuplicate = "error",
) -> Aligned:
    """The ranks of the judged documents of a run held as {query_id: {doc_id: score}} or {query_id: [doc_ids]}.

    Lists are best first.  Only judged documents are looked up: the rank of each is one more than the number of scores
    above its own.

    Raises   InputError, DuplicateError, NoCommonQueryError.
    """
    query: list[int] = []
    rank: list[int] = []
    gain: list[float] = []
    tied: list[TieBlocks] = []
    n_retrieved: Ints = np.zeros(len(truth), np.int64)
    seen = np.zeros(len(truth), bool)
    for i, (query_id, labels) in enumerate(zip(truth.query_ids, truth.labels, strict=True)):
        ranking = rankings.get(query_id)
        if ranking is None:
            continue
        where = f"{name}, question {query_id!r}"
        if isinstance(ranking, list):
            ranking = ranking if on_duplicate == "error" else list(dict.fromkeys(ranking))
            docs, ranks = _listed_ranks(ranking, labels, where)
        else:
            docs, ranks, (first, size) = _scored_ranks(ranking, labels, where)
            if len(first):
                tied.append((np.full(len(first), i), first, size))
        seen[i], n_retrieved[i] = True, len(ranking)
        query += [i] * len(docs)
        rank += ranks
        gain += [labels[doc] for doc in docs]
    unjudged = rankings.keys() - set(truth.query_ids)
    if not seen.any():
        raise no_common_query(truth, name, sorted(unjudged))
    if not rank:
        refuse_look_alikes(truth, name, (doc for ranking in rankings.values() for doc in ranking))
    columns = np.array(query, np.int64), np.array(rank, np.int64), np.array(gain, float)
    (alignment,) = alignments_of(truth, Hits(*columns, n_retrieved, seen, tied))
    return Aligned(alignment, len(unjudged))


def _listed_ranks(ranking: list[str], labels: Mapping[str, float], where: str) -> tuple[list[str], list[int]]:
    if len(set(ranking)) < len(ranking):
        twice = next(doc for doc in ranking if ranking.count(doc) > 1)
        raise DuplicateError(f"{where}: document {twice!r} is retrieved twice; {SETTLE_DUPLICATES}")
    hits = [(doc, rank) for rank, doc in enumerate(ranking, 1) if doc in labels]
    return [doc for doc, _ in hits], [rank for _, rank in hits]


def _scored_ranks(
    ranking: Mapping[str, float], labels: Mapping[str, float], where: str
) -> tuple[list[str], list[int], tuple[Ints, Ints]]:
    """The judged documents, their ranks, and first rank and size of the blocks of ties."""
    descending = -_scores(ranking, where)
    same = descending[1:] <= descending[:-1]
    if same.any():
        descending.sort()
        same = descending[1:] == descending[:-1]
    docs = [doc for doc in labels if doc in ranking]
    own = -np.array([ranking[doc] for doc in docs], float)
    ranks = (np.searchsorted(descending, own, "left") + 1).tolist()
    if not same.any():
        return docs, ranks, (_NONE, _NONE)
    streaks = Streaks.of(np.flatnonzero(same) + 1)
    streak = streaks.around(np.array(ranks, np.int64) - 1)
    tied = np.flatnonzero(streak >= 0).tolist()
    blocks: dict[float, list[str]] = {float(ranking[docs[i]]): [] for i in tied}
    if blocks:
        for doc, score in ranking.items():
            if (block := blocks.get(float(score))) is not None:
                block.append(doc)
        place = {doc: at for block in blocks.values() for at, doc in enumerate(sorted(block, reverse=True))}
        for i in tied:
            ranks[i] += place[docs[i]]
    visible = streaks.visible(streaks.first + 1, streak[tied])
    return docs, ranks, (streaks.first[visible] + 1, streaks.size[visible])


def _scores(ranking: Mapping[str, float], where: str) -> Floats:
    """(n,) scores of a ranking; one sum checks quickly that all of them are finite numbers."""
    try:
        sound = math.isfinite(sum(ranking.values()))
    except (TypeError, ValueError, OverflowError):
        sound = False
    scores = np.fromiter(ranking.values(), float, len(ranking)) if sound else np.full(1, np.nan)
    if (np.abs(scores) < EXACT).all():
        return scores
    return np.array([finite(score, f"{where}, document {doc!r}: score") for doc, score in ranking.items()], float)


_SMALL_BYTES = BLOCK_BYTES >> 3
"""Files up to here have few batches, whose fixed cost is shared."""

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


def align_all(
    truth: Truth, runs: Sequence[Run | StreamedRun], *, on_duplicate: OnDuplicate = "error"
) -> Iterator[Aligned]:
    """Result of `align` for each run, in order; small files are read and aligned many at a time.

    Raises   as `align`
    """
    if len(runs) == 1:
        yield align(truth, runs[0], on_duplicate=on_duplicate)
        return
    for group, aligned in ahead(partial(_align_group, truth), _groups(runs), workers=2):
        yield from aligned or (align(truth, run, on_duplicate=on_duplicate) for run in group)


def _groups(runs: Sequence[Run | StreamedRun]) -> Iterator[list[Run | StreamedRun]]:
    """Runs that follow one another: small files up to the size of a block, anything else by itself."""
    group: list[Run | StreamedRun] = []
    n_bytes = 0
    for run in runs:
        size = _small_size(run)
        if group and (size is None or n_bytes + size > BLOCK_BYTES):
            yield group
            group, n_bytes = [], 0
        if size is None:
            yield [run]
        else:
            group.append(run)
            n_bytes += size
    if group:
        yield group


def _small_size(run: Run | StreamedRun) -> int | None:
    """Bytes of a small TREC file, None for any other run."""
    if not (isinstance(run, StreamedRun) and isinstance(run.content, TrecFile)):
        return None
    size = run.content.source.size
    return size if size is not None and size <= _SMALL_BYTES else None


def _align_group(truth: Truth, group: list[Run | StreamedRun]) -> tuple[list[Run | StreamedRun], list[Aligned] | None]:
    """The runs, and how they align where they can be aligned together."""
    files = [run.content for run in group if isinstance(run.content, TrecFile)]
    frames = read_together(files) if len(group) > 1 else None
    return group, None if frames is None else align_frames(truth, *frames)


def _align_content(truth: Truth, content: FrameReader | RunDict, on_duplicate: OnDuplicate) -> Aligned:
    if isinstance(content, RunDict):
        return align_rankings(truth, content.rankings, content.name, on_duplicate=on_duplicate)
    return align_rows(truth, content, on_duplicate=on_duplicate)
