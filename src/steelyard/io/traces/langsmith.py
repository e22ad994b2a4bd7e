"""Runs of LangSmith: trees with `child_runs`, or one run after another with `parent_run_id`.

Source: docs.langchain.com, "Run (span) data format".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from steelyard.io.traces import values
from steelyard.io.traces.spans import Span, role_named, span_turns
from steelyard.io.traces.turns import Turn

_QUESTIONS = ("query_id", "question_id", "qid", "reference_example_id")
_CONVERSATIONS = ("session_id", "thread_id", "conversation_id")


def turns(objects: Iterable[Any]) -> Iterator[Turn]:
    """Turns of runs."""
    return span_turns(_span(run, parent, number) for number, (run, parent) in enumerate(_runs(objects)))


def _runs(objects: Iterable[Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any] | None]]:
    """Runs with that above them, a parent before its children; without recursion, as trees may be deep."""
    for value in objects:
        stack: list[tuple[Any, Mapping[str, Any] | None]] = [(value, None)]
        while stack:
            run, parent = stack.pop()
            if isinstance(run, list):
                stack += [(own, parent) for own in reversed(run)]
            elif isinstance(run, Mapping) and "run_type" not in run:
                stack.append((next((run[key] for key in ("runs", "data") if isinstance(run.get(key), list)), []), None))
            elif isinstance(run, Mapping):
                own = {"trace_id": (parent or run).get("trace_id", (parent or run).get("id")), **run}
                yield own, parent
                stack.append((list(values.listed(run.get("child_runs")) or ()), own))


def _span(run: Mapping[str, Any], parent: Mapping[str, Any] | None, number: int) -> Span:
    own_id = values.text(run.get("id")) or f"run {number + 1}"
    metadata = values.mapping(values.mapping(run.get("extra")).get("metadata"))
    tokens = [values.number(run.get(name)) for name in ("prompt_tokens", "completion_tokens")]
    usage = values.mapping(values.mapping(run.get("outputs")).get("usage_metadata"))
    tokens = [
        values.number(usage.get(name)) if count is None else count
        for name, count in zip(("input_tokens", "output_tokens"), tokens, strict=True)
    ]
    into, out = (None if count is None else int(count) for count in tokens)
    return Span(
        values.text(run.get("trace_id")) or own_id,
        own_id,
        values.text(run.get("parent_run_id")) or _parent(run, parent),
        role_named(run.get("run_type")),
        run.get("inputs"),
        run.get("outputs"),
        start=values.seconds(run.get("start_time")),
        end=values.seconds(run.get("end_time")),
        tokens=(into, out),
        error=values.text(run.get("error")),
        query_id=values.text(values.first({**run, **metadata}, _QUESTIONS)),
        conversation=values.text(values.first(metadata, _CONVERSATIONS)),
        gaps=frozenset({"truncated"} if any(map(values.is_cut, (run.get("inputs"), run.get("outputs")))) else ()),
    )


def _parent(run: Mapping[str, Any], parent: Mapping[str, Any] | None) -> str | None:
    """The id of the run above: of the tree, or in `dotted_order`, the only place that bulk exports have it in.

    >>> _parent({"dotted_order": "20251124T100000000000Za0.20251124T100000100000Za1"}, None)
    'a0'
    """
    above = str(run.get("dotted_order") or "").split(".")[:-1]
    own = above[-1].partition("Z")[2] if above else None
    return values.text(own if parent is None else parent.get("id"))
