"""Stages behind an address, played by a real server on loopback that misbehaves as servers do."""

import gc
import json
import logging
import math
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError, MissingExtraError, StageError
from steelyard.data.corpus import Passage
from steelyard.rag import protocols as stages
from steelyard.rag.fingerprint import settings_of
from steelyard.rag.registry import make
from steelyard.rag.stages.embedding import OpenAIEmbedder
from steelyard.rag.stages.generation import OpenAIGenerator
from steelyard.rag.stages.reranking import HTTPReranker
from steelyard.services.addresses import checked_url, is_loopback, shown
from steelyard.services.announcements import Usage
from steelyard.services.http.client import Patience, Service, _retry_after_s
from steelyard.services.models.endpoints import in_order
from tests.hypothesis_profiles import examples
from tests.rag.server import CUT, MALFORMED, WEB_PAGE, WIDTH, Fault, Server, change, overlap, put, stall, status, vector

pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")

QUICK: dict[str, Any] = {"timeout_s": 5.0, "attempts": 3, "wait_initial_s": 0.001, "wait_max_s": 0.02}
KEY = "sk-very/secret+key0123456789"
TEXTS = ["a balance weighs", "bees dance", "an unknown load weighs"]
PASSAGES = [Passage("docA#1", "docA", 0, 16, "A steelyard weighs", 1.0), Passage("docB#4", "docB", 9, 14, "bees", 0.5)]
EMBEDDINGS, CHAT = "/v1/embeddings", "/v1/chat/completions"


@pytest.fixture(autouse=True)
def no_key_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "STEELYARD_TEST_KEY", "OPENAI_LOG"):
        monkeypatch.delenv(variable, raising=False)


