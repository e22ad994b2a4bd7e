"""The truth: which documents are relevant to which query, and how much."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats, Ints
from steelyard.base.choices import OnDuplicate
from steelyard.base.errors import SETTLE_DUPLICATES, DuplicateError, InputError
from steelyard.base.hashing import IdIndex, block_starts, find_duplicate, hash_ids
from steelyard.base.schema import TRUTH
from steelyard.base.short_repr import plural
from steelyard.io import formats, objects
from steelyard.io.source import Source
from steelyard.measures.alignment import best_first, offsets, owners

Locate = Callable[[str, str], str]


class Truth:
    """Judged documents of every question, sorted by query id (UTF-8 bytes), then gain, best first.

    Make one with `Truth.read(path)` or `Truth(data)`, where data is a dict of dicts {query_id: {doc_id: gain}}, a dict
    of collections {query_id: [relevant doc_ids]}, a Polars, pandas or PyArrow frame, named tuples with its columns, or
    a ranx Qrels.

    query_ids   q ids;   starts   (q + 1,) offsets;   doc_ids, gain   (j,) the labels
    judged_by   how many of them a judge gave, by its name and model, as far as the file says so; others are people's
    Raises      InputError, DuplicateError for data that is no truth.
    """

    def __init__(self, data: object, *, on_duplicate: OnDuplicate = "error", name: str = "truth") -> None:
        file = data if isinstance(data, formats.TruthFile) else self._in_memory(data, name)
        self.name, self._digest = file.name, file.digest
        frame = file.frame()
        self.judged_by = dict(file.judged_by())
        if frame.is_empty():
            raise InputError(f"{self.name}: holds no question; expected at least one judged question")
        ids, firsts = frame["query_id"], block_starts(frame["query_id"])
        order = ids[firsts].arg_sort().to_numpy()
        ordered = ids[firsts[order]]
        opens = block_starts(ordered)
        self._queries = ordered[opens]
        self.query_ids: Sequence[str] = self._queries.to_list()
        place = np.empty(len(order), np.int64)
        place[order] = np.repeat(np.arange(len(opens)), np.diff(opens, append=len(order)))
        query = np.repeat(place, np.diff(firsts, append=len(ids)))
        judged = frame["doc_id"].is_not_null().to_numpy()
        labels, query = frame.filter(judged), query[judged]
        rows = self._rows(labels, query, file.locate, on_duplicate)
        self.starts: Ints = offsets(query[rows], len(self))
        self.doc_ids = labels["doc_id"][rows]
        self.gain: Floats = labels["gain"].to_numpy()[rows]

    @classmethod
    def read(
        cls, path: str | Path | Source, *, format: str | None = None, on_duplicate: OnDuplicate = "error"
    ) -> Truth:
        """Read a truth from TREC qrels, a BEIR folder, JSON, JSONL, CSV, TSV, Parquet or Arrow; "-" is standard input.

        format         a name from `steelyard.io.formats`; by default that of suffix and content
        on_duplicate   a document judged twice for a query: "error", or keep the "first" or the "max"(imum) gain
        Raises         InputError naming file and line.
        """
        return cls(formats.open_truth(path, format), on_duplicate=on_duplicate)

    def _in_memory(self, data: object, name: str) -> formats.TruthFile:
        return formats.TruthFile(name, lambda: objects.truth_frame(data, name), lambda query, doc: name, None)

    def _rows(self, labels: pl.DataFrame, query: Ints, locate: Locate, on_duplicate: OnDuplicate) -> Ints:
        """The rows of the labels by query, then gain, best first, with every document once for a query.

        Raises   DuplicateError naming the place.
        """
        gain = labels["gain"].to_numpy()
        rows = best_first(gain, query)
        doc_ids = labels["doc_id"][rows]
        twice = find_duplicate(doc_ids, hash_ids(doc_ids), np.bincount(query, minlength=len(self)))
        if twice is None:
            return rows
        if on_duplicate == "error":
            query_id, doc_id = self.query_ids[query[rows[twice]]], doc_ids[twice]
            raise DuplicateError(
                f"{locate(query_id, doc_id)}: document {doc_id!r} is judged twice for question {query_id!r}; "
                f"{SETTLE_DUPLICATES}"
            )
        return rows[np.isin(rows, _first_or_best(query, labels["doc_id"], gain, on_duplicate))]

    def restricted(self, query_ids: Collection[str]) -> Truth:
        """The labels of some questions; the digest stays that of all."""
        frame = self.frame.filter(pl.col("query_id").is_in(list(query_ids)))
        name, judged_by = self.name, self.judged_by
        return Truth(formats.TruthFile(name, lambda: frame, lambda query, doc: name, self.digest, lambda: judged_by))

    def __len__(self) -> int:
        return len(self.query_ids)

    def __repr__(self) -> str:
        return f"Truth({self.name!r}: {plural(len(self), 'question')}, {plural(len(self.gain), 'judged document')})"

    def digest(self) -> str:
        """A fingerprint of the labels, or of the file that they came from."""
        return objects.frame_digest(self.frame) if self._digest is None else self._digest()

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All labels: query_id, doc_id, gain; a question without any has one row that is null but for its id."""
        ids = pl.Series(self.query_ids, dtype=pl.String)
        query_id = ids[owners(self.starts)]
        labels = pl.DataFrame({"query_id": query_id, "doc_id": self.doc_ids, "gain": self.gain}, schema=TRUTH)
        unlabelled = ids[np.flatnonzero(np.diff(self.starts) == 0)]
        nothing = {"doc_id": [None] * len(unlabelled), "gain": [None] * len(unlabelled)}
        return pl.concat([labels, pl.DataFrame({"query_id": unlabelled, **nothing}, schema=TRUTH)])

    @cached_property
    def _query_index(self) -> IdIndex:
        return IdIndex.build(self._queries, hash_ids(self._queries), np.array([len(self._queries)]))

    def places(self, query_ids: pl.Series) -> Ints:
        """(n,) place of each of n ids among query_ids, or -1 for a question that is not judged."""
        places = np.full(len(query_ids), -1)
        segment, count = np.zeros(1, np.int64), np.array([len(query_ids)])
        rows, of_rows = self._query_index.find(segment, count, hash_ids(query_ids), query_ids)
        places[rows] = of_rows
        return places

    @cached_property
    def labels(self) -> list[dict[str, float]]:
        """doc_id -> gain of each query, in the order of query_ids."""
        docs, gains, starts = self.doc_ids.to_list(), self.gain.tolist(), self.starts.tolist()
        return [dict(zip(docs[a:b], gains[a:b], strict=True)) for a, b in pairwise(starts)]

    @cached_property
    def index(self) -> IdIndex:
        """Finds judged documents among many others; a segment a question."""
        return IdIndex.build(self.doc_ids, hash_ids(self.doc_ids), np.diff(self.starts))


def _first_or_best(query: Ints, doc_ids: pl.Series, gain: Floats, on_duplicate: OnDuplicate) -> Ints:
    """Rows that stay when every document is kept once for a query: the first one, or the one with the highest gain."""
    rows = pl.DataFrame({"query": query, "doc_id": doc_ids, "gain": gain, "row": np.arange(len(query))})
    if on_duplicate == "max":
        rows = rows.sort("gain", descending=True, maintain_order=True)
    return rows.unique(["query", "doc_id"], keep="first", maintain_order=True)["row"].to_numpy()
