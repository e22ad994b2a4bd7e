"""A client for measuring: each request is sent once and at once, so that its time is the server's."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from time import perf_counter
from typing import Any
from urllib.parse import urlencode

from steelyard.base.instances import Instances
from steelyard.services.addresses import shown
from steelyard.services.attempts import Listener, ignore
from steelyard.services.client import Patience, Service, ServiceError, cause_of
from steelyard.services.connection import Connection
from steelyard.services.throttle import Throttle

_EVENT_STREAM = "text/event-stream"


class DirectService(Service):
    """Asks what a Service asks, without what makes that one gentle: no repetition, no waiting for others, no limit.

    The thread that asks sends and reads, over a connection that stays open, straight to the address, through no proxy.

    service     whose address and keys these are
    timeout_s   of a whole request, however slowly its answer drips
    """

    def __init__(self, service: Service, timeout_s: float) -> None:
        super().__init__(
            service._what, service._url, Patience(timeout_s=timeout_s, attempts=1), headers=service._headers,
            secrets=service._secrets, key_hint=service._key_hint,
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
        response = self._answer(method, body, "" if query is None else urlencode(query))
        self._refuse(response)
        return self._decode(response)

    def _refuse(self, response: _Response) -> None:
        """Raise   ServiceError for a status that is no success."""
        if not 200 <= response.status_code < 300:
            refusal = self._refusal(response)
            fact = refusal.fact + self._excerpt(refusal.body)
            raise self._failure(fact, response.status_code, refusal.body, hint=refusal.hint)

    def stream(
        self, method: str, *, body: Mapping[str, Any] | None = None, query: Mapping[str, Any] | None = None
    ) -> list[tuple[float, str]]:
        """The data of server-sent events that the address answers, each with the time at which it came.

        Raises   ServiceError as `request` does, and where the answer is no such stream.
        """
        heard = list[tuple[float, bytes]]()
        response = self._answer(
            method, body, "" if query is None else urlencode(query),
            hear=lambda piece: heard.append((perf_counter(), piece)),
        )  # fmt: skip
        self._refuse(response)
        if (kind := response.headers.get("content-type", "").partition(";")[0]) != _EVENT_STREAM:
            raise self.error(f"answered {kind} where a stream of events was asked for", "check that it can stream")
        return list(_events(heard))

    async def _request(
        self,
        method: str,
        body: Mapping[str, Any] | None,
        query: Mapping[str, Any] | None,
        listener: Listener = ignore,
    ) -> Any:
        """A request of who awaits many at once: sent once too, but by the client that all such requests share."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await super()._request(method, body, query, listener)
        except TimeoutError:
            raise self._failure(f"gave no answer within {self._timeout_s:g} s", "timeout") from None

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
        self, method: str, body: Mapping[str, Any] | None, query: str, hear: Callable[[bytes], object] | None = None
    ) -> _Response:  # fmt: skip
        until = perf_counter() + self._timeout_s
        try:
            payload = None if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
            with self._idle.borrowed() as connection:
                status, headers, content = connection.exchange(method, query, self._headers, payload, until, hear)
            self._thread.answered_at = perf_counter()
        except TimeoutError:
            raise self._failure(f"gave no answer within {self._timeout_s:g} s", "timeout") from None
        except UnicodeEncodeError as error:
            half = error.object[error.start : error.start + 1]
            raise self._failure(f"cannot be sent {half!r} (half a character)", "no answer") from None
        except (OSError, HTTPException) as error:
            cause = self.redacted(cause_of(error)) or type(error).__name__
            raise self._failure(f"gave no answer ({cause})", "no answer") from None
        return _Response(status, headers, content)

    def _failure(self, fact: str, reason: Any, body: str = "", *, hint: str = "") -> ServiceError:
        hint = f"; {hint}" if hint else ""
        return ServiceError(f"{self._what}: {shown(self._url)} {fact}{hint}", reason, self.redacted(body))


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


@dataclass(frozen=True)
class _Response:
    """An answer, with what Service looks at in one."""

    status_code: int
    headers: HTTPMessage
    content: bytes

    @property
    def text(self) -> str:
        """The body as it is shown in messages."""
        return self.content.decode("utf-8", "replace")

    @property
    def has_redirect_location(self) -> bool:
        """Whether it points to another address."""
        return 300 <= self.status_code < 400 and "location" in self.headers
