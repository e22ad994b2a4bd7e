"""The recursive chunker: at the best place that there is, a paragraph's end before a line's, a sentence's, a word's."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

from steelyard.base.limits import NotEmpty, Words, at_least
from steelyard.base.settings import SettingError, check_fields
from steelyard.text.scripts import IDEOGRAPHS, KANA, MARKS
from steelyard.text.sentences import CLOSERS
from steelyard.text.spans import Span

LANGCHAIN_SEPARATORS = ("\n\n", "\n", " ", "")
"""What LangChain's recursive splitter cuts at by default."""


class _Level(NamedTuple):
    """A kind of separator: what it looks like, and whether it is white space, before which a chunk ends."""

    pattern: re.Pattern[str]
    is_blank: bool


_LEVELS = (
    _Level(re.compile(r"\n[^\S\n]*\n"), True),
    _Level(re.compile(r"\n"), True),
    _Level(re.compile(rf"[。！？；…｡]+[{CLOSERS}]*"), False),
    _Level(re.compile(rf"[.!?]+[{CLOSERS}]*(?=\s)"), False),
    _Level(re.compile(rf"[，、：][{CLOSERS}]*|[,;:][{CLOSERS}]*(?=\s)"), False),
    _Level(re.compile(r"\s+"), True),
)
_NEVER_FIRST = frozenset("。！？；…｡．，、：.!?,;:”’」』）》】〉〕］｝〗)]}»›%")
_LOOK_AHEAD = 16  # beyond the longest chunk, for closing quotes and the blank behind a separator
_NOT_BLANK = re.compile(r"\S")
# Letters and digits of scripts that put blanks between words, and accents that are characters of their own.
_IN_WORD = re.compile(rf"(?:[^\W{IDEOGRAPHS}{KANA}]+|[{MARKS}\u200c\u200d]+)+")
_MOST_FLAG_LETTERS = 200  # looked back at; even, as a flag is two


@dataclass(frozen=True)
class Recursive:
    """Cuts at the best separator: paragraph, line, sentence, clause, blank, and single characters at last.

    size           longest chunk, in characters (Unicode code points), from 1 on
    overlap        how much neighbours share at most, from 0 to size - 1
    separators     literal separators, best first; None for those of Chinese and English: blank line, line break,
                   。！？；…, then . ! ? before a blank, ，、： and , ; : before a blank, blanks
    overlap_mode   "exact" or "langchain"

    "exact": chunks cover all that is not white space, and begin and end with none.  A chunk ends at the last of the
    best separators in the second half of what `size` admits.  The next one begins at the first of the best separators
    in the first half of the overlap, else at the first word, ideograph or opening mark within `overlap`.  So neighbours
    share 1 to `overlap` characters, unless no such thing but the first begins within the last `overlap` characters of
    the earlier chunk, or the word behind it would not fit then.  Closing quotes and marks stay with what they close
    wherever that leaves a place to cut.  No cut
    falls into \\r\\n, a character with its combining marks, a joined emoji, or a word of a script that has blanks
    between words, unless that alone is longer than `size` (or a separator of the caller's is within a word).

    "langchain": the chunks of langchain_text_splitters' RecursiveCharacterTextSplitter with the same settings
    (`LANGCHAIN_SEPARATORS` for None), one for one, less those that are blank.  It shares whole pieces or nothing, so
    most neighbours have no overlap; and without "" among the separators a chunk may be longer than `size`.

    Raises   InputError for settings out of range.

    >>> text = "We weigh goods. 我们称重。重的在左。"
    >>> [text[start:end] for start, end in Recursive(size=16, overlap=5).spans(text)]
    ['We weigh goods.', '我们称重。重的在左。']
    """

    size: Annotated[int, at_least(1)] = 1000
    overlap: Annotated[int, at_least(0)] = 100
    separators: Annotated[Sequence[str], NotEmpty(), Words('a list such as ["\\n\\n", "。", " "]')] | None = None
    overlap_mode: Literal["exact", "langchain"] = "exact"

    def __post_init__(self) -> None:
        check_fields(self)
        check_overlap(self.size, self.overlap)
        if self.separators is not None:
            object.__setattr__(self, "separators", tuple(self.separators))

    def spans(self, text: str) -> list[Span]:
        """Offsets of the chunks, starts and ends ascending; none for a blank text."""
        if self.overlap_mode == "langchain":
            merging = _Merging(text, self.size, self.overlap)
            _split_recursively(merging, 0, len(text), self.separators or LANGCHAIN_SEPARATORS)
            return merging.spans
        levels = _LEVELS if self.separators is None else tuple(_level(text) for text in self.separators if text)
        return _exact_spans(text, self.size, self.overlap, levels)


