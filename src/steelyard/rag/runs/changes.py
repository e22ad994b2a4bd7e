"""What has changed since a run was begun: settings, documents, and what is behind a stage."""

from __future__ import annotations
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from steelyard.base.errors import InputError
from steelyard.data.corpus import Document
from steelyard.data.folders.run_folder import read_config, read_documents
from steelyard.base.differences import differing_rows, settings_table
from steelyard.rag.fingerprint import NO_RESULT
from steelyard.rag.loading import first_names
from steelyard.rag.protocols import System


_SETTINGS_SHOWN = 8
_LONGEST_VALUE = 80
_PART_OF = {"top_n": "rerank", "passages": "generate"}
"""Settings that are part of a stage's fingerprint."""
_FOLLOWING = {"corpus": ("corpus", "chunk", "embed"), "chunk": ("embed",), "documents": ("documents",)}
"""Parts of a fingerprint whose change needs no words of its own where the first one has changed."""


def describe_changes(folder: Path, earlier: Mapping[str, str], system: System) -> str:
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
