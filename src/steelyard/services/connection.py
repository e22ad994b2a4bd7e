"""One HTTP connection that stays open, whose every exchange ends by a time."""

from __future__ import annotations

import io
import os
import select
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from http.client import HTTPResponse, IncompleteRead
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from steelyard.base.errors import InputError
from steelyard.base.extras import require
from steelyard.services.replies import HTTPReply, ReplyReader

if TYPE_CHECKING:
    import ssl

_PIECE = 1 << 16
_PATH, _QUERY = "/%:@!$&'()*+,;=~", "/%:@!$&'()*+,;=~?"
"""Characters that stay as they are there."""


class Connection:
    """A connection to the host of an address, opened when it is needed; one thread at a time may use it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._is_tls, self._host = parts.scheme == "https", parts.hostname or ""
        self._port = parts.port or (443 if self._is_tls else 80)
        self._path, self._query = quote(parts.path or "/", _PATH), quote(parts.query, _QUERY)
        host = self._host.encode("idna").decode() if not self._host.isascii() else self._host
        host = f"[{host}]" if ":" in host else host
        self._host_field = host if parts.port is None else f"{host}:{parts.port}"
        self._socket: socket.socket | None = None

    def exchange(
        self, method: str, query: str, headers: Mapping[str, str], payload: bytes | None, *, until: float,
        max_mb: float, hear: Callable[[bytes], object] | None = None,
    ) -> HTTPReply:  # fmt: skip
        """Send one request and read the whole answer.

        query     added to that of the address, encoded
        payload   JSON, or None for none;   until   by `time.perf_counter`;   max_mb   of the answer
        hear      called with each piece of the body as it comes
        Raises    TimeoutError where it takes longer; Unanswered where it is too great or cannot be unpacked; OSError
                  and http.client.HTTPException for what fails.
        """
        request = self._request(method, query, headers, payload)
        try:
            timed = _TimedSocket(self._ready(until), until)
            timed.sendall(request)
            response = HTTPResponse(timed, method=method)  # type: ignore[arg-type]  # It needs makefile() alone.
            response.begin()
            reader = ReplyReader(response.status, response.getheaders(), max_mb)
            for piece in _pieces(response):
                if hear is not None:
                    hear(piece)
                if not reader.take(piece):
                    self.close()  # As it has more to say.
                    break
        except BaseException:
            self.close()  # An answer may be on its way, which would be taken for that of the next request.
            raise
        if response.will_close:
            self.close()
        return reader.reply()

    def close(self) -> None:
        """Close it; a later request opens it again."""
        connected, self._socket = self._socket, None
        if connected is not None:
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)
            connected.close()

    def _ready(self, until: float) -> socket.socket:
        """The open connection; one that the server has closed meanwhile is opened anew."""
        if self._socket is not None and _has_news(self._socket):
            self.close()
        if self._socket is None:
            self._socket = self._connect(until)
        return self._socket

    def _connect(self, until: float) -> socket.socket:
        connected = socket.create_connection((self._host, self._port), timeout=left_s(until))
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._is_tls:
                connected.settimeout(left_s(until))
                return trusted_certificates().wrap_socket(connected, server_hostname=self._host)
        except BaseException:
            connected.close()
            raise
        return connected

    def _request(self, method: str, query: str, headers: Mapping[str, str], payload: bytes | None) -> bytes:
        queries = "&".join(filter(None, [self._query, query]))
        fields = {"Host": self._host_field, "Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "steelyard"}
        if payload is not None:
            fields |= {"Content-Type": "application/json", "Content-Length": str(len(payload))}
        lines = [f"{method} {self._path}{'?' * bool(queries)}{queries} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in {**fields, **headers}.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + (payload or b"")


class _TimedSocket:
    """A socket as http.client uses it, each step of which has what is left of one time limit."""

    def __init__(self, connected: socket.socket, until: float) -> None:
        self._socket, self._until = connected, until

    def sendall(self, data: bytes) -> None:
        """Send all of it."""
        self._socket.settimeout(left_s(self._until))
        self._socket.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        """What it reads from."""
        return io.BufferedReader(_Stream(self._socket, self._until))


class _Stream(io.RawIOBase):
    """What comes over a socket."""

    def __init__(self, connected: socket.socket, until: float) -> None:
        self._socket, self._until = connected, until

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill some of a buffer; 0 at the end."""
        self._socket.settimeout(left_s(self._until))
        return self._socket.recv_into(buffer)


def left_s(until: float) -> float:
    """Seconds that are left.

    Raises   TimeoutError where there are none.
    """
    seconds = until - perf_counter()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _pieces(response: HTTPResponse) -> Iterator[bytes]:
    """The pieces of a body, each once it is there.

    Raises   http.client.IncompleteRead for a body that ends too early.
    """
    left = response.length  # None for a body in chunks, whose end is in it.
    while left is None or left > 0:
        piece = response.read1(_PIECE if left is None else min(_PIECE, left))
        if not piece:
            break
        yield piece
        left = None if left is None else left - len(piece)
    if left:
        raise IncompleteRead(b"", left)


def _has_news(connected: socket.socket) -> bool:
    """Whether a connection on which nothing is expected has something to say: that the server closed it."""
    if not hasattr(select, "poll"):
        return bool(select.select([connected], [], [], 0)[0])
    poll = select.poll()  # Unlike select, it takes more than 1,024 connections.
    poll.register(connected, select.POLLIN)
    return bool(poll.poll(0))


@cache
def trusted_certificates() -> ssl.SSLContext:
    """Whom to trust, read once: it takes longer than many an answer.

    Raises   InputError where SSL_CERT_FILE or SSL_CERT_DIR names no certificates.
    """
    try:
        context: ssl.SSLContext = require("httpx2", extra="endpoints", what="https").create_ssl_context()
    except OSError as error:
        path = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")
        raise InputError(
            f"{path}: cannot be read as certificates ({error.strerror or error}); "
            "correct SSL_CERT_FILE (a PEM file) or SSL_CERT_DIR, or unset it"
        ) from None
    return context
