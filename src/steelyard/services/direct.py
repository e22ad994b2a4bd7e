"""A client for measuring: each request is sent once and at once, so that its time is the server's."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.client import HTTPException
from time import perf_counter
from typing import Any
from urllib.parse import urlencode

from steelyard.base.instances import Instances
from steelyard.services.addresses import shown
from steelyard.services.client import Patience, Service
from steelyard.services.connection import Connection
from steelyard.services.failures import Unanswered, proxy_of, unanswered
from steelyard.services.replies import HTTPReply
from steelyard.services.throttle import Throttle

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
        super().__init__(
            service._what, service._url, patience, headers=service._headers, key_hint=service._key_hint
        )  # fmt: skip
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
        self, method: str, body: Mapping[str, Any] | None, query: Mapping[str, Any] | None,
        hear: Callable[[bytes], object] | None = None,
    ) -> HTTPReply:  # fmt: skip
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
        connection = Connection(self._url)
        self._all.append(connection)
        return connection

    def _answer(
        self, method: str, body: Mapping[str, Any] | None, query: str, hear: Callable[[bytes], object] | None
    ) -> HTTPReply:
        until = perf_counter() + self._timeout_s
        try:
            payload = None if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
            with self._idle.borrowed() as connection:
                reply = connection.exchange(
                    method, query, self._headers, payload, until=until, max_mb=self._patience.reply_max_mb, hear=hear
                )
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
