"""The lines of a finished run as its readers take them: each question once, none missing, and every line whole."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from steelyard.base.errors import InputError
from steelyard.base.schema import FrameReader

_REPAIR = "start the same run again (`steelyard run`), which repairs it from its whole lines"


@contextmanager
def repairable() -> Iterator[None]:
    """What is wrong with lines of a run, with the advice to repair it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{error}; {_REPAIR}") from None


def check_count(n: int, path: Path, manifest: Mapping[str, Any]) -> None:
    """Hold the lines of a run's outputs against its manifest, where that has a number.

    Raises   InputError where some are missing, or there twice.
    """
    counts = manifest.get("counts")
    expected = counts.get("questions") if isinstance(counts, Mapping) else None
    if isinstance(expected, int) and n != expected:
        raise InputError(f"{path}: has lines of {n} questions; its manifest.json says {expected}")


@dataclass
class RunReader:
    """The rankings of a run folder.

    reader   of its outputs;   path  these
    """

    name: str
    reader: FrameReader
    path: Path
    manifest: Mapping[str, Any]

    def batches(self) -> Generator[pl.DataFrame]:
        """As the reader gives them; a batch has whole lines."""
        n = 0
        with repairable():
            for batch in self.reader.batches():
                n += 1 + int(batch["query_id"].rle_id()[-1]) if len(batch) else 0
                yield batch
            check_count(n, self.path, self.manifest)

    def locate(self, query_id: str, doc_id: str) -> str:
        """Lines that list a document twice are two of one question."""
        return f"{self.reader.locate(query_id, doc_id)} ({_REPAIR})"
