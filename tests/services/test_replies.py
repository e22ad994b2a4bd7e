"""Answers that are too great, too slow, packed, or repeat the key, as both clients take them."""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any
from urllib.parse import quote

import pytest

from steelyard.services.addresses import Keys
from steelyard.services.http.client import Patience, Service, ServiceError
from steelyard.services.http.direct import DirectService
from steelyard.services.http.replies import HTTPReply
from tests.bench.load.sleepy import SleepySettings, sleepy_server
from tests.services.raw_server import answering, http

KEY = "sk-very/secret+key=0123"
QUICK = {"timeout_s": 5.0, "attempts": 3, "wait_initial_s": 0.001, "reply_max_mb": 0.1}


def gentle(url: str, headers: dict[str, str] | None = None, **more: Any) -> Service:
    return Service("target", url, Patience(**{**QUICK, **more}), headers=headers)


def direct(url: str, headers: dict[str, str] | None = None, **more: Any) -> Service:
    return DirectService(gentle(url, headers, **more), more.get("request_max_s", 5.0))


both = pytest.mark.parametrize("make", [gentle, direct])
Make = Callable[..., Service]


def packed(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


def endless(n_sent: list[int]) -> Iterator[bytes]:
    """An answer of 5 GB, in chunks."""
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for _ in range(50_000):
        n_sent[0] += 100_000
        yield b"186a0\r\n" + b" " * 100_000 + b"\r\n"


@both
def test_an_answer_without_end_is_read_up_to_the_limit(make: Make) -> None:
    n_sent = [0]
    with answering(endless(n_sent)) as (url, came):
        service = make(url)
        with pytest.raises(
            ServiceError, match=r"^target: http://127\.0\.0\.1:\d+/ask answered more than 0\.1 MB.*reply_max_mb"
        ):
            service.request("POST", body={})
        service.close()
    assert len(came) == 1
    assert n_sent[0] < 50_000_000  # What the system's buffers hold.


@both
def test_the_limit_counts_what_is_unpacked(make: Make) -> None:
    bomb = packed(b"[" + b" " * 30_000_000 + b"]")
    with answering(http(bomb, "200 OK", "Content-Encoding: gzip")) as (url, _):
        service = make(url)
        with pytest.raises(ServiceError, match=r"answered more than 0\.1 MB"):
            service.request("POST", body={})
        service.close()
    assert len(bomb) < 100_000


@both
def test_the_limit_itself_is_taken(make: Make) -> None:
    whole = b"[" + b" " * 99_998 + b"]"
    with answering(http(whole), http(whole + b" ")) as (url, _):
        service = make(url)
        assert service.request("POST", body={}) == []
        with pytest.raises(ServiceError, match=r"more than 0\.1 MB"):
            service.request("POST", body={})
        service.close()


@both
@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "deflate", "identity"])
def test_what_is_packed_is_unpacked(make: Make, encoding: str) -> None:
    body = json.dumps({"text": "秤" * 900}).encode()
    sent = {"deflate": zlib.compress(body), "identity": body}.get(encoding, packed(body))
    with answering(http(sent, "200 OK", f"Content-Encoding: {encoding}")) as (url, _):
        service = make(url)
        assert service.request("POST", body={}) == {"text": "秤" * 900}
        service.close()


@both
@pytest.mark.parametrize(("encoding", "fact"), [("br", "in the encoding 'br'"), ("gzip", "what is no gzip")])
def test_what_cannot_be_unpacked_is_said(make: Make, encoding: str, fact: str) -> None:
    with answering(http(b"{}", "200 OK", f"Content-Encoding: {encoding}")) as (url, _):
        service = make(url)
        with pytest.raises(ServiceError, match=f"/ask answered {fact}"):
            service.request("POST", body={})
        service.close()


@both
def test_of_a_refusal_the_beginning_is_enough(make: Make) -> None:
    refusal = http(b"too many " * 100_000, "404 Not Found")
    with answering(refusal, http(b"[]")) as (url, _):
        service = make(url)
        with pytest.raises(ServiceError, match=r"answered 404 \(Not Found\).*: too many too many") as raised:
            service.request("POST", body={})
        assert raised.value.reason == 404
        assert service.request("POST", body={}) == []
        service.close()


@both
def test_an_answer_that_drips_ends_by_the_time_of_the_whole_request(make: Make) -> None:
    with sleepy_server(SleepySettings(drip_s=0.02)) as server:
        service, before = make(server.url, request_max_s=0.15), perf_counter()
        with pytest.raises(ServiceError, match=r"answer within 0\.15 s") as raised:
            service.request("POST", body={})
        service.close()
        assert perf_counter() - before < 1.5  # Asked once: a second time would drip as well.
    assert raised.value.reason == "timeout"
    assert server.n_requests == 1


