"""Records of judged answers as the flat arrays that measures are computed from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.judges.verdict import JudgedAnswer, Label, State, Unit, Verdict
from steelyard.measures.judged_answers import (
    ABSTAINED,
    ANSWERED,
    CONTRADICTED,
    EMPTY,
    FAILED,
    MISSING,
    NONE,
    NOT_FOUND,
    NOT_JUDGED,
    SUPPORTED,
    Codes,
    JudgedAnswers,
)
from steelyard.text.citing import citation_marks

T = TypeVar("T")
_CODES: Mapping[Label, int] = {
    "supported": SUPPORTED,
    "contradicted": CONTRADICTED,
    "not_found": NOT_FOUND,
    "not_judged": NOT_JUDGED,
}
_STATES: Mapping[State, int] = {
    "answered": ANSWERED, "abstained": ABSTAINED, "empty": EMPTY, "failed": FAILED, "missing": MISSING
}  # fmt: skip


def judged_arrays(records: Mapping[str, JudgedAnswer], query_ids: Sequence[str]) -> JudgedAnswers:
    """The verdicts of one system on these questions, in their order.

    records    by query id, whose tables are whole: as `check_record` has it
    Units, and units of gold answers, that assert nothing are left out; citations by such units are not.
    Raises     KeyError for a question without a record.

    >>> arrays = judged_arrays({"q": JudgedAnswer("q", "missing")}, ["q"])
    >>> arrays.n_queries, arrays.unit_query.tolist(), arrays.n_chunks.tolist()
    (1, [], [-1])
    """
    listed = [records[query_id] for query_id in query_ids]
    units, golds = _Places.of([r.units for r in listed]), _Places.of([r.gold_units for r in listed])
    support = _Table.of(units.rows([r.support for r in listed]))
    correct = _Table.of(units.rows([r.correctness for r in listed]))
    reach = _Table.of(golds.rows([r.reach for r in listed]))
    citations = [(query, citation) for query, r in enumerate(listed) for citation in r.citations]
    nuggets = [(query, nugget) for query, r in enumerate(listed) for nugget in r.nuggets]
    grades = [None if r.grade is None or r.grade.label == "not_judged" else r.grade.score for r in listed]
    return JudgedAnswers(
        query_id=list(query_ids),
        state=np.array([_STATES[r.state] for r in listed], np.int8),
        n_chunks=_ints(-1 if r.context is None else len(r.context) for r in listed),
        n_gold=_ints(len(r.gold_answers) for r in listed),
        answerable=_floats(None if r.answerable is None else float(r.answerable) for r in listed),
        grade=_floats(grades),
        answers=[_uncited(r.answer, tuple(r.context or ())) for r in listed],
        gold_answers=[[_uncited(gold) for gold in r.gold_answers] for r in listed],
        unit_query=_ints(units.query),
        grounded=_codes(v for _, v in units.rows([r.grounded or (None,) * len(r.units) for r in listed])),
        joint=_codes(v for _, v in units.rows([r.joint for r in listed])),
        support_unit=support.row,
        support_chunk=support.column,
        support=support.codes,
        correct_unit=correct.row,
        correct_gold=correct.column,
        correct=correct.codes,
        gold_query=_ints(golds.query),
        gold_answer=_ints(gold.alternative for r in listed for gold in r.gold_units if gold.checkable),
        said=_codes(v for _, v in golds.rows([r.said for r in listed])),
        reach_gold=reach.row,
        reach_chunk=reach.column,
        reach=reach.codes,
        citation_query=_ints(query for query, _ in citations),
        citation_unit=_ints(units.place.get((query, citation.unit), -1) for query, citation in citations),
        citation_chunk=_ints(-1 if citation.chunk is None else citation.chunk for _, citation in citations),
        without=_codes(verdict for r in listed for verdict in r.without),
        nugget_query=_ints(query for query, _ in nuggets),
        vital=np.array([nugget.vital for _, nugget in nuggets], np.bool_),
        credit=_floats(nugget.credit for _, nugget in nuggets),
        n_no_claim=_ints(sum(not unit.checkable for unit in r.units) for r in listed),
    )


@dataclass(frozen=True)
class _Places:
    """Units of all questions that assert something, one after another.

    query   (u,) the question of each
    place   (question, unit) -> where it is among these
    """

    query: Sequence[int]
    place: Mapping[tuple[int, int], int]

    @classmethod
    def of(cls, units: Sequence[Sequence[Unit]]) -> _Places:
        keys = [(query, n) for query, listed in enumerate(units) for n, unit in enumerate(listed) if unit.checkable]
        return cls([query for query, _ in keys], {key: place for place, key in enumerate(keys)})

    def rows(self, tables: Sequence[Sequence[T]]) -> Iterator[tuple[int, T]]:
        """Rows of these units in a table of each question, which has a row for every unit of its question."""
        for (query, n), place in self.place.items():
            yield place, tables[query][n]


@dataclass(frozen=True, eq=False)
class _Table:
    """Verdicts row by row, and the row and the column of each."""

    row: Ints
    column: Ints
    codes: Codes

    @classmethod
    def of(cls, rows: Iterable[tuple[int, Sequence[Verdict]]]) -> _Table:
        listed = list(rows)
        n = _ints(len(row) for _, row in listed)
        ends = np.repeat(np.cumsum(n), n)
        return cls(
            np.repeat(_ints(place for place, _ in listed), n),
            np.arange(len(ends)) - ends + np.repeat(n, n),
            _codes(verdict for _, row in listed for verdict in row),
        )


@lru_cache(maxsize=64)
def _uncited(text: str, context: tuple[str, ...] = ()) -> str:
    """A text without citation marks; records of parts of one answer follow each other, and have its whole text."""
    marks = citation_marks(text, context)
    starts = [0, *(mark.end for mark in marks)]
    return "".join(text[i:j] for i, j in zip(starts, [*(mark.start for mark in marks), len(text)], strict=True))


def _codes(verdicts: Iterable[Verdict | None]) -> Codes:
    return verdict_codes(None if verdict is None else verdict.label for verdict in verdicts)


def verdict_codes(labels: Iterable[Label | None]) -> Codes:
    """The codes of labels; None: nobody was to judge it."""
    return np.array([NONE if label is None else _CODES[label] for label in labels], np.int8)


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)
