"""Gold pieces resolved among chunks: which chunk holds which piece, and which characters the pieces are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from steelyard.align.documents import NumberedDocuments
from steelyard.align.gold import Gold, Loss
from steelyard.align.places import Holdings, Places, place_pieces
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.data.chunk_table import NOWHERE, ChunkTable
from steelyard.data.corpus import Document
from steelyard.data.pieces import Piece
from steelyard.text.folding import DEFAULT_STEPS
from steelyard.text.locating import Locator
from steelyard.text.matching import overlaps_of_texts
from steelyard.text.spans import SpanRule, Spans, join

_PASSAGES = ("span", "quote", "text")
"""Pieces that chunks hold by the rule; one character of any other is enough."""


@dataclass(frozen=True, eq=False)
class Resolution:
    """The gold pieces among the chunks.

    piece, chunk    (m,) every pair of a gold piece and a chunk that holds enough of it by itself
    holdings        what chunks hold of pieces: several may hold a piece together;   least   the share that is enough
    placed, spans   (l,) the piece of each stretch of characters with a place, and the stretch
    place           (l,) stretches of one place have one number: pages are parts of a place, occurrences are places
    documents       the documents by number, under all their names
    n_unplaced      (p,) characters of pieces without a place; NaN where their number is unknown too
    lost            rows of pieces that all chunks together do not hold, nor any alternative of theirs -> why
    whole           (g,) groups that some chunk at hand holds by itself, whatever question retrieved it
    parted          (g,) groups that no chunk holds by itself; where not all are at hand, neither do those that are not
    """

    gold: Gold
    piece: Ints
    chunk: Ints
    holdings: Holdings
    least: float
    placed: Ints
    spans: Spans
    place: Ints
    documents: NumberedDocuments
    n_unplaced: Floats
    lost: Mapping[int, Loss]
    whole: Bools
    parted: Bools

    @property
    def is_held_alone(self) -> Bools:
        """(g,) groups some piece of which one chunk holds by itself."""
        return self.gold.groups_of(self.piece)

    @cached_property
    def is_held(self) -> Bools:
        """(g,) groups some piece of which all chunks at hand hold, by themselves or together."""
        first, _ = self.holdings.first_ranks(np.ones(len(self.holdings), np.int64), self.least)
        return self.gold.groups_of(self.holdings.piece[first > 0])

    def first_ranks(self, ranking: pl.DataFrame, place: Ints) -> pl.DataFrame:
        """Pieces that retrieved chunks hold: group, query, chunk, rank, and `first` and `by_parts`.

        first, by_parts   the rank from which its place is held, and from which by parts of it, as of `Holdings`
        ranking   query, chunk and rank of every retrieved chunk;   place   (q,) the query of each question
        """
        holdings = self.holdings
        stretches = pl.DataFrame(
            {
                "group": self.gold.group[holdings.piece],
                "query": place[self.gold.query[holdings.piece]],
                "chunk": holdings.chunk,
            }
        ).with_row_index("row")
        shown = stretches.join(ranking, on=["query", "chunk"], maintain_order="left")
        retrieved = holdings.take(shown["row"].to_numpy().astype(np.int64))
        first, by_parts = retrieved.first_ranks(shown["rank"].to_numpy(), self.least)
        return shown.with_columns(first=pl.Series(first), by_parts=pl.Series(by_parts))


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
    rule        when chunks hold a span, quote or text; a page or a whole document is held by every chunk of it
    steps       of folding, for quotes and texts
    retrieved   (r,) question and (r,) chunk of all that was retrieved, where these are all the chunks at hand:
                then only what its own question retrieved can hold a piece
    Raises      InputError for a quote, page or span that its document does not have, naming the question.
    """
    numbered = NumberedDocuments.of(documents, table, gold)
    places, losses = place_pieces(gold, numbered, table, steps)
    placed, spans, place = places.columns()
    texts = _holdings_by_text(gold, table, placed, spans, documents=numbered, steps=steps)
    holdings = Holdings.concat(
        [
            *_holdings_by_place(gold, table, placed, spans, place=place, documents=numbered),
            texts.take(np.flatnonzero(texts.adds | texts.alone(rule.least))),
            *map(Holdings.whole, (pairs_of(gold, table, numbered) for pairs_of in _COARSE)),
        ]
    )
    alone = np.flatnonzero(holdings.alone(rule.least))
    pairs = np.unique(np.stack([holdings.piece[alone], holdings.chunk[alone]], axis=1), axis=0)
    piece, chunk = pairs[_is_own(gold, pairs, retrieved, len(table))].T
    n_unplaced = gold.lengths
    if documents is None:
        own = _is_own(gold, np.stack([texts.piece, texts.chunk], axis=1), retrieved, len(table))
        texts = texts.take(np.flatnonzero(own))
        n_unplaced[_place_by_chunks(gold, table, numbered, steps, texts, places)] = np.nan
    _place_ids(gold, table, numbered, piece, chunk, places)
    n_unplaced[places.piece] = 0
    if table.complete:
        losses = _unheld(gold, set(placed.tolist()), rule) | losses | _missing_ids(gold, table)
    elif documents is not None:
        losses = _missing_texts(gold, set(placed.tolist())) | losses
    n_places = None if documents is None else np.bincount(placed, minlength=len(gold.pieces))
    whole = gold.groups_of(holdings.piece[alone])
    parted = ~whole if table.complete else ~whole & _leaves_little(gold, holdings, rule.least, n_places)
    placed, spans, place = places.columns()
    resolution = Resolution(
        gold, piece, chunk, holdings, rule.least, whole=whole, parted=parted, placed=placed, spans=spans, place=place,
        documents=numbered, n_unplaced=n_unplaced, lost={},
    )  # fmt: skip
    held = resolution.is_held
    return replace(resolution, lost={row: loss for row, loss in sorted(losses.items()) if not held[gold.group[row]]})


