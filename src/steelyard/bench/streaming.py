"""Answers that come token by token: how long until the first, and from one to the next.

As GuideLLM (docs/guides/metrics), vLLM's `bench serve` and AIPerf define them, which agree on these:

time to first token    from the request to the first piece that holds text; pieces without any do not count.  In an open
                       loop the request counts from its intended start, so that queues are in it, as users wait
inter-token latency    (last token - first token) / (tokens - 1), one value an answer; vLLM calls it the time per output
                       token, and keeps the other name for each single gap
tokens a second        output tokens of all answers over the time in which any request was under way
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from steelyard.base.percentiles import percentile_name
from steelyard.bench.frames import STREAMING
from steelyard.bench.latency import level_intervals, tokens_per_s
from steelyard.bench.load.served import Streamed
from steelyard.bench.requests import ITL_MS, TOKENS_STREAMED, TTFT_MS
from steelyard.rag.endpoints import tokens_of
from steelyard.rag.target_results import Odd
from steelyard.services.spending import Usage

_DONE = "[DONE]"
_TEXTS = ("content", "reasoning_content", "reasoning", "tool_calls", "text")
"""Keys of a piece of a chat, or of a completion, that hold what was generated."""
_AT = ("system", "depth", "loop", "rate", "users")
_SHARES = (0.5, 0.95)


def read_stream(events: Sequence[tuple[float, str]]) -> tuple[Streamed, Usage | None]:
    """When an answer came, from the data of its events with their times, and the tokens that the server says it took.

    Raises   Odd for an error among the events, a chat that ends before it is done, and an answer without text.

    >>> piece = '{"choices": [{"delta": {"content": "so"}, "finish_reason": null}]}'
    >>> head = '{"choices": [{"delta": {"role": "assistant", "content": ""}}]}'
    >>> read_stream([(0.1, head), (0.2, piece), (0.3, piece), (0.4, "[DONE]")])
    (Streamed(first_at=0.2, last_at=0.3, n_pieces=2), None)
    """
    times, usage, is_chat, is_done = list[float](), None, False, False
    for at, data in events:
        if not data or data == _DONE:
            is_done |= data == _DONE
            continue
        piece = _parsed(data)
        if isinstance(piece, Mapping) and piece.get("error"):
            raise Odd(f"streamed an error: {piece['error']}")
        usage = tokens_of(piece) or usage
        choices = piece.get("choices") if isinstance(piece, Mapping) else None
        if isinstance(choices, list):
            is_chat = True
            is_done |= any(isinstance(choice, Mapping) and choice.get("finish_reason") for choice in choices)
        if any(map(_holds_text, choices)) if isinstance(choices, list) else piece:
            times.append(at)
    if is_chat and not is_done:
        raise Odd("ended its stream before it was done")
    if not times:
        raise Odd("streamed no text")
    return Streamed(times[0], times[-1], len(times)), usage


def _parsed(data: str) -> Any:
    """The JSON of an event; a text that is none, as it is."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data


def _holds_text(choice: Any) -> bool:
    if not isinstance(choice, Mapping):
        return False
    delta = choice.get("delta")
    return any(part.get(key) for part in (choice, delta) if isinstance(part, Mapping) for key in _TEXTS)


def streaming(requests: pl.DataFrame) -> pl.DataFrame:
    """A row of schema STREAMING for each system, depth and load with streamed answers, of requests of schema REQUESTS.

    Requests without an answer count as infinitely slow to the first token, as in `latency`.
    """
    rows = []
    for key, level in requests.group_by(_AT, maintain_order=True):
        answered = level.filter(pl.col("pieces").is_not_null() & (pl.col("outcome") == "ok"))
        if not answered.is_empty():
            rows.append({**dict(zip(_AT, key, strict=True)), **_row(level, answered)})
    return pl.DataFrame(rows, schema=STREAMING).with_columns(pl.col(pl.Float64).fill_nan(None))


def _row(level: pl.DataFrame, answered: pl.DataFrame) -> dict[str, object]:
    ttft = pl.when(pl.col("outcome") == "ok").then(TTFT_MS).otherwise(float("inf"))
    timed = {
        "ttft": level.with_columns(ttft=ttft).drop_nulls("ttft"),
        "itl": answered.with_columns(itl=ITL_MS).drop_nulls("itl"),
    }
    row: dict[str, object] = {"n": len(timed["ttft"])}
    for name, requests in timed.items():
        for share, interval in zip(_SHARES, level_intervals(requests, name, _SHARES), strict=True):
            column = f"{name}_{percentile_name(share)}"
            row |= {column: interval.value, f"{column}_low": interval.low, f"{column}_high": interval.high}
    tokens = answered.select(TOKENS_STREAMED.mean()).item()
    return row | {"tokens": tokens, "tokens_per_s": tokens_per_s(answered, TOKENS_STREAMED)}
