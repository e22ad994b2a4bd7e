"""Files and objects of ragas, deepeval and RAGChecker: the same file is the truth and a run.

The files in tests/cases/evaluation_rows were written by ragas 0.4.3 (`to_jsonl`, `to_csv`) and deepeval 4.3.1
(`save_as`, and `model_dump(by_alias=True)` of test cases); those of RAGChecker and of older ragas follow their docs.
"""

import json
from contextlib import suppress
from itertools import chain, combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.io.evaluation_rows import _MARKS, ROLES, is_row, rows_of
from steelyard.io.retrieved_items import content_id
from tests.cli.command import steelyard
from tests.hypothesis_profiles import examples

FILES = Path(__file__).parents[1] / "cases" / "evaluation_rows"
SEA, HIVE = 'Whales swim in the sea, "far" out.', "Bees dance\nin the hive; 蜜蜂跳舞。"
ROWS: list[dict[str, Any]] = [
    {
        "user_input": "Who dances?", "retrieved_contexts": [SEA, HIVE], "reference_contexts": [HIVE],
        "response": "Bees do.", "reference": "Bees.",
    },
    {
        "user_input": "谁在游泳？", "retrieved_contexts": [SEA], "reference_contexts": [SEA],
        "response": "鲸。", "reference": "鲸鱼。",
    },
]  # fmt: skip
MEASURES = ["mrr", "evidence_recall@1"]
VALUES = [[0.75, 0.5]]
"""Worked by hand: the gold of the first question is second, that of the second is first."""


def answers(data: Any) -> tuple[list[str | None], list[str]]:
    """Expected answers and given ones, in the order of the questions."""
    questions, outputs = sy.Questions(data), sy.Outputs(data)
    return [question.answer for question in questions], [outputs.answers[q.query_id] for q in questions]


ANSWERS = (["Bees.", "鲸鱼。"], ["Bees do.", "鲸。"])
WITH_GOLD = ["ragas.jsonl", "ragas.csv", "deepeval.json", "deepeval.csv", "deepeval.jsonl", "deepeval-run.json"]


@pytest.mark.parametrize("name", WITH_GOLD)
def test_a_file_is_truth_and_run(name: str) -> None:
    path = FILES / name
    assert sy.evaluate(path, path, MEASURES).means.tolist() == VALUES
    questions, outputs = sy.Questions.read(path), sy.Outputs.read(path)
    assert [question.query for question in questions] == ["Who dances?", "谁在游泳？"]
    assert [question.answer for question in questions] == ANSWERS[0]
    assert list(outputs.answers.values()) == ANSWERS[1]
    # The same questions have the same ids in all of them.
    assert sy.evaluate(FILES / "ragas.jsonl", path, MEASURES).means.tolist() == VALUES


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "json", "tsv", "jsonl.gz"])
def test_other_formats(suffix: str, tmp_path: Path) -> None:
    path, frame = tmp_path / f"ragas.{suffix}", pl.DataFrame(ROWS)
    cells = frame.with_columns(pl.col(pl.List(pl.String)).map_elements(lambda v: json.dumps(v.to_list()), pl.String))
    if suffix == "parquet":
        frame.write_parquet(path)
    elif suffix == "arrow":
        frame.write_ipc(path)
    elif suffix == "json":
        path.write_text(json.dumps(ROWS), "utf-8")
    elif suffix == "tsv":
        cells.write_csv(path, separator="\t")
    else:
        import gzip

        path.write_bytes(gzip.compress("\n".join(map(json.dumps, ROWS)).encode()))
    assert sy.evaluate(path, path, MEASURES).means.tolist() == VALUES


