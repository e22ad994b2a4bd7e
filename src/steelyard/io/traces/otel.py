"""Spans of OpenTelemetry: conventions for GenAI, OpenInference, and what frameworks write beside these.

As OTLP in JSON (`resourceSpans`), as spans with flat attributes, one a line or in a list, and as frames of Phoenix.
Sources: opentelemetry.io, "Semantic conventions for generative AI"; github.com/Arize-ai/openinference,
spec/semantic_conventions.md; the otel span attributes of TruLens, Langfuse and OpenLLMetry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from steelyard.io.traces import values
from steelyard.io.traces.items import items_in
from steelyard.io.traces.spans import Span, role_named, span_turns
from steelyard.io.traces.turns import Turn

_KINDS = (
    "openinference.span.kind", "gen_ai.operation.name", "ai.observability.span_type", "langfuse.observation.type",
    "traceloop.span.kind",
)  # fmt: skip
_INPUTS = (
    "input.value", "gen_ai.retrieval.query.text", "reranker.query", "gen_ai.input.messages", "llm.input_messages",
    "ai.observability.record_root.input", "ai.observability.retrieval.query_text", "langfuse.observation.input",
    "langfuse.trace.input", "traceloop.entity.input", "gen_ai.prompt", "gen_ai.tool.call.arguments",
)  # fmt: skip
_OUTPUTS = (
    "gen_ai.output.messages", "llm.output_messages", "output.value", "ai.observability.record_root.output",
    "langfuse.observation.output", "langfuse.trace.output", "traceloop.entity.output", "gen_ai.completion",
    "gen_ai.tool.call.result",
)  # fmt: skip
_DOCUMENTS = (
    "reranker.output_documents", "retrieval.documents", "gen_ai.retrieval.documents",
    "ai.observability.retrieval.retrieved_contexts",
)  # fmt: skip
_TOKENS = (
    ("gen_ai.usage.input_tokens", "llm.token_count.prompt", "gen_ai.usage.prompt_tokens"),
    ("gen_ai.usage.output_tokens", "llm.token_count.completion", "gen_ai.usage.completion_tokens"),
)
_CONVERSATIONS = (
    "gen_ai.conversation.id", "session.id", "langfuse.session.id", "traceloop.association.properties.session_id",
)  # fmt: skip
_QUESTIONS = ("query_id", "question_id", "qid", "metadata.query_id", "metadata.question_id", "metadata.qid",
              "langfuse.experiment.item.id", "ai.observability.input_id")  # fmt: skip
_USERS = ("user.id", "enduser.id", "langfuse.user.id", "traceloop.association.properties.user_id")
_COSTS = ("gen_ai.usage.cost", "llm.cost.total", "gen_ai.cost.total_cost", "operation.cost")
_VERSIONS = ("service.version", "langfuse.release", "langfuse.version")
_ERRORS = ("exception.message", "error.type")
_OF_OTLP = {"resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "resourceMetrics"}
_MOST_PARTS = 12
"""Dots in the name of an attribute beyond which it is not divided."""


def turns(objects: Iterable[Any]) -> Iterator[Turn]:
    """Turns of the values of a file: objects with `resourceSpans`, spans, lists of these, rows of a frame."""
    return span_turns(spans(objects))


def spans(objects: Iterable[Any], *, first: int = 0) -> Iterator[Span]:
    """Spans of these values, in their order;   first   number of the first one, which names one without ids."""
    return (_span(span, number) for number, span in enumerate(records(objects), first))


def records(objects: Iterable[Any], signal: str = "Spans") -> Iterator[Mapping[str, Any]]:
    """Spans as they are written, each with its `resource`; with signal "Logs" records of logs."""
    snake = signal.lower()
    for value in objects:
        if isinstance(value, list):
            yield from records(value, signal)
        elif not isinstance(value, Mapping):
            continue
        elif (resources := _listed(value, f"resource{signal}", f"resource_{snake}")) is not None:
            yield from (
                {**record, "resource": resource.get("resource")}
                for resource in resources
                for scope in _listed(resource, f"scope{signal}", f"scope_{snake}", f"instrumentationLibrary{signal}")
                or ()
                for record in _listed(scope, "spans", "logRecords", "log_records") or ()
                if isinstance(record, Mapping)
            )
        elif (inner := _listed(value, "spans", "data")) is not None and "attributes" not in value:
            yield from records(inner, signal)
        elif not _OF_OTLP & value.keys():
            yield value


def _listed(value: Any, *keys: str) -> list[Any] | None:
    held = (value.get(key) for key in keys) if isinstance(value, Mapping) else ()
    return next((own for own in held if isinstance(own, list)), None)


def _span(span: Mapping[str, Any], number: int) -> Span:
    """A span of any of these forms; one without ids is a trace by itself."""
    fields = attributes(span)
    kind = first_of(fields, _KINDS) or span.get("span_kind")
    context = values.mapping(span.get("context"))
    trace_id = values.first(span, ("traceId", "trace_id", "context.trace_id")) or context.get("trace_id")
    span_id = values.first(span, ("spanId", "span_id", "context.span_id")) or context.get("span_id")
    documents = first_of(fields, _DOCUMENTS)
    is_cut = any(values.is_cut(value) for value in (documents, first_of(fields, _INPUTS), first_of(fields, _OUTPUTS)))
    dropped = values.number(values.first(span, ("droppedAttributesCount", "dropped_attributes_count")))
    given = first_of(fields, ("reranker.input_documents",))
    return Span(
        values.text(trace_id) or values.text(span_id) or f"span {number + 1}",
        values.text(span_id) or f"span {number + 1}",
        values.text(values.first(span, ("parentSpanId", "parent_span_id", "parent_id"))),
        role_named(kind),
        first_of(fields, _INPUTS),
        first_of(fields, _OUTPUTS),
        None if documents is None else items_in(documents),
        None if given is None else items_in(given),
        values.seconds(values.first(span, ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"))),
        values.seconds(values.first(span, ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"))),
        _tokens(fields),
        _error(span, fields),
        values.text(first_of(fields, _QUESTIONS)),
        values.text(first_of(fields, _CONVERSATIONS)),
        values.text(first_of(fields, _USERS)),
        values.text(first_of(fields, _VERSIONS)) or _version(span),
        values.number(first_of(fields, _COSTS)),
        frozenset(name for name, has in (("truncated", is_cut), ("dropped", bool(dropped))) if has),
    )


def _version(span: Mapping[str, Any]) -> str | None:
    """Version of the service that wrote a span."""
    resource = values.mapping(span.get("resource")).get("attributes")
    held = _key_values(resource) if isinstance(resource, list) else values.mapping(resource)
    return values.text(held.get("service.version"))


def attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a span and of its events, nested by the dots in their names."""
    own = span.get("attributes")
    flat = _key_values(own) if isinstance(own, list) else dict(own) if isinstance(own, Mapping) else values.mapping(own)
    columns = {key.removeprefix("attributes."): value for key, value in span.items() if key.startswith("attributes.")}
    bare = {} if flat or columns else {key: value for key, value in span.items() if "." in key}
    listed_events = values.listed(span.get("events")) or ()
    return _nested([*map(_event, listed_events), bare, columns, flat])


