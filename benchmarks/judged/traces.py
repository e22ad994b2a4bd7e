"""How much of traces and conversations is read: fields of the files in tests/cases/traces, and turns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.judged.values import Value

from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.io import formats
from steelyard.io.source import Source

CASES = Path(__file__).resolve().parents[2] / "tests" / "cases"


def trace_values() -> Iterator[Value]:
    """The share of the fields of each format that are read as documented, and of the turns of conversations.

    None was read before: files of these formats were refused.
    """
    counts: dict[str, list[tuple[int, int]]] = {}
    for line in (CASES / "traces" / "expected.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        counts.setdefault(case["format"], []).append(_read(case))
    for name, own in counts.items():
        n_right, n = (sum(column) for column in zip(*own, strict=True))
        yield Value(f"fields read of {n}", f"{name}, {len(own)} files", n_right / n, least=1.0, earlier=0.0)
    talks = [json.loads(line) for line in (CASES / "conversations.jsonl").read_text(encoding="utf-8").splitlines()]
    n = sum(len(talk["turns"]) for talk in talks)
    right = sum(map(_turns_read, talks))
    yield Value(f"turns read of {n}", "conversations of ragas and deepeval", right / n, least=1.0, earlier=0.0)


def _read(case: dict[str, Any]) -> tuple[int, int]:
    """How many fields of a file are read as they should be, and how many there are."""
    traces = formats.open_traces(Source(CASES / "traces" / case["file"]))
    lines = [] if traces is None else [line for _, line in traces.lines]
    wanted = [dict(_leaves(line)) for line in case["lines"]]
    found = [dict(_leaves(line)) for line in lines] + [{}] * len(wanted)
    n_right = sum(place in own and own[place] == value for of, own in zip(wanted, found, strict=False)
                  for place, value in of.items())  # fmt: skip
    return n_right, sum(map(len, wanted))


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Values that are neither lists nor objects, with where they are."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{place}[{number}]")
    else:
        yield place, value


def _turns_read(talk: dict[str, Any]) -> int:
    """How many turns have their question, answer, length of history and gold answer."""
    questions, answers = Questions([talk["row"]]), Outputs([talk["row"]]).answers
    found = [(q.query, answers.get(q.query_id), len(q.history), q.answer) for q in questions]
    return sum(own == (turn[0], turn[1], turn[3], turn[4]) for own, turn in zip(found, talk["turns"], strict=False))
