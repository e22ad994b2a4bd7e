"""Frames as compressed Arrow, kept in a store by what they hold."""

from __future__ import annotations

import hashlib
import io
import json
from typing import Any, TypeVar

import polars as pl

from steelyard.base.errors import InputError
from steelyard.experiment.parts import from_parts, parts_of

T = TypeVar("T")


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
        return self.keep_text(json.dumps(parts_of(result, self.keep), ensure_ascii=False, allow_nan=False))


class Shelf:
    """Blobs of a store as they are read, over one connection."""

    def __init__(self, connection: Any, name: str) -> None:
        self._connection, self._name = connection, name

    def fetch(self, digest: str) -> pl.DataFrame:
        """The frame of a blob.

        Raises   InputError where it is missing or damaged.
        """
        from sqlalchemy import select

        from steelyard.store.schema import BLOBS

        data = self._connection.execute(select(BLOBS.c.data).where(BLOBS.c.digest == digest)).scalar()
        if data is None or hashlib.sha256(data).hexdigest() != digest:
            what = "is missing" if data is None else "is damaged"
            raise InputError(f"{self._name}: a part of the entry {what}; restore the store from a copy")
        return pl.read_ipc(io.BytesIO(data))

    def fetch_text(self, digest: str) -> str:
        """The text of a blob."""
        text: str = self.fetch(digest).item()
        return text

    def fetch_result(self, kind: type[T], digest: str) -> T:
        """The result that `Bundle.keep_result` kept."""
        return from_parts(kind, json.loads(self.fetch_text(digest)), self.fetch)
