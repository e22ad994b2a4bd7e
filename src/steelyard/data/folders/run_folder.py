"""The folder that a run leaves: what was retrieved, from which chunks, and by which configuration.

manifest.json           name, fingerprint, counts, notes, machine, versions, latencies; `finished` is null until the
                        run is done
config.json             the configuration, resolved, without secrets
outputs.jsonl           one line a question: qid, query, retrieved, answer, latency_ms, or error
outputs.partial.jsonl   the same while the run goes on
.new                    a run that will take the place of a finished one, while it goes on
.lock                   who writes the folder, meanwhile
chunks.parquet          chunk_id, doc_id, start, end; absent where the system is not one of our pipelines
documents.parquet       doc_id, text, pages, source; texts of chunks are cut from these, and gold is placed by them;
                        absent where the documents of such a system are not named
"""

from __future__ import annotations

import io
import math
import os
import shlex
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from steelyard.base.errors import InputError, OutputError
from steelyard.base.notes import Note
from steelyard.base.own_paths import inside
from steelyard.base.schema import FrameReader
from steelyard.data.corpus import Chunks, Document
from steelyard.data.folders.manifests import (
    CHUNKS,
    CONFIG,
    DOCUMENTS,
    MANIFEST,
    OUTPUTS,
    RUN_MARK,
    read_manifest,
    write_json,
    write_manifest,
)
from steelyard.data.folders.run_lock import complete_replacement, is_being_replaced
from steelyard.data.responses import Response, decode_response, encode_response
from steelyard.io.json_files import json_lines, parse_json, query_id_of
from steelyard.io.native import native_reader
from steelyard.io.source import Source
from steelyard.io.write import write_bytes

_CHUNK_COLUMNS = pl.Schema({"chunk_id": pl.String, "doc_id": pl.String, "start": pl.Int64, "end": pl.Int64})
_DOCUMENT_COLUMNS = pl.Schema(
    [("doc_id", pl.String()), ("text", pl.String()), ("pages", pl.List(pl.Int64)), ("source", pl.String())]
)

REPAIR = "start the same run again (`steelyard run`), which repairs it from its whole lines"
_WRITE_ANEW = "start the same run again (`steelyard run`), which writes it again"


