"""Question and text looked at together: by words or by a cross-encoder; and the check of what any reranker gives."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError, StageError
from steelyard.base.instances import Instances
from steelyard.base.limits import at_least, between
from steelyard.base.settings import check_fields
from steelyard.rag.protocols import Reranker
from steelyard.rag.registry import stage
from steelyard.services.models.local import ModelName, check_finite, check_model, failing_as, identity_of, load_model
from steelyard.text.tokens import Accents, Chinese, Simplify, Stem, Tokenizer, tokenizer_of

_REMEMBERED = 50_000
"""Texts whose tokens are kept at most: the same chunks come again with every question."""


@stage("rerank", "lexical")
@dataclass(frozen=True)
class Lexical:
    """Share of the question's words, and of its pairs of neighbouring words, that occur in the text.

    score = (1 - pairs) * share of its distinct words + pairs * share of its distinct pairs of neighbours; a question
    of one word has no pairs, and the words alone count.

    pairs      weight of the pairs, 0 to 1
    chinese, simplify, accents, stem, stopwords   see `Tokenizer`; stop words are left out by default, as all words
               count alike here

    A text's score does not depend on the others.  How often a word occurs, and how rare it is, does not count, so this
    helps a ranking that ignores words (LSA on Chinese) more than one that weighs them already (BM25).

    >>> Lexical(stem="none").scores("Weigh the load", ["I weigh my load.", "The load that you weigh", "A whale"])
    [1.0, 0.5, 0.0]
    """

    pairs: Annotated[float, between(0, 1)] = 0.5
    chinese: Chinese = "bigrams"
    simplify: Simplify = "characters"
    accents: Accents = "folded"
    stem: Stem = "english"
    stopwords: bool = True
    _tokenizer: Tokenizer = field(init=False, repr=False, compare=False)
    _memory: dict[str, list[str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "_tokenizer", tokenizer_of(self))

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """(n,) one score in [0, 1] a text; all 0 for a question without words."""
        query_tokens = self._tokenizer.tokens(query)
        words, pairs = set(query_tokens), _neighbours(query_tokens)
        token_lists = self._tokens(texts)
        shares = [_share(words, set(tokens)) for tokens in token_lists]
        if not pairs:
            return shares
        return [
            (1 - self.pairs) * share + self.pairs * _share(pairs, _neighbours(tokens))
            for share, tokens in zip(shares, token_lists, strict=True)
        ]

    def _tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """The tokens of each text; those of texts that were met before are remembered."""
        # A copy of its own: another thread may clear the memory between a look and the next.
        tokens = {text: stored for text in texts if (stored := self._memory.get(text)) is not None}
        new = list(dict.fromkeys(text for text in texts if text not in tokens))
        tokens.update(zip(new, self._tokenizer.many(new), strict=True))
        if len(self._memory) > _REMEMBERED:
            self._memory.clear()
        self._memory.update((text, tokens[text]) for text in new)
        return [tokens[text] for text in texts]


def _neighbours(tokens: Sequence[str]) -> set[tuple[str, str]]:
    return set(pairwise(tokens))


def _share(wanted: Set[object], present: Set[object]) -> float:
    return len(wanted & present) / len(wanted) if wanted else 0.0


def checked_scores(reranker: Reranker, query: str, texts: Sequence[str]) -> Floats:
    """(n,) what a reranker gives, where it gives one finite score a text; no text asks nothing of it.

    Raises   StageError saying how many scores came, or which of them is no finite number; and whatever the reranker
             raises itself.
    """
    if not len(texts):
        return np.empty(0, np.float64)
    return check_scores(type(reranker).__name__, reranker.scores(query, texts), len(texts))


def check_scores(name: str, answer: object, n: int) -> Floats:
    """(n,) scores, one finite number a text.

    name     of the reranker, for messages
    Raises   StageError as `checked_scores` does.
    """
    try:
        scores = np.asarray(answer, np.float64)
    except (TypeError, ValueError) as error:
        raise StageError(f"reranker {name} gave something else than numbers ({error}); expected one a text") from error
    if scores.shape != (n,):
        got = f"{len(scores)} scores" if scores.ndim == 1 else f"scores of shape {scores.shape}"
        raise StageError(f"reranker {name} gave {got} for {n} texts; expected one a text")
    odd = np.flatnonzero(~np.isfinite(scores))
    if len(odd):
        raise StageError(
            f"reranker {name} gave {scores[odd[0]]} for text {odd[0] + 1} of {n}"
            + (f", and {len(odd) - 1} more such" if len(odd) > 1 else "")
            + "; expected finite scores"
        )
    return scores


_UNLIMITED = 1_000_000
"""Tokens from which on a limit is none: tokenizers without one say 10**30."""


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
        """The identity of the model, wherever its folder lies: see `identity_of`."""
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
