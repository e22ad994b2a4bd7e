"""Chunkers: they cut a text into pieces for an index, each with its exact place: text[start:end] is the chunk."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from steelyard.base.errors import InputError, StageError
from steelyard.base.extras import require
from steelyard.base.limits import at_least
from steelyard.base.settings import check_fields
from steelyard.text.recursive import LANGCHAIN_SEPARATORS, Recursive, check_overlap, stripped
from steelyard.text.scripts import IDEOGRAPHS, KANA
from steelyard.text.sentences import sentence_spans
from steelyard.text.spans import Span

__all__ = ["LANGCHAIN_SEPARATORS", "Recursive", "Semantic", "Sentences", "Splitter", "Whole", "Windows"]

_WINDOW_WORD = re.compile(rf"[{IDEOGRAPHS}{KANA}]|[^\s{IDEOGRAPHS}{KANA}]+")
_SHOWN = 80


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

    size: Annotated[int, at_least(1)] = 1000
    overlap: Annotated[int, at_least(0)] = 0

    def __post_init__(self) -> None:
        check_fields(self)

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
        return [(start + a, start + b) for a, b in Recursive(self.size, 0).spans(text[start:end])]


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

    size: Annotated[int, at_least(1)] = 150
    overlap: Annotated[int, at_least(0)] = 0
    unit: Literal["words", "characters"] = "words"

    def __post_init__(self) -> None:
        check_fields(self)
        check_overlap(self.size, self.overlap)

    def spans(self, text: str) -> list[Span]:
        """Offsets of the windows, starts and ends ascending; none for a blank text."""
        step = self.size - self.overlap
        if self.unit == "characters":
            windows = [(i, min(i + self.size, len(text))) for i in range(0, max(1, len(text) - self.overlap), step)]
            return [(start, end) for start, end in windows if text[start:end].strip()]
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

    size: Annotated[int, at_least(1)] = 1000
    overlap: Annotated[int, at_least(0)] = 0
    markdown: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_overlap(self.size, self.overlap)

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
            if type(error).__name__ != "PanicException":  # how Rust breaks down; it is no Exception
                raise
            raise StageError(
                f"chunk semantic: semantic-text-splitter broke down ({error}) on a text of {len(text)} characters; "
                "try overlap = 0, markdown = false or another chunker"
            ) from None
        # Python knows a few control characters as white space that the library does not.
        return [stripped(text, start, start + len(chunk)) for start, chunk in chunks if chunk.strip()]


@dataclass(frozen=True)
class Whole:
    """Leaves each text whole, for collections whose documents are passages already.

    >>> Whole().spans(" One passage. ")
    [(1, 13)]
    """

    def spans(self, text: str) -> list[Span]:
        """Offsets of the text without the white space at its ends; none for a blank text."""
        start, end = stripped(text, 0, len(text))
        return [(start, end)] if start < end else []


@dataclass(frozen=True)
class Splitter:
    """Cuts as any object with `split_text(text) -> list of texts` does, and looks up where its chunks are.

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
        """Identity of the chunker: the class of the object and its attributes."""
        kind = type(self.splitter)
        state = vars(self.splitter) if hasattr(self.splitter, "__dict__") else self.splitter
        return f"{kind.__module__}:{kind.__qualname__} {state!r}"

    def spans(self, text: str) -> list[Span]:
        """Offsets of the chunks, starts ascending, blank ones left out.

        Raises   StageError for a chunk that is not in the text behind the one before.
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


def _continuing(text: str, chunks: Sequence[str]) -> list[Span]:
    """Each chunk where it continues the one before with the least overlap, else inside that, else further on."""
    spans: list[Span] = []
    start, end = -1, 0
    for chunk in chunks:
        reach = end
        while reach < len(text) and not text[reach].isalnum():
            reach += 1
        low = max(start + 1, end + 1 - len(chunk))
        place = text.rfind(chunk, low, reach + len(chunk))
        if place < 0:
            inside = text.find(chunk, start + 1, end)
            place = text.find(chunk, reach) if inside < 0 else inside
        if place < 0:
            break
        start, end = place, max(end, place + len(chunk))
        spans.append((place, place + len(chunk)))
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
