"""Vectors of questions while a run goes on: from the cache, and into it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from steelyard.base.arrays import Vectors
from steelyard.rag.preparing import BATCH
from steelyard.rag.stage_cache import StageCache
from steelyard.services.cache import text_key


class QueryVector(NamedTuple):
    """The vector of a question, and the milliseconds that it took when it was computed."""

    vector: Vectors
    ms: float


class QueryVectors:
    """Vectors of some questions, those that are new written to a cache in batches; several threads may share it."""

    def __init__(self, cache: StageCache, key: str, width: int, queries: Sequence[str]) -> None:
        self._cache, self._key, self._lock = cache, key, threading.Lock()
        self._new: dict[bytes, QueryVector] = {}
        texts = {text_key(query): query for query in queries}
        self._vectors = {
            texts[text]: QueryVector(*stored)
            for text, stored in cache.vectors(key, "query", list(texts)).items()
            if len(stored[0]) == width
        }

    def get(self, query: str) -> QueryVector | None:
        """The vector of a question that was embedded before."""
        return self._vectors.get(query)

    def add(self, query: str, vector: QueryVector) -> None:
        """Keep the vector of a question."""
        with self._lock:
            self._vectors[query] = self._new[text_key(query)] = vector
            if len(self._new) >= BATCH:
                self._write()

    def flush(self) -> None:
        """Write what is not in the cache yet."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        self._cache.put_vectors(self._key, "query", self._new)
        self._new = {}