@dataclass(frozen=True)
class RunFolder:
    """A finished run on disk.

    name      of the system
    path      the folder
    manifest  what manifest.json holds
    twin      another folder with the same chunks, which are then read once for both
    stamp     of manifest.json when it was read, by which a run that takes its place is noticed; None takes no notice
    """

    name: str
    path: Path
    manifest: Mapping[str, Any]
    twin: RunFolder | None = field(default=None, repr=False)
    stamp: tuple[int, int] | None = field(default=None, repr=False, compare=False)

    @property
    def outputs(self) -> Path:
        """The file with one line a question."""
        return self.path / OUTPUTS

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes of the run, such as empty documents."""
        return tuple(Note.of_json(note) for note in self.manifest.get("notes") or ())

    @property
    def n_failed(self) -> int:
        """Questions on which the system failed, be it the answer alone."""
        return int(self.manifest.get("counts", {}).get("failed", 0))

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """Content of config.json: the configuration, resolved, without secrets; empty where there is none.

        Raises   InputError where it cannot be read.
        """
        with self._reading():
            return read_config(self.path)

    @property
    def questions(self) -> Path:
        """The questions that its configuration names.

        Raises   InputError where it names none, and where they are outside of the folder: it may come from somebody
                 else, and does not choose what is read.
        """
        named = self.config.get("questions")
        path = inside(self.path, named) if isinstance(named, str) else None
        if path is not None and path.is_file():
            return path
        if not isinstance(named, str):
            raise InputError(f"{self.path}: names no questions; name them with --truth FILE (truth=...)")
        advice = f"--truth {shlex.quote(named)}" if named.isprintable() else "--truth FILE"
        raise InputError(
            f"{self.path}: was run on questions outside of the folder, which does not choose what is read; if they are "
            f"right, name them: {advice} (truth=...)"
        )

    def responses(self) -> Iterator[tuple[str, Response]]:
        """Each question's id and response, in the order of the questions.

        Raises   InputError for a line that is none of a run, or is there twice, and where some are missing.
        """
        first: dict[str, int] = {}
        with self.reading_lines(), self._open_outputs() as lines:
            for number, line in enumerate(lines, 1):
                try:
                    query_id, response = decode_response(line)
                except ValueError as error:
                    raise InputError(f"{self.outputs}, line {number}: {error}") from None
                if query_id in first:
                    raise InputError(
                        f"{self.outputs}, line {number}: question {query_id!r} is in line {first[query_id]} already"
                    )
                first[query_id] = number
                yield query_id, response
            self.check_count(len(first))

    def check_count(self, n: int) -> None:
        """Hold the lines of the outputs against the manifest, where that has a number.

        Raises   InputError where some are missing, or there twice.
        """
        counts = self.manifest.get("counts")
        expected = counts.get("questions") if isinstance(counts, Mapping) else None
        if isinstance(expected, int) and n != expected:
            raise InputError(f"{self.outputs}: has lines of {n} questions; its {MANIFEST} says {expected}")

    @contextmanager
    def reading_lines(self) -> Iterator[None]:
        """Give the advice to repair the run with what is wrong with its lines."""
        with self._reading():
            try:
                yield
            except InputError as error:
                raise InputError(f"{error}; {REPAIR}") from None

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Files that do not fit together are of two runs, where another one has taken the place of this one by now."""
        try:
            yield
        except InputError:
            self.refuse_replaced()
            raise

    def refuse_replaced(self) -> None:
        """Raise   InputError where another run has taken the place of this one since it was opened, or is doing so."""
        if self.stamp is not None and (is_being_replaced(self.path) or self.stamp != manifest_stamp(self.path)):
            raise InputError(f"{self.path}: was replaced by another run while it was read; read it again")

    def _open_outputs(self) -> BinaryIO:
        try:
            return self.outputs.open("rb")
        except OSError as error:
            raise InputError(f"{self.outputs}: cannot be read ({error.strerror or error})") from error

    @cached_property
    def chunks(self) -> Chunks | None:
        """The corpus that was searched, or None where it is not known.

        Raises   InputError where the two tables do not fit together, or are gone.
        """
        if self.twin is not None:
            return self.twin.chunks
        with self._reading():
            return _read_chunks(self.path) if self._holds(CHUNKS, "chunks") else None

    @cached_property
    def documents(self) -> Sequence[Document] | None:
        """The documents that were searched, or None where they are not known."""
        if self.chunks is not None:
            return self.chunks.documents
        with self._reading():
            return read_documents(self.path) if self._holds(DOCUMENTS, "documents") else None

    @cached_property
    def chunks_digest(self) -> str | None:
        """A fingerprint of the files of chunks and documents; None where the run has no chunks."""
        with self._reading():
            if not (self._holds(CHUNKS, "chunks") and self._holds(DOCUMENTS, "documents")):
                return None
            return " ".join(Source(self.path / name).digest() for name in (CHUNKS, DOCUMENTS))

    def _holds(self, name: str, counted: str) -> bool:
        """True if the run has a table.

        Raises   InputError where its manifest counts rows of one, and there is none.
        """
        if (self.path / name).exists():
            return True
        if counted in (self.manifest.get("counts") or {}):
            raise InputError(f"{self.path / name}: is gone; {_WRITE_ANEW}")
        return False

    @property
    def reranks(self) -> bool | None:
        """True if the pipeline has a reranker; None for a system that is no pipeline."""
        return self.config.get("rerank") not in (None, "none") if "index" in self.config else None

    @cached_property
    def latency_ms(self) -> Mapping[str, float]:
        """query_id -> milliseconds that the system took in all, of the questions that it reports them for."""
        source = Source(self.outputs)
        with self.reading_lines():
            lines = ((query_id_of(line, self.name), total_latency(line)) for _, line in json_lines(source))
            return {query_id: ms for query_id, ms in lines if ms is not None}


def total_latency(line: Mapping[str, Any]) -> float | None:
    """Milliseconds in all that a line of outputs reports; None where it has none, or no finite number."""
    stages = line.get("latency_ms")
    total = stages.get("total") if isinstance(stages, dict) else None
    return float(total) if isinstance(total, int | float) and math.isfinite(total) else None


def find_run_folder(path: str | Path) -> RunFolder | None:
    """The finished run at a path; None where the path is no run folder.

    Raises   InputError for a run that was interrupted, or is of a later version; OutputError where it was about to be
             replaced, and that cannot be completed.
    """
    path = Path(path)
    if os.path.isfile(path):
        return None
    complete_replacement(path)
    stamp, manifest = manifest_stamp(path), read_manifest(path)
    if manifest is None:
        return None
    if not manifest.get("finished") or not (path / OUTPUTS).exists():
        raise InputError(f"{path}: holds a run that was interrupted; start it again, and it goes on from there")
    return RunFolder(str(manifest["name"]), path, manifest, stamp=stamp)


def manifest_stamp(path: Path) -> tuple[int, int] | None:
    """Stamp that changes when another manifest.json takes the place of one; None where there is none."""
    try:
        status = os.stat(path / MANIFEST)
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_mtime_ns


def read_run_folder(path: str | Path) -> RunFolder:
    """A finished run.

    Raises   InputError where the folder holds none, or one that was interrupted.
    """
    folder = find_run_folder(path)
    if folder is None:
        raise InputError(f"{path}: is no run folder; expected what `steelyard run` writes, with a {MANIFEST}")
    return folder


