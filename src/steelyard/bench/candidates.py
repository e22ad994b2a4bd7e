"""What rerankers are given: for each question the results of a first search, best first, with their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.base.notes import Note


@dataclass(frozen=True, eq=False)
class Candidates:
    """The lists of a first search.

    name       of the run that they are from
    query_ids  every question of the truth, in its order
    queries    query_id -> what is asked
    doc_ids    query_id -> the whole list, best first; empty or absent where the search gave nothing
    texts      doc_id -> its text, of every candidate that some depth reaches
    notes      what a reader should know: duplicates, empty texts, documents left out
    """

    name: str
    query_ids: Sequence[str]
    queries: Mapping[str, str]
    doc_ids: Mapping[str, Sequence[str]]
    texts: Mapping[str, str]
    notes: Sequence[Note] = ()

    def first(self, query_id: str, depth: int) -> Sequence[str]:
        """The candidates that are reranked: the first `depth`, or all where there are fewer."""
        return self.doc_ids.get(query_id, ())[:depth]
