"""Connections that fail: the true cause, and what to try, by both clients."""

from __future__ import annotations

import os
import re
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from steelyard.base.errors import InputError
from steelyard.services.http.client import Patience, Service, ServiceError, trusted_certificates
from steelyard.services.http.direct import DirectService
from steelyard.services.http.replies import proxy_of
from tests.services.raw_server import CERTIFICATES, answering, http

PATIENCE = Patience(timeout_s=5.0, attempts=3, wait_initial_s=0.001)


def gentle(url: str) -> Service:
    return Service("target", url, PATIENCE)


def direct(url: str) -> Service:
    return DirectService(gentle(url), 5.0)


both = pytest.mark.parametrize("make", [gentle, direct])
Make = Callable[[str], Service]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    trusted_certificates.cache_clear()
    yield monkeypatch
    trusted_certificates.cache_clear()


def failure(make: Make, url: str) -> str:
    service = make(url)
    with pytest.raises(ServiceError, match=r"^target: .* gave no answer \(") as raised:
        service.request("POST", body={})
    service.close()
    return str(raised.value)


def trust(environment: pytest.MonkeyPatch, name: str) -> None:
    environment.setenv("SSL_CERT_FILE", str(CERTIFICATES / f"{name}.pem"))


@both
@pytest.mark.parametrize(
    ("certificate", "trusted", "fact", "hint"),
    [
        ("trusted", None, r"is not trusted: self[- ]signed certificate\)", "set SSL_CERT_FILE"),
        ("expired", "expired", r"has expired\)", "renew it, or check the clock"),
        ("elsewhere", "elsewhere", r"is for another (address|host name)\)", "use the name that the certificate is for"),
    ],
)
def test_certificates(
    environment: pytest.MonkeyPatch, make: Make, certificate: str, trusted: str | None, fact: str, hint: str
) -> None:
    if trusted is not None:
        trust(environment, trusted)
    for host in ("127.0.0.1", "localhost"):
        with answering(b"", certificate=certificate) as (url, came):  # Asked once: it will be no other.
            message = failure(make, url.replace("127.0.0.1", host))
        assert not came
        assert re.search(f"its certificate {fact}.*; {hint}", message)


@both
def test_a_certificate_that_is_named_is_trusted(environment: pytest.MonkeyPatch, make: Make) -> None:
    trust(environment, "trusted")
    with answering(http(b"[1]", "200 OK", "Connection: close"), certificate="trusted") as (url, _):
        service = make(url)
        assert service.request("POST", body={}) == [1]
        service.close()


@both
@pytest.mark.parametrize("name", ["none", "key"])
def test_a_file_without_certificates_is_named(environment: pytest.MonkeyPatch, make: Make, name: str) -> None:
    trust(environment, name)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        service = make(f"https://127.0.0.1:{listener.getsockname()[1]}/")
        with pytest.raises(
            InputError, match=rf"{name}\.pem: cannot be read as certificates \(.*; correct SSL_CERT_FILE"
        ):
            service.request("POST", body={})
        service.close()


@both
def test_https_where_http_is_spoken_and_http_where_https_is(make: Make) -> None:
    with answering(http(b"", "400 Bad Request")) as (url, _):
        assert "(it does not speak https there)" in failure(make, url.replace("http:", "https:"))
    with answering(b"\x15\x03\x03\x00\x02\x02\x46") as (url, _):  # As OpenSSL refuses what is not TLS.
        assert "(it does not speak http there)" in failure(make, url)


@both
def test_nobody_listens_and_nobody_knows_the_name(make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert "(Connection refused)" in failure(make, f"http://127.0.0.1:{port}/")
    assert "check the host's name, and the network" in failure(make, "http://no-such-host.invalid/")


@both
def test_a_connection_that_is_reset(make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        service = make(f"http://127.0.0.1:{listener.getsockname()[1]}/")

        def serve() -> None:
            for _ in range(PATIENCE.attempts if make is gentle else 1):
                connection, _ = listener.accept()
                connection.recv(1)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(ServiceError, match=r"\(Connection reset by peer\)"):
            service.request("POST", body={})
        thread.join()
        service.close()


def test_a_proxy_is_named_without_its_user(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("HTTP_PROXY", "http://me:sesame@127.0.0.1:9")
    environment.setenv("http_proxy", "http://me:sesame@127.0.0.1:9")
    message = failure(gentle, "http://no-such-host.invalid/")
    assert "(Connection refused, through the proxy http://127.0.0.1:9) after 3 attempts; check HTTP_PROXY" in message
    assert "what is measured goes past the proxy http://127.0.0.1:9; check the host" in failure(
        direct, "http://no-such-host.invalid/"
    )


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "gopher://127.0.0.1:9"])
def test_a_proxy_that_cannot_be_used(environment: pytest.MonkeyPatch, proxy: str) -> None:
    for name in ("ALL_PROXY", "all_proxy"):
        environment.setenv(name, proxy)
    if proxy.startswith("socks"):
        environment.setitem(sys.modules, "socksio", None)
    service = gentle("http://no-such-host.invalid/")
    with pytest.raises(InputError, match=rf"the proxy {proxy} cannot be used \(.*; correct or unset HTTP_PROXY"):
        service.request("POST", body={})
    service.close()


def test_the_proxy_of_an_address(environment: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy"):
        environment.setenv(name, "http://proxy:3128")
    for name in ("NO_PROXY", "no_proxy"):
        environment.setenv(name, "inside.example")
    urls = ["https://a.example/", "http://a.example/", "https://inside.example/", "https://localhost/"]
    assert [proxy_of(url) for url in urls] == ["http://proxy:3128", None, None, None]