def write_run_folder(
    path: str | Path,
    *,
    config: Mapping[str, Any],
    manifest: Mapping[str, Any],
    responses: Iterable[tuple[str, Response]],
    chunks: Chunks | None = None,
    documents: Sequence[Document] | None = None,
) -> RunFolder:
    """Make a run folder again from its parts, as they were stored elsewhere: those of a `RunFolder`.

    Its manifest does not count chunks and documents that are not given.
    Raises   InputError where the folder holds something; OutputError where it cannot be written.
    """
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        occupied = any(path.iterdir())
    except OSError as error:
        raise OutputError(f"{path}: cannot be made ({error.strerror or error}); choose another folder") from error
    if occupied:
        raise InputError(f"{path}: holds something already; choose another folder")
    write_bytes(path / OUTPUTS, b"".join(encode_response(query_id, response) for query_id, response in responses))
    write_json(path / CONFIG, config)
    if chunks is not None:
        write_chunks(path, chunks)
    elif documents is not None:
        write_documents(path, documents)
    absent = {CHUNKS: "chunks", DOCUMENTS: "documents"}
    uncounted = {counted for name, counted in absent.items() if not (path / name).exists()}
    counts = {key: n for key, n in (manifest.get("counts") or {}).items() if key not in uncounted}
    # Last: this makes it a run folder.
    write_manifest(path, {key: value for key, value in manifest.items() if key != RUN_MARK} | {"counts": counts})
    return read_run_folder(path)


def read_config(path: Path) -> dict[str, Any]:
    """Content of config.json of a folder; nothing where there is none.

    Raises   InputError where it cannot be read.
    """
    try:
        config = parse_json((path / CONFIG).read_bytes(), str(path / CONFIG))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"{path / CONFIG}: cannot be read ({error}); delete it, and {_WRITE_ANEW}") from None
    except InputError as error:
        raise InputError(f"{error}; delete it, and {_WRITE_ANEW}") from None
    return config if isinstance(config, dict) else {}


def write_chunks(path: Path, chunks: Chunks) -> None:
    """Write chunks.parquet and documents.parquet."""
    names = [document.doc_id for document in chunks.documents]
    write_documents(path, chunks.documents)
    table = pl.DataFrame(
        {
            "chunk_id": chunks.ids,
            "doc_id": [names[owner] for owner in chunks.owner.tolist()],
            "start": chunks.start,
            "end": chunks.end,
        },
        schema=_CHUNK_COLUMNS,
    )
    write_bytes(path / CHUNKS, _parquet(table))


def write_documents(path: Path, documents: Sequence[Document]) -> None:
    """Write documents.parquet."""
    table = pl.DataFrame(
        {
            "doc_id": [document.doc_id for document in documents],
            "text": [document.text for document in documents],
            "pages": [None if document.pages is None else list(document.pages) for document in documents],
            "source": [document.source for document in documents],
        },
        schema=_DOCUMENT_COLUMNS,
    )
    write_bytes(path / DOCUMENTS, _parquet(table))


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _read_table(file: Path, columns: pl.Schema, may_be_null: Collection[str] = ()) -> pl.DataFrame:
    """A table of a run folder.

    Raises   InputError where it is damaged, or another one.
    """
    try:
        with native_reader(str(file)):
            table = pl.read_parquet(file, columns=list(columns), glob=False)
    except InputError as error:
        raise InputError(f"{error}; delete it, and {_WRITE_ANEW}") from None
    if table.schema != columns or any(table[name].null_count() for name in columns if name not in may_be_null):
        raise InputError(f"{file}: holds other columns than those of a run; delete it, and {_WRITE_ANEW}")
    return table


def read_documents(path: Path) -> list[Document]:
    """The documents of a run folder.

    Raises   InputError where they cannot be read.
    """
    rows = _read_table(path / DOCUMENTS, _DOCUMENT_COLUMNS, may_be_null=("pages",))
    return [
        Document(doc_id, text, None if pages is None else tuple(pages), source)
        for doc_id, text, pages, source in rows.iter_rows()
    ]


def _read_chunks(path: Path) -> Chunks:
    table, documents = _read_table(path / CHUNKS, _CHUNK_COLUMNS), read_documents(path)
    place = {document.doc_id: i for i, document in enumerate(documents)}
    owner = np.array([place.get(doc_id, -1) for doc_id in table["doc_id"]], np.int64)
    start, end = table["start"].to_numpy(), table["end"].to_numpy()
    lengths = np.array([len(document.text) for document in documents], np.int64)
    chunks = Chunks(documents, owner, start, end)
    strange = (owner < 0).any() or ((start < 0) | (start > end) | (end > lengths[owner])).any()
    if strange or chunks.ids != table["chunk_id"].to_list():
        raise InputError(f"{path}: {CHUNKS} and {DOCUMENTS} are not of one run; delete both, and {_WRITE_ANEW}")
    return chunks


@dataclass
class RunReader:
    """A reader of the outputs of a run folder, which says what to do where they are damaged."""

    name: str
    reader: FrameReader
    folder: RunFolder

    def batches(self) -> Generator[pl.DataFrame]:
        """As the reader gives them; a batch has whole lines."""
        n = 0
        with self.folder.reading_lines():
            for batch in self.reader.batches():
                n += 1 + int(batch["query_id"].rle_id()[-1]) if len(batch) else 0
                yield batch
            self.folder.check_count(n)

    def locate(self, query_id: str, doc_id: str) -> str:
        """Lines that list a document twice are two of one question."""
        return f"{self.reader.locate(query_id, doc_id)} ({REPAIR})"
