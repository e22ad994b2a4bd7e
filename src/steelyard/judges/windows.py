"""A long text in windows that a model can read: runs of whole sentences, each with the last one of the run before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from steelyard.text.sentences import sentence_spans
from steelyard.text.spans import Span


@dataclass(frozen=True)
class Pieces:
    """A text cut into sentences, and those that are too long into parts.

    text       the whole
    spans      one behind the other, all of the text in them, each with the white space behind it
    n_tokens   of each
    """

    text: str
    spans: Sequence[Span]
    n_tokens: Sequence[int]

    def windows(self, room: int) -> list[str]:
        """The text in windows of at most so many tokens."""
        return [
            self.text[self.spans[first][0] : self.spans[last - 1][1]].strip()
            for first, last in window_ranges(self.n_tokens, room)
        ]


def window_ranges(n_tokens: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Ranges of pieces, as few as go, that hold at most `room` tokens.

    The next range begins with the last piece of the one before, where that leaves room for another; so two
    neighbours that fit together are together in one.  A piece longer than the room has a range of its own.

    >>> window_ranges([3, 3, 3, 3], 7), window_ranges([3, 9, 3], 9), window_ranges([], 9)
    ([(0, 2), (1, 3), (2, 4)], [(0, 1), (1, 2), (2, 3)], [])
    """
    ranges, first, n = list[tuple[int, int]](), 0, len(n_tokens)
    while first < n:
        last, total = first + 1, n_tokens[first]
        while last < n and total + n_tokens[last] <= room:
            total += n_tokens[last]
            last += 1
        ranges.append((first, last))
        shares = last < n and last - 1 > first and n_tokens[last - 1] + n_tokens[last] <= room
        first = last - 1 if shares else last
    return ranges


def cut_texts(
    texts: Iterable[str], *, longest: int, n_tokens: Callable[[list[str]], Sequence[int]]
) -> Mapping[str, Pieces]:
    """Each text in its pieces; a sentence longer than `longest` tokens is halved, at a blank, until its parts are not.

    n_tokens   counts tokens of many texts at once

    >>> pieces = cut_texts(["One. Two three four."], longest=2, n_tokens=lambda texts: [len(t.split()) for t in texts])
    >>> pieces["One. Two three four."].windows(2), pieces["One. Two three four."].windows(3)
    (['One.', 'Two three', 'four.'], ['One. Two three', 'Two three four.'])
    """
    spans = {(text, span): 0 for text in dict.fromkeys(texts) for span in _sentences(text)}
    uncounted = list(spans)
    while uncounted:
        counts = n_tokens([text[start:end] for text, (start, end) in uncounted])
        spans |= dict(zip(uncounted, counts, strict=True))
        too_long = [key for key in uncounted if spans[key] > longest and key[1][1] - key[1][0] > 1]
        uncounted = [(text, half) for text, span in too_long for half in _halves(text, span)]
        for key in too_long:
            del spans[key]
    by_text = dict[str, list[tuple[Span, int]]]()
    for (text, span), count in spans.items():
        by_text.setdefault(text, []).append((span, count))
    return {text: _pieces(text, rows) for text, rows in by_text.items()}


def _pieces(text: str, rows: list[tuple[Span, int]]) -> Pieces:
    rows.sort()
    return Pieces(text, [span for span, _ in rows], [count for _, count in rows])


def _sentences(text: str) -> list[Span]:
    """Sentences with what lies behind each: tokens of the parts then add up to at least those of the whole."""
    starts = [start for start, _ in sentence_spans(text)]
    return list(pairwise([*starts, len(text)])) if starts else []


def _halves(text: str, span: Span) -> tuple[Span, Span]:
    start, end = span
    middle = (start + end) // 2
    blanks = [at for at in (text.rfind(" ", start + 1, middle + 1), text.find(" ", middle, end - 1)) if at > 0]
    # A blank far from the middle would leave a part as long as the whole.
    near = [at + 1 for at in blanks if abs(at - middle) <= (end - start) // 4]
    cut = min(near, key=lambda at: abs(at - middle), default=middle)
    return (start, cut), (cut, end)
