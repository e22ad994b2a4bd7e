"""A system run over questions, into a run folder, so that nothing that was computed is ever lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from steelyard.base.errors import InputError, OutputError, StageError
from steelyard.data.questions import Questions
from steelyard.data.run_folder import (
    CHUNKS,
    CONFIG,
    DOCUMENTS,
    OUTPUTS,
    PARTIAL,
    RunFolder,
    read_manifest,
    read_run_folder,
    write_chunks,
    write_json,
    write_manifest,
)
from steelyard.io.write import write_bytes
from steelyard.rag.manifest import latency_summary, run_manifest, timestamp
from steelyard.rag.system import Progress, System, quoted

GIVE_UP_AFTER = 5
"""Where the first so many questions all fail with the same error, the run stops: the system is at fault, not they."""


class Asked(Protocol):
    """What a run needs to know of a question."""

    @property
    def query_id(self) -> str:
        """Its id."""
        ...

    @property
    def query(self) -> str | None:
        """What is asked."""
        ...


def run(
    system: System,
    questions: str | Path | Iterable[Asked] | Iterable[Mapping[str, Any]],
    folder: str | Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> RunFolder:
    """Ask a system all questions and write a run folder.

    questions   a dataset's path, `Questions`, or dicts with `qid` and `query`
    folder      made where it is absent
    overwrite   replace a finished run, of whichever configuration; one that was interrupted still goes on
    progress    called as progress(stage, done, total)

    Every answered question is on disk before the next is asked.  A run that was interrupted goes on where it was, if
    configuration and corpus are the same; questions that failed are asked again; a finished run is not run again.
    A question on which a stage fails (StageError) is recorded with its error and nothing retrieved, and the run goes
    on; but where the first five all fail with the same error, it is raised.

    Raises   InputError for a question without text, and for a folder that holds something else, or a finished run of
             another configuration or of questions that are no longer asked; OutputError where it cannot be written.
    """
    tell = progress or (lambda stage, done, total: None)
    asked = _checked(_questions(questions))
    place = _Place(Path(folder))
    place.refuse_foreign()
    system.prepare(progress)
    done = place.kept(dict(system.fingerprint), asked, overwrite=overwrite)
    todo = [(query_id, query) for query_id, query in asked.items() if query_id not in done]
    tell("questions", len(done), len(asked))
    if not todo and place.is_finished():
        return read_run_folder(place.path)
    place.begin(system, asked, anew=not done)
    failures: list[str | None] = []
    with place.appending() as append, system.session([query for _, query in todo]):
        for query_id, query in todo:
            line, found = _line(system, query_id, query)
            append(query_id, line)
            done[query_id] = found
            tell("questions", len(done), len(asked))
            failures.append(found.error)
            if len(failures) == GIVE_UP_AFTER and found.error is not None and len(set(failures)) == 1:
                raise StageError(f"the first {GIVE_UP_AFTER} questions all failed: {found.error}")
    place.finish(system, asked, done)
    return read_run_folder(place.path)


def n_done(folder: str | Path) -> int:
    """How many questions a run that was interrupted has behind it, failed ones not counted."""
    found = _read(Path(folder) / OUTPUTS) | _read(Path(folder) / PARTIAL)
    return sum(line.error is None for line in found.values())


@dataclass(frozen=True, slots=True)
class _Done:
    """A question that was asked: why it failed, or how long it took."""

    query: str
    error: str | None
    latency_ms: Mapping[str, float]


class _Place:
    """A run folder while it is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._partial: list[str] = []

    def refuse_foreign(self) -> None:
        """Refuse a folder that holds other things: a run writes files of common names."""
        try:
            holds = [name for name in sorted(os.listdir(self.path)) if not name.startswith(".")]
        except FileNotFoundError:
            return
        except OSError as error:
            raise OutputError(
                f"{self.path}: cannot be a run folder ({error.strerror or error}); choose another path"
            ) from error
        if holds and read_manifest(self.path) is None:
            raise InputError(f"{self.path}: holds other things ({holds[0]}), but no run; choose a folder of its own")

    def is_finished(self) -> bool:
        """Whether a run of the folder came to its end."""
        return bool((read_manifest(self.path) or {}).get("finished")) and (self.path / OUTPUTS).exists()

    def kept(self, fingerprint: Mapping[str, str], asked: Mapping[str, str], *, overwrite: bool) -> dict[str, _Done]:
        """The answers of an earlier start that hold for this one; what does not hold is removed, if it may be.

        Raises   InputError where a finished run would be lost.
        """
        manifest = read_manifest(self.path)
        if manifest is None:
            return {}
        earlier, finished = manifest.get("fingerprint") or {}, self.is_finished()
        if earlier != fingerprint or (finished and overwrite):
            if finished and not overwrite:
                parts = [part for part in fingerprint if part != "all" and earlier.get(part) != fingerprint[part]]
                what = ", ".join(parts) or "k or depth"
                raise InputError(
                    f"{self.path}: holds the finished run {manifest.get('name')!r} of another configuration "
                    f"({earlier.get('all')}, this one is {fingerprint['all']}; other {what}); "
                    "choose another folder, or replace it with --overwrite (overwrite=True)"
                )
            self._clear()
            return {}
        lines = list(_whole_lines(self.path / PARTIAL, cut=True))
        self._partial = [query_id for query_id, _, _ in lines]
        found = _read(self.path / OUTPUTS) | {query_id: done for query_id, done, _ in lines}
        gone = [query_id for query_id, line in found.items() if asked.get(query_id) != line.query]
        if gone and finished and not overwrite:
            raise InputError(
                f"{self.path}: holds the finished run {manifest.get('name')!r} of other questions "
                f"({len(gone)} of its {len(found)} are no longer asked so, first {gone[0]!r}); "
                "choose another folder, or replace it with --overwrite (overwrite=True)"
            )
        return {query_id: line for query_id, line in found.items() if line.error is None and query_id not in gone}

    def _clear(self) -> None:
        with _writing(self.path):
            for name in (OUTPUTS, PARTIAL, CHUNKS, DOCUMENTS):
                (self.path / name).unlink(missing_ok=True)

    def begin(self, system: System, asked: Mapping[str, str], *, anew: bool) -> None:
        """Say in the folder what runs here; from now on it is a run folder, not a finished one."""
        with _writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        before = {} if anew else read_manifest(self.path) or {}
        self._started = before.get("started") or timestamp()
        write_manifest(self.path, run_manifest(system, asked, started=self._started))
        write_json(self.path / CONFIG, system.resolved())
        if system.corpus is not None and not (self.path / CHUNKS).exists():
            write_chunks(self.path, system.corpus)

    @contextmanager
    def appending(self) -> Iterator[Callable[[str, bytes], None]]:
        """A function that appends one line, which is in the file when it returns."""
        path = self.path / PARTIAL
        with _writing(path):
            # Without a buffer: what was written is the operating system's, whatever becomes of this process.
            file = path.open("ab", buffering=0)

        def append(query_id: str, line: bytes) -> None:
            self._partial.append(query_id)
            with _writing(path):
                file.write(line)

        with file:
            yield append

    def finish(self, system: System, asked: Mapping[str, str], done: Mapping[str, _Done]) -> None:
        """Put all lines into outputs.jsonl in the order of the questions, and say that the run is finished."""
        outputs, partial = self.path / OUTPUTS, self.path / PARTIAL
        with _writing(outputs):
            if self._partial == list(asked) and not outputs.exists():
                os.replace(partial, outputs)
            else:
                lines = {query_id: line for path in (outputs, partial) for query_id, _, line in _whole_lines(path)}
                write_bytes(outputs, b"".join(lines[query_id] for query_id in asked))
                partial.unlink(missing_ok=True)
        manifest = run_manifest(system, asked, started=self._started)
        manifest["counts"]["failed"] = sum(one.error is not None for one in done.values())
        manifest["latency_ms"] = latency_summary([one.latency_ms for one in done.values() if one.error is None])
        manifest["finished"] = timestamp()
        write_manifest(self.path, manifest)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """What the disk refuses, as an error of ours."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written ({error.strerror or error}); what was done is kept, and the same run goes on "
            "from there; or choose another folder"
        ) from error


def _questions(given: Any) -> Sequence[Asked]:
    if isinstance(given, str | Path):
        return Questions.read(given)
    listed = list(given)
    return Questions(listed) if listed and isinstance(listed[0], Mapping) else listed


def _checked(questions: Iterable[Asked]) -> dict[str, str]:
    """What is asked, by id."""
    asked: dict[str, str] = {}
    for question in questions:
        where = getattr(question, "where", "")
        if question.query is None or not question.query.strip():
            state = "no `query`" if question.query is None else "an empty `query`"
            raise InputError(
                f"{where + ': ' if where else ''}question {question.query_id!r} has {state}; write what is asked"
            )
        if question.query_id in asked:
            raise InputError(f"question {question.query_id!r} stands twice; rename or remove one")
        asked[question.query_id] = question.query
    if not asked:
        raise InputError("there is no question to ask")
    return asked


def _line(system: System, query_id: str, query: str) -> tuple[bytes, _Done]:
    """Ask a question: its line, and what became of it."""
    head = f'{{"qid": {quoted(query_id)}, "query": {quoted(query)}, "retrieved": '.encode()
    try:
        record = system.record(query)
    except StageError as error:
        return head + f'[], "error": {quoted(str(error))}}}\n'.encode(), _Done(query, str(error), {})
    answer = "" if record.answer is None else f', "answer": {quoted(record.answer)}'
    times = ", ".join([f'"{stage}": {ms:.4f}' for stage, ms in record.latency_ms.items()])
    tail = f'{answer}, "latency_ms": {{{times}}}}}\n'.encode()
    candidates = () if record.candidates is None else (b', "candidates": ', record.candidates)
    return b"".join((head, *record.retrieved, *candidates, tail)), _Done(query, None, record.latency_ms)


def _whole_lines(path: Path, *, cut: bool = False) -> Iterator[tuple[str, _Done, bytes]]:
    """Query id, what became of it, and the line, up to the first line that is torn or damaged, which `cut` cuts off."""
    if not path.exists():
        return
    place = 0
    for raw in path.read_bytes().splitlines(keepends=True):
        try:
            line = json.loads(raw)
            done = _Done(line["query"], line.get("error"), line.get("latency_ms") or {})
            query_id = line["qid"]
        except (ValueError, KeyError, TypeError, AttributeError):
            break
        if not raw.endswith(b"\n"):
            break
        yield query_id, done, raw
        place += len(raw)
    if cut:
        with _writing(path):
            os.truncate(path, place)


def _read(path: Path) -> dict[str, _Done]:
    """What became of the questions of a file, the last time that each was asked."""
    return {query_id: done for query_id, done, _ in _whole_lines(path)}
