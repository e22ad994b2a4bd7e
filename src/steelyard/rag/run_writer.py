"""A run folder while it is written: every line is on disk before the next question, and a later start goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from steelyard.base.errors import InputError, OutputError
from steelyard.base.machine import timestamp
from steelyard.base.notes import Note
from steelyard.data.responses import Response, decode_response, encode_response
from steelyard.data.run_folder import (
    CHUNKS,
    CONFIG,
    DOCUMENTS,
    OUTPUTS,
    PARTIAL,
    read_manifest,
    write_chunks,
    write_documents,
    write_json,
    write_manifest,
)
from steelyard.data.run_lock import Holder
from steelyard.io.write import write_bytes
from steelyard.rag.manifest import latency_summary, run_manifest
from steelyard.rag.system import System

_REPLACE = "choose another folder, or replace it with --overwrite (overwrite=True)"


class RunWriter:
    """Writes the run of one system over some questions into a folder.

    path        the folder, made where it is absent
    system      prepared
    queries     query_id to what is asked
    taken_over  whose lock of the folder was taken over
    Raises    InputError where the folder holds something else than a run; OutputError where it cannot be looked into
    """

    def __init__(
        self, path: Path, system: System, queries: Mapping[str, str], *, taken_over: Holder | None = None
    ) -> None:  # fmt: skip
        self.path, self._system, self._queries = path, system, queries
        self._partial = path / PARTIAL
        self._appended: list[str] = []
        self._taken_over = taken_over
        self._started = timestamp()

    def resume(self, *, overwrite: bool) -> dict[str, Response]:
        """The responses of an earlier start that are valid for this one, by query_id; all others are removed.

        They come without their passages, and are valid where configuration and corpus are the same and the question
        did not fail.
        Raises   InputError where a finished run would be lost.
        """
        manifest = read_manifest(self.path)
        if manifest is None:
            return {}
        earlier, fingerprint = manifest.get("fingerprint") or {}, dict(self._system.fingerprint)
        finished = self.is_finished()
        if earlier != fingerprint or (finished and overwrite):
            if finished and not overwrite:
                raise InputError(f"{self._finished(manifest)} of {_other_parts(earlier, fingerprint)}; {_REPLACE}")
            self._clear()
            return {}
        self._cut_torn_lines()
        partial = dict(_read_lines(self._partial))
        self._appended = list(partial)
        responses = dict(_read_lines(self.path / OUTPUTS)) | partial
        unasked = [
            query_id for query_id, response in responses.items() if self._queries.get(query_id) != response.query
        ]
        if unasked and finished and not overwrite:
            raise InputError(
                f"{self._finished(manifest)} of other questions ({len(unasked)} of its {len(responses)} are no longer "
                f"asked so, first {unasked[0]!r}); {_REPLACE}"
            )
        valid = {
            query_id: response
            for query_id, response in responses.items()
            if response.error is None and query_id not in unasked
        }
        if valid:
            self._started = manifest.get("started") or self._started
        return valid

    def is_finished(self) -> bool:
        """Whether a run of the folder came to its end."""
        return bool((read_manifest(self.path) or {}).get("finished")) and (self.path / OUTPUTS).exists()

    def begin(self) -> None:
        """Write what is run here; from now on it is a run folder, not a finished one."""
        with _writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        write_manifest(self.path, self._manifest())
        write_json(self.path / CONFIG, self._system.resolved())
        if self._system.corpus is not None and not (self.path / CHUNKS).exists():
            write_chunks(self.path, self._system.corpus)
        elif self._system.documents is not None and not (self.path / DOCUMENTS).exists():
            write_documents(self.path, self._system.documents)

    @contextmanager
    def appending(self) -> Iterator[Self]:
        """While this is open, `append` writes."""
        with _writing(self._partial):
            # Without a buffer: what was written is the operating system's, whatever happens to this process.
            self._file = (self._partial).open("ab", buffering=0)
        with self._file:
            yield self

    def append(self, query_id: str, response: Response) -> None:
        """Write the line of a question, which is in the file when this returns."""
        self._appended.append(query_id)
        line = encode_response(query_id, response)
        try:
            self._file.write(line)
        except OSError as error:
            raise _unwritable(self._partial, error) from error

    def finish(self, responses: Mapping[str, Response]) -> None:
        """Put all lines into outputs.jsonl in the order of the questions, and mark the run as finished."""
        outputs, partial = self.path / OUTPUTS, self._partial
        with _writing(outputs):
            if self._appended == list(self._queries) and not outputs.exists():
                os.replace(partial, outputs)
            else:
                lines = {query_id: line for path in (outputs, partial) for query_id, _, line in _whole_lines(path)}
                write_bytes(outputs, b"".join(lines[query_id] for query_id in self._queries))
                partial.unlink(missing_ok=True)
        manifest = self._manifest()
        manifest["counts"]["failed"] = sum(response.error is not None for response in responses.values())
        answered = [response.latency_ms for response in responses.values() if response.error is None]
        manifest["latency_ms"] = latency_summary(answered)
        manifest["finished"] = timestamp()
        write_manifest(self.path, manifest)

    def _manifest(self) -> dict[str, Any]:
        manifest = run_manifest(self._system, self._queries, started=self._started)
        if self._taken_over is not None:
            manifest["notes"].append(Note("lock_taken_over", asdict(self._taken_over)).as_json())
        return manifest

    def _finished(self, manifest: Mapping[str, Any]) -> str:
        return f"{self.path}: holds the finished run {manifest.get('name')!r}"

    def _clear(self) -> None:
        with _writing(self.path):
            for name in (OUTPUTS, PARTIAL, CHUNKS, DOCUMENTS):
                (self.path / name).unlink(missing_ok=True)

    def _cut_torn_lines(self) -> None:
        """Cut the partial file before the first line that is torn or damaged, so that lines can be appended."""
        path = self._partial
        if path.exists():
            with _writing(path):
                os.truncate(path, sum(len(line) for _, _, line in _whole_lines(path)))


def refuse_foreign_folder(path: Path) -> None:
    """Refuse a folder that holds other things than a run, which writes files of common names.

    Raises   InputError; OutputError where the path is no folder.
    """
    try:
        names = [name for name in sorted(os.listdir(path)) if not name.startswith(".")]
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(f"{path}: cannot be a run folder ({error.strerror or error}); choose another path") from error
    if names and read_manifest(path) is None:
        raise InputError(f"{path}: holds other things ({names[0]}), but no run; choose a folder of its own")


def n_answered(folder: str | Path) -> int:
    """How many questions a run that was interrupted has answered, failed ones not counted."""
    responses = dict(_read_lines(Path(folder) / OUTPUTS)) | dict(_read_lines(Path(folder) / PARTIAL))
    return sum(response.error is None for response in responses.values())


def _other_parts(earlier: Mapping[str, str], fingerprint: Mapping[str, str]) -> str:
    parts = [part for part in fingerprint if part != "all" and earlier.get(part) != fingerprint[part]]
    return (
        f"another configuration ({earlier.get('all')}, this one is {fingerprint['all']}; "
        f"other {', '.join(parts) or 'k or depth'})"
    )


def without_results(response: Response) -> Response:
    """How a question went, small enough to be kept for all questions of a run: query, times and error."""
    return Response(response.query, latency_ms=response.latency_ms, error=response.error)


def _read_lines(path: Path) -> Iterator[tuple[str, Response]]:
    return ((query_id, without_results(response)) for query_id, response, _ in _whole_lines(path))


def _whole_lines(path: Path) -> Iterator[tuple[str, Response, bytes]]:
    """Query id, response and bytes of each line, up to the first one that is torn or damaged."""
    if not path.exists():
        return
    for line in path.read_bytes().splitlines(keepends=True):
        try:
            query_id, response = decode_response(line)
        except ValueError:
            return
        if not line.endswith(b"\n"):
            return
        yield query_id, response, line


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """What the disk refuses, as an error of ours."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{path}: cannot be written ({error.strerror or error}); what was done is kept, and the same run goes on "
        "from there; or choose another folder"
    )
