"""Chunkers: they cut a text into pieces for an index, each with its exact place: text[start:end] is the chunk."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from steelyard.corpus import Span
from steelyard.errors import InputError, StageError
from steelyard.extras import require
from steelyard.text.sentences import CLOSERS, sentence_spans
from steelyard.text.tokens import IDEOGRAPHS, KANA, MARKS

LANGCHAIN_SEPARATORS = ("\n\n", "\n", " ", "")
"""What LangChain's recursive splitter cuts at unless told otherwise."""


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
# Letters and digits of scripts that put blanks between words, and accents that stand apart from their letter.
_IN_WORD = re.compile(rf"(?:[^\W{IDEOGRAPHS}{KANA}]+|[{MARKS}\u200c\u200d]+)+")
_WINDOW_WORD = re.compile(rf"[{IDEOGRAPHS}{KANA}]|[^\s{IDEOGRAPHS}{KANA}]+")
_MOST_FLAG_LETTERS = 200  # looked back at; even, as a flag is two
_SHOWN = 80


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
    between words, unless that alone is longer than `size` (or a separator of the caller's stands in a word).

    "langchain": the chunks of langchain_text_splitters' RecursiveCharacterTextSplitter with the same settings
    (`LANGCHAIN_SEPARATORS` for None), one for one, less those that are blank.  It shares whole pieces or nothing, so
    most neighbours have no overlap; and without "" among the separators a chunk may be longer than `size`.

    Raises   InputError for settings out of range.

    >>> text = "We weigh goods. 我们称重。重的在左。"
    >>> [text[start:end] for start, end in Recursive(size=16, overlap=5).spans(text)]
    ['We weigh goods.', '我们称重。重的在左。']
    """

    size: int = 1000
    overlap: int = 100
    separators: Sequence[str] | None = None
    overlap_mode: Literal["exact", "langchain"] = "exact"

    def __post_init__(self) -> None:
        _check_size("recursive", self.size, self.overlap)
        if self.overlap_mode not in ("exact", "langchain"):
            raise InputError(f"chunk recursive: overlap_mode must be 'exact' or 'langchain', not {self.overlap_mode!r}")
        given = self.separators
        if given is not None:
            if isinstance(given, str) or not given or not all(isinstance(one, str) for one in given):
                raise InputError(
                    f'chunk recursive: separators must be a list such as ["\\n\\n", "。", " "], not {given!r}'
                )
            object.__setattr__(self, "separators", tuple(given))

    def spans(self, text: str) -> list[Span]:
        """Offsets of the chunks, starts and ends ascending; none for a blank text."""
        if self.overlap_mode == "langchain":
            spans: list[Span] = []
            _split_recursively(
                text, 0, len(text), self.separators or LANGCHAIN_SEPARATORS, self.size, self.overlap, spans
            )
            return spans
        levels = _LEVELS if self.separators is None else tuple(_level(one) for one in self.separators if one)
        return _exact_spans(text, self.size, self.overlap, levels)


@dataclass(frozen=True)
class Sentences:
    """Packs whole sentences, as `sentence_spans` finds them, into chunks.

    size      longest chunk, in characters, from 1 on; a longer sentence is cut as `Recursive` cuts it
    overlap   sentences that neighbours share, from 0 on; fewer where the next sentence would not fit then
    Raises    InputError for settings out of range.

    >>> text = "One. Two. 三。四。"
    >>> [text[start:end] for start, end in Sentences(size=9, overlap=1).spans(text)]
    ['One. Two.', 'Two. 三。四。']
    """

    size: int = 1000
    overlap: int = 0

    def __post_init__(self) -> None:
        _check_int("sentences", "size", self.size, 1)
        _check_int("sentences", "overlap", self.overlap, 0)

    def spans(self, text: str) -> list[Span]:
        """Offsets of the chunks, starts and ends ascending; none for a blank text."""
        pieces = sentence_spans(text)
        if any(end - start > self.size for start, end in pieces):
            pieces = [part for piece in pieces for part in self._cut(text, piece)]
        starts, ends = [start for start, _ in pieces], [end for _, end in pieces]
        spans, first, n = [], 0, len(pieces)
        while first < n:
            behind = bisect_right(ends, starts[first] + self.size)
            spans.append((starts[first], ends[behind - 1]))
            if behind == n:
                break
            fits = bisect_left(starts, ends[behind] - self.size)
            first = min(behind, max(behind - self.overlap, first + 1, fits))
        return spans

    def _cut(self, text: str, piece: Span) -> list[Span]:
        start, end = piece
        if end - start <= self.size:
            return [piece]
        return [(start + a, start + b) for a, b in _exact_spans(text[start:end], self.size, 0, _LEVELS)]


@dataclass(frozen=True)
class Windows:
    """Cuts into windows of one length, wherever that falls.

    size      words or characters of a window, from 1 on
    overlap   how many of them neighbours share, from 0 to size - 1
    unit      "words": a word is a run without white space, in Chinese and Japanese a single character; a window begins
              and ends with one.  "characters": exactly so many code points, blank windows left out
    The last window is the first to reach the end of the text; it may be shorter.
    Raises    InputError for settings out of range.

    >>> text = "one two 三四 five"
    >>> [text[start:end] for start, end in Windows(size=3, overlap=1).spans(text)]
    ['one two 三', '三四 five']
    """

    size: int = 150
    overlap: int = 0
    unit: Literal["words", "characters"] = "words"

    def __post_init__(self) -> None:
        _check_size("windows", self.size, self.overlap)
        if self.unit not in ("words", "characters"):
            raise InputError(f"chunk windows: unit must be 'words' or 'characters', not {self.unit!r}")

    def spans(self, text: str) -> list[Span]:
        """Offsets of the windows, starts and ends ascending; none for a blank text."""
        step = self.size - self.overlap
        if self.unit == "characters":
            each = [(i, min(i + self.size, len(text))) for i in range(0, max(1, len(text) - self.overlap), step)]
            return [(start, end) for start, end in each if text[start:end].strip()]
        words = [match.span() for match in _WINDOW_WORD.finditer(text)]
        firsts = range(0, max(1, len(words) - self.overlap), step) if words else ()
        return [(words[i][0], words[min(i + self.size, len(words)) - 1][1]) for i in firsts]


@dataclass(frozen=True)
class Semantic:
    """Cuts as semantic-text-splitter does: at the largest unit of text, by Unicode's rules, that fits.

    size       longest chunk, in characters, from 1 on
    overlap    how much neighbours share at most, from 0 to size - 1
    markdown   whether headings, lists and code blocks of Markdown are units too
    Raises     InputError for settings out of range; on use MissingExtraError where the extra "splitter" is missing.
    """

    size: int = 1000
    overlap: int = 0
    markdown: bool = False

    def __post_init__(self) -> None:
        _check_size("semantic", self.size, self.overlap)

    def spans(self, text: str) -> list[Span]:
        """Offsets of the chunks, in order; none for a blank text.

        Where chunks overlap, the Markdown splitter's may begin at the same place as the one before.
        Raises   StageError for a text that is not Unicode, that is one with a lone surrogate, and where the library
                 itself breaks down, as its Markdown splitter does on a few texts when chunks overlap.
        """
        library = require("semantic_text_splitter", extra="splitter", what='chunk = "semantic"')
        kind = library.MarkdownSplitter if self.markdown else library.TextSplitter
        try:
            chunks = kind(self.size, self.overlap).chunk_indices(text)
        except UnicodeEncodeError as error:
            raise StageError(
                f"chunk semantic: character {error.start} is a lone surrogate, half of a character; "
                "read the source in its right encoding"
            ) from None
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # how Rust breaks down; no Exception, so nobody would catch it
                raise
            raise StageError(
                f"chunk semantic: semantic-text-splitter broke down ({error}) on a text of {len(text)} characters; "
                "try overlap = 0, markdown = false or another chunker"
            ) from None
        # Python knows a few control characters as white space that the library does not.
        return [_stripped(text, start, start + len(chunk)) for start, chunk in chunks if chunk.strip()]


@dataclass(frozen=True)
class Whole:
    """Leaves each text whole, for collections whose documents are passages already.

    >>> Whole().spans(" One passage. ")
    [(1, 13)]
    """

    def spans(self, text: str) -> list[Span]:
        """Offsets of the text without the white space at its ends; none for a blank text."""
        start, end = _stripped(text, 0, len(text))
        return [(start, end)] if start < end else []


@dataclass(frozen=True)
class Splitter:
    """Cuts as any object with `split_text(text) -> list of texts` does, and finds out where its chunks stand.

    splitter   for instance a text splitter of LangChain; its chunks must be slices of the text, in order; white space
               at their ends may have been stripped, and neighbours may overlap

    A chunk that occurs several times is taken where it continues the one before, with the least overlap and without
    a gap if possible.
    Raises     InputError for an object without `split_text`.
    """

    splitter: Any

    def __post_init__(self) -> None:
        if not callable(getattr(self.splitter, "split_text", None)):
            raise InputError(f"chunk: {self.splitter!r} has no method split_text(text); expected one that gives texts")

    def identity(self) -> str:
        """What is behind it: the class of the object and its attributes."""
        kind = type(self.splitter)
        state = vars(self.splitter) if hasattr(self.splitter, "__dict__") else self.splitter
        return f"{kind.__module__}:{kind.__qualname__} {state!r}"

    def spans(self, text: str) -> list[Span]:
        """Offsets of the chunks, starts ascending, blank ones left out.

        Raises   StageError for a chunk that is not found in the text, in the order given.
        """
        chunks = list(self.splitter.split_text(text))
        name = type(self.splitter).__name__
        for number, chunk in enumerate(chunks, 1):
            if not isinstance(chunk, str):
                raise StageError(f"chunk {name}: chunk {number} is {chunk!r}; expected split_text to give texts")
        chunks = [chunk for chunk in chunks if chunk.strip()]
        spans = _continuing(text, chunks)
        for step in (1, 0):
            if len(spans) < len(chunks):
                spans = _earliest(text, chunks, step)
        if len(spans) < len(chunks):
            lost = chunks[len(spans)]
            shown = lost if len(lost) <= _SHOWN else lost[:_SHOWN] + "…"
            raise StageError(
                f"chunk {name}: chunk {len(spans) + 1} of {len(chunks)} is not in the text behind character "
                f"{spans[-1][0] if spans else 0}: {shown!r}; expected slices of the text, but the splitter changes it; "
                "switch that off, or give the object a method spans(text)"
            )
        return spans


def _check_int(kind: str, name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"chunk {kind}: {name} must be a whole number from {least} on, not {value!r}")


def _check_size(kind: str, size: int, overlap: int) -> None:
    _check_int(kind, "size", size, 1)
    _check_int(kind, "overlap", overlap, 0)
    if overlap >= size:
        raise InputError(f"chunk {kind}: overlap {overlap} must be less than size {size}")


def _stripped(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    left = end - start - len(piece.lstrip())
    return start + left, start + max(left, len(piece.rstrip()))


# Recursive, exact


def _level(separator: str) -> _Level:
    kept = separator.rstrip()
    if not kept:
        return _Level(re.compile(re.escape(separator)), True)
    behind = separator[len(kept) :]
    return _Level(re.compile(re.escape(kept) + (f"(?={re.escape(behind)})" if behind else "")), False)


def _exact_spans(text: str, size: int, overlap: int, levels: Sequence[_Level]) -> list[Span]:
    spans: list[Span] = []
    start, text_end = _stripped(text, 0, len(text))
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
    """Where a chunk ends that begins at `start`: behind `new`, and at most `size` on."""
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
    """Where the chunk behind `chunk` begins, whose first new character is `new`."""
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
    """Where the word or character at `new` ends, as far as it can be kept whole."""
    run = None if new == end and _parts_word(text, new) else _IN_WORD.match(text, new, new + size + 1)
    last = run.end() if run and run.end() - new <= size else new + 1
    while last - new < size and last < len(text) and _parts_character(text, last):
        last += 1
    return last


def _not_blank(text: str, start: int) -> int:
    found = _NOT_BLANK.search(text, start)
    return found.start() if found else len(text)


def _parts_word(text: str, i: int) -> bool:
    """Whether offset i, not at an end of the text, lies within a word."""
    return _IN_WORD.match(text[i - 1]) is not None and _IN_WORD.match(text[i]) is not None


def _parts_character(text: str, i: int) -> bool:
    """Whether offset i, not at an end of the text, lies within what a reader takes for one character."""
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


def _split_recursively(
    text: str, start: int, end: int, separators: Sequence[str], size: int, overlap: int, spans: list[Span]
) -> None:  # fmt: skip
    chosen, finer = separators[-1], separators[:0]
    for i, separator in enumerate(separators):
        if not separator or text.find(separator, start, end) >= 0:
            chosen, finer = separator, separators[i + 1 :] if separator else finer
            break
    borders = _borders(text, start, end, chosen)
    if not chosen and size > 1:
        _merge(text, borders, size, overlap, spans)
        return
    run: list[int] = []
    for a, b in pairwise(borders):
        if b - a < size:
            run = run or [a]
            run.append(b)
            continue
        if run:
            _merge(text, run, size, overlap, spans)
            run = []
        if finer:
            _split_recursively(text, a, b, finer, size, overlap, spans)
        elif text[a:b].strip():
            spans.append((a, b))
    if run:
        _merge(text, run, size, overlap, spans)


def _borders(text: str, start: int, end: int, separator: str) -> Sequence[int]:
    """Where pieces begin, each with its separator in front, and where the last one ends."""
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


def _merge(text: str, borders: Sequence[int], size: int, overlap: int, spans: list[Span]) -> None:
    """Join pieces, each shorter than `size`: as many as fit; the next chunk repeats as many as `overlap` admits."""
    first, last = 0, len(borders) - 1
    while first < last:
        behind = bisect_right(borders, borders[first] + size) - 1
        start, end = _stripped(text, borders[first], borders[behind])
        if start < end:
            spans.append((start, end))
        if behind == last:
            break
        repeated = bisect_left(borders, borders[behind] - overlap)
        fitting = bisect_left(borders, borders[behind + 1] - size)
        first = min(behind, max(first, repeated, fitting))


# Splitter


def _continuing(text: str, chunks: Sequence[str]) -> list[Span]:
    """Each chunk where it continues the one before with the least overlap, else inside that, else further on."""
    spans: list[Span] = []
    start, end = -1, 0
    for chunk in chunks:
        reach = end
        while reach < len(text) and not text[reach].isalnum():
            reach += 1
        low = max(start + 1, end + 1 - len(chunk))
        found = text.rfind(chunk, low, reach + len(chunk))
        if found < 0:
            inside = text.find(chunk, start + 1, end)
            found = text.find(chunk, reach) if inside < 0 else inside
        if found < 0:
            break
        start, end = found, max(end, found + len(chunk))
        spans.append((found, found + len(chunk)))
    return spans


def _earliest(text: str, chunks: Sequence[str], step: int) -> list[Span]:
    """Each chunk at the first place that begins and ends at least `step` behind the one before, if all can be so."""
    spans: list[Span] = []
    start, end = -step, 0
    for chunk in chunks:
        start = text.find(chunk, max(start + step, end + step - len(chunk) if step else 0))
        if start < 0:
            break
        end = start + len(chunk)
        spans.append((start, end))
    return spans
