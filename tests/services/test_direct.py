"""The client for measuring, against a real server that is down, slow, silent, wrong or refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, sleep

import pytest

from steelyard.services.http.client import Patience, Service, ServiceError
from steelyard.services.http.direct import DirectService
from tests.bench.load.sleepy import SleepySettings, sleepy_server
from tests.services.raw_server import answering, http

SECRET = "Bearer sesame"


@contextmanager
def asking(url: str, timeout_s: float = 5.0) -> Iterator[DirectService]:
    service = Service("target", url, Patience(), headers={"Authorization": SECRET})
    direct = DirectService(service, timeout_s)
    yield direct
    direct.close()


def test_a_connection_is_kept_and_the_answer_is_timed_before_it_is_read() -> None:
    with sleepy_server() as server, asking(server.url) as direct:
        assert direct.answered_at is None
        for _ in range(3):
            before = perf_counter()
            assert direct.request("POST", body={"query": "秤"}) == {"results": [{"id": "d1"}], "answer": "asleep"}
            assert before < (direct.answered_at or 0) < perf_counter()
        assert server.n_connections == 1


def test_what_is_sent_is_what_a_service_sends() -> None:
    with answering(*[http(b"{}", "200 OK", "Connection: close")] * 2) as (url, came), asking(url) as direct:
        direct.request("POST", body={"query": "秤 & co"})
        direct.request("GET", query={"q": "秤 & co", "k": 5})
    head, _, body = came[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /ask?lang=en HTTP/1.1\r\n")
    assert b"Authorization: Bearer sesame" in head
    assert body.decode() == '{"query":"秤 & co"}'
    assert came[1].startswith(b"GET /ask?lang=en&q=%E7%A7%A4+%26+co&k=5 HTTP/1.1\r\n")


@pytest.mark.parametrize("settings", [SleepySettings(silent_after=0), SleepySettings(drip_s=0.02)])
def test_the_time_limit_is_of_the_whole_request(settings: SleepySettings) -> None:
    with sleepy_server(settings) as server, asking(server.url, 0.15) as direct:
        before = perf_counter()
        with pytest.raises(ServiceError, match=r"gave no answer within 0\.15 s") as raised:
            direct.request("POST", body={})
        assert perf_counter() - before < 1
        assert raised.value.reason == "timeout"


def test_a_server_that_is_down_is_said() -> None:
    with asking("http://127.0.0.1:9/") as direct, pytest.raises(ServiceError, match="refused") as raised:
        direct.request("POST", body={})
    assert raised.value.reason == "no answer"


def test_statuses_are_sent_once_and_said_without_keys() -> None:
    with answering(http(b"too many, Bearer sesame", "429 Too Many Requests", "Retry-After: 60")) as (url, came):
        with asking(url) as direct, pytest.raises(ServiceError) as raised:
            direct.request("POST", body={})
        assert len(came) == 1
    assert raised.value.reason == 429
    assert "answered 429 (Too Many Requests): too many, Bearer [key]" in str(raised.value)
    assert "lang" not in str(raised.value)


@pytest.mark.parametrize(
    ("answer", "fact"),
    [
        (http(b"<html>"), "a web page"),
        (http(b'{"results": ['), "malformed JSON"),
        (http(b"{}")[:-1], "IncompleteRead"),
        (b"", "closed connection"),
        (b"SSH-2.0\r\n", "BadStatusLine|SSH"),
        (http(b"", "302 Found", "Location: /new"), "302"),
    ],
)
def test_answers_that_are_none_are_said(answer: bytes, fact: str) -> None:
    with answering(answer) as (url, _), asking(url) as direct, pytest.raises(ServiceError, match=fact):
        direct.request("POST", body={})


def test_a_connection_that_the_server_closed_meanwhile_is_opened_anew() -> None:
    with answering(http(b"[1]"), http(b"[2]")) as (url, _), asking(url) as direct:
        assert direct.request("POST", body={}) == [1]
        sleep(0.05)
        assert direct.request("POST", body={}) == [2]


def test_half_a_character_is_refused_by_name() -> None:
    with sleepy_server() as server, asking(server.url) as direct, pytest.raises(ServiceError, match="half a character"):
        direct.request("POST", body={"query": "\ud800"})


def test_who_awaits_answers_is_not_made_to_wait_by_refusals_either() -> None:
    with sleepy_server(SleepySettings(rate_limit=1)) as server, asking(server.url) as direct:

        async def ask() -> list[object]:
            return await asyncio.gather(
                *(direct.request_async("POST", body={}) for _ in range(3)), return_exceptions=True
            )

        answers = asyncio.run(ask())
        assert server.n_requests == 3
    assert sorted(getattr(answer, "reason", 0) for answer in answers) == [0, 429, 429]


def test_who_awaits_answers_has_the_same_time_limit() -> None:
    with sleepy_server(SleepySettings(drip_s=0.02)) as server, asking(server.url, 0.15) as direct:
        with pytest.raises(ServiceError, match=r"within 0\.15 s") as raised:
            asyncio.run(direct.request_async("POST", body={}))
        assert raised.value.reason == "timeout"
