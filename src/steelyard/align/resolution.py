"""Gold pieces resolved among chunks: which chunk holds which piece, and which characters the pieces are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.align.documents import NumberedDocuments
from steelyard.align.gold import Gold, Loss
from steelyard.align.places import Places, place_pieces
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.data.chunk_table import NOWHERE, ChunkTable
from steelyard.data.corpus import Document
from steelyard.data.pieces import Piece
from steelyard.text.folding import DEFAULT_STEPS
from steelyard.text.locating import Locator
from steelyard.text.matching import match_texts
from steelyard.text.spans import SpanRule, Spans, join


@dataclass(frozen=True, eq=False)
class Resolution:
    """The gold pieces among the chunks.

    piece, chunk    (m,) every pair of a gold piece and a chunk that holds it
    placed, spans   (l,) the piece of each stretch of characters with a place, and the stretch
    place           (l,) stretches of one place have one number: pages are parts of a place, occurrences are places
    documents       the documents by number, under all their names
    n_unplaced      (p,) characters of pieces without a place; NaN where their number is unknown too
    lost            rows of pieces that no chunk holds, nor any alternative of theirs -> why
    """

    gold: Gold
    piece: Ints
    chunk: Ints
    placed: Ints
    spans: Spans
    place: Ints
    documents: NumberedDocuments
    n_unplaced: Floats
    lost: Mapping[int, Loss]


def resolve(
    gold: Gold,
    table: ChunkTable,
    documents: Sequence[Document] | None,
    *,
    rule: SpanRule,
    steps: Sequence[str] = DEFAULT_STEPS,
    retrieved: tuple[Ints, Ints] | None = None,
) -> Resolution:
    """Find the chunks that hold each gold piece.

    table       the chunks;   documents   the texts they were cut from, where they are at hand
    rule        when a chunk holds a span or quote; a page or a whole document is held by every chunk of it
    steps       of folding, for quotes and texts
    retrieved   (r,) question and (r,) chunk of all that was retrieved, where these are all the chunks at hand:
                then only what its own question retrieved can hold a piece
    Raises      InputError for a quote, page or span that its document does not have, naming the question.
    """
    numbered = NumberedDocuments.of(documents, table, gold)
    places, losses = place_pieces(gold, numbered, table, steps)
    placed, spans, _ = places.columns()
    texts, whole = _pairs_by_text(gold, table, placed, numbered, steps)
    own = _is_own(gold, texts, retrieved, len(table))
    texts, whole = texts[own], whole[own]
    pairs = _distinct(
        [
            _pairs_by_id(gold, table),
            *_pairs_by_span(gold, placed, spans, *table.spans(numbered.row), rule),
            texts,
            _pairs_by_document(gold, table, numbered),
            _pairs_by_page(gold, table, numbered),
        ]
    )
    piece, chunk = pairs[_is_own(gold, pairs, retrieved, len(table))].T
    n_unplaced = gold.lengths
    if documents is None:
        _place_by_chunks(
            gold, table, numbered, steps=steps, texts=texts, whole=whole, places=places, n_unplaced=n_unplaced
        )
    _place_ids(gold, table, numbered, piece, chunk, places)
    n_unplaced[places.piece] = 0
    if table.complete:
        losses = _unheld(gold, set(placed.tolist()), rule) | losses | _missing_ids(gold, table)
    held = set(gold.group[piece].tolist())
    lost = {row: loss for row, loss in sorted(losses.items()) if int(gold.group[row]) not in held}
    placed, spans, place = places.columns()
    return Resolution(
        gold, piece, chunk,
        placed=placed, spans=spans, place=place, documents=numbered, n_unplaced=n_unplaced, lost=lost,
    )  # fmt: skip


def _distinct(pairs: Iterable[Ints | list[tuple[int, int]]]) -> Ints:
    """(m, 2) the pairs, sorted by piece, then chunk."""
    return np.unique(np.concatenate([np.asarray(some, np.int64).reshape(-1, 2) for some in pairs]), axis=0)


def _is_own(gold: Gold, pairs: Ints, retrieved: tuple[Ints, Ints] | None, n_chunks: int) -> Bools:
    """(m,) the pairs of a piece and a chunk that the piece's own question retrieved; all where that does not matter."""
    if retrieved is None:
        return np.ones(len(pairs), bool)
    query, chunk = retrieved
    return np.isin(gold.query[pairs[:, 0]] * n_chunks + pairs[:, 1], query * n_chunks + chunk)


# Why no chunk holds a piece ------------------------------------------------------------------------------------------


def _unheld(gold: Gold, placed: set[int], rule: SpanRule) -> dict[int, Loss]:
    """The loss of each piece, if no chunk holds it: a text that occurs in no document is not in the corpus."""
    why = f"no chunk holds it (rule {rule})"
    missing, cut = Loss("not_in_corpus", why), Loss("cut", why)
    return {
        row: missing if piece.kind == "text" and row not in placed else cut for row, piece in enumerate(gold.pieces)
    }


def _missing_ids(gold: Gold, table: ChunkTable) -> dict[int, Loss]:
    loss = Loss("not_in_corpus", "the corpus has no chunk with this id")
    return {row: loss for row in gold.rows("chunk").tolist() if gold.pieces[row].chunk_id not in table.row_of}


# Pairs of a piece and a chunk ----------------------------------------------------------------------------------------


def _pairs_by_id(gold: Gold, table: ChunkTable) -> list[tuple[int, int]]:
    ids = [(row, gold.pieces[row].chunk_id) for row in gold.rows("chunk").tolist()]
    return [(row, table.row_of[id]) for row, id in ids if id in table.row_of]


