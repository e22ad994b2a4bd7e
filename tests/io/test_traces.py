"""Traces of other tools: each format as its project documents it, what is missing, and files that are damaged."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.base.errors import SteelyardError
from steelyard.cli.app import app
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.experiment.converting import convert
from steelyard.experiment.door.evaluation import evaluate
from steelyard.io import formats
from steelyard.io.source import Source
from steelyard.io.traces.reading import TRACE_FORMATS, traces_of

CASES = Path(__file__).parents[1] / "cases"
TRACES = CASES / "traces"
EXPECTED = [json.loads(line) for line in (TRACES / "expected.jsonl").read_text(encoding="utf-8").splitlines()]
BY_FILE = pytest.mark.parametrize("case", EXPECTED, ids=lambda case: case["file"])


@BY_FILE
def test_traces_are_read_as_documented(case: dict[str, Any]) -> None:
    source = Source(TRACES / case["file"])
    traces = formats.open_traces(source)
    assert traces is not None
    assert [line for _, line in traces.lines] == case["lines"]
    assert [note.code for note in traces.notes] == case["notes"]


@BY_FILE
def test_traces_of_a_named_format_are_the_same(case: dict[str, Any]) -> None:
    path = TRACES / case["file"]
    by_name, by_content = Outputs.read(path, format=case["format"]), Outputs.read(path)
    assert by_name.digest() == by_content.digest()
    assert formats.file_kind(path) == "run"


@BY_FILE
def test_traces_hold_their_questions(case: dict[str, Any]) -> None:
    if any("query" not in line for line in case["lines"]):
        pytest.skip("a reply of Dify says nothing of the question")
    questions = Questions.read(TRACES / case["file"])
    assert [(q.query_id, q.query) for q in questions] == [(line["qid"], line["query"]) for line in case["lines"]]


def test_every_format_has_a_fixture() -> None:
    assert {case["format"] for case in EXPECTED} == set(TRACE_FORMATS)
    assert {case["file"] for case in EXPECTED} == {path.name for path in TRACES.iterdir()} - {"expected.jsonl"}


@pytest.mark.parametrize("path", sorted((CASES / "evaluation_rows").iterdir()), ids=lambda path: path.name)
def test_rows_of_other_tools_are_no_traces(path: Path) -> None:
    assert not formats.holds_traces(Source(path))


@pytest.mark.parametrize(
    "line",
    [
        {"qid": "q1", "retrieved": [{"id": "c1", "text": "role", "messages": "x"}], "answer": "a"},
        {"query_id": "q1", "query": "Which message has a role?", "evidence": [{"text": "content"}]},
        {"query": "session_id", "answer": "reference chunks"},
        {"qid": "q1", "rel_map": {"trace_id": 1, "span_id": 0, "attributes": 1}},
    ],
    ids=["outputs", "question", "words in texts", "labels"],
)
def test_lines_of_ours_are_no_traces(line: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert not formats.holds_traces(Source(path))


def test_frames_of_phoenix_are_read_from_parquet_and_memory(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (TRACES / "phoenix.jsonl").read_text(encoding="utf-8").splitlines()]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    frame.write_parquet(tmp_path / "spans.parquet")
    wanted = Outputs.read(TRACES / "phoenix.jsonl").digest()
    assert Outputs.read(tmp_path / "spans.parquet").digest() == wanted
    assert Outputs(frame).digest() == wanted
    pandas = pytest.importorskip("pandas")
    assert Outputs(pandas.DataFrame(rows)).digest() == wanted


def span(span_id: str, parent: str | None, kind: str, start: float, end: float, **attributes: Any) -> dict[str, Any]:
    own = {key.replace("__", "."): value for key, value in attributes.items()}
    return {
        "trace_id": "t", "span_id": span_id, "parent_id": parent, "start_time": start, "end_time": end,
        "attributes": {"openinference.span.kind": kind, **own},
    }  # fmt: skip


def read(*spans: dict[str, Any]) -> dict[str, Any]:
    ((_, line),) = traces_of(spans, "trace", "otel").lines
    return line


def documents(*ids: str) -> list[dict[str, Any]]:
    return [{"document.id": id, "document.content": f"text of {id}"} for id in ids]


ROOT = span("r", None, "CHAIN", 0, 9, input__value="Why?", output__value="Because.")
MODEL = span("m", "r", "LLM", 5, 8, output__value="Because.")
TREES = {
    "the last retrieval before the answer": (
        [ROOT, span("a", "r", "RETRIEVER", 1, 2, retrieval__documents=documents("a")),
         span("b", "r", "RETRIEVER", 3, 4, retrieval__documents=documents("b")), MODEL],
        ["b"],
    ),
    "none that began after the answer": (
        [ROOT, span("a", "r", "RETRIEVER", 1, 2, retrieval__documents=documents("a")), MODEL,
         span("b", "r", "RETRIEVER", 8.5, 9, retrieval__documents=documents("b"))],
        ["a"],
    ),
    "the outer of two searches, one of which called the other": (
        [ROOT, span("a", "r", "RETRIEVER", 1, 4, retrieval__documents=documents("a", "b")),
         span("b", "a", "RETRIEVER", 2, 3, retrieval__documents=documents("b")), MODEL],
        ["a", "b"],
    ),
    "the reranker, whose model is no answer": (
        [ROOT, span("a", "r", "RETRIEVER", 1, 2, retrieval__documents=documents("a", "b")),
         span("b", "r", "RERANKER", 3, 4, reranker__output_documents=documents("b")),
         span("c", "b", "LLM", 3, 4, output__value="2 > 1"), MODEL],
        ["b"],
    ),
    "a retrieval without documents": ([ROOT, span("a", "r", "RETRIEVER", 1, 2, output__value="[]"), MODEL], []),
    "the documents that a tool gave": (
        [ROOT, span("a", "r", "TOOL", 1, 2, output__value=json.dumps({"results": [{"id": "a", "text": "A."}]})), MODEL],
        ["a"],
    ),
    "no text of a tool": ([ROOT, span("a", "r", "TOOL", 1, 2, output__value="It is 20 degrees."), MODEL], None),
    "a circle of parents": (
        [span("a", "b", "RETRIEVER", 1, 2, retrieval__documents=documents("a")),
         span("b", "a", "LLM", 3, 4, output__value="B.")],
        ["a"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spans", "want"), TREES.values(), ids=TREES)
def test_contexts_of_trees(spans: list[dict[str, Any]], want: list[str] | None) -> None:
    for order in (spans, spans[::-1]):
        items = read(*order)["retrieved"]
        assert (None if items is None else [item["id"] for item in items]) == want


def test_spans_are_read_as_the_console_prints_them(tmp_path: Path) -> None:
    lines = (TRACES / "spans_flat.jsonl").read_text(encoding="utf-8").splitlines()
    printed = "\n".join(json.dumps(json.loads(line), indent=4) for line in lines)
    for name in ("spans.json", "spans.jsonl", "spans.txt"):
        (tmp_path / name).write_text(printed, encoding="utf-8")
        assert Outputs.read(tmp_path / name).digest() == Outputs.read(TRACES / "spans_flat.jsonl").digest()
    (tmp_path / "cut.json").write_text(printed[:-40], encoding="utf-8")
    with pytest.raises(SteelyardError, match="is not JSON"):
        Outputs.read(tmp_path / "cut.json")


def test_runs_of_langsmith_are_a_tree_by_their_order_alone() -> None:
    rows = [json.loads(line) for line in (TRACES / "langsmith_flat.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        above = row.pop("parent_run_id")
        row["dotted_order"] = (
            f"20251124T100000Z{above}.20251124T100001Z{row['id']}" if above else f"20251124T100000Z{row['id']}"
        )
    (case,) = (case for case in EXPECTED if case["file"] == "langsmith_flat.jsonl")
    traces = traces_of(rows, "bulk", "langsmith")
    assert [line for _, line in traces.lines] == case["lines"]
    assert "trace_orphans" not in [note.code for note in traces.notes]


def test_ids_of_documents_that_name_several_texts_become_documents() -> None:
    chunks = [{"document.id": "d", "document.content": text} for text in ("One.", "Two.")]
    items = read(ROOT, span("a", "r", "RETRIEVER", 1, 2, retrieval__documents=chunks), MODEL)["retrieved"]
    assert [(item["doc"], item["text"]) for item in items] == [("d", "One."), ("d", "Two.")]
    assert len({item["id"] for item in items}) == 2


@pytest.mark.parametrize("metadata", ['{"query_id": "q7"}', {"query_id": "q7"}], ids=["text", "object"])
def test_metadata_name_the_question(metadata: Any) -> None:
    assert read({**ROOT, "attributes": {**ROOT["attributes"], "metadata": metadata}})["qid"] == "q7"


def test_scores_in_another_order_are_set_aside() -> None:
    chunks = [{"document.id": id, "document.score": score} for id, score in (("near", 0.1), ("far", 0.7))]
    traces = traces_of([ROOT, span("a", "r", "RETRIEVER", 1, 2, retrieval__documents=chunks), MODEL], "t", "otel")
    assert traces.lines[0][1]["retrieved"] == [{"id": "near"}, {"id": "far"}]
    assert "trace_other_order" in [note.code for note in traces.notes]


def test_a_text_that_comes_again_is_another_question() -> None:
    again = [{**ROOT, "trace_id": "u"}, {**ROOT, "trace_id": "v"}]
    names = [line["qid"] for _, line in traces_of([ROOT, *again], "t", "otel").lines]
    assert names == [names[0], f"{names[0]}~2", f"{names[0]}~3"]


def test_a_name_that_comes_again_is_none_that_is_used() -> None:
    rows = [{"metadata": {"query_id": name}, "query": name, "answer": "x"} for name in ("a", "a", "a~2", "a", "a~2")]
    lines = traces_of(rows, "rows", "dify").lines
    assert [line["qid"] for _, line in lines] == ["a", "a~2", "a~2~2", "a~3", "a~2~3"]


def test_evaluate_says_what_traces_lack(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text(
        json.dumps({"query": "图书馆周末开门吗？", "evidence": [{"text": "周日闭馆"}]}) + "\n", encoding="utf-8"
    )
    scores = evaluate(gold, TRACES / "langsmith_flat.jsonl", ["recall@1", "mrr"])
    assert scores.frame["value"].to_list() == [1.0, 1.0]
    (notes,) = scores.notes.values()
    assert {"trace_no_ids", "trace_no_scores"} <= {note.code for note in notes}


def test_traces_take_the_ids_of_questions_with_the_same_texts(tmp_path: Path) -> None:
    gold = [
        {"qid": "g1", "query": " When is the  library open?", "evidence": [{"text": "open from 9 to 17"}]},
        {"qid": "g2", "query": "图书馆周末开门吗？", "evidence": [{"text": "周日闭馆"}]},
    ]
    for file in ("trulens.csv", "langfuse.csv", "langfuse.json"):
        scores = evaluate(gold, TRACES / file, ["mrr"])
        assert scores.frame["value"].to_list() == [1.0, 1.0]
        (notes,) = scores.notes.values()
        assert {note.code: note.values for note in notes}["questions_by_text"] == {"n": 2, "total": 2}
    own = [{**gold[0], "qid": "q1"}, gold[1]]  # q1 is an id of the file: no id is changed.
    assert evaluate(own, TRACES / "langfuse.json", ["mrr"]).frame["value"].to_list() == [0.0, 1.0]


@BY_FILE
def test_convert_writes_outputs_that_are_read_the_same(case: dict[str, Any], tmp_path: Path, capsys: Any) -> None:
    target = tmp_path / "outputs.jsonl"
    app(["convert", str(TRACES / case["file"]), str(target), "--lang", "en"])
    printed = capsys.readouterr().out
    assert f"outputs: {len(case['lines'])} questions" in printed
    assert printed.count("\n") == 1 + len(case["notes"])
    assert Outputs.read(target).digest() == Outputs.read(TRACES / case["file"]).digest()
    assert [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()] == case["lines"]


def test_rankings_of_traces_are_written_with_the_notes(tmp_path: Path) -> None:
    conversion = convert(TRACES / "spans_flat.jsonl", tmp_path / "run.trec")
    assert (conversion.n_queries, conversion.n_documents, conversion.n_lost) == (3, 4, 1)
    assert "trace_truncated" in [note.code for note in conversion.notes]


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SteelyardError, match="langfuse"):
        Outputs.read(TRACES / "langfuse.json", format="langfus")
    with pytest.raises(SteelyardError, match="no question with an answer"):
        Outputs.read(TRACES / "langfuse.json", format="dify")


@pytest.mark.parametrize("value", ["[" * 100_000, '{"a":' * 100_000 + "1", '{"resourceSpans":' + "[" * 5000])
def test_deep_files_are_refused_in_one_line(value: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text(value, encoding="utf-8")
    for trace in TRACE_FORMATS:
        with pytest.raises(SteelyardError) as error:
            Outputs.read(path, format=trace)
        assert "\n" not in str(error.value)


def test_long_chains_are_read_in_time() -> None:
    spans = [span(f"s{n}", f"s{n - 1}" if n else None, "CHAIN", n, n + 1, output__value="A.") for n in range(3000)]
    deep: dict[str, Any] = {"id": "0", "run_type": "chain", "outputs": {"output": "A."}}
    for n in range(1, 5000):
        deep = {"id": str(n), "run_type": "chain", "outputs": {"output": "A."}, "child_runs": [deep]}
    assert read(*spans)["answer"] == "A."
    assert len(traces_of([deep], "t", "langsmith").lines) == 1


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all values in a value."""
    yield above
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*above, key))


def changed(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """The same with another value at a place."""
    whole = [copy.deepcopy(value)]
    place, key = whole, 0
    for part in path:
        place, key = place[key], part
    place[key] = other
    return whole[0]


JSON_FIXTURES = [case for case in EXPECTED if not case["file"].endswith(".csv")]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["{", '["a"', "[1]"])
)
ODD = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("case", JSON_FIXTURES, ids=lambda case: case["file"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_damaged_traces_are_read_or_refused_in_one_line(case: dict[str, Any], data: st.DataObject) -> None:
    text = (TRACES / case["file"]).read_text(encoding="utf-8")
    values = (
        list(map(json.loads, text.splitlines())) if "\n{" in text and not text.startswith("[") else [json.loads(text)]
    )
    for _ in range(data.draw(st.integers(1, 3))):
        values = changed(values, data.draw(st.sampled_from(list(places(values))[1:])), data.draw(ODD))
    refused: SteelyardError | None = None
    try:
        lines = [line for _, line in traces_of(values, "damaged", case["format"]).lines]
        outputs = Outputs(lines)
    except SteelyardError as error:
        refused = error
    if refused is None:
        assert len(lines) == outputs.run.frame["query_id"].n_unique()
    else:
        assert "\n" not in str(refused)
