"""Differences of two recipes, or of two configurations of runs, key by key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
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


_PLACES = ("name", "folder", "cache", "documents", "questions", "weigh")
"""What names a run, or where things are, or how it was weighed at the end; none of it moves a ranking."""


def settings_table(config: Mapping[str, object]) -> dict[str, str]:
    """Dotted setting -> its value as text, but for names and places; a setting that is null is as good as absent.

    Places in lists count from 1: index.2.kind is the kind of the second index.

    >>> settings_table({"name": "a", "k": 3, "index": [{"kind": "bm25"}, "dense"], "fuse": None})
    {'k': '3', 'index.1.kind': 'bm25', 'index.2': 'dense'}
    """
    return dict(_flat({key: value for key, value in config.items() if key not in _PLACES}))


def _flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Dotted path and text of every value below; a list of plain values is one value."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _flat(below, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(below, dict | list) for below in value):
        for place, below in enumerate(value, 1):
            yield from _flat(below, f"{path}.{place}")
    elif value is not None:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def differing_rows(tables: Sequence[Mapping[str, str]]) -> dict[str, tuple[str | None, ...]]:
    """Rows whose values are not all the same, in the order of the first table that has them."""
    keys = dict.fromkeys(key for table in tables for key in table)
    rows = {key: tuple(table.get(key) for table in tables) for key in keys}
    return {key: values for key, values in rows.items() if len(set(values)) > 1}
