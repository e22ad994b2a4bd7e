"""A run or a truth from one format to another."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from steelyard.base import defaults
from steelyard.base.choices import FileKind, OnDuplicate
from steelyard.data.run import Run
from steelyard.data.truth import Truth
from steelyard.io.formats import file_kind
from steelyard.io.source import Source
from steelyard.io.write import write_run, write_truth


@dataclass(frozen=True)
class Conversion:
    """Counts of what was written: queries, and their documents.

    n_lost   queries without any document, where the format cannot hold such
    """

    kind: FileKind
    n_queries: int
    n_documents: int
    n_lost: int

    def __str__(self) -> str:
        text = f"run: {self.n_queries} questions, {self.n_documents} retrieved documents"
        if self.kind == "truth":
            text = f"truth: {self.n_queries} questions, {self.n_documents} judged documents"
        if not self.n_lost:
            return text
        return f"{text} (lost: {self.n_lost} without any document; only JSON and JSONL can hold such questions)"


def convert(
    source: str | Path,
    target: str | Path,
    *,
    kind: FileKind | None = None,
    on_duplicate: OnDuplicate = defaults.ON_DUPLICATE,
    safe_csv: bool = False,
) -> Conversion:
    """Read a run or a truth, and write it in the format of the target's suffix.

    kind      what the source holds; by default what its columns or keys show
    safe_csv  whether ids in CSV and TSV get a ' where a spreadsheet would compute them; they are other ids then
    Raises   InputError, DuplicateError, OutputError.
    """
    # One Source, since a pipe can be read but once; a folder is none.
    located = source if str(source) != "-" and os.path.isdir(source) else Source(source)
    kind = kind or file_kind(located, target)
    if kind == "truth":
        truth = Truth.read(located, on_duplicate=on_duplicate)
        n_lost = write_truth(truth.frame, Path(target), safe_csv=safe_csv)
        return Conversion(kind, len(truth) - n_lost, len(truth.gain), n_lost)
    run = Run.read(located)
    frame = run.checked_frame(on_duplicate)
    n_lost = write_run(frame, Path(target), run.name, safe_csv=safe_csv)
    n_documents = frame["doc_id"].len() - frame["doc_id"].null_count()
    return Conversion(kind, frame["query_id"].n_unique() - n_lost, n_documents, n_lost)