def check_overlap(size: int, overlap: int) -> None:
    """Refuse an overlap that is as large as the size."""
    if overlap >= size:
        raise SettingError(f"overlap {overlap} must be less than size {size}", "overlap")


def stripped(text: str, start: int, end: int) -> Span:
    """A span without the white space at its margins."""
    piece = text[start:end]
    left = end - start - len(piece.lstrip())
    return start + left, start + max(left, len(piece.rstrip()))


# Recursive, exact


def _level(separator: str) -> _Level:
    visible = separator.rstrip()
    if not visible:
        return _Level(re.compile(re.escape(separator)), True)
    behind = separator[len(visible) :]
    return _Level(re.compile(re.escape(visible) + (f"(?={re.escape(behind)})" if behind else "")), False)


def _exact_spans(text: str, size: int, overlap: int, levels: Sequence[_Level]) -> list[Span]:
    spans: list[Span] = []
    start, text_end = stripped(text, 0, len(text))
    new = start  # first character that no chunk has yet
    while new < text_end:
        if text_end - start <= size:
            spans.append((start, text_end))
            break
        cut = _end(text, start, new, size, levels)
        end = start + len(text[start:cut].rstrip())
        spans.append((start, end))
        new = _not_blank(text, end)
        start = _next_start(text, (start, end), new, size, overlap, levels) if overlap else new
    return spans


