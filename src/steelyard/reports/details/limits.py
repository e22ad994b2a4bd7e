"""What a page may hold at most: texts, lists, and which questions it shows one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.reports.visible import visible


@dataclass(frozen=True)
class Limits:
    """What the details of all questions together may hold at most; the page names what is left out.

    questions    that are shown one by one; of more a random sample of so many, and those that are named
    entries      places of all lists together, and depth of any of them
    id_bytes     of the ids of what the lists show
    chunk_bytes, answer_bytes, gold_bytes   of texts of chunks, of answers, of gold and expected answers
    judged_bytes  of answers with the verdicts on them
    gold_pieces  of all questions together
    document     characters of a document that a run names by its id; gold_document   of one that is gold
    query, reason   characters of a query and of the reason of a failure
    """

    questions: int = 100_000
    entries: int = 700_000
    depth: int = 20
    id_bytes: int = 4_000_000
    chunk_bytes: int = 4_500_000
    answer_bytes: int = 1_500_000
    gold_bytes: int = 1_000_000
    judged_bytes: int = 4_000_000
    gold_pieces: int = 100_000
    document: int = 4_000
    gold_document: int = 200
    query: int = 2_000
    reason: int = 500


@dataclass
class Budget:
    """Lets texts through, fit to be shown, as long as there is room for their bytes; counts the others."""

    room: int
    left_out: int = 0

    def __call__(self, text: str) -> str | None:
        """The text with control characters made visible; None where there is no room."""
        size = len(text.encode("utf-8", "replace"))
        if size > self.room:
            self.left_out += 1
            return None
        self.room -= size
        return visible(text)


def shortened(text: str, size: int) -> str:
    """The first characters of a text, the last of them … where it is longer than `size`."""
    return visible(cut(text, size))


def one_line(text: str, size: int) -> str:
    """A text in one line, cut where it is long: a sentence without a full stop may be all of an answer."""
    return cut(" ".join(text.split()), size)


def cut(text: str, size: int) -> str:
    """The first characters of a text as it is, the last of them … where it is longer than `size`."""
    return text if len(text) <= size else text[: size - 1] + "…"


SEED = 0
"""Of the sample, so that the same inputs give the same page."""
LINKED = 30
"""Questions that a piece of advice links to."""
_CELLS = 4_500
_MOST_WIDE = 150


def singled_questions(n: int, most: int, named: Iterable[int] = ()) -> Ints:
    """Places of the questions to show of n: all of up to `most`, else so many drawn at random and those that are named.

    >>> singled_questions(3, 5).tolist(), len(singled_questions(100, 5)), 99 in singled_questions(100, 5, [99])
    ([0, 1, 2], 5, True)
    """
    if n <= most:
        return np.arange(n)
    drawn = np.random.default_rng(SEED).choice(n, most, replace=False, shuffle=False)
    return np.union1d(drawn, np.array(list(named), np.int64)).astype(np.int64)


def widest_questions(values: Floats) -> Ints:
    """Places of the questions on which the systems differ most, at most 150; best mean first.

    Of equally large differences the first question is taken; questions without a value for some system come last.

    values   (s, q) of one measure
    """
    most = min(_MOST_WIDE, max(20, _CELLS // max(len(values), 1)))
    there = ~np.isnan(values)
    some: Bools = np.asarray(there.any(axis=0))
    spread = np.where(there, values, -np.inf).max(axis=0) - np.where(there, values, np.inf).min(axis=0)
    order = np.lexsort((np.arange(values.shape[1]), -np.where(some, spread, -1.0), ~there.all(axis=0)))
    widest = order[some[order]][:most]
    mean = np.where(there, values, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.asarray(widest[np.lexsort((widest, -mean[widest]))])
