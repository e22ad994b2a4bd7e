"""The first places of every list: which chunks, their gains, their texts, and where the gold is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from steelyard.base.arrays import Ints
from steelyard.data.chunk_table import ChunkTable
from steelyard.experiment.door.weighed import Weighed
from steelyard.experiment.door.weighing import Weighing
from steelyard.reports.details.gold import Highlights
from steelyard.reports.details.limits import Budget, Limits, cut
from steelyard.reports.visible import visible


@dataclass(frozen=True, eq=False)
class ListDetails:
    """The first `depth` of every list, in the order of systems, questions and ranks; s systems, q questions, e places.

    n        (s * q,) how many places each list has
    chunk    (e,) the chunk in each place;   gain   (e,) the place of its gain in gains, 0 for no label
    gains    distinct gains, ascending, behind None
    ids      of the chunks: two systems may call different texts by one id
    texts    of the chunks; empty where nobody brings them along, None where there is no room
    docs     names of the documents;   doc   chunk -> place of its document, -1 for none
    left_out texts without room;   has_texts   whether any system brings texts along
    marks    question -> chunk -> first character and the one behind the last of every stretch of gold, in a row
    """

    depth: int
    n: Ints
    chunk: Ints
    gain: Ints
    gains: Sequence[float | None]
    ids: Sequence[str]
    texts: Sequence[str | None]
    docs: Sequence[str]
    doc: Sequence[int]
    has_texts: bool
    left_out: int
    marks: dict[int, dict[int, list[int]]]


def list_details(
    weighing: Weighing, query_ids: Sequence[str], limits: Limits, *, depth: int, frames: Sequence[pl.DataFrame],
    documents: Mapping[str, str],
) -> ListDetails:  # fmt: skip
    """Lists as deep as the limits allow, and the texts of their chunks, first places first.

    depth, frames   of `list_frames`;   documents   texts of what systems name by id alone
    """
    chunks = _Chunks({id: cut(text, limits.document) for id, text in documents.items()}, limits.document)
    places = _places(weighing, query_ids, frames, chunks)
    budget = Budget(limits.chunk_bytes)
    texts = _texts(chunks.texts, places, budget)
    gains = sorted(places["gain"].drop_nulls().unique().to_list())
    gain = np.searchsorted(np.array(gains), places["gain"].fill_null(0.0).to_numpy()) + 1
    row = places["system"].to_numpy() * len(query_ids) + places["query"].to_numpy()
    docs = sorted({doc for doc in chunks.docs if doc is not None})
    number = {doc: i for i, doc in enumerate(docs)}
    return ListDetails(
        depth=depth,
        n=np.bincount(row, minlength=len(weighing.systems) * len(query_ids)),
        chunk=places["chunk"].to_numpy(),
        gain=np.where(places["gain"].is_null().to_numpy(), 0, gain),
        gains=[None, *gains],
        ids=[visible(id) for id in chunks.ids],
        texts=texts,
        docs=[visible(doc) for doc in docs],
        doc=[-1 if doc is None else number[doc] for doc in chunks.docs],
        has_texts=any(text is not None for text in chunks.texts),
        left_out=budget.left_out,
        marks=_marks(weighing, query_ids, chunks.ids, texts, places),
    )


def list_frames(weighing: Weighing, query_ids: Sequence[str], limits: Limits) -> tuple[int, list[pl.DataFrame]]:
    """The depth that the limits allow, and the first places of each system's lists, as of `Weighing.lists`."""
    n_lists = max(len(weighing.systems) * len(query_ids), 1)
    depth = max(0, min(limits.depth, limits.entries // n_lists))
    frames = weighing.lists(depth) if depth else [_NO_PLACES for _ in weighing.systems]
    if len(query_ids) < len(weighing.query_ids):
        frames = [frame.filter(pl.col("query_id").is_in(list(query_ids))) for frame in frames]
    while depth and _id_bytes(frames) > limits.id_bytes:
        depth //= 2
        frames = [frame.filter(pl.col("rank") <= depth) for frame in frames]
    return depth, frames


def unread_chunks(weighing: Weighing, frames: Sequence[pl.DataFrame]) -> set[str]:
    """Ids that the lists show of systems without any text."""
    ids = set[str]()
    for weighed, frame in zip(weighing.weighed, frames, strict=True):
        table = table_of(weighed)
        if table is None or not table.has_text:
            ids.update(frame["doc_id"].unique())
    return ids


_NO_PLACES = pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, "rank": pl.Int64, "gain": pl.Float64})


def _id_bytes(frames: Sequence[pl.DataFrame]) -> int:
    """Bytes of all distinct ids of the frames, with quotes and comma."""
    ids = pl.concat([frame["doc_id"] for frame in frames]).unique()
    return int(ids.str.len_bytes().sum()) + 3 * len(ids)


