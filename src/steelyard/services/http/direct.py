"""A client for measuring: each request is sent once and at once, over an open connection: its time is the server's."""

from __future__ import annotations

import io
import json
import math
import select
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from http.client import HTTPException, HTTPResponse, IncompleteRead
from time import perf_counter
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from steelyard.base.instances import Instances
from steelyard.services.addresses import shown
from steelyard.services.http.client import Patience, Service, trusted_certificates
from steelyard.services.http.replies import HTTPReply, ReplyReader, Throttle, Unanswered, proxy_of, unanswered

_PIECE = 1 << 16
_PATH, _QUERY = "/%:@!$&'()*+,;=~", "/%:@!$&'()*+,;=~?"
"""Characters that stay as they are there."""


class Connection:
    """A connection to the host of an address, opened when it is needed; one thread at a time may use it."""

    def __init__(self, url: str, headers: Mapping[str, str], max_mb: float) -> None:
        parts, self._headers, self._max_mb = urlsplit(url), headers, max_mb
        self._is_tls, self._host = parts.scheme == "https", parts.hostname or ""
        self._port = parts.port or (443 if self._is_tls else 80)
        self._path, self._query = quote(parts.path or "/", _PATH), quote(parts.query, _QUERY)
        host = self._host.encode("idna").decode() if not self._host.isascii() else self._host
        host = f"[{host}]" if ":" in host else host
        self._host_field = host if parts.port is None else f"{host}:{parts.port}"
        self._socket: socket.socket | None = None

    def exchange(
        self, method: str, query: str, payload: bytes | None, *, until: float,
        hear: Callable[[bytes], object] | None = None,
    ) -> HTTPReply:  # fmt: skip
        """Send one request and read the whole answer.

        query     added to that of the address, encoded
        payload   JSON, or None for none;   until   by `time.perf_counter`
        hear      called with each piece of the body as it comes
        Raises    TimeoutError where it takes longer; Unanswered where it is too great or cannot be unpacked; OSError
                  and http.client.HTTPException for what fails.
        """
        request = self._request(method, query, payload)
        try:
            timed = _TimedSocket(self._ready(until), until)
            timed.sendall(request)
            response = HTTPResponse(timed, method=method)  # type: ignore[arg-type]  # It needs makefile() alone.
            response.begin()
            reader = ReplyReader(response.status, response.getheaders(), self._max_mb)
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

    def _request(self, method: str, query: str, payload: bytes | None) -> bytes:
        queries = "&".join(filter(None, [self._query, query]))
        fields = {"Host": self._host_field, "Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "steelyard"}
        if payload is not None:
            fields |= {"Content-Type": "application/json", "Content-Length": str(len(payload))}
        lines = [f"{method} {self._path}{'?' * bool(queries)}{queries} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in {**fields, **self._headers}.items()]
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
        """The file that it reads from."""
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
    """True if a connection on which nothing is expected has something to say: that the server closed it."""
    if not hasattr(select, "poll"):
        return bool(select.select([connected], [], [], 0)[0])
    poll = select.poll()  # Unlike select, it takes more than 1,024 connections.
    poll.register(connected, select.POLLIN)
    return bool(poll.poll(0))


_EVENT_STREAM = "text/event-stream"


class DirectService(Service):
    """Asks what a Service asks, without what makes that one gentle: no repetition, no waiting for others, no limit.

    The thread that asks sends and reads, over a connection that stays open, straight to the address, through no proxy.

    service     whose address and keys these are
    timeout_s   of a whole request, however slowly its answer drips
    """

    def __init__(self, service: Service, timeout_s: float) -> None:
        patience = Patience(
            timeout_s=timeout_s, request_max_s=timeout_s, reply_max_mb=service._patience.reply_max_mb, attempts=1
        )
        super().__init__(service._what, service._url, patience, headers=service._headers, key_hint=service._key_hint)
        self._timeout_s, self._throttle = timeout_s, _NoThrottle()
        self._all: list[Connection] = []
        self._idle = Instances(self._connection)
        self._thread = threading.local()

    @property
    def answered_at(self) -> float | None:
        """By `time.perf_counter`, when this thread's last answer was there; reading it came after."""
        return getattr(self._thread, "answered_at", None)

    def request(
        self, method: str, *, body: Mapping[str, Any] | None = None, query: Mapping[str, Any] | None = None
    ) -> Any:
        """The decoded JSON that the address answers.

        Raises   ServiceError where there is no answer in time, the status is not 2xx, or the answer is not JSON.
        """
        return self._decode(self._whole(method, body, query))

    def stream(
        self, method: str, *, body: Mapping[str, Any] | None = None, query: Mapping[str, Any] | None = None
    ) -> list[tuple[float, str]]:
        """The data of server-sent events that the address answers, each with the time at which it came.

        Raises   ServiceError as `request` does, and where the answer is no such stream.
        """
        heard = list[tuple[float, bytes]]()
        reply = self._whole(method, body, query, hear=lambda piece: heard.append((perf_counter(), piece)))
        if (kind := reply.headers.get("content-type", "").partition(";")[0]) != _EVENT_STREAM:
            raise self.error(f"answered {kind} where a stream of events was asked for", "check that it can stream")
        return [(at, self._keys.removed(data)) for at, data in _events(heard)]

    def _whole(
        self,
        method: str,
        body: Mapping[str, Any] | None,
        query: Mapping[str, Any] | None,
        hear: Callable[[bytes], object] | None = None,
    ) -> HTTPReply:
        try:
            reply = self._answer(method, body, "" if query is None else urlencode(query), hear)
            if not reply.is_success:
                raise self._refusal(reply)
        except Unanswered as error:
            if error.again and isinstance(error.reason, int):
                error.hint = ""  # It is of attempts, and there is one.
            raise self._failure(error) from None
        return reply

    def close(self) -> None:
        """Close the connections; a later request opens others."""
        for connection in self._all:
            connection.close()
        super().close()

    def _connection(self) -> Connection:
        connection = Connection(self._url, self._headers, self._patience.reply_max_mb)
        self._all.append(connection)
        return connection

    def _answer(
        self, method: str, body: Mapping[str, Any] | None, query: str, hear: Callable[[bytes], object] | None
    ) -> HTTPReply:
        until = perf_counter() + self._timeout_s
        try:
            payload = None if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
            with self._idle.borrowed() as connection:
                reply = connection.exchange(method, query, payload, until=until, hear=hear)
            self._thread.answered_at = perf_counter()
        except TimeoutError:
            raise Unanswered(f"gave no answer within {self._timeout_s:g} s", "", reason="timeout") from None
        except UnicodeEncodeError as error:
            half = error.object[error.start : error.start + 1]
            raise Unanswered(f"cannot be sent {half!r} (half a character)", "repair the text") from None
        except (OSError, HTTPException) as error:
            failure = unanswered(error)
            if (proxy := proxy_of(self._url)) is not None:
                failure.hint = f"what is measured goes past the proxy {shown(proxy)}; {failure.hint}"
            raise failure from None
        return reply


def _events(pieces: Iterable[tuple[float, bytes]]) -> Iterator[tuple[float, str]]:
    """The data of events, each with the time of the piece that its line ends in.

    >>> list(_events([(0.1, b"data: a\\n\\nda"), (0.2, b"ta: b\\n: comment\\n")]))
    [(0.1, 'a'), (0.2, 'b')]
    """
    begun = b""
    for at, piece in pieces:
        *lines, begun = (begun + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                yield at, line.removeprefix(b"data:").decode("utf-8", "replace").strip()


class _NoThrottle(Throttle):
    """Lets all requests go at once, whatever the server says: what it does under load is what is measured."""

    def __init__(self) -> None:
        super().__init__(math.inf)

    def refuse(self, turn: int, wait_s: float | None) -> None:
        """Nothing changes."""