def _event(event: Any) -> Mapping[str, Any]:
    """What an event adds: its attributes, and the message that older conventions have as an event of its own."""
    fields = values.mapping(event)
    own = fields.get("attributes")
    attributes = dict(_key_values(own) if isinstance(own, list) else values.mapping(own))
    name, body = str(fields.get("name", "")), values.mapping(fields.get("body"))
    message = attributes | dict(body)
    if name in ("gen_ai.user.message", "gen_ai.choice") and message:
        value = message.get("message", message.get("content"))
        return {"gen_ai.prompt" if name == "gen_ai.user.message" else "gen_ai.completion": value}
    return attributes


def _key_values(attributes: Sequence[Any]) -> dict[str, Any]:
    """Attributes of OTLP: a list of {key, value}, where a value is one of `stringValue`, `intValue`, …."""
    pairs = ((pair.get("key"), pair.get("value")) for pair in attributes if isinstance(pair, Mapping))
    return {key: _any_value(value) for key, value in pairs if isinstance(key, str)}


def _any_value(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    kind, own = next(iter(value.items()), ("", None))
    if kind in ("arrayValue", "array_value"):
        return [_any_value(item) for item in _listed(own, "values") or ()]
    if kind in ("kvlistValue", "kvlist_value"):
        return _key_values(_listed(own, "values") or ())
    return own


def _nested(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Attributes by name, and those with dots also as objects within objects, where no value is in the way."""
    tree: dict[str, Any] = {}
    for flat in parts:
        for name, value in flat.items():
            if value is None or value == "":
                continue
            *above, last = str(name).split(".", _MOST_PARTS)
            place = tree
            for part in above:
                inner = place.get(part)
                if not isinstance(inner, dict):
                    inner = place[part] = {} if inner is None else {"": inner}
                place = inner
            held = place.get(last)
            if isinstance(held, dict) and not isinstance(value, Mapping):
                held[""] = value
            else:
                place[last] = {**held, **value} if isinstance(held, dict) and isinstance(value, Mapping) else value
    return tree


def first_of(tree: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The value of the first attribute of these names that has one."""
    for name in names:
        value: Any = tree
        for part in name.split("."):
            held = value if type(value) is dict else values.mapping(value)  # `metadata` is an object, or its JSON.
            if (value := held.get(part)) is None:
                break
        if isinstance(value, Mapping) and set(value) == {""}:
            value = value[""]
        if value not in (None, "", [], {}):
            return value
    return None


def _tokens(fields: Mapping[str, Any]) -> tuple[int | None, int | None]:
    counts = (values.number(first_of(fields, names)) for names in _TOKENS)
    into, out = (None if count is None else int(count) for count in counts)
    return into, out


def _error(span: Mapping[str, Any], fields: Mapping[str, Any]) -> str | None:
    """Why a span failed, where its status says so: code 2 or ERROR."""
    status = values.mapping(span.get("status"))
    code = values.first(span, ("status_code", "statusCode")) or values.first(status, ("code", "status_code"))
    if str(code).removeprefix("STATUS_CODE_").removeprefix("StatusCode.") not in ("2", "ERROR", "2.0"):
        return None
    message = values.first(span, ("status_message", "statusMessage")) or values.first(
        status, ("message", "description")
    )
    return values.text(message) or values.text(first_of(fields, _ERRORS)) or "failed"
