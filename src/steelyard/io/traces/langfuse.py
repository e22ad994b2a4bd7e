"""Exports of Langfuse: a trace with its `observations`, observations alone, and traces alone; JSON, JSONL or CSV.

Source: langfuse.com, "Export data from the UI", "Blob storage export field reference" and the API's Observation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from steelyard.io.traces import values
from steelyard.io.traces.spans import Role, Span, role_named, span_turns
from steelyard.io.traces.turns import Turn

_QUESTIONS = ("query_id", "question_id", "qid", "dataset_item_id", "datasetItemId")


def turns(objects: Iterable[Any]) -> Iterator[Turn]:
    """Turns of traces, with their observations beneath, beside or without them."""
    return span_turns(spans(objects))


def spans(objects: Iterable[Any]) -> Iterator[Span]:
    """Spans of traces and of their observations."""
    for value in objects:
        if isinstance(value, list):
            yield from spans(value)
        elif isinstance(value, Mapping):
            yield from _spans_of(value)


def _spans_of(value: Mapping[str, Any]) -> Iterator[Span]:
    inner = values.listed(value.get("observations", value.get("traces", value.get("data"))))
    trace = value.get("trace") if isinstance(value.get("trace"), Mapping) else value
    assert isinstance(trace, Mapping)
    is_wrapper = "id" not in trace
    if not is_wrapper:
        yield _span(trace, is_trace="traceId" not in trace and "trace_id" not in trace)
    for observation in inner or ():
        if isinstance(observation, Mapping):
            if is_wrapper:
                yield from _spans_of(observation)
            else:
                yield _span({"traceId": trace["id"], **observation}, is_trace=False, top=trace)


def _span(fields: Mapping[str, Any], *, is_trace: bool, top: Mapping[str, Any] | None = None) -> Span:
    """A span of a trace, or of an observation;   top   its trace, below which an observation without a parent is"""
    own_id = values.text(fields.get("id")) or ""
    trace_id = own_id if is_trace else values.text(values.first(fields, ("traceId", "trace_id"))) or own_id
    parent = values.text(values.first(fields, ("parentObservationId", "parent_observation_id")))
    usage = values.mapping(values.first(fields, ("usageDetails", "usage_details", "usage")))
    metadata = values.mapping(fields.get("metadata"))
    counted = {**fields, **usage}  # `input` and `output` of an observation are its texts.
    tokens = (
        values.first(usage, ("input",)) or values.first(counted, ("promptTokens", "input_tokens")),
        values.first(usage, ("output",)) or values.first(counted, ("completionTokens", "output_tokens")),
    )
    start = values.seconds(values.first(fields, ("startTime", "start_time", "timestamp")))
    latency = values.number(fields.get("latency"))
    end = values.seconds(values.first(fields, ("endTime", "end_time")))
    if end is None and is_trace and start is not None and latency is not None:
        end = start + latency
    costs = values.mapping(values.first(fields, ("costDetails", "cost_details")))
    role = "other" if is_trace else role_named(fields.get("type"))
    into, out = (None if (n := values.number(count)) is None else int(n) for count in tokens)
    return Span(
        trace_id,
        trace_id if is_trace else f"{trace_id}/{own_id}",
        f"{trace_id}/{parent}" if parent is not None and not is_trace else trace_id if top is not None else None,
        role if role != "other" or is_trace else _by_name(fields),
        fields.get("input"),
        fields.get("output"),
        start=start,
        end=end,
        tokens=(into, out),
        error=_error(fields),
        query_id=values.text(values.first({**metadata, **fields}, _QUESTIONS)),
        conversation=values.text(values.first(fields, ("sessionId", "session_id"))),
        user=values.text(values.first(fields, ("userId", "user_id"))),
        version=values.text(values.first(fields, ("release", "version"))),
        cost_usd=values.number(
            values.first({**costs, **fields}, ("totalCost", "total_cost", "calculatedTotalCost", "total"))
        ),
        gaps=frozenset({"truncated"} if any(map(values.is_cut, (fields.get("input"), fields.get("output")))) else ()),
    )


def _by_name(fields: Mapping[str, Any]) -> Role:
    """The role of a span by its name, as older SDKs have no kind of retrievers."""
    name = str(fields.get("name", "")).lower()
    return "rerank" if "rerank" in name else "retrieve" if "retriev" in name else "other"


def _error(fields: Mapping[str, Any]) -> str | None:
    if fields.get("level") != "ERROR":
        return None
    return values.text(values.first(fields, ("statusMessage", "status_message"))) or "failed"
