"""Where gold pieces are in the documents of a corpus: the characters of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from steelyard.align.documents import NumberedDocuments
from steelyard.align.gold import Gold, Loss, first_of
from steelyard.base.arrays import Ints
from steelyard.base.errors import InputError
from steelyard.data.chunk_table import ChunkTable
from steelyard.data.corpus import Document
from steelyard.data.pieces import Piece
from steelyard.text.locating import Locator
from steelyard.text.matching import match_texts
from steelyard.text.spans import Span, Spans


@dataclass
class Places:
    """Places of pieces, collected one after the other.

    A place is one stretch of characters, or several: pages are parts of one place, occurrences of a quote are places.
    """

    piece: list[int] = field(default_factory=list)
    span: list[tuple[int, int, int]] = field(default_factory=list)
    place: list[int] = field(default_factory=list)

    def add(self, piece: int, doc: int, *stretches: Span) -> None:
        """One place of a piece."""
        number = self.place[-1] + 1 if self.place else 0
        for start, end in stretches:
            self.piece.append(piece)
            self.span.append((doc, start, end))
            self.place.append(number)

    def columns(self) -> tuple[Ints, Spans, Ints]:
        """(l,) piece, (l,) span and (l,) number of the place, of every stretch."""
        flat = np.array(self.span, np.int64).reshape(-1, 3)
        spans = Spans(flat[:, 0], flat[:, 1], flat[:, 2])
        return np.array(self.piece, np.int64), spans, np.array(self.place, np.int64)


def place_pieces(
    gold: Gold, documents: NumberedDocuments, table: ChunkTable, steps: Sequence[str]
) -> tuple[Places, dict[int, Loss]]:
    """Places of spans, quotes, pages, documents and texts; and the pieces whose document is missing.

    Raises   InputError for quotes, pages and spans that their documents do not have, naming the first questions.
    """
    places, losses, refusals = Places(), dict[int, Loss](), list[str]()
    locators = _Locators(documents.texts or (), steps)
    for row, piece in enumerate(gold.pieces):
        if piece.kind in ("chunk", "text"):
            continue
        doc = documents.number(piece.doc)
        if not documents.holds(doc) and (table.complete or documents.texts is not None):
            losses[row] = Loss("not_in_corpus", f"there is no document {piece.doc!r}")
        if documents.texts is None:
            # A span has its place in its label, also in a document of which nothing was retrieved.
            if piece.kind == "span":
                places.add(row, doc, (piece.start, piece.end))
            continue
        if not documents.holds(doc):
            continue
        spans = _spans_of(piece, doc, locators)
        if isinstance(spans, str):
            refusals.append(f"{gold.where(row)}: {spans}")
        elif piece.kind == "pages":
            places.add(row, doc, *spans)
        else:
            for span in spans:
                places.add(row, doc, span)
    if refusals:
        raise InputError(first_of(refusals))
    if documents.texts is not None:
        _place_texts(gold, locators, steps, places)
    return places, losses


@dataclass
class _Locators:
    """A locator for each document in which something is looked up, built on first use."""

    documents: Sequence[Document]
    steps: Sequence[str]
    built: dict[int, Locator] = field(default_factory=dict)

    def __getitem__(self, doc: int) -> Locator:
        if doc not in self.built:
            self.built[doc] = Locator(self.documents[doc].text, self.steps)
        return self.built[doc]


def _spans_of(piece: Piece, doc: int, locators: _Locators) -> list[Span] | str:
    """The characters of a piece in its document, or why the document does not have them."""
    document = locators.documents[doc]
    n = len(document.text)
    if piece.kind == "span":
        inside = piece.end <= n
        refusal = f"{piece}: the document has {n} characters; was it labelled on another version?"
        return [(piece.start, piece.end)] if inside else refusal
    if piece.kind == "pages":
        return _page_spans(piece, document)
    if piece.kind == "quote":
        return _quote_spans(piece, locators[doc])
    return [(0, n)] if n else []


def _page_spans(piece: Piece, document: Document) -> list[Span] | str:
    starts = document.pages
    if starts is None:
        return f"{piece}: the document has no pages; only PDF files have"
    if max(piece.pages, default=0) > len(starts):
        return f"{piece}: the document has {len(starts)} pages"
    spans = list(zip(starts, [*starts[1:], len(document.text)], strict=True))
    return [(start, end) for start, end in (spans[page - 1] for page in piece.pages) if start < end]


def _quote_spans(piece: Piece, locator: Locator) -> list[Span] | str:
    spans = locator.find(piece.text)
    if not spans:
        return f"document {piece.doc!r}: {locator.why_not(piece.text)}"
    if piece.occurrence is None:
        return spans
    if piece.occurrence > len(spans):
        return f"{piece} occurs {len(spans)} times, so there is no occurrence {piece.occurrence}"
    return [spans[piece.occurrence - 1]]


def _place_texts(gold: Gold, locators: _Locators, steps: Sequence[str], places: Places) -> None:
    """Texts that name no document, wherever they occur."""
    rows = gold.rows("text")
    if not len(rows):
        return
    texts = [gold.pieces[row].text for row in rows]
    matches = match_texts(texts, [document.text for document in locators.documents], steps=steps)
    inside = matches.gold_in_chunk
    for i, doc in zip(matches.gold[inside].tolist(), matches.chunk[inside].tolist(), strict=True):
        for span in locators[doc].find(texts[i]):
            places.add(int(rows[i]), doc, span)
