"""Vectors of texts: by latent semantic analysis of the corpus itself, by a model on this machine, or by a service."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Vectors
from steelyard.base.errors import InputError
from steelyard.base.extras import require
from steelyard.base.limits import at_least
from steelyard.base.settings import check_fields
from steelyard.rag.registry import stage
from steelyard.services.models.embeddings import Encoder, OpenAIEmbeddings
from steelyard.services.models.local import check_model, identity_of
from steelyard.text.tokens import Accents, Chinese, Simplify, Stem, Tokenizer, tokenizer_of

_VERSION = b"steelyard-lsa-1\n"
_NOISE = 1e-6
"""What is smaller than this share of the greatest singular value, or of a text's length, is rounding noise: the
direction that it points in is arbitrary."""


@stage("embed", "lsa")
@dataclass(eq=False)
class LSA:
    """TF-IDF, reduced to the directions in which the corpus varies most (truncated singular value decomposition).

    A token's weight in a text is (1 + ln tf) * (1 + ln((1 + n) / (1 + df))), and the text's weights have length 1
    before they are reduced.

    dimensions   at most so many; fewer where the corpus has fewer chunks, tokens or independent directions
    min_df       tokens of fewer chunks are left out
    seed         of the randomised decomposition; the same corpus, settings and libraries give the same bits
    chinese, simplify, accents, stem, stopwords   see `Tokenizer`

    A text without a token of the corpus has the zero vector, whose cosine is 0 with all, and so has one of which the
    reduction leaves nothing; every other has length 1.

    Source   Deerwester et al. 1990; the decomposition is scikit-learn's `randomized_svd` (Halko et al. 2011).
    """

    dimensions: Annotated[int, at_least(1)] = 256
    min_df: Annotated[int, at_least(1)] = 1
    chinese: Chinese = "both"
    simplify: Simplify = "characters"
    accents: Accents = "folded"
    stem: Stem = "english"
    stopwords: bool = False
    seed: Annotated[int, at_least(0)] = 0
    _tokenizer: Tokenizer = field(init=False, repr=False)
    _ids: dict[str, int] | None = field(default=None, init=False, repr=False)
    _idf: Floats = field(init=False, repr=False)
    _directions: npt.NDArray[np.float32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        self._tokenizer = tokenizer_of(self)

    def fit(self, texts: Sequence[str]) -> None:
        """Learn tokens, their weights and the directions from the corpus; a corpus without a token is taken too.

        Raises   MissingExtraError where scikit-learn is not installed.
        """
        extmath = require("sklearn.utils.extmath", extra="rag", what="LSA")
        tokenised = self._tokenizer.many(texts)
        df = Counter(token for tokens in tokenised for token in set(tokens))
        self._ids = {token: i for i, token in enumerate(sorted(t for t, n in df.items() if n >= self.min_df))}
        self._idf = np.array([1 + math.log((1 + len(texts)) / (1 + df[token])) for token in self._ids], np.float64)
        self._directions = np.zeros((len(self._ids), 1), np.float32)
        if not self._ids:
            return
        weights = self._weights(tokenised)
        # One thread: the sums' order, and so the bits, then do not depend on the machine's cores; and threads that
        # wait for cores which others use can make this ten times slower.
        with require("threadpoolctl", extra="rag", what="LSA").threadpool_limits(1, user_api="blas"):
            _, strengths, directions = extmath.randomized_svd(
                weights, min(self.dimensions, *weights.shape), n_iter=5, random_state=self.seed
            )
        strong = strengths > _NOISE * strengths[0]
        self._directions = np.ascontiguousarray(directions[strong].T, np.float32)

    def documents(self, texts: Sequence[str]) -> Vectors:
        """(n, d) one vector a text, whatever the other texts are."""
        return self._vectors(self._tokenizer.many(texts))

    def query(self, text: str) -> Vectors:
        """(d,) the vector of a question: the same as the document's of that text."""
        vector: Vectors = self._vectors([self._tokenizer.tokens(text)])[0]
        return vector

    def state(self) -> bytes:
        """Tokens, their weights and the directions, with the settings that they were learnt under."""
        ids = self._fitted()
        out = BytesIO()
        out.write(_VERSION)
        heading = json.dumps([self._settings(), list(ids)], ensure_ascii=False, separators=(",", ":"))
        for array in (np.frombuffer(heading.encode(), np.uint8), self._idf, self._directions):
            np.save(out, array, allow_pickle=False)
        return out.getvalue()

    def restore(self, state: bytes) -> None:
        """Be as if fitted: vectors are the same, bit by bit.

        Raises   ValueError for a state of another version, of other settings, or that is damaged.
        """
        if not state.startswith(_VERSION):
            raise ValueError(f"not a state of {_VERSION.decode().strip()}: begins with {state[: len(_VERSION)]!r}")
        stream = BytesIO(state[len(_VERSION) :])
        try:
            heading, idf, directions = (np.load(stream, allow_pickle=False) for _ in range(3))
            settings, tokens = json.loads(heading.tobytes())
        except (EOFError, OSError, TypeError) as error:
            raise ValueError(f"the state is damaged: {error}") from error
        if settings != self._settings():
            raise ValueError(f"the state was learnt with {settings}, these settings are {self._settings()}")
        if not (len(tokens) == len(idf) == len(directions)):
            raise ValueError(f"the state is damaged: {len(tokens)} tokens, {len(idf)} weights, {len(directions)} rows")
        self._ids = {token: i for i, token in enumerate(tokens)}
        self._idf, self._directions = idf, directions

    def _settings(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}

    def _fitted(self) -> dict[str, int]:
        if self._ids is None:
            raise InputError("embed lsa: has learnt nothing yet; call fit (or restore) first")
        return self._ids

    def _vectors(self, tokenised: Sequence[Sequence[str]]) -> Vectors:
        # Both factors of one type: scipy would else convert all directions again for every question.
        reduced = np.asarray(self._weights(tokenised).astype(np.float32) @ self._directions, np.float64)
        lengths = np.sqrt((reduced * reduced).sum(axis=1, keepdims=True))
        unit = np.divide(reduced, lengths, out=np.zeros_like(reduced), where=lengths > _NOISE)
        return np.asarray(unit, np.float32)

    def _weights(self, tokenised: Sequence[Sequence[str]]) -> Any:
        """(n, tokens) sparse: each text's TF-IDF, of length 1 where it has a token of the corpus."""
        ids = self._fitted()
        counts = [Counter(ids[token] for token in tokens if token in ids) for tokens in tokenised]
        columns = np.array([i for count in counts for i in sorted(count)], np.int32)
        tf = np.array([count[i] for count in counts for i in sorted(count)], np.float64)
        starts = np.concatenate([[0], np.cumsum([len(count) for count in counts], dtype=np.int64)])
        values = (1 + np.log(tf)) * self._idf[columns]
        rows = np.repeat(np.arange(len(counts)), np.diff(starts))
        squares = np.bincount(rows, values * values, minlength=len(counts))
        sparse = require("scipy.sparse", extra="rag", what="LSA")
        return sparse.csr_array((values / np.sqrt(squares[rows]), columns, starts), shape=(len(counts), len(ids)))


