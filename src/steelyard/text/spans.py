"""Arithmetic of character spans: which of them meet, and which characters a ranking shows first.

Spans are half open, [start, end), and carry the document that they lie in as a whole number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Ints
from steelyard.base.errors import InputError

Span = tuple[int, int]
"""First character and the one behind the last, in a text."""

_ROUNDING = 1e-9
_SHARE = re.compile(r"share\s*>=\s*(\d*\.?\d+)")


@dataclass(frozen=True)
class SpanRule:
    """When chunks hold a gold passage.

    text    as it is written: any, contains, or share>=X, a share of the passage's characters
    least   smallest share of it that chunks must hold; 0 for one character
    """

    text: str
    least: float

    @classmethod
    def parse(cls, text: str) -> SpanRule:
        """Read a rule.

        Raises   InputError.

        >>> SpanRule.parse("share>=0.5").least, str(SpanRule.parse("any"))
        (0.5, 'any')
        """
        folded = text.strip().lower()
        if folded in ("any", "contains"):
            return cls(folded, 0.0 if folded == "any" else 1.0)
        match = _SHARE.fullmatch(folded)
        if match is None or not 0 < float(match[1]) <= 1:
            raise InputError(
                f"no rule is called {text!r}; there are any, contains and share>=X, X above 0 and at most 1"
            )
        return cls(f"share>={float(match[1]):g}", float(match[1]))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Spans:
    """n spans as columns: the document of each, its first character, and the one behind its last."""

    doc: Ints
    start: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.doc)

    def take(self, rows: Ints) -> Spans:
        """Some of them."""
        return Spans(self.doc[rows], self.start[rows], self.end[rows])


def join(spans: Spans, chunks: Spans, least: float = 0.0) -> tuple[Ints, Ints]:
    """Every pair of a span and a chunk that holds at least one of its characters, and `least` of them.

    spans   s of them, none empty;   chunks   c of them, in any order;   least   share of the span, from 0 to 1
    Returns  (m,) row of the span and (m,) row of the chunk, ordered by span, then chunk; ends that only touch do not
             meet.  Time grows with spans, chunks and pairs, not with their product.
    """
    width = int(max(chunks.end.max(initial=0), spans.end.max(initial=0))) + 1
    order = np.lexsort((chunks.start, chunks.doc))
    doc, start = chunks.doc[order], chunks.start[order]
    # Ends may fall where chunks lie within one another; their running maximum in each document does not.
    reach = np.maximum.accumulate(doc * width + chunks.end[order])
    first = np.searchsorted(reach, spans.doc * width + spans.start, "right")
    last = np.searchsorted(doc * width + start, spans.doc * width + spans.end, "left")
    counts = np.maximum(last - first, 0)
    span = np.repeat(np.arange(len(spans)), counts)
    chunk = order[np.arange(len(span)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)]
    held = np.minimum(spans.end[span], chunks.end[chunk]) - np.maximum(spans.start[span], chunks.start[chunk])
    length = (spans.end - spans.start)[span]
    met = (held > 0) & (held >= least * length - _ROUNDING) & (spans.doc[span] == chunks.doc[chunk])
    span, chunk = span[met], chunk[met]
    by_span = np.lexsort((chunk, span))
    return span[by_span], chunk[by_span]


@dataclass(frozen=True, eq=False)
class Cover:
    """Stretches of characters that are alike: all gold or none, all first shown at one rank or never.

    query   (n,) the query that each stretch belongs to
    length  (n,) its characters
    rank    (n,) the first rank whose chunk shows it; 0 where none does
    gold    (n,) whether it is gold
    """

    query: Ints
    length: Ints
    rank: Ints
    gold: np.ndarray[tuple[int], np.dtype[np.bool_]]


def cover(gold_query: Ints, gold: Spans, shown_query: Ints, shown: Spans, shown_rank: Ints) -> Cover:
    """Cut the characters of every query's gold and shown spans at all their ends, and find when each is first shown.

    gold_query, gold           the gold spans, and the query of each
    shown_query, shown, shown_rank   the retrieved chunks, the query of each and its rank from 1
    Overlaps count once, on either side.
    """
    query = np.concatenate([gold_query, shown_query])
    doc, start, end = (np.concatenate([getattr(gold, name), getattr(shown, name)]) for name in ("doc", "start", "end"))
    # One line of numbers: every (query, doc) has a stretch of it, so that cuts are found with one sort.
    width = int(end.max(initial=0)) + 1
    place = np.unique(query * (int(doc.max(initial=0)) + 1) + doc, return_inverse=True)[1].astype(np.int64) * width
    cuts = np.unique(np.concatenate([place + start, place + end]))
    first, last = np.searchsorted(cuts, place + start), np.searchsorted(cuts, place + end)
    counts = last - first
    piece = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    owner = np.repeat(np.arange(len(query)), counts)
    n, n_gold = max(len(cuts) - 1, 0), len(gold_query)
    of_query = np.full(n, -1, np.int64)
    of_query[piece] = query[owner]
    is_gold = np.zeros(n, bool)
    is_gold[piece[owner < n_gold]] = True
    never = np.iinfo(np.int64).max
    rank = np.full(n, never)
    showing = owner >= n_gold
    np.minimum.at(rank, piece[showing], shown_rank[owner[showing] - n_gold])
    used = of_query >= 0
    return Cover(of_query[used], np.diff(cuts)[used], np.where(rank == never, 0, rank)[used], is_gold[used])
