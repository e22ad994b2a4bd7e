"""The gold of each question as a page shows it, and where it is in the texts of chunks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

import polars as pl

from steelyard.align.resolution import Resolution
from steelyard.align.resolver import ResolvedGold
from steelyard.base.errors import InputError
from steelyard.data.chunk_table import NOWHERE, ChunkTable
from steelyard.data.corpus import texts_of
from steelyard.data.pieces import Piece
from steelyard.data.question import Question
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth
from steelyard.experiment.door.weighing import Weighing
from steelyard.reports.details.limits import Budget, Limits, one_line
from steelyard.reports.visible import visible
from steelyard.text.locating import Locator
from steelyard.text.spans import Span

_FEWEST, _MOST = 3, 50
_WHOLE = ("chunk", "document")


@dataclass(frozen=True)
class GoldPiece:
    """One piece of gold.

    kind    chunk, span, quote, text, pages or document;   group   that it is an alternative in
    name    of the chunk or document;   where   characters or pages in it
    text    None where it has none, or where there is no room for it
    """

    kind: str
    gain: float
    group: str | None = None
    name: str = ""
    where: str = ""
    text: str | None = None

    def within(self, budget: Budget, texts: Mapping[str, str], limits: Limits) -> GoldPiece:
        """The piece fit to be shown, its text as long as there is room; of a document by its id, the beginning."""
        text = self.text
        if text is None and self.kind in _WHOLE and self.name in texts:
            text = one_line(texts[self.name], limits.gold_document)
        group = None if self.group is None else visible(self.group)
        return replace(self, group=group, name=visible(self.name), text=budget(text) if text else None)


def gold_pieces(
    weighing: Weighing, query_ids: Sequence[str], limits: Limits
) -> tuple[list[list[GoldPiece]], dict[int, int]]:
    """Pieces of some questions, the first ones of many; and question -> how many more there are."""
    most = max(_FEWEST, min(_MOST, limits.gold_pieces // max(len(query_ids), 1)))
    if isinstance(weighing.gold, Truth):
        of_query = dict(_of_truth(weighing.gold, query_ids))
    else:
        wanted = set(query_ids)
        questions = [question for question in weighing.gold if question.query_id in wanted]
        spans = {piece.doc for question in questions for piece in question.evidence if piece.kind == "span"}
        documents = searched_texts(weighing, spans)
        of_query = {q.query_id: [_of_piece(piece, documents) for piece in pieces_of(q)] for q in questions}
    pieces, more = list[list[GoldPiece]](), dict[int, int]()
    for i, query_id in enumerate(query_ids):
        own = of_query.get(query_id, [])
        pieces.append(own[:most])
        if len(own) > most:
            more[i] = len(own) - most
    return pieces, more


def unread_gold(gold: Sequence[Sequence[GoldPiece]]) -> set[str]:
    """Ids of documents that are gold without a text."""
    return {piece.name for pieces in gold for piece in pieces if piece.kind in _WHOLE and piece.text is None}


def pieces_of(question: Question) -> Sequence[Piece]:
    """The gold of a question: its evidence, or its labels by id where it has none."""
    return question.evidence or question.id_pieces


def lost_pieces(weighing: Weighing, query_ids: Sequence[str], system: int) -> dict[int, list[int]]:
    """Question -> places of its pieces that no chunk of a system holds; empty where gold is no evidence."""
    mapping = weighing.weighed[system].mapping
    if mapping is None or not mapping.lost or not isinstance(weighing.gold, Questions):
        return {}
    number = {query_id: i for i, query_id in enumerate(query_ids)}
    names = {q.query_id: [str(piece) for piece in pieces_of(q)] for q in weighing.gold if q.query_id in number}
    lost: dict[int, list[int]] = {}
    for query_id, piece, _ in mapping.lost:
        if query_id in number:
            lost.setdefault(number[query_id], []).append(names[query_id].index(piece))
    return lost


def _of_truth(truth: Truth, query_ids: Sequence[str]) -> Iterator[tuple[str, list[GoldPiece]]]:
    """Relevant documents of some questions, highest gain first."""
    rows = truth.frame.drop_nulls("doc_id").filter(pl.col("gain") > 0, pl.col("query_id").is_in(list(query_ids)))
    ordered = rows.sort("query_id", "gain", "doc_id", descending=[False, True, False])
    for query_id, of_query in groupby(ordered.select("query_id", "doc_id", "gain").iter_rows(), itemgetter(0)):
        yield query_id, [GoldPiece("chunk", gain, name=doc_id) for _, doc_id, gain in of_query]


def searched_texts(weighing: Weighing, names: set[str]) -> Mapping[str, str]:
    """Texts of documents that the systems bring along, or the corpus has, by their names; the first one's."""
    searched = [weighed.outputs.documents for weighed in weighing.weighed if weighed.outputs is not None]
    texts: dict[str, str] = {}
    for documents in (*searched, None if weighing.corpus is None else weighing.corpus.documents):
        if documents is not None and (unread := names - texts.keys()):
            texts |= texts_of(documents, unread)
    return texts


