"""Traces as requests: spans of OpenTelemetry, Phoenix and Langfuse, with their scores, annotations and evaluations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from steelyard.io.retrieved_items import content_id
from steelyard.io.traces import langfuse, otel, values
from steelyard.io.traces.spans import Span, span_turns
from steelyard.io.traces.turns import Turn
from steelyard.traffic.foreign.feedback import Score, add_score
from steelyard.traffic.foreign.tables import Batches, Converted, Gathered, at, frame_of

HELD = 20_000
"""Spans after which a trace without a further one counts as whole."""
_EVALUATION = "gen_ai.evaluation.result"
_LOST = {"truncated": "trace_truncated", "dropped": "trace_dropped", "orphans": "trace_without_parents"}
"""Gaps of a trace by which something of it is lost."""
_OF_SPANS = ("trace_id", "traceId", "context.trace_id", "context")
_KINDS = ("openinference", "gen_ai", "ai.observability", "traceloop")

Part = Span | Score
Parts = Callable[[Any, int], Iterator[Part | None]]
"""Spans and scores of a record, which has this number; None for what in it is neither."""


def otel_fits(records: Sequence[Any]) -> bool:
    """True for OTLP in JSON, and for spans with flat attributes of GenAI or OpenInference."""
    return any(
        any(key.startswith(("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")) for key in fields)
        or (any(key in fields for key in _OF_SPANS) and _names_kind(fields))
        for fields in map(values.mapping, records)
    )


def _names_kind(fields: Mapping[str, Any]) -> bool:
    attributes = fields.get("attributes")
    names = [*fields, *(pair.get("key") for pair in attributes if isinstance(pair, Mapping))] if isinstance(
        attributes, list) else [*fields, *values.mapping(attributes)]  # fmt: skip
    return any(str(name).removeprefix("attributes.").startswith(_KINDS) for name in names)


def phoenix_fits(records: Sequence[Any]) -> bool:
    """True for annotations of Phoenix, and for its spans: a context of their own, and a kind."""
    listed = [values.mapping(record) for record in _unwrapped(records)]
    return any(
        "annotator_kind" in fields or ("span_kind" in fields and ("context" in fields or "context.trace_id" in fields))
        for fields in listed
    )


def langfuse_fits(records: Sequence[Any]) -> bool:
    """True for traces, observations and scores of Langfuse."""
    keys = [values.mapping(record).keys() for record in _unwrapped(records)]
    return any(
        _is_score(own)
        or {"observations", "id"} <= own
        or ("type" in own and bool({"traceId", "trace_id"} & own) and bool({"startTime", "start_time"} & own))
        or ({"id", "timestamp", "input", "output"} <= own and bool({"sessionId", "session_id", "userId"} & own))
        for own in keys
    )


def _is_score(keys: Iterable[str]) -> bool:
    own = set(keys)
    is_typed = bool({"dataType", "data_type"} & own)
    return {"name", "value"} <= own and is_typed and bool({"traceId", "trace_id"} & own)


def _unwrapped(records: Iterable[Any]) -> Iterator[Any]:
    """Records, those of a page of an API (`data`) one by one."""
    for record in records:
        inner = record.get("data", record.get("traces")) if isinstance(record, Mapping) else record
        if isinstance(inner, list):
            yield from _unwrapped(inner)
        else:
            yield record


def otel_parts(record: Any, number: int) -> Iterator[Part | None]:
    """Spans and evaluations of a record of OpenTelemetry or Phoenix, and annotations of Phoenix."""
    for inner in _unwrapped([record]):
        fields = values.mapping(inner)
        if "annotator_kind" in fields:
            yield _annotation(fields)
            continue
        logs = [*otel.records([fields], "Logs")] if at(fields, "resourceLogs", "resource_logs") else []
        spans = [*otel.records([fields])] if not logs else []
        if not spans and not logs:
            yield None
        for own in logs:
            yield _evaluation(own, own) if _event_name(own) == _EVALUATION else None
        for place, own in enumerate(spans):
            if own.get("name") == _EVALUATION:  # Some write the event as a span without duration.
                yield _evaluation(own, own)
                continue
            (span,) = otel.spans([own], first=number * 1_000 + place)
            yield span
            events = (values.mapping(event) for event in values.listed(own.get("events")) or ())
            yield from (_evaluation(event, own) for event in events if event.get("name") == _EVALUATION)


def _event_name(record: Mapping[str, Any]) -> Any:
    """Name of the event that a record of a log is."""
    named = values.first(record, ("eventName", "event_name", "name"))
    return named or otel.first_of(otel.attributes(record), ("event.name",))


def _evaluation(event: Mapping[str, Any], owner: Mapping[str, Any]) -> Score | None:
    """An evaluation of the operation that its span or record of a log belongs to."""
    said = otel.attributes(event)
    context = values.mapping(owner.get("context"))
    name = values.text(otel.first_of(said, ("gen_ai.evaluation.name",)))
    moment = values.first(
        event,
        ("timeUnixNano", "time_unix_nano", "timestamp", "observedTimeUnixNano", "startTimeUnixNano", "start_time"),
    )
    if name is None:
        return None
    return Score(
        values.text(values.first(owner, ("traceId", "trace_id", "context.trace_id")) or context.get("trace_id")),
        values.text(values.first(owner, ("spanId", "span_id", "context.span_id")) or context.get("span_id")),
        name,
        otel.first_of(said, ("gen_ai.evaluation.score.value",)),
        otel.first_of(said, ("gen_ai.evaluation.score.label",)),
        values.seconds(moment),
    )


def _annotation(fields: Mapping[str, Any]) -> Score | None:
    """An annotation of a span in Phoenix, of its API or of a frame; of a document it is none of an answer."""
    name = values.text(at(fields, "name", "annotation_name"))
    if name is None or fields.get("document_position") is not None:
        return None
    return Score(
        values.text(at(fields, "trace_id", "context.trace_id")),
        values.text(at(fields, "span_id", "context.span_id")),
        name,
        at(fields, "result.score", "score"),
        at(fields, "result.label", "label"),
        values.seconds(at(fields, "created_at", "updated_at")),
        values.text(fields.get("annotator_kind")),
    )


def langfuse_parts(record: Any, number: int) -> Iterator[Part | None]:
    """Spans and scores of a record of Langfuse."""
    for inner in _unwrapped([record]):
        fields = values.mapping(inner)
        if _is_score(fields):
            yield _langfuse_score(fields)
        elif "id" not in fields:
            yield None
        else:
            yield from langfuse.spans([fields])
            own = (values.mapping(score) for score in values.listed(fields.get("scores")) or ())
            yield from (_langfuse_score({"traceId": fields["id"], **score}) for score in own if "name" in score)


def _langfuse_score(fields: Mapping[str, Any]) -> Score | None:
    trace_id = values.text(values.first(fields, ("traceId", "trace_id")))
    name = values.text(fields.get("name"))
    if trace_id is None or name is None:  # Scores of sessions and of runs of data sets have no trace.
        return None
    return Score(
        trace_id,
        None,
        name,
        fields.get("value"),
        values.first(fields, ("stringValue", "string_value")),
        values.seconds(values.first(fields, ("timestamp", "createdAt", "created_at"))),
        values.text(fields.get("source")),
    )


@dataclass
class _Traces:
    """Traces that are not whole yet, and scores that name a span that was not seen yet.

    n_spans  that were seen;   open   trace_id -> its spans, and n_spans at the last of them
    seen     span ids and their trace ids, in tables of a batch each, where scores need them
    waiting  scores that name a span alone, with the numbers of their records
    """

    gathered: Gathered = field(default_factory=Gathered)
    n_spans: int = 0
    open: dict[str, tuple[list[Span], int]] = field(default_factory=dict)
    seen: list[pl.DataFrame] = field(default_factory=list)
    waiting: list[tuple[Score, int]] = field(default_factory=list)

    def add(self, parts: Iterable[tuple[Part | None, int]]) -> None:
        ids: list[dict[str, str]] = []
        for part, number in parts:
            if part is None:
                self.gathered.miss("unknown_record", number)
            elif isinstance(part, Span):
                self.n_spans += 1
                spans = self.open.pop(part.trace_id, ([], 0))[0]
                spans.append(part)
                self.open[part.trace_id] = (spans, self.n_spans)  # the one touched last is the last
                ids.append({"span": part.span_id, "trace": part.trace_id})
            elif part.trace_id is not None:
                add_score(part, self.gathered, number)
            else:
                self.waiting.append((part, number))
        self.seen.append(frame_of(ids, pl.Schema({"span": pl.String(), "trace": pl.String()})))

    def flush(self, *, is_end: bool = False) -> Converted:
        """Tables of the traces that are whole; at the end all, with the scores that were waiting."""
        while self.open:
            trace_id, (spans, last) = next(iter(self.open.items()))
            if not is_end and last > self.n_spans - HELD:
                break
            del self.open[trace_id]
            for turn in span_turns(spans):
                _add_turn(turn, self.gathered)
        if is_end and self.waiting:
            self._place()
        return self.gathered.take()

    def _place(self) -> None:
        """Add the scores that name a span alone."""
        wanted = frame_of([{"span": score.span_id} for score, _ in self.waiting], pl.Schema({"span": pl.String()}))
        spans = pl.concat(self.seen).join(wanted, on="span", how="semi")
        trace_of = dict(spans.iter_rows())
        for score, number in self.waiting:
            if (trace_id := trace_of.get(score.span_id)) is None:
                self.gathered.miss("score_without_span", number)
            else:
                add_score(Score(**{**vars(score), "trace_id": trace_id}), self.gathered, number)


def convert_with(parts: Parts) -> Callable[[Batches], Iterator[Converted]]:
    """The conversion of records that these parts are of.

    A trace is converted once HELD further spans have come, or all records have.  Of ids of spans, some 100 bytes each
    are held, since scores may name a span alone.
    """

    def convert(batches: Batches) -> Iterator[Converted]:
        traces, number = _Traces(), 0
        for batch in batches:
            numbered = enumerate(batch, number + 1)
            traces.add((part, place) for place, record in numbered for part in parts(record, place))
            number += len(batch)
            yield traces.flush()
        yield traces.flush(is_end=True)

    return convert


def _add_turn(turn: Turn, gathered: Gathered) -> None:
    """Add a trace as an impression, and its answer."""
    if turn.question is None and turn.is_empty:
        gathered.miss("trace_without_question", f"trace {turn.trace_id}")
        return
    for gap, kind in _LOST.items():
        if gap in turn.gaps:
            gathered.miss(kind, f"trace {turn.trace_id}", is_fatal=False)
    items = turn.items
    scores = [item.get("score") for item in items or ()]
    gathered.add(
        "impression",
        time=turn.start,
        request=turn.trace_id,
        user=turn.user,
        session=turn.conversation,
        query=turn.question,
        doc_ids=None if items is None else [_id(item) for item in items],
        scores=scores if scores and None not in scores else None,
        latency_ms=turn.latency_ms.get("total"),
        tokens_in=turn.tokens.get("input"),
        tokens_out=turn.tokens.get("output"),
        cost_usd=turn.cost_usd,
        error=turn.error,
        config=turn.version,
    )
    if turn.answer is not None:
        start, total = turn.start, turn.latency_ms.get("total", 0.0)
        texts = [item["text"] for item in items or () if "text" in item]
        time = None if start is None else start + total / 1000
        gathered.add("answer", time=time, request=turn.trace_id, answer=turn.answer, contexts=texts or None)


def _id(item: Mapping[str, Any]) -> str:
    return str(item["id"]) if "id" in item else content_id(item.get("text", ""))