def test_the_time_of_a_whole_request_follows_from_the_silence() -> None:
    assert Patience(timeout_s=5.0).whole_s == 50
    assert Patience(timeout_s=5.0, request_max_s=900.0).whole_s == 900


# Keys.


def spelled(key: str) -> dict[str, str]:
    once = json.dumps({"key": key})
    return {
        "as it is": f"Bearer {key}",
        "alone": key,
        "in a URL": f"https://host/x?key={quote(key)}&k=5",
        "in a URL, wholly": quote(key, safe=""),
        "in a URL twice": quote(quote(key, safe=""), safe=""),
        "in small hexadecimals": quote(key, safe="").lower().replace("%2f", "%2f"),
        "JSON in JSON": once,
        "with escaped strokes": once.replace("/", "\\/"),
        "with escaped signs": once.replace("+", "\\u002b").replace("=", "\\u003D"),
        "JSON in JSON in JSON": json.dumps(once.replace("/", "\\/")),
        "HTML": html.escape(key).replace("/", "&#x2F;").replace("=", "&#61;"),
        "Base64": base64.b64encode(f"user:{key}".encode()).decode(),
        "Base64 of a header": base64.b64encode(f"Authorization: Bearer {key}".encode()).decode(),
        "Base64 of a header, for URLs": base64.urlsafe_b64encode(f"xAuthorization: Bearer {key}".encode()).decode(),
    }


@both
@pytest.mark.parametrize(("label", "text"), spelled(KEY).items(), ids=spelled(KEY))
def test_no_answer_holds_the_key(make: Make, label: str, text: str) -> None:
    body = json.dumps({"results": [{"id": "d1", "text": text, text: [1.5, None, text]}]})
    with answering(http(body.encode()), http(body.encode("utf-16"))) as (url, _):
        service = make(url, {"Authorization": f"Bearer {KEY}"})
        for _ in range(2):
            answer = json.dumps(service.request("POST", body={}))
            assert answer.count("[key]") == 3
            assert "secret" not in answer
            assert '"id": "d1"' in answer
            assert "Base64" not in label or base64.b64encode(KEY.encode()).decode()[4:20] not in answer
        service.close()


def test_parts_of_a_key_are_keys() -> None:
    basic = Keys([("authorization", "Basic " + base64.b64encode(b"me:hunter22").decode())])
    assert basic.removed("me:hunter22 and hunter22, aHVudGVyMjI= and me") == "[key] and [key], [key]I= and me"
    cookie = Keys([("Cookie", 'session=abc123def; flag="x y"; other=zzz999')])
    assert cookie.removed("abc123def of session=abc123def, zzz999") == "[key] of [key], [key]"


def test_ordinary_words_are_no_keys() -> None:
    fields = [
        ("Accept", "application/json"),
        ("X-Tenant", "acme-corp"),
        ("X-Version", "2023-06-01"),
        ("X-Key", "EMPTY"),
    ]
    text = "acme-corp takes application/json since 2023-06-01; the key is EMPTY"
    assert Keys(fields).removed(text) == text
    assert Keys([*fields, ("X-Odd", "9f8e7d6c5b4a39281706")]).removed("9f8e7d6c5b4a39281706") == "[key]"


def test_the_query_of_the_address_may_hold_a_key() -> None:
    with answering(http(b'{"url": "/ask?api_key=s3same99&lang=english"}')) as (url, _):
        service = gentle(url.partition("?")[0] + "?api_key=s3same99&lang=english")
        assert service.request("POST", body={}) == {"url": "/ask?api_key=[key]&lang=english"}
        service.close()


def test_answers_without_the_key_are_as_they_were() -> None:
    keys = Keys([("Authorization", f"Bearer {KEY}")])
    text = "5 % off &amp; \\n a%2Fb \\u0041 sk-very very"
    assert keys.removed(text) == text
    assert not keys.in_content(json.dumps({"text": text, "vector": [0.25] * 10}).encode())
    assert not Keys([]).in_content(b"\0")


def test_an_address_to_go_to_shows_no_key() -> None:
    with answering(http(b"", "302 Found", f"Location: /login/{quote(KEY)}/\x1b]52;c;x\x07")) as (url, _):
        service = direct(url, {"Authorization": f"Bearer {KEY}"})
        with pytest.raises(ServiceError) as raised:
            service.request("POST", body={})
        service.close()
    assert "secret" not in str(raised.value)
    assert str(raised.value).isprintable()


def test_a_text_in_an_encoding_of_its_own_is_shown() -> None:
    described = {"content-type": "text/html; charset=gbk"}
    assert HTTPReply(500, described, "秤".encode("gbk")).text == "秤"
    assert HTTPReply(500, {"content-type": "text/html; charset=klingon"}, "秤".encode()).text == "秤"


def test_of_a_great_answer_that_is_no_json_a_message_looks_at_the_beginning() -> None:
    assert len(HTTPReply(200, {}, b"x" * 1_000_000).text) == 64_000
