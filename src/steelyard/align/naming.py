"""Gold that seems to be retrieved under other names of documents than it has, and is not credited for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from steelyard.align.documents import NumberedDocuments
from steelyard.align.gold import Gold
from steelyard.align.resolver import ResolvedGold
from steelyard.base.notes import Note
from steelyard.data.chunk_table import NOWHERE, ChunkTable
from steelyard.data.outputs import Outputs
from steelyard.text.matching import match_texts

_FEW_QUESTIONS = 3
"""Of fewer questions, that no document is retrieved by its name in the gold says nothing of names."""


def naming_notes(gold: ResolvedGold, outputs: Outputs) -> Iterator[Note]:
    """What to know about names of documents in gold and outputs.

    quote_elsewhere     quotes that no chunk of their document holds, and that are word for word in a text which their
                        question retrieved, of a document whose name and theirs mean nothing to each other
    no_name_in_common   without a corpus: no document that the gold names is among those that the chunks name
    """
    pairs = _quotes_elsewhere(gold, outputs)
    if pairs:
        (piece, chunk), pieces = pairs[0], gold.resolution.gold
        example = {
            "n": len({piece for piece, _ in pairs}), "query_id": pieces.query_ids[pieces.query[piece]],
            "name": pieces.pieces[piece].doc, "retrieved": gold.table.docs[chunk],
        }  # fmt: skip
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
    names = pl.DataFrame({"query_id": [gold.query_ids[q] for q in queries], "query": list(queries)},
                         schema={"query_id": pl.String, "query": pl.Int64})  # fmt: skip
    listed: dict[int, list[int]] = {}
    if queries:
        frame = outputs.run.frame.drop_nulls("doc_id").join(names, on="query_id").sort("score", descending=True)
        for query, id in frame.select("query", "doc_id").iter_rows():
            chunk = table.row_of.get(id)
            if chunk is not None and table.docs[chunk] is not None and table.texts[chunk]:
                listed.setdefault(query, []).append(chunk)
    return listed
