"""The registry of measures as it is at one time, for tests that register more."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import pytest

from steelyard.measures import registry

TABLES = (registry._definitions, registry._spellings)


def snapshot() -> list[dict[str, Any]]:
    """What is registered now."""
    return [dict(table._items) for table in TABLES]


@contextmanager
def as_of(items: Sequence[dict[str, Any]]) -> Iterator[None]:
    """Nothing but a snapshot is registered within."""
    with ExitStack() as stack:
        for table, own in zip(TABLES, items, strict=True):
            stack.enter_context(mock.patch.object(table, "_items", dict(own)))
        yield


def forget_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the test registers is gone after it."""
    for table, own in zip(TABLES, snapshot(), strict=True):
        monkeypatch.setattr(table, "_items", own)
