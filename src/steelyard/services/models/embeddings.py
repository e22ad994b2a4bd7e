"""Texts to vectors, by an OpenAI-compatible /embeddings or by a model of sentence-transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from steelyard.base.arrays import Vectors
from steelyard.base.instances import Instances
from steelyard.base.limits import at_least
from steelyard.services.models.endpoints import OpenAIEndpoint, in_order, list_at, outline
from steelyard.services.models.local import ModelName, check_finite, failing_as, load_model


@dataclass(frozen=True, kw_only=True)
class OpenAIEmbeddings(OpenAIEndpoint):
    """Vectors from an OpenAI-compatible /embeddings.

    batch_size   texts in one request
    dimensions   asked for, where the model can be shortened; None for its own number
    Raises       InputError for settings out of range or a key that is not set.
    """

    batch_size: Annotated[int, at_least(1)] = 64
    dimensions: Annotated[int, at_least(1)] | None = None

    def _address(self) -> tuple[str, str]:
        return "embedding", f"{self.base_url.rstrip('/')}/embeddings"

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """(n, d) vectors of length 1; (0, dimensions or 0) without texts.

        Raises   StageError when the endpoint fails (`steelyard.services.http.client.Patience`), or answers another
                 number of vectors, positions that are not those of the texts, vectors of different length, NaN or all
                 zeros.
        """
        batches = [list(texts[i : i + self.batch_size]) for i in range(0, len(texts), self.batch_size)]
        vectors = [self._batch(batch) for batch in batches]
        widths = sorted({batch.shape[1] for batch in vectors})
        if len(widths) > 1:
            raise self._service.error(f"answered vectors of {widths} numbers", "use a server that holds one model")
        return np.concatenate(vectors) if vectors else np.empty((0, self.dimensions or 0), np.float32)

    def _batch(self, texts: list[str]) -> Vectors:
        body: dict[str, Any] = {"model": self.model, "input": texts, "encoding_format": "float"}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        answer = self._service.request("POST", body=body)
        items = list_at(answer, "data")
        if items is None:
            raise self._service.error(f"answered {outline(answer)}, without a list 'data'", "check base_url")
        if all(isinstance(item, Mapping) and item.get("index") is None for item in items):
            items = [{**item, "index": i} for i, item in enumerate(items)]  # Some servers only keep the order.
        ordered = in_order(self._service, items, len(texts), "vectors", "embedding")
        return self._normalised(ordered)

    def _normalised(self, rows: list[Any]) -> Vectors:
        try:
            raw = np.array(rows)
        except ValueError:
            raw = np.array(None)
        if raw.ndim != 2 or raw.dtype.kind not in "fiu" or raw.shape[1] == 0:
            lengths = sorted({len(row) for row in rows if isinstance(row, list)})
            fact = f"answered vectors that are not lists of equally many numbers (lengths: {lengths})"
            raise self._service.error(fact, "check that model is an embedding model")
        if self.dimensions is not None and raw.shape[1] != self.dimensions:
            fact = f"answered vectors of {raw.shape[1]} numbers, not {self.dimensions}"
            raise self._service.error(fact, "leave dimensions out: this server or model does not know it")
        vectors = raw.astype(np.float64)
        largest = np.abs(vectors).max(axis=1, keepdims=True)
        if not np.isfinite(largest).all():
            raise self._service.error("answered a vector with NaN or infinity", "look into the server's log")
        if (largest == 0).any():
            raise self._service.error("answered a vector of zeros, which has no direction", "look for empty texts")
        vectors /= largest  # Squares of what is left neither overflow nor vanish.
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype(np.float32)


@dataclass(eq=False)
class Encoder:
    """Vectors of length 1; threads that ask at once have an instance each.

    model        see `ModelName`
    batch_size   texts at a time
    device       "cpu", "cuda", "mps"; None lets torch choose
    max_length   longest text in the model's tokens, cut behind it; None is the model's own
    """

    model: ModelName
    batch_size: Annotated[int, at_least(1)] = 32
    device: str | None = None
    max_length: Annotated[int, at_least(1)] | None = None
    _models: Instances[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._models = Instances(self._load)

    def load(self) -> None:
        """Have an instance, so that a model which cannot be loaded raises before any work is done.

        Raises   InputError where it cannot be loaded.
        """
        with self._models.borrowed():
            pass

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """(n, d) one vector a text.

        Raises   InputError where the model cannot be loaded; StageError where it fails or gives NaN.
        """
        with self._models.borrowed() as model:
            return self._encoded(model, texts)

    def _load(self) -> Any:
        model = load_model("SentenceTransformer", self.model, who="the embedder", device=self.device)
        if self.max_length is not None:
            model.max_seq_length = self.max_length
        return model

    def _encoded(self, model: Any, texts: Sequence[str]) -> Vectors:
        if not len(texts):
            return np.empty((0, model.encode(["."], show_progress_bar=False).shape[1]), np.float32)
        with failing_as(f"embedder {self.model}"):
            vectors = model.encode(
                list(texts),
                batch_size=self.batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        check_finite(f"embedder {self.model}", vectors)
        return np.ascontiguousarray(vectors, np.float32)
