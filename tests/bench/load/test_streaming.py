"""Answers that come token by token, over HTTP and as data."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from time import sleep
from typing import Any

import polars as pl
import pytest

from steelyard.bench.bench import Bench
from steelyard.bench.blocks import read_requests, write_block
from steelyard.bench.frames import REQUESTS
from steelyard.bench.load.latency import read_stream, streaming
from steelyard.bench.run.load_tests import load_test
from steelyard.rag.own.results import Odd
from steelyard.reports.benching import BenchReport
from steelyard.reports.words import read_words
from tests.bench.load.sleepy import SleepySettings, sleepy_server
from tests.rag.server import Fault, serving

CHAT = {"model": "m", "messages": [{"role": "user", "content": "{query}"}], "stream": True}
SHORT: dict[str, Any] = {"duration": 0.2, "warm_up": 0, "timeout": 5, "arrivals": "constant", "body": CHAT}


def chat(text: str | None, **more: Any) -> str:
    return json.dumps({"choices": [{"delta": {} if text is None else {"content": text}, **more}]})


def test_the_first_piece_with_text_is_the_first_token() -> None:
    usage = json.dumps({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5}})
    streamed, tokens = read_stream(
        [(0.1, chat("")), (0.5, chat("so")), (0.7, chat("so")), (0.8, chat(None, finish_reason="stop")), (0.9, usage)]
    )
    assert streamed == (0.5, 0.7, 2)
    assert tokens is not None
    assert (tokens.tokens_in, tokens.tokens_out) == (9, 5)


@pytest.mark.parametrize(
    "events",
    [
        ['{"answer": "so"}', '{"answer": "so"}'],
        ["so", "it goes", "[DONE]"],
        ['{"choices": [{"text": "so"}]}', '{"choices": [{"text": "so", "finish_reason": "length"}]}'],
        [chat(None), json.dumps({"choices": [{"delta": {"reasoning_content": "hm"}}]}), chat("so"), "[DONE]"],
    ],
)
def test_pieces_of_other_services_count_too(events: list[str]) -> None:
    assert read_stream([(float(at), event) for at, event in enumerate(events)])[0].n_pieces == 2


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([chat("so"), '{"error": {"message": "out of memory"}}'], "out of memory"),
        ([chat("so")], "before it was done"),
        (["[DONE]"], "no text"),
        ([chat(None, finish_reason="stop")], "no text"),
        ([], "no text"),
    ],
)
def test_streams_that_are_no_answers(events: list[str], message: str) -> None:
    with pytest.raises(Odd, match=message):
        read_stream([(0.0, event) for event in events])


def streamed_requests(*rows: tuple[float, float, float, int]) -> pl.DataFrame:
    """Of intended_s, first_s, last_s and pieces."""
    same = {"system": "m", "loop": "open", "repetition": 1, "rate": 2.0, "outcome": "ok", "sent_s": 0.0}
    dicts = [
        {"intended_s": at, "first_s": first, "last_s": last, "pieces": n, "end_s": last, "number": i, **same}
        for i, (at, first, last, n) in enumerate(rows)
    ]
    return pl.DataFrame(dicts, schema=REQUESTS)


def test_times_count_from_the_intended_start_and_between_tokens() -> None:
    requests = streamed_requests((0.0, 0.5, 1.5, 11), (1.0, 1.25, 1.25, 1))
    row = streaming(requests).row(0, named=True)
    assert (row["n"], row["ttft_p50"], row["itl_p50"], row["itl_p95"]) == (2, 375, 100, 100)
    assert row["tokens"] == 6
    assert row["tokens_per_s"] == pytest.approx(12 / 1.5)
    by_server = streaming(requests.with_columns(tokens_out=pl.lit(6, pl.Int64))).row(0, named=True)
    assert (by_server["itl_p50"], by_server["tokens"]) == (pytest.approx(100), 6)


def test_requests_without_an_answer_are_infinitely_slow() -> None:
    requests = streamed_requests(*((n, n + 0.1, n + 0.2, 3) for n in range(9)))
    failed = requests.tail(1).with_columns(
        outcome=pl.lit("timeout"), first_s=pl.lit(None, float), pieces=pl.lit(None, pl.Int64)
    )
    row = streaming(pl.concat([requests.head(8), failed])).row(0, named=True)
    assert row["n"] == 9
    assert row["ttft_p95"] == float("inf")


@pytest.fixture
def streamed_bench(tmp_path: Path) -> Bench:
    settings = SleepySettings(service_s=0.02, tokens=5, token_s=0.01)
    with sleepy_server(settings) as server:
        return load_test(f"{server.url}v1/chat/completions", rate=20, users=1, folder=tmp_path / "bench", **SHORT)


def test_a_streaming_chat_is_measured_and_shown(streamed_bench: Bench) -> None:
    requests = streamed_bench.requests
    assert requests["outcome"].unique().to_list() == ["ok"]
    assert requests["pieces"].unique().to_list() == [5]
    row = streamed_bench.streaming.filter(loop="open").row(0, named=True)
    assert 20 <= row["ttft_p50"] < row["ttft_p50"] + 4 * row["itl_p50"]
    assert row["itl_p50"] >= 10
    assert {"ttft_ms", "itl_ms"} <= {str(measure) for measure in streamed_bench.scores.measures}
    assert len(json.loads(streamed_bench.text("json"))["streaming"]) == 2
    for lang, head in (("en", "first token P50 ms"), ("zh", "首词元 P50")):
        words = read_words(lang)
        assert head in BenchReport(streamed_bench).text(lang=words.code)
        assert head in streamed_bench.text(lang=words.code)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(), "answered application/json where a stream of events"),
        (Fault(body=chat("so"), headers={"Content-Type": "text/event-stream"}), "streamed no text"),
        (Fault(body=f"data: {chat('so')}\n\n", headers={"Content-Type": "text/event-stream"}), "before it was done"),
        (Fault(status=500, body="{}", headers={"Content-Type": "text/event-stream"}), "answered 500"),
    ],
)
def test_what_is_no_stream_fails(tmp_path: Path, fault: Fault, error: str) -> None:
    good = Fault(body=f"data: {chat('so', finish_reason='stop')}\n\n", headers={"Content-Type": "text/event-stream"})
    with serving() as server:
        server.script("/v1/chat/completions", good, *[fault] * 20)
        url = f"{server.url}/v1/chat/completions"
        requests = load_test(url, rate=20, folder=tmp_path / "bench", **SHORT).requests
    assert set(requests["outcome"]) == {"error"}
    assert requests["error"].str.contains(error).all()


def spoken(query: str) -> Iterator[str]:
    """A pipeline that yields its answer, the first piece without text."""
    yield ""
    for word in ("so", " it", " goes"):
        sleep(0.01)
        yield word


async def spoken_later(query: str) -> AsyncIterator[str]:
    for word in spoken(query):
        yield word


def retrieved(query: str) -> Iterator[dict[str, str]]:
    yield {"id": "d1"}
    yield {"id": "d2"}


@pytest.mark.parametrize(("name", "pieces"), [("spoken", 3), ("spoken_later", 3), ("retrieved", 2)])
def test_functions_that_yield_are_timed_by_their_pieces(tmp_path: Path, name: str, pieces: int) -> None:
    options = {key: value for key, value in SHORT.items() if key != "body"}
    bench = load_test(f"{__name__}:{name}", rate=10, folder=tmp_path / "bench", **options)
    assert bench.requests["outcome"].unique().to_list() == ["ok"]
    assert bench.requests["pieces"].unique().to_list() == [pieces]
    assert bench.streaming["ttft_p50"][0] < bench.latency["p50"][0]


def test_benches_of_earlier_versions_are_read(tmp_path: Path) -> None:
    requests = streamed_requests((0.0, 0.5, 1.5, 11))
    write_block(tmp_path, "open-m-2", requests)
    path = tmp_path / "blocks" / "open-m-2.parquet"
    pl.read_parquet(path).drop("first_s", "last_s", "pieces").write_parquet(path)
    assert read_requests(tmp_path)["pieces"].to_list() == [None]
    assert streaming(read_requests(tmp_path)).is_empty()
