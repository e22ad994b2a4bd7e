"""The one client for all that calls out: repeated where that may help, and errors that can be acted on where not.

Requests are asynchronous underneath and run on one loop in the background, so that many can be under way at once;
`request` waits for one, `request_async` is awaited in whatever loop the caller has.
"""

from __future__ import annotations

import email.utils
import json
import math
import os
import random
import time
import weakref
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing
from dataclasses import dataclass, field
from functools import cache, cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from steelyard.base.errors import InputError, StageError, exception_line
from steelyard.base.extras import require
from steelyard.base.instances import Instances
from steelyard.base.limits import above, at_least
from steelyard.base.settings import check_fields
from steelyard.services.addresses import Keys, host_of, is_loopback, one_line, shown
from steelyard.services.announcements import WAITS, Attempt, Listener, Reason, Wait, ignore
from steelyard.services.http.replies import ACCEPTED, HTTPReply, ReplyReader, Throttle, Unanswered, proxy_of, unanswered
from steelyard.services.loops import BackgroundLoop, shared_loop

if TYPE_CHECKING:
    import ssl  # Slow to import, and many runs need none.

_AGAIN = {408, 409, 429}
_TOO_MUCH = {429, 503}
_HINTS = {
    400: "check the model's name and the other settings against what the server accepts",
    404: "check the address and the model's name",
    405: "check the address",
    408: "raise timeout_s, or send less at once",
    413: "send less at once (batch_size)",
    422: "check the model's name and the other settings against what the server accepts",
    429: "raise attempts or wait_max_s, or ask for a higher quota",
}
_EXCERPT, _BODY = 200, 4_000
_DOUBLINGS = 64


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to wait for an answer, how much of it to take, and how often to ask again.

    A request is sent again after a failed connection, a timeout, an answer cut short, and the statuses 408, 409, 429
    and 5xx; never after another 4xx nor after an answer that came whole but makes no sense.  The wait before the n-th
    repetition is wait_initial_s * 2 ** (n - 1) plus up to wait_initial_s of jitter, or what the server's Retry-After
    says, for which all requests to that address wait; neither exceeds wait_max_s.  These settings cannot change a
    result, so their fields are marked `fingerprint: False`.

    timeout_s        seconds without a sign of life from the server
    request_max_s    seconds that one request takes at most, from connecting to the last character of the answer; it is
                     not sent again.  None: 10 times timeout_s
    reply_max_mb     greatest answer, in millions of bytes once unpacked
    attempts         how often a request is sent at most, from 1
    wait_initial_s   seconds before the first repetition
    wait_max_s       seconds before any repetition at most
    Raises           InputError for numbers out of range.
    """

    timeout_s: Annotated[float, at_least(0.001)] = field(default=60.0, metadata={"fingerprint": False})
    request_max_s: Annotated[float, at_least(0.001)] | None = field(default=None, metadata={"fingerprint": False})
    reply_max_mb: Annotated[float, above(0)] = field(default=64.0, metadata={"fingerprint": False})
    attempts: Annotated[int, at_least(1)] = field(default=4, metadata={"fingerprint": False})
    wait_initial_s: Annotated[float, at_least(0)] = field(default=0.5, metadata={"fingerprint": False})
    wait_max_s: Annotated[float, at_least(0)] = field(default=60.0, metadata={"fingerprint": False})

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def whole_s(self) -> float:
        """Seconds that one request takes at most."""
        return 10 * self.timeout_s if self.request_max_s is None else self.request_max_s


class ServiceError(StageError):
    """A service that failed.

    reason   the HTTP status, "timeout" or "no answer"; None for an answer that came whole and makes no sense
    body     what was answered, as messages may show it: without keys, and cut
    fact     what happened, without who asked where, and without what to try
    wait_s   after how many seconds to ask again, where the service says so
    """

    fact: str = ""
    wait_s: float | None = None

    def __init__(self, message: str, reason: Reason | None = None, body: str = "") -> None:
        super().__init__(message)
        self.reason, self.body = reason, body


class Service:
    """One address that is asked questions, by clients that are made on use and closed at the end; safe in threads.

    what       who asks, as messages begin: "embedding", "rerank"
    url        where, as messages show it (without its query)
    patience   how long and how often
    headers    sent with every request; no message shows, and no answer keeps, what of them is a key (`Keys`)
    key_hint   what to try where the server refuses the key
    concurrency   requests that are under way at once at most; None for all that come
    has_secret_path   whether the path of the address is a key, as those of chats are
    """

    def __init__(
        self,
        what: str,
        url: str,
        patience: Patience,
        *,
        headers: Mapping[str, str] | None = None,
        key_hint: str = "check the key",
        concurrency: int | None = None,
        has_secret_path: bool = False,
    ) -> None:
        self._what, self._url, self._patience = what, url, patience
        self._key_hint, self._headers = key_hint, dict(headers or {})
        parts = urlsplit(url)
        path = parts.path.strip("/") if has_secret_path else ""
        of_path = [("token", path), *(("part", part) for part in path.split("/"))]
        self._keys = Keys([*self._headers.items(), *parse_qsl(parts.query), *of_path])
        self._clients = _Clients(url, self._headers, patience.timeout_s)
        self._throttle = Throttle(math.inf if concurrency is None else concurrency)

    def request(
        self, method: str, *, body: Mapping[str, Any] | None = None, query: Mapping[str, Any] | None = None
    ) -> Any:
        """The decoded JSON that the address answers, without the keys that it was sent.

        body   sent as JSON;   query   added to the query of the address
        Raises   StageError when there is no answer, the status is not 2xx, or the answer is not JSON.
        """
        return shared_loop().run(self._request(method, body, query))

    def post(self, content: bytes, headers: Mapping[str, str]) -> HTTPReply:
        """The reply to bytes that are posted as they are, whatever it holds.

        headers   beside those of all requests
        Raises    StageError when there is no answer, or the status is not 2xx.
        """
        return shared_loop().run(self._reply("POST", self._address, {"content": content, "headers": dict(headers)}))

    async def request_async(
        self,
        method: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        listener: Listener = ignore,
    ) -> Any:
        """As `request`, awaited; many may be under way at once.

        listener   is told each attempt, on the loop of all requests
        """
        return await shared_loop().awaited(self._request(method, body, query, listener))

    def close(self) -> None:
        """Close the connections; a later request makes others."""
        self._clients.close()

    @cached_property
    def _address(self) -> Any:
        return _httpx2(self._what).URL(self._url)

    async def _request(
        self, method: str, body: Mapping[str, Any] | None, query: Mapping[str, Any] | None, listener: Listener = ignore
    ) -> Any:
        # The client's own params would replace the address's.
        url = self._address.copy_merge_params(query) if query else self._address
        return self._decode(await self._reply(method, url, {"json": body}, listener))

    async def _reply(self, method: str, url: Any, content: Mapping[str, Any], listener: Listener = ignore) -> HTTPReply:
        """One answer with a status that is a success, after as many attempts as patience has.

        content   what httpx2 takes beside method and address
        """
        number = 1
        while True:
            try:
                async with self._throttle.turn(number) as turn:
                    began, started = time.time(), time.perf_counter()
                    reply = await self._send(method, url, content, turn)
                listener(Attempt(number, began, _ms_since(started), reply.status))
                return reply
            except Unanswered as error:
                listener(Attempt(number, began, _ms_since(started), error.reason))
                if not error.again or number == self._patience.attempts:
                    after = f"after {number} attempt{'s' * (number > 1)}"
                    raise self._failure(error, f" {after}") from None
                await self._wait(error, number)
            number += 1

    async def _wait(self, error: Unanswered, number: int) -> None:
        """Wait before the next attempt, but for what the throttle waits for."""
        import asyncio

        initial_s = self._patience.wait_initial_s
        doubled = initial_s * 2.0 ** min(number - 1, _DOUBLINGS) + random.uniform(0, initial_s)
        wait_s = min(doubled, self._patience.wait_max_s)
        WAITS.announce(Wait(host_of(self._url), wait_s if error.wait_s is None else error.wait_s, error.reason))
        if error.wait_s is None:
            await asyncio.sleep(wait_s)

    def _failure(self, error: Unanswered, after: str = "") -> ServiceError:
        fact = f"{error.fact}{after}{self._excerpt(error.body)}"
        failure = self.error(fact, error.hint, error.reason, self.redacted(error.body)[:_BODY])
        failure.fact, failure.wait_s = self.redacted(f"{error.fact}{self._excerpt(error.body)}"), error.wait_s
        return failure

    def error(self, fact: str, hint: str, reason: Reason | None = None, body: str = "") -> ServiceError:
        """The error to raise: who asked where, what came back, what to try."""
        hint = f"; {hint}" if hint else ""
        return ServiceError(self.redacted(f"{self._what}: {shown(self._url)} {fact}{hint}"), reason, body)

    def redacted(self, text: str) -> str:
        """A text without this service's keys, on one line."""
        return one_line(self._keys.removed(text))

    async def _send(self, method: str, url: Any, content: Mapping[str, Any], turn: int) -> HTTPReply:
        """One answer with a status that is a success.

        Raises   Unanswered for anything else.
        """
        import asyncio

        httpx2 = _httpx2(self._what)
        try:
            with self._clients.lent() as client:
                async with asyncio.timeout(self._patience.whole_s):
                    reply = await self._read(client.stream(method, url, **content))
        except TimeoutError:
            fact = f"gave no whole answer within {self._patience.whole_s:g} s"
            hint = "ask for less at once, or raise request_max_s"
            raise Unanswered(fact, hint, reason="timeout") from None
        except httpx2.TimeoutException:
            fact = f"did not answer within {self._patience.timeout_s:g} s"
            raise Unanswered(
                fact, "look whether the server is busy, or raise timeout_s", again=True, reason="timeout"
            ) from None
        except httpx2.RequestError as error:
            failure = unanswered(error, proxy_of(self._url))
            failure.again &= isinstance(error, httpx2.TransportError) and not isinstance(
                error, httpx2.LocalProtocolError
            )
            raise failure from None
        except UnicodeEncodeError as error:
            fact = f"cannot be sent {error.object[error.start : error.start + 1]!r} (half a character)"
            raise Unanswered(fact, "repair the text") from None
        if reply.is_success:
            return reply
        refusal = self._refusal(reply)
        if reply.status in _TOO_MUCH or refusal.wait_s is not None:
            self._throttle.refuse(turn, refusal.wait_s)
        raise refusal

    async def _read(self, stream: AbstractAsyncContextManager[Any]) -> HTTPReply:
        async with stream as response:
            reader = ReplyReader(response.status_code, response.headers.items(), self._patience.reply_max_mb)
            async with aclosing(response.aiter_raw()) as pieces:
                async for piece in pieces:
                    if not reader.take(piece):
                        break
        return reader.reply()

    def _refusal(self, reply: HTTPReply) -> Unanswered:
        status = reply.status
        hint = _HINTS.get(status, "look into the server's log, or raise attempts")
        if status in {401, 403}:
            hint = self._key_hint
        elif reply.location is not None:
            hint = f"name the address that it points to: {shown(urljoin(self._url, reply.location))}"
        again, wait_s = status in _AGAIN or status >= 500, None
        if again and (retry_after_s := _retry_after_s(reply.headers)) is not None:
            wait_s = min(retry_after_s, self._patience.wait_max_s)
        return Unanswered(
            f"answered {_phrase(status)}", hint, again=again, reason=status, wait_s=wait_s, body=reply.text
        )

    def _decode(self, reply: HTTPReply) -> Any:
        try:
            value = json.loads(reply.content)
            return self._keys.removed_from(value) if self._keys.in_content(reply.content) else value
        except (ValueError, RecursionError) as error:
            kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "text/html" or reply.text.lstrip().startswith("<"):
                fact, hint = "answered a web page instead of JSON", "check the address"
            else:
                fact, hint = f"answered malformed JSON ({error})", "check that the address is that of the service"
            raise self.error(fact + self._excerpt(reply.text), hint) from None

    def _excerpt(self, body: str) -> str:
        text = self.redacted(body)
        return f": {text[:_EXCERPT]}{'…' * (len(text) > _EXCERPT)}" if text else ""


