"""Matching gold texts against chunks: which chunk holds which gold text, or is a piece of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, cycle

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Ints
from steelyard.base.errors import InputError
from steelyard.text.folding import DEFAULT_STEPS, STEPS, fold, in_order

_WORD_CHARACTER = re.compile(r"[^\W_]")
_PORTION = 4_000_000
"""Characters of texts that are looked for, or looked through, at once."""
_HALVES = {half: half - 0xD800 + 0x10F000 for half in range(0xD800, 0xE000)}
_OPENING = 16
_END = 6
MIN_TELLING = 16
"""Bytes of a text in UTF-8, 16 Latin letters or 6 Chinese characters, that are from one passage and not from any."""

_Grams = dict[str, list[int]]
"""The texts that begin, or end, with an n-gram."""


@dataclass(frozen=True, eq=False, slots=True)
class Matches:
    """Pairs of a gold text and a chunk of which one holds the other; by gold, then chunk, each pair once.

    gold            (m,) number of the gold text, from 0
    chunk           (m,) number of the chunk, from 0
    gold_in_chunk   (m,) True where the chunk holds the whole gold text, False where it is a piece of it
    """

    gold: Ints
    chunk: Ints
    gold_in_chunk: Bools

    def __len__(self) -> int:
        return len(self.gold)


def match_texts(golds: Sequence[str], chunks: Sequence[str], *, steps: Iterable[str] = DEFAULT_STEPS) -> Matches:
    """Every pair where, after folding, the chunk holds the gold text or the gold text holds the chunk.

    golds    each must have a letter, digit or ideograph
    chunks   one without any (a blank, a row of dashes) matches nothing
    steps    of folding, see steelyard.text.folding.STEPS
    Returns  the pairs; equal texts count as gold in chunk.
    Raises   InputError for a gold text that would match everything, or a step that does not exist.
    Cost     linear in the texts, and in the pairs.

    >>> matches = match_texts(["The cat sat.", "sat"], ["so THE CAT\\nsat. Then", "cat", "---"])
    >>> list(zip(matches.gold.tolist(), matches.chunk.tolist(), matches.gold_in_chunk.tolist()))
    [(0, 0, True), (0, 1, False), (1, 0, True)]
    """
    numbers_of_gold, numbers_of_chunk = _distinct_texts(golds, chunks, in_order(steps))
    gold_texts, chunk_texts = list(numbers_of_gold), list(numbers_of_chunk)
    directions = {(g, c): False for g, c, _ in _chunks_in_golds(gold_texts, chunk_texts)}
    directions |= dict.fromkeys(_golds_in_chunks(gold_texts, chunk_texts), True)
    rows = [
        (gold, chunk, direction)
        for (g, c), direction in directions.items()
        for gold in numbers_of_gold[gold_texts[g]]
        for chunk in numbers_of_chunk[chunk_texts[c]]
    ]
    columns = np.array(sorted(rows), np.int64).reshape(-1, 3).T
    return Matches(columns[0], columns[1], columns[2].astype(np.bool_))


@dataclass(frozen=True, eq=False, slots=True)
class Overlaps:
    """Overlaps of chunks with gold texts, as far as the texts alone show it; by gold, then chunk, each pair once.

    gold, chunk  (m,) numbers of both, from 0
    start, end   (m,) which of the gold's characters the chunk has: white space is not counted, after folding
    length       (m,) how many of these the gold has
    is_telling   (m,) whether the common text is long enough to say that it is from there: MIN_TELLING bytes
    """

    gold: Ints
    chunk: Ints
    start: Ints
    end: Ints
    length: Ints
    is_telling: Bools


def overlaps_of_texts(golds: Sequence[str], chunks: Sequence[str], *, steps: Iterable[str] = DEFAULT_STEPS) -> Overlaps:
    """Overlap of each chunk and gold text: all of it, all of the chunk, or the end of one that the other begins with.

    golds, chunks, steps   as of `match_texts`
    Returns  one stretch for each pair.  Chunks of one text, which the gold text has several times, have these in turn.
             Of ends that another text begins with, only those of MIN_TELLING bytes count.
    Raises   InputError as `match_texts` does.
    Cost     linear in the texts, and in the pairs.

    >>> overlaps = overlaps_of_texts(["Turn the key twice, then push."], ["the key twice,", "push. It opens"])
    >>> overlaps.start.tolist(), overlaps.end.tolist(), overlaps.length.tolist(), overlaps.is_telling.tolist()
    ([4], [16], [25], [False])
    """
    numbers_of_gold, numbers_of_chunk = _distinct_texts(golds, chunks, in_order(steps))
    gold_texts, chunk_texts = list(numbers_of_gold), list(numbers_of_chunk)
    stretches: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for g, c, at in _chunks_in_golds(gold_texts, chunk_texts):
        stretches.setdefault((g, c), []).append((at, at + len(chunk_texts[c])))
    for g, c, start, end in _common_ends(gold_texts, chunk_texts):
        longest = stretches.setdefault((g, c), [(start, end)])[0]
        if end - start > longest[1] - longest[0]:
            stretches[g, c] = [(start, end)]
    for g, c in _golds_in_chunks(gold_texts, chunk_texts):
        stretches[g, c] = [(0, len(gold_texts[g]))]
    visible = [np.cumsum([0, *(letter != " " for letter in text)]).tolist() for text in gold_texts]
    rows = [
        (gold, chunk, visible[g][start], visible[g][end], visible[g][-1], _is_telling(gold_texts[g][start:end]))
        for (g, c), places in stretches.items()
        for gold in numbers_of_gold[gold_texts[g]]
        for chunk, (start, end) in zip(numbers_of_chunk[chunk_texts[c]], cycle(places), strict=False)
    ]
    table = np.array(sorted(rows), np.int64).reshape(-1, 6).T
    return Overlaps(table[0], table[1], table[2], table[3], table[4], table[5].astype(np.bool_))


def _is_telling(text: str) -> bool:
    return len(text.encode("utf-8", "surrogatepass")) >= MIN_TELLING


def _distinct_texts(
    golds: Sequence[str], chunks: Sequence[str], steps: tuple[str, ...]
) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Every distinct folded text of the golds and of the chunks, with its numbers; chunks that say nothing left out."""
    numbers_of_gold = _numbers([_folded_gold(gold, i, steps) for i, gold in enumerate(golds)])
    numbers_of_chunk = _numbers([fold(chunk, steps) for chunk in chunks])
    return numbers_of_gold, {text: n for text, n in numbers_of_chunk.items() if _WORD_CHARACTER.search(text)}