def embedder(server: Server, **more: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder(**{"model": "m", "base_url": server.base_url, **QUICK, **more})


def reranker(server: Server, path: str = "/rerank", **more: Any) -> HTTPReranker:
    return HTTPReranker(**{"url": server.url + path, **QUICK, **more})


def generator(server: Server, **more: Any) -> OpenAIGenerator:
    return OpenAIGenerator(**{"model": "m", "base_url": server.base_url, **QUICK, **more})


def ask(server: Server, path: str, **more: Any) -> Any:
    """Any of the three stages, by the path that it asks."""
    if path == EMBEDDINGS:
        return embedder(server, **more).documents(TEXTS)
    if path == CHAT:
        return generator(server, **more).answer("what weighs?", PASSAGES)
    return reranker(server, path, **more).scores("what weighs", TEXTS)


PATHS = [EMBEDDINGS, CHAT, "/rerank"]
each_path = pytest.mark.parametrize("path", PATHS)


# Asking again.


@each_path
@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_passing_fault_is_asked_again(server: Server, path: str, code: int) -> None:
    well = ask(server, path)
    server.script(path, status(code), status(code))
    assert np.array_equal(ask(server, path), well)
    assert len(server.seen(path)) == 1 + 3


@each_path
@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_lasting_fault_ends_after_all_attempts(server: Server, path: str, code: int) -> None:
    server.always(path, status(code, '{"error": "the queue\n is full"}'))
    with pytest.raises(StageError) as raised:
        ask(server, path)
    assert len(server.seen(path)) == 3
    message = str(raised.value)
    assert f"{server.url}{path} answered {code} (" in message
    assert 'after 3 attempts: {"error": "the queue is full"}; ' in message


@each_path
@pytest.mark.parametrize("code", [301, 307, 400, 401, 403, 404, 405, 413, 422])
def test_a_refusal_is_not_asked_again(server: Server, path: str, code: int) -> None:
    server.always(path, status(code))
    with pytest.raises(StageError, match=f"answered {code} .* after 1 attempt: .*scripted.*; "):
        ask(server, path)
    assert len(server.seen(path)) == 1


@each_path
@pytest.mark.parametrize("fault", [stall(0.8), CUT], ids=["stall", "cut"])
def test_a_stall_and_a_broken_answer_are_asked_again(server: Server, path: str, fault: Fault) -> None:
    well = ask(server, path)
    server.script(path, fault)
    assert np.array_equal(ask(server, path, timeout_s=0.6), well)
    assert len(server.seen(path)) == 1 + 2


@each_path
def test_a_server_that_stalls_for_ever(server: Server, path: str) -> None:
    server.always(path, stall(0.8))
    with pytest.raises(StageError, match=r"did not answer within 0\.2 s after 3 attempts; .*timeout_s"):
        ask(server, path, timeout_s=0.2)
    assert len(server.seen(path)) == 3


@each_path
def test_answers_that_are_always_cut(server: Server, path: str) -> None:
    server.always(path, CUT)
    with pytest.raises(StageError, match=r"gave no answer \(.*body.*\) after 3 attempts; check"):
        ask(server, path)


@each_path
def test_no_server_at_all(path: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = Server(f"http://127.0.0.1:{free.getsockname()[1]}")
    with pytest.raises(StageError, match=r"127\.0\.0\.1.*gave no answer \(.*refused.*\) after 3 attempts; check"):
        ask(nobody, path)


@each_path
@pytest.mark.parametrize(("fault", "found"), [(MALFORMED, "malformed JSON"), (WEB_PAGE, "a web page instead of JSON")])
def test_what_is_not_json_is_not_asked_again(server: Server, path: str, fault: Fault, found: str) -> None:
    server.always(path, fault)
    with pytest.raises(StageError, match=f"answered {found}.*; check"):
        ask(server, path)
    assert len(server.seen(path)) == 1


def test_retry_after_is_honoured(server: Server) -> None:
    server.script("/rerank", status(429, Retry_After="0.2"))
    start = time.perf_counter()
    ask(server, "/rerank", wait_max_s=5)
    assert time.perf_counter() - start >= 0.2


def test_retry_after_has_a_cap(server: Server) -> None:
    server.script("/rerank", status(429, Retry_After="3600"), status(503, Retry_After="Fri, 31 Dec 2100 23:59:59 GMT"))
    start = time.perf_counter()
    ask(server, "/rerank", wait_max_s=0.02)
    assert time.perf_counter() - start < 2
    assert len(server.seen("/rerank")) == 3


@pytest.mark.parametrize(
    ("headers", "want"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT", "date": "Wed, 21 Oct 2015 07:28:30 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": "today"}, None),
    ],
)
def test_retry_after_is_a_number_or_a_date(headers: dict[str, str], want: float | None) -> None:
    assert _retry_after_s(headers) == want


def test_one_attempt_is_one_request(server: Server) -> None:
    server.always("/rerank", status(500))
    with pytest.raises(StageError, match="after 1 attempt"):
        ask(server, "/rerank", attempts=1)
    assert len(server.seen("/rerank")) == 1


def test_asking_again_prints_nothing(
    server: Server, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # As in a program that has set up no logging.
    server.script("/rerank", status(500))
    ask(server, "/rerank")
    assert capfd.readouterr() == ("", "")


def test_a_redirect_is_named_and_not_followed(server: Server) -> None:
    server.always("/rerank", status(307, Location="/v1/rerank?token=secret"))
    with pytest.raises(StageError, match=rf"307.*name the address that it points to: {server.url}/v1/rerank$"):
        ask(server, "/rerank")
    assert not server.seen("/v1/rerank")


def test_long_bodies_are_cut_in_messages(server: Server) -> None:
    server.always("/rerank", status(400, "\x1b[31m" + "x" * 1000))
    with pytest.raises(StageError) as raised:
        ask(server, "/rerank")
    assert "attempt: [31m" + "x" * 195 + "…; " in str(raised.value)


def test_half_a_character_is_told(server: Server) -> None:
    with pytest.raises(StageError, match=r"cannot be sent '\\ud800'"):
        reranker(server).scores("q", ["\ud800"])
    with pytest.raises(StageError, match=r"cannot be sent '\\ud800'"):
        embedder(server).query("\ud800")


# Keys.


@each_path
def test_the_key_comes_from_the_named_variable(server: Server, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_TEST_KEY", f" {KEY}\n")
    ask(server, path, api_key_env="STEELYARD_TEST_KEY")
    assert server.seen(path)[0].headers["authorization"] == f"Bearer {KEY}"


@each_path
def test_a_server_without_a_key(server: Server, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)  # Made for another host.
    ask(server, path)
    assert server.seen(path)[0].headers.get("authorization") is None


@each_path
@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_variable_that_is_not_set(
    server: Server, path: str, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is not None:
        monkeypatch.setenv("STEELYARD_TEST_KEY", value)
    with pytest.raises(InputError, match="environment variable STEELYARD_TEST_KEY, which is not set"):
        ask(server, path, api_key_env="STEELYARD_TEST_KEY")


def test_openai_itself_wants_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="OPENAI_API_KEY, which is not set"):
        OpenAIEmbedder(model="text-embedding-3-small")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert KEY not in repr(OpenAIEmbedder(model="text-embedding-3-small"))


@pytest.mark.parametrize("odd", ["sk-Ключ", "sk-a\nb"])
def test_a_key_that_no_header_can_carry(server: Server, odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_TEST_KEY", odd)
    with pytest.raises(InputError, match="STEELYARD_TEST_KEY holds characters") as raised:
        reranker(server, api_key_env="STEELYARD_TEST_KEY")
    assert odd not in str(raised.value)


@each_path
@pytest.mark.parametrize("code", [200, 401, 500])
def test_a_server_that_repeats_the_key(
    server: Server, path: str, code: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("STEELYARD_TEST_KEY", KEY)
    escaped = KEY.replace("/", "\\/")
    server.always(path, status(code, f"no: Bearer {KEY} {escaped} sk-very%2Fsecret%2Bkey0123456789"))
    with pytest.raises(StageError) as raised:
        ask(server, path, api_key_env="STEELYARD_TEST_KEY")
    told = str(raised.value) + repr(raised.value.__cause__) + caplog.text
    assert "no: Bearer [key] [key] [key]" in told
    assert "secret" not in told
    assert code != 401 or "check the key in STEELYARD_TEST_KEY" in told


@each_path
def test_a_missing_key_is_told_on_401(server: Server, path: str) -> None:
    server.always(path, status(401))
    with pytest.raises(StageError, match="name the environment variable of the key: api_key_env"):
        ask(server, path)


def test_settings_hold_no_key(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_TEST_KEY", KEY)
    for made in (embedder, reranker, generator):
        stage = made(server, api_key_env="STEELYARD_TEST_KEY")
        assert KEY not in str(settings_of(stage)) + repr(stage)
        assert settings_of(stage)["api_key_env"] == "STEELYARD_TEST_KEY"


@pytest.mark.parametrize(
    "url",
    ["https://me:pw@example.org/v1", "https://example.org/v1?key=pw", "https://example.org/v1#pw", "me:pw@host", "",
     "ftp://example.org", "http://", "http://a b/", "http://[::1", "http://host:99999/", "http://ho\nst/"],
)  # fmt: skip
def test_addresses_that_are_none_or_hold_a_secret(url: str) -> None:
    with pytest.raises(InputError, match=r"^url ") as raised:
        HTTPReranker(url=url)
    assert "pw" not in str(raised.value)
    with pytest.raises(InputError, match=r"^base_url "):
        OpenAIEmbedder(model="m", base_url=url)


def test_addresses() -> None:
    assert checked_url("http://host/x?a=b", "url", query=True) == "http://host/x?a=b"
    assert shown("http://u:p@host:80/x?a=b#c") == "http://host:80/x"
    assert [is_loopback(f"http://{h}/") for h in ("LOCALHOST", "a.localhost:1", "127.8.8.8", "[::1]", "10.0.0.1")] == [
        True, True, True, True, False,
    ]  # fmt: skip


# Clients.


def test_no_proxy_stands_before_this_computer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for path in PATHS:
        ask(server, path)
        assert len(server.seen(path)) == 1


@pytest.mark.usefixtures("frozen_objects")
def test_nothing_is_left_open(server: Server) -> None:
    stage: Any
    for stage in (embedder(server), generator(server)):
        stage.query("q") if isinstance(stage, OpenAIEmbedder) else stage.answer("q", PASSAGES)
        stage.close()
        stage.close()
    dropped = reranker(server)
    dropped.scores("q", TEXTS)
    del dropped
    gc.collect()  # An open socket would warn here, and a warning is an error.


def test_a_closed_stage_opens_again(server: Server) -> None:
    stage = embedder(server)
    first = stage.query("load")
    stage.close()
    assert np.array_equal(stage.query("load"), first)


def test_connections_are_kept(server: Server) -> None:
    stage = reranker(server)
    made = []
    connect = socket.socket.connect

    def counted(self: socket.socket, address: Any) -> None:
        made.append(address)
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", counted)
        for _ in range(5):
            stage.scores("q", TEXTS)
    assert len(made) == 1


def test_a_stage_a_thread(server: Server) -> None:
    found: list[Any] = [None] * 4

    def work(i: int) -> None:
        found[i] = embedder(server, batch_size=1).documents(TEXTS)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(one, found[0]) for one in found)


@each_path
def test_a_missing_library(server: Server, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(MissingExtraError, match=r"httpx2.*pip install .*\[endpoints\]'"):
        ask(server, path)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("timeout_s", 0), ("timeout_s", math.nan), ("timeout_s", math.inf), ("attempts", 0), ("wait_initial_s", -1)],
)
def test_patience_within_reason(server: Server, setting: str, value: float) -> None:
    with pytest.raises(InputError, match=rf"^HTTPReranker: {setting} must be a (whole )?number from"):
        reranker(server, **{setting: value})


def test_patience_is_no_part_of_the_results() -> None:
    marked = {name for name, field in Patience.__dataclass_fields__.items() if field.metadata == {"fingerprint": False}}
    assert marked == {"timeout_s", "request_max_s", "reply_max_mb", "attempts", "wait_initial_s", "wait_max_s"}


def test_stages_are_registered_and_keep_their_protocols(server: Server) -> None:
    assert isinstance(make("embed", "openai", {"model": "m", "base_url": server.base_url}), stages.Embedder)
    assert isinstance(make("rerank", "http", {"url": server.url}), stages.Reranker)
    assert isinstance(make("generate", "openai", {"model": "m", "base_url": server.base_url}), stages.Generator)
    with pytest.raises(InputError, match="did you mean base_url"):
        make("embed", "openai", {"model": "m", "baseurl": server.base_url})


# Embedding.


def unit(text: str, width: int = WIDTH) -> np.ndarray:
    raw = np.array(vector(text, width))
    return (raw / math.sqrt((raw**2).sum())).astype(np.float32)


def test_documents_are_embedded_in_order(server: Server) -> None:
    texts = [f"text {i} 秤{'杆' * i}" for i in range(7)]
    vectors = embedder(server, batch_size=3).documents(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (7, WIDTH)
    np.testing.assert_allclose(vectors, [unit(text) for text in texts], atol=1e-7)
    bodies = [request.body for request in server.seen(EMBEDDINGS)]
    assert [body["input"] for body in bodies] == [texts[:3], texts[3:6], texts[6:]]
    assert bodies[0] == {"model": "m", "input": texts[:3], "encoding_format": "float"}


def test_prefixes_and_dimensions(server: Server) -> None:
    stage = embedder(server, query_prefix="query: ", document_prefix="passage: ", dimensions=8)
    np.testing.assert_allclose(stage.query("load"), unit("query: load", 8), atol=1e-7)
    np.testing.assert_allclose(stage.documents(["load"]), [unit("passage: load", 8)], atol=1e-7)
    assert [request.body["dimensions"] for request in server.seen(EMBEDDINGS)] == [8, 8]


def test_no_texts_ask_nothing(server: Server) -> None:
    assert embedder(server).documents([]).shape == (0, 0)
    assert embedder(server, dimensions=8).documents([]).shape == (0, 8)
    assert reranker(server).scores("q", []) == []
    assert not server.seen(EMBEDDINGS) + server.seen("/rerank")


def test_huge_and_tiny_numbers_have_a_direction(server: Server) -> None:
    stage = embedder(server)
    for scale in (1e300, 1e-300):
        server.script(EMBEDDINGS, put([3 * scale, -4 * scale], "data", 0, "embedding"))
        np.testing.assert_allclose(stage.query("load"), [0.6, -0.8], atol=1e-7)


def test_servers_that_only_keep_the_order(server: Server) -> None:
    well = embedder(server).documents(TEXTS)

    def without(answer: Any) -> Any:
        items = [{"embedding": item["embedding"]} for item in reversed(answer["data"])]
        return {"data": items}

    server.script(EMBEDDINGS, change(without))
    assert np.array_equal(embedder(server).documents(TEXTS), well)


def dropped(answer: Any) -> Any:
    return {**answer, "data": answer["data"][1:]}


def added(answer: Any) -> Any:
    return {**answer, "data": [*answer["data"], answer["data"][0]]}


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (change(dropped), "answered 2 vectors for 3 texts"),
        (change(added), "answered 4 vectors for 3 texts"),
        (put([], "data"), "answered 0 vectors for 3 texts"),
        (put(3, "data", 0, "index"), "vectors with index 3; expected 0 to 2"),
        (put(-1, "data", 0, "index"), "vectors with index -1; expected 0 to 2"),
        (put(True, "data", 0, "index"), "vectors with index True"),
        (put("0", "data", 0, "index"), "vectors with index '0'"),
        (put(None, "data", 0, "index"), r"vectors with index nothing \(null\)"),
        (put(0, "data", 0, "index"), "vectors with index 0 twice"),
        (put("text", "data", 0), r"vectors with index nothing \(null\)"),
        (put({"index": 2}, "data", 0), r"vectors without 'embedding' \(keys: index\)"),
        (put([1.0], "data", 0, "embedding"), r"not lists of equally many numbers \(lengths: \[1, 256\]\)"),
        (put("AAAA", "data", 0, "embedding"), "not lists of equally many numbers"),
        (put(["1.0"] * WIDTH, "data", 0, "embedding"), "not lists of equally many numbers"),
        (put([None] * WIDTH, "data", 0, "embedding"), "not lists of equally many numbers"),
        (put(math.nan, "data", 1, "embedding", 7), "a vector with NaN or infinity"),
        (put(-math.inf, "data", 1, "embedding", 7), "a vector with NaN or infinity"),
        (put([0.0] * WIDTH, "data", 2, "embedding"), "a vector of zeros"),
        (change(lambda answer: {"error": "x"}), "an object with error, without a list 'data'"),
        (change(lambda answer: answer["data"]), "a list of 3, without a list 'data'"),
        (change(lambda answer: None), r"nothing \(null\), without a list 'data'"),
        (change(lambda answer: {"data": [{"index": i, "embedding": []} for i in range(3)]}), r"lengths: \[0\]"),
    ],
)
def test_vectors_that_are_none(server: Server, fault: Fault, found: str) -> None:
    server.always(EMBEDDINGS, fault)
    with pytest.raises(StageError, match=rf"^embedding: {server.base_url}/embeddings .*{found}.*; "):
        embedder(server).documents(TEXTS)
    assert len(server.seen(EMBEDDINGS)) == 1


def test_batches_of_different_width(server: Server) -> None:
    server.script(EMBEDDINGS, None, put([[1.0, 2.0]][0], "data", 0, "embedding"))
    with pytest.raises(StageError, match=r"vectors of \[2, 256\] numbers"):
        embedder(server, batch_size=1).documents(TEXTS[:2])


def test_dimensions_that_the_server_ignores(server: Server) -> None:
    server.always(EMBEDDINGS, put([1.0, 2.0], "data", 0, "embedding"))
    with pytest.raises(StageError, match="vectors of 2 numbers, not 8; leave dimensions out"):
        embedder(server, dimensions=8).query("load")


@pytest.mark.parametrize("setting", ["batch_size", "dimensions"])
def test_embedder_settings_out_of_range(server: Server, setting: str) -> None:
    with pytest.raises(InputError, match=f"{setting} must be a whole number from 1, not 0"):
        embedder(server, **{setting: 0})


@examples(200)
@given(st.permutations(range(6)))
def test_items_are_put_in_the_order_of_their_index(order: list[int]) -> None:
    service = Service("test", "http://127.0.0.1/", Patience())
    items = [{"index": i, "value": 10 * i} for i in order]
    assert in_order(service, items, 6, "values", "value") == [0, 10, 20, 30, 40, 50]


@examples(200)
@given(st.lists(st.one_of(st.integers(-1, 4), st.none(), st.booleans()), min_size=4, max_size=4))
def test_only_a_whole_set_of_positions_is_taken(indexes: list[Any]) -> None:
    service = Service("test", "http://127.0.0.1/", Patience())
    items = [{"index": index, "value": 1} for index in indexes]
    if [type(i) for i in indexes] == [int] * 4 and sorted(indexes) == [0, 1, 2, 3]:
        assert in_order(service, items, 4, "values", "value") == [1] * 4
    else:
        with pytest.raises(StageError, match="index"):
            in_order(service, items, 4, "values", "value")


# Reranking.


@pytest.mark.parametrize(
    ("shape", "path", "body"),
    [
        ("cohere", "/rerank", {"model": "m", "query": "what weighs", "documents": TEXTS, "top_n": 3}),
        ("cohere", "/v1/rerank", {"model": "m", "query": "what weighs", "documents": TEXTS, "top_n": 3}),
        ("voyage", "/voyage/rerank", {"model": "m", "query": "what weighs", "documents": TEXTS, "top_k": 3}),
        ("tei", "/tei/rerank", {"model": "m", "query": "what weighs", "texts": TEXTS, "truncate": True}),
    ],
)
def test_scores_come_in_the_order_of_the_texts(server: Server, shape: str, path: str, body: Any) -> None:
    texts, query = TEXTS[1:] + TEXTS[:1], "what weighs"  # So that best first is another order.
    found = reranker(server, path, shape=shape, model="m").scores(query, texts)
    assert found == [overlap(query, text) for text in texts] == [0.0, 0.5, 0.5]
    assert all(type(score) is float for score in found)
    reranker(server, path, shape=shape, model="m").scores(query, TEXTS)
    assert server.seen(path)[-1].body == body


def test_without_a_model_none_is_named(server: Server) -> None:
    reranker(server).scores("q", TEXTS)
    assert "model" not in server.seen("/rerank")[0].body


def test_long_lists_are_split(server: Server) -> None:
    whole = reranker(server).scores("what weighs", TEXTS)
    assert reranker(server, batch_size=2).scores("what weighs", TEXTS) == whole
    assert [len(request.body["documents"]) for request in server.seen("/rerank")] == [3, 2, 1]
    assert [request.body["top_n"] for request in server.seen("/rerank")] == [3, 2, 1]


SCORES = [0.25, 0.75, 0.5]
ITEMS = [{"index": 1, "score": 0.75}, {"index": 2, "score": 0.5}, {"index": 0, "score": 0.25}]
RELEVANCE = [{"index": item["index"], "relevance_score": item["score"]} for item in ITEMS]


@pytest.mark.parametrize("shape", ["cohere", "voyage", "tei"])
@pytest.mark.parametrize(
    "answer",
    [
        {"id": "1", "results": RELEVANCE, "meta": {}}, {"object": "list", "data": RELEVANCE, "usage": {}}, ITEMS,
        {"results": [{**item, "document": {"text": "x"}} for item in RELEVANCE]}, {"results": ITEMS}, {"data": ITEMS},
        {"scores": SCORES}, {"scores": ITEMS}, SCORES, {"data": SCORES},
        {"rankings": [{"index": item["index"], "logit": item["score"]} for item in ITEMS]},
    ],
)  # fmt: skip
def test_the_shape_of_an_answer_shows_itself(server: Server, shape: str, answer: Any) -> None:
    server.always("/rerank", Fault(body=json.dumps(answer)))
    assert reranker(server, shape=shape).scores("q", TEXTS) == SCORES


def test_fields_of_an_answer_may_be_named(server: Server) -> None:
    items = [
        {"doc": {"number": item["index"]}, "match": {"p": item["score"]}, "index": 0, "score": 9} for item in ITEMS
    ]
    server.always("/rerank", Fault(body=json.dumps({"results": [], "output": {"ranked": items}})))
    fields = {"results_field": "output.ranked", "index_field": "doc.number", "score_field": "match.p"}
    assert reranker(server, **fields).scores("q", TEXTS) == SCORES
    with pytest.raises(
        StageError, match=r"answered no 'p': it has doc, match, index, score.*; name the field: score_field"
    ):
        reranker(server, **fields | {"score_field": "p"}).scores("q", TEXTS)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ({"detail": "x", "code": 1}, "answered an object with code, detail, without a list of scores under"),
        ({"results": {"index": 0}}, "an object with results, without a list"),
        ({}, "an object with nothing, without a list"),
        ("x", "'x', without a list of scores"),
        ({"output": {"results": RELEVANCE}}, "an object with output, without a list of scores under one of 'results', "
         "'data', 'scores', 'rankings'; check that the address is of a /rerank, or name where its list is: results_fi"),
        ({"results": [{"index": 0, "p": 1.0}] * 3}, "answered no 'relevance_score': it has index, p, in an item of its "
         "list; name the field: score_field"),
        ({"results": [{"id": 0, "score": 1.0}] * 3}, "answered no 'index': it has id, score, in an item of its list; "
         "name the field: index_field"),
        ([0.5, 0.25], "answered 2 scores for 3 texts"),
        ({"results": []}, "answered 0 scores for 3 texts"),
        ([0.5, {"index": 1, "score": 0.5}, "x"], "answered 'x' as the score of text 3 of 3"),
    ],
)  # fmt: skip
def test_answers_of_no_known_shape(server: Server, answer: Any, found: str) -> None:
    server.always("/rerank", Fault(body=json.dumps(answer)))
    with pytest.raises(StageError) as raised:
        reranker(server).scores("q", TEXTS)
    assert found in str(raised.value)


@pytest.mark.parametrize(
    ("shape", "code", "body", "wanted"),
    [
        (
            "cohere",
            422,
            '{"error": "Failed to deserialize: missing field `texts` at line 1", "error_type": "v"}',
            "tei",
        ),
        ("cohere", 400, '{"detail": "Argument top_n is not supported by our API"}', "voyage"),
        ("tei", 422, '{"detail": [{"type": "missing", "loc": ["body", "documents"]}]}', "cohere"),
        ("voyage", 422, '{"detail": [{"type": "extra_forbidden", "loc": ["body", "top_k"]}]}', "cohere"),
        ("cohere", 422, '{"detail": "no such model"}', None),
        ("cohere", 500, "missing field texts", None),
    ],
)
def test_a_refused_request_names_the_shape_that_the_server_asks_for(
    server: Server, shape: str, code: int, body: str, wanted: str | None
) -> None:
    server.always("/rerank", status(code, body))
    with pytest.raises(StageError) as raised:
        reranker(server, shape=shape, attempts=1).scores("q", TEXTS)
    assert ("set shape" in str(raised.value)) == (wanted is not None)
    assert wanted is None or str(raised.value).endswith(f'set shape = "{wanted}"')


def test_a_shape_that_there_is_not(server: Server) -> None:
    with pytest.raises(InputError, match="shape must be 'cohere', 'voyage' or 'tei', not 'jina'"):
        reranker(server, shape="jina")


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (change(lambda a: {"results": a["results"][:-1]}), "answered 2 scores for 3 texts"),
        (change(lambda a: {"results": a["results"] * 2}), "answered 6 scores for 3 texts"),
        (put(3, "results", 0, "index"), "scores with index 3; expected 0 to 2"),
        (put(1, "results", 0, "index"), "scores with index 1 twice"),
        (put({"index": 0, "value": 1.0}, "results", 0), "no 'relevance_score': it has index, value"),
        (put(math.nan, "results", 0, "relevance_score"), "answered nan as the score of text 1 of 3"),
        (put(math.inf, "results", 0, "relevance_score"), "answered inf as the score of text 1 of 3"),
        (put(None, "results", 0, "relevance_score"), r"answered nothing \(null\) as the score of text 1 of 3"),
        (put("0.5", "results", 0, "relevance_score"), "answered '0.5' as the score of text 1 of 3"),
        (put(True, "results", 0, "relevance_score"), "answered True as the score of text 1 of 3"),
        (put([0.5], "results", 0, "relevance_score"), "answered a list of 1 as the score of text 1 of 3"),
    ],
)
def test_scores_that_are_none(server: Server, fault: Fault, found: str) -> None:
    server.always("/rerank", fault)
    with pytest.raises(StageError, match=rf"^rerank: {server.url}/rerank .*{found}.*; "):
        reranker(server).scores("what weighs", TEXTS)
    assert len(server.seen("/rerank")) == 1


