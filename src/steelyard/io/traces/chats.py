"""Answers of chat applications: messages of Dify, completions and sessions of RAGFlow, messages of OpenAI with tools.

Sources: docs.dify.ai, "Service API" (chat messages, conversation history); ragflow.io, "HTTP API" (completions,
sessions); platform.openai.com, "Chat Completions" (messages with `tool_calls`, and with the role tool).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.io.traces import values
from steelyard.io.traces.items import item_of, items_in
from steelyard.io.traces.turns import Turn

_QUESTIONS = ("query_id", "question_id", "qid")
_CONTEXTS = ("retrieval_context", "retrievalContext")
_CONVERSATIONS = ("conversation_id", "session_id", "chat_id", "thread_id", "conversation")


def dify_turns(objects: Iterable[Any]) -> Iterator[Turn]:
    """Turns of messages of Dify: replies of the API, or the history of a conversation."""
    return (_dify_turn(message) for message in _objects(objects, ("data", "messages"), ("answer", "query")))


def ragflow_turns(objects: Iterable[Any]) -> Iterator[Turn]:
    """Turns of RAGFlow: completions, those in the form of OpenAI, and sessions with their messages."""
    for value in _objects(objects, ("data",), ("answer", "messages", "choices")):
        if values.messages(value.get("messages")) and "choices" not in value and "answer" not in value:
            yield from _session_turns(value)
        else:
            yield _completion_turn(value)


def message_turns(objects: Iterable[Any]) -> Iterator[Turn]:
    """Turns of conversations in the form of OpenAI: a message of a user, what tools gave after it, and the answer."""
    for number, value in enumerate(_conversations(objects), 1):
        said = values.messages(values.first(value, ("messages", "conversation", "input")))
        said += [values.mapping(choice).get("message", {}) for choice in values.listed(value.get("choices")) or ()]
        name = values.text(values.first(value, ("id", *_CONVERSATIONS))) or f"conversation {number}"
        turns = turns_of_messages([message for message in said if isinstance(message, Mapping)])
        asked = values.text(values.first({**values.mapping(value.get("metadata")), **value}, _QUESTIONS))
        for turn in turns:  # One alone is called after its text.
            own = {"conversation": name} if len(turns) > 1 else {"query_id": asked}
            yield replace(turn, trace_id=name, **own)


def _objects(objects: Iterable[Any], wrappers: Sequence[str], keys: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Objects that have one of these keys, beneath lists and the objects that an API wraps them in."""
    for value in objects:
        if isinstance(value, list):
            yield from _objects(value, wrappers, keys)
        elif isinstance(value, Mapping):
            inner = next((value[key] for key in wrappers if isinstance(value.get(key), list | dict)), None)
            if inner is None or not set(keys).isdisjoint(value):
                yield value
            else:
                yield from _objects([inner], wrappers, keys)


