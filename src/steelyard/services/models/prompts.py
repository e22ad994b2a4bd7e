"""Prompts as files: what is above the first line of nothing but --- is the system message; texts are fenced in."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence

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


def fenced(texts: Mapping[str, str]) -> dict[str, str]:
    """Texts by placeholder, each between two lines that no text can hold, so that a model can take it for data."""
    code = _fence_code(list(texts.values()))
    return {
        placeholder: f"<<<{placeholder.upper()} {code}>>>\n{text}\n<<<END {placeholder.upper()} {code}>>>"
        for placeholder, text in texts.items()
    }


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
