"""Every other format: files with named columns, JSON, JSONL, BEIR, frames, dicts, ranx; and one suite over them all."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import steelyard as sy
from steelyard.io.write import write_run

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Nested = Mapping[str, Mapping[str, float]]
Row = tuple[str, str, float]

MEASURES = ["ndcg@10", "ndcg(gain=exp)", "map", "mrr@2", "precision@5", "recall@3", "bpref", "infap", "rbp", "judged@5",
            "err", "n_retrieved", "r_precision"]  # fmt: skip

# Grades, a judged 0, a fraction, a label below 0, ids with leading zeros, Chinese, and a number that is an id.
TRUTH: dict[str, dict[str, float]] = {
    "q1": {"d1": 2, "d2": 0, "007": 1, "7": 3},
    "0042": {"文档一": 1, "d5": 3, "d1": 0.5},
    "查询": {"a,b": 1, "neg": -1, "zero": 0},
    "10": {"5": 1, "6": 2},
}
# Ties, scores below 0, float64 neighbours, documents and a query without labels; "10" is missing.
RUN: dict[str, dict[str, float]] = {
    "0042": {"d1": 10.000000001, "d5": 10.000000002, "x": 10.0, "文档一": 9.5},
    "q1": {"d1": 1.0, "007": 1.0, "7": 1.0, "d2": 3.25, "y": -2.0, "z": 2.0},
    "q9": {"d1": 1.0},
    "查询": {"zero": -1.0, "neg": -2.0, "a,b": -3.0},
}
LISTS: dict[str, list[str]] = {
    query: sorted(docs, key=lambda doc: (docs[doc], doc), reverse=True) for query, docs in RUN.items()
}


def read_rows(data: object) -> list[Row]:
    """A run is not looked at before it is needed."""
    return sy.Run(data).frame.rows()


def rows(nested: Nested) -> list[Row]:
    return [(query, doc, float(value)) for query, docs in nested.items() for doc, value in docs.items()]


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def table(nested: Nested, header: tuple[str, str, str], separator: str = ",") -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows([header, *rows(nested)])
    return out.getvalue()


def frame(nested: Nested, number: str) -> pl.DataFrame:
    return pl.DataFrame(
        rows(nested), schema={"query_id": pl.String, "doc_id": pl.String, number: pl.Float64}, orient="row"
    )


def jsonl(objects: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in objects)


def qrels_text(nested: Nested) -> str:
    return "".join(f"{query} 0 {doc} {gain!r}\n" for query, doc, gain in rows(nested))


def run_text(nested: Nested) -> str:
    return "".join(f"{query} Q0 {doc} 1 {score!r} tag\n" for query, doc, score in rows(nested))


def binary(save: Callable[[pl.DataFrame, io.BytesIO], object], data: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    save(data, out)
    return out.getvalue()


def parquet(data: pl.DataFrame) -> bytes:
    return binary(lambda frame, out: frame.write_parquet(out, row_group_size=3), data)


def arrow(data: pl.DataFrame) -> bytes:
    return binary(pl.DataFrame.write_ipc, data)


def scored_items(docs: Mapping[str, float]) -> list[dict[str, Any]]:
    return [{"id": doc, "score": score} for doc, score in docs.items()]


# --------------------------------------------------------------------------- one collection, every format, equal values

TRUTH_FORMS: dict[str, Callable[[Path], object]] = {
    "TREC": lambda d: write(d / "t.qrels", qrels_text(TRUTH)),
    "TREC, gzip": lambda d: write(d / "t.qrels.gz", gzip.compress(qrels_text(TRUTH).encode())),
    "TREC, zstd": lambda d: write(d / "t.qrels.zst", zstd.compress(qrels_text(TRUTH).encode())),
    "JSON": lambda d: write(d / "t.json", json.dumps(TRUTH, indent=1)),
    "JSON, gzip, no suffix": lambda d: write(d / "t", gzip.compress(json.dumps(TRUTH).encode())),
    "JSONL": lambda d: write(d / "t.jsonl", jsonl([{"query_id": q, "rel_map": docs} for q, docs in TRUTH.items()])),
    "JSONL, zstd": lambda d: write(
        d / "t.jsonl.zst", zstd.compress(jsonl([{"qid": q, "relevant": docs} for q, docs in TRUTH.items()]).encode())
    ),
    "CSV": lambda d: write(d / "t.csv", table(TRUTH, ("query_id", "doc_id", "gain"))),
    "CSV, gzip": lambda d: write(d / "t.csv.gz", gzip.compress(table(TRUTH, ("qid", "docno", "label")).encode())),
    "CSV, BOM, no suffix": lambda d: write(d / "t", "\ufeff" + table(TRUTH, ("topic", "did", "rel"))),
    "TSV": lambda d: write(d / "t.tsv", table(TRUTH, ("query_id", "doc_id", "relevance"), "\t")),
    "TSV, zstd": lambda d: write(d / "t.tsv.zst", zstd.compress(table(TRUTH, ("qid", "pid", "grade"), "\t").encode())),
    "Parquet": lambda d: write(d / "t.parquet", parquet(frame(TRUTH, "gain"))),
    "Parquet, no suffix": lambda d: write(d / "t", parquet(frame(TRUTH, "gain"))),
    "Arrow": lambda d: write(d / "t.arrow", arrow(frame(TRUTH, "gain"))),
    "BEIR": lambda d: write(d / "qrels" / "test.tsv", table(TRUTH, ("query-id", "corpus-id", "score"), "\t")).parents[
        1
    ],
    "dict of dicts": lambda _: TRUTH,
    "dict with NumPy numbers": lambda _: {q: {k: np.float32(v) for k, v in docs.items()} for q, docs in TRUTH.items()},
    "Polars": lambda _: frame(TRUTH, "gain"),
    "Polars, lazy": lambda _: frame(TRUTH, "gain").lazy(),
    "Polars, shuffled": lambda _: frame(TRUTH, "gain").sample(fraction=1, shuffle=True, seed=1),
    "pandas": lambda _: pd.DataFrame(rows(TRUTH), columns=["query_id", "doc_id", "gain"]),
    "pandas, strange index": lambda _: pd.DataFrame(rows(TRUTH), columns=["qid", "docno", "label"]).set_index(
        np.arange(12) * 7
    ),
    "PyArrow": lambda _: frame(TRUTH, "gain").to_arrow(),
    "Truth of a dict": lambda _: sy.Truth(TRUTH),
    "Truth of a file": lambda d: sy.Truth.read(write(d / "t.csv", table(TRUTH, ("query_id", "doc_id", "gain")))),
}

RUN_FORMS: dict[str, Callable[[Path], object]] = {
    "TREC": lambda d: write(d / "r.run", run_text(RUN)),
    "TREC, gzip": lambda d: write(d / "r.run.gz", gzip.compress(run_text(RUN).encode())),
    "TREC, zstd": lambda d: write(d / "r.zst", zstd.compress(run_text(RUN).encode())),
    "JSON": lambda d: write(d / "r.json", json.dumps(RUN)),
    "JSON, zstd": lambda d: write(d / "r.json.zst", zstd.compress(json.dumps(RUN, indent=2).encode())),
    "JSONL": lambda d: write(d / "r.jsonl", jsonl([{"qid": q, "retrieved": scored_items(v)} for q, v in RUN.items()])),
    "JSONL, ids": lambda d: write(d / "r.jsonl", jsonl([{"query_id": q, "retrieved": v} for q, v in LISTS.items()])),
    "JSONL, no suffix": lambda d: write(d / "r", jsonl([{"qid": q, "retrieved": v} for q, v in LISTS.items()])),
    "CSV": lambda d: write(d / "r.csv", table(RUN, ("query_id", "doc_id", "score"))),
    "CSV, zstd": lambda d: write(d / "r.csv.zst", zstd.compress(table(RUN, ("qid", "docid", "sim")).encode())),
    "TSV": lambda d: write(d / "r.tsv", table(RUN, ("q_id", "doc-id", "similarity"), "\t")),
    "TSV, no suffix": lambda d: write(d / "r", table(RUN, ("query_id", "doc_id", "score"), "\t")),
    "Parquet": lambda d: write(d / "r.parquet", parquet(frame(RUN, "score"))),
    "Parquet, gzip": lambda d: write(d / "r.parquet.gz", gzip.compress(parquet(frame(RUN, "score")))),
    "Arrow": lambda d: write(d / "r.feather", arrow(frame(RUN, "score"))),
    "Arrow, no suffix": lambda d: write(d / "r", arrow(frame(RUN, "score"))),
    "dict of dicts": lambda _: RUN,
    "dict with NumPy numbers": lambda _: {q: {k: np.float64(v) for k, v in docs.items()} for q, docs in RUN.items()},
    "dict of lists": lambda _: LISTS,
    "dict of tuples": lambda _: {q: tuple(docs) for q, docs in LISTS.items()},
    "JSON, lists": lambda d: write(d / "r.json", json.dumps(LISTS)),
    "CSV without scores": lambda d: write(
        d / "r.csv", "query_id,doc_id\n" + "".join(f'{q},"{doc}"\n' for q, docs in LISTS.items() for doc in docs)
    ),
    "Polars": lambda _: frame(RUN, "score"),
    "Polars, lazy": lambda _: frame(RUN, "score").lazy(),
    "Polars, shuffled": lambda _: frame(RUN, "score").sample(fraction=1, shuffle=True, seed=1),
    "pandas": lambda _: pd.DataFrame(rows(RUN), columns=["query_id", "doc_id", "score"]),
    "pandas, extra columns": lambda _: pd.DataFrame(rows(RUN), columns=["qid", "docno", "score"]).assign(
        rank=1, text="x"
    ),
    "PyArrow": lambda _: frame(RUN, "score").to_arrow(),
    "Run of a dict": lambda _: sy.Run(RUN),
    "Run of a frame": lambda _: sy.Run(frame(RUN, "score")),
    "Run of a file": lambda d: sy.Run.read(write(d / "r.run", run_text(RUN))),
    "Run of a Parquet file": lambda d: sy.Run.read(write(d / "r.parquet", parquet(frame(RUN, "score")))),
}


@pytest.fixture(scope="module")
def expected() -> sy.Scores:
    """Checked by hand where it is short enough to do so; the measures have their own tests."""
    scores = sy.evaluate(TRUTH, RUN, MEASURES)
    by_hand = dict(scores.per_query.filter(measure="map").select("query_id", "value").iter_rows())
    # q1: d2 z d1 7 007 y, relevant at 3, 4, 5; 0042: d5 d1 x 文档一, relevant at 1 and 4; 查询: zero neg a,b.
    assert by_hand == {
        "q1": pytest.approx((1 / 3 + 2 / 4 + 3 / 5) / 3),
        "0042": pytest.approx((1 + 2 / 4) / 2),
        "查询": pytest.approx(1 / 3),
        "10": 0.0,
    }
    return scores


def assert_same(scores: sy.Scores, expected: sy.Scores) -> None:
    assert list(scores.query_ids) == list(expected.query_ids) == sorted(TRUTH)
    assert scores.values.tobytes() == expected.values.tobytes()
    assert scores.missing.tolist() == expected.missing.tolist()
    assert scores.no_relevant.tolist() == expected.no_relevant.tolist()
    assert scores.unjudged_queries.tolist() == [1]


@pytest.mark.parametrize("form", TRUTH_FORMS)
def test_every_form_of_a_truth_gives_equal_values(form: str, expected: sy.Scores, tmp_path: Path) -> None:
    assert_same(sy.evaluate(TRUTH_FORMS[form](tmp_path), RUN, MEASURES), expected)


@pytest.mark.parametrize("form", RUN_FORMS)
def test_every_form_of_a_run_gives_equal_values(form: str, expected: sy.Scores, tmp_path: Path) -> None:
    assert_same(sy.evaluate(TRUTH, RUN_FORMS[form](tmp_path), MEASURES), expected)


@pytest.mark.parametrize("form", ["TREC", "JSON", "JSONL", "CSV", "Parquet", "Polars", "dict of dicts"])
def test_a_file_read_before_gives_what_the_file_gives(form: str, expected: sy.Scores, tmp_path: Path) -> None:
    truth, run = TRUTH_FORMS[form](tmp_path), RUN_FORMS[form](tmp_path)
    held_truth = sy.Truth.read(truth) if isinstance(truth, Path) else sy.Truth(truth)
    held_run = sy.Run.read(run) if isinstance(run, Path) else sy.Run(run)
    assert_same(sy.evaluate(held_truth, held_run, MEASURES), expected)
    assert_same(sy.evaluate(truth, held_run, MEASURES), expected)
    assert_same(sy.evaluate(str(truth) if isinstance(truth, Path) else truth, run, MEASURES), expected)


def test_ranx_objects(expected: sy.Scores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # compiling takes twenty seconds, and nothing here needs it
    ranx = pytest.importorskip("ranx")
    run = ranx.Run(RUN, name="bm25")
    whole = {query: {doc: int(max(gain, 0)) for doc, gain in docs.items()} for query, docs in TRUTH.items()}
    assert_same(sy.evaluate(TRUTH, run, MEASURES), expected)
    assert_same(sy.evaluate(ranx.Qrels(whole), run, MEASURES), sy.evaluate(whole, RUN, MEASURES))
    assert list(sy.evaluate(TRUTH, {"mine": run}, "map").systems) == ["mine"]


# --------------------------------------------------------------------------- ids and columns


def test_ids_that_are_whole_numbers_become_text() -> None:
    truth = {"1": {"7": 1.0, "8": 2.0}, "2": {"7": 1.0}}
    forms: list[object] = [
        {1: {7: 1, 8: 2}, 2: {7: 1}},
        {np.int64(1): {np.int32(7): 1, np.uint8(8): 2}, np.int64(2): {np.int64(7): 1}},
        pl.DataFrame({"query_id": [1, 1, 2], "doc_id": [7, 8, 7], "gain": [1, 2, 1]}),
        pl.DataFrame({"query_id": [1, 1, 2], "doc_id": [7, 8, 7], "gain": [1, 2, 1]}).cast(pl.UInt16),
        pd.DataFrame({"query_id": [1, 1, 2], "doc_id": [7, 8, 7], "gain": [1, 2, 1]}),
        pa.table({"query_id": [1, 1, 2], "doc_id": [7, 8, 7], "gain": [1, 2, 1]}),
    ]
    for form in forms:
        held = sy.Truth(form)
        assert dict(zip(held.query_ids, held.labels, strict=True)) == truth
    lists = sy.Truth({1: [7, "8"], "2": {7}})
    assert lists.labels == [{"7": 1.0, "8": 1.0}, {"7": 1.0}]
    assert sy.Run({1: [7, 8]}).frame.rows() == [("1", "7", 0.0), ("1", "8", -1.0)]


def test_leading_zeros_and_words_for_nothing_are_kept(tmp_path: Path) -> None:
    text = "qid,docno,score\n007,0012,1\nNA,null,2\n1e3,1.0,3\nNaN,None,4\ntrue, x ,5\n"
    want = [("007", "0012", 1.0), ("NA", "null", 2.0), ("1e3", "1.0", 3.0), ("NaN", "None", 4.0), ("true", " x ", 5.0)]
    assert sy.Run.read(write(tmp_path / "r.csv", text)).frame.rows() == want
    assert sy.Run.read(write(tmp_path / "r.tsv", text.replace(",", "\t"))).frame.rows() == want
    many = "qid,docno,score\n" + "1,2,3\n" * 20_000 + "007,0012,1\n"
    assert sy.Run.read(write(tmp_path / "many.csv", many)).frame.rows()[-1] == want[0]


ALIASES = [
    ("query_id", "doc_id", "score"), ("qid", "docid", "sim"), ("q_id", "docno", "similarity"),
    ("query-id", "corpus-id", "score"),
    ("queryid", "doc-id", "score"), ("topic", "pid", "score"), ("topic_id", "chunk_id", "score"),
    ("QUERY_ID", "DocNo", "Score"),
]  # fmt: skip


@pytest.mark.parametrize("header", ALIASES, ids=" ".join)
def test_columns_of_a_run_have_many_names(header: tuple[str, str, str], tmp_path: Path) -> None:
    nested = {"q": {"a": 2.0, "b": 1.0}}
    assert sy.Run.read(write(tmp_path / "r.csv", table(nested, header))).frame.rows() == rows(nested)
    assert sy.Run(pd.DataFrame(rows(nested), columns=list(header))).frame.rows() == rows(nested)
    # In another order, and among others.
    mixed = frame(nested, "score").select("score", pl.lit("x").alias("text"), "doc_id", "query_id")
    mixed.columns = [header[2], "text", header[1], header[0]]
    assert sy.Run(mixed).frame.rows() == rows(nested)
    assert sy.Run.read(write(tmp_path / "r.parquet", parquet(mixed))).frame.rows() == rows(nested)


@pytest.mark.parametrize("gain", ["gain", "relevance", "rel", "label", "grade", "score", "Relevance"])
def test_the_gain_has_many_names(gain: str, tmp_path: Path) -> None:
    text = table({"q": {"a": 2.0}}, ("query_id", "doc_id", gain))
    assert sy.Truth.read(write(tmp_path / "t.csv", text)).labels == [{"a": 2.0}]


def test_the_gain_is_preferred_to_a_score(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "query_id,doc_id,score,gain\nq,a,0.123,2\n")
    assert sy.Truth.read(path).labels == [{"a": 2.0}]
    assert sy.Run.read(path).frame.rows() == [("q", "a", 0.123)]


def test_a_missing_column_is_named_beside_those_there(tmp_path: Path) -> None:
    cases = [
        ("query_id,doc,score\nq,a,1\n", r"t\.csv: has no column 'doc_id' \(columns: query_id, doc, score\); rename"),
        ("question,doc_id,score\nq,a,1\n", r"t\.csv: has no column 'query_id' \(columns: question, doc_id, score\)"),
    ]
    for text, says in cases:
        path = write(tmp_path / "t.csv", text)
        for read in (sy.Run.read, sy.Truth.read):
            with pytest.raises(sy.InputError, match=says):
                read(path)
    with pytest.raises(sy.InputError, match=r"t\.csv: has no column 'gain' \(columns: query_id, doc_id, x\)"):
        sy.Truth.read(write(tmp_path / "t.csv", "query_id,doc_id,x\nq,a,1\n"))
    wrong = pl.DataFrame({"query_id": ["q"], "text": ["a"], "score": [1.0]})
    for form in (wrong, wrong.to_pandas(), wrong.to_arrow()):
        with pytest.raises(sy.InputError, match=r"run: has no column 'doc_id' \(columns: query_id, .*score\)"):
            read_rows(form)
    with pytest.raises(sy.InputError, match=r"t\.parquet: has no column 'doc_id' \(columns: .*score"):
        sy.Run.read(write(tmp_path / "t.parquet", parquet(wrong)))


# --------------------------------------------------------------------------- bad cells

# (label, the bad line 4, what the message says)
BAD_CSV = [
    ("no document", "q,,1", ("line 4", "doc_id is empty")),
    ("no query", ",c,1", ("line 4", "query_id is empty")),
    ("no score", "q,c,", ("line 4", "is not a finite number")),
    ("short line", "q,c", ("line 4", "is not a finite number")),
    ("NaN", "q,c,nan", ("line 4", "'nan' is not a finite number")),
    ("infinite", "q,c,-inf", ("line 4", "'-inf' is not a finite number")),
    ("too large", "q,c,1e999", ("line 4", "'1e999' is not a finite number")),
    ("a word", "q,c,high", ("line 4", "'high' is not a finite number")),
    ("decimal comma", 'q,c,"1,5"', ("line 4", "'1,5' is not a finite number")),
    ("long line", "q,c,d,1", ("line 4", "4 fields, but the header names 3", "quotes")),
    ("a long cell", f"q,{'x' * 200_000},high", ("line 4", "'high' is not a finite number")),
    ("a long cell in a long line", f"q,{'x' * 200_000},1,1", ("line 4", "4 fields, but the header names 3")),
    ("not UTF-8", "q,d\udce9,1", ("line 4", "byte 0xe9 is not UTF-8", "iconv")),
]


@pytest.mark.parametrize(("line", "says"), [pytest.param(line, says, id=label) for label, line, says in BAD_CSV])
@pytest.mark.parametrize("kind", ["run", "truth"])
def test_a_bad_cell_of_a_csv_file_is_placed(kind: str, line: str, says: tuple[str, ...], tmp_path: Path) -> None:
    head, tail = "query_id,doc_id,score\nq,a,3\nq,b,2\n", "\nq,e,1\n"
    content = (head + line + tail).encode(errors="surrogateescape")
    for path in (write(tmp_path / "bad.csv", content), write(tmp_path / "bad.csv.gz", gzip.compress(content))):
        with pytest.raises(sy.InputError) as caught:
            _ = sy.Run.read(path).frame if kind == "run" else sy.Truth.read(path)
        assert str(caught.value).startswith(str(path))
        for fragment in says:
            assert fragment in str(caught.value)


def test_the_bad_row_is_counted_over_all_batches(tmp_path: Path) -> None:
    docs = [f"d{i}" for i in range(300_000)]
    bad = pl.DataFrame({"query_id": "q", "doc_id": docs, "score": 1.0}).with_columns(
        pl.when(pl.col("doc_id") == "d250000").then(float("nan")).otherwise(pl.col("score")).alias("score")
    )
    files = [tmp_path / "b.parquet", tmp_path / "b.csv"]
    bad.write_parquet(files[0], row_group_size=10_000)
    bad.write_csv(files[1])
    for path in files:
        with pytest.raises(
            sy.InputError, match=r"(row 250001: score nan|line 250002: score 'NaN') is not a finite number"
        ):
            sy.evaluate({"q": ["d1"]}, path)
    with pytest.raises(sy.InputError, match=r"run, row 250001: score nan is not a finite number"):
        sy.evaluate({"q": ["d1"]}, bad)


BAD_FRAMES: list[tuple[str, dict[str, list[Any]], str]] = [
    ("null query", {"query_id": ["q", None], "doc_id": ["a", "b"], "score": [1.0, 2.0]}, "row 2: query_id is empty"),
    ("null document", {"query_id": ["q", "q"], "doc_id": ["a", None], "score": [1.0, 2.0]}, "row 2: doc_id is empty"),
    (
        "null score",
        {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, None]},
        "row 2: score .* is not a finite",
    ),
    ("NaN", {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, float("nan")]}, "row 2: score nan is not"),
    (
        "infinite",
        {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [float("-inf"), 1.0]},
        "row 1: score -inf is not",
    ),
    ("words", {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": ["1", "b"]}, "row 2: score 'b' is not a finite"),
    (
        "float ids",
        {"query_id": [1.0, 2.0], "doc_id": ["a", "b"], "score": [1.0, 2.0]},
        "'query_id' holds .*ids are text",
    ),
    ("no rows", {"query_id": [], "doc_id": [], "score": []}, "has no rows"),
]


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize(("data", "says"), [pytest.param(data, says, id=label) for label, data, says in BAD_FRAMES])
def test_a_bad_cell_of_a_frame_is_placed(data: dict[str, list[Any]], says: str, library: str) -> None:
    made = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.table}[library](data)
    with pytest.raises(sy.InputError, match=rf"run\b.*{says}"):
        _ = sy.Run(made).frame
    with pytest.raises(sy.InputError, match=rf"truth\b.*{says.replace('score', 'gain')}"):
        sy.Truth(made)


@pytest.mark.parametrize(("data", "says"), [pytest.param(data, says, id=label) for label, data, says in BAD_FRAMES[:5]])
def test_a_bad_cell_of_a_parquet_or_arrow_file_is_placed(data: dict[str, list[Any]], says: str, tmp_path: Path) -> None:
    for path in (
        write(tmp_path / "b.parquet", parquet(pl.DataFrame(data))),
        write(tmp_path / "b.arrow", arrow(pl.DataFrame(data))),
    ):
        with pytest.raises(sy.InputError, match=rf"{path.name}, {says}"):
            sy.evaluate({"q": ["a"]}, path)


def test_damaged_tables_are_refused(tmp_path: Path) -> None:
    good = {"b.parquet": parquet(frame(RUN, "score")), "b.arrow": arrow(frame(RUN, "score"))}
    for name, content in good.items():
        for bad in (
            content[:40],
            content[: len(content) // 2],
            b"PAR1" if "parquet" in name else b"ARROW1",
            b"",
            b"text\n",
        ):
            with pytest.raises(sy.InputError, match=rf"{name}"):
                sy.evaluate(TRUTH, write(tmp_path / name, bad))


def test_a_reader_that_gives_up_half_way_is_noticed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A thread of Polars panics over a place beyond the file's end, and the rows just end."""
    content = bytearray(
        arrow(pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]}))
    )
    content[-220] ^= 0xFF  # of the place of the rows, in the footer
    with pytest.raises(sy.InputError, match=r"d\.arrow: is damaged; copy or write it again$"):
        sy.Run.read(write(tmp_path / "d.arrow", bytes(content)))
    assert " panicked at " not in capfd.readouterr().err


