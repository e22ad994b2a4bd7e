"""A run: what a system retrieved for each query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeGuard

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools
from steelyard.base.choices import OnDuplicate
from steelyard.base.errors import SETTLE_DUPLICATES, DuplicateError, InputError
from steelyard.base.schema import RUN, FrameReader, canonical_order
from steelyard.io import formats, objects
from steelyard.io.objects import RunDict
from steelyard.io.source import Source
from steelyard.io.tables import checked, in_memory
from steelyard.io.trec import TrecFile


class Run:
    """Rankings that a system retrieved, held in memory and ready to be weighed again and again.

    Make one with `Run.read(path)` or `Run(data)`, where data is a dict of dicts {query_id: {doc_id: score}}, a dict of
    lists {query_id: [doc_ids, best first]}, a Polars, pandas or PyArrow frame, named tuples with its columns, or a ranx
    Run.  Do not change the data afterwards: what was computed from it is kept.

    name      what the system is called in results;   content   the rows, as a reader of frames or a checked dict
    Raises    InputError for data that is no run.
    """

    def __init__(self, data: object, *, name: str = "run") -> None:
        self.name = name
        self.content = _content(data, name)
        self._digest: Callable[[], str] | None = None

    @classmethod
    def read(cls, path: str | Path | Source, *, name: str | None = None, format: str | None = None) -> Run:
        """Read a run from a TREC file, JSON, JSONL, CSV, TSV, Parquet or Arrow; "-" is standard input.

        name     by default the file's name without suffixes
        format   a name from `steelyard.io.formats`; by default that of suffix and content
        Raises   InputError naming file and line.
        """
        file = formats.open_run(path, format)
        if isinstance(file.reader, RunDict):
            run = cls(file.reader.rankings, name=name or file.name)
        else:
            run = cls.of_rows(pl.concat(file.reader.batches()), name or file.name, file.reader.locate)
        run._digest = file.digest
        return run

    @classmethod
    def of_rows(cls, frame: pl.DataFrame, name: str, locate: Callable[[str, str], str] | None = None) -> Run:
        """A run of a frame that has the schema RUN already; a row without doc_id is a question that got nothing."""
        run = cls(pl.DataFrame(schema=RUN), name=name)
        run.frame = frame
        run.content = checked(frame, name, "run", locate)
        return run

    def __repr__(self) -> str:
        return f"Run({self.name!r})"

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All rows: query_id, doc_id, score."""
        return pl.concat(_reader(self.content).batches())

    def checked_frame(self, on_duplicate: OnDuplicate = "error") -> pl.DataFrame:
        """All rows, with every document once for a question.

        Raises   DuplicateError naming question and document.
        """
        frame = self.frame if on_duplicate != "max" else self.frame.sort("score", descending=True, maintain_order=True)
        unique = frame.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
        if on_duplicate == "error" and unique.height < frame.height:
            query, doc, _ = frame.filter(pl.struct("query_id", "doc_id").is_duplicated()).row(0)
            where = self.name if isinstance(self.content, RunDict) else self.content.locate(query, doc)
            raise DuplicateError(
                f"{where}: document {doc!r} is retrieved twice for question {query!r}; {SETTLE_DUPLICATES}"
            )
        return unique

    def digest(self) -> str:
        """A fingerprint of the content, or of the file that it came from."""
        return objects.frame_digest(self.frame) if self._digest is None else self._digest()

    def top(self, k: int) -> pl.DataFrame:
        """The first k of every list: query_id, doc_id, rank; ordered by query_id and rank."""
        return _top([self.frame], k)


class StreamedRun:
    """A run in a file that is read, weighed and forgotten."""

    def __init__(self, path: str | Path | Source, *, name: str | None = None, format: str | None = None) -> None:
        file = formats.open_run(path, format)
        self.name = name or file.name
        self.content = file.reader
        self.digest = file.digest

    @property
    def tag(self) -> str:
        """Name that the run gives itself on its last line, or else its name."""
        return self.content.last_tag() if isinstance(self.content, TrecFile) else self.name

    def top(self, k: int) -> pl.DataFrame:
        """The first k of every list: query_id, doc_id, rank; ordered by query_id and rank."""
        return _top(_reader(self.content).batches(), k)

    def rankings_digest(self) -> str:
        """A fingerprint of the rows alone, for a file that has other things in it, such as times."""
        return objects.frame_digest(pl.concat(_reader(self.content).batches()))


def _reader(content: FrameReader | RunDict) -> FrameReader:
    return content.table() if isinstance(content, RunDict) else content


def _top(batches: Iterable[pl.DataFrame], k: int) -> pl.DataFrame:
    """The first k of every query in the canonical order; memory holds little more than these."""
    best = pl.DataFrame(schema=RUN)
    for batch in batches:
        best = pl.concat([best, _first(batch, k)])
    return _first(best, k).select("query_id", "doc_id", rank=pl.int_range(1, pl.len() + 1).over("query_id"))


def ranked(frame: pl.DataFrame) -> pl.DataFrame:
    """query_id, doc_id and rank from 1 of every retrieved document, by the canonical order of each list."""
    frame = frame.drop_nulls("doc_id")
    opens, score = _opens(frame), frame["score"].to_numpy()
    in_blocks = int(opens.sum()) == frame["query_id"].n_unique()
    if not in_blocks or not (opens[1:] | (score[1:] < score[:-1])).all():
        frame = canonical_order(frame)
        opens = _opens(frame)
    rank = np.arange(1, len(opens) + 1) - np.flatnonzero(opens)[np.cumsum(opens) - 1]
    return frame.select("query_id", "doc_id", rank=pl.Series(rank, dtype=pl.Int64))


def _opens(frame: pl.DataFrame) -> Bools:
    """(n,) whether a row is the first of a block of its query."""
    block = frame["query_id"].rle_id().to_numpy()
    return np.asarray(np.diff(block, prepend=-1) != 0)


def _first(frame: pl.DataFrame, k: int) -> pl.DataFrame:
    ordered = canonical_order(frame.drop_nulls("doc_id"))
    first = ordered.group_by("query_id", maintain_order=True).head(k)
    if not first.select(pl.struct("query_id", "doc_id").is_duplicated().any()).item():
        return first
    once = ordered.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    return once.group_by("query_id", maintain_order=True).head(k)


def _content(data: object, name: str) -> FrameReader | RunDict:
    data = objects.ranx_dict(data) or objects.in_hand(data)
    if objects.is_frame(data):
        return in_memory(objects.to_polars(data), name, "run")
    if isinstance(data, Mapping):
        return RunDict.checked(data, name)
    raise InputError(
        f"{name}: cannot be read from {type(data).__name__}; "
        "pass a path, a dict {query_id: {doc_id: score}} or a frame with query_id, doc_id and score; a function or a "
        "retriever is asked by sy.run(it, questions)"
    )


def is_path(data: object) -> TypeGuard[str | Path]:
    """True if this names a file."""
    return isinstance(data, str | Path)


class Repeats:
    """Runs of one system over the same questions: other seeds, or answers of a model that differ each time.

    runs     anything that `evaluate` takes as a run: paths, Runs, Outputs, dicts, frames, run folders
    Raises   InputError where there is none

    >>> Repeats(["run1.trec", "run2.trec"])
    Repeats(2 runs)
    """

    def __init__(self, runs: Iterable[object]) -> None:
        self.runs = tuple(runs)
        if not self.runs:
            raise InputError("there is no run among the repeats; pass one or several")

    def __repr__(self) -> str:
        return f"Repeats({len(self.runs)} run{'s' * (len(self.runs) > 1)})"
