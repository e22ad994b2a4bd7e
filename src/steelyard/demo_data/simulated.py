"""A reranker for the example that computes nothing: it looks up the gold of a question, adds noise, and sleeps.

Its quality and its speed are known beforehand, so that what a bench says of it shows whether the bench is right.  No
figure of it says anything about a real reranker.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from statistics import NormalDist
from typing import Annotated

import steelyard as sy
from steelyard.base.errors import StageError
from steelyard.base.limits import at_least
from steelyard.base.settings import check_fields
from steelyard.rag.fingerprint import digest
from steelyard.text.folding import fold

_HASH_BITS = 53
_folded = lru_cache(maxsize=50_000)(fold)  # The same texts come again with each depth and repetition.


@dataclass(frozen=True)
class SimulatedReranker:
    """Scores by the gold: gain / highest gain + noise * z, where z is normal, and the same for the same text.

    truth        questions with quotes as evidence: a text that holds a quote has its gain
    noise        0 is a perfect reranker; with 1, a text of the highest gain beats one without gain in Φ(1/√2) = 76% of
                 the cases
    fixed_ms     that a question takes;   ms_per_text   that each text takes more: it sleeps so long
    seed         of the noise
    """

    truth: str
    noise: Annotated[float, at_least(0)] = 0.0
    fixed_ms: Annotated[float, at_least(0)] = 0.0
    ms_per_text: Annotated[float, at_least(0)] = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """(n,) one score a text.

        Raises   InputError for a truth that cannot be read; StageError for a question that the truth does not have.
        """
        ends = time.perf_counter() + (self.fixed_ms + self.ms_per_text * len(texts)) / 1000
        question = fold(query)
        quotes = self._quotes.get(question)
        if quotes is None:
            raise StageError(f"the simulated reranker has no question {query[:60]!r} in {self.truth}")
        gains = [max((gain for quote, gain in quotes if quote in _folded(text)), default=0.0) for text in texts]
        scores = [gain + self.noise * self._z(question, text) for gain, text in zip(gains, texts, strict=True)]
        time.sleep(max(0.0, ends - time.perf_counter()))
        return scores

    def identity(self) -> str:
        """The digest of the truth."""
        return digest(*sorted(self._quotes.items()))

    @cached_property
    def _quotes(self) -> Mapping[str, Sequence[tuple[str, float]]]:
        """The quotes that are relevant to each question, with gains from 0 to 1; all texts folded."""
        questions = sy.Questions.read(self.truth)
        highest = max((piece.gain for question in questions for piece in question.evidence), default=1.0)
        return {
            fold(question.query or ""): [(fold(piece.text), piece.gain / highest) for piece in question.evidence]
            for question in questions
        }

    def _z(self, query: str, text: str) -> float:
        """A draw from the normal distribution that only seed, question and text decide."""
        drawn = blake2b(f"{self.seed}\0{query}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        share = (int.from_bytes(drawn) >> (64 - _HASH_BITS)) + 0.5
        return NormalDist().inv_cdf(share / 2**_HASH_BITS)
