"""What manifest.json says of a run: the system, the questions, the machine and the versions, and how long it took."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np

from steelyard._version import __version__
from steelyard.base.errors import InputError, OutputError
from steelyard.base.machine import loaded_versions, machine, timestamp
from steelyard.base.notes import Note
from steelyard.data.folders.manifests import (
    CHUNKS,
    CONFIG,
    DOCUMENTS,
    MANIFEST,
    OUTPUTS,
    PARTIAL,
    read_manifest,
    visible_entries,
    write_json,
    write_manifest,
)
from steelyard.data.folders.run_folder import write_chunks, write_documents
from steelyard.data.folders.run_lock import NEW, Holder, replace_run
from steelyard.data.responses import GENERATE, Response, decode_response, encode_response
from steelyard.io.write import write_bytes
from steelyard.rag.protocols import RunnableSystem
from steelyard.rag.runs.earlier import RunLines, describe_changes, lines_that_count, n_answered, read_bytes

LIBRARIES = {
    "numpy": "numpy", "polars": "polars", "bm25s": "bm25s", "Stemmer": "PyStemmer", "rjieba": "rjieba",
    "opencc": "opencc", "sklearn": "scikit-learn", "threadpoolctl": "threadpoolctl", "scipy": "scipy",
    "faiss": "faiss-cpu", "torch": "torch", "transformers": "transformers",
    "sentence_transformers": "sentence-transformers", "openai": "openai", "httpx2": "httpx2",
    "pypdfium2": "pypdfium2", "semantic_text_splitter": "semantic-text-splitter",
}  # fmt: skip
"""Modules that stages and targets import, each with its distribution."""


def run_manifest(system: RunnableSystem, queries: Mapping[str, str], *, started: str) -> dict[str, Any]:
    """The manifest of a run that is not finished yet.

    queries   query_id to what is asked
    started   when the run was first started, by `timestamp`
    """
    corpus, documents = system.corpus, system.documents
    counts = {} if documents is None else {"documents": len(documents)}
    counts |= {} if corpus is None else {"chunks": len(corpus)}
    digest = hashlib.sha256(json.dumps(list(queries.items())).encode()).hexdigest()
    return {
        "name": system.name,
        "steelyard": __version__,
        "fingerprint": dict(system.fingerprint),
        "questions": f"sha256:{digest}",
        "counts": {**counts, "questions": len(queries)},
        "concurrency": system.concurrency,
        "notes": [note.as_json() for note in system.notes],
        "machine": dict(machine()),
        "python": platform.python_version(),
        "libraries": loaded_versions(LIBRARIES),
        "started": started,
        "finished": None,
    }


def latency_summary(latencies: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Median and 95th percentile of each stage, in milliseconds, by linear interpolation.

    latencies   of each question, stage to milliseconds; a stage counts over the questions that have it
    """
    stages = dict.fromkeys(stage for latency_ms in latencies for stage in latency_ms)
    summary = {}
    for stage in stages:
        p50, p95 = np.percentile([latency_ms[stage] for latency_ms in latencies if stage in latency_ms], [50, 95])
        summary[stage] = {"p50": round(float(p50), 4), "p95": round(float(p95), 4)}
    return summary


