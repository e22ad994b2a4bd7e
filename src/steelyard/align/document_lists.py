"""Lists of chunks as lists of documents, each at the best of its chunks, and gold that is documents by their ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from steelyard.align.documents import NumberedDocuments
from steelyard.align.gold import Gold, Loss
from steelyard.align.resolver import GoldMapping, ResolvedGold, equal_documents, searched
from steelyard.base.arrays import Floats, Ints
from steelyard.base.choices import OnDuplicate
from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.data.chunk_table import NOWHERE, ChunkTable, Corpus
from steelyard.data.corpus import Chunks, Document
from steelyard.data.outputs import Outputs
from steelyard.data.pieces import Piece
from steelyard.data.question import Question
from steelyard.data.questions import Questions
from steelyard.data.run import Run
from steelyard.data.truth import Truth
from steelyard.text.matching import match_texts

_FEW_QUESTIONS = 3
"""Of fewer questions, that no document is retrieved by its name in the gold says nothing of names."""


def naming_notes(gold: ResolvedGold, outputs: Outputs) -> Iterator[Note]:
    """Notes on names of documents in gold and outputs.

    quote_elsewhere     quotes that no chunk of their document holds, and that are word for word in a text which their
                        question retrieved, of a document whose name and theirs mean nothing to each other
    no_name_in_common   without a corpus: no document that the gold names is among those that the chunks name
    """
    pairs = _quotes_elsewhere(gold, outputs)
    if pairs:
        (piece, chunk), pieces = pairs[0], gold.resolution.gold
        example = {
            "n": len({piece for piece, _ in pairs}),
            "query_id": pieces.query_ids[pieces.query[piece]],
            "name": pieces.pieces[piece].doc,
            "retrieved": gold.table.docs[chunk],
        }
        yield Note("quote_elsewhere_in_corpus" if gold.mapping.placed else "quote_elsewhere", example)
    else:
        yield from no_name_in_common(gold.resolution.gold, gold.resolution.documents, gold.table)


def no_name_in_common(gold: Gold, documents: NumberedDocuments, table: ChunkTable) -> Iterator[Note]:
    """A note where, without a corpus, no document that the gold names is among those that the chunks name."""
    retrieved = sorted({doc for doc in table.docs if doc is not None})
    rows = gold.rows("document", "span", "quote", "pages")
    if table.complete or not retrieved or len(np.unique(gold.query[rows])) < _FEW_QUESTIONS:
        return
    numbers = {documents.number(doc) for doc in retrieved} - {NOWHERE}
    if not any(documents.number(doc) in numbers for doc in gold.documents):
        yield Note("no_name_in_common", {"name": gold.pieces[rows[0]].doc, "retrieved": retrieved[0]})


def _quotes_elsewhere(resolved: ResolvedGold, outputs: Outputs) -> list[tuple[int, int]]:
    """Such quotes, each with the chunks that hold its words; by quote, then rank."""
    resolution, table = resolved.resolution, resolved.table
    gold, documents = resolution.gold, resolution.documents
    number = {doc: documents.number(doc) for doc in {*table.docs, *gold.documents}}
    strange = any(number[doc] == NOWHERE for doc in {*table.docs} - {None})
    held = set(gold.group[resolution.piece].tolist())
    rows = [
        row
        for row in gold.rows("quote").tolist()
        if gold.gain[row] > 0
        and gold.group[row] not in held
        and (strange or not documents.holds(number[gold.pieces[row].doc]))
    ]
    retrieved = _retrieved(resolved, outputs, {int(gold.query[row]) for row in rows})
    chunks = sorted({chunk for listed in retrieved.values() for chunk in listed})
    if not chunks:
        return []
    golds, texts = [gold.pieces[row].text for row in rows], [table.texts[chunk] or "" for chunk in chunks]
    matches = match_texts(golds, texts, steps=resolved.mapping.steps)
    holding = {
        (rows[i], chunks[j])
        for i, j in zip(matches.gold[matches.gold_in_chunk], matches.chunk[matches.gold_in_chunk], strict=True)
    }
    return [
        (row, chunk)
        for row in rows
        for chunk in retrieved.get(int(gold.query[row]), ())
        if (row, chunk) in holding
        and (number[table.docs[chunk]] == NOWHERE or not documents.holds(number[gold.pieces[row].doc]))
    ]


def _retrieved(resolved: ResolvedGold, outputs: Outputs, queries: set[int]) -> dict[int, list[int]]:
    """Question -> rows of what it retrieved, best first, as far as text and document are known."""
    gold, table = resolved.resolution.gold, resolved.table
    names = pl.DataFrame(
        {"query_id": [gold.query_ids[q] for q in queries], "query": list(queries)},
        schema={"query_id": pl.String, "query": pl.Int64},
    )
    listed: dict[int, list[int]] = {}
    if queries:
        frame = outputs.run.frame.drop_nulls("doc_id").join(names, on="query_id").sort("score", descending=True)
        for query, id in frame.select("query", "doc_id").iter_rows():
            chunk = table.row_of.get(id)
            if chunk is not None and table.docs[chunk] is not None and table.texts[chunk]:
                listed.setdefault(query, []).append(chunk)
    return listed


def names_documents(questions: Questions) -> bool:
    """True if all gold of questions is whole documents, none of which is an alternative of another.

    >>> names_documents(Questions([{"qid": "q", "query": "?", "evidence": [{"doc": "a"}, {"doc": "b"}]}]))
    True
    """
    gold = Gold.of(list(questions))
    return {piece.kind for piece in gold.pieces} == {"document"} and gold.n_groups == len(gold.pieces)


def best_documents(frame: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """The rows of a run of chunks as those of a run of documents, each with the score of its best chunk.

    frame       query_id, doc_id, score; a null doc_id is a query that got nothing, and stays
    documents   doc_id and `document` of each chunk; a chunk that is not there is a document by its id
    """
    named = frame.join(documents, on="doc_id", how="left", maintain_order="left")
    named = named.with_columns(document=pl.coalesce("document", "doc_id"))
    # NaN is no score, and stays for the alignment to refuse.
    best = named.group_by("query_id", "document", maintain_order=True).agg(pl.col("score").nan_max())
    return best.select("query_id", "score", doc_id="document").select(frame.columns)


@dataclass(frozen=True, eq=False)
class DocumentGold:
    """Gold as documents, among those that the chunks of one corpus are of.

    labels      gain by document, of every gold document, whether or not the corpus has it
    mapping     what was lost
    table       the documents: as chunks that are whole
    documents   doc_id and `document` of each chunk
    notes       what a reader should know of their names
    lost_query, lost_gain   (l,) place of the question, and gain, of each lost piece
    """

    labels: Truth
    mapping: GoldMapping
    table: ChunkTable
    documents: pl.DataFrame = field(repr=False)
    notes: Sequence[Note]
    lost_query: Ints = field(repr=False)
    lost_gain: Floats = field(repr=False)

    def listed(self, outputs: Outputs, on_duplicate: OnDuplicate = "error") -> Outputs:
        """The outputs with lists of documents in place of those of chunks.

        Raises   DuplicateError for a chunk that is in a list twice.
        """

        def collapsed(run: Run) -> Run:
            return Run.of_rows(best_documents(run.checked_frame(on_duplicate), self.documents), run.name)

        candidates = None if outputs.candidates is None else collapsed(outputs.candidates)
        return outputs.with_lists(collapsed(outputs.run), candidates, self.table)

    @cached_property
    def document_of(self) -> Mapping[str, str]:
        """The document of each chunk, by id."""
        return dict(self.documents.iter_rows())

    def count_lost(self, n_queries: int, min_gain: float) -> Ints:
        """(q,) relevant pieces of whose document there is no chunk."""
        return np.bincount(self.lost_query[self.lost_gain >= min_gain], minlength=n_queries)


class DocumentResolver:
    """Makes documents of the gold, and of the lists of systems, once for each corpus.

    gold     questions, each of whose pieces stands for its document; or a truth that labels documents by their ids
    corpus   chunks or documents; by default those that the outputs themselves have
    recipe   the unit, as scores quote it
    Raises   InputError for gold that names no document, or several that are alternatives.
    """

    def __init__(self, gold: Questions | Truth, *, corpus: Corpus | None = None) -> None:
        self.recipe = {"unit": "document"}
        self.gold, self._corpus = gold, corpus
        self._pieces = Gold.of(_questions_of(gold) if isinstance(gold, Truth) else list(gold))
        _check_pieces(self._pieces)
        self._resolved: list[tuple[ChunkTable, Sequence[Document] | None, DocumentGold]] = []

    def resolve(self, outputs: Outputs) -> DocumentGold:
        """The gold among the documents that a system could have retrieved; outputs of one corpus share one result.

        Raises   InputError where nothing says of which document the results are, and for ambiguous names.
        """
        table, documents = searched(outputs, self._corpus)
        for other_table, other_documents, resolved in self._resolved:
            if table.equals(other_table) and equal_documents(documents, other_documents):
                return resolved
        resolved = self._resolve(outputs.name, table, documents)
        self._resolved.append((table, documents, resolved))
        return resolved

    def check(self, chunks: Chunks | None, documents: Sequence[Document] | None) -> None:
        """See whether gold can be looked up in a corpus, as of `Resolver`: a document that it lacks is no error.

        Raises   InputError for a name that may mean several documents.
        """
        nothing = ChunkTable.of_rows({}, complete=False)
        if chunks is not None or documents is not None:
            NumberedDocuments.of(documents if chunks is None else chunks.documents, nothing, self._pieces)

    def _resolve(self, name: str, table: ChunkTable, documents: Sequence[Document] | None) -> DocumentGold:
        gold, names = self._pieces, _Names.of(self._pieces, table, documents)
        of_documents = _document_table(table, documents, names.of_chunks)
        _check_named(name, gold, table, names)
        labels = self._labels(names)
        lost = _losses(gold, names, of_documents, documents) if table.complete or documents is not None else {}
        place, rows = labels.places(pl.Series(gold.query_ids, dtype=pl.String)), list(lost)
        chunks = {"doc_id": table.ids, "document": names.of_chunks}
        return DocumentGold(
            labels,
            _mapping(gold, lost, complete=table.complete, placed=documents is not None),
            of_documents,
            documents=pl.DataFrame(chunks, schema={"doc_id": pl.String, "document": pl.String}),
            notes=tuple(no_name_in_common(gold, names.numbered, table)),
            lost_query=place[gold.query[rows]],
            lost_gain=gold.gain[rows],
        )

    def _labels(self, names: _Names) -> Truth:
        gold = self._pieces
        labels: dict[str, dict[str, float]] = {query_id: {} for query_id in gold.query_ids}
        for query, piece in zip(gold.query.tolist(), gold.pieces, strict=True):
            gains, document = labels[gold.query_ids[query]], names.of_piece(piece)
            gains[document] = max(gains.get(document, -np.inf), piece.gain)
        return Truth(labels, name=self.gold.name)


def _questions_of(truth: Truth) -> list[Question]:
    """The labels of a truth as gold documents."""
    return [
        Question(query_id, None, where=truth.name,
                 evidence=tuple(Piece("document", gain, doc=doc_id) for doc_id, gain in labels.items()))
        for query_id, labels in zip(truth.query_ids, truth.labels, strict=True)
    ]  # fmt: skip


def _check_named(name: str, gold: Gold, table: ChunkTable, names: _Names) -> None:
    """Refuse results with texts that say no document, and none of which is a gold document by its id."""
    if not gold.pieces or not table.says_where or any(doc is not None for doc in table.docs):
        return
    if not {names.of_piece(piece) for piece in gold.pieces} & set(names.of_chunks):
        raise InputError(
            f"{name}: {gold.where(0)} names {gold.pieces[0]}, and no retrieved item has `doc`, nor an id that is a "
            "gold document's; add it to the outputs, or name the corpus (--documents)"
        )


def _mapping(gold: Gold, lost: Mapping[int, Loss], *, complete: bool, placed: bool) -> GoldMapping:
    has_gold, winnable = np.zeros(len(gold.questions), bool), np.zeros(len(gold.questions), bool)
    relevant = gold.gain > 0
    has_gold[gold.query[relevant]] = True
    relevant[list(lost)] = False
    winnable[gold.query[relevant]] = True
    counted = gold.counted(lost)
    return GoldMapping(
        rule="", steps=(), kinds=gold.kinds, complete=complete, placed=placed, unit="document",
        lost=tuple((gold.query_ids[gold.query[i]], str(gold.pieces[i]), lost[i].why) for i in counted),
        unwinnable=tuple(gold.query_ids[q] for q in np.flatnonzero(has_gold & ~winnable).tolist()),
        codes=tuple(lost[i].code for i in counted),
    )  # fmt: skip


def _check_pieces(gold: Gold) -> None:
    """Raise   InputError for a text without a document, and for a group of several documents."""
    weigh_chunks = 'evaluate chunks: --unit chunk (unit="chunk")'
    texts = gold.rows("text")
    if len(texts):
        row = int(texts[0])
        raise InputError(
            f"{gold.where(row)}: {gold.pieces[row]} names no document, and documents are evaluated; name "
            f"its `doc`, or {weigh_chunks}"
        )
    document = dict[int, str]()
    for row, (group, piece) in enumerate(zip(gold.group.tolist(), gold.pieces, strict=True)):
        if piece.doc and document.setdefault(group, piece.doc) != piece.doc:
            raise InputError(
                f"{gold.where(row)}: group {piece.group!r} has several documents, and lists of documents know no "
                f"alternatives; leave the group out, or {weigh_chunks}"
            )


@dataclass(frozen=True)
class _Names:
    """Names of documents in lists and labels, by whatever name gold or chunks call them.

    of_chunks   (n,) the document of each chunk of the table; a chunk that says none is one by its id
    chunk       the same by the id of each chunk;   name   of the documents by number
    """

    of_chunks: Sequence[str]
    numbered: NumberedDocuments
    name: Mapping[int, str]
    chunk: Mapping[str, str]

    @classmethod
    def of(cls, gold: Gold, table: ChunkTable, documents: Sequence[Document] | None) -> _Names:
        docs = [id if doc is None else doc for id, doc in zip(table.ids, table.docs, strict=True)]
        numbered = NumberedDocuments.of(documents, replace(table, docs=docs), gold)
        if documents is None:
            # As gold has them, so that labels are alike for all systems.
            listed = [*sorted(set(docs), reverse=True), *sorted(gold.documents, reverse=True)]
            name = {numbered.number(doc): doc for doc in listed}
        else:
            name = {number: document.doc_id for number, document in enumerate(documents)}
        of_doc = {doc: name.get(numbered.number(doc), doc) for doc in set(docs)}
        of_chunks = [of_doc[doc] for doc in docs]
        return cls(of_chunks, numbered, name, dict(zip(table.ids, of_chunks, strict=True)))

    def of_piece(self, piece: Piece) -> str:
        """The document of a piece: of a chunk that is named by id, the one it is of, or is itself."""
        if piece.kind == "chunk":
            return self.chunk.get(piece.chunk_id, piece.chunk_id)
        return self.name.get(self.numbered.number(piece.doc), piece.doc)


def _document_table(table: ChunkTable, documents: Sequence[Document] | None, of_chunks: Sequence[str]) -> ChunkTable:
    """The documents that chunks are of: their texts, or where these are not at hand the texts of their chunks."""
    names = list(dict.fromkeys(of_chunks))
    whole = {document.doc_id: document.text for document in documents or ()}
    parts: dict[str, list[str]] = {}
    for name, text in zip(of_chunks, table.texts, strict=True) if table.has_text else ():
        if name not in whole and text is not None:
            parts.setdefault(name, []).append(text)
    texts = [whole[name] if name in whole else "\n\n".join(parts[name]) if name in parts else None for name in names]
    unknown = np.full(len(names), NOWHERE)
    return ChunkTable(
        names, names, unknown, end=unknown, texts=texts, pages=[None] * len(names), complete=table.complete
    )


def _losses(gold: Gold, names: _Names, table: ChunkTable, documents: Sequence[Document] | None) -> dict[int, Loss]:
    """Why no chunk is of the document of a piece: there is none, or it gave no chunk."""
    doc_ids = {document.doc_id for document in documents or ()}
    losses = dict[int, Loss]()
    for row, piece in enumerate(gold.pieces):
        name = names.of_piece(piece)
        if name in table.row_of:
            continue
        if name in doc_ids and table.complete:
            losses[row] = Loss("not_in_corpus", "its document gave no chunk")
        elif name not in doc_ids:
            losses[row] = Loss("not_in_corpus", f"there is no document {piece.doc or piece.chunk_id!r}")
    return losses
