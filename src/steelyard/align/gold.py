"""Gold pieces looked up among chunks: which chunk holds which piece, and which characters the pieces are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import PurePath
from typing import Literal

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.data.corpus import Document
from steelyard.data.outputs import NOWHERE, ChunkTable
from steelyard.data.questions import Piece, Question
from steelyard.text.folding import DEFAULT_STEPS
from steelyard.text.locating import Locator
from steelyard.text.matching import match_texts
from steelyard.text.spans import Rule, Spans, join

_SHOWN = 3
LossCode = Literal["not_in_corpus", "cut", "unknown"]
"""Why no chunk holds a piece: the corpus lacks it, chunking cut it apart or left it out, or nobody can tell."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Why no chunk holds a piece: as a code to count by, and in words."""

    code: LossCode
    why: str


@dataclass(frozen=True, eq=False)
class Gold:
    """The gold pieces of all questions, as columns; p of them, in g groups of alternatives.

    questions  the questions;   pieces  (p,) the pieces
    query      (p,) the question of each;   gain   (p,) its gain;   group   (p,) the group that it is an alternative in
    """

    questions: Sequence[Question]
    pieces: Sequence[Piece]
    query: Ints
    gain: Floats
    group: Ints

    @classmethod
    def of(cls, questions: Sequence[Question]) -> Gold:
        """Evidence where a question has any, and its labels by id where it has none."""
        chosen = [question.evidence or question.id_pieces for question in questions]
        names: dict[tuple[int, str | int], int] = {}
        groups = [
            names.setdefault((q, piece.group if piece.group is not None else i), len(names))
            for q, pieces in enumerate(chosen)
            for i, piece in enumerate(pieces)
        ]
        pieces = list(chain.from_iterable(chosen))
        query = np.repeat(np.arange(len(questions)), [len(of_one) for of_one in chosen])
        return cls(questions, pieces, query, np.array([p.gain for p in pieces], float), np.array(groups, np.int64))

    @cached_property
    def query_ids(self) -> list[str]:
        """Ids of the questions, in their order."""
        return [question.query_id for question in self.questions]

    @property
    def n_groups(self) -> int:
        """Groups, a piece that stands alone being one."""
        return int(self.group.max(initial=-1)) + 1

    def rows(self, *kinds: str) -> Ints:
        """The pieces of these kinds."""
        return np.array([i for i, piece in enumerate(self.pieces) if piece.kind in kinds], np.int64)

    def where(self, row: int) -> str:
        """Where a piece is labelled, for messages."""
        question = self.questions[self.query[row]]
        return f"{question.where}, question {question.query_id!r}"


@dataclass(frozen=True, eq=False)
class Resolution:
    """What became of the gold pieces.

    piece, chunk    (m,) every pair of a gold piece and a chunk that holds it
    placed, spans   (l,) the piece of each stretch of characters that is known, and the stretch
    place           (l,) stretches of one place have one number: pages are parts of a place, occurrences are places
    doc_row         the number of each document, under all its names
    n_unplaced      (p,) characters of pieces whose place is unknown; NaN where not even their number is known
    lost            rows of pieces that no chunk holds, nor any alternative of theirs -> why
    """

    gold: Gold
    piece: Ints
    chunk: Ints
    placed: Ints
    spans: Spans
    place: Ints
    doc_row: Mapping[str, int]
    n_unplaced: Floats
    lost: Mapping[int, Loss]


@dataclass
class _Places:
    """Places of pieces, while they are found."""

    piece: list[int] = field(default_factory=list)
    span: list[tuple[int, int, int]] = field(default_factory=list)
    place: list[int] = field(default_factory=list)

    def add(self, piece: int, doc: int, *stretches: tuple[int, int]) -> None:
        """One place of a piece, in one stretch or several."""
        number = self.place[-1] + 1 if self.place else 0
        for start, end in stretches:
            self.piece.append(piece)
            self.span.append((doc, start, end))
            self.place.append(number)

    def columns(self) -> tuple[Ints, Spans, Ints]:
        flat = np.array(self.span, np.int64).reshape(-1, 3)
        spans = Spans(flat[:, 0], flat[:, 1], flat[:, 2])
        return np.array(self.piece, np.int64), spans, np.array(self.place, np.int64)


