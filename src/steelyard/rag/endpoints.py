"""Stages behind an address: OpenAI-compatible embeddings and chat, and rerankers of the three usual shapes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np

from steelyard.base.arrays import Vectors
from steelyard.base.limits import at_least
from steelyard.data.corpus import Passage
from steelyard.rag.generation import build_prompt, prompt_digest, read_template
from steelyard.rag.registry import stage
from steelyard.rag.turns import Concurrency
from steelyard.services.addresses import checked_url, host_of
from steelyard.services.client import Patience, Service
from steelyard.services.secrecy import secret_from

OPENAI = "https://api.openai.com/v1"
Shape = Literal["cohere", "voyage", "tei"]
SHAPES: tuple[Shape, ...] = ("cohere", "voyage", "tei")


@dataclass(frozen=True, kw_only=True)
class _Endpoint(Patience, ABC):
    """What all three stages have: a key that is named, never given, and a client that is made on use.

    api_key_env   the environment variable that holds the key.  None: OPENAI_API_KEY for api.openai.com, and no key for
                  any other address, as a key is not shown to a host that it was not made for
    concurrency   questions that are asked here at once at most; None for all that are under way
    """

    api_key_env: str | None = None
    concurrency: Concurrency = None

    @abstractmethod
    def _address(self) -> tuple[str, str]:
        """Who asks, and the whole address."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._key()  # A missing key is reported before anything is computed.

    def _key(self) -> str:
        if self.api_key_env is not None:
            return secret_from(self.api_key_env, "api_key_env")
        return secret_from("OPENAI_API_KEY", "api.openai.com") if self._is_openai() else ""

    def _is_openai(self) -> bool:
        return host_of(self._address()[1]) == host_of(OPENAI)

    @cached_property
    def _service(self) -> Service:
        what, url = self._address()
        key = self._key()
        variable = self.api_key_env or ("OPENAI_API_KEY" if key else None)
        hint = f"check the key in {variable}" if variable else "name the environment variable of the key: api_key_env"
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return Service(what, url, self, headers=headers, secrets=(key,), key_hint=hint)

    def close(self) -> None:
        """Close the connections; a later question opens others."""
        service = self.__dict__.pop("_service", None)
        if service is not None:
            service.close()


@dataclass(frozen=True, kw_only=True)
class _OpenAI(_Endpoint):
    """What both OpenAI-compatible stages have.

    model      its name, as the server knows it
    base_url   the address before /embeddings or /chat/completions; most end in /v1
    """

    model: str
    base_url: str = OPENAI

    def __post_init__(self) -> None:
        checked_url(self.base_url, "base_url")
        super().__post_init__()


@stage("embed", "openai")
@dataclass(frozen=True, kw_only=True)
class OpenAIEmbedder(_OpenAI):
    """Vectors from an OpenAI-compatible /embeddings.

    batch_size                       texts in one request
    dimensions                       asked for, where the model can be shortened; None for its own number
    query_prefix, document_prefix    put before each text, where a model wants "query: " and "passage: "
    Raises   InputError for settings out of range or a key that is not set.
    """

    batch_size: Annotated[int, at_least(1)] = 64
    dimensions: Annotated[int, at_least(1)] | None = None
    query_prefix: str = ""
    document_prefix: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()

    def _address(self) -> tuple[str, str]:
        return "embedding", f"{self.base_url.rstrip('/')}/embeddings"

    def fit(self, texts: Sequence[str]) -> None:
        """Nothing to learn."""

    def documents(self, texts: Sequence[str]) -> Vectors:
        """(n, d) vectors of length 1; (0, dimensions or 0) without texts.

        Raises   StageError when the endpoint fails (`steelyard.services.client.Patience`), or answers another number of
                 vectors, positions that are not those of the texts, vectors of different length, NaN or all zeros.
        """
        prefixed = [self.document_prefix + text for text in texts]
        batches = [prefixed[i : i + self.batch_size] for i in range(0, len(prefixed), self.batch_size)]
        vectors = [self._vectors(batch) for batch in batches]
        widths = sorted({batch.shape[1] for batch in vectors})
        if len(widths) > 1:
            raise self._service.error(f"answered vectors of {widths} numbers", "use a server that holds one model")
        return np.concatenate(vectors) if vectors else np.empty((0, self.dimensions or 0), np.float32)

    def query(self, text: str) -> Vectors:
        """(d,) the vector of a question; raises as `documents` does."""
        vector: Vectors = self._vectors([self.query_prefix + text])[0]
        return vector

    def _vectors(self, texts: list[str]) -> Vectors:
        body: dict[str, Any] = {"model": self.model, "input": texts, "encoding_format": "float"}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        answer = self._service.request("POST", body=body)
        items = _list_at(answer, "data")
        if items is None:
            raise self._service.error(f"answered {_outline(answer)}, without a list 'data'", "check base_url")
        if all(isinstance(item, Mapping) and item.get("index") is None for item in items):
            items = [{**item, "index": i} for i, item in enumerate(items)]  # Some servers only keep the order.
        ordered = _in_order(self._service, items, len(texts), "vectors", "embedding")
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


