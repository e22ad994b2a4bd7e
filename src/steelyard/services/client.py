"""The one client for all that calls out: repeated where that may help, and errors that can be acted on where not.

Requests are asynchronous underneath and run on one loop in the background, so that many can be under way at once;
`request` waits for one, `request_async` is awaited in whatever loop the caller has.
"""

from __future__ import annotations

import email.utils
import json
import logging
import math
import os
import socket
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urljoin

from steelyard.base.errors import StageError
from steelyard.base.extras import require
from steelyard.base.limits import at_least
from steelyard.base.settings import check_fields
from steelyard.services.addresses import is_loopback, shown
from steelyard.services.loops import BackgroundLoop, shared_loop
from steelyard.services.secrecy import redacted

_AGAIN = {408, 409, 429}
_HINTS = {
    400: "check the model's name and the other settings against what the server accepts",
    404: "check the address and the model's name",
    405: "check the address",
    408: "raise timeout_s, or send less at once",
    413: "send less at once (batch_size)",
    422: "check the model's name and the other settings against what the server accepts",
    429: "raise attempts or wait_max_s, or ask for a higher quota",
}
_EXCERPT = 200


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to wait for an answer, and how often to ask again.

    A request is sent again after a failed connection, a timeout, an answer cut short, and the statuses 408, 409, 429
    and 5xx; never after another 4xx nor after an answer that came whole but makes no sense.  The wait before the n-th
    repetition is wait_initial_s * 2 ** (n - 1) plus up to wait_initial_s of jitter, or what the server's Retry-After
    says; neither exceeds wait_max_s.  These settings cannot change a result, so their fields are marked
    `fingerprint: False`.

    timeout_s        seconds without a sign of life from the server
    attempts         how often a request is sent at most, from 1
    wait_initial_s   seconds before the first repetition
    wait_max_s       seconds before any repetition at most
    Raises           InputError for numbers out of range.
    """

    timeout_s: Annotated[float, at_least(0.001)] = field(default=60.0, metadata={"fingerprint": False})
    attempts: Annotated[int, at_least(1)] = field(default=4, metadata={"fingerprint": False})
    wait_initial_s: Annotated[float, at_least(0)] = field(default=0.5, metadata={"fingerprint": False})
    wait_max_s: Annotated[float, at_least(0)] = field(default=60.0, metadata={"fingerprint": False})

    def __post_init__(self) -> None:
        check_fields(self)


class _Unanswered(Exception):
    """A request without a usable answer; `again` as stamina takes it: whether, or after how many seconds."""

    def __init__(self, fact: str, hint: str, *, again: bool | float, body: str = "") -> None:
        super().__init__(fact)
        self.fact, self.hint, self.again, self.body = fact, hint, again, body


class Service:
    """One address that is asked questions, by one client that is made on use and closed at the end; safe in threads.

    what       who asks, as messages begin: "embedding", "rerank"
    url        where, as messages show it (without its query)
    patience   how long and how often
    headers    sent with every request
    secrets    what no message may show, although a server may repeat it
    key_hint   what to try where the server refuses the key
    """

    def __init__(
        self,
        what: str,
        url: str,
        patience: Patience,
        *,
        headers: Mapping[str, str] | None = None,
        secrets: tuple[str, ...] = (),
        key_hint: str = "check the key",
    ) -> None:
        self._what, self._url, self._patience = what, url, patience
        self._headers, self._secrets, self._key_hint = dict(headers or {}), secrets, key_hint

    def request(
        self, method: str, *, body: Mapping[str, Any] | None = None, query: Mapping[str, Any] | None = None
    ) -> Any:
        """The decoded JSON that the address answers.

        body   sent as JSON;   query   added to the query of the address
        Raises   StageError when there is no answer, the status is not 2xx, or the answer is not JSON.
        """
        return shared_loop().run(self._request(method, body, query))

    async def request_async(
        self, method: str, *, body: Mapping[str, Any] | None = None, query: Mapping[str, Any] | None = None
    ) -> Any:
        """As `request`, awaited; many may be under way at once."""
        import asyncio  # Slow to import, and commands that call nothing need none.

        return await asyncio.wrap_future(shared_loop().submit(self._request(method, body, query)))

    def close(self) -> None:
        """Close the client; a later request makes another one."""
        client = self.__dict__.pop("_client", None)
        if client is not None:
            _close(client, shared_loop())

    @cached_property
    def _client(self) -> Any:
        """The `httpx2.AsyncClient`: follows no redirect, and reaches this computer without a proxy."""
        client = _httpx2(self._what).AsyncClient(
            # Loading certificates takes long enough to spoil the first latency.
            verify=_certificates() if self._url.startswith("https:") else False,
            headers=self._headers,
            timeout=self._patience.timeout_s,
            trust_env=not is_loopback(self._url),
            follow_redirects=False,
        )
        loop = shared_loop()
        weakref.finalize(self, _close, client, loop)
        return client

    async def _request(self, method: str, body: Mapping[str, Any] | None, query: Mapping[str, Any] | None) -> Any:
        url = _httpx2(self._what).URL(self._url)
        if query:
            url = url.copy_merge_params(query)  # The client's own params would replace the address's.
        patience, number = self._patience, 0
        try:
            async for attempt in _stamina().retry_context(
                on=lambda error: error.again if isinstance(error, _Unanswered) else False,
                attempts=patience.attempts,
                timeout=None,
                wait_initial=patience.wait_initial_s,
                wait_max=patience.wait_max_s,
                wait_jitter=patience.wait_initial_s,
            ):
                with attempt:
                    number = attempt.num
                    response = await self._send(method, url, body)
        except _Unanswered as error:
            attempts = f"after {number} attempt{'s' * (number > 1)}"
            raise self.error(f"{error.fact} {attempts}{self._excerpt(error.body)}", error.hint) from None
        return self._decode(response)

    def error(self, fact: str, hint: str) -> StageError:
        """The error to raise: who asked where, what came back, what to try."""
        return StageError(f"{self._what}: {shown(self._url)} {fact}; {hint}")

    def redacted(self, text: str) -> str:
        """A text without this service's keys, on one line."""
        return redacted(text, self._secrets)

    async def _send(self, method: str, url: Any, body: Mapping[str, Any] | None) -> Any:
        """One response with a status that is a success.

        Raises   _Unanswered for anything else.
        """
        httpx2 = _httpx2(self._what)
        try:
            response = await self._client.request(method, url, json=body)
        except httpx2.TimeoutException:
            fact = f"did not answer within {self._patience.timeout_s:g} s"
            raise _Unanswered(fact, "look whether the server is busy, or raise timeout_s", again=True) from None
        except httpx2.RequestError as error:
            fact = f"gave no answer ({self.redacted(_cause(error)) or type(error).__name__})"
            again = isinstance(error, httpx2.TransportError) and not isinstance(error, httpx2.LocalProtocolError)
            raise _Unanswered(fact, "check the address, and that the server runs", again=again) from None
        except UnicodeEncodeError as error:
            fact = f"cannot be sent {error.object[error.start : error.start + 1]!r} (half a character)"
            raise _Unanswered(fact, "repair the text", again=False) from None
        if response.is_success:
            return response
        raise self._refusal(response)

    def _refusal(self, response: Any) -> _Unanswered:
        status: int = response.status_code
        hint = _HINTS.get(status, "look into the server's log, or raise attempts")
        if status in {401, 403}:
            hint = self._key_hint
        elif response.has_redirect_location:
            hint = f"name the address that it points to: {shown(urljoin(self._url, response.headers['location']))}"
        again: bool | float = status in _AGAIN or status >= 500
        wait_s = _retry_after_s(response.headers)
        if again and wait_s is not None:
            again = float(min(wait_s, self._patience.wait_max_s))
        return _Unanswered(f"answered {_phrase(status)}", hint, again=again, body=response.text)

    def _decode(self, response: Any) -> Any:
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError) as error:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "text/html" or response.text.lstrip().startswith("<"):
                fact, hint = "answered a web page instead of JSON", "check the address"
            else:
                fact, hint = f"answered malformed JSON ({error})", "check that the address is that of the service"
            raise self.error(self.redacted(fact) + self._excerpt(response.text), hint) from None

    def _excerpt(self, body: str) -> str:
        text = self.redacted(body)
        return f": {text[:_EXCERPT]}{'…' * (len(text) > _EXCERPT)}" if text else ""


def _close(client: Any, loop: BackgroundLoop) -> None:
    if not client.is_closed:
        loop.finish(client.aclose())


@cache
def _certificates() -> Any:
    """Whom to trust, read once: it takes longer than many an answer."""
    return _httpx2("asking an endpoint").create_ssl_context()


def _httpx2(what: str) -> Any:
    return require("httpx2", extra="endpoints", what=what)


@cache
def _stamina() -> Any:
    stamina = require("stamina", extra="endpoints", what="asking an endpoint")
    # Without any handler, Python would print its warning of each repetition, amid progress bars and results.
    logging.getLogger("stamina").addHandler(logging.NullHandler())
    return stamina


def _cause(error: BaseException) -> str:
    """What the operating system said, where that is at the bottom of an error; else the error's own words."""
    words, inner = str(error), error.__cause__ or error.__context__
    while inner is not None:
        if isinstance(inner, socket.gaierror):
            return inner.strerror or words
        if isinstance(inner, OSError) and inner.errno is not None:
            return os.strerror(inner.errno)
        inner = inner.__cause__ or inner.__context__
    return words


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
