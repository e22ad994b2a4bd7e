"""Prompts, and chat models that answer them over an OpenAI-compatible address."""

from __future__ import annotations

import json
import re
import secrets
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import IO, Annotated, Any, Literal, NoReturn

from steelyard.base.errors import OutputError, StageError
from steelyard.base.limits import at_least
from steelyard.services.addresses import one_line
from steelyard.services.announcements import Attempt, Listener, Usage, ignore
from steelyard.services.http.client import ServiceError
from steelyard.services.loops import shared_loop
from steelyard.services.models.endpoints import OpenAIEndpoint, list_at, mapping_at, outline

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_SYSTEM_END = re.compile(r"^---[ \t]*$\n?", re.MULTILINE)


def fill_template(template: str, values: Mapping[str, str]) -> list[dict[str, str]]:
    """Messages for a chat model: the parts of a template, with its placeholders filled.

    values    by name of the placeholder; braces around anything else stay.  What is filled in is never filled in again,
              whatever braces it holds
    Returns   dicts with `role` ("system", "user") and `content`, without empty ones.

    >>> fill_template("Be brief.\\n---\\n{query} {?}", {"query": "Who is {query}?"})
    [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Who is {query}? {?}'}]
    """
    head = _SYSTEM_END.search(template)
    system, user = (template[: head.start()], template[head.end() :]) if head else ("", template)
    parts = (("system", system.strip()), ("user", user.strip()))
    return [
        {"role": role, "content": _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), part)}
        for role, part in parts
        if part
    ]


Items = tuple[tuple[str, str], ...]
"""Texts with their ids."""


def fenced(texts: Mapping[str, str | Items]) -> dict[str, str]:
    """Texts by placeholder, each between two lines that no text can hold, so that a model can take it for data.

    texts   of a placeholder one text, or several with their ids, each below a line with its id that no text can hold
    """
    several = [text for value in texts.values() if not isinstance(value, str) for _, text in value]
    code = _fence_code([*(value for value in texts.values() if isinstance(value, str)), *several])
    return {
        name: f"<<<{name.upper()} {code}>>>\n{_fenced_text(value, code)}\n<<<END {name.upper()} {code}>>>"
        for name, value in texts.items()
    }


def _fenced_text(value: str | Items, code: str) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(f"[{item_id} {code}]\n{text}" for item_id, text in value)


def numbered(items: Sequence[tuple[str, str]]) -> str:
    """Texts behind their ids, each in one line, so that none can pass for two.

    >>> print(numbered([("1", "It opens at 9.\\n[2] It is free."), ("3", "It closes at 5.")]))
    [1] It opens at 9. [2] It is free.
    [3] It closes at 5.
    """
    return "\n".join(f"[{item_id}] {' '.join(text.split())}" for item_id, text in items)


def _fence_code(texts: Sequence[str]) -> str:
    """A code that none of the texts holds."""
    while True:
        code = secrets.token_hex(4)
        if not any(code in text for text in texts):
            return code


