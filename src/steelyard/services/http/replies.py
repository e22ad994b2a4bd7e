"""Replies of services, why a request has none, and how many requests go at once after a refusal."""

from __future__ import annotations

import os
import socket
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass

from steelyard.services.addresses import host_of, is_loopback, shown
from steelyard.services.announcements import Reason

if TYPE_CHECKING:
    import ssl
import heapq
import itertools
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio  # Slow to import, and many runs need none.


_RUNS = "check the address, and that the server runs"
_NAMED = "check the host's name, and the network"
_CERTIFICATES = {
    9: ("is not valid yet", "check the clock of this computer and of the server"),
    10: ("has expired", "renew it, or check the clock of this computer"),
    62: ("is for another host name", "use the name that the certificate is for"),
    64: ("is for another address", "use the name that the certificate is for"),
}
"""What OpenSSL finds wrong with a certificate; all else is that it is signed by none that is trusted."""
_UNTRUSTED = "set SSL_CERT_FILE to a file with the certificate of its issuer (PEM)"
_NO_TLS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"}
_NO_HTTP = ("\x15\x03", "illegal request line")
"""How errors begin where the first bytes of an answer are none of http, as those of a server of https are."""


class Unanswered(Exception):
    """A request without a usable answer.

    fact, hint   why, as it follows the address in a message, and what to try
    again    whether to send it again;   wait_s   after how many seconds, where the service says so
    reason   why, as `Wait` has it;   body   what was answered
    """

    def __init__(
        self, fact: str, hint: str, *, again: bool = False, reason: Reason = "no answer", wait_s: float | None = None,
        body: str = "",
    ) -> None:  # fmt: skip
        super().__init__(fact)
        self.fact, self.hint, self.body = fact, hint, body
        self.again, self.reason, self.wait_s = again, reason, wait_s


def unanswered(error: BaseException, proxy: str | None = None) -> Unanswered:
    """The meaning of an error of a connection, by what the operating system or TLS said at its bottom.

    proxy   that the request went through

    >>> unanswered(ConnectionRefusedError(111, "refused")).fact
    'gave no answer (Connection refused)'
    """
    words, hint, again = _cause(error)
    if proxy is not None and hint in {_RUNS, _NAMED}:
        words = f"{words}, through the proxy {shown(proxy)}"
        hint = "check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or add the host to NO_PROXY"
    return Unanswered(f"gave no answer ({words})", hint, again=again)


def _cause(error: BaseException) -> tuple[str, str, bool]:
    """Why, what to try, and whether the next attempt may fare better."""
    import ssl

    for inner in _chain(error):
        if isinstance(inner, ssl.SSLError):
            return _tls_cause(inner)
        if isinstance(inner, socket.gaierror):
            return f"host not found: {inner.strerror or inner}", _NAMED, True
        if isinstance(inner, OSError) and inner.errno is not None:
            return os.strerror(inner.errno), _RUNS, True
    if str(error).startswith(_NO_HTTP):
        return "it does not speak http there", "try https://, or check the port", False
    return str(error) or type(error).__name__, _RUNS, True