@pytest.mark.parametrize("column", [pl.Series([True, False]), pl.Series([date(2026, 1, 1), date(2026, 1, 2)])])
def test_columns_of_other_types_are_no_numbers(column: pl.Series, tmp_path: Path) -> None:
    data = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": column})
    files = [write(tmp_path / "t.parquet", parquet(data)), write(tmp_path / "t.arrow", arrow(data))]
    says = rf"column '(score|gain)' holds {data['score'].dtype}, expected numbers"
    for form in (*files, data, data.to_arrow()):
        for kind in ("run", "truth"):
            with pytest.raises(sy.InputError, match=says):
                _ = sy.evaluate({"q": ["a"]}, form) if kind == "run" else sy.evaluate(form, {"q": ["a"]})


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("qid,doc_id,score,query_id", r"'qid' and 'query_id' are columns of one meaning \(query_id\)"),
        ("qid,doc_id,score,chunk_id", r"'doc_id' and 'chunk_id' are columns of one meaning \(doc_id\)"),
        ("qid,doc_id,Score,score", r"'Score' and 'score' are columns of one meaning"),
        ("qid,doc_id,score,score", "two columns are called 'score'"),
    ],
)
def test_columns_of_one_meaning_are_refused(header: str, says: str, tmp_path: Path) -> None:
    csv_file = write(tmp_path / "t.csv", f"{header}\nq,a,1,2\nq,b,2,1\n")
    names = header.split(",")
    forms: list[Path] = [csv_file]
    if len(set(names)) == len(names):
        data = pl.DataFrame([["q", "q"], ["a", "b"], [1.0, 2.0], [2.0, 1.0]], schema=names)
        forms += [write(tmp_path / "t.parquet", parquet(data)), write(tmp_path / "t.arrow", arrow(data))]
    for path in forms:
        for read in (sy.Run.read, sy.Truth.read):
            with pytest.raises(sy.InputError, match=rf"{path.name}: {says}"):
                read(path)


