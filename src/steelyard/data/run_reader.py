"""The rankings of a finished run, as its readers take them: each question once, none missing, and every line whole."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import polars as pl

from steelyard.base.schema import FrameReader
from steelyard.data.run_folder import REPAIR, RunFolder


@dataclass
class RunReader:
    """A reader of the outputs of a run folder, which says what to do where they are damaged."""

    name: str
    reader: FrameReader
    folder: RunFolder

    def batches(self) -> Generator[pl.DataFrame]:
        """As the reader gives them; a batch has whole lines."""
        n = 0
        with self.folder.reading_lines():
            for batch in self.reader.batches():
                n += 1 + int(batch["query_id"].rle_id()[-1]) if len(batch) else 0
                yield batch
            self.folder.check_count(n)

    def locate(self, query_id: str, doc_id: str) -> str:
        """Lines that list a document twice are two of one question."""
        return f"{self.reader.locate(query_id, doc_id)} ({REPAIR})"
