"""Prompts as files: what is above the first line of nothing but --- is the system message."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
