"""Values of traces, in which a text may be JSON, a message, or an object that holds one."""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

QUESTION_KEYS = (
    "query", "question", "user_input", "user_query", "input", "prompt", "text", "content", "messages", "inputs",
    "input_str",
)  # fmt: skip
"""Keys that hold what was asked, first choice first."""
ANSWER_KEYS = (
    "answer", "response", "output", "result", "output_text", "actual_output", "text", "content", "messages", "message",
    "choices", "generations", "kwargs", "return", "outputs",
)  # fmt: skip
"""Keys that hold what was answered, first choice first."""
HISTORY_KEYS = ("chat_history", "history", "messages", "conversation")

_USERS = {"user", "human", "HumanMessage"}
_ASSISTANTS = {"assistant", "ai", "AIMessage", "model", "agent", "bot"}
_DEEPEST = 8
"""Objects within objects that are looked into for a text."""
_CUT = re.compile(r"[\[(<…]\s*(?:\.\.\.)?\s*(?:truncated|已截断|截断)[^\n]{0,40}$", re.IGNORECASE)


def plain(value: Any) -> Any:
    """A value, and of a text that is JSON, or a list or dict as Python writes it, what it holds."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    for parse in (json.loads, _literal):
        try:
            return parse(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return value


def _literal(value: str) -> Any:
    """The value that a text is in Python; of odd numbers in it, the compiler says nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return ast.literal_eval(value)


def is_cut(value: Any) -> bool:
    """True if a text was cut off: it says so at its end, or begins as JSON does and is none.

    >>> is_cut('[{"id": "c1", "text": "Op'), is_cut("Opening ho… [truncated]"), is_cut("[1] says so.")
    (True, True, False)
    """
    if not isinstance(value, str):
        return False
    begins = re.match(r'\s*(?:\{\s*"|\[\s*[{"])', value) is not None
    return _CUT.search(value) is not None or (begins and isinstance(plain(value), str))


def mapping(value: Any) -> Mapping[str, Any]:
    """An object, also one in a text; an empty one of anything else."""
    own = plain(value)
    return own if isinstance(own, Mapping) else {}


def listed(value: Any) -> list[Any] | None:
    """A list, also one in a text, in an array, or in an object with the keys "0", "1", …; None of anything else."""
    own = plain(value.tolist() if hasattr(value, "tolist") else value)
    if isinstance(own, Mapping) and own and all(isinstance(key, str) and key.isdecimal() for key in own):
        return [own[key] for key in sorted(own, key=lambda key: (len(key), key))]
    return list(own) if isinstance(own, list | tuple) else None


def first(fields: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """The value under the first key that has one; None where none has."""
    return next((fields[key] for key in keys if fields.get(key) not in (None, "")), None)


def text(value: Any) -> str | None:
    """A text that is not empty, or a whole number as one; None of anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value.strip() else None


def number(value: Any) -> float | None:
    """A finite number, also one in a text; None of anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        own = float(value)
    except (ValueError, OverflowError):
        return None
    return own if math.isfinite(own) else None


def seconds(value: Any) -> float | None:
    """A moment in seconds since 1970: of a date, a date as a text, or a number of seconds, milliseconds or nanoseconds.

    >>> seconds("1970-01-01T00:00:01.5Z"), seconds("1500000000000000000"), seconds(1_500_000_000_000), seconds("soon")
    (1.5, 1500000000.0, 1500000000.0, None)
    """
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    own = number(value)
    if own is not None:
        return own / 1e9 if own > 1e16 else own / 1e6 if own > 1e14 else own / 1e3 if own > 1e11 else own
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def role_of(message: Mapping[str, Any]) -> str:
    """The role of a message: user, assistant, tool, system, or what it is called otherwise."""
    kind = message.get("role", message.get("type"))
    if kind == "constructor" and isinstance(message.get("id"), list) and message["id"]:  # a dump of LangChain
        kind = message["id"][-1]
    name = str(kind)
    return "user" if name in _USERS else "assistant" if name in _ASSISTANTS else name


def message_text(message: Mapping[str, Any]) -> str | None:
    """The text of a message: its content, or that of its parts of type text, a line each."""
    held = message.get("kwargs") if isinstance(message.get("kwargs"), Mapping) else message
    assert isinstance(held, Mapping)
    content = first(held, ("content", "parts", "contents", "text"))
    if isinstance(content, str):
        return text(content)
    parts = [part.get("message_content", part) if isinstance(part, Mapping) else part for part in listed(content) or ()]
    texts = [
        text(first(part, ("text", "content", "message_content.text")) if isinstance(part, Mapping) else part)
        for part in parts
        if not isinstance(part, Mapping) or part.get("type", "text") in ("text", "input_text", "output_text")
    ]
    return "\n".join(filter(None, texts)) or None


def messages(value: Any) -> list[Mapping[str, Any]]:
    """The messages of a list of them, also in a list of its own or under `message`; none of anything else."""
    own = listed(value) or []
    if len(own) == 1 and isinstance(own[0], list):
        own = own[0]
    inner = [_unwrapped(message) for message in own]
    return inner if inner and all(map(_is_message, inner)) else []


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and ("role" in value or role_of(value) in ("user", "assistant", "system", "tool"))


def _unwrapped(message: Any) -> Any:
    """A message without the name that OpenInference puts before its fields."""
    if not isinstance(message, Mapping):
        return message
    inner = message.get("message", message)
    fields = inner if isinstance(inner, Mapping) else message
    return {str(key).removeprefix("message."): value for key, value in fields.items()}


def history(value: Any) -> list[dict[str, str]]:
    """What was said before the last question, as {role, content}; of messages, or of an object that holds them."""
    own = plain(value)
    if isinstance(own, Mapping):
        own = next((own[key] for key in HISTORY_KEYS if messages(own.get(key))), None)
        said = [*_said(messages(own))]
        return said[: _last_question(said)] if _last_question(said) == len(said) - 1 else said
    said = [*_said(messages(own))]
    return said[: _last_question(said)]


def _said(listed_messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    for message in listed_messages:
        content = message_text(message)
        if content is not None and role_of(message) in ("user", "assistant"):
            yield {"role": role_of(message), "content": content}


def _last_question(said: Sequence[Mapping[str, str]]) -> int:
    return max((place for place, message in enumerate(said) if message["role"] == "user"), default=0)


def question(value: Any) -> str | None:
    """What was asked, by the input of a step: a text, the last message of a user, or an object that holds one."""
    return _text_under(value, QUESTION_KEYS, "user", _DEEPEST)


def answer(value: Any) -> str | None:
    """What was answered, by the output of a step: a text, the last message of a model, or an object that holds one."""
    return _text_under(value, ANSWER_KEYS, "assistant", _DEEPEST)


def _text_under(value: Any, keys: Sequence[str], role: str, deepest: int) -> str | None:
    own = plain(value)
    if isinstance(own, str) or deepest == 0:
        return text(own) if isinstance(own, str) else None
    if (parts := listed(own)) is not None:
        said = messages(parts)
        texts = [message_text(message) for message in said if role_of(message) == role]
        last = None if said else (parts or [None])[-1]
        return next(filter(None, reversed(texts)), None) or _text_under(last, keys, role, deepest - 1)
    if not isinstance(own, Mapping):
        return None
    if "role" in own and (spoken := message_text(own)) is not None:
        return spoken
    held = (_text_under(own[key], keys, role, deepest - 1) for key in keys if own.get(key) is not None)
    alone = [item for item in own.values() if isinstance(item, str) and item.strip()]
    return next(filter(None, held), alone[0] if len(own) == len(alone) == 1 else None)
