"""Texts to vectors, by a model of sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.base.arrays import Vectors
from steelyard.base.instances import Instances
from steelyard.models.local import ModelName, check_finite, failing_as, load_model


@dataclass(eq=False)
class Encoder:
    """Vectors of length 1; threads that ask at once have an instance each.

    model        see `ModelName`
    batch_size   texts at a time
    device       "cpu", "cuda", "mps"; None lets torch choose
    max_length   longest text in the model's tokens, cut behind it; None is the model's own
    """

    model: ModelName
    batch_size: int = 32
    device: str | None = None
    max_length: int | None = None
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