def _is_own(gold: Gold, pairs: Ints, retrieved: tuple[Ints, Ints] | None, n_chunks: int) -> Bools:
    """(m,) the pairs of a piece and a chunk that the piece's own question retrieved; all where that does not matter."""
    if retrieved is None:
        return np.ones(len(pairs), bool)
    query, chunk = retrieved
    return np.isin(gold.query[pairs[:, 0]] * n_chunks + pairs[:, 1], query * n_chunks + chunk)


# Why chunks do not hold a piece --------------------------------------------------------------------------------------


def _unheld(gold: Gold, placed: set[int], rule: SpanRule) -> dict[int, Loss]:
    """The loss of each piece, if no chunks hold it: a text that occurs in no document is not in the corpus."""
    cut = Loss("cut", f"no chunks hold it (rule {rule})")
    return dict.fromkeys(range(len(gold.pieces)), cut) | _missing_texts(gold, placed)


def _missing_texts(gold: Gold, placed: set[int]) -> dict[int, Loss]:
    loss = Loss("not_in_corpus", "no document has this text")
    return {row: loss for row in gold.rows("text").tolist() if row not in placed}


def _missing_ids(gold: Gold, table: ChunkTable) -> dict[int, Loss]:
    loss = Loss("not_in_corpus", "the corpus has no chunk with this id")
    return {row: loss for row in gold.rows("chunk").tolist() if gold.pieces[row].chunk_id not in table.row_of}


def _leaves_little(gold: Gold, holdings: Holdings, least: float, n_places: Ints | None) -> Bools:
    """(g,) groups of which the chunks at hand leave less than is enough for another chunk, wherever they are.

    n_places   (p,) places of each piece in the documents; None where these are not at hand, and nothing is known
    """
    if n_places is None:
        return np.zeros(gold.n_groups, bool)
    piece = holdings.piece[np.unique(holdings.place, return_index=True)[1]]
    n_met = np.bincount(piece, minlength=len(gold.pieces))
    unmet = np.flatnonzero((n_met < n_places) | (n_met == 0))
    return ~(gold.groups_of(unmet) | gold.groups_of(holdings.piece[holdings.left(least)]))


# What chunks hold ----------------------------------------------------------------------------------------------------


def _pairs_by_id(gold: Gold, table: ChunkTable, documents: NumberedDocuments) -> Ints:
    ids = [(row, gold.pieces[row].chunk_id) for row in gold.rows("chunk").tolist()]
    return _pairs([(row, table.row_of[id]) for row, id in ids if id in table.row_of])


def _pairs(pairs: Sequence[tuple[int, int]]) -> Ints:
    return np.array(pairs, np.int64).reshape(-1, 2)


def _holdings_by_place(
    gold: Gold, table: ChunkTable, placed: Ints, spans: Spans, *, place: Ints, documents: NumberedDocuments
) -> list[Holdings]:
    """Pieces with a place and chunks with one; coarse pieces are held by any overlap."""
    chunk, chunks = table.spans(documents.row)
    fine = np.flatnonzero(np.isin(placed, gold.rows(*_PASSAGES)))
    coarse = np.flatnonzero(np.isin(placed, gold.rows("pages", "document")))
    at, of = join(spans.take(coarse), chunks)
    return [
        Holdings.by_place(
            placed[fine], spans.take(fine), place[fine], chunk=chunk, chunks=chunks, documents=documents.texts
        ),
        Holdings.whole(np.stack([placed[coarse[at]], chunk[of]], axis=1)),
    ]


