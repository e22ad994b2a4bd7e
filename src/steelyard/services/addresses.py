"""Addresses of services: checked, and shown in messages without what may be secret in them."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from steelyard.base.errors import InputError


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
    """The text of an address without what may be secret in it."""
    return re.split(r"[?#]", url, maxsplit=1)[0].rpartition("@")[2]


def host_of(url: str) -> str:
    """The host of an address, in lower case."""
    return urlsplit(url).hostname or ""


def is_loopback(url: str) -> bool:
    """True if an address leads to this computer.

    >>> [is_loopback(url) for url in ("http://localhost:80/v1", "http://127.0.0.1", "http://[::1]/", "http://example.org")]
    [True, True, True, False]
    """
    host = host_of(url)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
