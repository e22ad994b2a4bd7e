"""Fixtures of the pipeline's tests."""

from collections.abc import Iterator

import pytest

from tests.rag.server import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    """The endpoints of a pipeline, on loopback; see tests/rag/server.py."""
    with serving() as running:
        yield running
