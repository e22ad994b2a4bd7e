"""Names, types and meaning of the columns of every frame, and of what yields frames."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

import polars as pl

RUN = pl.Schema({"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64})
"""One retrieved document a row; scores finite.  A row without doc_id is a query that got nothing."""

TRUTH = pl.Schema({"query_id": pl.String, "doc_id": pl.String, "gain": pl.Float64})
"""One judged document a row; gains finite.  A row without doc_id is a query that has no judged document."""

SCORES = pl.Schema(
    {
        "system": pl.String, "query_id": pl.String, "measure": pl.String, "value": pl.Float64, "status": pl.String,
        "reason": pl.String, "judged": pl.Float64,
    }
)  # fmt: skip
"""One value a row: what is its status, for which reason (null where that is ok), and the share of labelled documents
that it looked at (null where there are none); `Scores.frame` explains them."""

COLUMN_NAMES = {
    "query_id": ("query_id", "qid", "q_id", "query-id", "queryid", "topic", "topic_id"),
    "doc_id": ("doc_id", "docid", "docno", "doc-id", "corpus-id", "corpus_id", "did", "pid", "chunk_id"),
    "score": ("score", "sim", "similarity"),
    "gain": ("gain", "relevance", "rel", "label", "grade", "score"),
}
"""What each column is called in files and frames of other tools, first choice first."""


def canonical_order(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of a run by query, then score, best first, then doc_id, descending by bytes, as trec_eval sorts.

    >>> rows = [("q", "d1", 0.5), ("q", "d9", 0.5), ("q", "d2", 0.7)]
    >>> canonical_order(pl.DataFrame(rows, RUN, orient="row"))["doc_id"].to_list()
    ['d2', 'd9', 'd1']
    """
    return frame.sort("query_id", "score", "doc_id", descending=[False, True, True], maintain_order=True)


class FrameReader(Protocol):
    """A run or a truth that can be read batch by batch, more than once."""

    name: str

    def batches(self) -> Generator[pl.DataFrame]:
        """Frames of schema RUN (or TRUTH), in the order of the input; numbers are finite."""
        ...

    def locate(self, query_id: str, doc_id: str) -> str:
        """The place where a document of a query is listed, for an error message: "run.txt, lines 3 and 9"."""
        ...
