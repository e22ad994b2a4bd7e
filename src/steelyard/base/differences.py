"""Where two recipes differ, key by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.base.errors import quoted


def differences(
    one: Mapping[str, Any], other: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, str, str]]:  # fmt: skip
    """Each key that differs, with both values; those of tables within by their path, such as judge.model.

    >>> list(differences({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {}}))
    [('b.c', '2', 'not there')]
    """
    for key in dict.fromkeys([*one, *other]):
        a, b = one.get(key), other.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            yield from differences(a, b, f"{prefix}{key}.")
        elif a != b:
            yield f"{prefix}{key}", _shown(a), _shown(b)


def _shown(value: object) -> str:
    return "not there" if value is None else quoted(value)