def _tls_cause(error: ssl.SSLError) -> tuple[str, str, bool]:
    code, reason = getattr(error, "verify_code", None), error.reason or str(error)
    if code is not None:
        fact, hint = _CERTIFICATES.get(code, (f"is not trusted: {getattr(error, 'verify_message', error)}", _UNTRUSTED))
        return f"its certificate {fact}", hint, False
    if reason in _NO_TLS:
        return "it does not speak https there", "try http://, or check the port", False
    return f"https failed: {reason.lower().replace('_', ' ')}", _RUNS, True


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for an address; none for this computer."""
    host = host_of(url)
    if is_loopback(url) or proxy_bypass(host):
        return None
    proxies = getproxies()
    return proxies.get(url.partition(":")[0]) or proxies.get("all")


_MB = 1_000_000
_BEGINNING = 64_000
"""Bytes of an answer that are enough for a message."""
_PACKED = {"gzip", "x-gzip", "deflate"}
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
ACCEPTED = "gzip, deflate"
"""What can be unpacked without ever holding more than the limit."""


@dataclass(frozen=True, slots=True)
class HTTPReply:
    """A whole answer, unpacked.

    headers   by names in small letters
    """

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_success(self) -> bool:
        """True if the status is a 2xx."""
        return 200 <= self.status < 300

    @property
    def location(self) -> str | None:
        """The address that a redirect points to."""
        return self.headers.get("location") if 300 <= self.status < 400 else None

    @property
    def text(self) -> str:
        """The beginning of the content, as messages show it."""
        beginning = self.content[:_BEGINNING]
        described = Message()
        described["content-type"] = self.headers.get("content-type", "")
        try:
            return beginning.decode(described.get_content_charset("utf-8"), "replace")
        except LookupError:
            return beginning.decode("utf-8", "replace")


class ReplyReader:
    """Takes the content of an answer in, up to a limit, counted after unpacking.

    Of an answer that is no success the beginning is enough.
    """

    def __init__(self, status: int, headers: Iterable[tuple[str, str]], max_mb: float) -> None:
        self._status, self._max_mb = status, max_mb
        self._headers = {name.lower(): value for name, value in headers}
        self._is_refusal = not 200 <= status < 300
        self._left = _BEGINNING if self._is_refusal else round(max_mb * _MB)
        self._pieces: list[bytes] = []
        encoding = self._headers.get("content-encoding", "").strip().lower()
        if encoding not in {"", "identity", *_PACKED}:
            raise Unanswered(
                f"answered in the encoding {encoding!r}, which was not asked for", "have it answer gzip or plain JSON"
            )
        self._inflater = zlib.decompressobj(_GZIP_OR_ZLIB) if encoding in _PACKED else None

    def take(self, piece: bytes) -> bool:
        """Take the next piece; whether more is wanted.

        Raises   Unanswered beyond the limit, and for what cannot be unpacked.
        """
        if self._inflater is not None:
            try:
                piece = self._inflater.decompress(piece, self._left + 1)
            except zlib.error as error:
                raise Unanswered(
                    f"answered what is no {self._headers['content-encoding']} ({error})", "look into the server's log"
                ) from None
        self._left -= len(piece)
        self._pieces.append(piece)
        if self._left < 0 and not self._is_refusal:
            raise Unanswered(f"answered more than {self._max_mb:g} MB", "ask for less at once, or raise reply_max_mb")
        return self._left > 0 or not self._is_refusal

    def reply(self) -> HTTPReply:
        """The reply that was taken."""
        return HTTPReply(self._status, self._headers, b"".join(self._pieces))


class Throttle:
    """Lets the requests to one service go: as many as come, or as may be at once, until the service refuses one.

    After a refusal half as many as were under way go at once, and one more for as many successes as that.  A refusal
    that says for how long holds all requests back until then; what was refused goes first.  Of several that were sent
    before the first of them was refused, one counts.  Used on one event loop alone.

    limit   requests that go at once at most
    """

    def __init__(self, limit: float = math.inf) -> None:
        self._limit = self._most = limit
        self._n_under_way = self._n_refusals = 0
        self._opens = -math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    @asynccontextmanager
    async def turn(self, attempt: int) -> AsyncIterator[int]:
        """Wait until a request may be sent, later attempts first; gives what `refuse` takes."""
        if self._waiting or not self._is_open():
            await self._wait(attempt)
        else:
            self._n_under_way += 1
        try:
            yield self._n_refusals
            self._most = min(self._most + 1 / self._most, self._limit)
        finally:
            self._n_under_way -= 1
            self._let_go()

    def refuse(self, turn: int, wait_s: float | None) -> None:
        """A request of this turn was too much; wait_s: the service wants none for so long."""
        if turn == self._n_refusals:
            self._n_refusals += 1
            self._most = max(min(self._most, self._n_under_way) / 2, 1.0)
        if wait_s is not None:
            self._opens = max(self._opens, time.monotonic() + wait_s)

    def _is_open(self) -> bool:
        return self._n_under_way + 1 <= self._most and time.monotonic() >= self._opens

    async def _wait(self, attempt: int) -> None:
        turn = _loop().create_future()
        heapq.heappush(self._waiting, (-attempt, next(self._numbers), turn))
        self._let_go()
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():  # Let go and cancelled at once.
                self._n_under_way -= 1
                self._let_go()
            raise

    def _let_go(self) -> None:
        """Wake as many as may go now, or later where the service is to be left alone until then."""
        while self._waiting and self._is_open():
            *_, turn = heapq.heappop(self._waiting)
            if not turn.done():
                self._n_under_way += 1
                turn.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
        closed_s = self._opens - time.monotonic()
        self._timer = _loop().call_later(closed_s, self._let_go) if self._waiting and closed_s > 0 else None


def _loop() -> asyncio.AbstractEventLoop:
    import asyncio

    return asyncio.get_running_loop()
