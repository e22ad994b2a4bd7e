"""The truth: which documents are relevant to which query, and how much."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from steelyard.arrays import Bools, Floats, Hashes, Ints
from steelyard.errors import DuplicateError, InputError
from steelyard.hashing import find_duplicate, hash_ids, table_sizes
from steelyard.io import formats, objects
from steelyard.measures.alignment import owners
from steelyard.schema import TRUTH

OnDuplicate = Literal["error", "first", "max"]
Locate = Callable[[str, str], str]

_CELLS_PER_LABEL = 16
_HASH_BITS = 40


class Truth:
    """Judged documents of every query, sorted by query id (UTF-8 bytes), then gain, best first.

    Make one with `Truth.read(path)` or `Truth(data)`, where data is a dict of dicts {query_id: {doc_id: gain}}, a dict
    of collections {query_id: [relevant doc_ids]}, a Polars, pandas or PyArrow frame, or a ranx Qrels.

    query_ids   q ids;   starts   (q + 1,) offsets;   doc_ids, gain   (j,) the labels
    Raises      InputError, DuplicateError for data that is no truth.
    """

    def __init__(self, data: object, *, on_duplicate: OnDuplicate = "error", name: str = "truth") -> None:
        self._fill(objects.truth_frame(data, name), name, on_duplicate, lambda query, doc: name)
        self._digest: Callable[[], str] = lambda: objects.frame_digest(self.frame)

    @classmethod
    def read(cls, path: str | Path, *, format: str | None = None, on_duplicate: OnDuplicate = "error") -> Truth:
        """Read a truth from TREC qrels, a BEIR folder, JSON, JSONL, CSV, TSV, Parquet or Arrow; "-" is standard input.

        format         a name from `steelyard.io.formats`; by default what suffix and content tell
        on_duplicate   a document judged twice for a query: "error", or keep the "first" or the "max"(imum) gain
        Raises         InputError naming file and line.
        """
        reader = formats.open_truth(path, format)
        truth = cls.__new__(cls)
        truth._fill(reader.frame(), reader.name, on_duplicate, reader.locate)
        truth._digest = reader.digest
        return truth

    def _fill(self, frame: pl.DataFrame, name: str, on_duplicate: OnDuplicate, locate: Locate) -> None:
        self.name = name
        query_ids, query = _positions(frame["query_id"])
        if not query_ids:
            raise InputError(f"{name}: holds no query; expected at least one judged query")
        judged = frame["doc_id"].is_not_null().to_numpy()
        frame, query = frame.filter(judged), query[judged]
        gain = frame["gain"].to_numpy()
        order = np.lexsort((-gain, query))
        doc_ids, counts = frame["doc_id"].gather(order), np.bincount(query, minlength=len(query_ids))
        twice = find_duplicate(doc_ids, hash_ids(doc_ids), counts)
        if twice is not None:
            query_id, doc_id = query_ids[query[order[twice]]], doc_ids[twice]
            if on_duplicate == "error":
                raise DuplicateError(
                    f"{locate(query_id, doc_id)}: document {doc_id!r} is judged twice for query {query_id!r}; "
                    "remove one, or choose with --on-duplicate first or max (on_duplicate=...)"
                )
            kept = _first_or_best(query, frame["doc_id"], gain, on_duplicate)
            order = order[np.isin(order, kept)]
            doc_ids, counts = frame["doc_id"].gather(order), np.bincount(query[order], minlength=len(query_ids))
        self.query_ids: Sequence[str] = query_ids
        self.starts: Ints = np.concatenate(([0], np.cumsum(counts)))
        self.doc_ids = doc_ids
        self.gain: Floats = gain[order]

    def __len__(self) -> int:
        return len(self.query_ids)

    def __repr__(self) -> str:
        return f"Truth({self.name!r}: {len(self)} queries, {len(self.gain)} judged documents)"

    def digest(self) -> str:
        """A fingerprint of the labels, or of the file that they came from."""
        return self._digest()

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All labels: query_id, doc_id, gain; a query without any has one row that is null but for its id."""
        ids = pl.Series(self.query_ids, dtype=pl.String)
        query_id = ids.gather(owners(self.starts))
        labels = pl.DataFrame({"query_id": query_id, "doc_id": self.doc_ids, "gain": self.gain}, schema=TRUTH)
        unlabelled = ids.gather(np.flatnonzero(np.diff(self.starts) == 0))
        nothing = {"doc_id": [None] * len(unlabelled), "gain": [None] * len(unlabelled)}
        return pl.concat([labels, pl.DataFrame({"query_id": unlabelled, **nothing}, schema=TRUTH)])

    @cached_property
    def position(self) -> Mapping[str, int]:
        """Query id -> its place in query_ids."""
        return {query: i for i, query in enumerate(self.query_ids)}

    @cached_property
    def labels(self) -> list[dict[str, float]]:
        """doc_id -> gain of each query, in the order of query_ids."""
        docs, gains, starts = self.doc_ids.to_list(), self.gain.tolist(), self.starts.tolist()
        return [dict(zip(docs[a:b], gains[a:b], strict=True)) for a, b in pairwise(starts)]

    @cached_property
    def index(self) -> LabelIndex:
        """Finds judged documents among many others."""
        return LabelIndex.build(self)