def steps_of_match(gold: str, chunk: str, steps: Iterable[str] = tuple(STEPS)) -> tuple[str, ...] | None:
    """The fewest of the steps under which the pair matches, either way; None where no choice of them does.

    Of equally many the first in the canonical order; () where the texts match as they are.
    Raises   InputError for a step that does not exist.

    >>> steps_of_match("The “cat”", 'on the "cat" sat')
    ('lower', 'quotes')
    """
    steps = in_order(steps)
    for n in range(len(steps) + 1):
        for choice in combinations(steps, n):
            folded_gold, folded_chunk = fold(gold, choice), fold(chunk, choice)
            shorter, longer = sorted((folded_gold, folded_chunk), key=len)
            if shorter in longer and _WORD_CHARACTER.search(shorter):
                return choice
    return None


def _folded_gold(gold: str, number: int, steps: tuple[str, ...]) -> str:
    folded = fold(gold, steps)
    if not _WORD_CHARACTER.search(folded):
        raise InputError(
            f"gold text number {number + 1} is {gold!r}, which has no letter, digit or ideograph; "
            "write the passage that a chunk must hold, or remove it"
        )
    return folded


def _numbers(texts: Iterable[str]) -> dict[str, list[int]]:
    """Every distinct text with its numbers."""
    numbers: dict[str, list[int]] = {}
    for i, text in enumerate(texts):
        numbers.setdefault(text, []).append(i)
    return numbers


def _golds_in_chunks(golds: list[str], chunks: list[str]) -> Iterator[tuple[int, int]]:
    """Pairs where the chunk holds the gold text, by an automaton of Aho and Corasick: linear in both, however alike."""
    for g_from, some_golds in _portions(golds):
        patterns = pl.DataFrame({"text": some_golds}).with_row_index("g", g_from)
        for c_from, some_chunks in _portions(chunks):
            held = pl.Series("text", some_chunks).str.extract_many(some_golds, overlapping=True).list.unique()
            pairs = held.to_frame().with_row_index("c", c_from).explode("text").join(patterns, on="text")
            yield from pairs.select("g", "c").iter_rows()


def _portions(texts: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Texts a few at a time, with the number of the first: an automaton takes some 50 bytes for a character."""
    start, size = 0, 0
    for i, text in enumerate(texts):
        size += len(text)
        if size >= _PORTION:
            yield start, [encodable(text) for text in texts[start : i + 1]]
            start, size = i + 1, 0
    if start < len(texts):
        yield start, [encodable(text) for text in texts[start:]]


def encodable(text: str) -> str:
    """The text with half characters (lone surrogates), which no frame takes, as characters for private use."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.translate(_HALVES)
    return text


def _chunks_in_golds(golds: list[str], chunks: list[str]) -> Iterator[tuple[int, int, int]]:
    """Pairs where the gold text holds the chunk, with each place: looked up by the chunk's opening, then compared."""
    openings: dict[int, _Grams] = {}
    longest = max(map(len, golds), default=0)
    for c, chunk in enumerate(chunks):
        if len(chunk) <= longest:
            size = min(len(chunk), _OPENING)
            openings.setdefault(size, {}).setdefault(chunk[:size], []).append(c)
    for size, grams in sorted(openings.items()):
        yield from ((g, c, at) for g, c, at in _places(golds, grams, size) if golds[g].startswith(chunks[c], at))


def _common_ends(golds: list[str], chunks: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Pairs where one text begins with the end of the other, where that is telling: start and end in the gold text."""
    first: _Grams = {}
    last: _Grams = {}
    for c, chunk in enumerate(chunks):
        first.setdefault(chunk[:_END], []).append(c)
        last.setdefault(chunk[-_END:], []).append(c)
    for g, c, at in _places(golds, first, _END):
        if chunks[c].startswith(golds[g][at:]) and _is_telling(golds[g][at:]):
            yield g, c, at, len(golds[g])
    for g, c, at in _places(golds, last, _END):
        if chunks[c].endswith(golds[g][: at + _END]) and _is_telling(golds[g][: at + _END]):
            yield g, c, 0, at + _END


def _places(golds: list[str], grams: _Grams, size: int) -> Iterator[tuple[int, int, int]]:
    """Gold text, text and offset wherever a gold text has one of the n-grams of a size."""
    for g, gold in enumerate(golds):
        for at in range(len(gold) - size + 1):
            for c in grams.get(gold[at : at + size], ()):
                yield g, c, at
