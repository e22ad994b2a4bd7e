"""Gold within the texts of chunks: which characters of a chunk hold the gold of a question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TypeVar

from steelyard.align.resolution import Resolution
from steelyard.align.resolver import ResolvedGold
from steelyard.base.errors import InputError
from steelyard.data.chunk_table import NOWHERE, ChunkTable
from steelyard.text.locating import Locator
from steelyard.text.spans import Span

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
        """Those of a system, as it was weighed."""
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
