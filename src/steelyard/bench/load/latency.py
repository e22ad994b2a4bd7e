"""How long systems take: percentiles of requests, of their stages, of their tokens, and by the tokens that they read.

Of answers that come token by token, as GuideLLM (docs/guides/metrics), vLLM's `bench serve` and AIPerf define them,
which agree on these:

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

import numpy as np
import polars as pl

from steelyard.base.arrays import Ints
from steelyard.base.percentiles import percentile_name
from steelyard.bench.frames import (
    CENSORED_MS,
    DISPATCH_MS,
    ITL_MS,
    LATENCY,
    SERVICE_MS,
    STAGES,
    STREAMING,
    TOKEN_FIT,
    TOKENS_STREAMED,
    TTFT_MS,
    interval_columns,
    rows_of,
)
from steelyard.bench.load.served import Streamed
from steelyard.rag.own.results import Odd
from steelyard.rag.stages.reranking import tokens_of
from steelyard.services.announcements import Usage
from steelyard.stats.intervals.percentiles import PercentileInterval, percentile_intervals
from steelyard.stats.load import fit_line

SHARES, _SHARES = (0.5, 0.95, 0.99), (0.5, 0.95)
"""Of the percentiles that are given, of whole requests and of parts of them."""
TOTAL = "total"
REST = "rest"
_AT = ("system", "depth", "loop", "rate", "users")
_MS_PER_S = 1000
_BLOCK_S = 1.0
"""Requests of so many seconds count as alike: what slows one of them down is there for its neighbours too."""


def latency(requests: pl.DataFrame) -> pl.DataFrame:
    """A row of schema LATENCY for each system, depth and load, of requests of schema REQUESTS, in their order."""
    timed = requests.with_columns(
        ms=CENSORED_MS, service_ms=SERVICE_MS, dispatch_ms=DISPATCH_MS, ok=pl.col("outcome") == "ok"
    )
    rows = [
        {**dict(zip(_AT, key, strict=True)), **_latency_row(level)}
        for key, level in timed.group_by(_AT, maintain_order=True)
    ]
    return rows_of(LATENCY, rows)


def level_intervals(level: pl.DataFrame, column: str, shares: Sequence[float]) -> list[PercentileInterval]:
    """Percentiles of a column of one level, with the intervals that all tables show and all verdicts go by.

    One after the other, requests of one question belong together, and neighbouring ones where they are alike; under
    load, those of a second, and neighbouring ones.

    level   of schema REQUESTS, and the column: of one system, depth and load
    """
    in_time = level["loop"].first() != "sequential"
    level = level if in_time else level.sort("repetition", "number", maintain_order=True)
    clusters = _seconds(level) if in_time else level["query_id"].rank("dense").to_numpy()
    return percentile_intervals(
        level[column].to_numpy(), shares, clusters=clusters, in_time=in_time, in_order=not in_time
    )


def time_percentiles(level: pl.DataFrame, shares: Sequence[float]) -> list[PercentileInterval]:
    """Percentiles of the milliseconds of a level; requests without an answer are infinitely slow."""
    return level_intervals(level.with_columns(ms=CENSORED_MS), "ms", shares)


def _latency_row(level: pl.DataFrame) -> dict[str, object]:
    whole = level_intervals(level, "ms", SHARES)
    of_runs = [_percentiles(run, "ms", (0.95,))[0] for run in level.partition_by("repetition", maintain_order=True)]
    answered = level.filter("ok")
    named = dict[str, float]()
    for share, interval in zip(SHARES, whole, strict=True):
        named |= interval_columns(percentile_name(share), interval)
    service = level.with_columns(service_ms=pl.when("ok").then("service_ms").otherwise(float("inf")))
    return {
        "repetitions": len(of_runs), "n": whole[0].n, "n_censored": whole[0].n_censored, **named,
        "p95_least": min(of_runs), "p95_greatest": max(of_runs),
        **{f"service_{percentile_name(share)}": value
           for share, value in zip(SHARES, _percentiles(service, "service_ms", SHARES), strict=True)},
        "dispatch_p99": _percentiles(level, "dispatch_ms", (0.99,))[0],
        "ms_per_pair": _ratio(answered.filter(pl.col("n_pairs").is_not_null()), pl.col("service_ms"), "n_pairs"),
        "tokens_per_s": tokens_per_s(answered.filter(pl.col("tokens_in").is_not_null()), pl.col("tokens_in")),
    }  # fmt: skip


def _percentiles(level: pl.DataFrame, column: str, shares: Sequence[float]) -> list[float]:
    return [interval.value for interval in percentile_intervals(level[column].to_numpy(), shares)]


def _seconds(level: pl.DataFrame) -> Ints:
    """(n,) the second of each request, numbered in time through all repetitions."""
    block = (pl.col("intended_s") / _BLOCK_S).floor().cast(pl.Int64)
    return level.select(pl.struct("repetition", block).rank("dense")).to_series().to_numpy()


def _ratio(answered: pl.DataFrame, ms: pl.Expr, count: str) -> float | None:
    n = answered[count].sum()
    return float(answered.select(ms.sum()).item() / n) if n else None


def tokens_per_s(answered: pl.DataFrame, tokens: pl.Expr) -> float | None:
    """Tokens a second of the time in which at least one of these requests was under way."""
    busy_s = sum(_union_s(run) for run in answered.partition_by("repetition"))
    return float(answered.select(tokens.sum()).item()) / busy_s if busy_s else None


def _union_s(run: pl.DataFrame) -> float:
    """Seconds that some request covers, of requests of one clock."""
    ordered = run.select("sent_s", "end_s").sort("sent_s")
    sent, end = (ordered[column].to_numpy() for column in ("sent_s", "end_s"))
    until = np.concatenate(([-np.inf], np.maximum.accumulate(end)[:-1]))
    return float(np.maximum(end - np.maximum(sent, until), 0.0).sum())


def stages(requests: pl.DataFrame) -> pl.DataFrame:
    """A row of schema STAGES for each stage of each system, depth and load, of requests that were answered.

    Requests whose system reports no stages are left out.
    """
    reported = requests.filter((pl.col("outcome") == "ok") & (pl.col("stages_ms").list.len() > 0))
    parts = (
        reported.with_row_index("place")
        .select(*_AT, "place", service_ms=SERVICE_MS, stages_ms="stages_ms")
        .explode("stages_ms")
        .unnest("stages_ms")
        .filter(pl.col("stage") != TOTAL)
    )
    named = parts.group_by([*_AT, "place"], maintain_order=True)
    rest = named.agg(stage=pl.lit(REST), ms=pl.col("service_ms").first() - pl.col("ms").sum())
    columns = [*_AT, "stage", "ms"]
    rows = [
        {
            **dict(zip((*_AT, "stage"), key, strict=True)),
            "n": len(of_stage),
            **dict(zip(("p50", "p95"), _percentiles(of_stage, "ms", _SHARES), strict=True)),
        }
        for key, of_stage in pl.concat([parts.select(columns), rest.select(columns)]).group_by(
            [*_AT, "stage"], maintain_order=True
        )
    ]
    order = {key: place for place, key in enumerate(reported.select(_AT).unique(maintain_order=True).iter_rows())}
    rows.sort(key=lambda row: order[tuple(row[name] for name in _AT)])
    return pl.DataFrame(rows, schema=STAGES)


def token_fit(requests: pl.DataFrame) -> pl.DataFrame:
    """A row of schema TOKEN_FIT for each system over all its depths, and where there are several, for each of them.

    Of requests one after the other that were answered, and whose tokens are known; those of a question belong together.
    """
    answered = requests.filter(
        (pl.col("loop") == "sequential") & (pl.col("outcome") == "ok") & pl.col("tokens_in").is_not_null()
    ).select("system", "depth", "query_id", "tokens_in", ms=SERVICE_MS)
    rows = list[list[object]]()
    for of_system in answered.partition_by("system", maintain_order=True):
        of_depths = of_system.partition_by("depth", maintain_order=True)
        rows.append([of_system["system"][0], None, *_line_row(of_system)])
        rows += [[*part.row(0)[:2], *_line_row(part)] for part in of_depths if len(of_depths) > 1]
    return rows_of(TOKEN_FIT, rows)


def _line_row(answered: pl.DataFrame) -> list[float]:
    """n, milliseconds without a token, and milliseconds a thousand tokens with their interval."""
    thousands = answered["tokens_in"].to_numpy() / 1000
    clusters = answered["query_id"].rank("dense").to_numpy()
    line = fit_line(thousands, answered["ms"].to_numpy(), clusters=clusters)
    return [line.n, line.at_0, line.slope, line.low, line.high]


_DONE = "[DONE]"
_TEXTS = ("content", "reasoning_content", "reasoning", "tool_calls", "text")
"""Keys of a piece of a chat, or of a completion, that hold what was generated."""


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
    return rows_of(STREAMING, rows)


def _row(level: pl.DataFrame, answered: pl.DataFrame) -> dict[str, object]:
    ttft = pl.when(pl.col("outcome") == "ok").then(TTFT_MS).otherwise(float("inf"))
    timed = {
        "ttft": level.with_columns(ttft=ttft).drop_nulls("ttft"),
        "itl": answered.with_columns(itl=ITL_MS).drop_nulls("itl"),
    }
    row: dict[str, object] = {"n": len(timed["ttft"])}
    for name, requests in timed.items():
        for share, interval in zip(_SHARES, level_intervals(requests, name, _SHARES), strict=True):
            row |= interval_columns(f"{name}_{percentile_name(share)}", interval)
    tokens = answered.select(TOKENS_STREAMED.mean()).item()
    return row | {"tokens": tokens, "tokens_per_s": tokens_per_s(answered, TOKENS_STREAMED)}