def _end(text: str, start: int, new: int, size: int, levels: Sequence[_Level]) -> int:
    """End of a chunk that begins at `start`: behind `new`, and at most `size` on."""
    low, high = max(start + (size - 1) // 2, new), start + size
    for pattern, is_blank in levels:
        best = -1
        for match in pattern.finditer(text, low + is_blank, high + _LOOK_AHEAD):
            cut = match.start() if is_blank else match.end()
            if cut > high:
                break
            if is_blank or not _parts_character(text, cut):
                best = cut
        if best > 0:
            return best
    i = high
    while i > new:
        if _parts_word(text, i):
            run = _IN_WORD.match(text[new:i][::-1])
            i -= run.end() if run else 1
        elif text[i] in _NEVER_FIRST or _parts_character(text, i):
            i -= 1
        else:
            return i
    return next((i for i in range(high, new, -1) if not _parts_character(text, i)), high)


def _next_start(text: str, chunk: Span, new: int, size: int, overlap: int, levels: Sequence[_Level]) -> int:
    """Start of the chunk behind `chunk`, whose first new character is `new`."""
    start, end = chunk
    low = max(end - overlap, start + 1, _unit_end(text, new, end, size) - size)
    half = low + (end - low) // 2
    for pattern, _ in levels:
        for match in pattern.finditer(text, max(start, low - _LOOK_AHEAD), half + 1):
            i = _not_blank(text, match.end())
            if i > half or i >= end:
                break
            if i >= low and not _parts_character(text, i):
                return i
    i = low
    while i < end:
        if _parts_word(text, i):
            run = _IN_WORD.match(text, i, end)
            i = run.end() if run else i + 1
        elif text[i].isspace() or text[i] in _NEVER_FIRST or _parts_character(text, i):
            i += 1
        else:
            return i
    if _parts_word(text, end):  # a word that is longer than a chunk
        return next((i for i in range(low, end) if not _parts_character(text, i)), new)
    return new


def _unit_end(text: str, new: int, end: int, size: int) -> int:
    """End of the word or character at `new`, as far as it can be kept whole."""
    run = None if new == end and _parts_word(text, new) else _IN_WORD.match(text, new, new + size + 1)
    last = run.end() if run and run.end() - new <= size else new + 1
    while last - new < size and last < len(text) and _parts_character(text, last):
        last += 1
    return last


def _not_blank(text: str, start: int) -> int:
    match = _NOT_BLANK.search(text, start)
    return match.start() if match else len(text)


def _parts_word(text: str, i: int) -> bool:
    """True if offset i, not at an end of the text, lies within a word."""
    return _IN_WORD.match(text[i - 1]) is not None and _IN_WORD.match(text[i]) is not None


def _parts_character(text: str, i: int) -> bool:
    """True if offset i, not at an end of the text, lies within what a reader takes for one character."""
    before, behind = text[i - 1], text[i]
    if behind < "\u0300":
        return (before == "\r" and behind == "\n") or before == "\u200d"
    if before.isspace():
        return False
    if unicodedata.category(behind)[0] == "M" or behind == "\u200d" or before == "\u200d":
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= behind <= "\udfff":
        return True
    if "\U0001f1e6" <= behind <= "\U0001f1ff":  # flags are pairs of letters
        first = i
        while first > i - _MOST_FLAG_LETTERS and first and "\U0001f1e6" <= text[first - 1] <= "\U0001f1ff":
            first -= 1
        return (i - first) % 2 == 1
    return "\U0001f3fb" <= behind <= "\U0001f3ff" or "\U000e0020" <= behind <= "\U000e007f"


# Recursive, as LangChain's


@dataclass(frozen=True)
class _Merging:
    """Spans of a text, joined from pieces up to a size, of which the next repeats as many as overlap admits."""

    text: str
    size: int
    overlap: int
    spans: list[Span] = field(default_factory=list)

    def join(self, borders: Sequence[int]) -> None:
        """Join pieces, each shorter than `size`: as many as fit."""
        first, last = 0, len(borders) - 1
        while first < last:
            behind = bisect_right(borders, borders[first] + self.size) - 1
            start, end = stripped(self.text, borders[first], borders[behind])
            if start < end:
                self.spans.append((start, end))
            if behind == last:
                break
            repeated = bisect_left(borders, borders[behind] - self.overlap)
            fitting = bisect_left(borders, borders[behind + 1] - self.size)
            first = min(behind, max(first, repeated, fitting))


def _split_recursively(merging: _Merging, start: int, end: int, separators: Sequence[str]) -> None:
    text, size = merging.text, merging.size
    coarsest, finer = separators[-1], separators[:0]
    for i, separator in enumerate(separators):
        if not separator or text.find(separator, start, end) >= 0:
            coarsest, finer = separator, separators[i + 1 :] if separator else finer
            break
    borders = _borders(text, start, end, coarsest)
    if not coarsest and size > 1:
        merging.join(borders)
        return
    run: list[int] = []
    for a, b in pairwise(borders):
        if b - a < size:
            run = run or [a]
            run.append(b)
            continue
        if run:
            merging.join(run)
            run = []
        if finer:
            _split_recursively(merging, a, b, finer)
        elif text[a:b].strip():
            merging.spans.append((a, b))
    if run:
        merging.join(run)


def _borders(text: str, start: int, end: int, separator: str) -> Sequence[int]:
    """Starts of pieces, each with its separator in front, and where the last one ends."""
    if not separator:
        return range(start, end + 1)
    borders = [start]
    i = text.find(separator, start, end)
    while i >= 0:
        if i > start:
            borders.append(i)
        i = text.find(separator, i + len(separator), end)
    if end > start:
        borders.append(end)
    return borders


# Splitter