def _pairs_by_span(
    gold: Gold, placed: Ints, spans: Spans, chunk_rows: Ints, chunks: Spans, rule: SpanRule
) -> list[Ints]:  # fmt: skip
    """Pieces with a place, by the rule; coarse ones by any overlap."""
    pairs = []
    for kinds, least in ((("span", "quote"), rule.least), (("pages", "document"), 0.0)):
        rows = np.flatnonzero(np.isin(placed, gold.rows(*kinds)))
        span, chunk = join(spans.take(rows), chunks, least)
        pairs.append(np.stack([placed[rows[span]], chunk_rows[chunk]], axis=1))
    return pairs


def _pairs_by_text(
    gold: Gold, table: ChunkTable, placed: Ints, documents: NumberedDocuments, steps: Sequence[str]
) -> tuple[Ints, Bools]:
    """Texts and quotes with chunks, and whether the piece is within the chunk.

    A quote with a place is compared only with chunks that have none; with the others it is paired by its place.
    """
    rows = np.concatenate([gold.rows("text"), gold.rows("quote")]).astype(np.int64)
    has_place = np.zeros(len(gold.pieces), bool)
    has_place[np.intersect1d(placed, gold.rows("quote"))] = True
    if not (table.start == NOWHERE).any():
        rows = rows[~has_place[rows]]
    with_text = np.array([i for i, text in enumerate(table.texts) if text is not None], np.int64)
    if not len(rows) or not len(with_text):
        return np.zeros((0, 2), np.int64), np.zeros(0, bool)
    golds, texts = [gold.pieces[row].text for row in rows], [table.texts[i] or "" for i in with_text]
    matches = match_texts(golds, texts, steps=steps)
    piece, chunk = rows[matches.gold], with_text[matches.chunk]
    names = zip(piece.tolist(), chunk.tolist(), strict=True)
    fits = np.array([_may_be_of(gold.pieces[p], table.docs[c], documents) for p, c in names], bool)
    fits &= ~has_place[piece] | (table.start[chunk] == NOWHERE)
    return np.stack([piece, chunk], axis=1)[fits], matches.gold_in_chunk[fits]


def _may_be_of(piece: Piece, doc: str | None, documents: NumberedDocuments) -> bool:
    """Whether a chunk of a document may hold the piece."""
    return piece.kind == "text" or doc is None or documents.are_one(doc, piece.doc)


def _pairs_by_document(gold: Gold, table: ChunkTable, documents: NumberedDocuments) -> list[tuple[int, int]]:
    """Whole documents, by the name of the document in each chunk."""
    rows = gold.rows("document").tolist()
    chunks_of: dict[int, list[int]] = {}
    if rows:
        for chunk, doc in enumerate(table.docs):
            chunks_of.setdefault(documents.number(doc), []).append(chunk)
    chunks_of.pop(NOWHERE, None)
    return [(row, chunk) for row in rows for chunk in chunks_of.get(documents.number(gold.pieces[row].doc), [])]


def _pairs_by_page(gold: Gold, table: ChunkTable, documents: NumberedDocuments) -> list[tuple[int, int]]:
    """Pages, by the pages that a system names for each chunk."""
    chunks_of: dict[tuple[int, int], list[int]] = {}
    for chunk, pages in enumerate(table.pages):
        for page in pages or ():
            if (doc := documents.number(table.docs[chunk])) != NOWHERE:
                chunks_of.setdefault((doc, page), []).append(chunk)
    return [
        (row, chunk)
        for row in gold.rows("pages").tolist()
        for page in gold.pieces[row].pages
        for chunk in chunks_of.get((documents.number(gold.pieces[row].doc), page), [])
    ]


# Places by chunks ----------------------------------------------------------------------------------------------------


def _place_by_chunks(
    gold: Gold, table: ChunkTable, documents: NumberedDocuments, *, steps: Sequence[str], texts: Ints,
    whole: Bools, places: Places, n_unplaced: Floats,
) -> None:  # fmt: skip
    """Places of texts without documents at hand, from the chunks that hold them or that they hold.

    Of a text that no chunk holds whole, the number of further characters is unknown once a chunk shows a part of it.
    """
    spans_of: dict[int, set[tuple[int, int, int]]] = {}
    partly: set[int] = set()
    for (row, chunk), inside in zip(texts.tolist(), whole.tolist(), strict=True):
        doc, offset = documents.number(table.docs[chunk]), int(table.start[chunk])
        if NOWHERE in (doc, offset):
            continue
        if inside:
            spans = Locator(table.texts[chunk] or "", steps).find(gold.pieces[row].text)
            spans_of.setdefault(row, set()).update((doc, offset + start, offset + end) for start, end in spans)
        else:
            partly.add(row)
    for row, spans_of_row in spans_of.items():
        for doc, start, end in sorted(spans_of_row):
            places.add(row, doc, (start, end))
    n_unplaced[sorted(partly - spans_of.keys())] = np.nan


def _place_ids(
    gold: Gold, table: ChunkTable, documents: NumberedDocuments, piece: Ints, chunk: Ints, places: Places
) -> None:  # fmt: skip
    """Chunks named by id have the place that the table has for them."""
    by_id = np.isin(piece, gold.rows("chunk"))
    for row, c in zip(piece[by_id].tolist(), chunk[by_id].tolist(), strict=True):
        doc = documents.number(table.docs[c])
        if doc != NOWHERE and table.start[c] != NOWHERE:
            places.add(row, doc, (int(table.start[c]), int(table.end[c])))