def _conversations(objects: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for value in objects:
        if isinstance(value, Mapping):
            yield value
        elif values.messages(value):
            yield {"messages": value}
        elif isinstance(value, list):
            yield from _conversations(value)


def _dify_turn(message: Mapping[str, Any]) -> Turn:
    metadata = values.mapping(message.get("metadata"))
    resources = values.listed(values.first({**metadata, **message}, ("retriever_resources",)))
    if resources is None and isinstance(message.get("retriever_resources", metadata.get("retriever_resources")), list):
        resources = []
    ordered = sorted(resources or (), key=lambda item: values.number(values.mapping(item).get("position")) or 0.0)
    usage = values.mapping(metadata.get("usage"))
    latency = values.number(usage.get("latency"))
    return Turn(
        values.text(message.get("query")),
        None if resources is None else [item_of(item) for item in ordered],
        values.text(message.get("answer")),
        values.text(values.first(message, ("message_id", "id"))) or "",
        query_id=values.text(values.first({**values.mapping(message.get("inputs")), **metadata}, _QUESTIONS)),
        conversation=values.text(message.get("conversation_id")),
        start=values.seconds(message.get("created_at")),
        latency_ms={} if latency is None else {"total": latency * 1000},
        tokens=_tokens(usage),
        error=values.text(message.get("error")),
        gaps=frozenset({"truncated"} if any(values.is_cut(item_of(item).get("text")) for item in ordered) else ()),
    )


def _tokens(usage: Mapping[str, Any]) -> dict[str, int]:
    names = {"input": "prompt_tokens", "output": "completion_tokens"}
    counts = {name: values.number(usage.get(key)) for name, key in names.items()}
    return {name: int(count) for name, count in counts.items() if count is not None}


def _chunks(reference: Any) -> list[dict[str, Any]] | None:
    """The chunks of a reference: a list of them, or an object with `chunks` as a list or by their ids."""
    own = values.plain(reference)
    held = values.first(own, ("chunks",)) if isinstance(own, Mapping) else own
    if held is None:
        return [] if isinstance(own, Mapping) and isinstance(own.get("chunks"), list | dict) else None
    listed = values.listed(held)
    if listed is None and isinstance(held, Mapping):
        listed = list(held.values())
    return None if listed is None else list(map(_chunk, listed))


def _chunk(chunk: Any) -> dict[str, Any]:
    """An item of a chunk, with the page on which its first box is: [page, left, right, top, bottom]."""
    item, boxes = item_of(chunk), values.listed(values.mapping(chunk).get("positions")) or [None]
    page = values.number(next(iter(values.listed(boxes[0]) or ()), None))
    return item | {"page": int(page)} if item and page is not None and page >= 1 else item


def _completion_turn(value: Mapping[str, Any]) -> Turn:
    choice = values.mapping(next(iter(values.listed(value.get("choices")) or ()), None))
    message = values.mapping(choice.get("message"))
    reference = values.first(value, ("reference",)) or message.get("reference")
    return Turn(
        values.text(values.first(value, ("question", "query"))) or values.question(value.get("messages")),
        _chunks(reference),
        values.text(value.get("answer")) or values.message_text(message),
        values.text(value.get("id")) or "",
        query_id=values.text(values.first(value, _QUESTIONS)),
        conversation=values.text(value.get("session_id")),
        history=values.history(value.get("messages")),
        start=values.seconds(values.first(value, ("created_at", "created"))),
        tokens=_tokens(values.mapping(value.get("usage"))),
    )


def _session_turns(session: Mapping[str, Any]) -> Iterator[Turn]:
    """Turns of a session: references are of its answers, in their order, or lie in the messages."""
    said = values.messages(session.get("messages"))
    name = values.text(session.get("id")) or "session"
    answers = [message for message in said if values.role_of(message) == "assistant"]
    listed = values.listed(session.get("reference")) or []
    # A greeting before the first question has no reference of its own.
    listed = [None] * (len(answers) - len(listed)) + listed
    references = {id(message): reference for message, reference in zip(answers, listed, strict=False)}
    question: str | None = None
    for message in said:
        if values.role_of(message) == "user":
            question = values.message_text(message)
        elif values.role_of(message) == "assistant" and question is not None:
            reference = message.get("reference") or references.get(id(message))
            yield Turn(
                question,
                _chunks(reference),
                values.message_text(message),
                values.text(message.get("id")) or "",
                conversation=name,
            )
            question = None


def turns_of_messages(said: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """A turn for each question of a user: the last message before an answer, what tools gave, and what was said then.

    A message of an assistant may have its `retrieval_context`, as those of deepeval.
    """
    starts = [place for place, message in enumerate(said) if values.role_of(message) == "user"]
    starts = [place for n, place in enumerate(starts) if n + 1 == len(starts) or starts[n + 1] > place + 1]
    ends = [*starts[1:], len(said)][: len(starts)]
    return [_turn(said[start], said[start + 1 : end]) for start, end in zip(starts, ends, strict=True)]


def _turn(question: Mapping[str, Any], after: Sequence[Mapping[str, Any]]) -> Turn:
    spoke = [message for message in after if values.role_of(message) == "assistant"]
    lists = [_tool_items(message) for message in after if values.role_of(message) in ("tool", "function")]
    lists += [items_in(first) for message in spoke if (first := values.first(message, _CONTEXTS)) is not None]
    known = [items for items in lists if items is not None]
    texts = filter(None, (values.message_text(message) for message in reversed(spoke)))
    several = {"several"} if len(known) > 1 else set()
    return Turn(values.message_text(question), known[-1] if known else None, next(texts, None), gaps=frozenset(several))


def _tool_items(message: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The documents in the result of a tool: those of its JSON, else its text as one document."""
    content = message.get("content")
    if isinstance(values.plain(content), str):
        own = values.text(content)
        return None if own is None else [{"text": own}]
    parts = values.message_text(message)
    if (items := items_in(content)) is not None and not _are_parts(content):
        return items
    return items_in(parts) or ([{"text": parts}] if parts else None)


def _are_parts(content: Any) -> bool:
    own = values.listed(content) or []
    return bool(own) and all(isinstance(part, Mapping) and part.get("type") == "text" for part in own)