def test_whole_numbers_that_floats_would_round(tmp_path: Path) -> None:
    exact = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2**53, 2**62]})
    rounded = exact.with_columns(score=pl.Series([2**53, 2**53 + 1]))
    for save, name in ((parquet, "t.parquet"), (arrow, "t.arrow"), (lambda f: f.write_csv().encode(), "t.csv")):
        assert sy.Run.read(write(tmp_path / name, save(exact))).frame["score"].to_list() == [2.0**53, 2.0**62]
        for read in (sy.Run.read, sy.Truth.read):
            with pytest.raises(sy.InputError, match=rf"{name}, (row 2|line 3): .* whole number beyond 2\*\*53"):
                read(write(tmp_path / name, save(rounded)))
    with pytest.raises(sy.InputError, match=r"run, row 2: score 9007199254740993 is a whole number"):
        read_rows(rounded)


def test_lines_of_a_table_are_those_of_the_file(tmp_path: Path) -> None:
    """Blank lines count, and so do the lines of a cell that has several."""
    text = 'query_id,doc_id,score\n\n"q\n1",a,1\n\nq,b,2\nq,c,x\n'
    with pytest.raises(sy.InputError, match=r"r\.csv, line 7: score 'x' is not"):
        sy.Run.read(write(tmp_path / "r.csv", text))
    again = "query_id,doc_id,gain\n\nq,a,1\n\nq,b,2\nq,a,1\n"
    with pytest.raises(sy.DuplicateError, match=r"t\.csv, lines 3 and 6: document 'a' is judged twice"):
        sy.Truth.read(write(tmp_path / "t.csv", again))


