"""Addresses and keys of services, and texts without the secrets that they may hold."""

from __future__ import annotations

import base64
import html
import ipaddress
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any
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


_CREDENTIAL = re.compile("auth|key|token|secret|pass|cookie|credential|session|sign|jwt", re.IGNORECASE)
_SCHEME = re.compile(r"^[A-Za-z0-9-]+ +(?=\S+$)|^(?:Basic|Bearer|Digest) +", re.IGNORECASE)
_LEAST, _LEAST_OF_OTHERS = 6, 20
_SPELLED = re.compile(r"\\+(?:u00([2-7][0-9a-fA-F]))?|%(?:25)*([2-7][0-9a-fA-F])")
_RUN = re.compile("[A-Za-z0-9]+")
_LAYERS = 3
_URL_SAFE = str.maketrans("+/", "-_")
_SECRET = re.compile(r"api_?key|password|secret|token$|authorization|headers", re.IGNORECASE)
_USER_OF_URL = re.compile(r"(?<=://)[^/@\s]+@")
_USER_IN_WORD = re.compile(r"(?<=://).+@", re.DOTALL)
"""Up to the last @: passwords may hold others, and slashes, where they are not spelled as an address needs it."""


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


def one_line(text: str) -> str:
    """A text on one line, without characters that a terminal obeys.

    >>> one_line("no\\nkey \\x1b[31m")
    'no key  [31m'
    """
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


class Keys:
    """What was sent as a key, in headers or in the query of an address, and is not to be shown or kept.

    A server may send it back: as it is, as JSON, URLs or HTML spell it, in Base64, or a part of it, such as what
    follows "Bearer".  Values of names such as "Authorization" count from 6 characters on; others, which may be ordinary
    words, from 20 on.

    fields   names and values
    """

    def __init__(self, fields: Iterable[tuple[str, str]]) -> None:
        words = {word for name, value in fields for word in _words(value)
                 if len(word) >= (_LEAST if _CREDENTIAL.search(name) else _LEAST_OF_OTHERS)}  # fmt: skip
        spellings = words | {core for word in words for core in _base64_of(word)}
        self._spellings = sorted(map(_plain, spellings), key=len, reverse=True)
        # Letters and digits are never spelled otherwise, and looking for them takes next to no time.
        self._runs = {max(_RUN.findall(spelling), key=len, default="") for spelling in spellings}
        self._raw_runs = [*(run.encode() for run in self._runs), b"\0"] if spellings else []

    def in_content(self, content: bytes) -> bool:
        """True if a key may be in some JSON, which is known soon where none is; UTF-16 may always have one."""
        return any(run in content for run in self._raw_runs)

    def removed(self, text: str) -> str:
        """A text in which each key reads "[key]".

        >>> Keys([("Authorization", "Bearer a/b/c/d")]).removed("header Bearer a/b/c/d, key a%2Fb%2Fc%2Fd")
        'header Bearer [key], key [key]'
        """
        if not any(run in text for run in self._runs):
            return text
        for spelling in self._spellings:
            text = text.replace(spelling, "[key]")
        plain = without = _plain(text)
        for spelling in self._spellings:
            without = without.replace(spelling, "[key]")
        return text if without == plain else without

    def removed_from(self, value: Any) -> Any:
        """A copy of decoded JSON, with the keys removed from all of its texts."""
        if isinstance(value, str):
            return self.removed(value)
        if isinstance(value, list):
            return [self.removed_from(item) for item in value]
        if isinstance(value, dict):
            return {self.removed(name): self.removed_from(item) for name, item in value.items()}
        return value


def _words(value: str) -> Iterator[str]:
    """The whole of a header's value without its scheme, and what is secret in it by itself."""
    whole = _SCHEME.sub("", value)
    yield whole
    for word in re.split(r"[\s;,]+", whole):
        yield word
        yield word.partition("=")[2].strip('"')
    with suppress(ValueError):
        account = base64.b64decode(whole, validate=True).decode()
        yield from (account, account.partition(":")[2])


def _base64_of(word: str) -> Iterator[str]:
    """The Base64 that all texts with a word in them have, by where the word begins; no chance finds."""
    raw = word.encode()
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw).decode()
        core = encoded[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
        yield from {core, core.translate(_URL_SAFE)}


def _plain(text: str) -> str:
    """A text as it reads where spellings of JSON, URLs and HTML, also of several layers, are undone."""
    for _ in range(_LAYERS):
        undone = html.unescape(_SPELLED.sub(_character, text))
        if undone == text:
            break
        text = undone
    return text


def _character(spelled: re.Match[str]) -> str:
    code = spelled[1] or spelled[2]
    return chr(int(code, 16)) if code else ""


def without_secrets(value: Any) -> Any:
    """A copy in which keys, passwords and headers read "***", and addresses have no user."""
    if isinstance(value, Mapping):
        return {key: _mask(key, inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(inner) for inner in value]
    return _USER_OF_URL.sub("***@", value) if isinstance(value, str) else value


def _mask(key: str, value: Any) -> Any:
    return "***" if _is_secret(key) else value if key.endswith("_env") else without_secrets(value)


def _is_secret(name: str) -> bool:
    # What ends in _env names environment variables, which are not secret.
    return not name.endswith("_env") and _SECRET.search(name) is not None


def words_without_secrets(words: Iterable[str]) -> list[str]:
    """The words of a command; keys, passwords and headers that are set in them read "***", and addresses have no user.

    >>> words_without_secrets("run a.toml --option api_key=5b1f --store postgresql://me:5b1f@host/x".split())
    ['run', 'a.toml', '--option', 'api_key=***', '--store', 'postgresql://***@host/x']
    >>> words_without_secrets(["--api-key", "5b1f", "--option=judge.password=5b1f", "--option", "api_key_env=KEY"])
    ['--api-key', '***', '--option=judge.password=***', '--option', 'api_key_env=KEY']
    """
    plain, is_value = list[str](), False
    for word in words:
        plain.append("***" if is_value else _without_secret(word))
        is_value = word.startswith("--") and "=" not in word and _is_secret(word.replace("-", "_"))
    return plain


def _without_secret(word: str) -> str:
    name, equals, value = word.partition("=")
    if not equals:
        return _USER_IN_WORD.sub("***@", word)
    secret = _is_secret(name.replace("-", "_"))
    return f"{_USER_IN_WORD.sub('***@', name)}={'***' if secret else _without_secret(value)}"
