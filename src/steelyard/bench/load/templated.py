"""Requests whose body is a template, to a /rerank, a chat model or any other service that answers JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from steelyard.base.errors import InputError
from steelyard.bench.config import BenchConfig
from steelyard.bench.load.latency import read_stream
from steelyard.bench.load.served import Ask, Served
from steelyard.data.loading.files import load
from steelyard.data.questions import Questions
from steelyard.rag.own.results import Odd, value_at
from steelyard.rag.own.targets import HTTPTarget
from steelyard.rag.stages.http_reranking import SCORE_LISTS, search_units_of, tokens_of
from steelyard.services.http.direct import DirectService
from steelyard.services.models.endpoints import list_at, outline

_LEAST_CHARACTERS = 80
"""Shorter paragraphs are headings."""


@cache
def bundled_questions() -> dict[str, str]:
    """query_id -> question: those of the bundled example, in English and Chinese."""
    with (files("steelyard") / "demo_data" / "questions.jsonl").open(encoding="utf-8") as lines:
        questions = Questions(map(json.loads, lines))
    return {question.query_id: question.query for question in questions if question.query}


@cache
def bundled_passages() -> tuple[str, ...]:
    """Paragraphs of the documents of the bundled example."""
    folder = files("steelyard") / "demo_data" / "documents"
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.iterdir(), key=lambda file: file.name))
    paragraphs = (paragraph.strip() for text in texts for paragraph in text.split("\n\n"))
    return tuple(paragraph for paragraph in paragraphs if len(paragraph) >= _LEAST_CHARACTERS)


_CHAT = {"messages", "prompt"}
"""Keys of a request whose answer has choices."""


def documents_of(config: BenchConfig, depth: int) -> Sequence[str]:
    """Texts for the place "{documents}" of a body, at least `depth`: those that are named, else bundled ones.

    Raises   InputError for documents that cannot be read, and for fewer.
    """
    if config.documents is None:
        name, texts = "the bundled example", bundled_passages()
    else:
        name, texts = str(config.documents), tuple(doc.text for doc in load(config.documents) if doc.text.strip())
    if len(texts) < depth:
        raise InputError(
            f"{name}: has {len(texts)} texts, fewer than the {depth} of a request; lower --depth, or "
            "name more: --documents"
        )
    return texts


def asking_template(
    target: HTTPTarget, service: DirectService, queries: Mapping[str, str], documents: Sequence[str], depth: int
) -> Ask:
    """A function that asks a service by the template of a target's body.

    documents   of which a question gets `depth`, the next question those after them, and so on in a circle; empty where
                the body has no place for them
    Where the body has "stream": true, the answer is read as it comes, event by event.
    Asking raises   ServiceError where the service fails or says so, and where it answers a chat without choices or a
                    rerank without a list of scores.
    """
    n_texts, whole = depth if documents else 0, [*documents, *documents[:depth]]
    starts = {query_id: place * n_texts % len(documents) for place, query_id in enumerate(queries) if n_texts}

    is_stream = target.body.get("stream") is True

    def ask(query_id: str, query: str) -> Served:
        start = starts.get(query_id, 0)
        sent = target.sent(query, depth, documents=whole[start : start + n_texts])
        if is_stream:
            return _streamed(service, service.stream(target.method, **sent))
        answer = service.request(target.method, **sent)
        answered_at = service.answered_at
        _refuse_odd(service, sent, answer, has_documents=bool(n_texts))
        return Served(n_texts or None, None, tokens_of(answer), search_units_of(answer), answered_at=answered_at)

    return ask


def _streamed(service: DirectService, events: Sequence[tuple[float, str]]) -> Served:
    """The answer and the times of a stream of events.

    Raises   ServiceError for one that is no answer.
    """
    answered_at = service.answered_at
    try:
        streamed, usage = read_stream(events)
    except Odd as odd:
        raise service.error(service.redacted(str(odd)), "look into its log") from None
    return Served(usage=usage, answered_at=answered_at, streamed=streamed)


def _refuse_odd(service: DirectService, sent: Mapping[str, Any], answer: Any, *, has_documents: bool) -> None:
    """Raise   ServiceError for an answer that is none."""
    if isinstance(answer, Mapping) and answer.get("error"):
        raise service.error(f"answered an error: {service.redacted(str(answer['error']))}", "look into its log")
    lists = (items for path in SCORE_LISTS if isinstance(items := value_at(answer, path), list))
    if has_documents and not any(lists):
        raise service.error(f"answered {outline(answer)}, without a list of scores", "check that it is a /rerank")
    if not _CHAT.isdisjoint(sent.get("body") or {}) and not list_at(answer, "choices"):
        raise service.error(f"answered {outline(answer)}, without choices", "check that it is a chat model's address")