def test_quoted_cells_of_a_csv_file(tmp_path: Path) -> None:
    text = 'query_id,doc_id,score\nq1,"a,b",1\nq1,"x ""y""",2\n"q\n2","l1\nl2",3\n'
    want = [("q1", "a,b", 1.0), ("q1", 'x "y"', 2.0), ("q\n2", "l1\nl2", 3.0)]
    assert sy.Run.read(write(tmp_path / "r.csv", text)).frame.rows() == want
    with pytest.raises(sy.InputError, match=r"r\.csv, line 7: 4 fields"):
        sy.Run.read(write(tmp_path / "r.csv", text + "q1,a,b,4\n"))


@pytest.mark.parametrize(
    ("content", "says"),
    [("", "is empty"), ("query_id,doc_id,score\n", "has no rows"), ("\ufeffquery_id,doc_id,score\r\n", "has no rows")],
)
def test_a_table_without_rows_is_refused(content: str, says: str, tmp_path: Path) -> None:
    for read in (sy.Run.read, sy.Truth.read):
        with pytest.raises(sy.InputError, match=rf"r\.csv: {says}"):
            read(write(tmp_path / "r.csv", content))


def test_crlf_and_byte_order_mark_of_a_csv_file(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", "\ufeffquery_id,doc_id,score\r\nq,a,1\r\nq,b,0.5")
    assert sy.Run.read(path).frame.rows() == [("q", "a", 1.0), ("q", "b", 0.5)]


# --------------------------------------------------------------------------- lists without scores


def long_list(n: int) -> pl.DataFrame:
    """Two queries whose rows alternate; the ids rise, so that a tie would turn the list upside down."""
    i = np.arange(n)
    return pl.DataFrame({"query_id": np.where(i % 2, "odd", "even"), "doc_id": [f"d{k:07d}" for k in i // 2]})


LONG = 300_000
LONG_TRUTH = {"odd": ["d0000003", "d0149999"], "even": ["d0070000"]}
LONG_FORMS: dict[str, Callable[[Path, pl.DataFrame], object]] = {
    "CSV": lambda d, frame: (frame.write_csv(d / "l.csv"), d / "l.csv")[1],
    "Parquet": lambda d, frame: (frame.write_parquet(d / "l.parquet", row_group_size=10_000), d / "l.parquet")[1],
    "Arrow": lambda d, frame: (frame.write_ipc(d / "l.arrow", record_batch_size=10_000), d / "l.arrow")[1],
    "Polars": lambda _, frame: frame,
    "Polars, many chunks": lambda _, frame: pl.concat([frame[:7], frame[7:200_000], frame[200_000:]], rechunk=False),
    "PyArrow": lambda _, frame: frame.to_arrow(),
    "pandas": lambda _, frame: frame.to_pandas(),
    "dict": lambda _, frame: {q: frame.filter(query_id=q)["doc_id"].to_list() for q in ("odd", "even")},
}


@pytest.mark.parametrize("form", LONG_FORMS)
def test_a_list_without_scores_keeps_its_order_over_all_batches(form: str, tmp_path: Path) -> None:
    scores = sy.evaluate(LONG_TRUTH, LONG_FORMS[form](tmp_path, long_list(LONG)), ["map", "mrr", "n_retrieved"])
    assert list(scores.query_ids) == ["even", "odd"]
    want = [[1 / 70_001, (1 / 4 + 2 / 150_000) / 2], [1 / 70_001, 1 / 4], [LONG / 2, LONG / 2]]
    assert scores.values[0].tolist() == [pytest.approx(row, rel=1e-12) for row in want]


# --------------------------------------------------------------------------- JSON


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "qid,docid,score\rq1,d1,2\rq1,d2,1\r"),
        ("a.tsv", "qid\tdocid\tscore\rq1\td1\t2\r"),
        ("a.csv", "qid,docid,score\nq1,d1,2\rq1,d2,1\n"),
        ("a.jsonl", '{"qid": "q1", "retrieved": ["d1"]}\r{"qid": "q2", "retrieved": []}\r'),
        ("a.json", '{"q1": ["d1"]}\r{"q2": ["d1"]}'),
    ],
)
def test_carriage_returns_as_line_ends_are_named(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text.encode())
    with pytest.raises(sy.InputError, match=rf"{name}.*: is divided by carriage returns .* convert its line ends"):
        sy.evaluate({"q1": ["d1"]}, tmp_path / name)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_another_encoding_is_named_with_what_to_try(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes('{"qid": "q1", "retrieved": ["文档"]}\n'.encode("gbk"))
    with pytest.raises(sy.InputError, match=r"byte 0xce at \d+ is not UTF-8; convert .* -f gbk"):
        sy.Run.read(tmp_path / name)


def test_two_objects_on_lines_of_windows_are_jsonl(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{\r\n"q1": ["d1"]}\r\n{"q2": ["d1"]}\r\n')
    with pytest.raises(sy.InputError, match=r"Extra data.* is JSONL"):
        sy.evaluate({"q1": ["d1"]}, tmp_path / "a.json")


def test_json_numbers_may_be_whole_and_lists_are_relevant(tmp_path: Path) -> None:
    held = sy.Truth.read(
        write(tmp_path / "t.json", '\ufeff{"q1": {"a": 1, "b": -1}, "q2": ["c", "d"], "q3": {}, "q4": []}')
    )
    assert held.labels == [{"a": 1.0, "b": -1.0}, {"c": 1.0, "d": 1.0}, {}, {}]


BAD_JSON = [
    ("broken", '{"q": {"a": 1},\n}', r"b\.json, line 2: is not JSON"),
    (
        "lines",
        '{"q": {"a": 1}}\n{"r": {"a": 1}}',
        r"b\.json, line 2: is not JSON .*; a file with a value a line is JSONL",
    ),
    ("cut off", '{"q": {"a": 1', r"b\.json, line 1: is not JSON"),
    ("a list", '[["q", "a", 1]]', r"b\.json: holds a list, expected \{query_id: \{doc_id: number\}\}"),
    ("a number", "3", r"b\.json: holds a int, expected"),
    ("no query", "{}", r"holds no question"),
    ("query twice", '{"q": {"a": 1}, "q": {"b": 1}}', r"b\.json: the key 'q' is twice"),
    ("document twice", '{"q": {"a": 1, "b": 2, "a": 3}}', r"b\.json: the key 'a' is twice"),
    ("NaN", '{"q": {"a": NaN}}', r"question 'q', document 'a': .* nan is not a finite number"),
    ("infinite", '{"q": {"a": -Infinity}}', r"question 'q', document 'a': .* -inf is not a finite number"),
    ("too large", '{"q": {"a": 1e999}}', r"question 'q', document 'a': .* inf is not a finite number"),
    (
        "too large a whole number",
        '{"q": {"a": 1' + "0" * 400 + "}}",
        r"question 'q', document 'a': .* is not a finite number",
    ),
    ("text", '{"q": {"a": "1"}}', r"question 'q', document 'a': .* '1' is not a finite number"),
    ("text later", '{"q": {"z": 2, "a": "1"}}', r"question 'q', document 'a': .* '1' is not a finite number"),
    ("null", '{"q": {"a": null}}', r"question 'q', document 'a': .* None is not a finite number"),
    ("null later", '{"q": {"z": 2, "a": null}}', r"question 'q', document 'a': .* None is not a finite number"),
    ("a list as a number", '{"q": {"a": [1]}}', r"question 'q', document 'a': .*\[1\] is not a finite number"),
    ("text for a query", '{"q": "a"}', r"question 'q': 'a' is neither"),
    ("number for a query", '{"q": 1}', r"question 'q': 1 is neither"),
    ("null for a query", '{"q": null}', r"question 'q': None is neither"),
    ("ids that are none", '{"q": [null]}', r"question 'q' is None \(NoneType\); ids are text"),
    ("ids that are fractions", '{"q": [1.5]}', r"question 'q' is 1\.5 \(float\); ids are text"),
]


@pytest.mark.parametrize(("text", "says"), [pytest.param(text, says, id=label) for label, text, says in BAD_JSON])
@pytest.mark.parametrize("kind", ["run", "truth"])
def test_bad_json_is_placed(kind: str, text: str, says: str, tmp_path: Path) -> None:
    path = write(tmp_path / "b.json", text)
    with pytest.raises(sy.InputError, match=says):
        _ = sy.evaluate({"q": ["a"]}, path) if kind == "run" else sy.evaluate(path, {"q": ["a"]})


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    half = "\\ud800"  # the escape of a lone surrogate, which no UTF-8 can hold
    with pytest.raises(sy.InputError, match=r"b\.json"):
        sy.Truth.read(write(tmp_path / "b.json", f'{{"q": {{"{half}": 1}}}}'))
    with pytest.raises(sy.InputError, match=r"b\.json: a document id of question 'q' is 'a.*, which holds half"):
        sy.evaluate({"q": ["a"]}, write(tmp_path / "b.json", f'{{"q": {{"a": 1, "a{half}": 2}}}}'))
    with pytest.raises(sy.InputError, match=r"b\.jsonl, line 1"):
        sy.Run.read(write(tmp_path / "b.jsonl", f'{{"qid": "q", "retrieved": ["{half}"]}}'))


def test_json_that_is_not_utf8_or_empty(tmp_path: Path) -> None:
    for read in (sy.Run.read, sy.Truth.read):
        with pytest.raises(sy.InputError, match=r"b\.json.*byte 0xe9.* is not UTF-8"):
            read(write(tmp_path / "b.json", '{"q": {"é": 1}}'.encode("latin-1")))
        with pytest.raises(sy.InputError, match=r"b\.json"):
            read(write(tmp_path / "b.json", ""))


# --------------------------------------------------------------------------- JSONL

JSONL_RUNS: list[tuple[str, str, list[Row]]] = [
    ("ids", '{"qid": "q", "retrieved": ["b", "a"]}', [("q", "b", 0.0), ("q", "a", -1.0)]),
    ("query_id", '{"query_id": "q", "retrieved": ["b"]}', [("q", "b", 0.0)]),
    ("numbers as ids", '{"qid": 7, "retrieved": [3, "04"]}', [("7", "3", 0.0), ("7", "04", -1.0)]),
    (
        "scored",
        '{"qid": "q", "retrieved": [{"id": "a", "score": 1}, {"id": "b", "score": 2.5}]}',
        [("q", "a", 1.0), ("q", "b", 2.5)],
    ),
    ("doc_id", '{"qid": "q", "retrieved": [{"doc_id": "a", "score": 1}]}', [("q", "a", 1.0)]),
    (
        "objects without scores",
        '{"qid": "q", "retrieved": [{"id": "b"}, {"id": "a"}]}',
        [("q", "b", 0.0), ("q", "a", -1.0)],
    ),
    (
        "objects with null scores",
        '{"qid": "q", "retrieved": [{"id": "b", "score": null}, "a"]}',
        [("q", "b", 0.0), ("q", "a", -1.0)],
    ),
    (
        "more keys",
        '{"question": "?", "qid": "q", "retrieved": [{"id": "a", "score": 1, "text": "t"}], "answer": ""}',
        [("q", "a", 1.0)],
    ),
    ("blank lines", '\n  \n{"qid": "q", "retrieved": ["a"]}\n\n', [("q", "a", 0.0)]),
    (
        "CRLF and BOM",
        '\ufeff{"qid": "q", "retrieved": ["a"]}\r\n{"qid": "p", "retrieved": ["文\u2028"]}\r\n',
        [("q", "a", 0.0), ("p", "文\u2028", 0.0)],
    ),
]
JSONL_TRUTHS: list[tuple[str, str, dict[str, dict[str, float]]]] = [
    ("rel_map", '{"qid": "q", "rel_map": {"a": 2, "b": 0}}', {"q": {"a": 2, "b": 0}}),
    ("relevant", '{"query_id": "q", "relevant": {"a": 0.5}}', {"q": {"a": 0.5}}),
    ("relevant list", '{"query_id": "q", "relevant": ["a", "b"]}', {"q": {"a": 1, "b": 1}}),
    ("gold_evidence", '{"qid": "q", "gold_evidence": ["a", 7]}', {"q": {"a": 1, "7": 1}}),
    (
        "gold and grades",
        '{"qid": "q", "gold_evidence": ["a", "b"], "rel_map": {"b": 3, "c": -1}}',
        {"q": {"a": 1, "b": 3, "c": -1}},
    ),
    ("no gold", '{"qid": "q", "gold_evidence": []}\n{"qid": "p", "rel_map": {}}', {"q": {}, "p": {}}),
    ("null gold", '{"qid": "q", "gold_evidence": null, "rel_map": {"a": 1}}', {"q": {"a": 1}}),
    ("no gold, but results", '{"qid": "q", "gold_evidence": [], "retrieved": ["a"]}', {"q": {}}),
    (
        "a query on two lines",
        '{"qid": "q", "rel_map": {"a": 1}}\n{"qid": "q", "rel_map": {"b": 2}}',
        {"q": {"a": 1, "b": 2}},
    ),
]


@pytest.mark.parametrize(("text", "want"), [pytest.param(text, want, id=label) for label, text, want in JSONL_RUNS])
def test_jsonl_results(text: str, want: list[Row], tmp_path: Path) -> None:
    assert sy.Run.read(write(tmp_path / "r.jsonl", text)).frame.rows() == want
    assert sy.Run.read(write(tmp_path / "r.ndjson", text)).frame.rows() == want


@pytest.mark.parametrize(("text", "want"), [pytest.param(text, want, id=label) for label, text, want in JSONL_TRUTHS])
def test_jsonl_truth(text: str, want: dict[str, dict[str, float]], tmp_path: Path) -> None:
    held = sy.Truth.read(write(tmp_path / "t.jsonl", text))
    assert dict(zip(held.query_ids, held.labels, strict=True)) == want


def test_one_jsonl_file_may_hold_truth_and_results(tmp_path: Path) -> None:
    lines = [
        {"qid": q, "gold_evidence": [], "rel_map": TRUTH[q], "retrieved": scored_items(RUN.get(q, {}))} for q in TRUTH
    ]
    path = write(tmp_path / "both.jsonl", jsonl(lines))
    scores = sy.evaluate(path, path, MEASURES)
    # A line with an empty list is a query that was asked and found nothing; it has no row, so it counts as missing.
    assert scores.values.tobytes() == sy.evaluate(TRUTH, RUN, MEASURES).values.tobytes()


def test_a_list_on_two_jsonl_lines_goes_on(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.jsonl", jsonl([{"qid": "q", "retrieved": ["a", "b"]}, {"qid": "q", "retrieved": ["c", "d"]}])
    )
    scores = sy.evaluate({"q": ["c"]}, path, "mrr")
    assert scores.values.item() == 1 / 3


def test_many_jsonl_lines(tmp_path: Path) -> None:
    n = 12_000
    path = write(tmp_path / "r.jsonl", jsonl([{"qid": f"q{i}", "retrieved": ["x", f"d{i}"]} for i in range(n)]))
    scores = sy.evaluate({f"q{i}": [f"d{i}"] for i in range(0, n, 3)}, path, "mrr")
    assert set(scores.values.ravel().tolist()) == {0.5}
    assert scores.unjudged_queries.tolist() == [n - n // 3]


BAD_JSONL_RUNS = [
    ("not JSON", "{qid}", "is not JSON"),
    ("a list", '["q"]', "holds a list, expected an object"),
    ("no query", '{"retrieved": ["a"]}', r"has no `query_id` or `qid`, and no `query` \(keys: retrieved\)"),
    ("a query that is none", '{"qid": null, "retrieved": ["a"]}', r"`qid` is None"),
    ("no results", '{"qid": "q", "hits": ["a"]}', "`retrieved` must be a list"),
    ("results in a dict", '{"qid": "q", "retrieved": {"a": 1}}', "`retrieved` must be a list"),
    (
        "some scored",
        '{"qid": "q", "retrieved": [{"id": "a", "score": 1}, {"id": "b"}]}',
        "item 2 of `retrieved` has no score",
    ),
    (
        "ids among scored",
        '{"qid": "q", "retrieved": ["a", {"id": "b", "score": 1}]}',
        "item 1 of `retrieved` has no score",
    ),
    (
        "score is text",
        '{"qid": "q", "retrieved": [{"id": "a", "score": "1"}]}',
        "item 1: score '1' is not a finite number",
    ),
    (
        "score is NaN",
        '{"qid": "q", "retrieved": [{"id": "a", "score": NaN}]}',
        "item 1: score nan is not a finite number",
    ),
    ("no id", '{"qid": "q", "retrieved": [{"score": 1}]}', "the id of item 1 of `retrieved` is None"),
]
BAD_JSONL_TRUTHS = [
    ("no labels", '{"qid": "q", "retrieved": ["a"]}', r"has none of `gold_evidence`.*is this a file of results\?"),
    ("gold is text", '{"qid": "q", "gold_evidence": "a"}', "must be a list of ids"),
    ("labels are a number", '{"qid": "q", "rel_map": 3}', "must be a list of ids"),
    ("gain is text", '{"qid": "q", "rel_map": {"a": "x"}}', "document 'a': gain 'x' is not a finite number"),
    ("gain is infinite", '{"qid": "q", "rel_map": {"a": Infinity}}', "document 'a': gain inf is not a finite number"),
    ("gold is null", '{"qid": "q", "gold_evidence": [null]}', "an id of `gold_evidence` is None"),
]


@pytest.mark.parametrize(("text", "says"), [pytest.param(text, says, id=label) for label, text, says in BAD_JSONL_RUNS])
def test_bad_jsonl_results_are_placed(text: str, says: str, tmp_path: Path) -> None:
    path = write(
        tmp_path / "b.jsonl", '{"qid": "p", "retrieved": ["a"]}\n\n' + text + '\n{"qid": "r", "retrieved": []}\n'
    )
    with pytest.raises(sy.InputError, match=rf"b\.jsonl, line 3.*{says}"):
        sy.evaluate({"p": ["a"]}, path)


@pytest.mark.parametrize(
    ("text", "says"), [pytest.param(text, says, id=label) for label, text, says in BAD_JSONL_TRUTHS]
)
def test_bad_jsonl_truth_is_placed(text: str, says: str, tmp_path: Path) -> None:
    path = write(tmp_path / "b.jsonl", '{"qid": "p", "rel_map": {"a": 1}}\n' + text + "\n")
    with pytest.raises(sy.InputError, match=rf"b\.jsonl, line 2.*{says}"):
        sy.Truth.read(path)


def test_duplicates_in_jsonl_are_placed(tmp_path: Path) -> None:
    within = write(
        tmp_path / "d.jsonl", jsonl([{"qid": "p", "retrieved": ["a"]}, {"qid": "q", "retrieved": ["a", "b", "a"]}])
    )
    with pytest.raises(sy.DuplicateError, match=r"d\.jsonl, line 2: document 'a' is retrieved twice for question 'q'"):
        sy.evaluate({"q": ["a"]}, within)
    apart = write(tmp_path / "d.jsonl", jsonl([{"qid": q, "rel_map": {"a": 1}} for q in "qpq"]))
    with pytest.raises(
        sy.DuplicateError, match=r"d\.jsonl, lines 1 and 3: document 'a' is judged twice for question 'q'"
    ):
        sy.Truth.read(apart)


def test_jsonl_without_objects_is_refused(tmp_path: Path) -> None:
    for text in ("", "\n \n"):
        with pytest.raises(sy.InputError, match=r"e\.jsonl: is empty"):
            sy.Run.read(write(tmp_path / "e.jsonl", text))
    with pytest.raises(sy.InputError, match=r"e\.jsonl, line 2: byte 0xe9 at \d+ is not UTF-8"):
        sy.Run.read(write(tmp_path / "e.jsonl", b'{"qid": "q", "retrieved": []}\n{"qid": "\xe9"}\n'))


# --------------------------------------------------------------------------- BEIR


def beir(folder: Path, **splits: str) -> Path:
    for split, doc in splits.items():
        write(folder / "qrels" / f"{split}.tsv", f"query-id\tcorpus-id\tscore\nq\t{doc}\t2\n")
    write(folder / "corpus.jsonl", '{"_id": "a", "title": "", "text": "x"}\n')
    write(folder / "queries.jsonl", '{"_id": "q", "text": "?"}\n')
    return folder


def test_a_beir_folder_is_read_by_its_best_split(tmp_path: Path) -> None:
    cases = [
        ({"test": "a", "dev": "b", "train": "c"}, "a"),
        ({"dev": "b", "train": "c"}, "b"),
        ({"train": "c"}, "c"),
        ({"other": "d"}, "d"),
    ]
    for number, (splits, want) in enumerate(cases):
        held = sy.Truth.read(beir(tmp_path / str(number), **splits))
        assert held.labels == [{want: 2.0}]
        assert held.name == str(number)
    assert sy.Truth.read(beir(tmp_path / "0"), format="beir").labels == [{"a": 2.0}]


def test_a_beir_folder_is_no_run_and_other_folders_are_no_truth(tmp_path: Path) -> None:
    folder = beir(tmp_path / "nq", test="a")
    with pytest.raises(sy.InputError, match="is a folder, where a file is expected"):
        sy.Run.read(folder)
    with pytest.raises(sy.InputError, match="has neither qrels"):
        sy.Truth.read(write(tmp_path / "empty" / "x", "").parent)
    write(folder / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\nq\ta\tx\n")
    with pytest.raises(sy.InputError, match=r"test\.tsv, line 2: gain 'x' is not a finite number"):
        sy.Truth.read(folder)


def test_the_digest_of_a_beir_folder_covers_its_files(tmp_path: Path) -> None:
    folder = beir(tmp_path / "nq", test="a")
    before = sy.Truth.read(folder).digest()
    assert sy.Truth.read(folder).digest() == before
    write(folder / "queries.jsonl", '{"_id": "q", "text": "!"}\n')
    assert sy.Truth.read(folder).digest() != before


# --------------------------------------------------------------------------- frames of pandas

PANDAS_IDS: dict[str, Callable[[list[str]], Any]] = {
    "object": lambda ids: pd.Series(ids, dtype=object),
    "string": lambda ids: pd.Series(ids, dtype="string"),
    "string of arrow": lambda ids: pd.Series(ids, dtype="string[pyarrow]"),
    "int64": lambda ids: pd.Series([int(i) for i in ids], dtype="int64"),
    "Int64": lambda ids: pd.Series([int(i) for i in ids], dtype="Int64"),
    "int64 of arrow": lambda ids: pd.Series([int(i) for i in ids], dtype="int64[pyarrow]"),
    "categorical": lambda ids: pd.Series(pd.Categorical(ids)),
    "categorical numbers": lambda ids: pd.Series(pd.Categorical([int(i) for i in ids])),
    "text and numbers": lambda ids: pd.Series([ids[0], *map(int, ids[1:])], dtype=object),
}


@pytest.mark.parametrize("kind", PANDAS_IDS)
@pytest.mark.parametrize("number", ["float64", "float32", "int64", "Float64", "object"])
def test_pandas_columns_of_any_kind(kind: str, number: str) -> None:
    made = PANDAS_IDS[kind]
    data = pd.DataFrame(
        {
            "query_id": made(["1", "1", "2"]),
            "doc_id": made(["10", "20", "10"]),
            "score": pd.Series([3, 2, 1], dtype=number),
        }
    )
    want = [("1", "10", 3.0), ("1", "20", 2.0), ("2", "10", 1.0)]
    assert sy.Run(data).frame.rows() == want
    assert sy.Truth(data).frame.rows() == want


@pytest.mark.parametrize("kind", ["object", "string", "string of arrow", "categorical"])
@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA], ids=repr)
def test_a_pandas_id_that_is_missing_is_refused(kind: str, nothing: object) -> None:
    docs = PANDAS_IDS[kind](["10", "20", "30"])
    docs[1] = nothing
    data = pd.DataFrame({"query_id": ["1", "1", "1"], "doc_id": docs, "score": [3.0, 2.0, 1.0]})
    for make in (lambda: sy.Run(data).frame, lambda: sy.Truth(data)):
        with pytest.raises(sy.InputError, match="row 2: doc_id is empty"):
            make()


def test_pandas_ids_keep_their_zeros() -> None:
    data = pd.DataFrame({"qid": ["007", "7"], "docno": ["01", "1"], "score": [1.0, 2.0]})
    assert sy.Run(data).frame.rows() == [("007", "01", 1.0), ("7", "1", 2.0)]


def test_categories_of_polars_and_pyarrow() -> None:
    plain = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2, 1]})
    for form in (
        plain.with_columns(pl.col("query_id", "doc_id").cast(pl.Categorical)),
        plain.with_columns(pl.col("doc_id").cast(pl.Enum(["b", "a"]))),
        pa.table({"query_id": pa.array(["q", "q"]).dictionary_encode(), 
                  "doc_id": pa.array(["a", "b"], pa.large_string()),
                  "score": pa.array([2, 1], pa.float32())}),
        pa.table({"query_id": pa.chunked_array([["q"], ["q"]]),
                  "doc_id": pa.chunked_array([["a", "b"]]), "score": [2, 1]}),
    ):  # fmt: skip
        assert sy.Run(form).frame.rows() == [("q", "a", 2.0), ("q", "b", 1.0)]


