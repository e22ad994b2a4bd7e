"""What a system put out: rankings with the texts and offsets of their chunks, and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.arrays import Ints
from steelyard.base.errors import DuplicateError, InputError
from steelyard.base.schema import RUN
from steelyard.data.corpus import Chunks
from steelyard.data.run import Run
from steelyard.data.run_folder import is_run_folder, read_run_folder
from steelyard.io import formats
from steelyard.io.json_files import json_lines, query_id_of, retrieved_items
from steelyard.io.objects import text_id
from steelyard.io.source import Source
from steelyard.text.spans import Spans

NOWHERE = -1
Facts = tuple[str | None, int, int, str | None, tuple[int, ...] | None]
"""Document, start, end, text and pages of a chunk."""
_NOTHING: Facts = (None, NOWHERE, NOWHERE, None, None)


@dataclass(frozen=True, eq=False)
class ChunkTable:
    """What is known of n chunks.

    ids      (n,) each once
    docs     (n,) the document of each, or None
    start, end  (n,) offsets in its document; NOWHERE where they are unknown
    texts    (n,) the text of each, or None
    pages    (n,) the pages that each stands on; None where the system does not say
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
        return cls(chunks.ids, docs, chunks.start, chunks.end, chunks.texts, [None] * len(chunks), complete=True)

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """The row of each id."""
        return {id: row for row, id in enumerate(self.ids)}

    @cached_property
    def has_text(self) -> bool:
        """Whether any chunk has a text."""
        return any(text is not None for text in self.texts)

    @cached_property
    def has_offsets(self) -> bool:
        """Whether any chunk has offsets in a document."""
        return bool((self.start != NOWHERE).any())

    @property
    def says_where(self) -> bool:
        """Whether anything is known of the chunks besides their ids."""
        return self.has_text or self.has_offsets or any(doc is not None for doc in self.docs) or any(self.pages)

    def equals(self, other: ChunkTable) -> bool:
        """Whether both tables have the same chunks in the same order, with the same texts and places."""
        return self is other or (
            self.complete == other.complete
            and list(self.ids) == list(other.ids)
            and np.array_equal(self.start, other.start)
            and np.array_equal(self.end, other.end)
            and list(self.docs) == list(other.docs)
            and list(self.texts) == list(other.texts)
            and list(self.pages) == list(other.pages)
        )

    def spans(self, doc_row: Mapping[str, int]) -> tuple[Ints, Spans]:
        """Rows of the chunks with offsets in a known document, and their spans."""
        doc = np.array([NOWHERE if name is None else doc_row.get(name, NOWHERE) for name in self.docs], np.int64)
        rows = np.flatnonzero((doc != NOWHERE) & (self.start != NOWHERE))
        return rows, Spans(doc, self.start, self.end).take(rows)