def accounted(server: Server, account: Any, **more: Any) -> stages.Reranked:
    server.always("/rerank", change(lambda answer: {**answer, **account}))
    return reranker(server, **more).rerank("what weighs", TEXTS)


@pytest.mark.parametrize(
    ("account", "tokens", "search_units"),
    [
        ({"meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}}, None, 1.0),
        ({"meta": {"billed_units": {"search_units": 3.0}, "tokens": {"input_tokens": 1200}}}, (1200, 0), 3.0),
        ({"meta": {"billed_units": {"input_tokens": 700.0}}}, (700, 0), None),
        ({"model": "jina", "usage": {"total_tokens": 815, "prompt_tokens": 815}}, (815, 0), None),
        ({"usage": {"total_tokens": 26}}, (26, 0), None),
        ({"usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}}, (20, 5), None),
        ({"usage": {"completion_tokens": 5, "total_tokens": 25}}, (20, 5), None),
        ({}, None, None),
        ({"meta": None, "usage": None}, None, None),
        ({"meta": {"billed_units": {"search_units": "1"}}, "usage": {"total_tokens": True}}, None, None),
        ({"meta": {"billed_units": {"search_units": -1}}, "usage": {"total_tokens": -3}}, None, None),
        ({"meta": {"billed_units": {"search_units": math.nan}}, "usage": [815]}, None, None),
    ],
)
def test_the_account_of_the_server_is_passed_on(
    server: Server, account: Any, tokens: tuple[int, int] | None, search_units: float | None
) -> None:
    reranked = accounted(server, account)
    assert reranked.scores == [0.5, 0.0, 0.5]
    assert reranked.usage == (None if tokens is None else Usage(*tokens))
    assert reranked.search_units == search_units


def test_accounts_of_batches_are_added_up(server: Server) -> None:
    account = {"meta": {"billed_units": {"search_units": 1}}, "usage": {"total_tokens": 10}}
    assert accounted(server, account, batch_size=2) == stages.Reranked([0.5, 0.0, 0.5], Usage(20), 2.0)
    server.script("/rerank", Fault())
    assert accounted(server, account, batch_size=2) == stages.Reranked([0.5, 0.0, 0.5], None, None)


def test_an_endpoint_is_a_reranker_over_http(server: Server) -> None:
    settings = {"url": f"{server.url}/rerank", "model": "m"}
    endpoint = make("rerank", "endpoint", settings)
    assert isinstance(endpoint, stages.MeteredReranker)
    assert endpoint == make("rerank", "http", settings)


# Generating.


def test_an_answer_cites_what_it_was_given(server: Server) -> None:
    assert generator(server, seed=7).answer("what weighs?", PASSAGES) == "It says so [docA#1]."
    body = server.seen(CHAT)[0].body
    assert {name: body[name] for name in ("model", "temperature", "max_tokens", "seed")} == {
        "model": "m",
        "temperature": 0.0,
        "max_tokens": 512,
        "seed": 7,
    }
    told = " ".join(message["content"] for message in body["messages"])
    assert all(piece in told for piece in ("what weighs?", "[docA#1]", "A steelyard weighs", "[docB#4]", "bees"))


def test_what_a_model_does_not_take_is_left_out(server: Server) -> None:
    generator(server, temperature=None, max_tokens=None).answer("what weighs?", PASSAGES)
    assert set(server.seen(CHAT)[0].body) == {"model", "messages"}


def test_an_answer_cut_by_its_length_is_an_answer(server: Server) -> None:
    server.script(CHAT, put("length", "choices", 0, "finish_reason"))
    assert generator(server).answer("what weighs?", PASSAGES) == "It says so [docA#1]."


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (put([], "choices"), "answered no choices; check base_url"),
        (change(lambda answer: {"error": {}}), "answered an object with error, without a list 'choices'"),
        (change(lambda answer: []), "answered a list of 0, without a list 'choices'"),
        (put("", "choices", 0, "message", "content"), r"answered no text \(content '', finish_reason 'stop'\)"),
        (put(" \n", "choices", 0, "message", "content"), r"answered no text"),
        (
            put({"role": "assistant", "content": None, "reasoning_content": "hm"}, "choices", 0, "message"),
            r"answered no text \(content nothing \(null\), finish_reason 'stop'\); raise max_tokens",
        ),
        (put([{"type": "text"}], "choices", 0, "message", "content"), r"answered no text \(content a list of 1"),
        (put(None, "choices", 0, "message"), "answered no text"),
        (put("x", "choices", 0), "answered no text"),
        (put("content_filter", "choices", 0, "finish_reason"), "its content filter stopped it"),
        (put({"content": None, "refusal": "I would rather not."}, "choices", 0, "message"), "refused: I would rather"),
    ],
)
def test_answers_without_text(server: Server, fault: Fault, found: str) -> None:
    server.always(CHAT, fault)
    with pytest.raises(StageError, match=rf"^chat: {server.base_url}/chat/completions .*{found}"):
        generator(server).answer("what weighs?", PASSAGES)
    assert len(server.seen(CHAT)) == 1


def test_a_prompt_of_the_users_own(server: Server, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("你是秤。\n---\n{passages}\n问：{query}", encoding="utf-8")
    stage = generator(server, prompt=str(prompt))
    stage.answer("多重？", PASSAGES)
    told = server.seen(CHAT)[0].body["messages"]
    assert told[0] == {"role": "system", "content": "你是秤。"}
    assert told[1]["content"].endswith("问：多重？")
    first = stage.identity()
    prompt.write_text("{passages}{query}", encoding="utf-8")
    assert len({first, generator(server, prompt=str(prompt)).identity(), generator(server).identity()}) == 3
    assert generator(server, language="zh").identity() != generator(server, language="en").identity()


def test_prompts_that_cannot_be_had(server: Server, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 {passages} {query}")
    for name in ("latin.txt", "missing.txt", "."):
        with pytest.raises(InputError):
            generator(server, prompt=str(tmp_path / name))
    with pytest.raises(InputError, match="fr"):
        generator(server, language="fr")


@pytest.mark.parametrize(("setting", "value"), [("temperature", -1.0), ("max_tokens", 0), ("max_tokens", "many")])
def test_generator_settings_out_of_range(server: Server, setting: str, value: object) -> None:
    with pytest.raises(InputError, match=rf"{setting} must be a (whole )?number from [01], not {value!r}"):
        generator(server, **{setting: value})