# --------------------------------------------------------------------------- dicts


def test_ids_that_become_equal_are_not_lost() -> None:
    for data in ({1: {"a": 1.0}, "1": {"b": 2.0}}, {"1": {7: 1.0, "7": 2.0}}, {"1": [7, "7"]}):
        with pytest.raises(sy.InputError):
            sy.evaluate({"1": ["a", "7"]}, data)
    with pytest.raises(sy.DuplicateError, match="document '7' is judged twice for question '1'"):
        sy.Truth({"1": {7: 1, "7": 2}})
    with pytest.raises(sy.DuplicateError, match="document 'a' is judged twice for question '1'"):
        sy.Truth({1: {"a": 1}, "1": {"a": 2}})


@pytest.mark.parametrize("score", ["2", "x", None, float("nan"), float("inf"), 10**400], ids=lambda s: repr(s)[:9])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_bad_number_of_a_dict_is_placed(score: object, place: int) -> None:
    docs: dict[str, object] = {"a": 3.0, "b": 2.0, "c": 1.0}
    bad = "abc"[place]
    docs[bad] = score
    with pytest.raises(sy.InputError, match=rf"question 'q', document '{bad}': score .* is not a finite number"):
        sy.evaluate({"q": ["a"]}, {"q": docs})
    with pytest.raises(sy.InputError, match=rf"question 'q', document '{bad}': gain .* is not a finite number"):
        sy.evaluate({"q": docs}, {"q": ["a"]})