def test_a_command_takes_them(tmp_path: Path) -> None:
    path = FILES / "ragas.jsonl"
    done = steelyard("evaluate", path, path, "-m", "mrr", "-f", "csv", cwd=tmp_path)
    assert done.stdout.decode().splitlines()[1].startswith("ragas,mrr,0.75,")
    done = steelyard("convert", path, "ragas.run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "ragas.run").read_text().splitlines()) == 3


def test_ragchecker() -> None:
    path = FILES / "ragchecker.json"
    outputs = sy.Outputs.read(path)
    assert outputs.run.frame.select("query_id", "doc_id").rows() == [("0", "sea"), ("0", "hive"), ("1", "sea")]
    assert (outputs.answers, list(outputs.table.docs)) == ({"0": "Bees do.", "1": "鲸。"}, ["sea", "hive"])
    assert [(q.query_id, q.answer) for q in sy.Questions.read(path)] == [("0", "Bees."), ("1", "鲸鱼。")]
    gold = [{"qid": "0", "evidence": [{"text": HIVE}]}, {"qid": "1", "gold_evidence": ["sea"]}]
    assert sy.evaluate(gold, path, MEASURES).means.tolist() == VALUES
    assert sy.evaluate({"0": ["hive"], "1": ["sea"]}, path, "mrr").means.tolist() == [[0.75]]


def test_a_document_of_ragchecker_with_several_texts() -> None:
    contexts = [{"doc_id": "sea", "text": SEA}, {"doc_id": "sea", "text": HIVE}, {"doc_id": "land", "text": "Sand."}]
    row = {"query_id": "0", "query": "?", "gt_answer": "", "response": "", "retrieved_context": contexts}
    ids = sy.Outputs([row]).run.frame["doc_id"].to_list()
    assert ids == [content_id(SEA), content_id(HIVE), "land"]


class Columns(tuple[Any, ...]):
    """As a Dataset of Hugging Face: an iterable of rows that names its columns."""

    column_names = tuple(ROWS[0])


def samples(names: dict[str, str]) -> list[Any]:
    return [SimpleNamespace(**{names[name]: value for name, value in row.items()}) for row in ROWS]


RAGAS = samples({name: name for name in ROWS[0]})
DEEPEVAL = samples(
    {
        "user_input": "input",
        "retrieved_contexts": "retrieval_context",
        "reference_contexts": "context",
        "response": "actual_output",
        "reference": "expected_output",
    }
)
OBJECTS = {
    "rows": ROWS, "pandas": pd.DataFrame(ROWS), "Polars": pl.DataFrame(ROWS), "lazy": pl.LazyFrame(ROWS),
    "Arrow": pl.DataFrame(ROWS).to_arrow(), "Hugging Face": Columns(ROWS),
    "ragas samples": RAGAS, "ragas dataset": SimpleNamespace(samples=RAGAS),
    "deepeval test cases": DEEPEVAL, "deepeval dataset": SimpleNamespace(goldens=[], test_cases=DEEPEVAL),
}  # fmt: skip


@pytest.mark.parametrize("data", OBJECTS.values(), ids=OBJECTS)
def test_objects(data: Any) -> None:
    assert sy.evaluate(data, data, MEASURES).means.tolist() == VALUES
    assert sy.evaluate(data, {"a": data, "b": data}, "mrr").means.tolist() == [[0.75], [0.75]]
    assert answers(data) == ANSWERS


def test_ids_of_contexts() -> None:
    rows = [{"user_input": "Who?", "retrieved_context_ids": ["c2", "c1"], "reference_context_ids": ["c1"]}]
    assert sy.evaluate(rows, rows, MEASURES).means.tolist() == [[0.5, 0.0]]
    both = [rows[0] | {"retrieved_contexts": [SEA, HIVE], "reference_contexts": ["Bees dance in the hive"]}]
    assert sy.evaluate(both, both, ["mrr", "evidence_recall@2"]).means.tolist() == [[0.5, 1.0]]
    assert sy.Questions(both).n_pieces == 2
    # Text or id will do.
    assert sy.evaluate(both, rows, ["mrr", "evidence_recall@2"]).means.tolist() == [[0.5, 1.0]]


def test_retrieved_context_data_of_deepeval() -> None:
    context = SimpleNamespace(context=HIVE, source="hive.md")
    case = SimpleNamespace(input="Who?", actual_output="Bees", retrieval_context=[SEA, context], context=[HIVE])
    outputs = sy.Outputs([case])
    assert list(outputs.table.docs) == [None, "hive.md"]
    assert sy.evaluate([case], [case], "mrr").means.tolist() == [[0.5]]


def test_other_columns_are_fields_of_questions() -> None:
    questions = sy.Questions([row | {"session": f"s{i}", "score": float("nan")} for i, row in enumerate(ROWS)])
    assert [question.fields for question in questions] == [{"session": "s0"}, {"session": "s1"}]


@pytest.mark.parametrize(
    ("keys", "want"),
    [
        ({"user_input", "response"}, True),
        ({"user_input", "title"}, False),
        ({"question", "contexts", "answer"}, True),
        ({"question", "ground_truth"}, True),
        ({"question", "answer"}, False),
        ({"qid", "question", "contexts"}, False),
        ({"input", "retrievalContext"}, True),
        ({"input", "output"}, False),
        ({"query_id", "query", "gt_answer"}, True),
        ({"query_id", "query", "gt_answer", "evidence"}, False),
        ({"qid", "retrieved", "user_input", "response"}, False),
        ({"query_id", "doc_id", "score"}, False),
        ({1, None}, False),
    ],
)
def test_what_is_a_row(keys: set[Any], want: bool) -> None:
    assert is_row(keys) is want


def test_marks_are_in_every_row() -> None:
    """Files without one of them are not looked at any closer."""
    names = sorted({name for names in ROLES.values() for name in names})
    for keys in chain.from_iterable(combinations(names, n) for n in (1, 2, 3)):
        text = json.dumps(dict.fromkeys(keys)).encode()
        assert not is_row(keys) or any(mark in text for mark in _MARKS)


@pytest.mark.parametrize("data", [None, "ragas.jsonl", 3, [], {}, {"q1": ["d1"]}, [{"qid": "q1"}], pl.DataFrame(), [1]])
def test_what_is_none(data: Any) -> None:
    assert rows_of(data) is None


def complaint(*rows: dict[str, Any], outputs: bool = False) -> str:
    with pytest.raises(sy.InputError) as raised:
        (sy.Outputs if outputs else sy.Questions)(list(rows), name="rows")
    return str(raised.value)


def test_what_is_wrong_is_placed(tmp_path: Path) -> None:
    turns = ROWS[0] | {"user_input": [{"content": "Hi", "type": "ai"}]}
    assert complaint(ROWS[0], turns) == ("rows, question 2: `user_input` is a list without a message of a user")
    assert complaint(ROWS[0] | {"user_input": " "}) == "rows, question 1: `user_input` is ' ', not a text"
    assert complaint(ROWS[0] | {"reference_contexts": 3}).endswith("gold must be a list of texts, not 3")
    array = ROWS[0] | {"retrieved_contexts": "['Bees dance' 'Whales swim']"}
    assert "is the text of an array without commas" in complaint(array, outputs=True)
    ids = ROWS[0] | {"retrieved_context_ids": ["c1"]}
    assert complaint(ids, outputs=True) == "rows, result 1: has 2 `retrieved_contexts`, but 1 ids of them; one each"
    bare = {name: ROWS[0][name] for name in ("user_input", "reference")}
    assert complaint(bare, outputs=True).startswith(
        "rows: has nothing that was retrieved, and no answers; expected one"
    )
    path = tmp_path / "ragas.json"
    path.write_text(json.dumps([ROWS[0], 3]))
    with pytest.raises(sy.InputError, match=r"ragas\.json, row 2: is int, expected an object"):
        sy.Questions.read(path)


@pytest.mark.parametrize("name", ["ragchecker.json", "ragas-0.json"])
def test_answers_alone_are_no_gold_of_retrieval(name: str) -> None:
    assert [str(measure) for measure in sy.evaluate(FILES / name, FILES / name, "ndcg").without_gold] == ["ndcg"]
    assert sy.Questions.read(FILES / name)[0].answer == "Bees."


COLUMNS = ["user_input", "question", "input", "query", "gt_answer", "retrieved_contexts", "reference_contexts",
           "contexts", "retrieved_context", "retrieved_context_ids", "reference_context_ids", "response",
           "expectedOutput", "id", "tags", "doc_id", "text"]  # fmt: skip
VALUES_OF_CELLS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "a|b", "['a']", '["b"', "[[", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(COLUMNS), inner, max_size=4),
    max_leaves=10,
)


@examples(300)
@given(st.lists(st.dictionaries(st.sampled_from(COLUMNS), VALUES_OF_CELLS, max_size=8), min_size=1, max_size=3))
def test_whatever_a_row_holds_is_read_or_refused(rows: list[dict[str, Any]]) -> None:
    for reader in (sy.Questions, sy.Outputs):
        with suppress(sy.InputError):
            reader([{"user_input": "?", "response": "x"} | row for row in rows])


def test_an_empty_context_list_is_a_question_that_got_nothing() -> None:
    rows = [ROWS[0], ROWS[1] | {"retrieved_contexts": []}]
    assert sy.evaluate(rows, rows, "mrr").means.tolist() == [[0.25]]


@pytest.mark.parametrize("value", [["Bees.", "The bees."], '["Bees.", "The bees."]'])
def test_several_expected_answers(value: object) -> None:
    row = {"question": "Who dances?", "contexts": ["Bees dance."], "answer": "Bees.", "ground_truths": value}
    assert sy.Questions([row])[0].answers == ("Bees.", "The bees.")
