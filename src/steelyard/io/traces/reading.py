"""Files and frames of traces: which format they have by their keys, and their lines as outputs of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.base.notes import Note
from steelyard.io.json_files import json_lines, parse_json_values
from steelyard.io.source import Source
from steelyard.io.tables import column_names, columnar, delimited
from steelyard.io.traces import chats, langfuse, langsmith, otel, trulens
from steelyard.io.traces.turns import Turn, turn_lines


@dataclass(frozen=True)
class TraceFormat:
    """A format of traces.

    turns   reads the values of a file
    keys    sets of keys, in any depth; a file that has all of one set, within its first bytes, is of this format
    """

    turns: Callable[[Iterable[Any]], Iterator[Turn]]
    keys: tuple[frozenset[str], ...]

    def fits(self, keys: Collection[str]) -> bool:
        """True if these are keys of this format."""
        return any(own <= set(keys) for own in self.keys)


def _format(turns: Callable[[Iterable[Any]], Iterator[Turn]], *keys: str) -> TraceFormat:
    return TraceFormat(turns, tuple(frozenset(own.split()) for own in keys))


TRACE_FORMATS: Mapping[str, TraceFormat] = {
    "otel": _format(
        otel.turns, "resourceSpans", "resource_spans", "openinference.span.kind", "gen_ai.operation.name",
        "ai.observability.span_type", "traceloop.span.kind", "context.trace_id", "attributes.openinference.span.kind",
        "trace_id span_id attributes", "traceId spanId attributes",
    ),
    "trulens": _format(trulens.turns, "record_json", "record_id main_input", "record_id calls"),
    "langsmith": _format(langsmith.turns, "run_type inputs", "run_type outputs", "run_type child_runs"),
    "langfuse": _format(
        langfuse.turns, "observations input", "observations output", "parentObservationId", "parent_observation_id",
        "traceId type input", "trace_id type input", "sessionId timestamp input", "session_id timestamp input",
    ),
    "dify": _format(chats.dify_turns, "retriever_resources", "conversation_id message_id answer"),
    "ragflow": _format(
        chats.ragflow_turns, "reference chunks", "reference session_id answer", "docnm_kwd reference",
        "messages role reference",
    ),
    "messages": _format(chats.message_turns, "messages role content", "messages role parts", "choices message role"),
}  # fmt: skip
"""By name, the more particular ones first."""

_OURS = frozenset({"retrieved", "evidence", "gold_evidence", "rel_map", "gold_answer", "gold_answers"})
"""Keys of files of ours, which are no traces."""
_KEY = re.compile(rb'"([\w.]{2,60})"\s*:')
_WORDS = (
    b"Spans", b"span", b"gen_ai", b"trace", b"record_", b"run_type", b"bservation", b"ession", b"retriever_resources",
    b"message", b"reference",
)  # fmt: skip
"""Parts of words, one of which at least is in the first bytes of any of these files."""


def trace_format(source: Source, format: str) -> str | None:
    """Format of the traces in a file, by its first bytes alone; None of a file that holds none.

    format   of the file: json, jsonl, csv, tsv, parquet or arrow
    """
    if format in ("json", "jsonl"):
        head = source.head.lstrip()
        if not any(word in head for word in _WORDS):  # Thousands of runs may be opened.
            return None
        head = head if format == "json" or head.startswith(b"[") else head.partition(b"\n")[0]
        return _format_of({key.decode() for key in _KEY.findall(head)})
    if format in ("csv", "tsv"):
        header = source.head.partition(b"\n")[0].decode(errors="replace")
        return _format_of({name.strip('" \r') for name in header.split("," if format == "csv" else "\t")})
    return _format_of(set(column_names(source, format))) if format in ("parquet", "arrow") else None


def _format_of(keys: Collection[str]) -> str | None:
    if not _OURS.isdisjoint(keys):
        return None
    return next((name for name, own in TRACE_FORMATS.items() if own.fits(keys)), None)


def frame_format(names: Collection[str]) -> str | None:
    """Format of a frame of traces by the names of its columns; None of any other."""
    return _format_of(set(names))


@dataclass(frozen=True)
class Traces:
    """Lines of outputs that were read from traces, each with where it is, and notes on what they lack."""

    lines: list[tuple[str, dict[str, Any]]]
    notes: list[Note]


def read_traces(source: Source, format: str, trace: str) -> Traces:
    """Read a file of traces.

    format   of the file;   trace   a name from TRACE_FORMATS
    Raises   InputError for an unknown name, what is damaged, and a file without any question that got a result.
    """
    if trace not in TRACE_FORMATS:
        raise InputError(f"no format of traces is called {trace!r}; {nearest(trace, TRACE_FORMATS)}")
    return traces_of(_values(source, format), source.name, trace)


def traces_of(values: Iterable[Any], name: str, trace: str) -> Traces:
    """The same of values in memory: what a line or a row of such a file holds."""
    try:
        lines, notes = turn_lines(TRACE_FORMATS[trace].turns(values))
    except RecursionError:
        raise InputError(f"{name}: is nested too deep to be read") from None
    if not lines:
        raise InputError(
            f"{name}: holds no question with an answer or with documents, read as {trace}; if it is of another format, "
            f"name that: steelyard convert --format FORMAT, of {', '.join(TRACE_FORMATS)}"
        )
    return Traces([(f"{name}, question {number}", line) for number, line in enumerate(lines, 1)], notes)


def _values(source: Source, format: str) -> Iterator[Any]:
    """The objects of a file: those of JSON at once, also where a program printed several; else by line or row."""
    if format == "jsonl":
        yield from (line for _, line in json_lines(source))
    elif format == "json":
        yield from parse_json_values(source.read(), source.name)
    else:
        delimiter = {"csv": ",", "tsv": "\t"}.get(format)
        table = columnar(source, format, "run") if delimiter is None else delimited(source, delimiter, "run")
        yield from (row for piece in table.pieces() for row in piece.iter_rows(named=True))