@pytest.mark.parametrize("data", [None, 3, "", {"q"}, [("q", "a", 1)], ["q"]], ids=repr)
def test_what_is_no_run_and_no_truth_is_refused(data: object) -> None:
    with pytest.raises(sy.InputError):
        sy.Run(data)
    with pytest.raises(sy.InputError):
        sy.Truth(data)


# --------------------------------------------------------------------------- standard input


class FakeStdin:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


STDIN_FORMATS: dict[str, bytes] = {
    "trec": run_text(RUN).encode(),
    "trec.gz": gzip.compress(run_text(RUN).encode()),
    "json": json.dumps(RUN).encode(),
    "jsonl": jsonl([{"qid": q, "retrieved": docs} for q, docs in LISTS.items()]).encode(),
    "csv": table(RUN, ("query_id", "doc_id", "score")).encode(),
    "csv.zst": zstd.compress(table(RUN, ("query_id", "doc_id", "score")).encode()),
    "tsv": table(RUN, ("query_id", "doc_id", "score"), "\t").encode(),
    "parquet": parquet(frame(RUN, "score")),
    "arrow": arrow(frame(RUN, "score")),
}


@pytest.mark.parametrize("format", STDIN_FORMATS)
def test_standard_input_is_read_whatever_it_holds(
    format: str, expected: sy.Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", FakeStdin(STDIN_FORMATS[format]))
    scores = sy.evaluate(TRUTH, "-", MEASURES)
    assert_same(scores, expected)
    assert list(scores.systems) == ["stdin"]
    assert scores.recipe["runs"]["stdin"].startswith("sha256:")


def test_a_truth_from_standard_input(expected: sy.Scores, monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (
        qrels_text(TRUTH),
        json.dumps(TRUTH),
        jsonl([{"qid": q, "rel_map": docs} for q, docs in TRUTH.items()]),
    ):
        monkeypatch.setattr(sys, "stdin", FakeStdin(content.encode()))
        assert_same(sy.evaluate("-", RUN, MEASURES), expected)


def test_errors_name_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", FakeStdin(b"q1 Q0 a 1 3 t\nq1 Q0 b 1 x t\n"))
    with pytest.raises(sy.InputError, match="standard input, line 2: score 'x' is not a finite number"):
        sy.Run.read("-")
    monkeypatch.setattr(sys, "stdin", FakeStdin(b"q1 Q0 a 1 3 t\nq1 Q0 a 1 2 t\n"))
    with pytest.raises(sy.DuplicateError, match="standard input, lines 1 and 2: "):
        sy.evaluate({"q1": ["a"]}, "-")
    monkeypatch.setattr(sys, "stdin", FakeStdin(b""))
    with pytest.raises(sy.InputError, match="standard input: is empty"):
        sy.Run.read("-")
    monkeypatch.setattr(sys, "stdin", FakeStdin(qrels_text(TRUTH).encode()))
    with pytest.raises(sy.InputError, match=r"standard input \(-\) can be read once only"):
        sy.evaluate("-", "-")


# --------------------------------------------------------------------------- which format

SNIFFED_RUNS: list[tuple[str, str, bytes]] = [
    # file, what it is read as, content: the first bytes of a table win over the suffix, a suffix over the look of text
    ("x", "trec", b"q Q0 a 1 2 t\n"),
    ("x.txt", "trec", b"# query_id,doc_id\nq Q0 a 1 2 t\n"),
    ("x.tsv", "trec", b"q\tQ0\ta\t1\t2\tt\n"),
    ("x.tsv", "tsv", b"qid\tdocno\tscore\nq\ta\t2\n"),
    ("x", "tsv", b"query_id\tdoc_id\tscore\nq\ta\t2\n"),
    ("x", "tsv", b"\xef\xbb\xbfQID\tDOCNO\tscore\r\nq\ta\t2\r\n"),
    ("x.txt", "csv", b"query_id,doc_id,score\nq,a,2\n"),
    ("x", "csv", b'"query_id","doc_id","score"\n"q","a","2"\n'),
    ("x.run", "csv", b"qid,docno,sim\nq,a,2\n"),
    ("x", "json", b'{"q": {"a": 2}}'),
    ("x", "json", b'\n  {\n"q":\n {"a": 2}\n}\n'),
    ("x", "json", b'\xef\xbb\xbf{"q": {"a": 2}, "qid": {"a": 1}}'),
    ("x", "jsonl", b'{"qid": "q", "retrieved": [{"id": "a", "score": 2}]}\n'),
    ("x", "jsonl", b'\n{"qid": "q", "retrieved": [{"id": "a", "score": 2}]}\r\n\r\n{"qid": "r", "retrieved": []}\n'),
    ("x.JSONL", "jsonl", b'{"qid": "q", "retrieved": [{"id": "a", "score": 2}]}'),
    ("x.JSON", "json", b'{"q": {"a": 2}}'),
    ("x.pq", "parquet", parquet(frame({"q": {"a": 2}}, "score"))),
    ("x.csv", "parquet", parquet(frame({"q": {"a": 2}}, "score"))),
    ("x.ipc", "arrow", arrow(frame({"q": {"a": 2}}, "score"))),
    ("x.run", "arrow", arrow(frame({"q": {"a": 2}}, "score"))),
    ("x.csv.gz", "csv", gzip.compress(b"query_id,doc_id,score\nq,a,2\n")),
    ("x.json.zst", "json", zstd.compress(b'{"q": {"a": 2}}')),
    ("x", "json", gzip.compress(b'{"q": {"a": 2}}')),
]


@pytest.mark.parametrize(
    ("file", "format", "content"), [pytest.param(*c, id=f"{i} {c[0]} {c[1]}") for i, c in enumerate(SNIFFED_RUNS)]
)
def test_the_format_is_told_by_suffix_and_content(file: str, format: str, content: bytes, tmp_path: Path) -> None:
    path = write(tmp_path / file, content)
    assert sy.Run.read(path).frame.rows()[0] == ("q", "a", 2.0)
    assert sy.Run.read(path, format=format).frame.rows() == sy.Run.read(path).frame.rows()


SNIFFED_TRUTHS: list[tuple[str, bytes]] = [
    ("x", b"q 0 a 2\n"),
    ("x.tsv", b"q\t0\ta\t2\n"),
    ("x.tsv", b"query-id\tcorpus-id\tscore\nq\ta\t2\n"),
    ("x", b"query-id\tcorpus-id\tscore\nq\ta\t2\n"),
    ("x", b"qid,docno,label\nq,a,2\n"),
    ("x", b'{"q": {"a": 2}}'),
    ("x", b'{"qid": "q", "rel_map": {"a": 2}}\n'),
    ("x", b'{"qid": "q", "rel_map": {"a": 2}}\n{"qid": "r", "gold_evidence": []}\n'),
    ("x", b'{"query_id": "q", "question": "{?}", "relevant": {"a": 2}}'),
]


@pytest.mark.parametrize(
    ("file", "content"), [pytest.param(*c, id=f"{i} {c[0]}") for i, c in enumerate(SNIFFED_TRUTHS)]
)
def test_the_format_of_a_truth_is_told_by_suffix_and_content(file: str, content: bytes, tmp_path: Path) -> None:
    assert sy.Truth.read(write(tmp_path / file, content)).labels[0] == {"a": 2.0}


def test_the_format_can_be_told(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "q Q0 a 1 2 t\n")
    assert sy.Run.read(path, format="trec").frame.rows() == [("q", "a", 2.0)]
    for read in (sy.Run.read, sy.Truth.read):
        with pytest.raises(sy.InputError, match="no format is called 'excel'; there are trec, json"):
            read(path, format="excel")


# --------------------------------------------------------------------------- pipes, as in `<(zcat run.gz)`


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="this system has no /dev/fd")
@pytest.mark.parametrize("form", ["TREC", "TREC, gzip", "JSON", "JSONL", "CSV", "Parquet"])
def test_a_pipe_is_read_whole_or_refused(form: str, tmp_path: Path) -> None:
    long = {f"q{i}": {f"d{j}": float(-j) for j in range(100)} for i in range(200)}
    content = {
        "TREC": lambda: run_text(long).encode(),
        "TREC, gzip": lambda: gzip.compress(run_text(long).encode()),
        "JSON": lambda: json.dumps(long).encode(),
        "JSONL": lambda: jsonl([{"qid": q, "retrieved": scored_items(docs)} for q, docs in long.items()]).encode(),
        "CSV": lambda: table(long, ("query_id", "doc_id", "score")).encode(),
        "Parquet": lambda: binary(pl.DataFrame.write_parquet, frame(long, "score")),
    }[form]()
    path = write(tmp_path / "r", content)
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as cat:
        assert cat.stdout is not None
        try:
            scores = sy.evaluate({query: ["d3"] for query in long}, f"/dev/fd/{cat.stdout.fileno()}", "mrr")
        except sy.InputError as error:
            assert "/dev/fd/" in str(error)  # noqa: PT017 - either is right; half a run is not
        else:
            assert set(scores.values.ravel().tolist()) == {1 / 4}
        finally:
            cat.stdout.close()


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow", "json", "jsonl", "txt"])
def test_a_path_is_no_pattern(suffix: str, tmp_path: Path) -> None:
    folder = tmp_path / "a[1]"
    folder.mkdir()
    scores = {"r[1]": {"d": 2.0}, "r1": {"e": 2.0}, "r*": {"e": 2.0, "d": 1.0}}
    for name, of in scores.items():
        frame = pl.DataFrame({"query_id": ["q"] * len(of), "doc_id": [*of], "score": [*of.values()]})
        write_run(frame, folder / f"{name}.{suffix}", name)
    values = {name: sy.evaluate({"q": ["d"]}, folder / f"{name}.{suffix}", "mrr").values.item() for name in scores}
    assert values == {"r[1]": 1.0, "r1": 0.0, "r*": 0.5}
