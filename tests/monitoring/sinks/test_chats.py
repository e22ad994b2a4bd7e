"""Sinks of HTTP against servers on loopback: what is sent, what counts as taken, and what is shown of a refusal."""

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from steelyard.base.errors import InputError
from steelyard.monitoring.sinks.chats import _Posting
from steelyard.monitoring.sinks.declared import parse_sink
from steelyard.monitoring.sinks.message import DeliveryError
from steelyard.monitoring.sinks.payloads import dingtalk_signature, feishu_signature
from tests.monitoring.messages import message
from tests.services.raw_server import answering, http

pytest.importorskip("httpx2")
KEY = "/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx"
OK = {
    "slack": b"ok",
    "feishu": b'{"code":0,"msg":"success"}',
    "dingtalk": b'{"errcode":0,"errmsg":"ok"}',
    "webhook": b"",
}


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", "s3cret-of-the-hook")


def sink_at(kind: str, url: str, monkeypatch: pytest.MonkeyPatch, *, signed: bool = True) -> _Posting:
    """A sink whose address is secret, at the place of a server."""
    monkeypatch.setenv("HOOK_URL", url.partition("/ask")[0] + KEY + "?access_token=0123456789abcdef0123")
    secret = {"secret_env": "HOOK_SECRET"} if signed and kind != "slack" else {}
    sink = parse_sink({"type": kind, "url_env": "HOOK_URL", **secret})
    assert isinstance(sink, _Posting)
    return sink


