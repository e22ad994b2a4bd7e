"""A model that knows the truth: it reads the facts in texts of one form, and answers the prompts of the judge `llm`.

Facts are sentences such as "The price of hall 3 is 14 euros." and "3号厅的票价是14元。"; a statement may hold several.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from steelyard.judges.llm.judge import LLMJudge
from steelyard.services.announcements import Usage
from steelyard.services.models.chat import Messages, Reply
from steelyard.services.prices import estimate_tokens

_EN = re.compile(r"[Tt]he (\w+) of (hall \d+) is ([\w ]+?)(?=\.| and the |$)", re.MULTILINE)
_ZH = re.compile(r"(\d+号厅)的(\w+?)是(\w+?)(?=[。，]|$)", re.MULTILINE)
_FENCE = re.compile(r"<<<(\w+) (\w{8})>>>\n(.*?)\n<<<END \1 \2>>>", re.DOTALL)
_ITEM = re.compile(r"^\[(\w+)\] (.*)$", re.MULTILINE)
_HALL = re.compile(r"hall \d+|\d+号厅")
_LARGEST_SET = 4

Facts = Mapping[tuple[str, str], str]


def facts_in(text: str) -> Facts:
    """Values by hall and property."""
    english = {(hall, name): value for name, hall, value in _EN.findall(text)}
    return english | {(hall, name): value for hall, name, value in _ZH.findall(text)}


def evidence(statement: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """What numbered texts hold for a statement, in the form of a reply."""
    asked, by_text = facts_in(statement), {name: facts_in(text) for name, text in texts.items()}
    says = {name: {key for key, value in asked.items() if own.get(key) == value} for name, own in by_text.items()}
    alone = [name for name, keys in says.items() if keys == asked.keys() and asked]
    part = [name for name, keys in says.items() if keys and name not in alone]
    together: list[list[str]] = []
    for size in range(2, _LARGEST_SET + 1):
        for names in combinations(part, size):
            covers = set[tuple[str, str]]().union(*(says[name] for name in names)) == asked.keys()
            if covers and not any(set(own) <= set(names) for own in together):
                together.append(list(names))
    against = [
        name
        for name, own in by_text.items()
        if name not in alone and any(key in own and own[key] != value for key, value in asked.items())
    ]
    label = "supported" if alone or together else "contradicted" if against else "not_found"
    score = max((len(keys) / len(asked) for keys in says.values()), default=0.0) if asked else 0.0
    named = alone or (together[0] if together else against or part)
    return {
        "reason": "by its facts", "verdict": label, "score": 1.0 if label == "supported" else round(score, 2),
        "alone": alone, "together": together, "part": part, "against": against,
        "quote": texts[named[0]].split(".")[0].split("。")[0] if named else "",
    }  # fmt: skip


def reply(messages: Messages) -> str:
    """The reply to a prompt of the judge."""
    blocks = {name: text for name, _, text in _FENCE.findall(messages[-1]["content"])}
    items = dict(_ITEM.findall(blocks["STATEMENTS"]))
    system = messages[0]["content"]
    chunks = _numbered(blocks.get("CHUNKS", ""))
    if '\n{"verdicts"' in system:
        return json.dumps({"verdicts": [{"id": key} | evidence(text, chunks) for key, text in items.items()]})
    if '\n{"comparison"' in system:
        return json.dumps({"comparison": [_compared(key, text, blocks) for key, text in items.items()]})
    entries = {key: evidence(text, chunks) for key, text in items.items()}
    unsupported = [key for key, entry in entries.items() if entry["verdict"] != "supported"]
    return json.dumps({"explanation": "By its facts.", "unsupported": unsupported, "grade": 1.0 * (not unsupported)})


def _numbered(text: str) -> dict[str, str]:
    _, *parts = re.split(r"^\[(\w+) [0-9a-f]{8}\]\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _compared(key: str, text: str, blocks: Mapping[str, str]) -> dict[str, Any]:
    fields = ("reason", "verdict", "score", "alone", "against")
    answer = blocks.get("ANSWER", "")
    if key == "q":
        own = set(_HALL.findall(text)) <= set(_HALL.findall(answer))
        return {"id": key, "reason": "by its hall", "verdict": "supported", "score": 1.0 if own else 0.25,
                "alone": [], "against": []}  # fmt: skip
    is_of_answer = key.startswith("a")
    entry = evidence(text, _numbered(blocks["REFERENCES"]) if is_of_answer else {"answer": answer})
    if key.startswith("f") and entry["part"]:
        entry["verdict"] = "partly_supported"
    entry_fields = {field: entry[field] for field in fields}
    return {"id": key} | entry_fields if is_of_answer else {"id": key} | entry_fields | {"alone": [], "against": []}


class OracleJudge(LLMJudge):
    """The judge `llm` whose model is the oracle; tokens are estimated from what is sent and said."""

    async def ask_async(self, messages: Messages, **options: Any) -> Reply:
        """The reply of the oracle; nothing is sent."""
        text = reply(messages)
        tokens_in = sum(estimate_tokens(message["content"]) for message in messages)
        return Reply(text, "stop", Usage(tokens_in, estimate_tokens(text)))