class Outputs:
    """What a system put out for each question: chunks with texts or offsets, and answers where it gives any.

    Make one with `Outputs.read(path)`, where path is a JSONL file or the folder of a run, or with `Outputs(lines)`, one
    dict a question: {"qid": "q1", "retrieved": [{"id": "c7", "score": 0.83, "text": "…", "doc": "docA", "start": 0,
    "end": 950}], "answer": "…", "error": "…"}.

    run       the rankings alone
    table     what is known of the chunks
    chunks    all chunks of the corpus, for a run folder that has them
    candidates  what the reranker was given, in the order before it, from a line's `candidates`; None without any
    answers   query_id -> answer
    failures  query_id -> why the system gave no result
    Raises    InputError, DuplicateError naming line and item.
    """

    def __init__(self, lines: Iterable[Mapping[str, Any]], *, name: str = "run") -> None:
        self._fill(name, ((f"{name}, result {number}", dict(line)) for number, line in enumerate(lines, 1)))
        self._digest: Callable[[], str] = self.run.digest

    @classmethod
    def read(cls, path: str | Path, *, name: str | None = None) -> Outputs:
        """Read a JSONL file of results, or a run folder; any other run has rankings alone."""
        outputs = cls.__new__(cls)
        if is_run_folder(path):
            folder = read_run_folder(path)
            source = Source(folder.outputs)
            outputs._fill(name or folder.name, _numbered(source), folder.chunks)
            outputs._digest = source.digest
            return outputs
        if Path(path).is_dir():
            raise InputError(f"{path}: is a folder but not of a run; it has no outputs.jsonl")
        source = Source(path)
        if formats.sniff(source) == "jsonl":
            outputs._fill(name or source.stem, _numbered(source))
            outputs._digest = source.digest
        else:
            outputs._of_run(Run.read(path, name=name))
        return outputs

    @classmethod
    def of_run(cls, run: Run) -> Outputs:
        """Rankings alone."""
        outputs = cls.__new__(cls)
        outputs._of_run(run)
        return outputs

    def _of_run(self, run: Run) -> None:
        ids = run.frame["doc_id"].drop_nulls().unique(maintain_order=True).to_list()
        nothing = np.full(len(ids), NOWHERE)
        self.run, self.name = run, run.name
        self.candidates: Run | None = None
        self.chunks: Chunks | None = None
        self.table = ChunkTable(ids, [None] * len(ids), nothing, nothing, [None] * len(ids), [None] * len(ids), False)
        self.answers: dict[str, str] = {}
        self.failures: dict[str, str] = {}
        self._digest = run.digest

    def _fill(self, name: str, lines: Iterable[tuple[str, dict[str, Any]]], chunks: Chunks | None = None) -> None:
        rows: list[tuple[str, str | None, float | None]] = []
        before: list[tuple[str, str | None, float | None]] = []
        seen: dict[str, str] = {}
        known = _Known(chunks)
        self.answers, self.failures = {}, {}
        for where, line in lines:
            query_id = query_id_of(line, where)
            if query_id in seen:
                raise DuplicateError(
                    f"{where}: question {query_id!r} stands there already, in {seen[query_id]}; remove one"
                )
            seen[query_id] = where
            if line.get("error") is not None:
                self.failures[query_id] = str(line["error"])
            if isinstance(line.get("answer"), str):
                self.answers[query_id] = line["answer"]
            items = [] if query_id in self.failures else retrieved_items(line, where)
            rows += _ranked(query_id, items)
            for place, (id, _, item) in enumerate(items, 1):
                known.add(id, item, where, place)
            if line.get("candidates") is not None and query_id not in self.failures:
                before += known.add_candidates(query_id, line["candidates"], f"{where}, `candidates`")
        if not rows:
            raise InputError(f"{name}: is empty; expected one JSON object a line with `qid` and `retrieved`")
        self.name = name
        self.chunks = chunks
        self.run = Run.of_rows(pl.DataFrame(rows, schema=RUN, orient="row"), name)
        self.candidates = Run.of_rows(pl.DataFrame(before, schema=RUN, orient="row"), name) if before else None
        self.table = known.table()

    def before_reranking(self) -> Outputs | None:
        """The same with the candidates as they were ranked before the reranker; None where no line tells them."""
        if self.candidates is None:
            return None
        earlier = copy(self)
        earlier.run, earlier.candidates = self.candidates, None
        return earlier

    def digest(self) -> str:
        """A fingerprint of the file, or of the rankings."""
        return self._digest()

    def __repr__(self) -> str:
        return f"Outputs({self.name!r}: {len(self.table)} chunks)"


def _ranked(
    query_id: str, items: list[tuple[str, float | None, dict[str, Any]]]
) -> list[tuple[str, str | None, float | None]]:
    """Rows of a run; places make scores where there are none."""
    if not items:
        return [(query_id, None, None)]
    return [(query_id, id, float(-place) if score is None else score) for place, (id, score, _) in enumerate(items)]