@stage("rerank", "http")
@dataclass(frozen=True, kw_only=True)
class HTTPReranker(_Endpoint):
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

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One finite score a text, in the order of the texts; none without texts.

        Raises   StageError when the endpoint fails (`steelyard.services.client.Patience`), its answer has another
                 shape, or does not hold each text once with a finite score.
        """
        size = self.batch_size or max(len(texts), 1)
        return [score for i in range(0, len(texts), size) for score in self._scores(query, list(texts[i : i + size]))]

    def _scores(self, query: str, texts: list[str]) -> list[float]:
        answer = self._service.request("POST", body=self._body(query, texts))
        looks = _shape_of(answer)
        if looks != self.shape:
            hint = f'set shape = "{looks}"' if looks else f"check the address and shape ({', '.join(SHAPES)})"
            looks_like = f"the {looks} shape" if looks else _outline(answer)
            raise self._service.error(f"answered {looks_like}, not the {self.shape} shape", hint)
        items = answer if self.shape == "tei" else answer["results" if self.shape == "cohere" else "data"]
        key = "score" if self.shape == "tei" else "relevance_score"
        scores = _in_order(self._service, items, len(texts), "scores", key)
        for position, score in enumerate(scores):
            if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
                what = f"answered {_outline(score)} as the score of text {position + 1} of {len(texts)}"
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
class OpenAIGenerator(_OpenAI):
    """Answers from an OpenAI-compatible /chat/completions.

    temperature   None where the model takes none
    max_tokens    of the answer, which is cut there; None for the server's own limit
    seed          for servers that know one
    language      of the prompt: "en", "zh", or "auto" by the question
    prompt        a file to use instead of the bundled prompt (`steelyard.rag.generation.read_template`)
    Raises        InputError for settings out of range, a prompt that cannot be read, or a key that is not set.
    """

    temperature: Annotated[float, at_least(0)] | None = 0.0
    max_tokens: Annotated[int, at_least(1)] | None = 512
    seed: int | None = None
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

    def _address(self) -> tuple[str, str]:
        return "chat", f"{self.base_url.rstrip('/')}/chat/completions"

    def answer(self, query: str, passages: Sequence[Passage]) -> str:
        """The model's text; one that max_tokens cut is given as it is.

        Raises   StageError when the endpoint fails (`steelyard.services.client.Patience`), or answers no text: no
                 choice, a refusal, a content filter, reasoning alone.
        """
        messages = build_prompt(query, passages, language=self.language, template=self._template)
        options = {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed}
        options = {name: value for name, value in options.items() if value is not None}
        return self._text(self._service.request("POST", body={"model": self.model, "messages": messages, **options}))

    def _text(self, answer: Any) -> str:
        choices = _list_at(answer, "choices")
        if not choices:
            fact = "no choices" if choices == [] else f"{_outline(answer)}, without a list 'choices'"
            raise self._service.error(f"answered {fact}", "check base_url, and that model is a chat model")
        choice = choices[0] if isinstance(choices[0], Mapping) else {}
        message = choice["message"] if isinstance(choice.get("message"), Mapping) else {}
        reason, content = choice.get("finish_reason"), message.get("content")
        if reason == "content_filter":
            raise self._service.error("answered nothing: its content filter stopped it", "look at the passages")
        if isinstance(message.get("refusal"), str) and not content:
            refusal = self._service.redacted(message["refusal"])[:200]
            raise self._service.error(f"refused: {refusal}", "look at the question and the prompt")
        if not isinstance(content, str) or not content.strip():
            fact = f"answered no text (content {_outline(content)}, finish_reason {_outline(reason)})"
            raise self._service.error(fact, "raise max_tokens: a model that reasons first may have used them up")
        return content


def _list_at(answer: Any, key: str) -> list[Any] | None:
    value = answer.get(key) if isinstance(answer, Mapping) else None
    return value if isinstance(value, list) else None


def _shape_of(answer: Any) -> Shape | None:
    """Which shape an answer has, by its outermost keys."""
    if isinstance(answer, list):
        return "tei" if all(isinstance(item, Mapping) and "score" in item for item in answer) else None
    if _list_at(answer, "results") is not None:
        return "cohere"
    return "voyage" if _list_at(answer, "data") is not None else None


def _in_order(service: Service, items: list[Any], n: int, what: str, key: str) -> list[Any]:
    """The value under `key` of n items, in the order of their "index".

    Raises   StageError unless each position from 0 to n - 1 is there once.
    """
    if len(items) != n:
        raise service.error(f"answered {len(items)} {what} for {n} texts", "lower batch_size, or check the model")
    by_index: dict[int, Any] = {}
    for item in items:
        index = item.get("index") if isinstance(item, Mapping) else None
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < n:
            raise service.error(f"answered {what} with index {_outline(index)}; expected 0 to {n - 1}", _SERVER)
        if index in by_index:
            raise service.error(f"answered {what} with index {index} twice; expected 0 to {n - 1} once each", _SERVER)
        if key not in item:
            raise service.error(f"answered {what} without {key!r} (keys: {', '.join(map(str, item))})", _SERVER)
        by_index[index] = item[key]
    return [by_index[i] for i in range(n)]


_SERVER = "look into the server's log, or use one that keeps to the shape"


def _outline(value: Any) -> str:
    """What a decoded answer is, in a few words and without its texts."""
    if isinstance(value, Mapping):
        return f"an object with {', '.join(sorted(map(str, value))[:8]) or 'nothing'}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:40] + "…")
    return "nothing (null)" if value is None else str(value)
