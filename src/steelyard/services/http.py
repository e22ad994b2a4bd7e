"""Requests to endpoints: sent again where that may help, and an error that can be acted on where it does not."""

from __future__ import annotations

import email.utils
import ipaddress
import json
import logging
import math
import os
import re
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from http import HTTPStatus
from typing import Any
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from steelyard.base.errors import InputError, StageError
from steelyard.base.extras import require

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

    timeout_s: float = field(default=60.0, metadata={"fingerprint": False})
    attempts: int = field(default=4, metadata={"fingerprint": False})
    wait_initial_s: float = field(default=0.5, metadata={"fingerprint": False})
    wait_max_s: float = field(default=60.0, metadata={"fingerprint": False})

    def __post_init__(self) -> None:
        at_least("timeout_s", self.timeout_s, 0.001)
        at_least("attempts", self.attempts, 1)
        at_least("wait_initial_s", self.wait_initial_s, 0)
        at_least("wait_max_s", self.wait_max_s, 0)


def at_least(name: str, value: float | None, least: float) -> None:
    """Check a setting; None is a setting left out.

    Raises   InputError when it is smaller, or not a finite number.
    """
    if value is not None and not (least <= value < math.inf):
        raise InputError(f"{name} must be a number from {least:g}, not {value!r}")


def checked_url(url: str, setting: str, *, query: bool = False) -> str:
    """An address as it was given, if it is one and holds no secret.

    setting   its name, for the message;   query   whether it may have a ?query
    Raises    InputError for what is not http(s)://host, and for a user name, a password or an unwanted query in it.
    """
    try:
        parts = urlsplit(url)
        complete = parts.scheme in {"http", "https"} and parts.hostname is not None and parts.port != 0
    except ValueError:
        complete = False
    if not complete or not url.isprintable() or " " in url:
        raise InputError(f"{setting} {_bare(url)!r} is no address; expected http://host/path or https://host/path")
    if parts.username is not None or parts.password is not None:
        raise InputError(
            f"{setting} {shown(url)} has a user name or password in it; name an environment variable instead"
        )
    if (parts.query and not query) or parts.fragment:
        raise InputError(f"{setting} {shown(url)} must end before the ? or #; keys go into an environment variable")
    return url


