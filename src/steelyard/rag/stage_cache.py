"""Chunks, vectors and states of embedders as entries of the cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from steelyard.base.arrays import Ints, Vectors
from steelyard.services.cache import NoCache, Store

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
        return {key: spans for key, (spans, _) in self._store.get(f"spans {chunker}", texts, _decode_spans).items()}

    def put_spans(self, chunker: str, spans: Mapping[bytes, Ints]) -> None:
        """Keep chunks."""
        entries = {key: (np.asarray(of_text, "<i8").tobytes(), None) for key, of_text in spans.items()}
        self._store.put(f"spans {chunker}", entries)

    def vectors(self, embedder: str, kind: TextKind, texts: Sequence[bytes]) -> dict[bytes, tuple[Vectors, float]]:
        """(d,) vectors of those texts that were embedded before, and the milliseconds that each took."""
        return self._store.get(f"{kind} vectors {embedder}", texts, _decode_vector)

    def put_vectors(self, embedder: str, kind: TextKind, vectors: Mapping[bytes, tuple[Vectors, float]]) -> None:
        """Keep vectors."""
        entries = {key: (np.asarray(vector, "<f4").tobytes(), ms) for key, (vector, ms) in vectors.items()}
        self._store.put(f"{kind} vectors {embedder}", entries)

    def state(self, embedder: str) -> bytes | None:
        """What an embedder learnt from its corpus."""
        states = self._store.get(f"state {embedder}", [_STATE], bytes)
        return states[_STATE][0] if states else None

    def put_state(self, embedder: str, state: bytes) -> None:
        """Keep what it learnt."""
        self._store.put(f"state {embedder}", {_STATE: (state, None)})


def _decode_spans(value: bytes) -> Ints:
    return np.frombuffer(value, "<i8").astype(np.int64).reshape(-1, 2)


def _decode_vector(value: bytes) -> Vectors:
    return np.frombuffer(value, "<f4").astype(np.float32)
