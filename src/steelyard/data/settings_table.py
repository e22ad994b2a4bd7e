"""Configurations of runs as tables of dotted settings, and where they differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

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
