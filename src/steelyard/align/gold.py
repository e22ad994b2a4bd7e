"""The gold pieces of all questions, as columns: what is looked up among the chunks of a system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.data.pieces import Piece
from steelyard.data.question import Question

LossCode = Literal["not_in_corpus", "cut", "unknown"]
"""Why no chunk holds a piece: the corpus lacks it, chunking cut it apart or left it out, or the outputs are silent."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Why no chunk holds a piece: as a code to count by, and in words."""

    code: LossCode
    why: str


_SHOWN = 3


def first_of(refusals: Sequence[str]) -> str:
    """The first of many messages, and how many more there are."""
    more = f"; ... and {len(refusals) - _SHOWN} more" if len(refusals) > _SHOWN else ""
    return "; ".join(refusals[:_SHOWN]) + more


@dataclass(frozen=True, eq=False)
class Gold:
    """The gold pieces of all questions, as columns; p of them, in g groups of alternatives.

    questions  the questions;   pieces  (p,) the pieces
    query      (p,) the question of each;   gain   (p,) its gain;   group   (p,) the group that it is an alternative in
    """

    questions: Sequence[Question]
    pieces: Sequence[Piece]
    query: Ints
    gain: Floats
    group: Ints

    @classmethod
    def of(cls, questions: Sequence[Question]) -> Gold:
        """Evidence where a question has any, and its labels by id where it has none."""
        pieces_of = [question.evidence or question.id_pieces for question in questions]
        numbers: dict[tuple[int, str | int], int] = {}
        groups = [
            numbers.setdefault((q, piece.group if piece.group is not None else i), len(numbers))
            for q, pieces in enumerate(pieces_of)
            for i, piece in enumerate(pieces)
        ]
        pieces = list(chain.from_iterable(pieces_of))
        query = np.repeat(np.arange(len(questions)), [len(pieces) for pieces in pieces_of])
        return cls(questions, pieces, query, np.array([p.gain for p in pieces], float), np.array(groups, np.int64))

    @cached_property
    def query_ids(self) -> list[str]:
        """Ids of the questions, in their order."""
        return [question.query_id for question in self.questions]

    @property
    def n_groups(self) -> int:
        """Groups; a piece without alternatives is one."""
        return int(self.group.max(initial=-1)) + 1

    @cached_property
    def kinds(self) -> dict[str, int]:
        """Number of pieces of each kind that count."""
        return dict(Counter(self.pieces[row].kind for row in self.counted(range(len(self.pieces)))))

    def counted(self, rows: Iterable[int]) -> list[int]:
        """Rows that count as gold: none that is judged 0, and of alternatives the first alone."""
        firsts: dict[int, int] = {}
        for row in rows:
            if self.gain[row] > 0:
                firsts.setdefault(int(self.group[row]), row)
        return list(firsts.values())

    def groups_of(self, rows: Ints) -> Bools:
        """(g,) the groups of some pieces."""
        mask = np.zeros(self.n_groups, bool)
        mask[self.group[rows]] = True
        return mask

    @cached_property
    def documents(self) -> dict[str, int]:
        """The names of documents, each with the first piece that has it."""
        rows: dict[str, int] = {}
        for row, piece in enumerate(self.pieces):
            if piece.kind not in ("chunk", "text"):
                rows.setdefault(piece.doc, row)
        return rows

    @property
    def has_texts(self) -> Bools:
        """(q,) the questions some of whose gold is text without a document."""
        mask = np.zeros(len(self.questions), bool)
        mask[self.query[self.rows("text")]] = True
        return mask

    @property
    def lengths(self) -> Floats:
        """(p,) characters of each piece as its label has it; NaN where the label does not say."""
        n = np.full(len(self.pieces), np.nan)
        for row, piece in enumerate(self.pieces):
            if piece.kind in ("quote", "text"):
                n[row] = len(piece.text)
            elif piece.kind == "span":
                n[row] = piece.end - piece.start
        return n

    def rows(self, *kinds: str) -> Ints:
        """The pieces of these kinds."""
        return np.array([i for i, piece in enumerate(self.pieces) if piece.kind in kinds], np.int64)

    def where(self, row: int) -> str:
        """Place where a piece is labelled, for messages."""
        question = self.questions[self.query[row]]
        return f"{question.where}, question {question.query_id!r}"
