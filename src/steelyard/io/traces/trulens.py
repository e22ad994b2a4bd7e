"""Records of TruLens: `record_json` of its table of records, or the objects themselves, with their calls.

Source: trulens.org, "trulens.core.schema.record" (Record, RecordAppCall) and `get_records_and_feedback`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from steelyard.io.traces import values
from steelyard.io.traces.items import items_in
from steelyard.io.traces.spans import Role, Span, span_turns
from steelyard.io.traces.turns import Turn

_NAMES: Mapping[str, Role] = {
    "rerank": "rerank", "postprocess_nodes": "rerank", "retriev": "retrieve", "get_relevant_documents": "retrieve",
    "similarity_search": "retrieve", "generate": "generate", "completion": "generate",
}  # fmt: skip
"""Part of the name of a method -> what it does; the first that fits."""


def turns(objects: Iterable[Any]) -> Iterator[Turn]:
    """Turns of records."""
    return span_turns(span for record in _records(objects) for span in _spans(record))


def _records(objects: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for value in objects:
        if isinstance(value, list):
            yield from _records(value)
        elif isinstance(value, Mapping):
            inner = next((value[key] for key in ("records", "data") if isinstance(value.get(key), list)), None)
            if inner is not None:
                yield from _records(inner)
            else:
                yield {**values.mapping(value.get("record_json")), **{k: v for k, v in value.items() if v is not None}}


def _spans(record: Mapping[str, Any]) -> Iterator[Span]:
    trace_id = values.text(record.get("record_id")) or "record"
    perf, cost = values.mapping(record.get("perf")), values.mapping(record.get("cost"))
    costs = {**values.mapping(record.get("cost_json")), **cost}
    tokens = [values.number(costs.get(name)) for name in ("n_prompt_tokens", "n_completion_tokens")]
    into, out = (None if count is None else int(count) for count in tokens)
    metadata = values.mapping(record.get("meta"))
    yield Span(
        trace_id,
        trace_id,
        None,
        "other",
        values.first(record, ("main_input", "input")),
        values.first(record, ("main_output", "output")),
        start=values.seconds(values.first(perf, ("start_time",)) or record.get("ts")),
        end=values.seconds(perf.get("end_time")),
        tokens=(into, out),
        error=values.text(record.get("main_error")),
        query_id=values.text(values.first({**metadata, **record}, ("query_id", "question_id", "qid"))),
        conversation=values.text(values.first(metadata, ("session_id", "conversation_id", "thread_id"))),
    )
    contexts = values.first(record, ("contexts", "context"))
    if contexts is not None:
        yield Span(trace_id, f"{trace_id}/contexts", trace_id, "retrieve", documents=items_in(contexts))
    for number, call in enumerate(values.listed(record.get("calls")) or ()):
        if isinstance(call, Mapping):
            yield _call(call, trace_id, number)


def _call(call: Mapping[str, Any], trace_id: str, number: int) -> Span:
    """The call of a method: its arguments, what it returned, and what it does by its name."""
    stack = values.listed(call.get("stack")) or [{}]
    method = values.mapping(values.mapping(stack[-1]).get("method")).get("name")
    role: Role = next((role for part, role in _NAMES.items() if part in str(method).lower()), "other")
    perf = values.mapping(call.get("perf"))
    return Span(
        trace_id,
        f"{trace_id}/{number}",
        trace_id,
        role,
        call.get("args"),
        call.get("rets"),
        start=values.seconds(perf.get("start_time")),
        end=values.seconds(perf.get("end_time")),
        error=values.text(call.get("error")),
        gaps=frozenset({"truncated"} if values.is_cut(call.get("rets")) else ()),
    )
