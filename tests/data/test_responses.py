"""Responses as lines of JSON, and back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.corpus import Chunks, Document, Passage
from steelyard.data.responses import Response, ResponseEncoder, decode_response
from tests.hypothesis_profiles import examples

FULL = Response(
    "龙井茶 \"来自\" 哪里？\n",
    (Passage("茶#1", "茶", 0, 5, "龙井\t\\茶", 0.1 + 0.2), Passage("b", score=-1e-300), Passage("c")),
    "杭州。",
    {"search": 1.23456, "total": 2.0},
    ("茶#1", "b", "c", "d"),
)  # fmt: skip


def line(response: Response, query_id: str = "q1") -> dict[str, Any]:
    return json.loads(ResponseEncoder().line(query_id, response))


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
    assert ResponseEncoder().line("q1", FULL).count(b"\n") == 1


def test_a_chunk_that_comes_again_is_written_as_it_is_then() -> None:
    encoder = ResponseEncoder()
    text = "one text"
    passages = [
        Passage("c", "d", 0, 8, text, 1.0), Passage("c", "d", 0, 8, text, 2.0), Passage("c", "d", 4, 12, text, 2.0),
        Passage("c", "e", 4, 12, text, 2.0), Passage("c", "e", 4, 12, "other", 2.0), Passage("c"),
    ]  # fmt: skip
    for passage in passages:
        assert encoder.line("q", Response("x", (passage,))) == ResponseEncoder().line("q", Response("x", (passage,)))


@pytest.mark.parametrize("candidates", [(), ("a",), ("a", "茶#1"), ('a"b', "c"), ("a\\", "b\n"), ('", "',), ("", "")])
def test_candidates_are_quoted_whatever_their_names(candidates: tuple[str, ...]) -> None:
    written = ResponseEncoder().line("q", Response("x", candidates=candidates)).decode()
    assert f'"candidates": {json.dumps(candidates, ensure_ascii=False)},' in written


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
    encoder = ResponseEncoder()
    assert [decode_response(encoder.line(query_id, response)) for query_id, response in pairs] == pairs


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"qid": "q"}', '{"qid": "q", "query": "x", "retrieved": [1]}'])
def test_lines_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="is no line of a run"):
        decode_response(text)


def test_passages_of_chunks() -> None:
    chunks = Chunks.of([Document("a", "one two"), Document("b", "three")], lambda text: [(0, 3), (3, len(text))])
    assert chunks.passages([3, 0], [0.5, 0.25]) == (
        Passage("b#2", "b", 3, 5, "ee", 0.5), Passage("a#1", "a", 0, 3, "one", 0.25)
    )  # fmt: skip
    assert chunks.passage(1, 2.0) == Passage("a#2", "a", 3, 7, " two", 2.0)
