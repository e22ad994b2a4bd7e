"""Frames as compressed Arrow, kept in a store by what they hold."""

from __future__ import annotations

import hashlib
import io
import json
from typing import Any, TypeVar

import polars as pl

from steelyard.base.errors import InputError
from steelyard.experiment.parts import from_parts, parts_of
from steelyard.io.native import native_reader

T = TypeVar("T")
_MOST_BYTES = 1 << 31
"""Of all values of a result: more than any evaluation has, and what a small blob of somebody else could grow to."""


class Bundle:
    """Blobs of an entry before it is added: digest -> bytes."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def keep(self, frame: pl.DataFrame) -> str:
        """Keep a frame, and return its digest."""
        buffer = io.BytesIO()
        frame.rechunk().write_ipc(buffer, compression="zstd")
        data = buffer.getvalue()
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return digest

    def keep_text(self, text: str) -> str:
        """Keep a text, and return the digest of its blob."""
        return self.keep(pl.DataFrame({"": [text]}))

    def keep_result(self, result: Any) -> str:
        """Keep all parts of a result, and return the digest by which they are put together again."""
        return self.keep_text(json.dumps(parts_of(result, self.keep), allow_nan=False))


class Shelf:
    """Blobs of a store as they are read, over one connection."""

    def __init__(self, connection: Any, name: str) -> None:
        self._connection, self._name = connection, name
        self._n_bytes = 0

    def fetch(self, digest: str) -> pl.DataFrame:
        """The frame of a blob.

        Raises   InputError where it is missing, damaged, or larger than any that Steelyard writes.
        """
        from sqlalchemy import select

        from steelyard.store.schema import BLOBS

        data = self._connection.execute(select(BLOBS.c.data).where(BLOBS.c.digest == digest)).scalar()
        if data is None or hashlib.sha256(data).hexdigest() != digest:
            what = "is missing" if data is None else "is damaged"
            raise InputError(f"{self._name}: a part of the entry {what}; restore the store from a copy")
        with native_reader(f"{self._name}: a part of the entry"):
            rows = pl.scan_ipc(io.BytesIO(data))
            self._allow(8 * rows.select(pl.len()).collect().item() * len(rows.collect_schema()))
            frame = rows.collect()
        self._n_bytes += int(frame.estimated_size())
        self._allow(0)
        return frame

    def _allow(self, n_bytes: int) -> None:
        if self._n_bytes + n_bytes > _MOST_BYTES:
            raise InputError(f"{self._name}: the entry holds more than {_MOST_BYTES >> 30} GB; it is not read")

    def fetch_text(self, digest: str) -> str:
        """The text of a blob."""
        text: str = self.fetch(digest).item()
        return text

    def fetch_result(self, kind: type[T], digest: str) -> T:
        """The result that `Bundle.keep_result` kept."""
        return from_parts(kind, json.loads(self.fetch_text(digest)), self.fetch)