UNKNOWN_STAGE = "unknown"
"""What `failed_at` of a manifest counts failures under whose stage is not known."""
_REPLACE = "choose another folder, or replace it with --overwrite (overwrite=True)"
_NO_ROOM, _NOT_ALLOWED = "Make room, and start", "Make the folder writable, and start"
_ADVICE = {
    errno.ENOSPC: _NO_ROOM, errno.EDQUOT: _NO_ROOM, errno.EFBIG: "Raise the limit on the size of files, and start",
    errno.EROFS: _NOT_ALLOWED, errno.EACCES: _NOT_ALLOWED, errno.EPERM: _NOT_ALLOWED,
}  # fmt: skip


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C while questions were asked.

    n_answered  how many answers are kept, those of earlier starts among them
    """

    def __init__(self, n_answered: int) -> None:
        super().__init__(n_answered)
        self.n_answered = n_answered


class RunWriter:
    """Writes the run of one system over some questions into a folder.

    A finished run stays as it is until what takes its place, or adds to it, is whole: this is written beside it.

    path        the folder, made where it is absent; nobody else writes it
    system      prepared
    retrieved   after `resume`, the responses of earlier starts whose answer alone failed, with their passages
    queries     query_id to what is asked
    taken_over  whose lock of the folder was taken over
    """

    def __init__(
        self, path: Path, system: RunnableSystem, queries: Mapping[str, str], *, taken_over: Holder | None = None
    ) -> None:
        self.path, self._system, self._queries, self._taken_over = path, system, queries, taken_over
        self._at, self._overwrite = path, False
        self._continues = self._goes_on = self._whole = False
        self._partial = RunLines()
        self._appended: list[str] = []
        self.retrieved: dict[str, Response] = {}
        self._n_answered = 0
        self._started = timestamp()

    def resume(self, *, overwrite: bool, anew: bool = True) -> dict[str, Response]:
        """The responses of earlier starts that are valid for this one, by query_id; nothing is changed yet.

        anew     whether `overwrite` replaces a finished run of this very configuration too
        They come without their passages, and are valid where configuration and corpus are the same and the question
        did not fail.
        Raises   InputError, which says what has changed, where answers would be lost; OutputError where the folder
                 cannot be read.
        """
        replace_run(self.path)
        manifest = read_manifest(self.path)
        if manifest is None:
            return {}
        self._overwrite = overwrite
        finished = bool(manifest.get("finished")) and (self.path / OUTPUTS).exists()
        same = self._is_same(manifest)
        files = self._read(self.path)
        answered = n_answered(files)
        if not overwrite and (finished or answered):
            self._refuse_losses(manifest, files, finished=finished, same=same)
        self._continues = same and not (finished and overwrite and anew)
        if finished or (answered and not same):
            self._at = self.path / NEW
        damaged = any(lines.n_damaged or lines.n_repeated for lines in files)
        complete = (self.path / CONFIG).exists() and self._has_tables(self.path)
        self._whole = finished and self._continues and complete and not damaged
        return self._valid_responses()

    def is_finished(self) -> bool:
        """True if the folder holds the finished run of this system already, with each line once and whole."""
        return self._whole

    def begin(self) -> None:
        """Write what is run here; from now on it is a run folder, not a finished one.

        Raises   InputError where an interrupted replacement by another configuration would be lost.
        """
        with self._writing(self._at):
            if not self._goes_on:
                self._clear()
            self._at.mkdir(parents=True, exist_ok=True)
            write_manifest(self._at, self._manifest())
            write_json(self._at / CONFIG, self._system.resolved())
            if not (self._has_tables(self._at) or (self._continues and self._has_tables(self.path))):
                if self._system.corpus is not None:
                    write_chunks(self._at, self._system.corpus)
                elif self._system.documents is not None:
                    write_documents(self._at, self._system.documents)

    @contextmanager
    def appending(self) -> Iterator[Self]:
        """While this is open, `append` writes.

        Raises   RunInterrupted for Ctrl-C.
        """
        partial = self._at / PARTIAL
        with self._writing(partial):
            # Without a buffer: what was written is the operating system's, whatever happens to this process.
            self._file = partial.open("ab", buffering=0)
        with self._file:
            with self._writing(partial):
                self._file.truncate(self._partial.size)
            try:
                yield self
            except KeyboardInterrupt as error:
                raise RunInterrupted(self._n_answered) from error

    def append(self, query_id: str, response: Response) -> None:
        """Write the line of a question, which is in the file when this returns."""
        self._appended.append(query_id)
        line = encode_response(query_id, response)
        try:
            n_written = self._file.write(line)
            while n_written < len(line):
                # What is left of a disk or a limit took a part of the line, without an error; the next part says why.
                n_written += self._file.write(line[n_written:])
            vanished = os.fstat(self._file.fileno()).st_nlink == 0
        except OSError as error:
            raise self._unwritable(self._at / PARTIAL, error) from error
        if vanished:
            raise OutputError(
                f"{self._at / PARTIAL}: was removed while the run went on, with all its answers; start the same "
                "run again, which asks all of them again"
            )
        self._n_answered += response.error is None

    def finish(self, responses: Mapping[str, Response]) -> None:
        """Put all lines into outputs.jsonl in the order of the questions, and mark the run as finished."""
        with self._writing(self._at / OUTPUTS):
            self._write_outputs()
        manifest = self._manifest()
        failed = [response for response in responses.values() if response.error is not None]
        manifest["counts"]["failed"] = len(failed)
        manifest["failed_at"] = dict(Counter(response.failed or UNKNOWN_STAGE for response in failed))
        answered = [response.latency_ms for response in responses.values() if response.error is None]
        manifest["latency_ms"] = latency_summary(answered)
        # A clock that was put back in between must not make a run end before it began.
        manifest["finished"] = max(timestamp(), self._started)
        with self._writing(self._at / MANIFEST):
            write_manifest(self._at, manifest)
        replace_run(self.path)

    def _write_outputs(self) -> None:
        """Each question once, and none that is not asked any more."""
        outputs, partial = self._at / OUTPUTS, self._at / PARTIAL
        others = [path for path in self._line_files() if path != partial and path.exists()]
        if not others and self._partial.is_contiguous and self._appended == list(self._queries):
            os.replace(partial, outputs)
            return
        lines = lines_that_count(map(RunLines.read, self._line_files()), self._queries)
        missing = [query_id for query_id in self._queries if query_id not in lines]
        if missing:
            raise OutputError(
                f"{partial}: {len(missing)} answers are no longer there (first {missing[0]!r}); start the same run "
                "again, which asks these questions again"
            )
        write_bytes(outputs, read_bytes(lines[query_id] for query_id in self._queries))
        partial.unlink(missing_ok=True)

    def _has_tables(self, folder: Path) -> bool:
        """True if a folder has all that the run has of chunks and documents."""
        tables = {DOCUMENTS: self._system.documents, CHUNKS: self._system.corpus}
        names = [name for name, table in tables.items() if table is not None]
        return all((folder / name).exists() for name in names)

    def _line_files(self) -> list[Path]:
        """The files whose lines count, the latest one last."""
        folders = [self.path] if self._continues and self._at != self.path else []
        return [folder / name for folder in [*folders, self._at] for name in (OUTPUTS, PARTIAL)]

    def _is_same(self, manifest: Mapping[str, Any]) -> bool:
        return (manifest.get("fingerprint") or {}) == dict(self._system.fingerprint)

    def _valid_responses(self) -> dict[str, Response]:
        """The lines that count, as far as the folder that is written is of this configuration."""
        manifest = read_manifest(self._at)
        self._goes_on = manifest is not None and self._is_same(manifest)
        paths = [path for path in self._line_files() if self._goes_on or path.parent != self._at]
        files = [self._read_lines(path) for path in paths]
        if self._goes_on:
            self._partial = files[-1]
            self._appended = self._partial.query_ids
        lines = lines_that_count(files, self._queries)
        valid = {query_id: line.response for query_id, line in lines.items() if line.response.error is None}
        unanswered = [line for line in lines.values() if line.response.failed == GENERATE]
        self.retrieved = dict(map(decode_response, read_bytes(unanswered).splitlines()))
        if valid:
            begun = manifest if self._goes_on else read_manifest(self.path)
            self._started = (begun or {}).get("started") or self._started
        self._n_answered = len(valid)
        return valid

    def _refuse_losses(
        self, manifest: Mapping[str, Any], files: Sequence[RunLines], *, finished: bool, same: bool
    ) -> None:
        """Raise   InputError where answers are of another configuration, or of questions that are no longer asked."""
        name, answered = manifest.get("name"), n_answered(files)
        state = f"the finished run {name!r}" if finished else f"{answered} answers of the unfinished run {name!r}"
        if not same:
            changes = describe_changes(self.path, manifest.get("fingerprint") or {}, self._system)
            raise InputError(f"{self.path}: holds {state} of another configuration: {changes}; {_REPLACE}")
        asked = {
            line.query_id: line.response.query for lines in files for line in lines.lines if not line.response.error
        }
        unasked = [query_id for query_id, query in asked.items() if self._queries.get(query_id) != query]
        if unasked:
            raise InputError(
                f"{self.path}: holds {state} of other questions ({len(unasked)} of its {len(asked)} are no longer "
                f"asked so, first {unasked[0]!r}); {_REPLACE}"
            )

    def _clear(self) -> None:
        """Remove what another configuration has left where this one is written."""
        if self._at == self.path:
            for name in (OUTPUTS, PARTIAL, CHUNKS, DOCUMENTS):
                (self.path / name).unlink(missing_ok=True)
        elif self._at.exists():
            answered = n_answered(self._read(self._at))
            if answered and not self._overwrite:
                raise InputError(
                    f"{self._at}: holds {answered} answers of another configuration, which was to take the place of "
                    "this run and was interrupted; go on with that one, or delete this folder"
                )
            shutil.rmtree(self._at)

    def _read(self, folder: Path) -> list[RunLines]:
        return [self._read_lines(folder / name) for name in (OUTPUTS, PARTIAL)]

    def _read_lines(self, path: Path) -> RunLines:
        try:
            return RunLines.read(path)
        except OSError as error:
            raise OutputError(f"{path}: cannot be read ({error.strerror or error}); choose another folder") from error

    def _manifest(self) -> dict[str, Any]:
        manifest = run_manifest(self._system, self._queries, started=self._started)
        if self._taken_over is not None:
            manifest["notes"].append(Note("lock_taken_over", asdict(self._taken_over)).as_json())
        return manifest

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        """An error of ours in place of one of the disk."""
        try:
            yield
        except OSError as error:
            cause = error.__cause__ if isinstance(error, OutputError) else error
            if not isinstance(cause, OSError):
                raise
            raise self._unwritable(path, cause) from cause

    def _unwritable(self, path: Path, error: OSError) -> OutputError:
        n = self._n_answered
        progress = f"{n} answer{' is' if n == 1 else 's are'} kept" if n else "nothing was answered yet"
        return OutputError(
            f"{path}: cannot be written ({error.strerror or error}); {progress}. "
            f"{_ADVICE.get(error.errno or 0, 'Start')} the same run again, which goes on from there, or choose another "
            "folder"
        )


def refuse_foreign_folder(path: Path) -> None:
    """Refuse a folder that holds other things than a run, which writes files of common names.

    Raises   InputError; OutputError where the path is no folder.
    """
    names = visible_entries(path, wanted="be a run folder")
    if names and read_manifest(path) is None:
        if {CONFIG, OUTPUTS} <= {*names} or {CONFIG, PARTIAL} <= {*names}:
            raise InputError(
                f"{path}: holds a run without its {MANIFEST}, so that nothing says which; choose another folder, or "
                "remove this one (`steelyard evaluate` takes its lines as a file)"
            )
        raise InputError(f"{path}: holds other things ({names[0]}), but no run; choose a folder of its own")
