"""What comes before the first question: documents are loaded, cut into chunks, and these embedded, each thing once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from steelyard._version import __version__
from steelyard.base.arrays import Ints, Vectors
from steelyard.base.errors import InputError, StageError, SteelyardError, describe_exception
from steelyard.base.notes import Note
from steelyard.base.progress import Progress
from steelyard.data.corpus import Chunks, Document
from steelyard.data.loading import load
from steelyard.data.run_folder import find_run_folder
from steelyard.io import formats
from steelyard.io.source import Source
from steelyard.rag.chunking import as_chunker
from steelyard.rag.fingerprint import Description, digest, texts_digest
from steelyard.rag.stage_cache import StageCache
from steelyard.rag.stages import Embedder, FittedEmbedder
from steelyard.rag.workers import results_of
from steelyard.services.cache import text_key

Documents = str | Path | Sequence[Document] | Mapping[str, str]
BATCH = 64
"""Texts that are embedded, and then kept, at once: what an interruption may cost."""
_NAMES_SHOWN = 3


@contextmanager
def stage_errors(stage: str) -> Iterator[None]:
    """Any exception of a stage as ours, with its type, its message, and the line where it arose.

    Raises   StageError.
    """
    try:
        yield
    except SteelyardError:
        raise
    except Exception as error:
        raise stage_error(stage, error) from error


def stage_error(stage: str | None, error: Exception) -> StageError:
    """An exception of a stage, None where it is not known of which, as the failure of a question."""
    raised = f"{stage or 'a stage'} raised {describe_exception(error)}; mend it, then run again"
    return StageError(raised, stage=stage)


def load_documents(
    source: Documents, encoding: str | Mapping[str, str], progress: Progress
) -> tuple[Sequence[Document], list[Note]]:  # fmt: skip
    """Documents of a path, or the ones at hand; with notes of files that were skipped and documents that are empty.

    Raises   InputError for documents that cannot be read, or two of one name.
    """
    progress("load", 0, 1)
    notes = []
    if isinstance(source, str | Path):
        loaded = load(source, encoding=encoding)
        documents: Sequence[Document] = loaded.documents
        if loaded.skipped:
            notes.append(_named("files_skipped", [str(name) for name in loaded.skipped]))
        if loaded.encodings:
            names = [f"{path} ({encoding})" for path, encoding in loaded.encodings.items()]
            decoded = _named("files_decoded", names)
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
        notes.append(_named("documents_empty", empty))
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


def cut_documents(
    documents: Sequence[Document], chunker: object, description: Description, cache: StageCache, progress: Progress
) -> tuple[Chunks, list[Note]]:  # fmt: skip
    """All chunks, those of texts that were cut before from the cache; with a note of documents that gave none.

    Raises   InputError for spans that are no spans of their text, and where no document gives a chunk.
    """
    key, cutter = digest(description.digest, __version__), as_chunker(chunker)
    store = cache if description.complete else StageCache()
    text_keys = [text_key(document.text) for document in documents]
    spans = store.spans(key, text_keys)
    new: dict[bytes, Ints] = {}
    try:
        for done, (text, document) in enumerate(zip(text_keys, documents, strict=True)):
            if done % BATCH == 0:
                progress("chunk", done, len(documents))
            if text not in spans:
                spans[text] = new[text] = _check_spans(cutter.spans(document.text), document)
    finally:
        store.put_spans(key, new)
    progress("chunk", len(documents), len(documents))
    flat = np.concatenate([np.empty((0, 2), np.int64), *(spans[text] for text in text_keys)])
    if not len(flat):
        raise InputError(_no_chunk([document.doc_id for document in documents]))
    uncut = [d.doc_id for d, text in zip(documents, text_keys, strict=True) if d.text and not len(spans[text])]
    owner = np.repeat(np.arange(len(documents)), [len(spans[text]) for text in text_keys])
    notes = [_named("documents_without_chunks", uncut)] if uncut else []
    return Chunks(documents, owner, flat[:, 0], flat[:, 1]), notes


def embed_texts(
    texts: Sequence[str], embedder: Embedder, description: Description, cache: StageCache, progress: Progress,
    *, concurrency: int = 1,
) -> tuple[Vectors, str]:  # fmt: skip
    """(n, d) vectors of all chunks, and the key under which the cache has them.

    concurrency   batches that are embedded at once
    A text that occurs several times is embedded once, one that is in the cache not at all.
    Raises   StageError where the embedder fails or gives something else than finite vectors of one length; what it
             gave before is in the cache.
    """
    text_keys = [text_key(text) for text in texts]
    store, key = cache if description.complete else StageCache(), description.digest
    if isinstance(embedder, FittedEmbedder):
        key = digest(key, texts_digest(text_keys), __version__)
        _fit(embedder, texts, store, key, progress)
    else:
        embedder.fit(texts)
    vectors = {text: vector for text, (vector, _) in store.vectors(key, "document", text_keys).items()}
    missing = iter({k: text for k, text in zip(text_keys, texts, strict=True) if k not in vectors}.items())
    total = len(set(text_keys))
    progress("embed", len(vectors), total)
    # An embedder that sends smaller batches may fail between them; what it has done by then is kept.
    size = min(BATCH, getattr(embedder, "batch_size", BATCH))
    batches = iter(lambda: tuple(islice(missing, size)), ())
    embed = partial(_embed_batch, embedder)
    with closing(results_of(embed, batches, concurrency=concurrency)) as results:
        for _, new in results:
            store.put_vectors(key, "document", new)
            vectors |= {text: vector for text, (vector, _) in new.items()}
            progress("embed", len(vectors), total)
    widths = sorted({len(vector) for vector in vectors.values()})
    if len(widths) > 1:
        raise StageError(
            f"embed: vectors have {' and '.join(map(str, widths))} numbers; has the model behind the name changed? "
            "Delete the cache, or choose another"
        )
    return np.stack([vectors[text] for text in text_keys]), key


def _embed_batch(embedder: Embedder, batch: Sequence[tuple[bytes, str]]) -> dict[bytes, tuple[Vectors, float]]:
    """The vector of each text by the text's key, and the milliseconds that it took."""
    start = perf_counter()
    rows = _check_vectors(embedder.documents([text for _, text in batch]), len(batch))
    ms = (perf_counter() - start) * 1000 / len(batch)
    return {text: (vector, ms) for (text, _), vector in zip(batch, rows, strict=True)}


