"""What is written is read again as it was, whatever ids and numbers it holds; or it is refused by name."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.base.schema import RUN, TRUTH
from steelyard.experiment.converting import convert
from steelyard.io.write import write_run, write_truth
from tests.hypothesis_profiles import examples

Nested = dict[str, dict[str, float]]

SUFFIXES = (".trec", ".json", ".jsonl", ".csv", ".tsv", ".parquet", ".arrow", ".csv.gz", ".jsonl.zst", ".trec.gz")
WHOLE = (".json", ".jsonl", ".jsonl.zst")
"""Formats that hold queries without any document, and every id."""

ODD = [
    "#1", "#", "a#1", "", " ", "a b", "\t", "a\n", "\r", "\x00", "\x1c", "\x85", "\u3000", "\u2028", "\ufeff",
    "\ufeffq", '"', '""', '"a', "a,b", "'", "\\", "null", "NULL", "NaN", "None", "true", "007", "1e3", "-1",
    "Q0", "query_id", "{", "}", "qid,docno,x", "[1]", "q:1", "文档一", "é", "e\u0301", "😀", "x" * 300, "PAR1",
    "ARROW1", "\x1f\x8b", "%", "~", "-", "=", "a=b",
]  # fmt: skip
ids = st.one_of(st.sampled_from(ODD), st.text(st.characters(codec="utf-8"), max_size=6))
numbers = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -3.0, 0.1, 1e300, -1e300, 2.0**53, 2.0**63, 5e-324, 1e20, 1.5e-7]),
    st.floats(allow_nan=False, allow_infinity=False),
)
collections = st.dictionaries(ids, st.dictionaries(ids, numbers, max_size=3), min_size=1, max_size=4)


def rows(nested: Nested, *, empty: bool) -> list[tuple[str, str | None, float | None]]:
    return sorted(
        (query, doc, number)
        for query, docs in nested.items()
        for doc, number in (docs.items() or ({None: None}.items() if empty else ()))
    )  # type: ignore[return-value]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("round")


def frame(nested: Nested, schema: pl.Schema) -> pl.DataFrame:
    return pl.DataFrame(rows(nested, empty=True), schema=schema, orient="row")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", ["run", "truth"])
@examples(200)
@given(nested=collections)
@example(nested={"#1": {"d": 1.0}})
@example(nested={"q": {"d": 1e300}})
def test_what_is_written_is_read_again(nested: Nested, kind: str, suffix: str, folder: Path) -> None:
    path = folder / f"{kind}{suffix}"
    try:
        if kind == "run":
            write_run(frame(nested, RUN), path, "a run")
        else:
            write_truth(frame(nested, TRUTH), path)
    except InputError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert suffix not in WHOLE
        assert refusal.startswith(f"{path}: ")
        return
    want = rows(nested, empty=suffix in WHOLE)
    if not want:
        with pytest.raises(InputError, match=r"is empty|has no rows"):
            _ = sy.Run.read(path).frame if kind == "run" else sy.Truth.read(path)
        return
    again = sy.Run.read(path).frame if kind == "run" else sy.Truth.read(path).frame
    assert sorted(again.rows()) == want


@examples(200)
@given(nested=collections, suffixes=st.lists(st.sampled_from(SUFFIXES), min_size=1, max_size=3))
def test_a_chain_of_conversions_changes_nothing(nested: Nested, suffixes: list[str], folder: Path) -> None:
    """Through any formats, to JSONL in the end."""
    source = folder / "first.jsonl"
    write_run(frame(nested, RUN), source, "a run")
    lost = False
    for i, suffix in enumerate([*suffixes, ".jsonl"]):
        target = folder / f"step{i}{suffix}"
        try:
            conversion = convert(source, target, kind="run")
        except InputError:
            return
        lost |= conversion.n_lost > 0
        if conversion.n_documents == 0 and suffix not in WHOLE:
            return
        source = target
    assert sorted(sy.Run.read(source).frame.rows()) == rows(nested, empty=not lost)


def test_odd_names_of_files_are_names(tmp_path: Path) -> None:
    """A path is no pattern, for any reader: the file beside it, which the pattern would match, is another."""
    for suffix in SUFFIXES:
        for name, beside in (("r[1]", "r1"), ("a*", "ab"), ("b?", "bc"), ("{c,d}", "c")):
            inside = tmp_path / "runs [x]*"
            inside.mkdir(exist_ok=True)
            for i, stem in enumerate((beside, name)):
                write_run(frame({"q": {f"d{i}": 1.0}}, RUN), inside / f"{stem}{suffix}", "t")
                write_truth(frame({"q": {f"d{i}": 1.0}}, TRUTH), inside / f"{stem}.truth{suffix}")
            assert sy.Run.read(inside / f"{name}{suffix}").frame["doc_id"].to_list() == ["d1"]
            assert sy.Truth.read(inside / f"{name}.truth{suffix}").doc_ids.to_list() == ["d1"]
            assert sy.evaluate({"q": ["d1"]}, inside / f"{name}{suffix}", "precision@1").values.item() == 1.0
            assert convert(inside / f"{name}{suffix}", tmp_path / "c.jsonl", kind="run").n_documents == 1