@stage("embed", "sentence-transformers")
@dataclass(eq=False)
class SentenceTransformerEmbedder(Encoder):
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

    query_prefix: str = ""
    document_prefix: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        super().__post_init__()
        check_model("embed sentence-transformers", self.model)

    def fit(self, texts: Sequence[str]) -> None:
        """Learn nothing; load the model, so that one which cannot be loaded raises before any work is done.

        Raises   InputError where it cannot be loaded.
        """
        self.load()

    def documents(self, texts: Sequence[str]) -> Vectors:
        """(n, d) one vector a text.

        Raises   InputError where the model cannot be loaded; StageError where it fails or gives NaN.
        """
        return self.vectors([self.document_prefix + text for text in texts])

    def query(self, text: str) -> Vectors:
        """(d,) the vector of a question; raises as `documents` does."""
        vector: Vectors = self.vectors([self.query_prefix + text])[0]
        return vector

    def identity(self) -> str:
        """The identity of the model, wherever its folder lies: see `identity_of`."""
        return identity_of(self.model)


@stage("embed", "openai")
@dataclass(frozen=True, kw_only=True)
class OpenAIEmbedder(OpenAIEmbeddings):
    """Vectors from an OpenAI-compatible /embeddings.

    batch_size                       texts in one request
    dimensions                       asked for, where the model can be shortened; None for its own number
    query_prefix, document_prefix    put before each text, where a model wants "query: " and "passage: "
    Raises   InputError for settings out of range or a key that is not set.
    """

    query_prefix: str = ""
    document_prefix: str = ""

    def fit(self, texts: Sequence[str]) -> None:
        """Nothing to learn."""

    def documents(self, texts: Sequence[str]) -> Vectors:
        """(n, d) one vector a text; see `OpenAIEmbeddings.vectors`."""
        return self.vectors([self.document_prefix + text for text in texts])

    def query(self, text: str) -> Vectors:
        """(d,) the vector of a question; raises as `documents` does."""
        vector: Vectors = self.vectors([self.query_prefix + text])[0]
        return vector