def check_query_vector(vector: Any, width: int) -> Vectors:
    """The vector of a question, before it is used or cached.

    Raises   StageError where it is not as long as those of the chunks, or not finite.
    """
    checked = np.asarray(vector, np.float32)
    if checked.shape != (width,) or not np.isfinite(checked).all():
        raise StageError(
            f"embed: gave a question an array of shape {checked.shape}; expected {width} finite numbers, as of chunks; "
            "check whether one model answers for both"
        )
    return checked


def _fit(embedder: FittedEmbedder, texts: Sequence[str], store: StageCache, key: str, progress: Progress) -> None:
    """Fit an embedder to the corpus, or restore what it learnt before."""
    progress("fit", 0, 1)
    state = store.state(key)
    if state is not None:
        try:
            embedder.restore(state)
        except ValueError:
            state = None
    if state is None:
        embedder.fit(texts)
        store.put_state(key, embedder.state())
    progress("fit", 1, 1)


def _check_spans(spans: Iterable[tuple[int, int]], document: Document) -> Ints:
    table = np.array([tuple(span) for span in spans], np.int64).reshape(-1, 2)
    start, end = table[:, 0], table[:, 1]
    bad = (start < 0) | (end <= start) | (end > len(document.text))
    bad[1:] |= start[1:] < start[:-1]
    if bad.any():
        span = tuple(table[np.flatnonzero(bad)[0]].tolist())
        raise InputError(
            f"document {document.doc_id!r}: the chunker gave the span {span}; expected 0 <= start < end <= "
            f"{len(document.text)}, ascending by start"
        )
    return table


def _check_vectors(vectors: Any, n: int) -> Vectors:
    checked = np.asarray(vectors, np.float32)
    if checked.ndim != 2 or len(checked) != n or not np.isfinite(checked).all():
        raise StageError(
            f"embed: gave an array of shape {checked.shape} for {n} texts; expected one row of finite numbers a text"
        )
    return checked


def _named(code: str, names: Sequence[str]) -> Note:
    """A note of n things, the first of them by name."""
    return Note(code, {"n": len(names), "names": list(names[:_NAMES_SHOWN])})


def _no_chunk(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
    documents = f"{len(names)} document{'' if len(names) == 1 else 's'}{': ' + shown if shown else ''}"
    return f"no chunk could be made of {documents}; expected some text"
