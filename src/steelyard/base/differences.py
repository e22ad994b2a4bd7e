"""Where two recipes differ, key by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.base.errors import quoted


def differences(one: Mapping[str, Any], other: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Each key that differs, with both values; those of tables within by their path, such as judge.model.

    >>> list(differences({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {}}))
    [('b.c', '2', 'not there')]
    >>> list(differences({"threshold": 0.6}, {"threshold": 0.4722222222222222}))
    [('threshold', '0.6', '0.4722')]
    """
    for key in dict.fromkeys([*one, *other]):
        a, b = one.get(key), other.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            yield from differences(a, b, f"{prefix}{key}.")
        elif a != b:
            yield f"{prefix}{key}", *_shown(a, b)


def _shown(a: object, b: object) -> tuple[str, str]:
    """Both values; numbers in as many digits as tell them apart, four at least."""
    if isinstance(a, float) and isinstance(b, float):
        pairs = ((f"{a:.{digits}g}", f"{b:.{digits}g}") for digits in (4, 8, 17))
        return next((pair for pair in pairs if pair[0] != pair[1]), (repr(a), repr(b)))
    one, other = ("not there" if value is None else quoted(value) for value in (a, b))
    return one, other
