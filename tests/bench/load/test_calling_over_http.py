"""Rerankers behind a real HTTP server that answers badly: each failure is a request of its own, and is not dropped."""

import math
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from steelyard.bench.candidates import Candidates
from steelyard.bench.frames import CENSORED_MS
from steelyard.bench.load.calling import PairTokens, PatientCaller, RerankerCalls, call_in_turn
from steelyard.bench.run.rerankers import bench_rerankers
from steelyard.rag.registry import make
from tests.bench.run.test_rerankers import bench_config
from tests.judges.llm_server import says_json
from tests.rag.ranking_model import PATH
from tests.rag.server import CUT, MALFORMED, WEB_PAGE, Fault, Server, change, put, serving, stall, status

pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")

TEXTS = {"a": "bees dance", "b": "a balance weighs", "d": "a steelyard weighs"}


def candidates(n: int) -> Candidates:
    queries = {f"q{i}": "what weighs" for i in range(n)}
    return Candidates("bm25", list(queries), queries, doc_ids={name: list(TEXTS) for name in queries}, texts=TEXTS)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def block(reranker: Any, n: int, timeout_s: float = 5.0) -> tuple[pl.DataFrame, dict[str, list[float]]]:
    asked = candidates(n)
    calls, caller = RerankerCalls(reranker, asked, 3), PatientCaller(timeout_s)
    requests = call_in_turn(calls, list(asked.queries.items()), caller)
    caller.close()
    reranker.close()
    return PairTokens.of(reranker, asked, 3).fill(requests), calls.scores


def endpoint(url: str, **settings: Any) -> Any:
    return make("rerank", "endpoint", {"url": url, "attempts": 1, "timeout_s": 0.3, "wait_max_s": 0.01, **settings})


def fewer(answer: Any) -> Any:
    return {"results": answer["results"][:-1]}


def account(answer: Any) -> Any:
    return {**answer, "meta": {"billed_units": {"search_units": 1}}, "usage": {"total_tokens": 33}}


FAULTS: dict[str, tuple[Fault, str, str]] = {
    "fewer": (change(fewer), "error", "answered 2 scores for 3 texts"),
    "unknown": (put(7, "results", 0, "index"), "error", "scores with index 7; expected 0 to 2"),
    "twice": (put(0, "results", 0, "index"), "error", "scores with index 0 twice"),
    "NaN": (put(math.nan, "results", 1, "relevance_score"), "error", "answered nan as the score of text"),
    "null": (put(None, "results", 1, "relevance_score"), "error", "as the score of text"),
    "rate limit": (status(429, Retry_After="60"), "error", "answered 429 (Too Many Requests)"),
    "down": (status(503), "error", "answered 503"),
    "slow": (stall(0.6), "timeout", "did not answer within 0.3 s"),
    "cut": (CUT, "error", "gave no answer"),
    "no JSON": (MALFORMED, "error", "malformed JSON"),
    "a page": (WEB_PAGE, "error", "a web page instead of JSON"),
}


def test_every_failure_is_a_row_and_none_spoils_another(server: Server) -> None:
    well = change(account)
    server.script("/rerank", well, *(fault for fault, _, _ in FAULTS.values()), well)
    requests, scores = block(endpoint(f"{server.url}/rerank"), len(FAULTS) + 2)
    assert requests["outcome"].to_list() == ["ok", *(outcome for _, outcome, _ in FAULTS.values()), "ok"]
    for error, (name, (_, _, message)) in zip(requests["error"][1:-1], FAULTS.items(), strict=True):
        assert message in error, name
    assert scores == {name: [0.0, 0.5, 0.5] for name in ("q0", f"q{len(FAULTS) + 1}")}
    times = requests.select(CENSORED_MS.alias("ms"))["ms"]
    assert times.is_infinite().sum() == len(FAULTS)
    assert requests["search_units"].drop_nulls().to_list() == [1.0, 1.0]
    assert requests.filter(outcome="ok").select("tokens_in", "counted").unique().rows() == [(33, "server")]


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    requests, scores = block(endpoint(f"http://127.0.0.1:{port}/rerank"), 2)
    assert requests["outcome"].to_list() == ["error", "error"]
    assert "check the address, and that the server runs" in requests["error"][0]
    assert not scores


