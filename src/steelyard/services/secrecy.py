"""What must not be written down: keys, passwords, and users in addresses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from steelyard.base.errors import InputError

_SECRET = re.compile(r"api_?key|password|secret|token$|authorization|headers", re.IGNORECASE)
_USER_OF_URL = re.compile(r"(?<=://)[^/@\s]+@")


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


def redacted(text: str, secrets: Iterable[str]) -> str:
    """A text in which each secret, however a server may spell it, reads "[key]"; on one line.

    >>> redacted("no\\nkey a%2Fb", ["a/b"])
    'no key [key]'
    """
    text = without_keys(text, secrets)
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


def without_keys(text: str, secrets: Iterable[str]) -> str:
    """The same, with its lines as they are: of a reply that is kept.

    >>> without_keys("no\\nkey a%2Fb", ["a/b"])
    'no\\nkey [key]'
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        for spelling in (secret, quote(secret), quote(secret, safe=""), secret.replace("/", "\\/")):
            text = text.replace(spelling, "[key]")
    return text


def without_secrets(value: Any) -> Any:
    """A copy in which keys, passwords and headers read "***", and addresses have no user."""
    if isinstance(value, Mapping):
        return {key: _mask(key, inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(inner) for inner in value]
    return _USER_OF_URL.sub("***@", value) if isinstance(value, str) else value


def _mask(key: str, value: Any) -> Any:
    # What ends in _env names environment variables, which are not secret.
    if key.endswith("_env"):
        return value
    return "***" if _SECRET.search(key) else without_secrets(value)