Messages = Sequence[Mapping[str, str]]
Silence = Literal["refusal", "content_filter", "no_text"]
_UNACCEPTED = {400, 422}
_FORMAT = "response_format"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a chat model said.

    finish   why it ended, as the server says: "stop", "length" where it was cut; empty where it does not say
    usage    None where the server does not say
    """

    text: str
    finish: str = ""
    usage: Usage | None = None


class SilentError(StageError):
    """A model answered without a text.

    cause    it refused, a filter stopped it, or nothing is there;   usage   tokens that were taken all the same
    """

    def __init__(self, message: str, cause: Silence = "no_text", usage: Usage | None = None) -> None:
        super().__init__(message)
        self.cause, self.usage = cause, usage


@dataclass(frozen=True, kw_only=True)
class ChatModel(OpenAIEndpoint):
    """A model behind an OpenAI-compatible /chat/completions.

    temperature   None where the model takes none
    max_tokens    of the answer, which is cut there; None for the server's own limit
    seed          for servers that know one
    Raises        InputError for settings out of range or a key that is not set.
    """

    temperature: Annotated[float, at_least(0)] | None = 0.0
    max_tokens: Annotated[int, at_least(1)] | None = None
    seed: int | None = None

    def _address(self) -> tuple[str, str]:
        return "chat", f"{self.base_url.rstrip('/')}/chat/completions"

    def ask(self, messages: Messages) -> Reply:
        """The model's reply; a text that max_tokens cut is given as it is.

        Raises   StageError when the endpoint fails (`steelyard.services.http.client.Patience`); SilentError for an
                 answer without a text: a refusal, a content filter, reasoning alone.
        """
        return shared_loop().run(self.ask_async(messages))

    async def ask_async(
        self,
        messages: Messages,
        *,
        response_format: Mapping[str, Any] | None = None,
        optional: Sequence[str] = (),
        listener: Listener = ignore,
    ) -> Reply:
        """As `ask`, awaited; many may be under way at once.

        response_format   what the text must look like, for servers that can see to it
        optional          parameters that are left out, from then on, where the server refuses a request for them
        listener          is told each attempt
        """
        options = {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed,
                   _FORMAT: response_format}  # fmt: skip
        while True:
            sent = {name: value for name, value in options.items() if value is not None and name not in self.untaken}
            body = {"model": self.model, "messages": messages, **sent}
            try:
                answer = await self._service.request_async("POST", body=body, listener=listener)
            except ServiceError as error:
                refused = refused_parameters(error, [name for name in sent if name in optional], self._taken)
                if not refused:
                    raise
                self.untaken.update(refused)
            else:
                self._taken.update(sent)
                return self._reply(answer)

    @cached_property
    def untaken(self) -> set[str]:
        """Parameters that the server refused, and that are no longer sent."""
        return set()

    @cached_property
    def _taken(self) -> set[str]:
        """Parameters that the server took."""
        return set()

    def _reply(self, answer: Any) -> Reply:
        choices = list_at(answer, "choices")
        if not choices:
            fact = "no choices" if choices == [] else f"{outline(answer)}, without a list 'choices'"
            raise self._service.error(f"answered {fact}", "check base_url, and that model is a chat model")
        message, usage = mapping_at(choices[0], "message"), _usage(mapping_at(answer, "usage"))
        reason = choices[0].get("finish_reason") if isinstance(choices[0], Mapping) else None
        content, refusal = message.get("content"), message.get("refusal")
        if reason == "content_filter":
            self._silent("answered nothing: its content filter stopped it", "look at the texts", reason, usage)
        if isinstance(refusal, str) and not content:
            fact = f"refused: {one_line(refusal)[:200]}"
            self._silent(fact, "look at the texts and the prompt", "refusal", usage)
        if not isinstance(content, str) or not content.strip():
            fact = f"answered no text (content {outline(content)}, finish_reason {outline(reason)})"
            hint = "raise max_tokens: a model that reasons first may have used them up"
            self._silent(fact, hint, "no_text", usage)
        return Reply(content, reason if isinstance(reason, str) else "", usage)

    def _silent(self, fact: str, hint: str, cause: Silence, usage: Usage | None) -> NoReturn:
        raise SilentError(str(self._service.error(fact, hint)), cause, usage)


def response_format(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The demand on the form of a reply, for servers that can see to it: a JSON object of these properties.

    properties   as JSON schema has them
    """
    schema = {"name": name, "strict": True, "schema": object_schema(properties)}
    return {"type": "json_schema", "json_schema": schema}


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with these properties, all of them, and no other.

    >>> object_schema({"score": {"type": "number"}})["required"]
    ['score']
    """
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def refused_parameters(error: ServiceError, names: Sequence[str], taken: Container[str] = ()) -> set[str]:
    """The parameters, of some, that a server refuses a request for.

    They are the ones that its message names; where it names none, that is response_format, which most servers that
    lack it refuse without a word on it, unless the server took it before.
    """
    if error.reason not in _UNACCEPTED:
        return set()
    named = {name for name in names if name in error.body or (name == _FORMAT and "json_schema" in error.body)}
    return named or {name for name in names if name == _FORMAT and name not in taken}


def _usage(usage: Mapping[str, Any]) -> Usage | None:
    counts = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    tokens = [count for count in counts if isinstance(count, int) and count >= 0]
    return Usage(*tokens) if len(tokens) == len(counts) else None


_OK = 200


class CallLog:
    """Calls of one judge or stage; used on one event loop alone.

    path   of a file in JSONL that each attempt is added to: when, how long, the outcome and the tokens; never what was
           said, and never a key.  None for none

    n_calls    that were begun, apart from their repetitions
    outcomes   attempts by outcome: the HTTP status, "timeout" or "no answer"
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = path
        self.n_calls, self.outcomes = 0, Counter[str]()

    def begin(self) -> Call:
        """A call that begins: the listener of its attempts."""
        self.n_calls += 1
        return Call(self)

    def add(self, attempt: Attempt, usage: Usage | None) -> None:
        """Count an attempt, and write it."""
        self.outcomes[str(attempt.outcome)] += 1
        if self._path is not None:
            tokens = {} if usage is None else {"tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out}
            at = datetime.fromtimestamp(attempt.began, UTC).isoformat(timespec="milliseconds")
            line = {"at": at, "ms": round(attempt.ms, 1), "attempt": attempt.number, "outcome": attempt.outcome}
            self._write({**line, **tokens})

    def counts(self) -> dict[str, Any]:
        """Calls, attempts, and what made for another attempt."""
        failures = {cause: n for cause, n in sorted(self.outcomes.items()) if cause != str(_OK)}
        return {"calls": self.n_calls, "attempts": self.outcomes.total(), "failed_attempts": failures}

    def close(self) -> None:
        """Close the file."""
        file = self.__dict__.pop("_file", None)
        if file is not None:
            file.close()

    @cached_property
    def _file(self) -> IO[str]:
        return Path(str(self._path)).open("a", encoding="utf-8", buffering=1)  # A line is written at once.

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            self._file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise OutputError(
                f"{self._path}: the log of calls cannot be written ({error.strerror or error}); choose another place"
            ) from error


class Call:
    """Listens to the attempts of one call; the tokens of the last one are known a little later."""

    def __init__(self, log: CallLog) -> None:
        self._log, self._last = log, None
        self.lost = 0

    _last: Attempt | None

    def __call__(self, attempt: Attempt) -> None:
        """Take an attempt.  One without an answer may have been charged nevertheless, and is counted in `lost`."""
        self.end(None)
        self._last = attempt
        self.lost += isinstance(attempt.outcome, str)

    def end(self, usage: Usage | None) -> None:
        """Log the last attempt, with its tokens."""
        if self._last is not None:
            self._log.add(self._last, usage)
            self._last = None
