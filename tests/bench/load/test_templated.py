"""Load on services that are sent a template: /rerank, chat models, searches of any shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.base.errors import InputError, StageError
from steelyard.bench.bench import Bench
from steelyard.bench.load.systems import bundled_passages, bundled_questions
from steelyard.bench.run.load_tests import load_test
from tests.rag.server import Server, change, put, serving

RERANK = '{"query": "{query}", "documents": "{documents}", "top_n": 2}'
CHAT = {"model": "m", "messages": [{"role": "user", "content": "{query}"}]}
NASTY = 'who said "no", \\ or\n{"query": 1}?'
SHORT: dict[str, Any] = {"rate": 50, "duration": 0.1, "warm_up": 0, "timeout": 5, "arrivals": "constant"}


@pytest.fixture
def test_of(tmp_path: Path) -> Callable[..., Bench]:
    (tmp_path / "q.jsonl").write_text(json.dumps({"qid": "q", "query": NASTY}) + "\n")

    def run(url: str, body: Any, **options: Any) -> Bench:
        named = {"questions": tmp_path / "q.jsonl", "folder": tmp_path / "bench"}
        return load_test(url, body=body, **(named | SHORT | options))

    return run


def bodies(server: Server, path: str) -> list[Any]:
    return [seen.body for seen in server.seen(path)]


def test_a_rerank_gets_the_question_and_texts_whatever_is_in_them(
    test_of: Callable[..., Bench], tmp_path: Path
) -> None:
    texts = [{"_id": f"d{n}", "text": f'the {n}th "text"'} for n in range(5)]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    with serving() as server:
        bench = test_of(f"{server.url}/rerank", RERANK, documents=tmp_path / "d.jsonl", depth=3)
        sent = bodies(server, "/rerank")
    assert bench.requests["outcome"].unique().to_list() == ["ok"]
    assert bench.requests["n_pairs"].unique().to_list() == [3]
    assert sent[0] == {"query": NASTY, "documents": [text["text"] for text in texts[:3]], "top_n": 2}


def test_questions_go_through_the_documents_in_a_circle(test_of: Callable[..., Bench], tmp_path: Path) -> None:
    (tmp_path / "three.jsonl").write_text("".join(json.dumps({"query": f"what is {n}?"}) + "\n" for n in range(3)))
    with serving() as server:
        test_of(f"{server.url}/rerank", RERANK, questions=tmp_path / "three.jsonl", depth=40)
        sent = bodies(server, "/rerank")
    of_questions = {body["query"]: body["documents"] for body in sent}
    assert [len(texts) for texts in of_questions.values()] == [40] * 3
    whole = bundled_passages() * 2
    assert of_questions["what is 1?"] == list(whole[40:80])
    assert of_questions["what is 2?"] == list(whole[80:120])


def test_a_chat_model_gets_messages_and_counts_tokens(test_of: Callable[..., Bench]) -> None:
    with serving() as server:
        bench = test_of(f"{server.url}/v1/chat/completions", CHAT)
        sent = bodies(server, "/v1/chat/completions")
    assert sent[0] == {"model": "m", "messages": [{"role": "user", "content": NASTY}]}
    assert bench.requests["outcome"].unique().to_list() == ["ok"]
    assert bench.requests["n_pairs"].null_count() == len(bench.requests)


def test_bundled_questions_are_asked_where_none_are_named(tmp_path: Path) -> None:
    with serving() as server:
        options = SHORT | {"folder": tmp_path / "bench", "body": CHAT}
        bench = load_test(f"{server.url}/v1/chat/completions", **options)
        asked = [body["messages"][0]["content"] for body in bodies(server, "/v1/chat/completions")]
    assert sorted(asked[1:]) == sorted(list(bundled_questions().values())[:5])
    assert {"code": "load_bundled", "values": {"n": len(bundled_questions())}} in bench.folder.manifest["notes"]


@pytest.mark.parametrize(
    ("path", "body", "fault", "error"),
    [
        ("/rerank", RERANK, change(lambda answer: {"hits": 1}), "without a list of scores"),
        ("/rerank", RERANK, put([], "results"), "without a list of scores"),
        ("/v1/chat/completions", CHAT, put([], "choices"), "without choices"),
        ("/search", {"query": "{query}"}, change(lambda answer: {"error": "down"}), "answered an error: down"),
    ],
)
def test_an_answer_that_is_none_fails(
    test_of: Callable[..., Bench], path: str, body: Any, fault: Any, error: str
) -> None:
    with serving() as server:
        server.script(path, None, *[fault] * 2)
        requests = test_of(server.url + path, body).requests
    assert sorted(requests["outcome"]) == ["error", "error", "ok", "ok", "ok"]
    assert requests["error"].drop_nulls().str.contains(error).all()


def test_a_search_of_any_shape_is_an_answer(test_of: Callable[..., Bench]) -> None:
    with serving() as server:
        server.always("/search", change(lambda answer: {"hits": {"total": 0}}))
        assert test_of(f"{server.url}/search", {"query": "{query}", "size": "{k}"}).requests["outcome"][0] == "ok"
        assert bodies(server, "/search")[0] == {"query": NASTY, "size": 20}


def test_headers_come_from_the_environment_and_are_in_no_file(
    test_of: Callable[..., Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_AUTH", "Bearer sesame")
    with serving() as server:
        test_of(f"{server.url}/rerank", RERANK, headers_env={"Authorization": "MY_AUTH"})
        assert server.seen("/rerank")[-1].headers["authorization"] == "Bearer sesame"
    for file in (tmp_path / "bench").rglob("*"):
        assert file.is_dir() or b"sesame" not in file.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"body": "{"}, "body: is not JSON"),
        ({"body": "[1]"}, "body is no object"),
        ({"body": {"text": "Answer: {query}"}}, r"place takes a whole value.* write \"{query}\" alone"),
        ({"body": CHAT, "headers_env": {"Authorization": "NO_SUCH_VARIABLE"}}, "NO_SUCH_VARIABLE"),
        ({"body": CHAT, "depth": 0}, "depth"),
        ({"body": RERANK, "depth": 1000}, "fewer than the 1000 of a request"),
    ],
)
def test_bodies_that_cannot_be_are_refused(
    test_of: Callable[..., Bench], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        test_of("http://127.0.0.1:9/", **options)


def test_a_function_takes_no_body(test_of: Callable[..., Bench]) -> None:
    with pytest.raises(InputError, match="body is of an address"):
        test_of("math:sqrt", CHAT)


def test_a_server_that_is_down_is_said_at_once(test_of: Callable[..., Bench]) -> None:
    with pytest.raises(StageError, match=r"was not answered: .* refused"):
        test_of("http://127.0.0.1:9/rerank", RERANK)
