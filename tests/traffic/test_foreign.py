"""Records of other tools: their table of cases, and what holds for any records."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.io.source import Source
from steelyard.io.traces.reading import _values, read_traces, trace_format
from steelyard.traffic.foreign.formats import FOREIGN, foreign_format
from steelyard.traffic.foreign.tables import Converted
from steelyard.traffic.schema import TABLES
from tests.hypothesis_profiles import examples

CASES = Path(__file__).resolve().parents[1] / "cases" / "foreign_logs.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
KEYS = sorted({key for row in ROWS for record in row["records"] if isinstance(record, dict) for key in record})
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
values = st.recursive(
    scalars | st.sampled_from(["2026-01-01", "1", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def plain(converted: list[Converted]) -> dict[str, Any]:
    """Rows without what is null, and troubles, of all batches."""
    frames = {kind: pl.concat([batch.frames[kind] for batch in converted]) for kind in TABLES}
    rows = {
        kind: [
            {key: value.isoformat() if key == "time" else value for key, value in row.items() if value is not None}
            for row in frame.iter_rows(named=True)
        ]
        for kind, frame in frames.items()
    }
    troubles = {trouble.kind: [trouble.n, trouble.example] for batch in converted for trouble in batch.troubles}
    return {key: value for key, value in {**rows, "troubles": troubles}.items() if value}


@pytest.mark.parametrize("row", [pytest.param(row, id=row["label"]) for row in ROWS])
def test_cases(row: dict[str, Any]) -> None:
    assert foreign_format(row["records"]) == row["format"]
    converted = [*FOREIGN[row["format"]].convert([row["records"]])]
    for batch in converted:
        assert {kind: frame.schema for kind, frame in batch.frames.items()} == dict(TABLES)
    assert plain(converted) == row["want"], row["comment"]


TRACES = {
    "otel": ["otel_genai.json", "openinference.json", "spans_flat.jsonl"], "phoenix": ["phoenix.csv", "phoenix.jsonl"],
    "langfuse": ["langfuse.json", "langfuse.csv", "langfuse_observations.jsonl"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "file"), [(name, file) for name, files in TRACES.items() for file in files])
def test_traces_say_what_evaluation_reads_from_them(name: str, file: str) -> None:
    source = Source(CASES.parent / "traces" / file)
    records = [*_values(source, source.suffix[1:])]
    assert foreign_format(records) == name
    said = plain([*FOREIGN[name].convert([records])])
    lines = [line for _, line in read_traces(source, source.suffix[1:], trace_format(source, source.suffix[1:])).lines]
    assert [row.get("query") for row in said["impression"]] == [line.get("query") for line in lines]
    assert [row["request"] for row in said["impression"]] == [line["trace_id"] for line in lines]
    shown = [len(row["doc_ids"]) if "doc_ids" in row else None for row in said["impression"]]
    assert shown == [len(line["retrieved"]) if line.get("retrieved") is not None else None for line in lines]
    assert [row["answer"] for row in said["answer"]] == [line["answer"] for line in lines if "answer" in line]


@pytest.mark.parametrize("name", FOREIGN)
@examples(100)
@given(records=st.lists(values, max_size=6))
def test_any_records_are_converted(name: str, records: list[Any]) -> None:
    for batch in FOREIGN[name].convert([records]):
        assert {kind: frame.schema for kind, frame in batch.frames.items()} == dict(TABLES)


@pytest.mark.parametrize("name", FOREIGN)
def test_batches_change_nothing(name: str) -> None:
    records = [record for row in ROWS if row["format"] == name for record in row["records"]]
    rows = [plain([*FOREIGN[name].convert(batches)]) for batches in ([records], [[record] for record in records])]
    for kind in TABLES:
        assert rows[0].get(kind) == rows[1].get(kind)
