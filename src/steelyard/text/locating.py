"""Locating quotes: where a passage is in a text, with exact offsets, and what comes nearest where it is not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.text.folding import DEFAULT_STEPS, STEPS, fold, fold_with_offsets, in_order
from steelyard.text.spans import Span

LONGEST_COMPARED = 4_000
"""Characters of a quote that Locator.nearest compares at most."""

_CELLS = 10_000_000  # alignment cells that are computed without looking for candidates first
_GRAM_SIZES = (8, 4, 2)
_HASH_BITS = 22
_N_CANDIDATES = 3
_SHOWN = 200
_Row = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Nearest:
    """The passage of a text that is most like a quote.

    start, end   offsets into the text
    text         the passage, text[start:end]; about as long as the quote
    similarity   1 - edit distance / length of the quote, both folded; from 0 to 1
    """

    start: int
    end: int
    text: str
    similarity: float


class Locator:
    """A text that is folded once, and asked for many quotes.

    >>> Locator("It was in July,\\r\\n1805. July, 1805!").find("july, 1805")
    [(10, 21), (23, 33)]
    """

    def __init__(self, text: str, steps: Iterable[str] = DEFAULT_STEPS) -> None:
        self.text = text
        self.steps = in_order(steps)
        self._folded = fold_with_offsets(text, self.steps)

    def find(self, quote: str) -> list[Span]:
        """All occurrences of a quote, in order; they may overlap.

        White space at the margins of the quote does not count, and no span begins or ends with any.  Where the quote
        begins or ends inside a unit of folding (the f of "ﬁ" with nfkc), the span has the whole unit.
        Raises   InputError for a quote without any visible character.
        """
        wanted, folded = self._fold(quote), self._folded.text
        spans: dict[Span, None] = {}
        at = folded.find(wanted)
        while at >= 0:
            spans[self._source(at, at + len(wanted))] = None
            at = folded.find(wanted, at + 1)
        return list(spans)

    def nearest(self, quote: str) -> Nearest | None:
        """The passage most like the quote; None where the text is blank or shares nothing with it.

        Of passages that are equally alike it is the first.  In a short text the passage is the best there is; in a long
        one it is the best near the places that share most rare character n-grams with the quote.  A quote beyond
        LONGEST_COMPARED characters is judged by the first stretch of that length which the text lacks.
        Raises   InputError for a quote without any visible character.
        Source   edit distance to the best substring: Sellers 1980.
        """
        wanted, folded = self._fold(quote), self._folded.text
        parts = [wanted[i : i + LONGEST_COMPARED].strip() for i in range(0, len(wanted), LONGEST_COMPARED)]
        part = next((part for part in parts if part not in folded), parts[0])
        passages = []
        for begin, behind in self._candidates(part):
            distance, first, last = _best_substring(_codes(part), self._codes[begin:behind])
            start, end = _trimmed(folded, begin + first, begin + last)
            if distance < len(part) and start < end:
                passages.append((distance, start, end))
        if not passages:
            return None
        distance, first, last = min(passages)
        start, end = self._source(first, last)
        return Nearest(start, end, self.text[start:end], 1 - distance / len(part))

    def why_not(self, quote: str) -> str:
        """A sentence for a quote that find did not find: the nearest passage, and the steps that would find it.

        Raises   InputError for a quote without any visible character.
        """
        nearest = self.nearest(quote)
        used = f"with steps {', '.join(self.steps)}" if self.steps else "without folding"
        refusal = f"the quote {_shown(quote, 60)!r} is not in the text ({used})"
        if nearest is None:
            return f"{refusal}, and nothing there resembles it; check that it belongs to this document"
        more = self._further_steps(quote, nearest)
        folding = f"it is found with steps {', '.join(more or ())} (--steps, or steps in [weigh] of a configuration)"
        advice = folding if more else "copy the quote from the document again"
        where = f"characters {nearest.start} to {nearest.end} ({_percent(nearest.similarity)} alike)"
        return f"{refusal}; the nearest passage is at {where}: {_shown(nearest.text, _SHOWN)!r}; {advice}"

    def _further_steps(self, quote: str, nearest: Nearest) -> tuple[str, ...] | None:
        """The fewest steps, none of the present ones left out, with which the quote is found."""
        reach = len(quote)
        around = self.text[max(nearest.start - reach, 0) : nearest.end + reach]
        further = [step for step in STEPS if step not in self.steps]
        for n in range(1, len(further) + 1):
            for extra in combinations(further, n):
                steps = in_order((*self.steps, *extra))
                wanted = fold(quote, steps).strip()
                if wanted and wanted in fold(around, steps):
                    return steps
        return None

    def _fold(self, quote: str) -> str:
        folded = fold(quote, self.steps).strip()
        if not folded:
            raise InputError(f"the quote {quote!r} is blank; write the passage that is to be found")
        return folded

    def _source(self, start: int, end: int) -> Span:
        return _trimmed(self.text, *self._folded.source(start, end))

    @cached_property
    def _codes(self) -> Ints:
        return _codes(self._folded.text)

    def _candidates(self, quote: str) -> list[Span]:
        """Ranges of the folded text that may hold something like the quote.

        Every n-gram of the quote has one vote, shared among all the places where the text has it; a place is the
        diagonal text offset - quote offset, so the n-grams of one passage vote for the same place.
        """
        n = len(self._codes)
        if len(quote) * n <= _CELLS:
            return [(0, n)] if n else []
        width = max(len(quote) // 2, 32)
        votes = np.zeros((n + len(quote)) // width + 2)
        for size in _GRAM_SIZES:
            if size <= len(quote):
                at, offset, weight = _shared_grams(self._codes, _codes(quote), size)
                place = (at - offset + len(quote)) // width
                votes += np.bincount(place, weight, minlength=len(votes))
        votes = votes[:-1] + votes[1:]
        best = [int(i) for i in np.argsort(-votes, kind="stable")[:_N_CANDIDATES] if votes[i] > 0]
        begins = [i * width - len(quote) for i in best]
        return [(max(begin - width, 0), min(begin + 3 * width + len(quote), n)) for begin in begins]


def locate(text: str, quote: str, *, occurrence: int | None = None, steps: Iterable[str] = DEFAULT_STEPS) -> list[Span]:
    """Places of a quote in a text: all occurrences, or the one that occurrence names (from 1).

    Raises   InputError where the quote is blank or not found (with the nearest passage), or occurs less often.

    >>> locate("to be or not to be", "To be", occurrence=2)
    [(13, 18)]
    """
    locator = Locator(text, steps)
    spans = locator.find(quote)
    if not spans:
        raise InputError(locator.why_not(quote))
    if occurrence is None:
        return spans
    if not 1 <= occurrence <= len(spans):
        times = "once" if len(spans) == 1 else f"{len(spans)} times"
        raise InputError(
            f"the quote {_shown(quote, 60)!r} occurs {times}; occurrence {occurrence} must lie from 1 to {len(spans)}"
        )
    return [spans[occurrence - 1]]


def why_not(text: str, quote: str, steps: Iterable[str] = DEFAULT_STEPS) -> str:
    """A sentence that says why a quote is not found: the nearest passage, and the steps that would find it.

    >>> print(why_not("He said “no” at once.", 'said "no" at'))
    the quote 'said "no" at' is not in the text (with steps lower, white_space); the nearest passage is at characters
    3 to 15 (83.3% alike): 'said “no” at'; it is found with steps lower, white_space, quotes (--steps, or
    steps in [weigh] of a configuration)
    """
    return Locator(text, steps).why_not(quote)


def _percent(share: float) -> str:
    return f"{math.floor(share * 1000) / 10:g}%"  # rounded down: what differs is never 100% alike


def _shown(text: str, size: int) -> str:
    plain = fold(text, ("white_space",))
    return plain if len(plain) <= size else plain[: size - 1] + "…"


def _trimmed(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _codes(text: str) -> Ints:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)


def _shared_grams(text: Ints, quote: Ints, size: int) -> tuple[Ints, Ints, Floats]:
    """Offsets in the text of n-grams that the quote has, their first offset in the quote, and their weight.

    N-grams are compared by hash: a collision is a little noise in the votes.
    """
    first_at = np.full(1 << _HASH_BITS, -1, np.int32)
    in_quote = _gram_hashes(quote, size)
    first_at[in_quote[::-1]] = np.arange(len(in_quote) - 1, -1, -1)
    hashes = _gram_hashes(text, size)
    at = np.flatnonzero(first_at[hashes] >= 0)
    hashes = hashes[at]
    return at, first_at[hashes].astype(np.int64), 1 / np.bincount(hashes, minlength=1)[hashes]


def _gram_hashes(codes: Ints, size: int) -> Ints:
    """A hash of _HASH_BITS bits of every n-gram: a polynomial in an odd number, and its highest bits."""
    n = max(len(codes) - size + 1, 0)
    hashes = np.zeros(n, np.uint64)
    for i in range(size):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + codes[i : i + n].astype(np.uint64)
    return ((hashes * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(64 - _HASH_BITS)).astype(np.int64)


def _best_substring(quote: Ints, text: Ints) -> tuple[int, int, int]:
    """Edit distance of the substring that is most like the quote, and its offsets.

    Of several ends the first (and the last of a row of equal neighbours), of several starts the first.
    """
    row = _last_row(quote, text, np.zeros(len(text) + 1, np.int32))
    end = int(row.argmin())
    while end < len(text) and row[end + 1] == row[end]:
        end += 1
    back = _last_row(quote[::-1], text[:end][::-1], np.arange(end + 1, dtype=np.int32))
    length = end - int(back[::-1].argmin())
    return int(row[end]), end - length, end


def _last_row(quote: Ints, text: Ints, row: _Row) -> _Row:
    """The last row of the edit distance table of a quote (down) and a text (across), from its first row."""
    index = np.arange(len(text) + 1, dtype=np.int32)
    differs = {code: (text != code).astype(np.int32) for code in set(quote.tolist())}
    for code in quote.tolist():
        below = row + 1
        np.minimum(below[1:], row[:-1] + differs[code], out=below[1:])
        row = np.minimum.accumulate(below - index) + index
    return row
