"""What comes before the first question: documents are loaded, cut into chunks, and these embedded, each thing once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from steelyard._version import __version__
from steelyard.base.arrays import Ints, Vectors
from steelyard.base.errors import InputError, StageError, SteelyardError, describe_exception
from steelyard.data.corpus import Chunks, Document
from steelyard.data.loading import load
from steelyard.rag.chunking import as_chunker
from steelyard.rag.fingerprint import Description, digest, texts_digest
from steelyard.rag.stage_cache import StageCache
from steelyard.rag.stages import Embedder, FittedEmbedder
from steelyard.rag.system import Progress
from steelyard.services.cache import text_key

Given = str | Path | Sequence[Document] | Mapping[str, str]
Note = Callable[[str], None]
BATCH = 64
"""Texts that are embedded, and then kept, at once: what an interruption may cost."""
_NAMES_SHOWN = 3


@contextmanager
def telling(what: str) -> Iterator[None]:
    """Any error that a stage raises, as ours: its type, its message, and the line where it arose.

    Raises   StageError.
    """
    try:
        yield
    except SteelyardError:
        raise
    except Exception as error:
        raise StageError(f"{what} raised {describe_exception(error)}; mend it, then run again") from error


def loaded(given: Given, encoding: str, note: Note, tell: Progress) -> Sequence[Document]:
    """Documents of a path, or as they are given; what was skipped or is empty is noted.

    Raises   InputError for documents that cannot be read, or two of one name.
    """
    tell("load", 0, 1)
    if isinstance(given, str | Path):
        found = load(given, encoding=encoding)
        documents: Sequence[Document] = found.documents
        if found.skipped:
            note(_counted([str(name) for name in found.skipped], "file was skipped", "files were skipped"))
    elif isinstance(given, Mapping):
        documents = [Document(str(doc_id), text) for doc_id, text in given.items()]
    else:
        documents = list(given)
    seen: set[str] = set()
    for document in documents:
        if document.doc_id in seen:
            raise InputError(f"two documents are called {document.doc_id!r}; rename one")
        seen.add(document.doc_id)
    empty = [document.doc_id for document in documents if not document.text]
    if empty:
        note(_counted(empty, "document is empty", "documents are empty"))
    tell("load", 1, 1)
    return documents


def chunked(
    documents: Sequence[Document], chunker: object, described: Description, cache: StageCache, note: Note,
    tell: Progress,
) -> Chunks:  # fmt: skip
    """All chunks; those of texts that were cut before come from the cache.

    Raises   InputError for spans that are no spans of their text, and where no document gives a chunk.
    """
    key, cut = digest(described.digest, __version__), as_chunker(chunker)
    store = cache if described.complete else StageCache()
    names = [text_key(document.text) for document in documents]
    known = store.spans(key, names)
    new: dict[bytes, Ints] = {}
    try:
        for done, (name, document) in enumerate(zip(names, documents, strict=True)):
            if done % BATCH == 0:
                tell("chunk", done, len(documents))
            if name not in known:
                known[name] = new[name] = _checked_spans(cut.spans(document.text), document)
    finally:
        store.put_spans(key, new)
    tell("chunk", len(documents), len(documents))
    flat = np.concatenate([np.empty((0, 2), np.int64), *(known[name] for name in names)])
    if not len(flat):
        raise InputError(
            f"no chunk could be made of {_counted([d.doc_id for d in documents], 'document', 'documents')}; "
            "expected some text"
        )
    blank = [d.doc_id for d, name in zip(documents, names, strict=True) if d.text and not len(known[name])]
    if blank:
        note(_counted(blank, "document gave no chunk", "documents gave no chunk"))
    owner = np.repeat(np.arange(len(documents)), [len(known[name]) for name in names])
    return Chunks(documents, owner, flat[:, 0], flat[:, 1])


def embedded(
    texts: Sequence[str], embedder: Embedder, described: Description, cache: StageCache, tell: Progress
) -> tuple[Vectors, str]:  # fmt: skip
    """(n, d) vectors of all chunks, and the key under which the cache has them.

    A text that stands there several times is embedded once, one that the cache has not at all.
    Raises   StageError where the embedder fails or gives something else than finite vectors of one length; what it
             gave before is in the cache.
    """
    names = [text_key(text) for text in texts]
    store, key = cache if described.complete else StageCache(), described.digest
    if isinstance(embedder, FittedEmbedder):
        key = digest(key, texts_digest(names), __version__)
        _fit(embedder, texts, store, key, tell)
    else:
        embedder.fit(texts)
    known = {name: vector for name, (vector, _) in store.vectors(key, "document", names).items()}
    missing = iter({name: text for name, text in zip(names, texts, strict=True) if name not in known}.items())
    total = len(set(names))
    tell("embed", len(known), total)
    # An embedder that sends smaller batches may fail between them; what it has done by then is kept.
    size = min(BATCH, getattr(embedder, "batch_size", BATCH))
    while batch := list(islice(missing, size)):
        start = perf_counter()
        vectors = _checked_vectors(embedder.documents([text for _, text in batch]), len(batch))
        ms = (perf_counter() - start) * 1000 / len(batch)
        new = {name: vector for (name, _), vector in zip(batch, vectors, strict=True)}
        store.put_vectors(key, "document", {name: (vector, ms) for name, vector in new.items()})
        known |= new
        tell("embed", len(known), total)
    widths = sorted({len(vector) for vector in known.values()})
    if len(widths) > 1:
        raise StageError(
            f"embed: vectors have {' and '.join(map(str, widths))} numbers; has the model behind the name changed? "
            "Delete the cache, or choose another"
        )
    return np.stack([known[name] for name in names]), key


def checked_query(given: Any, width: int) -> Vectors:
    """The vector of a question, before anybody keeps it.

    Raises   StageError where it is not as long as those of the chunks, or not finite.
    """
    vector = np.asarray(given, np.float32)
    if vector.shape != (width,) or not np.isfinite(vector).all():
        raise StageError(
            f"embed: gave a question an array of shape {vector.shape}; expected {width} finite numbers, as of chunks; "
            "look whether one model answers for both"
        )
    return vector


def _fit(embedder: FittedEmbedder, texts: Sequence[str], store: StageCache, key: str, tell: Progress) -> None:
    """Have an embedder learn from the corpus, or remember what it learnt."""
    tell("fit", 0, 1)
    state = store.state(key)
    if state is not None:
        try:
            embedder.restore(state)
        except ValueError:
            state = None
    if state is None:
        embedder.fit(texts)
        store.put_state(key, embedder.state())
    tell("fit", 1, 1)


def _checked_spans(spans: Iterable[tuple[int, int]], document: Document) -> Ints:
    made = np.array([tuple(span) for span in spans], np.int64).reshape(-1, 2)
    start, end = made[:, 0], made[:, 1]
    bad = (start < 0) | (end <= start) | (end > len(document.text))
    bad[1:] |= start[1:] < start[:-1]
    if bad.any():
        span = tuple(made[np.flatnonzero(bad)[0]].tolist())
        raise InputError(
            f"document {document.doc_id!r}: the chunker gave the span {span}; expected 0 <= start < end <= "
            f"{len(document.text)}, ascending by start"
        )
    return made


def _checked_vectors(given: Any, n: int) -> Vectors:
    vectors = np.asarray(given, np.float32)
    if vectors.ndim != 2 or len(vectors) != n or not np.isfinite(vectors).all():
        raise StageError(
            f"embed: gave an array of shape {vectors.shape} for {n} texts; expected one row of finite numbers a text"
        )
    return vectors


def _counted(names: Sequence[str], one: str, several: str) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
    return f"{len(names)} {one if len(names) == 1 else several}{': ' + shown if shown else ''}"
