"""A reranker for tests and demonstrations that computes nothing: it looks up the truth, adds noise, and sleeps.

Its quality and its speed are known beforehand, so that what a bench says of it shows whether the bench is right.  No
figure of it says anything about a real reranker.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from statistics import NormalDist
from typing import Annotated

from steelyard.base.errors import InputError, StageError
from steelyard.base.limits import at_least
from steelyard.base.settings import check_fields
from steelyard.data.question import Question
from steelyard.data.truth import Truth
from steelyard.experiment.opening import Inputs, open_inputs
from steelyard.rag.fingerprint import digest
from steelyard.text.folding import fold

_NORMAL = NormalDist()
_HASH_BITS = 53


@dataclass(frozen=True)
class SimulatedReranker:
    """Scores by the truth: gain / highest gain + noise * z, where z is normal, and the same for the same text.

    truth        judged documents, or questions with their evidence: a text that holds a quote has its gain
    documents    texts of the documents that the truth names by id; not needed for quotes, nor for a folder of BEIR's
    queries      what is asked, where the truth does not say
    noise        0 is a perfect reranker; with 1, a text of the highest gain beats one without gain in Φ(1/√2) = 76% of
                 the cases
    fixed_ms     that a question takes;   ms_per_text   that each text takes more: it sleeps so long
    seed         of the noise
    """

    truth: str
    documents: str | None = None
    queries: str | None = None
    noise: Annotated[float, at_least(0)] = 0.0
    fixed_ms: Annotated[float, at_least(0)] = 0.0
    ms_per_text: Annotated[float, at_least(0)] = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """(n,) one score a text.

        Raises   InputError for a truth that cannot be read, or has no text for what is relevant; StageError for a
                 question that the truth does not have.
        """
        ends = time.perf_counter() + (self.fixed_ms + self.ms_per_text * len(texts)) / 1000
        question = fold(query)
        gold = self._gold.get(question)
        if gold is None:
            raise StageError(f"the simulated reranker has no question {query[:60]!r} in {self.truth}")
        scores = [gold.gain(text) + self.noise * self._z(question, text) for text in texts]
        time.sleep(max(0.0, ends - time.perf_counter()))
        return scores

    def identity(self) -> str:
        """The digest of the truth."""
        return digest(*sorted((query, sorted(gold.texts.items()), gold.quotes) for query, gold in self._gold.items()))

    @cached_property
    def _gold(self) -> Mapping[str, _Gold]:
        """What is relevant to each question, by the question, folded."""
        return _read_gold(self.truth, self.documents, self.queries)

    def _z(self, query: str, text: str) -> float:
        """A draw from the normal distribution that only seed, question and text decide."""
        drawn = blake2b(f"{self.seed}\0{query}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        share = (int.from_bytes(drawn) >> (64 - _HASH_BITS)) + 0.5
        return _NORMAL.inv_cdf(share / 2**_HASH_BITS)


@lru_cache(maxsize=50_000)
def _folded(text: str) -> str:
    """Folded once: the same texts come again with each depth and repetition."""
    return fold(text)


@dataclass(frozen=True)
class _Gold:
    """What is relevant to a question, with gains from 0 to 1.

    texts   whole texts, folded;   quotes   that make a text relevant which holds them, folded
    """

    texts: Mapping[str, float]
    quotes: Sequence[tuple[str, float]]

    def gain(self, text: str) -> float:
        folded = _folded(text)
        held = (gain for quote, gain in self.quotes if quote in folded)
        return max(self.texts.get(folded, 0.0), max(held, default=0.0))


def _read_gold(truth: str, documents: str | None, queries: str | None) -> dict[str, _Gold]:
    inputs = open_inputs(truth, {"none": {}}, on_duplicate="max", corpus=documents, queries=queries)
    by_id, quotes = _of_truth(inputs.gold) if isinstance(inputs.gold, Truth) else _of_questions(inputs)
    asked = {query_id: question.query for query_id in by_id if (question := inputs.questions.get(query_id))}
    if not any(asked.values()):
        raise InputError(f"{truth}: says what is asked in no question; name a file that does: queries")
    gains = [
        *(gain for named in by_id.values() for gain in named.values()),
        *(g for q in quotes.values() for _, g in q),
    ]
    highest = max(gains, default=0.0)
    texts = inputs.texts({doc for named in by_id.values() for doc, gain in named.items() if gain > 0})
    if highest <= 0 or not (texts or quotes):
        raise InputError(f"{truth}: has no text of anything that is relevant; name the documents: documents")
    return {
        fold(query): _Gold(
            {fold(texts[doc]): gain / highest for doc, gain in by_id[query_id].items() if gain > 0 and doc in texts},
            [(quote, gain / highest) for quote, gain in quotes.get(query_id, [])],
        )
        for query_id, query in asked.items()
        if query
    }


_ById = dict[str, dict[str, float]]
_Quotes = dict[str, list[tuple[str, float]]]


def _of_truth(truth: Truth) -> tuple[_ById, _Quotes]:
    return dict(zip(truth.query_ids, truth.labels, strict=True)), {}


def _of_questions(inputs: Inputs) -> tuple[_ById, _Quotes]:
    assert not isinstance(inputs.gold, Truth)
    questions = list(inputs.gold)
    docs = {piece.doc for question in questions for piece in question.evidence if piece.kind == "span"}
    texts = inputs.texts(docs) if docs else {}
    by_id = {question.query_id: dict(_named(question)) for question in questions}
    return by_id, {question.query_id: list(_quoted(question, texts)) for question in questions}


def _named(question: Question) -> Iterable[tuple[str, float]]:
    """Chunks and documents that are relevant as wholes, with their gains."""
    yield from question.labels_by_id.items()
    yield from ((piece.doc, piece.gain) for piece in question.evidence if piece.kind == "document")


def _quoted(question: Question, texts: Mapping[str, str]) -> Iterable[tuple[str, float]]:
    """Passages that are relevant, folded, with their gains."""
    for piece in question.evidence:
        passage = texts.get(piece.doc, "")[piece.start : piece.end] if piece.kind == "span" else piece.text
        if piece.gain > 0 and (folded := fold(passage)):
            yield folded, piece.gain