def _of_piece(piece: Piece, documents: Mapping[str, str]) -> GoldPiece:
    span = documents.get(piece.doc, "")[piece.start : piece.end] if piece.kind == "span" else ""
    where = {"span": f"{piece.start}–{piece.end}", "pages": ", ".join(map(str, piece.pages))}.get(piece.kind, "")
    return GoldPiece(
        piece.kind, piece.gain, group=piece.group or None, name=piece.chunk_id or piece.doc, where=where,
        text=piece.text or span or None,
    )  # fmt: skip


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that overlap or touch joined; empty ones are left out.

    >>> merged([(5, 9), (0, 3), (2, 4), (9, 9), (9, 10)])
    [(0, 4), (5, 10)]
    """
    apart: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(apart[-1][1], end))
        else:
            apart.append((start, end))
    return apart


class Highlights:
    """Where the gold of each question is in the chunks of one system.

    resolution   the gold pieces among the chunks of table;   steps   of folding, by which texts were compared
    """

    def __init__(self, resolution: Resolution, table: ChunkTable, steps: Sequence[str]) -> None:
        self._resolution, self._table, self._steps = resolution, table, tuple(steps)
        self._number = {question.query_id: i for i, question in enumerate(resolution.gold.questions)}
        self._locators: dict[int, Locator] = {}

    @classmethod
    def of(cls, evidence: ResolvedGold) -> Highlights:
        """The contents of a system, as it was weighed."""
        return cls(evidence.resolution, evidence.table, evidence.mapping.steps)

    def spans(self, query_id: str, chunk_id: str) -> list[Span]:
        """The gold of a question in a chunk, as disjoint spans of the chunk's text, in order.

        A place is cut to what the chunk shows of it, whether or not the rule counts it.  Gold that the chunk holds
        without a place is looked up in the text; where it is not found there (a page, a document, a chunk that is
        gold by its id, a gold text longer than the chunk), the whole text is gold.
        Returns   [] for a chunk without gold, without a text, or that the system does not know.
        """
        row, query = self._table.row_of.get(chunk_id), self._number.get(query_id)
        text = None if row is None else self._table.texts[row]
        if row is None or query is None or not text:
            return []
        spans, shown = list[Span](), set[int]()
        for piece, span in self._placed(query, row, len(text)):
            spans.append(span)
            shown.add(piece)
        for piece in self._held.get((query, row), ()):
            if piece not in shown:
                spans += self._located(piece, row, text)
        return merged(spans)

    def _placed(self, query: int, row: int, n: int) -> Iterator[tuple[int, Span]]:
        """Pieces with a place that the chunk shows some of, and which of its characters these are."""
        start, end, doc = int(self._table.start[row]), int(self._table.end[row]), self._table.docs[row]
        if start == NOWHERE or doc is None or end - start != n:
            # A text that is not the stretch which its offsets name cannot be marked by them.
            return
        number = self._resolution.documents.row.get(doc)
        for piece, owner, begin, behind in self._places.get(query, ()):
            if owner == number and begin < end and start < behind:
                yield piece, (max(begin, start) - start, min(behind, end) - start)

    def _located(self, piece: int, row: int, text: str) -> list[Span]:
        gold = self._resolution.gold.pieces[piece].text
        spans = list[Span]()
        if gold:
            locator = self._locators.setdefault(row, Locator(text, self._steps))
            # A gold text that is longer than the chunk cannot be looked up in it.
            with suppress(InputError):
                spans = locator.find(gold)
        return spans or [(0, len(text))]

    @cached_property
    def _places(self) -> dict[int, list[tuple[int, int, int, int]]]:
        """Piece, document, first character and the one behind the last of every place, by question."""
        placed, spans = self._resolution.placed, self._resolution.spans
        columns = (placed, spans.doc, spans.start, spans.end)
        places = list(zip(*(column.tolist() for column in columns), strict=True))
        return self._by_key(self._resolution.gold.query[placed].tolist(), places, placed.tolist())

    @cached_property
    def _held(self) -> dict[tuple[int, int], list[int]]:
        """Pieces that a chunk holds, by question and chunk."""
        piece = self._resolution.piece.tolist()
        keys = zip(self._resolution.gold.query[piece].tolist(), self._resolution.chunk.tolist(), strict=True)
        return self._by_key(keys, piece, piece)

    def _by_key(
        self, keys: Iterable[_Key], values: Iterable[_Value], pieces: Iterable[int]
    ) -> dict[_Key, list[_Value]]:
        """Values by key, those of pieces without gain left out: they are labelled as no gold."""
        by_key: dict[_Key, list[_Value]] = defaultdict(list)
        good = (self._resolution.gold.gain > 0).tolist()
        for key, value, piece in zip(keys, values, pieces, strict=True):
            if good[piece]:
                by_key[key].append(value)
        return by_key
