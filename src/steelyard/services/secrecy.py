"""What must not be written down: keys, passwords, and users in addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_SECRET = re.compile(r"api_?key|password|secret|token$|authorization|headers", re.IGNORECASE)
_USER_OF_URL = re.compile(r"(?<=://)[^/@\s]+@")


def without_secrets(value: Any) -> Any:
    """A copy in which keys, passwords and headers read "***", and addresses have no user."""
    if isinstance(value, Mapping):
        return {key: _blotted(key, inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(inner) for inner in value]
    return _USER_OF_URL.sub("***@", value) if isinstance(value, str) else value


def _blotted(key: str, value: Any) -> Any:
    # What ends in _env names environment variables, which are not secret.
    if key.endswith("_env"):
        return value
    return "***" if _SECRET.search(key) else without_secrets(value)
