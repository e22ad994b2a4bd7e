"""What identifies a stage: its class, its settings, and the files behind it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from steelyard.base.own_code import source_text
from steelyard.data.corpus import Chunks, Document
from steelyard.services.cache import text_key

_DIGITS = 16
_PLAIN = (str, int, float, bool, type(None))
NO_RESULT = "concurrency"
"""A setting that changes no result, whoever's stage has it."""


def digest(*parts: object) -> str:
    """A short SHA-256 of plain values, in hexadecimal digits."""
    text = json.dumps(parts, ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@dataclass(frozen=True)
class Description:
    """What identifies a stage.

    digest    of its class, its settings, what its `identity()` says, and the source of its module if
              that is not ours
    complete  whether nothing that may change results can hide behind the digest; only then is its work cached
    """

    digest: str
    complete: bool


def describe(stage: object) -> Description:
    """Describe a stage, before it is used.

    A stage is identified by its public settings and by what a method `identity() -> str` says, if it has one.  Where an
    object is neither ours nor a dataclass, nor has that method, all its attributes are taken for settings.
    """
    kind = type(stage)
    identity = stage.identity() if callable(getattr(stage, "identity", None)) else None  # type: ignore[attr-defined]
    if kind.__module__.partition(".")[0] == "steelyard":
        # Without the module, so that a file that moves leaves runs and caches as they are.
        return Description(digest(f"steelyard:{kind.__qualname__}", settings_of(stage), identity), complete=True)
    name = f"{kind.__module__}:{kind.__qualname__}"
    if is_dataclass(stage):
        settings = {field.name: getattr(stage, field.name) for field in fields(stage) if field.init}
        settings = {key: value for key, value in settings.items() if not key.startswith("_")}
    elif identity is not None:
        settings = settings_of(stage)
    else:
        settings = dict(vars(stage)) if hasattr(stage, "__dict__") else {"": stage}
    settings.pop(NO_RESULT, None)
    plain = {key: value for key, value in settings.items() if _is_plain(value)}
    complete = identity is not None or len(plain) == len(settings)
    return Description(digest(name, plain, identity, module_source(kind)), complete=complete)


def settings_of(stage: object) -> dict[str, Any]:
    """The public settings of a stage, for its fingerprint: dataclass fields, else public attributes.

    A field whose metadata say {"fingerprint": False} changes no result, and is left out.
    """
    if is_dataclass(stage):
        marked = (field for field in fields(stage) if field.init and field.metadata.get("fingerprint") is not False)
        settings = {field.name: getattr(stage, field.name) for field in marked}
    else:
        settings = dict(getattr(stage, "__dict__", {}))
    settings.pop(NO_RESULT, None)
    plain = (*_PLAIN, list, tuple, dict)
    return {name: value for name, value in settings.items() if not name.startswith("_") and isinstance(value, plain)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(inner) for inner in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(inner) for key, inner in value.items())
    return isinstance(value, _PLAIN)


def module_source(obj: Any) -> str | None:
    """Digest of the source of the module that defines a class or function, so that an edited one is a new one."""
    return _source_digest(getattr(obj, "__module__", ""))


def own_source(path: str, obj: Any) -> str:
    """Digest of the source behind `module:object`: of the module, and of that of its class if it is another."""
    module = path.partition(":")[0]
    defined = getattr(obj, "__module__", module)
    own = _source_digest(module) or ""
    return own if defined == module else digest(own, _source_digest(defined))


def _source_digest(module: str) -> str | None:
    source = source_text(module)
    return None if source is None else digest(source)


def corpus_digest(documents: Iterable[Document]) -> str:
    """A digest of names and texts, in their order."""
    whole = hashlib.sha256()
    for document in documents:
        whole.update(text_key(document.doc_id))
        whole.update(text_key(document.text))
    return whole.hexdigest()[:_DIGITS]


def chunks_digest(chunks: Chunks) -> str:
    """A digest of the places of all chunks."""
    whole = hashlib.sha256()
    for column in (chunks.owner, chunks.start, chunks.end):
        whole.update(column.astype("<i8").tobytes())
    return whole.hexdigest()[:_DIGITS]


def texts_digest(keys: Iterable[bytes]) -> str:
    """A digest of texts that are named by their `text_key`."""
    whole = hashlib.sha256()
    for key in keys:
        whole.update(key)
    return whole.hexdigest()[:_DIGITS]