def resolve(
    gold: Gold,
    table: ChunkTable,
    documents: Sequence[Document] | None,
    *,
    rule: Rule,
    steps: Sequence[str] = DEFAULT_STEPS,
    retrieved: tuple[Ints, Ints] | None = None,
) -> Resolution:
    """Find the chunks that hold each gold piece.

    table       the chunks;   documents   the texts they were cut from, where they are at hand
    rule        when a chunk holds a span or quote; a page or a whole document is held by every chunk of it
    steps       of folding, for quotes and texts
    retrieved   (r,) question and (r,) chunk of all that was retrieved, where these are all the chunks that are known:
                then only what its own question retrieved can hold a piece
    Raises      InputError for a quote, page or span that its document does not have, naming the question.
    """
    known = _Documents.of(documents, table, gold)
    places, lost = _place(gold, known, table, steps)
    placed, spans, _ = places.columns()
    texts, whole = _by_text(gold, table, placed, known, steps)
    own = _own(gold, texts, retrieved, len(table))
    texts, whole = texts[own], whole[own]
    pairs = [
        _by_id(gold, table, lost),
        *_by_span(gold, placed, spans, *table.spans(known.row), rule),
        texts,
        _by_document(gold, table, known),
        _by_page(gold, table),
    ]
    both = np.unique(np.concatenate([np.asarray(pair, np.int64).reshape(-1, 2) for pair in pairs]), axis=0)
    both = both[_own(gold, both, retrieved, len(table))]
    piece, chunk = both[:, 0], both[:, 1]
    n_unplaced = _lengths(gold)
    if known.texts is None:
        _place_by_chunks(gold, table, known, steps, texts, whole, places, n_unplaced)
    _place_ids(gold, table, known, piece, chunk, places)
    n_unplaced[places.piece] = 0
    held = set(gold.group[piece].tolist())
    if table.complete:
        lost = _unheld(gold, set(placed.tolist()), rule) | lost
    lost = {row: why for row, why in sorted(lost.items()) if int(gold.group[row]) not in held}
    return Resolution(gold, piece, chunk, *places.columns(), known.row, n_unplaced, lost)


def _unheld(gold: Gold, placed: set[int], rule: Rule) -> dict[int, Loss]:
    """Why no chunk would hold each piece, were it not there: a text that stands nowhere is not in the corpus."""
    why = f"no chunk holds it (rule {rule})"
    nowhere, cut = Loss("not_in_corpus", why), Loss("cut", why)
    return {
        row: nowhere if piece.kind == "text" and row not in placed else cut for row, piece in enumerate(gold.pieces)
    }


def _own(gold: Gold, pairs: Ints, retrieved: tuple[Ints, Ints] | None, n_chunks: int) -> Bools:
    """(m,) the pairs of a piece and a chunk that the piece's own question retrieved; all where that does not matter."""
    if retrieved is None:
        return np.ones(len(pairs), bool)
    query, chunk = retrieved
    return np.isin(gold.query[pairs[:, 0]] * n_chunks + pairs[:, 1], query * n_chunks + chunk)


@dataclass(frozen=True)
class _Documents:
    """Documents by number, under all the names that gold may call them."""

    row: Mapping[str, int]
    texts: Sequence[Document] | None

    @classmethod
    def of(cls, documents: Sequence[Document] | None, table: ChunkTable, gold: Gold) -> _Documents:
        if documents is None:
            # Spans tell their place themselves, also in documents of which nothing was retrieved.
            spoken_of = {piece.doc for piece in gold.pieces if piece.kind == "span"}
            # Sorted, so that no order of the input moves a number.
            names = sorted({doc for doc in table.docs if doc is not None} | spoken_of)
            return cls({name: i for i, name in enumerate(names)}, None)
        row = {document.doc_id: i for i, document in enumerate(documents)}
        return cls(_other_names(documents) | row, documents)

    def text(self, row: int) -> str:
        return self.texts[row].text if self.texts is not None else ""


def _other_names(documents: Sequence[Document]) -> dict[str, int]:
    """File names and stems that name one document only: gold may say manual.pdf, docs/manual.pdf or manual."""
    names: dict[str, set[int]] = {}
    for i, document in enumerate(documents):
        source = PurePath(document.source)
        paths = [PurePath(document.doc_id), PurePath(document.doc_id + source.suffix)]
        paths += [source] if document.source else []
        for path in paths:
            for name in (str(path), path.name, path.stem, str(path.with_suffix("")) if path.name else ""):
                names.setdefault(name, set()).add(i)
    return {name: rows.pop() for name, rows in names.items() if len(rows) == 1 and name}