def _positions(ids: pl.Series) -> tuple[list[str], Ints]:
    """Distinct ids, ascending by bytes, and the place of each row among them; equal ids mostly stand together."""
    firsts = np.flatnonzero(ids.ne_missing(ids.shift(1)).to_numpy())
    blocks = ids.gather(firsts).to_list()
    distinct = sorted(set(blocks))
    place = {id: i for i, id in enumerate(distinct)}
    of_block = np.fromiter((place[id] for id in blocks), np.int64, len(blocks))
    return distinct, np.repeat(of_block, np.diff(firsts, append=len(ids)))


def _first_or_best(query: Ints, doc_ids: pl.Series, gain: Floats, on_duplicate: OnDuplicate) -> Ints:
    """Rows that stay when every document is kept once for a query: the first one, or the one with the highest gain."""
    rows = pl.DataFrame({"query": query, "doc_id": doc_ids, "gain": gain, "row": np.arange(len(query))})
    if on_duplicate == "max":
        rows = rows.sort("gain", descending=True, maintain_order=True)
    return rows.unique(["query", "doc_id"], keep="first", maintain_order=True)["row"].to_numpy()


@dataclass(frozen=True)
class LabelIndex:
    """A hash table a query, laid side by side, so that looking up the documents of one query touches little memory.

    first, mask   (q,) where a query's cells begin, and how to wrap a hash into them
    occupied      (cells,) whether any label fell into the cell
    keys          (j,) ascending: query position and hash of every label;   label   (j,) its place in the truth
    """

    first: Ints
    mask: Hashes
    occupied: Bools
    keys: Hashes
    label: Ints
    doc_ids: pl.Series

    @classmethod
    def build(cls, truth: Truth) -> LabelIndex:
        """The index of a truth's labels."""
        counts = np.diff(truth.starts)
        cells = table_sizes(counts, _CELLS_PER_LABEL)
        first = np.cumsum(cells) - cells
        mask = (cells - 1).astype(np.uint64)
        hashes, query = hash_ids(truth.doc_ids), owners(truth.starts)
        occupied = np.zeros(int(cells.sum()), bool)
        occupied[first[query] + (hashes & mask[query]).astype(np.int64)] = True
        keys = _key(query, hashes)
        order = np.argsort(keys, kind="stable")
        return cls(first, mask, occupied, keys[order], order, truth.doc_ids)

    def find(self, query: Ints, counts: Ints, hashes: Hashes, doc_ids: pl.Series) -> tuple[Ints, Ints]:
        """Rows that are judged, and the label of each.

        query, counts     (b,) position of each block's query, and how many rows the block has
        hashes, doc_ids   (n,) of the rows
        Returns           (h,) rows, ascending, and (h,) places in the truth
        """
        cell = np.repeat(self.first[query], counts)
        cell += (hashes & np.repeat(self.mask[query], counts)).view(np.int64)
        rows = np.flatnonzero(self.occupied[cell])
        keys = _key(np.repeat(query, counts)[rows], hashes[rows])
        place = np.searchsorted(self.keys, keys)
        found_rows, found_labels = [], []
        # Nearly always one step: a second one is due only where two labels of a query share forty bits of hash.
        while len(rows):
            alike = place < len(self.keys)
            alike[alike] = self.keys[place[alike]] == keys[alike]
            rows, keys, place = rows[alike], keys[alike], place[alike]
            label = self.label[place]
            same = (doc_ids.gather(rows) == self.doc_ids.gather(label)).to_numpy()
            found_rows.append(rows[same])
            found_labels.append(label[same])
            rows, keys, place = rows[~same], keys[~same], place[~same] + 1
        if len(found_rows) <= 1:
            return (found_rows[0], found_labels[0]) if found_rows else (rows, rows)
        all_rows, all_labels = np.concatenate(found_rows), np.concatenate(found_labels)
        order = np.argsort(all_rows)
        return all_rows[order], all_labels[order]


def _key(query: Ints, hashes: Hashes) -> Hashes:
    return (query.astype(np.uint64) << np.uint64(_HASH_BITS)) | (hashes >> np.uint64(64 - _HASH_BITS))