def shown(url: str) -> str:
    """An address as messages show it, without user, password, query or fragment.

    >>> shown("https://me:secret@example.org:8080/rerank?key=secret#x")
    'https://example.org:8080/rerank'
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return SplitResult(parts.scheme, host, parts.path, "", "").geturl()


def _bare(url: str) -> str:
    """What is not an address, without what may be secret in it."""
    return re.split(r"[?#]", url, maxsplit=1)[0].rpartition("@")[2]


def host_of(url: str) -> str:
    """The host of an address, in lower case."""
    return urlsplit(url).hostname or ""


def is_loopback(url: str) -> bool:
    """Whether an address leads to this computer.

    >>> [is_loopback(url) for url in ("http://localhost:80/v1", "http://127.0.0.1", "http://[::1]/", "http://example.org")]
    [True, True, True, False]
    """
    host = host_of(url)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def secret_from(variable: str, setting: str) -> str:
    """The key that an environment variable holds.

    setting   what named the variable, for the message
    Raises    InputError when it is unset or empty, or holds what no HTTP header can carry; never showing the value.
    """
    value = os.environ.get(variable, "").strip()
    if not value:
        raise InputError(f"{setting} names the environment variable {variable}, which is not set; set it to the key")
    if not (value.isascii() and value.isprintable()):
        raise InputError(f"the environment variable {variable} holds characters that no key has; set it again")
    return value


class _Unanswered(Exception):
    """A request without a usable answer; `again` as stamina takes it: whether, or after how many seconds."""

    def __init__(self, found: str, hint: str, *, again: bool | float, body: str = "") -> None:
        super().__init__(found)
        self.found, self.hint, self.again, self.body = found, hint, again, body


class Service:
    """One address that is asked questions, by one client that is made on use and closed at the end.

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

    @cached_property
    def client(self) -> Any:
        """The `httpx2.Client`: follows no redirect, and reaches this computer without a proxy."""
        client = require("httpx2", extra="endpoints", what=self._what).Client(
            # Loading certificates takes long enough to spoil the first latency.
            verify=_certificates() if self._url.startswith("https:") else False,
            headers=self._headers,
            timeout=self._patience.timeout_s,
            trust_env=not is_loopback(self._url),
            follow_redirects=False,
        )
        weakref.finalize(self, client.close)
        return client

    def close(self) -> None:
        """Close the client; a later request makes another one."""
        client = self.__dict__.pop("client", None)
        if client is not None:
            client.close()

    def request(
        self, method: str, *, body: Mapping[str, Any] | None = None, query: Mapping[str, Any] | None = None
    ) -> Any:
        """The decoded JSON that the address answers.

        body   sent as JSON;   query   added to the query of the address
        Raises   StageError when there is no answer, the status is not 2xx, or the answer is not JSON.
        """
        url = require("httpx2", extra="endpoints", what=self._what).URL(self._url)
        if query:
            url = url.copy_merge_params(query)  # the client's own params would replace the address's
        return self.ask(lambda: self.client.request(method, url, json=body))

    def ask(self, send: Callable[[], Any]) -> Any:
        """The decoded JSON of the response that `send` brings, calling it again as `Patience` says.

        send     sends one request with the client; gives an `httpx2.Response` or raises an `httpx2.RequestError`
        Raises   StageError as `request` does.
        """
        patience, number = self._patience, 0
        try:
            for attempt in _stamina().retry_context(
                on=lambda error: error.again if isinstance(error, _Unanswered) else False,
                attempts=patience.attempts,
                timeout=None,
                wait_initial=patience.wait_initial_s,
                wait_max=patience.wait_max_s,
                wait_jitter=patience.wait_initial_s,
            ):
                with attempt:
                    number = attempt.num
                    response = self._sent(send)
        except _Unanswered as error:
            made = f"after {number} attempt{'s' * (number > 1)}"
            raise self.error(f"{error.found} {made}{self._excerpt(error.body)}", error.hint) from None
        return self._decoded(response)

    def error(self, found: str, hint: str) -> StageError:
        """The error to raise: who asked where, what was found, what to try."""
        return StageError(f"{self._what}: {shown(self._url)} {found}; {hint}")

    def redacted(self, text: str) -> str:
        """A text without keys, on one line."""
        for secret in sorted(filter(None, self._secrets), key=len, reverse=True):
            for spelling in (secret, quote(secret), quote(secret, safe=""), secret.replace("/", "\\/")):
                text = text.replace(spelling, "[key]")
        return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))

    def _sent(self, send: Callable[[], Any]) -> Any:
        httpx2 = require("httpx2", extra="endpoints", what=self._what)
        try:
            response = send()
        except httpx2.TimeoutException:
            found = f"did not answer within {self._patience.timeout_s:g} s"
            raise _Unanswered(found, "look whether the server is busy, or raise timeout_s", again=True) from None
        except httpx2.RequestError as error:
            found = f"gave no answer ({self.redacted(str(error)) or type(error).__name__})"
            again = isinstance(error, httpx2.TransportError) and not isinstance(error, httpx2.LocalProtocolError)
            raise _Unanswered(found, "check the address, and that the server runs", again=again) from None
        except UnicodeEncodeError as error:
            found = f"cannot be sent {error.object[error.start : error.start + 1]!r} (half a character)"
            raise _Unanswered(found, "repair the text", again=False) from None
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
        wanted = _retry_after_s(response.headers)
        if again and wanted is not None:
            again = float(min(wanted, self._patience.wait_max_s))
        return _Unanswered(f"answered {_phrase(status)}", hint, again=again, body=response.text)

    def _decoded(self, response: Any) -> Any:
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError) as error:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "text/html" or response.text.lstrip().startswith("<"):
                found, hint = "answered a web page instead of JSON", "check the address"
            else:
                found, hint = f"answered malformed JSON ({error})", "check that the address is that of the service"
            raise self.error(self.redacted(found) + self._excerpt(response.text), hint) from None

    def _excerpt(self, body: str) -> str:
        text = self.redacted(body)
        return f": {text[:_EXCERPT]}{'…' * (len(text) > _EXCERPT)}" if text else ""


@cache
def _certificates() -> Any:
    """Whom to trust, read once: it takes longer than many an answer."""
    return require("httpx2", extra="endpoints", what="asking an endpoint").create_ssl_context()


@cache
def _stamina() -> Any:
    stamina = require("stamina", extra="endpoints", what="asking an endpoint")
    # Without any handler, Python would print its warning of each repetition, amid progress bars and results.
    logging.getLogger("stamina").addHandler(logging.NullHandler())
    return stamina


def _phrase(status: int) -> str:
    known = {member.value: member.phrase for member in HTTPStatus}
    return f"{status} ({known[status]})" if status in known else str(status)


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