def _holdings_by_text(
    gold: Gold, table: ChunkTable, placed: Ints, spans: Spans, *, documents: NumberedDocuments, steps: Sequence[str]
) -> Holdings:
    """Passages and chunks by their texts: those of which one at least has no place."""
    nowhere = np.ones(len(table), bool)
    nowhere[table.spans(documents.row)[0]] = False
    with_text = np.array([i for i, text in enumerate(table.texts) if text is not None], np.int64)
    has_place = np.zeros(len(gold.pieces), bool)
    has_place[placed] = True
    texts = {row: gold.pieces[row].text for row in gold.rows("text", "quote").tolist()}
    if nowhere[with_text].any():
        texts |= _texts_of_spans(gold, placed, spans, documents)
    else:
        texts = {row: text for row, text in texts.items() if not has_place[row]}
    rows = np.array(list(texts), np.int64)
    if not len(rows) or not len(with_text):
        rows = with_text = np.zeros(0, np.int64)
    overlaps = overlaps_of_texts(
        [texts[row] for row in rows.tolist()], [table.texts[i] or "" for i in with_text.tolist()], steps=steps
    )
    piece, chunk = rows[overlaps.gold], with_text[overlaps.chunk]
    doc = np.array([documents.number(doc) for doc in table.docs], np.int64)
    place = piece * (int(doc.max(initial=0)) + 2) + doc[chunk] + 1
    holdings = Holdings.by_text(piece, chunk, place, overlaps)
    fits = ~has_place[piece] | nowhere[chunk]
    pairs = zip(piece.tolist(), chunk.tolist(), fits.tolist(), strict=True)
    own = [fit and _may_be_of(gold.pieces[p], table.docs[c], documents) for p, c, fit in pairs]
    return holdings.take(np.flatnonzero(own))


def _texts_of_spans(gold: Gold, placed: Ints, spans: Spans, documents: NumberedDocuments) -> dict[int, str]:
    """The words of gold spans whose documents are at hand, for chunks that have no place."""
    if documents.texts is None:
        return {}
    rows = np.flatnonzero(np.isin(placed, gold.rows("span")))
    columns = (placed[rows], spans.doc[rows], spans.start[rows], spans.end[rows])
    texts = {
        row: documents.texts[doc].text[start:end]
        for row, doc, start, end in zip(*(column.tolist() for column in columns), strict=True)
    }
    return {row: text for row, text in texts.items() if any(letter.isalnum() for letter in text)}


def _may_be_of(piece: Piece, doc: str | None, documents: NumberedDocuments) -> bool:
    """True if a chunk of a document may hold the piece."""
    return piece.kind == "text" or doc is None or documents.are_one(doc, piece.doc)


def _pairs_by_document(gold: Gold, table: ChunkTable, documents: NumberedDocuments) -> Ints:
    """Whole documents, by the name of the document in each chunk."""
    rows = gold.rows("document").tolist()
    chunks_of: dict[int, list[int]] = {}
    if rows:
        for chunk, doc in enumerate(table.docs):
            chunks_of.setdefault(documents.number(doc), []).append(chunk)
    chunks_of.pop(NOWHERE, None)
    return _pairs([(row, chunk) for row in rows for chunk in chunks_of.get(documents.number(gold.pieces[row].doc), [])])


def _pairs_by_page(gold: Gold, table: ChunkTable, documents: NumberedDocuments) -> Ints:
    """Pages, by the pages that a system names for each chunk."""
    chunks_of: dict[tuple[int, int], list[int]] = {}
    for chunk, pages in enumerate(table.pages):
        for page in pages or ():
            if (doc := documents.number(table.docs[chunk])) != NOWHERE:
                chunks_of.setdefault((doc, page), []).append(chunk)
    return _pairs(
        [
            (row, chunk)
            for row in gold.rows("pages").tolist()
            for page in gold.pieces[row].pages
            for chunk in chunks_of.get((documents.number(gold.pieces[row].doc), page), [])
        ]
    )


_COARSE = (_pairs_by_id, _pairs_by_document, _pairs_by_page)


# Places by chunks ----------------------------------------------------------------------------------------------------


def _place_by_chunks(
    gold: Gold, table: ChunkTable, documents: NumberedDocuments, steps: Sequence[str], texts: Holdings, places: Places
) -> list[int]:
    """Places of texts without documents at hand, from the chunks that hold them or that they hold.

    Returns   the texts that no chunk holds whole, and of which some chunk shows a part: the number of their further
              characters is unknown
    """
    spans_of: dict[int, set[tuple[int, int, int]]] = {}
    partly: set[int] = set()
    whole = texts.end - texts.start == texts.length
    for row, chunk, inside in zip(texts.piece.tolist(), texts.chunk.tolist(), whole.tolist(), strict=True):
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
    return sorted(partly - spans_of.keys())


def _place_ids(
    gold: Gold, table: ChunkTable, documents: NumberedDocuments, piece: Ints, chunk: Ints, places: Places
) -> None:
    """Chunks named by id have the place that the table has for them."""
    by_id = np.isin(piece, gold.rows("chunk"))
    for row, c in zip(piece[by_id].tolist(), chunk[by_id].tolist(), strict=True):
        doc = documents.number(table.docs[c])
        if doc != NOWHERE and table.start[c] != NOWHERE:
            places.add(row, doc, (int(table.start[c]), int(table.end[c])))
