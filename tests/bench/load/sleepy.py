"""A server for tests and demonstrations that computes nothing: it sleeps, stalls, queues and fails as it is told to.

Its figures are known beforehand, so that what is measured of it shows whether the measuring is right.
"""

from __future__ import annotations

import heapq
import json
import math
import socket
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import BinaryIO

import numpy as np

from steelyard.base.errors import InputError


@dataclass(frozen=True)
class SleepySettings:
    """How a sleepy server behaves; times in seconds, counted from its first request.

    service_s    that a request takes;   exponential   whether that is a mean of an exponential distribution, by `seed`
    capacity     requests that are served at once, the others wait in one queue; None for all
    stalls       (begin, length) of spans in which nothing goes on
    fail_every   each request of that number, its double, ... is answered 500;   wrong_every   or 200 without results
    silent_after requests that are answered, and none after them; None for all
    tokens       of an answer that is streamed as a chat is, the first once it is served; None for one that comes whole
    token_s      between one token and the next
    drip_s       between one byte of an answer and the next
    rate_limit   requests a second; what comes above, within a second, is answered 429
    """

    service_s: float = 0.0
    exponential: bool = False
    capacity: int | None = None
    stalls: Sequence[tuple[float, float]] = ()
    fail_every: int | None = None
    wrong_every: int | None = None
    silent_after: int | None = None
    tokens: int | None = None
    token_s: float = 0.0
    drip_s: float = 0.0
    rate_limit: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        lengths = [self.service_s, self.token_s, self.drip_s, *(number for stall in self.stalls for number in stall)]
        if not all(0 <= length < math.inf for length in lengths):
            raise InputError(f"a sleepy server has a time below 0 or without end ({lengths}); expected seconds from 0")
        counts = [
            count for count in (self.capacity, self.fail_every, self.wrong_every, self.tokens) if count is not None
        ]
        if min(counts, default=1) < 1 or (self.rate_limit is not None and not self.rate_limit > 0):
            raise InputError(
                "capacity, fail_every, wrong_every and tokens of a sleepy server are numbers from 1, and "
                "rate_limit is above 0"
            )


class SleepySchedule:
    """When a sleepy server has served what comes to it: a queue in whatever time its caller has.

    >>> schedule = SleepySchedule(SleepySettings(service_s=1.0, capacity=1, stalls=[(3.0, 10.0)]))
    >>> [schedule.served_at(came) for came in (0.0, 0.5, 2.5)]
    [1.0, 2.0, 13.5]
    """

    def __init__(self, settings: SleepySettings) -> None:
        self._settings = settings
        self._rng = np.random.default_rng(settings.seed)
        self._free = [0.0] * (settings.capacity or 0)
        self._stalls = sorted(settings.stalls)

    def served_at(self, came: float) -> float:
        """When a request is served that came at `came`, no earlier than the one before it."""
        settings = self._settings
        service_s = self._rng.exponential(settings.service_s) if settings.exponential else settings.service_s
        begin = came if settings.capacity is None else max(came, heapq.heappop(self._free))
        end = self._awake(begin, service_s)
        if settings.capacity is not None:
            heapq.heappush(self._free, end)
        return end

    def _awake(self, begin: float, service_s: float) -> float:
        """When service_s are over from `begin` on, stalls not counted."""
        for at, length in self._stalls:
            if begin + service_s <= at:
                break
            if begin < at + length:
                service_s -= max(0.0, at - begin)
                begin = at + length
        return begin + service_s


class SleepyServer:
    """It listens on 127.0.0.1; `with sleepy_server(settings) as server:` starts one.

    url   takes POST and GET as a target of a run does, and answers {"results": [{"id": "d1"}], "answer": "asleep"}
    """

    def __init__(self, settings: SleepySettings) -> None:
        self._settings, self._schedule = settings, SleepySchedule(settings)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._began: float | None = None
        self._n_requests = self._n_connections = 0
        self._recent = deque[float]()
        self._connections = set[socket.socket]()

    @property
    def n_requests(self) -> int:
        """Requests that came by now."""
        return self._n_requests

    @property
    def n_connections(self) -> int:
        """Connections that were opened by now."""
        return self._n_connections

    def listen(self) -> None:
        """Take connections until it is closed."""
        while not self.closing.is_set():
            with suppress(OSError):
                connection, _ = self._listener.accept()
                self._n_connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def close(self) -> None:
        """Close the server and all of its connections."""
        self.closing.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _serve(self, connection: socket.socket) -> None:
        self._connections.add(connection)
        with suppress(OSError), connection, connection.makefile("rb") as requests:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while _read_request(requests) and not self.closing.is_set():
                status, body = self._answer()
                if self._settings.tokens is not None and status == _OK:
                    self._stream(connection, self._settings.tokens)
                else:
                    self._send(connection, _response(status, body))
        self._connections.discard(connection)

    def _answer(self) -> tuple[str, bytes]:
        settings, now = self._settings, perf_counter()
        with self._lock:
            began = self._began = now if self._began is None else self._began
            self._n_requests += 1
            number = self._n_requests
            if self._is_too_much(now):
                return "429 Too Many Requests", b'{"error": "too many requests"}'
            served_at = began + self._schedule.served_at(now - began)
        if settings.silent_after is not None and number > settings.silent_after:
            self.closing.wait()
        elif (wait_s := served_at - perf_counter()) > 0:
            self.closing.wait(wait_s)
        if settings.fail_every and number % settings.fail_every == 0:
            return "500 Internal Server Error", b'{"error": "planted"}'
        if settings.wrong_every and number % settings.wrong_every == 0:
            return _OK, b'{"hits": 0}'
        return _OK, _GOOD

    def _is_too_much(self, now: float) -> bool:
        if self._settings.rate_limit is None:
            return False
        while self._recent and self._recent[0] <= now - 1:
            self._recent.popleft()
        if len(self._recent) >= self._settings.rate_limit:
            return True
        self._recent.append(now)
        return False

    def _stream(self, connection: socket.socket, n_tokens: int) -> None:
        """Send an answer as OpenAI-compatible servers do: events in chunks, after one without text."""
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode() + _event({"delta": {"role": "assistant", "content": ""}}))
        for _ in range(n_tokens):
            connection.sendall(_event({"delta": {"content": "zzz "}}))
            if self._settings.token_s and self.closing.wait(self._settings.token_s):
                return
        connection.sendall(_event({"delta": {}, "finish_reason": "stop"}) + _chunk(b"data: [DONE]\n\n") + _chunk(b""))

    def _send(self, connection: socket.socket, response: bytes) -> None:
        if not self._settings.drip_s:
            connection.sendall(response)
            return
        for i in range(len(response)):
            connection.sendall(response[i : i + 1])
            if self.closing.wait(self._settings.drip_s):
                return


_OK = "200 OK"
_GOOD = json.dumps({"results": [{"id": "d1"}], "answer": "asleep"}).encode()


@contextmanager
def sleepy_server(settings: SleepySettings | None = None) -> Iterator[SleepyServer]:
    """A sleepy server, for as long as the block lasts."""
    server = SleepyServer(settings or SleepySettings())
    thread = threading.Thread(target=server.listen, name="steelyard-sleepy", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def _read_request(stream: BinaryIO) -> bool:
    """Read one HTTP request to its end; whether there was one."""
    if not stream.readline():
        return False
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    stream.read(length)
    return True


def _event(choice: dict[str, object]) -> bytes:
    """A chunk with one event of a streamed chat."""
    return _chunk(b"data: " + json.dumps({"choices": [{"index": 0, **choice}]}).encode() + b"\n\n")


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _response(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