def _numbered(source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((f"{source.name}, line {number}", line) for number, line in json_lines(source))


@dataclass
class _Known:
    """Chunks as they are met, each once."""

    corpus: Chunks | None = None
    facts: dict[str, Facts] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)
    bare: dict[str, Facts] = field(default_factory=dict)

    def add(self, id: str, item: Mapping[str, Any], where: str, place: int) -> None:
        here = f"{where}, item {place}"
        doc = item.get("doc", item.get("doc_id") if item.keys() & {"id", "chunk_id"} else None)
        text = item.get("text")
        if text is not None and not isinstance(text, str):
            raise InputError(f"{here}: `text` must be text, not {text!r:.60}")
        facts = (
            None if doc is None else text_id(doc, here, "`doc`"),
            *_offsets(item, text, here),
            text,
            _page_numbers(item, here),
        )
        if self.facts.setdefault(id, facts) != facts:
            raise InputError(
                f"{here}: chunk {id!r} has another text or place than in {self.first[id]}; an id names one chunk"
            )
        self.first.setdefault(id, here)

    def add_candidates(self, query_id: str, given: Any, where: str) -> list[tuple[str, str | None, float | None]]:
        """Rows of a run of them; an id alone names a chunk that is told elsewhere, or of which nothing is known."""
        if isinstance(given, list) and all(type(id) is str and id for id in given):
            # Many ids a question, most of them again and again: looked at no closer than needed.
            self.bare.update(dict.fromkeys(given, _NOTHING))
            return [(query_id, id, float(-place)) for place, id in enumerate(given)] or [(query_id, None, None)]
        items = retrieved_items({"retrieved": given}, where)
        for place, (id, _, item) in enumerate(items, 1):
            if item.keys() - {"id", "chunk_id", "doc_id", "score"}:
                self.add(id, item, where, place)
            else:
                self.bare[id] = _NOTHING
        return _ranked(query_id, items)

    def table(self) -> ChunkTable:
        if self.corpus is not None:
            return ChunkTable.of(self.corpus)
        facts = {**self.bare, **self.facts}
        columns = list(zip(*facts.values(), strict=True)) or [()] * 5
        start, end = (np.array(column, np.int64) for column in columns[1:3])
        return ChunkTable(list(facts), columns[0], start, end, columns[3], columns[4], complete=False)


def _offsets(item: Mapping[str, Any], text: str | None, where: str) -> tuple[int, int]:
    start, end = item.get("start"), item.get("end")
    if start is None and end is None:
        return NOWHERE, NOWHERE
    if end is None and text is not None and isinstance(start, int):
        end = start + len(text)
    for value in (start, end):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise InputError(f"{where}: `start` and `end` must be whole numbers from 0, not {start!r} and {end!r}")
    if end <= start:  # type: ignore[operator]
        raise InputError(f"{where}: a chunk ends behind its start; got start {start}, end {end}")
    return start, end  # type: ignore[return-value]


def _page_numbers(item: Mapping[str, Any], where: str) -> tuple[int, ...] | None:
    if not {"page", "pages"} & item.keys():
        return None
    given = item.get("pages", item.get("page"))
    listed = given if isinstance(given, list) else [] if given is None else [given]
    if not all(isinstance(page, int) and not isinstance(page, bool) and page >= 1 for page in listed):
        raise InputError(f"{where}: `page` must be a whole number from 1, or a list of them, not {given!r:.60}")
    return tuple(listed)


def read_chunks(path: str | Path) -> ChunkTable:
    """All chunks of a corpus, from a run folder or from JSONL with `id`, and `text` or `doc`, `start` and `end`.

    Raises   InputError, DuplicateError naming the line.
    """
    if is_run_folder(path):
        chunks = read_run_folder(path).chunks
        if chunks is None:
            raise InputError(f"{path}: is the run of a system that tells nothing of its chunks; give them in JSONL")
        return ChunkTable.of(chunks)
    known = _Known()
    for where, line in _numbered(Source(path)):
        id = next((line[key] for key in ("id", "chunk_id", "_id") if line.get(key) is not None), None)
        chunk_id = text_id(id, where, "`id`")
        if chunk_id in known.facts:
            raise DuplicateError(f"{where}: chunk {chunk_id!r} stands there already, in {known.first[chunk_id]}")
        known.add(chunk_id, line, where, 1)
    if not known.facts:
        raise InputError(f"{path}: holds no chunk; expected one JSON object a line with `id` and `text`")
    table = known.table()
    return ChunkTable(table.ids, table.docs, table.start, table.end, table.texts, table.pages, complete=True)