def _place(
    gold: Gold, known: _Documents, table: ChunkTable, steps: Sequence[str]
) -> tuple[_Places, dict[int, Loss]]:  # fmt: skip
    """Places of spans, quotes, pages, documents and texts, in documents; and the pieces whose document is not there."""
    places, lost, missing = _Places(), dict[int, Loss](), list[str]()
    locators: dict[int, Locator] = {}
    there = known.row.keys() if known.texts is not None else set(table.docs)
    for row, piece in enumerate(gold.pieces):
        if piece.kind in ("chunk", "text"):
            continue
        if piece.doc not in there and (table.complete or known.texts is not None):
            lost[row] = Loss("not_in_corpus", f"there is no document {piece.doc!r}")
        doc = known.row.get(piece.doc)
        if doc is None:
            continue
        if piece.kind == "span" and known.texts is None:
            places.add(row, doc, (piece.start, piece.end))
        elif known.texts is not None:
            if piece.kind == "quote" and doc not in locators:
                locators[doc] = Locator(known.text(doc), steps)
            try:
                found = list(_spans_of(piece, known.texts[doc], locators.get(doc)))
            except InputError as error:
                missing.append(f"{gold.where(row)}: {error}")
                continue
            for place in [found] if piece.kind == "pages" else [[span] for span in found]:
                places.add(row, doc, *place)
    if missing:
        more = f"\n... and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        raise InputError("\n".join(missing[:_SHOWN]) + more)
    if known.texts is not None:
        _place_texts(gold, known.texts, steps, places)
    return places, lost


def _spans_of(piece: Piece, document: Document, locator: Locator | None) -> Iterable[tuple[int, int]]:
    """Where a piece stands in its document.

    Raises   InputError where it cannot stand there.
    """
    n = len(document.text)
    if piece.kind == "span":
        if piece.end > n:
            raise InputError(f"{piece}: the document has {n} characters; was it labelled on another version?")
        return [(piece.start, piece.end)]
    if piece.kind == "pages":
        return _page_spans(piece, document)
    if piece.kind == "quote" and locator is not None:
        found = locator.find(piece.text)
        if not found:
            raise InputError(f"document {piece.doc!r}: {locator.why_not(piece.text)}")
        if piece.occurrence is None:
            return found
        if piece.occurrence > len(found):
            raise InputError(f"{piece} occurs {len(found)} times, so there is no occurrence {piece.occurrence}")
        return [found[piece.occurrence - 1]]
    return [(0, n)] if n else []


def _page_spans(piece: Piece, document: Document) -> Iterable[tuple[int, int]]:
    if document.pages is None:
        raise InputError(f"{piece}: the document has no pages; only PDF files have")
    ends = [*document.pages[1:], len(document.text)]
    for page in piece.pages:
        if page > len(document.pages):
            raise InputError(f"{piece}: the document has {len(document.pages)} pages")
        if ends[page - 1] > document.pages[page - 1]:
            yield document.pages[page - 1], ends[page - 1]


def _place_texts(gold: Gold, documents: Sequence[Document], steps: Sequence[str], places: _Places) -> None:
    """Texts that name no document, wherever they stand."""
    rows = gold.rows("text")
    if not len(rows):
        return
    found = match_texts([gold.pieces[row].text for row in rows], [document.text for document in documents], steps=steps)
    inside = found.gold_in_chunk
    locators: dict[int, Locator] = {}
    for i, doc in zip(found.gold[inside].tolist(), found.chunk[inside].tolist(), strict=True):
        if doc not in locators:
            locators[doc] = Locator(documents[doc].text, steps)
        for span in locators[doc].find(gold.pieces[rows[i]].text):
            places.add(int(rows[i]), doc, span)


def _by_id(gold: Gold, table: ChunkTable, lost: dict[int, Loss]) -> list[tuple[int, int]]:
    pairs = []
    for row in gold.rows("chunk").tolist():
        chunk = table.row_of.get(gold.pieces[row].chunk_id)
        if chunk is not None:
            pairs.append((row, chunk))
        elif table.complete:
            lost[row] = Loss("not_in_corpus", "the corpus has no chunk with this id")
    return pairs


def _by_span(
    gold: Gold, placed: Ints, spans: Spans, chunk_rows: Ints, chunks: Spans, rule: Rule
) -> list[Ints]:  # fmt: skip
    """Pairs of the pieces that have a place, by the rule; coarse ones by any overlap."""
    pairs = []
    for kinds, least in ((("span", "quote"), rule.least), (("pages", "document"), 0.0)):
        rows = np.flatnonzero(np.isin(placed, gold.rows(*kinds)))
        span, chunk = join(spans.take(rows), chunks, least)
        pairs.append(np.stack([placed[rows[span]], chunk_rows[chunk]], axis=1))
    return pairs