def parts(request: bytes) -> tuple[str, dict[str, str], bytes]:
    """Address, headers and body of what came."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    return first.split()[1], {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}, body


@pytest.mark.parametrize("kind", OK)
def test_a_message_is_sent_once_and_signed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(http(OK[kind])) as (url, came):
        sink_at(kind, url, monkeypatch).send(message(), 5)
    address, headers, body = parts(came[0])
    assert urlsplit(address).path == KEY
    assert headers["content-type"] == "application/json"
    payload, query = json.loads(body), parse_qs(urlsplit(address).query)
    assert query["access_token"] == ["0123456789abcdef0123"]
    if kind == "webhook":
        own = message()
        assert payload == own.record
        assert headers["idempotency-key"] == own.key
        stamp = headers["steelyard-timestamp"]
        digest = hmac.new(b"s3cret-of-the-hook", f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
        assert headers["steelyard-signature"] == f"v1={digest}"
        assert abs(time.time() - int(stamp)) < 60
    elif kind == "feishu":
        assert payload["sign"] == feishu_signature("s3cret-of-the-hook", int(payload["timestamp"]))
        assert abs(time.time() - int(payload["timestamp"])) < 60
    elif kind == "dingtalk":
        (stamp,) = query["timestamp"]
        assert query["sign"] == [dingtalk_signature("s3cret-of-the-hook", int(stamp))]
        assert abs(time.time() * 1000 - int(stamp)) < 60_000


def test_without_a_secret_nothing_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(http(b"")) as (url, came):
        sink_at("webhook", url, monkeypatch, signed=False).send(message(), 5)
    assert b"signature" not in came[0].lower()


REFUSALS = [
    ("slack", http(b"no_service", "404 Not Found"), r"answered 404 \(Not Found\): no_service; check HOOK_URL$"),
    ("slack", http(b"invalid_payload", "400 Bad Request"), r"answered 400 .*: invalid_payload; check HOOK_URL$"),
    ("webhook", http(b"", "401 Unauthorized"), r"answered 401 .*; check HOOK_URL, HOOK_SECRET$"),
    ("webhook", http(b"", "500 Internal Server Error"), r"answered 500 \(Internal Server Error\)$"),
    ("webhook", http(b"busy", "429 Too Many Requests", "Retry-After: 90"), r"answered 429 .*: busy$"),
    ("webhook", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", r"gave no answer \(.*\)$"),
    ("webhook", b"", r"gave no answer \(.*\)$"),
    ("feishu", http(b'{"code":19021,"msg":"sign match fail"}'), r"answered the code 19021 \(sign match fail\)$"),
    ("feishu", http(b"[1]"), r"answered what is no answer of feishu \(\[1\]\); check HOOK_URL, HOOK_SECRET$"),
    ("dingtalk", http(b'{"errcode":310000,"errmsg":"sign not match"}'), r"the code 310000 \(sign not match\)$"),
    ("dingtalk", http(b"<html>"), r"answered what is no answer of dingtalk \(<html>\); check"),
]


@pytest.mark.parametrize(("kind", "answer", "words"), REFUSALS, ids=[words[:40] for *_, words in REFUSALS])
def test_what_is_not_taken_is_an_error(kind: str, answer: bytes, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(answer) as (url, _):
        sink, host = sink_at(kind, url, monkeypatch), url.partition("/ask")[0]
        with pytest.raises(DeliveryError, match=words) as raised:
            sink.send(message(), 5)
    assert str(raised.value).startswith(f"{kind}: {host} ")
    assert raised.value.wait_s == (90 if b"Retry-After" in answer else None)


@pytest.mark.parametrize("kind", OK)
def test_no_secret_is_shown_even_where_the_server_sends_it_back(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def echo(status: str) -> Iterator[bytes]:
        yield http(came[-1].replace(b"\r\n", b" ")[:190] + came[-1][-190:], status)

    with answering(echo("500 Oops")) as (url, came), pytest.raises(DeliveryError) as raised:
        sink_at(kind, url, monkeypatch).send(message(), 5)
    shown = repr(raised.value) + str(raised.value) + str(raised.value.__cause__)
    assert raised.value.__suppress_context__
    for secret in (
        "s3cret",
        "abcdefghijkl",
        "0123456789abcdef",
        "B00000000",
        *parts(came[0])[1].get("steelyard-signature", "none").split("=")[1:],
    ):
        assert secret not in shown


def test_a_redirect_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        answering(http(b"")) as (other, stolen),
        answering(http(b"", "307 Moved", f"Location: {other}")) as (url, came),
    ):
        with pytest.raises(DeliveryError, match=r"answered 307 .*; check HOOK_URL, HOOK_SECRET$"):
            sink_at("webhook", url, monkeypatch).send(message(), 5)
        assert (len(came), stolen) == (1, [])
        sink_at("webhook", other, monkeypatch).send(message(), 5)  # Else its server would wait for long.


def test_an_answer_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def drip() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
        for _ in range(500):
            time.sleep(0.01)
            yield b"x"

    with answering(drip()) as (url, _):
        began = time.monotonic()
        with pytest.raises(DeliveryError, match=r"gave no whole answer within 0\.4 s$"):
            sink_at("webhook", url, monkeypatch).send(message(), 0.4)
        assert time.monotonic() - began < 3


SETTINGS = [
    ({"url_env": "HOOK_NONE"}, "url_env names the environment variable HOOK_NONE, which is not set"),
    ({"url_env": "HOOK_BAD"}, "the environment variable HOOK_BAD holds no address; expected https://host/path"),
    ({"url_env": "HOOK_USER"}, "the environment variable HOOK_USER holds no address; expected https://host/path"),
    ({"url": "http://127.0.0.1:9/x", "secret_env": "HOOK_NONE"}, "secret_env names the environment variable HOOK_NONE"),
]


@pytest.mark.parametrize(("settings", "words"), SETTINGS, ids=[words[-50:] for _, words in SETTINGS])
def test_what_the_environment_lacks_is_said_without_its_values(
    settings: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_BAD", "hooks.example.org/secretpath")
    monkeypatch.setenv("HOOK_USER", "https://me:secretpath@example.org/")
    sink = parse_sink({"type": "webhook", **settings})
    for act in (sink.check, lambda: sink.send(message(), 1)):
        with pytest.raises(InputError, match=words) as raised:
            act()
        assert "secretpath" not in str(raised.value)
