"""The outputs of a system: rankings with the texts and offsets of their chunks, and answers."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import polars as pl

from steelyard.base.errors import DuplicateError, InputError, quoted
from steelyard.base.notes import Note
from steelyard.base.schema import RUN
from steelyard.base.short_repr import plural
from steelyard.data.chunk_table import ChunkCollector, ChunkRow, ChunkTable, Corpus, numbered_lines
from steelyard.data.corpus import Chunks, Document
from steelyard.data.folders.run_folder import RunFolder, find_run_folder, total_latency
from steelyard.data.histories import Asked
from steelyard.data.pieces import is_whole_text
from steelyard.data.responses import GENERATE
from steelyard.data.run import Run
from steelyard.io import formats
from steelyard.io.evaluation_lines import output_lines
from steelyard.io.evaluation_rows import columns_of, holds_rows, read_rows, rows_of, rows_of_columns
from steelyard.io.json_files import query_id_of, retrieved_items
from steelyard.io.retrieved_items import answer_of, result_fields, result_key
from steelyard.io.source import Source, source_of
from steelyard.io.traces.reading import frame_format, traces_of

_RunRow = tuple[str, str | None, float | None]
_Item = tuple[str, float | None, dict[str, Any]]


@dataclass(frozen=True, eq=False)
class _Contents:
    """The parts of Outputs."""

    run: Run
    table: ChunkTable
    chunks: Chunks | None = None
    documents: Sequence[Document] | None = None
    candidates: Run | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    unanswered: Mapping[str, str] = field(default_factory=dict)
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    has_lists: bool = True
    unlisted: frozenset[str] = frozenset()
    folder: RunFolder | None = None
    notes: Sequence[Note] = ()
    asked: Asked = field(default_factory=Asked)


class Outputs:
    """Outputs of a system for each question: chunks with texts or offsets, and answers where it gives any.

    Make one with `Outputs.read(path)`, where path is a JSONL file, traces or the folder of a run, or with
    `Outputs(lines)`, one dict a question: {"qid": "q1", "retrieved": [{"id": "c7", "score": 0.83, "text": "…", "doc":
    "docA", "start": 0, "end": 950}], "answer": "…", "error": "…"}; or with `Outputs(responses)`, a dict from the id
    of a question to what the system gave: a list, best first, or a dict or an object that has one and maybe an
    answer.  An item is what `steelyard.io.retrieved_items` understands: an id, a dict, a document of LangChain,
    LlamaIndex, Haystack or dspy, or a pair of one of these and a score.

    run       the rankings alone
    table     the chunks: all of the corpus where they are at hand, else those that some question retrieved
    chunks    all chunks of the corpus, for a run folder that has them
    documents  what was searched, for a run folder that has it
    candidates  the lists before reranking, from a line's `candidates`; None without any
    answers   query_id -> answer
    failures  query_id -> why the system gave no result
    unanswered  query_id -> why it gave results without an answer: lines with `error` and `"failed": "generate"`
    latency_ms  query_id -> milliseconds in all, where a line has `latency_ms` with `total`
    has_lists  whether it is known what was retrieved: not where lines have answers, and none has `retrieved`
    unlisted  ids of questions with an answer whose `retrieved` is null or not there: nobody knows what it was
    folder    the run folder that was read; None for outputs of another kind
    asked     texts of the questions, and what was said before, as far as lines say
    notes     what the traces that were read lack; nothing of other outputs
    Raises    InputError, DuplicateError naming line and item.
    """

    def __init__(
        self, lines: Iterable[Mapping[str, Any]] | Mapping[Any, Any] | _Contents, *, name: str = "run"
    ) -> None:
        contents = lines if isinstance(lines, _Contents) else _parse_data(lines, name)
        self.run, self.name = contents.run, contents.run.name
        self.table, self.chunks, self.candidates = contents.table, contents.chunks, contents.candidates
        self.documents = contents.documents
        self.answers, self.failures, self.latency_ms = contents.answers, contents.failures, contents.latency_ms
        self.unanswered, self.folder = contents.unanswered, contents.folder
        self.has_lists, self.unlisted, self.notes = contents.has_lists, contents.unlisted, contents.notes
        self.asked = contents.asked
        self._contents = contents

    @classmethod
    def read(
        cls, path: str | Path | Source | RunFolder, *, name: str | None = None, format: str | None = None
    ) -> Outputs:
        """Read a JSONL file of results, traces of another tool, or a run folder; any other run has rankings alone.

        format   of traces, such as "langfuse", where their keys do not show it
        """
        folder = path if isinstance(path, RunFolder) else None if isinstance(path, Source) else find_run_folder(path)
        if folder is not None:
            source, chunks = Source(folder.outputs), folder.chunks
            with folder.reading_lines():
                contents = _parse(name or folder.name, numbered_lines(source), chunks)
                folder.check_count(contents.run.frame["query_id"].n_unique())
            contents = replace(contents, documents=folder.documents, folder=folder)
            folder.refuse_replaced()
            return cls(contents)
        path = cast("str | Path | Source", path)
        if not isinstance(path, Source) and os.path.isdir(path):
            raise InputError(f"{path}: is a folder but not of a run; it has no outputs.jsonl")
        source = source_of(path)
        if (traces := formats.open_traces(source, format)) is not None:
            return cls(replace(_parse(name or source.stem, traces.lines, None), notes=tuple(traces.notes)))
        format = formats.sniff(source)
        if holds_rows(source, format):
            lines = output_lines(read_rows(source, format, name or source.stem), source.name)
            return cls(_parse(name or source.stem, lines, None))
        if format == "jsonl":
            return cls(_parse(name or source.stem, numbered_lines(source), None))
        return cls.of_run(Run.read(source, name=name))

    @classmethod
    def of_run(cls, run: Run) -> Outputs:
        """Rankings alone."""
        ids = run.frame["doc_id"].drop_nulls().unique(maintain_order=True).to_list()
        return cls(_Contents(run, ChunkTable.of_rows(dict.fromkeys(ids, ChunkRow()), complete=False)))

    def before_reranking(self) -> Outputs | None:
        """The same with the candidates in place of the rankings; None where no line has candidates."""
        if self.candidates is None:
            return None
        return self.changed(run=self.candidates, candidates=None)

    def with_lists(self, run: Run, candidates: Run | None, table: ChunkTable) -> Outputs:
        """The same with other lists of other things, of which `table` holds the texts."""
        return self.changed(run=run, candidates=candidates, table=table)

    def changed(self, **parts: Any) -> Outputs:
        """The same with other parts, by the names above."""
        return Outputs(replace(self._contents, **parts))

    def renamed(self, names: Mapping[str, str]) -> Outputs:
        """The same with other ids of questions;   names   old id -> new id"""
        asked = self.asked
        parts = {
            name: {names.get(query_id, query_id): value for query_id, value in getattr(self, name).items()}
            for name in ("answers", "failures", "unanswered", "latency_ms")
        }
        runs = {
            name: None
            if run is None
            else Run.of_rows(run.frame.with_columns(pl.col("query_id").replace(names)), run.name)
            for name, run in (("run", self.run), ("candidates", self.candidates))
        }
        return self.changed(
            **parts, **runs,
            unlisted=frozenset(names.get(query_id, query_id) for query_id in self.unlisted),
            asked=Asked(*({names.get(id, id): value for id, value in own.items()} for own in vars(asked).values())),
        )  # fmt: skip

    def digest(self) -> str:
        """A fingerprint of rankings, the chunks in them and answers; not of times, so a second run has the same.

        Candidates enter where they are, as they decide what a reranker did; so do documents that place the gold.
        """
        runs = [self.run] if self.candidates is None else [self.run, self.candidates]
        retrieved = pl.concat([run.frame["doc_id"] for run in runs]).drop_nulls().unique()
        parts = [
            *(run.digest() for run in runs),
            self.table.digest(retrieved.to_list()),
            repr(sorted(self.answers.items())),
        ]
        if self.chunks is None and self.documents is not None:
            parts.append(Corpus(documents=self.documents).digest())
        if self.unlisted:
            parts.append(repr(sorted(self.unlisted)))
        if self.asked.histories:
            parts.append(repr(sorted(self.asked.histories.items())))
        return "sha256:" + hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def __repr__(self) -> str:
        return f"Outputs({self.name!r}: {plural(len(self.table), 'chunk')})"


def _parse_data(data: Any, name: str) -> _Contents:
    """The contents of what is in memory: lines, results by question, rows or frames of other tools."""
    trace = frame_format(columns_of(data))
    if trace is None:
        return _parse(name, _placed_lines(data, name), None)
    traces = traces_of(rows_of_columns(data, name), name, trace)
    return replace(_parse(name, traces.lines, None), notes=tuple(traces.notes))


def _placed_lines(lines: Any, name: str) -> Iterable[tuple[str, dict[str, Any]]]:
    """Lines of what is in memory, each with where it is."""
    rows = rows_of(lines)
    if not isinstance(lines if rows is None else rows, Iterable) or isinstance(lines, str):
        raise InputError(
            f"{name}: cannot be read from {type(lines).__name__}; pass dicts with `qid` and `retrieved`, a dict "
            "{query_id: [results]}, or Outputs.read(path); a function or a retriever is asked by sy.run(it, questions)"
        )
    listed = map(_line, lines.items()) if isinstance(lines, Mapping) else lines if rows is None else rows
    placed = ((f"{name}, result {number}", line) for number, line in enumerate(listed, 1))
    return map(_checked_line, placed) if rows is None else output_lines(placed, name)


def _checked_line(placed: tuple[str, Any]) -> tuple[str, dict[str, Any]]:
    where, line = placed
    if not isinstance(line, Mapping):
        raise InputError(f"{where}: {quoted(line)} is no dict with `qid` and `retrieved`")
    return where, dict(line)


def _line(response: tuple[Any, Any]) -> dict[str, Any]:
    """A line of what a system gave for a question: a list of items, or a mapping or object that has one."""
    query_id, results = response
    fields = result_fields(results)
    return {"query_id": query_id} | ({"retrieved": results} if fields is None else dict(fields))


def _parse(name: str, lines: Iterable[tuple[str, dict[str, Any]]], chunks: Chunks | None) -> _Contents:
    """The contents of result lines, each with where it is."""
    rows: list[_RunRow] = []
    candidate_rows: list[_RunRow] = []
    first: dict[str, str] = {}
    answers: dict[str, str] = {}
    failures: dict[str, str] = {}
    unanswered: dict[str, str] = {}
    has_key, alone = False, None
    n_lists, unlisted = 0, set[str]()
    latency_ms: dict[str, float] = {}
    said = Asked()
    collector, bare_ids = ChunkCollector(), dict[str, ChunkRow]()
    for where, line in lines:
        query_id = query_id_of(line, where)
        if query_id in first:
            raise DuplicateError(f"{where}: question {query_id!r} is listed already, in {first[query_id]}; remove one")
        first[query_id] = where
        if line.get("error") is not None:
            (unanswered if line.get("failed") == GENERATE else failures)[query_id] = str(line["error"])
        if isinstance(answer := answer_of(line), str):
            answers[query_id] = answer
        if (milliseconds := total_latency(line)) is not None:
            latency_ms[query_id] = milliseconds
        said.add(query_id, line, where)
        key = result_key(line)
        is_alone = key is None and query_id in answers and line.get("error") is None
        alone = alone or ((line, where) if is_alone else None)
        has_key = has_key or key is not None
        is_unlisted = is_alone or (key is not None and line[key] is None and query_id in answers)
        n_lists += key is not None and not is_unlisted
        if is_unlisted:
            unlisted.add(query_id)
        items = [] if is_alone or query_id in failures else retrieved_items(line, where)
        rows += _run_rows(query_id, items)
        for place, (id, _, item) in enumerate(items, 1):
            collector.add(id, item, f"{where}, item {place}")
        if line.get("candidates") is not None and query_id not in failures:
            here = f"{where}, `candidates`"
            candidate_rows += _candidate_rows(query_id, line["candidates"], here, collector, bare_ids)
    if alone is not None and has_key:
        retrieved_items(*alone)  # Refuses the line.
    if not rows:
        raise InputError(f"{name}: is empty; expected one JSON object a line with `qid` and `retrieved`")
    retrieved = bare_ids | collector.rows
    table = ChunkTable.of_rows(retrieved, complete=False) if chunks is None else ChunkTable.of(chunks)
    if unknown := retrieved.keys() - table.row_of.keys():
        chunk_id = min(unknown, key=lambda chunk: (chunk not in collector.first, chunk))
        raise InputError(f"{collector.first.get(chunk_id, name)}: chunk {quoted(chunk_id)} is none of the run's own")
    candidates = _run(candidate_rows, name) if candidate_rows else None
    return _Contents(
        _run(rows, name), table, chunks,
        candidates=candidates, answers=answers, failures=failures, unanswered=unanswered, latency_ms=latency_ms,
        has_lists=bool(n_lists) or not unlisted, unlisted=frozenset(unlisted),
        asked=said,
    )  # fmt: skip


def _run(rows: list[_RunRow], name: str) -> Run:
    return Run.of_rows(pl.DataFrame(rows, schema=RUN, orient="row"), name)


def _run_rows(query_id: str, items: list[_Item]) -> list[_RunRow]:
    """Rows of a run; places make scores where there are none."""
    if not items:
        return [(query_id, None, None)]
    return [(query_id, id, float(-place) if score is None else score) for place, (id, score, _) in enumerate(items)]


def _candidate_rows(
    query_id: str, candidates: Any, where: str, collector: ChunkCollector, bare_ids: dict[str, ChunkRow]
) -> list[_RunRow]:
    """Rows of a run of them; an id alone names a chunk that is described elsewhere, or nowhere."""
    plain = isinstance(candidates, list) and all(type(id) is str and id for id in candidates)
    if plain and is_whole_text("".join(candidates)):
        # Many ids a question, most of them again and again: looked at no closer than needed.
        bare_ids.update(dict.fromkeys(candidates, ChunkRow()))
        return [(query_id, id, float(-place)) for place, id in enumerate(candidates)] or [(query_id, None, None)]
    items = retrieved_items({"retrieved": candidates}, where)
    for place, (id, _, item) in enumerate(items, 1):
        if item.keys() - {"id", "chunk_id", "doc_id", "score"}:
            collector.add(id, item, f"{where}, item {place}")
        else:
            bare_ids[id] = ChunkRow()
    return _run_rows(query_id, items)