def _by_text(
    gold: Gold, table: ChunkTable, placed: Ints, known: _Documents, steps: Sequence[str]
) -> tuple[Ints, Bools]:
    """Pairs of texts and quotes with chunks, and whether the piece is within the chunk.

    A quote that has a place is compared with chunks that have none; all else about it is told by the places.
    """
    rows = np.concatenate([gold.rows("text"), gold.rows("quote")]).astype(np.int64)
    has_place = np.zeros(len(gold.pieces), bool)
    has_place[[row for row in placed.tolist() if gold.pieces[row].kind == "quote"]] = True
    if not (table.start == NOWHERE).any():
        rows = rows[~has_place[rows]]
    with_text = np.array([i for i, text in enumerate(table.texts) if text is not None], np.int64)
    if not len(rows) or not len(with_text):
        return np.zeros((0, 2), np.int64), np.zeros(0, bool)
    golds, texts = [gold.pieces[row].text for row in rows], [table.texts[i] or "" for i in with_text]
    found = match_texts(golds, texts, steps=steps)
    piece, chunk = rows[found.gold], with_text[found.chunk]
    fits = np.array([_may_be(gold.pieces[p], table.docs[c], known) for p, c in zip(piece, chunk, strict=True)], bool)
    fits &= ~has_place[piece] | (table.start[chunk] == NOWHERE)
    return np.stack([piece, chunk], axis=1)[fits], found.gold_in_chunk[fits]


def _may_be(piece: Piece, doc: str | None, known: _Documents) -> bool:
    return piece.kind == "text" or doc is None or known.row.get(doc) == known.row.get(piece.doc, NOWHERE)


def _by_document(gold: Gold, table: ChunkTable, known: _Documents) -> list[tuple[int, int]]:
    """Whole documents, by the name that each chunk says it comes from."""
    rows = gold.rows("document").tolist()
    chunks_of: dict[int, list[int]] = {}
    if rows:
        for chunk, doc in enumerate(table.docs):
            chunks_of.setdefault(known.row.get(doc or "", NOWHERE), []).append(chunk)
    chunks_of.pop(NOWHERE, None)
    return [(row, c) for row in rows for c in chunks_of.get(known.row.get(gold.pieces[row].doc, NOWHERE), [])]


def _by_page(gold: Gold, table: ChunkTable) -> list[tuple[int, int]]:
    """Pages, by the pages that a system says a chunk stands on."""
    chunks_of: dict[tuple[str | None, int], list[int]] = {}
    for chunk, pages in enumerate(table.pages):
        for page in pages or ():
            chunks_of.setdefault((table.docs[chunk], page), []).append(chunk)
    return [
        (row, chunk)
        for row in gold.rows("pages").tolist()
        for page in gold.pieces[row].pages
        for chunk in chunks_of.get((gold.pieces[row].doc, page), [])
    ]


def _place_by_chunks(
    gold: Gold, table: ChunkTable, known: _Documents, steps: Sequence[str], texts: Ints, whole: Bools,
    places: _Places, n_unplaced: Floats,
) -> None:  # fmt: skip
    """Where texts stand, from the chunks that hold them or that they hold: without documents nobody else knows.

    Of a text that no chunk holds whole, nobody knows all characters once a chunk shows a part of it.
    """
    found: dict[int, set[tuple[int, int, int]]] = {}
    parts: set[int] = set()
    for (row, c), inside in zip(texts.tolist(), whole.tolist(), strict=True):
        doc, at = known.row.get(table.docs[c] or "", NOWHERE), int(table.start[c])
        if NOWHERE in (doc, at):
            continue
        if inside:
            spans = Locator(table.texts[c] or "", steps).find(gold.pieces[row].text)
            found.setdefault(row, set()).update((doc, at + a, at + b) for a, b in spans)
        else:
            parts.add(row)
    for row, spans_of_row in found.items():
        for doc, start, end in sorted(spans_of_row):
            places.add(row, doc, (start, end))
    n_unplaced[sorted(parts - found.keys())] = np.nan


def _place_ids(
    gold: Gold, table: ChunkTable, known: _Documents, piece: Ints, chunk: Ints, places: _Places
) -> None:  # fmt: skip
    """Chunks named by id stand where they say."""
    named = np.isin(piece, gold.rows("chunk"))
    for row, c in zip(piece[named].tolist(), chunk[named].tolist(), strict=True):
        doc = known.row.get(table.docs[c] or "", NOWHERE)
        if doc != NOWHERE and table.start[c] != NOWHERE:
            places.add(row, doc, (int(table.start[c]), int(table.end[c])))


def _lengths(gold: Gold) -> Floats:
    """(p,) characters of each piece as its label tells; NaN where the label does not."""
    n = np.full(len(gold.pieces), np.nan)
    for row, piece in enumerate(gold.pieces):
        if piece.kind in ("quote", "text"):
            n[row] = len(piece.text)
        elif piece.kind == "span":
            n[row] = piece.end - piece.start
    return n


def kinds(gold: Gold) -> dict[str, int]:
    """How many pieces of each kind there are."""
    return dict(Counter(piece.kind for piece in gold.pieces))


def has_texts(gold: Gold) -> Bools:
    """(q,) the questions some of whose gold is text without a document."""
    found = np.zeros(len(gold.questions), bool)
    found[gold.query[gold.rows("text")]] = True
    return found