def _places(
    weighing: Weighing, query_ids: Sequence[str], frames: Sequence[pl.DataFrame], chunks: _Chunks
) -> pl.DataFrame:
    """One row a place: system, query, rank, chunk (all numbers) and gain; chunks are entered as they are met."""
    queries = pl.DataFrame(
        {"query_id": pl.Series(query_ids, dtype=pl.String), "query": pl.Series(range(len(query_ids)), dtype=pl.Int64)}
    )
    parts = []
    for i, (weighed, frame) in enumerate(zip(weighing.weighed, frames, strict=True)):
        numbered = frame.join(queries, on="query_id", how="inner").join(chunks.enter(weighed, frame), on="doc_id")
        parts.append(numbered.select("query", "chunk", "rank", "gain", system=pl.lit(i, pl.Int64)))
    return pl.concat(parts).sort("system", "query", "rank")


@dataclass
class _Chunks:
    """Chunks as they are met, each once; alike in two systems only where id and text are.

    documents   texts of those that a system names by id alone;   limit   characters of a document
    """

    documents: Mapping[str, str]
    limit: int
    ids: list[str] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)
    docs: list[str | None] = field(default_factory=list)
    number: dict[tuple[str, str | None], int] = field(default_factory=dict)

    def enter(self, weighed: Weighed, frame: pl.DataFrame) -> pl.DataFrame:
        """doc_id -> chunk, for all that a system's lists show."""
        ids = frame["doc_id"].unique(maintain_order=True)
        table = table_of(weighed)
        rows = [None if table is None else table.row_of.get(id) for id in ids]
        # Chunks are shown whole, and documents from their beginning.
        limit = None if weighed.documents is None else self.limit
        numbers = [
            self._number(id, self.documents.get(id), None)
            if table is None or row is None
            else self._number(id, _cut(table.texts[row], limit) or self.documents.get(id), table.docs[row])
            for id, row in zip(ids, rows, strict=True)
        ]
        return pl.DataFrame({"doc_id": ids, "chunk": pl.Series(numbers, dtype=pl.Int64)})

    def _number(self, id: str, text: str | None, doc: str | None) -> int:
        number = self.number.setdefault((id, text), len(self.ids))
        if number == len(self.ids):
            self.ids.append(id)
            self.texts.append(text)
            self.docs.append(doc)
        return number


def _cut(text: str | None, limit: int | None) -> str | None:
    return text if text is None or limit is None else cut(text, limit)


def table_of(weighed: Weighed) -> ChunkTable | None:
    """The table of chunks of a system or its corpus; None where ids are all."""
    if weighed.evidence is not None:
        return weighed.evidence.table
    return weighed.outputs.table if weighed.outputs is not None else None


def _texts(texts: Sequence[str | None], places: pl.DataFrame, budget: Budget) -> list[str | None]:
    """Texts of chunks within the budget, those that are ranked best in some list first."""
    best = np.full(len(texts), np.iinfo(np.int64).max)
    np.minimum.at(best, places["chunk"].to_numpy(), places["rank"].to_numpy())
    within: list[str | None] = [""] * len(texts)
    for i in np.argsort(best, kind="stable").tolist():
        text = texts[i]
        if text is not None:
            within[i] = budget(text)
    return within


def _marks(
    weighing: Weighing, query_ids: Sequence[str], ids: Sequence[str], texts: Sequence[str | None], places: pl.DataFrame
) -> dict[int, dict[int, list[int]]]:
    """See `ListDetails`; of chunks whose text is shown alone."""
    system, query, chunk = (places[name].to_numpy() for name in ("system", "query", "chunk"))
    has_evidence = np.array([weighed.evidence is not None for weighed in weighing.weighed])
    has_text = np.array([bool(text) for text in texts], bool)
    rows = np.flatnonzero(has_evidence[system] & has_text[chunk])
    # What is one chunk to the reader is marked once, whichever systems show it.
    _, first = np.unique(query[rows] * len(texts) + chunk[rows], return_index=True)
    rows = rows[first]
    highlights = [weighed.evidence and Highlights.of(weighed.evidence) for weighed in weighing.weighed]
    marks: dict[int, dict[int, list[int]]] = {}
    for s, q, c in zip(system[rows].tolist(), query[rows].tolist(), chunk[rows].tolist(), strict=True):
        of_system = highlights[s]
        spans = of_system.spans(query_ids[q], ids[c]) if of_system is not None else []
        if spans:
            marks.setdefault(q, {})[c] = [end for span in spans for end in span]
    return marks