class _Clients:
    """The clients of one address, one for each request under way, closed when they are dropped.

    One client for all would look at each of its connections for each request.
    """

    def __init__(self, url: str, headers: Mapping[str, str], timeout_s: float) -> None:
        self._url, self._headers, self._timeout_s = url, headers, timeout_s
        self._all: list[Any] = []
        self._instances = Instances(self._make)

    def lent(self) -> AbstractContextManager[Any]:
        """An `httpx2.AsyncClient` for one request: it follows no redirect, and reaches this computer without proxy."""
        return self._instances.borrowed()

    def close(self) -> None:
        """Close them all; later ones are others."""
        clients, self._all, self._instances = self._all, [], Instances(self._make)
        _close(clients, shared_loop())

    def _make(self) -> Any:
        httpx2 = _httpx2("asking an endpoint")
        verify = trusted_certificates() if self._url.startswith("https:") else _no_certificates()
        try:
            client = httpx2.AsyncClient(
                verify=verify,
                headers={"Accept-Encoding": ACCEPTED, **self._headers},
                timeout=self._timeout_s,
                trust_env=not is_loopback(self._url),
                follow_redirects=False,
            )
        except (ImportError, ValueError) as error:
            proxy = proxy_of(self._url)
            if proxy is None or isinstance(error, UnicodeEncodeError):
                raise
            raise InputError(
                f"the proxy {shown(proxy)} cannot be used ({exception_line(error)}); "
                "correct or unset HTTP_PROXY, HTTPS_PROXY and ALL_PROXY"
            ) from None
        if not self._all:
            weakref.finalize(self, _close, self._all, shared_loop())
        self._all.append(client)
        return client


def _close(clients: list[Any], loop: BackgroundLoop) -> None:
    async def close() -> None:
        for client in clients:
            await client.aclose()

    if clients:
        loop.finish(close())


@cache
def _no_certificates() -> Any:
    """For addresses without encryption, where each client would make one of its own; it trusts nobody."""
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def _httpx2(what: str) -> Any:
    return require("httpx2", extra="endpoints", what=what)


def _phrase(status: int) -> str:
    phrases = {member.value: member.phrase for member in HTTPStatus}
    return f"{status} ({phrases[status]})" if status in phrases else str(status)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that Retry-After asks for, as a number or as a date, which counts from the server's own (RFC 9110)."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            parse = email.utils.parsedate_to_datetime
            seconds = (parse(value) - parse(headers["date"])).total_seconds()
        except (KeyError, TypeError, ValueError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


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
