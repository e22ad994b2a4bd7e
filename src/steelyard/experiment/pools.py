"""Pools: the documents that are to be graded for each question, with their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.base.errors import InputError
from steelyard.data.chunk_table import Corpus
from steelyard.data.questions import Questions
from steelyard.experiment.door.opening import System


@dataclass(frozen=True)
class Pool:
    """Documents to grade.

    doc_ids   of each question, each once
    texts     of each document; of some there may be none
    """

    doc_ids: Mapping[str, Sequence[str]]
    texts: Mapping[str, str]

    @property
    def n_pairs(self) -> int:
        """Pairs of a question and a document."""
        return sum(map(len, self.doc_ids.values()))


def merged(pools: Sequence[Pool], questions: Questions) -> Pool:
    """All documents of some pools, question by question, in the order in which they come.

    Raises   InputError where one id has two texts.
    """
    texts: dict[str, str] = {}
    for pool in pools:
        for doc_id, text in pool.texts.items():
            if texts.setdefault(doc_id, text) != text:
                raise InputError(
                    f"document {doc_id!r} has two texts in the pool; an id names one document: grade what was cut in "
                    "different ways apart, or name the chunks after how they were cut"
                )
    ids = [question.query_id for question in questions]
    listed = {id: [doc_id for pool in pools for doc_id in pool.doc_ids.get(id, ())] for id in ids}
    return Pool({id: tuple(dict.fromkeys(docs)) for id, docs in listed.items()}, texts)


def run_pool(system: System, depth: int, corpus: Corpus | None) -> Pool:
    """The first documents of each list of a system, of each of its runs.

    corpus   where the texts are that the system does not have
    """
    doc_ids: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for run in system.runs:
        ranking = run.run.top(depth)
        for query_id, doc_id in ranking.select("query_id", "doc_id").iter_rows():
            doc_ids.setdefault(query_id, []).append(doc_id)
        texts |= _texts(run, ranking["doc_id"].unique(maintain_order=True), corpus)
    return Pool(doc_ids, texts)


def _texts(system: System, doc_ids: Iterable[str], corpus: Corpus | None) -> dict[str, str]:
    table = system.answered().table
    own = {id: table.texts[table.row_of[id]] for id in doc_ids if id in table.row_of}
    texts = {id: text for id, text in own.items() if text is not None}
    lacking = [id for id in own if id not in texts]
    return texts if corpus is None or not lacking else texts | corpus.texts(lacking)
