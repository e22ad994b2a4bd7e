"""What earlier starts of a run left: the lines that count, and what has changed since."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.base.differences import differing_rows, settings_table
from steelyard.base.errors import InputError
from steelyard.data.corpus import Document
from steelyard.data.folders.run_folder import read_config, read_documents
from steelyard.data.responses import Response, decode_response
from steelyard.rag.fingerprint import NO_RESULT
from steelyard.rag.loading import first_names
from steelyard.rag.protocols import RunnableSystem


class RunLine(NamedTuple):
    """A line: its question, how that went, and where it is."""

    query_id: str
    response: Response
    path: Path
    start: int
    end: int


@dataclass(frozen=True)
class RunLines:
    """The whole lines of one file, in its order.

    n_damaged   lines that are torn or damaged, in between or at the end
    """

    lines: list[RunLine] = field(default_factory=list)
    n_damaged: int = 0

    @classmethod
    def read(cls, path: Path) -> RunLines:
        """The contents of a file; none where there is no file.

        Raises   OSError where it cannot be read.
        """
        lines, n_damaged, start = list[RunLine](), 0, 0
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return cls()
        with file:
            for raw in file:
                end = start + len(raw)
                try:
                    query_id, response = decode_response(raw)
                except ValueError:
                    n_damaged += 1
                else:
                    if raw.endswith(b"\n"):
                        lines.append(RunLine(query_id, without_results(response), path=path, start=start, end=end))
                    else:
                        n_damaged += 1
                start = end
        return cls(lines, n_damaged)

    @property
    def size(self) -> int:
        """Bytes up to the end of the last whole line."""
        return self.lines[-1].end if self.lines else 0

    @property
    def is_contiguous(self) -> bool:
        """True if nothing damaged is between the whole lines; what is behind them can be cut."""
        return self.size == sum(line.end - line.start for line in self.lines)

    @property
    def n_repeated(self) -> int:
        """Lines of questions that have one before."""
        return len(self.lines) - len(set(self.query_ids))

    @property
    def query_ids(self) -> list[str]:
        """The question of each line."""
        return [line.query_id for line in self.lines]


def lines_that_count(files: Iterable[RunLines], queries: Mapping[str, str]) -> dict[str, RunLine]:
    """One line of each question that is asked as it was asked then: the last answer, or the last error without one.

    queries   query_id to what is asked
    """
    latest: dict[str, RunLine] = {}
    for lines in files:
        for line in lines.lines:
            earlier = latest.get(line.query_id)
            if queries.get(line.query_id) == line.response.query and (
                earlier is None or line.response.error is None or earlier.response.error is not None
            ):
                latest[line.query_id] = line
    return latest


def n_answered(files: Iterable[RunLines]) -> int:
    """The number of questions that have an answer in some file."""
    return len({line.query_id for lines in files for line in lines.lines if line.response.error is None})


def without_results(response: Response) -> Response:
    """The course of a question, small enough to keep for all questions of a run: query, times, error and its stage."""
    return Response(response.query, latency_ms=response.latency_ms, error=response.error, failed=response.failed)


def read_bytes(lines: Iterable[RunLine]) -> bytes:
    """The lines, one after another.

    Raises   OSError where a file cannot be read.
    """
    contents: dict[Path, bytes] = {}
    pieces = []
    for line in lines:
        if line.path not in contents:
            contents[line.path] = line.path.read_bytes()
        pieces.append(contents[line.path][line.start : line.end])
    return b"".join(pieces)


_SETTINGS_SHOWN = 8
_LONGEST_VALUE = 80
_PART_OF = {"top_n": "rerank", "passages": "generate"}
"""Settings that are part of a stage's fingerprint."""
_FOLLOWING = {"corpus": ("corpus", "chunk", "embed"), "chunk": ("embed",), "documents": ("documents",)}
"""Parts of a fingerprint whose change needs no words of its own where the first one has changed."""


def describe_changes(folder: Path, earlier: Mapping[str, str], system: RunnableSystem) -> str:
    """Changes that make another run than the one of a folder, for a message: "k 10 → 5; 1 of 24 documents …".

    earlier   the fingerprint of that run
    """
    settings = _changed_settings(folder, system.resolved())
    parts = [part for part, digest in system.fingerprint.items() if part != "all" and earlier.get(part) != digest]
    changes = [f"{key} {old or 'none'} → {new or 'none'}" for key, (old, new) in settings.items()]
    if len(changes) > _SETTINGS_SHOWN:
        changes = [*changes[:_SETTINGS_SHOWN], f"{len(changes) - _SETTINGS_SHOWN} settings more"]
    if {"corpus", "documents"} & {*parts} and system.documents is not None:
        changes += _changed_documents(folder, system.documents)
    heads = {key.partition(".")[0] for key in settings}
    explained = {_PART_OF.get(head, head) for head in heads}.union(*(_FOLLOWING.get(part, ()) for part in parts))
    unexplained = [part for part in parts if part not in explained]
    if unexplained:
        changes.append(f"another version of what is behind {' and '.join(unexplained)}")
    return "; ".join(changes) or f"another fingerprint ({earlier.get('all')}, now {system.fingerprint['all']})"


def _changed_settings(folder: Path, resolved: Mapping[str, Any]) -> dict[str, tuple[str | None, ...]]:
    """Dotted setting -> its value then and now, as short texts; without those that change no result."""
    try:
        earlier = read_config(folder)
    except InputError:
        return {}
    now = json.loads(json.dumps(resolved))
    rows = differing_rows([settings_table(earlier), settings_table(now)]) if earlier else {}
    return {
        key: tuple(None if value is None else _short(value) for value in values)
        for key, values in rows.items()
        if key.rpartition(".")[2] != NO_RESULT
    }


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST_VALUE else value[: _LONGEST_VALUE - 1] + "…"


def _changed_documents(folder: Path, documents: Sequence[Document]) -> Iterator[str]:
    """The number of documents that differ, are new or are gone, with the names of the first."""
    now = {document.doc_id: document.text for document in documents}
    try:
        earlier = {document.doc_id: document.text for document in read_documents(folder)}
    except InputError:
        yield "other documents"
        return
    edited = [name for name, text in earlier.items() if name in now and now[name] != text]
    added, removed = [name for name in now if name not in earlier], [name for name in earlier if name not in now]
    changes = ((edited, f" of {len(earlier)} documents", "edited"), (added, "", "new"), (removed, "", "gone"))
    for names, among, what in changes:
        if names:
            yield f"{len(names)}{among} {'is' if len(names) == 1 else 'are'} {what} ({first_names(names)})"
    if not (edited or added or removed):
        yield "documents in another order"
