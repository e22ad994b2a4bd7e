"""Response of a system to one question, and its line in a file of outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from steelyard.base.errors import exception_line
from steelyard.data.corpus import Passage

GENERATE = "generate"
"""The stage that answers, the last one."""


@dataclass(frozen=True, slots=True)
class Response:
    """Response of a system to one question, be it a pipeline, a target of the user's own, or a line on disk.

    query       what was asked
    passages    results, best first; those of a pipeline are in canonical order
    answer      None where the system generates none
    latency_ms  milliseconds of each stage that there is, such as embed, search, rerank, generate; and total
    candidates  ids that `passages` was taken from, in the order before any reranking; None where the system does not
                report them, or `passages` is all of it
    error       why the system failed on this question
    failed      the stage that failed, where it is known.  What earlier stages gave is here: where it is "generate", the
                passages are the system's, and the answer alone is missing
    """

    query: str
    passages: tuple[Passage, ...] = ()
    answer: str | None = None
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    candidates: tuple[str, ...] | None = None
    error: str | None = None
    failed: str | None = None

    @property
    def is_retrieved(self) -> bool:
        """True if passages are what the system retrieved: it did not fail, or only its answer did."""
        return self.error is None or self.failed == GENERATE


def encode_response(query_id: str, response: Response) -> bytes:
    r"""One line of JSON in UTF-8, the way `steelyard run` keeps a response, its end included.

    What is None is left out, and milliseconds have four decimals, those of stages alone where one failed; half a
    character (a lone surrogate), which UTF-8 does not have, is escaped, and so is all of its line.

    >>> encode_response("q1", Response("why?", (Passage("d#2", score=0.5),), latency_ms={"total": 1.25}))
    b'{"qid":"q1","query":"why?","retrieved":[{"id":"d#2","score":0.5}],"latency_ms":{"total":1.25}}\n'
    """
    line: dict[str, Any] = {
        "qid": query_id,
        "query": response.query,
        "retrieved": [_fields(passage) for passage in response.passages],
    }
    if response.candidates is not None:
        line["candidates"] = response.candidates
    if response.answer is not None:
        line["answer"] = response.answer
    latency_ms = {stage: round(ms, 4) for stage, ms in response.latency_ms.items()}
    if response.error is not None:
        line["error"] = response.error
        latency_ms.pop("total", None)
        if response.failed is not None:
            line["failed"] = response.failed
    if latency_ms or response.error is None:
        line["latency_ms"] = latency_ms
    try:
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return f"{json.dumps(line)}\n".encode()


def _fields(passage: Passage) -> dict[str, Any]:
    chunk_id, doc, start, end, text, score, pages = passage
    fields: dict[str, Any] = {"id": chunk_id, "score": score, "text": text, "doc": doc, "start": start, "end": end}
    if pages is not None:
        fields["pages"] = pages
    return {name: value for name, value in fields.items() if value is not None} if None in passage[:6] else fields


def _milliseconds(stages: Mapping[str, Any]) -> Mapping[str, float]:
    """Milliseconds of each stage; TypeError for what is no number."""
    for stage, ms in stages.items():
        if not isinstance(ms, int | float):
            raise TypeError(f"latency_ms of {stage!r} is no number")
    return stages


def decode_response(line: bytes | str) -> tuple[str, Response]:
    """The question's id and the response of a line that `encode_response` wrote.

    Raises   ValueError for a line that is damaged or is none of ours.
    """
    try:
        values = json.loads(line)
        passages = tuple(
            Passage(
                item["id"],
                item.get("doc"),
                item.get("start"),
                item.get("end"),
                item.get("text"),
                item.get("score"),
                None if item.get("pages") is None else tuple(item["pages"]),
            )
            for item in values["retrieved"]
        )
        candidates = values.get("candidates")
        return values["qid"], Response(
            values["query"],
            passages,
            answer=values.get("answer"),
            latency_ms=_milliseconds(values.get("latency_ms") or {}),
            candidates=None if candidates is None else tuple(candidates),
            error=values.get("error"),
            failed=values.get("failed"),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is no line of a run ({exception_line(error)})") from error
