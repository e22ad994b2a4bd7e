"""JSON read by orjson is what the standard library reads, or is left to it: repeated keys, large numbers and all."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.io import json_files
from steelyard.io.json_files import JsonLines, read_json
from steelyard.io.source import Source
from tests.hypothesis_profiles import examples

STRINGS = ['"d1"', '"a:b"', '"x\\":y"', '"\\u003a"', '"\\u4e00"', '"\\ud800"', '""', '"docA[0:950]"', '"文档"']
NUMBERS = ["1", "-0", "2.50", "1e2", "0.1", "123456789012345678901234567890", "1e400", "NaN", "9007199254740993"]
OTHERS = ["null", "true", "[]", "{}", "[1]", '{"score": 1}']

strings, numbers = st.sampled_from(STRINGS), st.sampled_from(NUMBERS)
blanks = st.sampled_from(["", " ", "\n "])


def objects(keys: st.SearchStrategy[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """JSON text of objects, with blanks and with keys that may be repeated."""
    pairs = st.tuples(keys, blanks, blanks, values).map(lambda p: f"{p[0]}{p[1]}:{p[2]}{p[3]}")
    return st.lists(pairs, max_size=4).map(lambda parts: "{" + ",".join(parts) + "}")


def arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, max_size=4).map(lambda parts: "[" + ", ".join(parts) + "]")


rankings = st.one_of(objects(strings, numbers), arrays(strings), numbers, st.sampled_from(OTHERS), arrays(numbers))


def outcome(path: Path) -> str:
    """What is read, whole numbers as floats, as which they are used; or why nothing is read."""
    try:
        return repr(as_floats(read_json(Source(path))))
    except InputError as error:
        return str(error)


def as_floats(value: object) -> object:
    if isinstance(value, dict):
        return {key: as_floats(inner) for key, inner in value.items()}
    return float(value) if type(value) is int else value


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("json")


@examples(300)
@given(text=objects(strings, rankings))
def test_a_file_is_read_as_the_standard_library_reads_it(text: str, folder: Path) -> None:
    path = folder / "run.json"
    path.write_text(text)
    quick = outcome(path)
    with patch.object(json_files, "_quick_object", lambda data: None):
        assert quick == outcome(path)


@pytest.mark.parametrize(
    ("text", "is_quick"),
    [
        ('{"q": {"a": 1, "b": 0.5}}', True),
        ('{"q": {"a:1": 1}, "r:": {}}', True),
        ('{"q": ["a", "b:1"]}', True),
        ('{"q": {"a" : 1, "a": 2}}', False),
        ('{"q": {}, "q": {}}', False),
        ('{"q": {"a\\u003ab": 1}}', False),
        ('{"q": [12345678901234567890123]}', False),
    ],
)
def test_which_files_are_read_quickly(text: str, is_quick: bool) -> None:
    assert (json_files._quick_object(text.encode()) is not None) == is_quick


items = st.one_of(
    st.tuples(strings, numbers).map(lambda pair: f'{{"id": {pair[0]}, "score": {pair[1]}}}'),
    st.tuples(strings, numbers).map(lambda pair: f'{{"chunk_id": {pair[0]}, "id": null, "score": {pair[1]}}}'),
    strings,
    st.sampled_from([*OTHERS, '{"id": 5, "score": "1"}', '{"id": "d", "score": true}', '{"id": "e"}']),
)
plain_items = st.tuples(st.integers(0, 99), st.floats(-5, 5)).map(
    lambda pair: f'{{"id": "{pair[0]}", "score": {pair[1]}, "text": "a:b"}}'
)
lines = st.tuples(
    st.sampled_from(['"query_id": "q1"', '"qid": "查询"', '"qid": 7', '"qid": null', '"qid": "a", "query_id": "b"']),
    st.one_of(arrays(plain_items), arrays(items), st.sampled_from(OTHERS)),
).map(lambda pair: f'{{{pair[0]}, "retrieved": {pair[1]}}}')


def rows_or_error(path: Path) -> object:
    try:
        frame = pl.concat(JsonLines(Source(path), "run").batches())
    except InputError as error:
        return str(error)
    return frame.schema, frame.rows()


@examples(300)
@given(rows=st.lists(lines, min_size=1, max_size=5), portion=st.sampled_from([1, 100, 1 << 22]))
def test_lines_are_read_as_item_by_item(rows: list[str], portion: int, folder: Path) -> None:
    path = folder / "run.jsonl"
    path.write_text("\n".join(rows) + "\n")
    with patch.object(json_files, "_PORTION_BYTES", portion):
        quick = rows_or_error(path)
    with patch.object(json_files, "_scored_lists", lambda lines: None):
        assert quick == rows_or_error(path)


def test_plain_lines_are_read_quickly() -> None:
    rows = [json.dumps({"qid": "q", "retrieved": [{"id": "d:1", "score": 2}, {"id": "文档", "score": 0.5}]}).encode()]
    frame = json_files._scored_lists(rows)
    assert frame is not None
    assert frame.rows() == [("q", "d:1", 2.0), ("q", "文档", 0.5)]


# --------------------------------------------------------------------------- what no reader may take in silence

DEEP = "[" * 100_000 + "]" * 100_000
LONG = "9" * 5_000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(f'{{"qid": "q", "retrieved": {DEEP}}}', "is nested too deep to be read", id="deep"),
        pytest.param(f'{{"qid": "q", "rel_map": {{"a": {LONG}}}}}', "number of more than 4300 digits", id="digits"),
        pytest.param('{"qid": "q", "qid": "r", "retrieved": ["a"]}', "the key 'qid' is twice in one object", id="qid"),
        pytest.param('{"qid" : "q", "qid": "r", "retrieved": []}', "the key 'qid' is twice", id="blank before colon"),
        pytest.param(
            '{"qid": "q", "retrieved": [{"id": "a:b", "id": "b", "score": 1}]}', "the key 'id' is twice", id="id"
        ),
        pytest.param(
            '{"qid": "q", "retrieved": [{"id": "a", "score": 1}], "latency_ms": {"total": 1, "total": 2}}',
            "the key 'total' is twice",
            id="inner",
        ),
        pytest.param('{"qid": "q", "rel_map": {"a": 1, "a": 2}}', "the key 'a' is twice", id="label"),
        pytest.param(
            '{"qid": "q", "retrieved": [{"id": "a", "score": 9007199254740993}]}', r"beyond 2\*\*53", id="rounded score"
        ),
        pytest.param('{"qid": "q", "rel_map": {"a": -9007199254740993}}', r"beyond 2\*\*53", id="rounded gain"),
        pytest.param('{"qid": "q", "rel_map": {"a\\ud800": 1}}', "half a character", id="half a character"),
    ],
)
def test_a_line_that_cannot_be_taken_as_it_is(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"qid": "p", "retrieved": [{"id": "a", "score": 1}], "rel_map": {"a": 1}}\n' + text + "\n")
    for kind in ("run", "truth"):
        if (kind == "run") == ("retrieved" in text) or "qid" in says:
            with pytest.raises(InputError, match=rf"a\.jsonl, line 2.*{says}"):
                pl.concat(JsonLines(Source(path), kind).batches())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(f'{{"q": {DEEP}}}', "is nested too deep to be read", id="deep"),
        pytest.param(f'{{"q": {{"a": {LONG}}}}}', "number of more than 4300 digits", id="digits"),
        pytest.param('{"q": {"b": 1, "a": 9007199254740993}}', r"'a': .* whole number beyond 2\*\*53", id="64 bits"),
        pytest.param('{"q": {"b": 1, "a": 98765432109876543210987}}', r"'a': .* is a whole number beyond", id="more"),
    ],
)
def test_a_json_file_that_cannot_be_taken_as_it_is(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    for weigh in (lambda: sy.evaluate(path, {"q": ["a"]}), lambda: sy.evaluate({"q": ["a"]}, path)):
        with pytest.raises(InputError, match=rf"a\.json.*{says}"):
            weigh()


def test_large_numbers_that_floats_hold_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"q": {"a": 9007199254740992, "b": 1e300, "c": 100000000000000000000}}')
    assert sy.Truth.read(path).labels == [{"b": 1e300, "c": 1e20, "a": 2.0**53}]


@examples(300)
@given(
    texts=st.lists(
        st.sampled_from(['"a:b"', '":"', '"x\\":y"', '"\\\\"', '"\\u003a"', '"é : è"']), min_size=1, max_size=4
    ),
    end=st.sampled_from(['":', '" :', '"\t: ']),
    repeat=st.booleans(),
)
def test_colons_in_texts_hide_no_repeated_key(texts: list[str], end: str, repeat: bool, folder: Path) -> None:
    ids = ", ".join(f'{{"id{end}{text}, "score": {i}}}' for i, text in enumerate(texts))
    path = folder / "colons.jsonl"
    twice = '"qid": 3, ' if repeat else ""
    path.write_text(f'{{"qid{end}"q", {twice}"retrieved": [{ids}]}}\n')
    rows = rows_or_error(path)
    assert ("twice" in rows) == repeat if isinstance(rows, str) else not repeat
    with patch.object(json_files, "_scored_lists", lambda lines: None):
        assert rows == rows_or_error(path)
