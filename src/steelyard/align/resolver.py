"""Gold resolved once for each corpus: labels of its chunks, and a record of what was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from steelyard.align.gold import Gold, Loss, LossCode
from steelyard.align.resolution import Resolution, resolve
from steelyard.base.arrays import Ints
from steelyard.base.choices import Unit
from steelyard.base.errors import InputError
from steelyard.data.chunk_table import ChunkTable, Corpus
from steelyard.data.corpus import Chunks, Document
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth
from steelyard.text.folding import DEFAULT_STEPS
from steelyard.text.spans import SpanRule

_STAND_IN = "\x00gold "


@dataclass(frozen=True)
class GoldMapping:
    """Mapping of gold resolved among the chunks of one system.

    rule, steps    by which chunks hold a piece, and text was folded
    kinds          how many gold pieces of each kind there are: none that is judged 0, and alternatives as one piece
    complete       whether all chunks of the corpus were at hand, or only the retrieved ones
    placed         whether documents were at hand; without them quotes are compared with chunks as texts are
    lost           (query_id, piece, reason) of each of these that chunks do not hold, nor any alternative of it
    unwinnable     ids of the questions all of whose gold is lost
    codes          why each piece of `lost` is lost, in the same order: not_in_corpus, cut or unknown; empty where an
                   older file has the reasons in words alone
    unit           what is weighed: chunks, or their documents, which gold then labels by id; a rule has no say there
    """

    rule: str
    steps: tuple[str, ...]
    kinds: dict[str, int]
    complete: bool
    placed: bool
    lost: tuple[tuple[str, str, str], ...]
    unwinnable: tuple[str, ...]
    codes: tuple[LossCode, ...] = ()
    unit: Unit = "chunk"

    @property
    def n_pieces(self) -> int:
        """Gold pieces of all questions."""
        return sum(self.kinds.values())

    @property
    def n_coarse(self) -> int:
        """Pieces that name whole documents."""
        return self.kinds.get("document", 0)


@dataclass(frozen=True, eq=False)
class ResolvedGold:
    """Gold resolved among chunks: all that does not depend on the order in which a system ranks them.

    resolution  the gold pieces among the chunks of table
    mapping     how they were resolved
    labels      the gain of every chunk that holds gold
    lost        rows of the pieces that all chunks together do not hold -> why
    """

    resolution: Resolution
    table: ChunkTable
    mapping: GoldMapping
    labels: Truth
    lost: Mapping[int, Loss]


class Resolver:
    """Resolves the gold of questions among the chunks of systems, once for each corpus.

    corpus   chunks or documents; by default those that the outputs themselves have
    rule     when chunks hold a passage: any, contains, or share>=X;   steps   of folding, for quotes and texts
    recipe   unit, rule and steps, as scores quote them
    Raises   InputError for a rule that does not exist.
    """

    def __init__(
        self,
        questions: Questions,
        *,
        corpus: Corpus | None = None,
        rule: str = "share>=0.5",
        steps: Sequence[str] = DEFAULT_STEPS,
    ) -> None:
        self.recipe = {"unit": "chunk", "rule": rule, "steps": list(steps)}
        self.gold, self._gold = questions, Gold.of(list(questions))
        self._corpus, self._rule, self._steps = corpus, SpanRule.parse(rule), tuple(steps)
        self._resolved: list[tuple[ChunkTable, Sequence[Document] | None, ResolvedGold]] = []

    def resolve(self, outputs: Outputs) -> ResolvedGold:
        """The gold among the chunks that a system could have retrieved.

        Where all chunks of the corpus are at hand, outputs of one corpus (equal chunks and documents) share one result,
        and so do the candidates of a reranker and what it returned.  Where only the retrieved chunks are, a chunk holds
        gold only for the questions that retrieved it, and nothing is shared.
        Raises   InputError and its children.
        """
        table, documents = searched(outputs, self._corpus)
        if not table.complete:
            retrieved = _retrieved(outputs.run.frame, table, self._gold.query_ids)
            return self._resolve(outputs.name, table, documents, retrieved)
        return self._resolve_corpus(outputs.name, table, documents)

    def check(self, chunks: Chunks | None, documents: Sequence[Document] | None) -> None:
        """See whether gold can be looked up in a corpus, before anything is retrieved from it.

        Raises   InputError for a quote, page or span that its document does not have, naming the question.
        """
        if chunks is not None:
            self._resolve_corpus(self.gold.name, ChunkTable.of(chunks), chunks.documents)
        elif documents is not None:
            nothing = ChunkTable.of_rows({}, complete=False)
            self._resolve(self.gold.name, nothing, documents, (np.zeros(0, np.int64), np.zeros(0, np.int64)))

    def _resolve_corpus(self, name: str, table: ChunkTable, documents: Sequence[Document] | None) -> ResolvedGold:
        """The gold among all chunks of a corpus: that of an equal corpus, where there was one before."""
        for other_table, other_documents, resolved in self._resolved:
            if table.equals(other_table) and equal_documents(documents, other_documents):
                return resolved
        resolved = self._resolve(name, table, documents, None)
        self._resolved.append((table, documents, resolved))
        return resolved

    def _resolve(
        self, name: str, table: ChunkTable, documents: Sequence[Document] | None, retrieved: tuple[Ints, Ints] | None
    ) -> ResolvedGold:
        gold = self._gold
        incomparable = _incomparable(gold, table, documents, name)
        resolution = resolve(gold, table, documents, rule=self._rule, steps=self._steps, retrieved=retrieved)
        losses = dict(sorted({**resolution.lost, **incomparable}.items()))
        held = resolution.is_held
        lost = gold.counted(row for row in losses if not held[gold.group[row]])
        mapping = GoldMapping(
            rule=str(self._rule),
            steps=self._steps,
            kinds=gold.kinds,
            complete=table.complete,
            placed=documents is not None,
            lost=tuple((gold.query_ids[gold.query[i]], str(gold.pieces[i]), losses[i].why) for i in lost),
            unwinnable=_unwinnable(resolution, table),
            codes=tuple(losses[i].code for i in lost),
        )
        return ResolvedGold(resolution, table, mapping, _labels(resolution, table, self.gold.name), losses)


def equal_documents(some: Sequence[Document] | None, others: Sequence[Document] | None) -> bool:
    """True if both are the same documents in the same order, or neither is known."""
    return some is others or (some is not None and others is not None and list(some) == list(others))


def searched(outputs: Outputs, corpus: Corpus | None) -> tuple[ChunkTable, Sequence[Document] | None]:
    """Chunks and documents: those of the run's own corpus, else those of `corpus`, else the retrieved ones.

    A run of a system that is no pipeline may have documents alone, before which those of `corpus` come.
    """
    if outputs.chunks is not None:
        return outputs.table, outputs.chunks.documents
    if corpus is None:
        return outputs.table, outputs.documents
    return outputs.table if corpus.chunks is None else corpus.chunks, corpus.documents


def _retrieved(frame: pl.DataFrame, table: ChunkTable, query_ids: Sequence[str]) -> tuple[Ints, Ints]:
    """Number of the question and row of the chunk of everything retrieved."""
    number = {query_id: i for i, query_id in enumerate(query_ids)}
    listed = frame.drop_nulls("doc_id").filter(pl.col("query_id").is_in(list(number)))
    query = np.array([number[query_id] for query_id in listed["query_id"].to_list()], np.int64)
    return query, np.array([table.row_of[id] for id in listed["doc_id"].to_list()], np.int64)


def _labels(resolution: Resolution, table: ChunkTable, name: str) -> Truth:
    """The chunks that hold gold, each with the best gain that it holds.

    Pieces that no chunk holds by itself have a stand-in: chunks may hold them together, and where not all chunks are at
    hand, ideal rankings and denominators would else be made of what the system itself retrieved.
    """
    gold = resolution.gold
    labels: dict[str, dict[str, float]] = {query_id: {} for query_id in gold.query_ids}

    def label(row: int, doc_id: str) -> None:
        gains = labels[gold.query_ids[gold.query[row]]]
        gains[doc_id] = max(gains.get(doc_id, -np.inf), float(gold.gain[row]))

    for row, chunk in zip(resolution.piece.tolist(), resolution.chunk.tolist(), strict=True):
        label(row, table.ids[chunk])
    wanted = ~resolution.is_held_alone & (resolution.is_held | (not table.complete))
    for row, piece in enumerate(gold.pieces):
        if piece.kind == "chunk":
            label(row, piece.chunk_id)
        elif wanted[gold.group[row]]:
            label(row, f"{_STAND_IN}{gold.group[row]}")
    return Truth(labels, name=name)


def _unwinnable(resolution: Resolution, table: ChunkTable) -> tuple[str, ...]:
    """Questions that have gold, none of which chunks of the corpus hold."""
    if not table.complete:
        return ()
    gold = resolution.gold
    has_gold, held = np.zeros(len(gold.questions), bool), np.zeros(len(gold.questions), bool)
    has_gold[gold.query[gold.gain > 0]] = True
    held[gold.query[(gold.gain > 0) & resolution.is_held[gold.group]]] = True
    return tuple(gold.query_ids[q] for q in np.flatnonzero(has_gold & ~held).tolist())


def _incomparable(gold: Gold, table: ChunkTable, documents: Sequence[Document] | None, name: str) -> dict[int, Loss]:
    """Pieces that nothing in the outputs could be compared with, and why.

    Raises   InputError where no piece can be compared.
    """
    docs = any(doc is not None for doc in table.docs)
    pages = (documents is not None and table.has_offsets) or any(listed is not None for listed in table.pages)
    needs = {
        "span": (table.has_offsets or (table.has_text and documents is not None), "`doc`, `start` and `end`"),
        "quote": (table.has_text or (table.has_offsets and documents is not None), "`text`"),
        "text": (table.has_text, "`text`"),
        "document": (docs, "`doc`"),
        "pages": (pages, "`page`"),
    }
    missing = {kind: keys for kind, (present, keys) in needs.items() if not present and len(table)}
    losses = {
        row: Loss("unknown", f"no retrieved item has {missing[piece.kind]}")
        for row, piece in enumerate(gold.pieces)
        if piece.kind in missing
    }
    if losses and len(losses) == len(gold.pieces):
        raise InputError(
            f"{name}: {gold.where(0)} names {gold.pieces[0]}, and {losses[0].why}; add it to the outputs, or name the "
            "corpus (--documents)"
        )
    return losses
