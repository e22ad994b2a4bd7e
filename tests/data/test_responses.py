"""Responses as lines of JSON, and back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.corpus import Chunks, Document, Passage
from steelyard.data.responses import Response, decode_response, encode_response
from tests.hypothesis_profiles import examples

FULL = Response(
    '龙井茶 "来自" 哪里？\n',
    (Passage("茶#1", "茶", 0, 5, "龙井\t\\茶", 0.1 + 0.2), Passage("b", score=-1e-300), Passage("c")),
    "杭州。",
    {"search": 1.23456, "total": 2.0},
    ("茶#1", "b", "c", "d"),
)


def line(response: Response, query_id: str = "q1") -> dict[str, Any]:
    return json.loads(encode_response(query_id, response))


def test_every_field_is_in_its_place() -> None:
    assert line(FULL) == {
        "qid": "q1",
        "query": '龙井茶 "来自" 哪里？\n',
        "retrieved": [
            {"id": "茶#1", "score": 0.30000000000000004, "text": "龙井\t\\茶", "doc": "茶", "start": 0, "end": 5},
            {"id": "b", "score": -1e-300},
            {"id": "c"},
        ],
        "candidates": ["茶#1", "b", "c", "d"],
        "answer": "杭州。",
        "latency_ms": {"search": 1.2346, "total": 2.0},
    }
    assert list(line(FULL)) == ["qid", "query", "retrieved", "candidates", "answer", "latency_ms"]
    assert line(Response("q", error="tired")) == {"qid": "q1", "query": "q", "retrieved": [], "error": "tired"}
    assert encode_response("q1", FULL).count(b"\n") == 1


def test_half_a_character_is_escaped() -> None:
    response = Response("茶 \ud83c?", (Passage("a\udf75"),), latency_ms={"total": 1.0})
    assert encode_response("q", response).isascii()
    assert decode_response(encode_response("q", response)) == ("q", response)


names = st.text(max_size=6)
passages = st.builds(
    Passage,
    names,
    st.none() | names,
    st.none() | st.integers(0, 9),
    st.none() | st.integers(0, 9),
    st.none() | names,
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
)
responses = st.builds(
    Response,
    names,
    st.lists(passages, max_size=3).map(tuple),
    st.none() | names,
    st.dictionaries(names, st.integers(0, 10**6).map(lambda n: n / 10**4), max_size=2),
    st.none() | st.lists(names, max_size=3).map(tuple),
)


@examples(200)
@given(st.lists(st.tuples(names, responses), max_size=4))
def test_what_is_written_is_read_again(pairs: list[tuple[str, Response]]) -> None:
    assert [decode_response(encode_response(query_id, response)) for query_id, response in pairs] == pairs


TIMES = '{"qid": "q", "query": "x", "retrieved": [], "latency_ms": {"total": %s}}'


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", '{"qid": "q"}', '{"qid": "q", "query": "x", "retrieved": [1]}', TIMES % "[1]", TIMES % '"x"'],
)
def test_lines_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="is no line of a run"):
        decode_response(text)


def test_passages_of_chunks() -> None:
    chunks = Chunks.of([Document("a", "one two"), Document("b", "three")], lambda text: [(0, 3), (3, len(text))])
    assert chunks.passages([3, 0], [0.5, 0.25]) == (
        Passage("b#2", "b", 3, 5, "ee", 0.5),
        Passage("a#1", "a", 0, 3, "one", 0.25),
    )
    assert chunks.passage(1, 2.0) == Passage("a#2", "a", 3, 7, " two", 2.0)