@pytest.mark.parametrize(
    ("mode", "reply", "message"),
    [
        ("listwise", {"ranking": [4, 5]}, "a ranking of none of the 3 texts; expected numbers from 1 to 3"),
        ("listwise", {"ranking": [0, 1, 2]}, "a ranking that counts from 0; expected numbers from 1 to 3"),
        ("pointwise", {"score": math.nan}, "the score 'nan'; expected a number from 0 to 100"),
    ],
)
def test_a_model_that_ranks_badly(server: Server, mode: str, reply: Any, message: str) -> None:
    server.always(PATH, says_json(**reply))
    model = {"mode": mode, "model": "m", "base_url": f"{server.url}/ranker/v1", "attempts": 1}
    requests, scores = block(make("rerank", "llm", model), 1)
    assert requests["outcome"].to_list() == ["error"]
    assert message in requests["error"][0]
    assert not scores


def test_a_key_that_the_server_repeats_is_in_no_file(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-very/secret+key0123456789"
    monkeypatch.setenv("STEELYARD_TEST_KEY", key)
    server.script("/rerank", None, *[None, status(500, f"no: Bearer {key}")] * 6)  # The first one begins.
    rerank = {"kind": "endpoint", "url": f"{server.url}/rerank", "api_key_env": "STEELYARD_TEST_KEY"}
    config = bench_config(tmp_path, systems={"api": {"rerank": rerank}}, depths=[3])
    bench = bench_rerankers(config)
    errors = bench.requests["error"].drop_nulls().to_list()
    assert errors
    assert all("no: Bearer [key]" in error for error in errors)
    assert server.seen("/rerank")[0].headers["authorization"] == f"Bearer {key}"
    files = [path for path in bench.folder.path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not any(b"secret" in path.read_bytes() for path in files)
    assert "STEELYARD_TEST_KEY" in bench.folder.config.read_text("utf-8")


@pytest.mark.parametrize("mode", ["pointwise", "listwise"])
def test_tokens_that_no_server_says_are_those_of_prompts_and_replies(server: Server, mode: str) -> None:
    model = {"mode": mode, "model": "m", "base_url": f"{server.url}/ranker/v1", "attempts": 1}
    by_server, _ = block(make("rerank", "llm", model), 1)
    assert by_server.select("tokens_in", "counted").unique().rows() == [(300 if mode == "pointwise" else 100, "server")]
    server.always(PATH, put(None, "usage"))
    reranker = make("rerank", "llm", model)
    requests, _ = block(reranker, 1)
    assert requests["counted"].to_list() == ["estimate"]
    usage = reranker.estimate("what weighs", list(TEXTS.values()))
    assert requests.select("tokens_in", "tokens_out").row(0) == (usage.tokens_in, usage.tokens_out)
    assert usage.tokens_in > sum(PairTokens.of(reranker, candidates(1), 3).counts["q0"])


def test_a_bench_asks_each_question_once(server: Server, tmp_path: Path) -> None:
    server.script("/rerank", None, None, None, status(429, Retry_After="60"), None, CUT)
    rerank = {"kind": "endpoint", "url": f"{server.url}/rerank"}
    config = bench_config(tmp_path, systems={"api": {"rerank": rerank}}, depths=[3], repetitions=1)
    bench = bench_rerankers(config)
    assert bench.requests["outcome"].to_list() == ["ok", "error", "ok", "error", "ok", "ok"]
    assert len(server.seen("/rerank")) == 1 + 1 + 6  # The first question, one that warms up, and all of them.
