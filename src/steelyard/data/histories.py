"""What was said in a conversation before a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from steelyard.base.errors import InputError, quoted

CONVERSATION = "conversation"
"""The key that names the conversation of a question; its turns are one cluster unless others are named."""

_MOST_MESSAGES, _MOST_CHARACTERS = 8, 2000
"""Messages before a question, and characters of each, that a judge is shown: the last ones, and their beginnings."""


class Message(NamedTuple):
    """A message of a conversation;   role   such as user or assistant"""

    role: str
    content: str


def parse_history(line: Mapping[str, Any], where: str) -> tuple[Message, ...]:
    """The messages under `history` of a line of questions or outputs; none where it has none.

    Raises   InputError for what is no list of {role, content}.

    >>> parse_history({"history": [{"role": "user", "content": "Why?"}]}, "")
    (Message(role='user', content='Why?'),)
    """
    listed = line.get("history")
    if listed is None:
        return ()
    fields = (
        [message if isinstance(message, Mapping) else {} for message in listed] if isinstance(listed, list) else [{}]
    )
    messages = tuple(Message(message.get("role", ""), message.get("content", "")) for message in fields)
    if not all(isinstance(part, str) and part for message in messages for part in message):
        raise InputError(f"{where}: `history` must be a list of {{role, content}}, two texts, not {quoted(listed)}")
    return messages


@dataclass
class Asked:
    """What lines of outputs say of their questions.

    queries     query_id -> the text of the question
    histories   query_id -> what was said before
    """

    queries: dict[str, str] = field(default_factory=dict)
    histories: dict[str, Sequence[Message]] = field(default_factory=dict)

    def add(self, query_id: str, line: Mapping[str, Any], where: str) -> None:
        """Take what a line says.

        Raises   InputError for a history that is none.
        """
        if isinstance(line.get("query"), str):
            self.queries[query_id] = line["query"]
        if history := parse_history(line, where):
            self.histories[query_id] = history


def asked_text(query: str, history: Sequence[Message]) -> str:
    """A question as a judge is shown it: alone, or as the last line of its conversation.

    >>> print(asked_text("And why?", [Message("user", "Who dances?"), Message("assistant", "Bees do.")]))
    user: Who dances?
    assistant: Bees do.
    user: And why?
    """
    if not history or not query:
        return query
    shown = [Message(message.role, _cut(message.content)) for message in history[-_MOST_MESSAGES:]]
    return "\n".join(f"{role}: {content}" for role, content in [*shown, Message("user", query)])


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} …"
