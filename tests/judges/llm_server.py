"""The server of tests/rag, playing a model that judges: it reads the prompts, and can be made to answer badly.

A statement is supported where the source has its words in this order, contradicted where the source has "not " before
them, and else not found.  `tests.rag.server` has the faults of the transport; here are those of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.rag.server import ANSWERS, Fault, Server, change, put, serving

PATH = "/judge/v1/chat/completions"
USAGE = {"prompt_tokens": 100, "completion_tokens": 20}
QUICK: Mapping[str, Any] = {"timeout_s": 5.0, "attempts": 3, "wait_initial_s": 0.001, "wait_max_s": 0.02}


def block(body: Any, name: str) -> str:
    """What a prompt quotes under a name."""
    match = re.search(rf"<<<{name} (\w+)>>>\n(.*?)\n<<<END {name} \1>>>", body["messages"][-1]["content"], re.DOTALL)
    return match[2] if match else ""


def items(body: Any, name: str = "STATEMENTS") -> dict[str, str]:
    """Id -> text of what a prompt asks about."""
    return dict(re.findall(r"^\[(\w+)\] (.*)$", block(body, name), re.MULTILINE))


def numbered(body: Any, name: str = "CHUNKS") -> dict[str, str]:
    """Id -> text of the texts that a prompt quotes under a name, each below a line with its id."""
    _, *parts = re.split(r"^\[(\w+) [0-9a-f]{8}\]\n", block(body, name), flags=re.MULTILINE)
    return {key: text.removesuffix("\n") for key, text in zip(parts[::2], parts[1::2], strict=True)}


def verdict(source: str, statement: str) -> str:
    words = statement.rstrip(".。?？")
    if f"not {words}" in source:
        return "contradicted"
    return "supported" if words in source else "not_found"


def entry_of(key: str, statement: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """What the model says of a statement by several texts."""
    alone, against = (
        [name for name, text in texts.items() if verdict(text, statement) == label]
        for label in ("supported", "contradicted")
    )
    label = "supported" if alone else "contradicted" if against else "not_found"
    return {"id": key, "reason": f"of {key}", "verdict": label, "score": 0.75, "alone": alone, "against": against}


def verdicts(body: Any) -> Any:
    own = {"together": [], "part": [], "quote": ""}
    return {"verdicts": [entry_of(key, text, numbered(body)) | own for key, text in items(body).items()]}


def comparison(body: Any) -> Any:
    """Of an answer by its references, and of these, and facts, by the answer."""
    references, answer = numbered(body, "REFERENCES"), block(body, "ANSWER")
    entries = []
    for key, text in items(body).items():
        entry = entry_of(key, text, references if key.startswith("a") else {"": answer})
        if key == "q":
            entry |= {"verdict": "supported", "score": 1.0 if text.rstrip("?") in answer else 0.25}
        entries.append(entry if key.startswith("a") else entry | {"alone": [], "against": []})
    return {"comparison": entries}


def whole(body: Any) -> Any:
    chunks = numbered(body)
    absent = [key for key, text in items(body).items() if entry_of(key, text, chunks)["verdict"] != "supported"]
    return {"explanation": "Read it.", "unsupported": absent, "grade": 1 - len(absent) / len(items(body))}


def claims(body: Any) -> Any:
    """A claim ends at " and "."""
    return {"sentences": [{"id": key, "claims": text.split(" and ")} for key, text in items(body).items()]}


def new_nuggets(body: Any) -> Any:
    return {"nuggets": [{"text": text, "vital": i == 0} for i, text in enumerate(block(body, "ANSWER").split(". "))]}


def grade(body: Any) -> Any:
    """The share of the question's words that the source has, on a scale from 0 to 3, rounded up."""
    words, source = block(body, "QUESTION").split(), block(body, "SOURCE")
    n = sum(word in source for word in words)
    return {
        "intent": "i",
        "match": "m",
        "trust": "t",
        "reason": f"{n} of {len(words)}",
        "grade": -(-3 * n // len(words)),
    }


def criteria(body: Any) -> Any:
    """Yes, or the highest grade, where the answer has the last word of the criterion; no, or the lowest, where not."""
    answer, listed = block(body, "ANSWER"), items(body, "CRITERIA")
    grades = []
    for key, text in listed.items():
        sentence, scale = re.fullmatch(r"(.*) \(((?:yes|a whole|[01]（).*)\)", text).groups()  # type: ignore[union-attr]
        fulfilled = sentence.rstrip(".。").split()[-1] in answer
        low, high = re.findall(r"\d+", scale) or ("no", "yes")
        reason = "It does." if fulfilled else "It does not."
        grades.append({"id": key, "reason": reason, "grade": high if fulfilled else low})
    return {"grades": grades}


def pairwise(body: Any) -> Any:
    """The longer answer is better; where neither is, the one that is shown first, if the question asks for bias."""
    first, second = len(block(body, "FIRST")), len(block(body, "SECOND"))
    biased = "first" if "biased" in block(body, "QUESTION") else "tie"
    return {"reason": "length", "better": "first" if first > second else "second" if second > first else biased}


TASKS: Mapping[str, Callable[[Any], Any]] = {
    '{"verdicts"': verdicts, '{"comparison"': comparison, '{"explanation"': whole, '{"sentences"': claims,
    '{"nuggets"': new_nuggets, '{"intent"': grade,
    '{"grades"': criteria,
    '{"reason": "one short sentence", "better"': pairwise, '{"reason": "一句话理由", "better"': pairwise,
}  # fmt: skip


def completion(body: Any) -> Any:
    system = body["messages"][0]["content"]
    reply = next(task(body) for form, task in TASKS.items() if f"\n{form}" in system)
    choice = {"index": 0, "message": {"role": "assistant", "content": json.dumps(reply)}, "finish_reason": "stop"}
    return {"id": "1", "object": "chat.completion", "model": body["model"], "choices": [choice], "usage": USAGE}


ANSWERS[PATH] = completion


def says(text: str, finish: str = "stop") -> Fault:
    """A reply of another text."""
    return change(lambda answer: _with(answer, text, finish))


def says_json(**reply: Any) -> Fault:
    return says(json.dumps(reply, ensure_ascii=False))


def edits(edit: Callable[[list[dict[str, Any]]], Any]) -> Fault:
    """The good verdicts, changed in place."""

    def make(answer: Any) -> Any:
        reply = json.loads(answer["choices"][0]["message"]["content"])
        edit(reply["verdicts"])
        return _with(answer, json.dumps(reply), "stop")

    return change(make)


def around(before: str, after: str = "") -> Fault:
    """The good reply with prose around it."""
    return change(lambda answer: _with(answer, before + answer["choices"][0]["message"]["content"] + after, "stop"))


def _with(answer: Any, text: str, finish: str) -> Any:
    answer["choices"][0] |= {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return answer


REFUSAL = put({"role": "assistant", "content": None, "refusal": "I cannot help."}, "choices", 0, "message")
FILTERED = put("content_filter", "choices", 0, "finish_reason")


@contextmanager
def judging(kind: type[Server] = Server) -> Iterator[Server]:
    """A server whose `base_url` is that of a model that judges."""
    with serving(kind) as server:
        server.base_url = f"{server.url}/judge/v1"
        yield server
