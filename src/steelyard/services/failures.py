"""Requests without a usable answer: why there is none, in the words of messages, and what to try."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass

from steelyard.services.addresses import host_of, is_loopback, shown
from steelyard.services.waits import Reason

if TYPE_CHECKING:
    import ssl

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
    """What an error of a connection means, by what the operating system or TLS said at its bottom.

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
