"""Question and text looked at together: a reranker that needs no model, and the check of what any reranker gives."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import StageError
from steelyard.base.limits import between
from steelyard.base.settings import check_fields
from steelyard.rag.registry import stage
from steelyard.rag.stages import Reranker
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
