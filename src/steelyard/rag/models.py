"""Stages by models of sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from steelyard.base.arrays import Vectors
from steelyard.base.errors import InputError
from steelyard.base.instances import Instances
from steelyard.base.limits import at_least
from steelyard.base.settings import check_fields
from steelyard.models.encoder import Encoder
from steelyard.models.local import ModelName, check_finite, check_model, failing_as, identity_of, load_model
from steelyard.rag.registry import stage

_UNLIMITED = 1_000_000
"""Tokens from which on a limit is none: tokenizers without one say 10**30."""


@stage("embed", "sentence-transformers")
@dataclass(eq=False)
class SentenceTransformerEmbedder:
    """Vectors by a model of sentence-transformers, of length 1.

    model        a folder, or a name on the hub, looked for on this machine first; a name with a dot or slash in front,
                 with a backslash or with several slashes, or whose parent folder is there, can only be a folder
    batch_size   texts at a time
    device       "cpu", "cuda", "mps"; None lets torch choose
    query_prefix, document_prefix   put before each question and chunk, for models that were trained so ("query: ")
    max_length   longest text in the model's tokens, cut behind it; None is the model's own

    Threads that ask at once have an instance each.  Texts of one batch are padded to one length, so the last bits of a
    vector may depend on its company.
    """

    model: ModelName
    batch_size: Annotated[int, at_least(1)] = 32
    device: str | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    max_length: Annotated[int, at_least(1)] | None = None
    _encoder: Encoder = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        self._encoder = Encoder(self.model, self.batch_size, device=self.device, max_length=self.max_length)
        check_model("embed sentence-transformers", self.model)

    def fit(self, texts: Sequence[str]) -> None:
        """Learn nothing; load the model, so that one which cannot be loaded raises before any work is done.

        Raises   InputError where it cannot be loaded.
        """
        self._encoder.load()

    def documents(self, texts: Sequence[str]) -> Vectors:
        """(n, d) one vector a text.

        Raises   InputError where the model cannot be loaded; StageError where it fails or gives NaN.
        """
        return self._encoder.vectors([self.document_prefix + text for text in texts])

    def query(self, text: str) -> Vectors:
        """(d,) the vector of a question; raises as `documents` does."""
        vector: Vectors = self._encoder.vectors([self.query_prefix + text])[0]
        return vector

    def identity(self) -> str:
        """What the model is, wherever its folder lies: see `identity_of`."""
        return identity_of(self.model)


@stage("rerank", "cross-encoder")
@dataclass(eq=False)
class CrossEncoderReranker:
    """Scores by a cross-encoder of sentence-transformers, which reads question and text together.

    model        a folder, or a name on the hub, resolved as for `SentenceTransformerEmbedder`
    batch_size   pairs at a time
    max_length   longest pair in the model's tokens, cut behind it, as far as the model has positions; None is the
                 model's own
    device       "cpu", "cuda", "mps"; None lets torch choose

    Scores are on the model's own scale: most squash them to 0..1, some leave them as they are.  Threads
    that ask at once have an instance each.  Its tokens are counted by the model's own tokenizer, without what a prompt
    of the model's own may add.
    """

    model: ModelName
    batch_size: Annotated[int, at_least(1)] = 32
    max_length: Annotated[int, at_least(1)] | None = 512
    device: str | None = None
    _models: Instances[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        self._models = Instances(self._load)
        check_model("rerank cross-encoder", self.model)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """(n,) one finite score a text; higher is better.

        Raises   InputError where the model cannot be loaded, or gives more than one number a pair; StageError where
                 it fails on these texts or gives NaN.
        """
        with self._models.borrowed() as model:
            return self._predicted(model, query, texts) if len(texts) else []

    @property
    def max_tokens(self) -> int | None:
        """Tokens of a pair that the model reads; None where it does not say.

        Raises   InputError as `scores` does.
        """
        with self._models.borrowed() as model:
            limit = int(model.tokenizer.model_max_length)
        return limit if limit < _UNLIMITED else None

    def pair_tokens(self, query: str, texts: Sequence[str]) -> list[int]:
        """(n,) tokens of each pair, with those that the model sets between and around the two, before anything is cut.

        Raises   InputError as `scores` does; StageError where the tokenizer fails.
        """
        if not len(texts):
            return []
        with self._models.borrowed() as model, failing_as(f"tokenizer of {self.model}"):
            ids = model.tokenizer([query] * len(texts), list(texts), truncation=False, verbose=False)["input_ids"]
            return [len(tokens) for tokens in ids]

    def _predicted(self, model: Any, query: str, texts: Sequence[str]) -> list[float]:
        with failing_as(f"reranker {self.model}"):
            pairs = [(query, text) for text in texts]
            scores = model.predict(pairs, batch_size=self.batch_size, show_progress_bar=False, convert_to_numpy=True)
        check_finite(f"reranker {self.model}", scores)
        return [float(score) for score in scores]

    def identity(self) -> str:
        """What the model is, wherever its folder lies: see `identity_of`."""
        return identity_of(self.model)

    def _load(self) -> Any:
        model = load_model("CrossEncoder", self.model, who="the cross-encoder", device=self.device)
        if self.max_length is not None:
            positions = getattr(model.model.config, "max_position_embeddings", None) or self.max_length
            model.tokenizer.model_max_length = min(self.max_length, positions)
        if model.num_labels != 1:
            raise InputError(
                f"reranker {self.model}: gives {model.num_labels} numbers a pair; expected a model with one label"
            )
        return model
