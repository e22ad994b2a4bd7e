"""Stages behind an address: OpenAI-compatible embeddings and chat, and rerankers of the three usual shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from steelyard.base.arrays import Vectors
from steelyard.base.limits import at_least
from steelyard.data.corpus import Passage
from steelyard.models.chat import ChatModel
from steelyard.models.embeddings import OpenAIEmbeddings
from steelyard.models.endpoints import Endpoint, in_order, list_at, mapping_at, outline
from steelyard.rag.generation import build_prompt, prompt_digest, read_template
from steelyard.rag.registry import stage
from steelyard.rag.stages import Reranked, joined
from steelyard.services.addresses import checked_url
from steelyard.services.spending import Usage

Shape = Literal["cohere", "voyage", "tei"]
SHAPES: tuple[Shape, ...] = ("cohere", "voyage", "tei")


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


@stage("rerank", "endpoint")
@stage("rerank", "http")
@dataclass(frozen=True, kw_only=True)
class HTTPReranker(Endpoint):
    """Scores from a /rerank endpoint.

    url          the whole address
    model        its name; None where the server has only one
    shape        how the request and the answer look:
                 "cohere" (also Jina, vLLM): {query, documents, top_n} to {results: [{index, relevance_score}]};
                 "voyage": {query, documents, top_k} to {data: [{index, relevance_score}]};
                 "tei": {query, texts, truncate} to [{index, score}]
    batch_size   texts in one request, for servers with a limit (TEI's is 32); None for all at once
    Raises       InputError for settings out of range or a key that is not set.
    """

    url: str
    model: str | None = None
    shape: Shape = "cohere"
    batch_size: Annotated[int, at_least(1)] | None = None

    def __post_init__(self) -> None:
        checked_url(self.url, "url")
        super().__post_init__()

    def _address(self) -> tuple[str, str]:
        return "rerank", self.url

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One finite score a text, in the order of the texts; none without texts.

        Raises   StageError when the endpoint fails (`steelyard.services.client.Patience`), its answer has another
                 shape, or does not hold each text once with a finite score.
        """
        return self.rerank(query, texts).scores

    def rerank(self, query: str, texts: Sequence[str]) -> Reranked:
        """As `scores`, with the tokens and search units that the server says it counts; raises as `scores` does."""
        size = self.batch_size or max(len(texts), 1)
        return joined([self._rerank(query, list(texts[i : i + size])) for i in range(0, len(texts), size)])

    def _rerank(self, query: str, texts: list[str]) -> Reranked:
        answer = self._service.request("POST", body=self._body(query, texts))
        return Reranked(self._scores(answer, len(texts)), tokens_of(answer), search_units_of(answer))

    def _scores(self, answer: Any, n: int) -> list[float]:
        looks = _shape_of(answer)
        if looks != self.shape:
            hint = f'set shape = "{looks}"' if looks else f"check the address and shape ({', '.join(SHAPES)})"
            looks_like = f"the {looks} shape" if looks else outline(answer)
            raise self._service.error(f"answered {looks_like}, not the {self.shape} shape", hint)
        items = answer if self.shape == "tei" else answer["results" if self.shape == "cohere" else "data"]
        key = "score" if self.shape == "tei" else "relevance_score"
        scores = in_order(self._service, items, n, "scores", key)
        for position, score in enumerate(scores):
            if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
                what = f"answered {outline(score)} as the score of text {position + 1} of {n}"
                raise self._service.error(what, "look into the server's log; a text may be too long for the model")
        return [float(score) for score in scores]

    def _body(self, query: str, texts: list[str]) -> dict[str, Any]:
        model = {} if self.model is None else {"model": self.model}
        if self.shape == "tei":
            return {**model, "query": query, "texts": texts, "truncate": True}
        limit = "top_n" if self.shape == "cohere" else "top_k"
        return {**model, "query": query, "documents": texts, limit: len(texts)}


@stage("generate", "openai")
@dataclass(frozen=True, kw_only=True)
class OpenAIGenerator(ChatModel):
    """Answers from an OpenAI-compatible /chat/completions.

    language      of the prompt: "en", "zh", or "auto" by the question
    prompt        a file to use instead of the bundled prompt (`steelyard.rag.generation.read_template`)
    Raises        InputError for settings out of range, a prompt that cannot be read, or a key that is not set.
    """

    max_tokens: Annotated[int, at_least(1)] | None = 512
    language: Literal["auto", "en", "zh"] = "auto"
    prompt: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.identity()  # A prompt that cannot be read is reported before anything is computed.

    def identity(self) -> str:
        """The digest of the prompt, which is as much a setting as the path to it."""
        return prompt_digest(self.language, template=self._template)

    @cached_property
    def _template(self) -> str | None:
        return None if self.prompt is None else read_template(self.prompt)

    def answer(self, query: str, passages: Sequence[Passage]) -> str:
        """The model's text; one that max_tokens cut is given as it is.

        Raises   StageError when the endpoint fails (`steelyard.services.client.Patience`), or answers no text: no
                 choice, a refusal, a content filter, reasoning alone.
        """
        messages = build_prompt(query, passages, language=self.language, template=self._template)
        return self.ask(messages).text


def _shape_of(answer: Any) -> Shape | None:
    """Which shape an answer has, by its outermost keys."""
    if isinstance(answer, list):
        return "tei" if all(isinstance(item, Mapping) and "score" in item for item in answer) else None
    if list_at(answer, "results") is not None:
        return "cohere"
    return "voyage" if list_at(answer, "data") is not None else None


def tokens_of(answer: Any) -> Usage | None:
    """Tokens that a /rerank endpoint says it took; None where it says nothing of them.

    Jina, Voyage and vLLM count in `usage`, Cohere in `meta.billed_units`, else in `meta.tokens`.

    >>> tokens_of({"usage": {"total_tokens": 16000}}), tokens_of({"meta": {"billed_units": {"search_units": 1}}})
    (Usage(tokens_in=16000, tokens_out=0), None)
    """
    meta = mapping_at(answer, "meta")
    for counts in (mapping_at(answer, "usage"), mapping_at(meta, "billed_units"), mapping_at(meta, "tokens")):
        tokens_out = _count(counts, "completion_tokens", "output_tokens") or 0
        tokens_in = _count(counts, "prompt_tokens", "input_tokens")
        total = _count(counts, "total_tokens")
        if tokens_in is None and total is not None:
            tokens_in = total - tokens_out
        if tokens_in is not None:
            return Usage(int(tokens_in), int(tokens_out))
    return None


def search_units_of(answer: Any) -> float | None:
    """Search units that an endpoint of Cohere's kind says it bills; None where it says nothing of them.

    >>> search_units_of({"meta": {"billed_units": {"search_units": 2}}}), search_units_of([])
    (2.0, None)
    """
    return _count(mapping_at(mapping_at(answer, "meta"), "billed_units"), "search_units")


def _count(counts: Mapping[str, Any], *names: str) -> float | None:
    """The number under the first of some names that holds one; what is no count is as if it were not there."""
    for name in names:
        value = counts.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
            return float(value)
    return None
