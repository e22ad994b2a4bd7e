"""What comes before the first question: documents are cut into chunks, and these embedded, each thing once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Any, Literal

import numpy as np

from steelyard._version import __version__
from steelyard.base.arrays import Ints, Vectors
from steelyard.base.errors import InputError, StageError, SteelyardError, describe_exception
from steelyard.base.notes import Note
from steelyard.base.progress import Progress
from steelyard.data.corpus import Chunks, Document
from steelyard.rag.concurrency import results_of
from steelyard.rag.fingerprint import Description, digest, texts_digest
from steelyard.rag.loading import first_names, named_note
from steelyard.rag.protocols import Embedder, FittedEmbedder
from steelyard.rag.stages.chunking import as_chunker
from steelyard.services.cache import NoCache, Store, text_key

TextKind = Literal["document", "query"]
_STATE = b""


class StageCache:
    """What stages computed, by their digests and the keys of the texts (`steelyard.services.cache.text_key`).

    store   where it is kept; nothing is remembered without one
    """

    def __init__(self, store: Store | None = None) -> None:
        self._store = NoCache() if store is None else store

    def spans(self, chunker: str, texts: Sequence[bytes]) -> dict[bytes, Ints]:
        """(n, 2) offsets of the chunks of those texts that were cut before."""
        stored = self._store.get(
            f"spans {chunker}", texts, lambda value: np.frombuffer(value, "<i8").astype(np.int64).reshape(-1, 2)
        )
        return {key: spans for key, (spans, _) in stored.items()}

    def put_spans(self, chunker: str, spans: Mapping[bytes, Ints]) -> None:
        """Keep chunks."""
        entries = {key: (np.asarray(of_text, "<i8").tobytes(), None) for key, of_text in spans.items()}
        self._store.put(f"spans {chunker}", entries)

    def vectors(self, embedder: str, kind: TextKind, texts: Sequence[bytes]) -> dict[bytes, tuple[Vectors, float]]:
        """(d,) vectors of those texts that were embedded before, and the milliseconds that each took."""
        return self._store.get(
            f"{kind} vectors {embedder}", texts, lambda value: np.frombuffer(value, "<f4").astype(np.float32)
        )

    def put_vectors(self, embedder: str, kind: TextKind, vectors: Mapping[bytes, tuple[Vectors, float]]) -> None:
        """Keep vectors."""
        entries = {key: (np.asarray(vector, "<f4").tobytes(), ms) for key, (vector, ms) in vectors.items()}
        self._store.put(f"{kind} vectors {embedder}", entries)

    def state(self, embedder: str) -> bytes | None:
        """The state that an embedder learnt from its corpus."""
        states = self._store.get(f"state {embedder}", [_STATE], bytes)
        return states[_STATE][0] if states else None

    def put_state(self, embedder: str, state: bytes) -> None:
        """Keep what it learnt."""
        self._store.put(f"state {embedder}", {_STATE: (state, None)})


BATCH = 64
"""Texts that are embedded, and then kept, at once: what an interruption may cost."""


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


def cut_documents(
    documents: Sequence[Document], chunker: object, *, description: Description, cache: StageCache, progress: Progress
) -> tuple[Chunks, list[Note]]:
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
        names = first_names([document.doc_id for document in documents])
        listed = f"{len(documents)} document{'s' * (len(documents) != 1)}{names and f': {names}'}"
        raise InputError(f"no chunk could be made of {listed}; expected some text")
    uncut = [d.doc_id for d, text in zip(documents, text_keys, strict=True) if d.text and not len(spans[text])]
    owner = np.repeat(np.arange(len(documents)), [len(spans[text]) for text in text_keys])
    notes = [named_note("documents_without_chunks", uncut)] if uncut else []
    return Chunks(documents, owner, flat[:, 0], flat[:, 1]), notes


def embed_texts(
    texts: Sequence[str], embedder: Embedder, *, description: Description, cache: StageCache, progress: Progress,
    concurrency: int = 1,
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
        _fit(embedder, texts, store=store, key=key, progress=progress)
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


def _fit(embedder: FittedEmbedder, texts: Sequence[str], *, store: StageCache, key: str, progress: Progress) -> None:
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
