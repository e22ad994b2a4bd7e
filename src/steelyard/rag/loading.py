"""Documents of a pipeline, or those that a system of the user's own searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.base.progress import Progress
from steelyard.data.corpus import Document
from steelyard.data.folders.run_folder import find_run_folder
from steelyard.data.loading import load
from steelyard.io import formats
from steelyard.io.source import Source

Documents = str | Path | Sequence[Document] | Mapping[str, str]
NAMES_SHOWN = 3


def load_documents(
    source: Documents, encoding: str | Mapping[str, str], progress: Progress
) -> tuple[Sequence[Document], list[Note]]:
    """Documents of a path, or the ones at hand; with notes of files that were skipped and documents that are empty.

    Raises   InputError for documents that cannot be read, or two of one name.
    """
    progress("load", 0, 1)
    notes = []
    if isinstance(source, str | Path):
        loaded = load(source, encoding=encoding)
        documents: Sequence[Document] = loaded.documents
        if loaded.skipped:
            notes.append(named_note("files_skipped", [str(name) for name in loaded.skipped]))
        if loaded.encodings:
            names = [f"{path} ({encoding})" for path, encoding in loaded.encodings.items()]
            decoded = named_note("files_decoded", names)
            notes.append(Note(decoded.code, {**decoded.values, "encodings": dict(loaded.encodings)}))
    elif isinstance(source, Mapping):
        documents = [Document(str(doc_id), text) for doc_id, text in source.items()]
    else:
        documents = list(source)
    seen: set[str] = set()
    for document in documents:
        if document.doc_id in seen:
            raise InputError(f"two documents are called {document.doc_id!r}; rename one")
        seen.add(document.doc_id)
    empty = [document.doc_id for document in documents if not document.text]
    if empty:
        notes.append(named_note("documents_empty", empty))
    progress("load", 1, 1)
    return documents, notes


def searched_documents(path: Path, progress: Progress) -> tuple[Sequence[Document], list[Note]]:
    """The documents that a system of the user's own searches: of a path, or those of a run folder; with notes.

    Raises   InputError for a run folder without documents, and for a file of chunks; as `load_documents` does.
    """
    if (folder := find_run_folder(path)) is not None:
        if folder.documents is None:
            raise InputError(f"{path}: is the run of a system whose documents are not known; name the documents")
        return folder.documents, []
    if path.is_file():
        source = Source(path)
        if formats.sniff(source) == "jsonl" and b'"start"' in source.head:
            raise InputError(f"{path}: holds chunks, as its lines have `start`; name the documents that they are of")
    return load_documents(path, "utf-8", progress)


def first_names(names: Sequence[str]) -> str:
    """The first of some names, for a message."""
    return ", ".join(names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")


def named_note(code: str, names: Sequence[str]) -> Note:
    """A note of n things, the first of them by name."""
    return Note(code, {"n": len(names), "names": list(names[:NAMES_SHOWN])})
