"""The chunks of a corpus, or of the outputs of a system: texts, places and pages, one row a chunk."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from steelyard.base.arrays import Ints
from steelyard.base.errors import DuplicateError, InputError, quoted
from steelyard.base.short_repr import plural
from steelyard.data.corpus import Chunks, Document, DocumentNames, texts_of
from steelyard.data.pieces import LONGEST
from steelyard.io.json_files import json_lines
from steelyard.io.objects import text_id
from steelyard.io.source import Source, source_of
from steelyard.text.spans import Spans

NOWHERE = -1
"""In place of a document, an offset or a row that is unknown."""


class ChunkRow(NamedTuple):
    """One chunk: its document, offsets, text and pages, as far as they are known."""

    doc: str | None = None
    start: int = NOWHERE
    end: int = NOWHERE
    text: str | None = None
    pages: tuple[int, ...] | None = None


class Place(NamedTuple):
    """Where a text is from: its document, and the pages (from 1) that it is on; none where they are unknown."""

    doc: str
    pages: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class ChunkTable:
    """n chunks as columns.

    ids      (n,) all different
    docs     (n,) the document of each, or None
    start, end  (n,) offsets in its document; NOWHERE where they are unknown
    texts    (n,) the text of each, or None
    pages    (n,) the pages that each is on; None where the system does not say
    complete  whether these are all chunks of the corpus, or only those that some query retrieved
    """

    ids: Sequence[str]
    docs: Sequence[str | None]
    start: Ints
    end: Ints
    texts: Sequence[str | None]
    pages: Sequence[tuple[int, ...] | None]
    complete: bool

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, chunks: Chunks) -> ChunkTable:
        """All chunks of a corpus."""
        docs = [chunks.documents[owner].doc_id for owner in chunks.owner.tolist()]
        return cls(
            chunks.ids, docs, chunks.start,
            end=chunks.end, texts=chunks.texts, pages=[None] * len(chunks), complete=True,
        )  # fmt: skip

    @classmethod
    def of_rows(cls, rows: Mapping[str, ChunkRow], *, complete: bool) -> ChunkTable:
        """The chunks of some ids."""
        docs, start, end, texts, pages = list(zip(*rows.values(), strict=True)) or [()] * len(ChunkRow._fields)
        return cls(
            list(rows), docs, np.array(start, np.int64),
            end=np.array(end, np.int64), texts=texts, pages=pages, complete=complete,
        )  # fmt: skip

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """The row of each id."""
        return {id: row for row, id in enumerate(self.ids)}

    def place(self, id: str) -> Place | None:
        """Where a chunk is from; None for one whose document is unknown."""
        row = self.row_of.get(id)
        doc = None if row is None else self.docs[row]
        return None if row is None or doc is None else Place(doc, self.pages[row] or ())

    @cached_property
    def has_text(self) -> bool:
        """True if any chunk has a text."""
        return any(text is not None for text in self.texts)

    @cached_property
    def has_offsets(self) -> bool:
        """True if any chunk has offsets in a document."""
        return bool((self.start != NOWHERE).any())

    @property
    def says_where(self) -> bool:
        """True if the table has anything but ids."""
        return self.has_text or self.has_offsets or any(doc is not None for doc in self.docs) or any(self.pages)

    def equals(self, other: ChunkTable) -> bool:
        """True if both tables have the same chunks in the same order, with the same texts and places."""
        return self is other or (
            self.complete == other.complete
            and list(self.ids) == list(other.ids)
            and np.array_equal(self.start, other.start)
            and np.array_equal(self.end, other.end)
            and list(self.docs) == list(other.docs)
            and list(self.texts) == list(other.texts)
            and list(self.pages) == list(other.pages)
        )

    def digest(self, ids: Iterable[str]) -> str:
        """A fingerprint of the chunks of some ids, whatever their order."""
        rows = sorted((id, self.row_of[id]) for id in ids)
        facts = "\n".join(
            repr((id, self.docs[row], int(self.start[row]), int(self.end[row]), self.texts[row], self.pages[row]))
            for id, row in rows
        )
        return hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()

    def spans(self, doc_row: Mapping[str, int]) -> tuple[Ints, Spans]:
        """Rows of the chunks with offsets in one of these documents, and their spans."""
        doc = np.array([NOWHERE if name is None else doc_row.get(name, NOWHERE) for name in self.docs], np.int64)
        rows = np.flatnonzero((doc != NOWHERE) & (self.start != NOWHERE))
        return rows, Spans(doc, self.start, self.end).take(rows)


@dataclass(frozen=True, repr=False)
class Corpus:
    """A corpus apart from any run.

    chunks     all of them, where they are at hand;   documents   the texts that they were cut from
    """

    chunks: ChunkTable | None = None
    documents: Sequence[Document] | None = None

    def __repr__(self) -> str:
        parts = {"chunk": self.chunks, "document": self.documents}
        return f"Corpus({', '.join(plural(len(own), noun) for noun, own in parts.items() if own is not None)})"

    def texts(self, ids: Collection[str]) -> dict[str, str]:
        """Texts of some chunks by their ids, or documents by their names; those that the corpus lacks are left out."""
        texts = texts_of(self.documents or (), ids)
        if self.chunks is not None:
            row_of, of_chunks = self.chunks.row_of, self.chunks.texts
            texts |= {id: text for id in ids if id in row_of and (text := of_chunks[row_of[id]]) is not None}
        return texts

    def lacking(self, ids: Iterable[str]) -> set[str]:
        """Which of these are neither ids of chunks nor names of documents."""
        names = DocumentNames.of(self.documents or ())
        rows = {} if self.chunks is None else self.chunks.row_of
        return {id for id in ids if id not in rows and not names.candidates(id)}

    def digest(self) -> str:
        """SHA-256 of what the corpus holds: equal for equal chunks and documents, whatever files they come from."""
        sha = hashlib.sha256()
        if (table := self.chunks) is not None:
            places = zip(table.start.tolist(), table.end.tolist(), strict=True)
            for row in zip(table.ids, table.docs, places, table.texts, table.pages, strict=True):
                sha.update(f"{row!r}\n".encode())
        for document in self.documents or ():
            sha.update(f"{(document.doc_id, document.text, document.pages)!r}\n".encode())
        return f"sha256:{sha.hexdigest()}"


@dataclass
class ChunkCollector:
    """Chunks as they occur in outputs or files, one row for each id.

    rows    id -> chunk;   first   id -> where it occurred first, for messages
    """

    rows: dict[str, ChunkRow] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, id: str, item: Mapping[str, Any], where: str) -> None:
        """Take one item.

        Raises   InputError for a value of the wrong type, or where an id has another text or place than before.
        """
        row = _row(item, where)
        if self.rows.setdefault(id, row) != row:
            raise InputError(
                f"{where}: chunk {id!r} has another text or place than in {self.first[id]}; an id names one chunk"
            )
        self.first.setdefault(id, where)


def _row(item: Mapping[str, Any], where: str) -> ChunkRow:
    doc = item.get("doc", item.get("doc_id") if item.keys() & {"id", "chunk_id"} else None)
    text = item.get("text")
    if text is not None and not isinstance(text, str):
        raise InputError(f"{where}: `text` must be text, not {quoted(text)}")
    doc_id = None if doc is None else text_id(doc, where, "`doc`")
    return ChunkRow(doc_id, *_offsets(item, text, where), text, _page_numbers(item, where))


def _offsets(item: Mapping[str, Any], text: str | None, where: str) -> tuple[int, int]:
    start, end = item.get("start"), item.get("end")
    if start is None and end is None:
        return NOWHERE, NOWHERE
    if end is None and text is not None and isinstance(start, int):
        end = start + len(text)
    for value in (start, end):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LONGEST:
            raise InputError(
                f"{where}: `start` and `end` must be whole numbers from 0 to {LONGEST:.0e}, not {quoted(start)} and "
                f"{quoted(end)}"
            )
    if end <= start:  # type: ignore[operator]
        raise InputError(f"{where}: a chunk ends behind its start; got start {start}, end {end}")
    return start, end  # type: ignore[return-value]


def _page_numbers(item: Mapping[str, Any], where: str) -> tuple[int, ...] | None:
    if not {"page", "pages"} & item.keys():
        return None
    value = item.get("pages", item.get("page"))
    pages = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(page, int) and not isinstance(page, bool) and page >= 1 for page in pages):
        raise InputError(f"{where}: `page` must be a whole number from 1, or a list of them, not {quoted(value)}")
    return tuple(pages)


_CHUNK_IDS = ("id", "chunk_id", "_id")


def holds_chunks(source: Source) -> bool:
    """True if the first line of a file is a chunk: it has a place in a document, or names one beside its own id."""
    try:
        _, line = next(json_lines(source), (0, {}))
    except InputError:
        return False
    names_document = "doc" in line or ("doc_id" in line and "_id" not in line)
    return "start" in line or "chunk_id" in line or (names_document and not line.keys().isdisjoint(_CHUNK_IDS))


def read_chunks(path: str | Path | Source) -> ChunkTable:
    """All chunks of a corpus, from JSONL with `id`, and `text` or `doc`, `start` and `end`.

    Raises   InputError, DuplicateError naming the line.
    """
    collector, source = ChunkCollector(), source_of(path)
    for where, line in numbered_lines(source):
        id = next((line[key] for key in _CHUNK_IDS if line.get(key) is not None), None)
        chunk_id = text_id(id, where, "`id`")
        if chunk_id in collector.rows:
            raise DuplicateError(f"{where}: chunk {chunk_id!r} is listed already, in {collector.first[chunk_id]}")
        collector.add(chunk_id, line, where)
    if not collector.rows:
        raise InputError(f"{source.name}: holds no chunk; expected one JSON object a line with `id` and `text`")
    return ChunkTable.of_rows(collector.rows, complete=True)


def numbered_lines(source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    """Places of the lines of a JSONL file, for messages, with their objects."""
    return ((f"{source.name}, line {number}", line) for number, line in json_lines(source))
