"""A model on the server of tests/rag that grades and ranks passages by the share of the query's words in them."""

from __future__ import annotations

import json
from typing import Any

from tests.judges.llm_server import block, items
from tests.rag.server import ANSWERS, overlap

PATH = "/ranker/v1/chat/completions"
USAGE = {"prompt_tokens": 100, "completion_tokens": 20}


def grade(body: Any) -> Any:
    return {"score": round(100 * overlap(block(body, "QUERY"), block(body, "PASSAGE")))}


def rank(body: Any) -> Any:
    passages = items(body, "PASSAGES")
    return {"ranking": sorted(map(int, passages), key=lambda i: -overlap(block(body, "QUERY"), passages[str(i)]))}


def chat(body: Any) -> Any:
    content = json.dumps(rank(body) if block(body, "PASSAGES") else grade(body))
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return {"object": "chat.completion", "model": body["model"], "choices": [choice], "usage": USAGE}


ANSWERS[PATH] = chat
