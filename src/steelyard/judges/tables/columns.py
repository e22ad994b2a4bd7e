"""Judged answers as columns: what a question has once, and what it has several of, one question after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, islice
from operator import attrgetter
from typing import Any, cast, get_args

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Ints
from steelyard.io.own_json import check_word
from steelyard.judges.criteria import Grade, ScaleName, scale_named
from steelyard.judges.verdict import (
    CitedChunk,
    JudgedAnswer,
    Label,
    Nugget,
    Problem,
    State,
    Unit,
    Verdict,
    check_record,
)

_Fields = Mapping[str, Any]
_OWN: _Fields = dict.fromkeys(("query_id", "state", "answer", "query"), pl.String) | {"answerable": pl.Boolean}
_TEXT: _Fields = {"text": pl.String}
_SPAN: _Fields = {"start": pl.Int64, "end": pl.Int64}
_UNIT: _Fields = {**_SPAN, "text": pl.String, "no_claim": pl.String, "alternative": pl.Int64, "lead": pl.String}
_CITATION: _Fields = {"unit": pl.Int64, **_SPAN, "mark": pl.String, "chunk": pl.Int64, "problem": pl.String}
_NUGGET: _Fields = {"text": pl.String, "vital": pl.Boolean, "credit": pl.Float64, "reason": pl.String}
_CRITERION: _Fields = {**dict.fromkeys(("name", "text", "scale"), pl.String), "value": pl.Float64, "reason": pl.String}
_VERDICT: _Fields = {"verdict": pl.String, "score": pl.Float64, "reason": pl.String}
GRIDS = {"support": ("unit", "context"), "correctness": ("unit", "gold_answers"), "reach": ("gold_unit", "context")}
"""Tables of units × texts, row by row; rows of units that assert nothing are left out."""
ROWS = {
    "grounded": "unit", "joint": "unit", "without": "citation", "said": "gold_unit", "context_relevance": "context",
}  # fmt: skip
"""Tables of one verdict, or none, a unit, citation or chunk."""
_MAY_LACK = ("grounded", "context_relevance")
"""Those of them that are empty where they were not asked."""


@dataclass(frozen=True)
class _Kind:
    """A kind of items that an answer has several of.

    of        the items of a record
    fields    of an item, in the order in which `make` takes them;   nullable   those that may be null
    make      an item of its fields
    """

    of: Callable[[JudgedAnswer], Sequence[Any]]
    fields: _Fields
    nullable: Sequence[str] = ()
    make: Callable[..., Any] = Verdict


def _cells(table: str) -> Callable[[JudgedAnswer], Sequence[Any]]:
    return lambda record: list(chain.from_iterable(getattr(record, table)))


_KINDS: Mapping[str, _Kind] = {
    "context": _Kind(lambda record: record.context or (), _TEXT, make=str),
    "context_digests": _Kind(attrgetter("context_digests"), _TEXT, make=str),
    "gold_answers": _Kind(attrgetter("gold_answers"), _TEXT, make=str),
    "unit": _Kind(attrgetter("units"), _UNIT, make=Unit),
    "gold_unit": _Kind(attrgetter("gold_units"), _UNIT, make=Unit),
    "citation": _Kind(attrgetter("citations"), _CITATION, ("chunk", "problem"), CitedChunk),
    **{table: _Kind(_cells(table), _VERDICT, ("score",)) for table in GRIDS},
    **{table: _Kind(attrgetter(table), _VERDICT, tuple(_VERDICT)) for table in ROWS},
    "grade": _Kind(lambda record: [] if record.grade is None else [record.grade], _VERDICT, ("score",)),
    "nugget": _Kind(attrgetter("nuggets"), _NUGGET, ("credit",), Nugget),
    "criterion": _Kind(attrgetter("criteria"), _CRITERION, ("value",), Grade),
}
_NO_VERDICT = Verdict(cast("Label", None), None, cast("str", None))


def _column(kind: str, field: str) -> str:
    return kind if _KINDS[kind].make is str else f"{kind}_{field}"


SCHEMA = pl.Schema(
    {
        **_OWN,
        **{_column(kind, field): pl.List(own.fields[field]) for kind, own in _KINDS.items() for field in own.fields},
    }
)
"""Columns of a file: a row a question, with lists; "context" and "answerable" may be null."""


@dataclass(frozen=True, eq=False)
class Items:
    """Items of one kind of all questions, one question after another.

    n       (q,) of each question
    frame   a row an item
    """

    n: Ints
    frame: pl.DataFrame

    @cached_property
    def query(self) -> Ints:
        """Question of each item."""
        return np.repeat(np.arange(len(self.n)), self.n)

    @cached_property
    def number(self) -> Ints:
        """Place of each item within its question."""
        return within(self.n)

    @cached_property
    def starts(self) -> Ints:
        """(q,) place of the first item of each question."""
        return np.cumsum(self.n) - self.n

    def of_questions(self, places: Ints) -> Items:
        """Items of some questions, in their order."""
        n = self.n[places]
        return Items(n, self.frame[np.repeat(self.starts[places], n) + within(n)])

    @property
    def checkable(self) -> Bools:
        """Of units: whether each asserts something."""
        return (self.frame["no_claim"] == "").to_numpy()

    def grid(self, n: Ints) -> tuple[Ints, Ints]:
        """Of units: row, among those that assert something, and column of each cell of a table of units × texts.

        n   (q,) texts of each question
        """
        n_columns = n[self.query[self.checkable]]
        return np.repeat(np.arange(len(n_columns)), n_columns), within(n_columns)


def within(n: Ints) -> Ints:
    """Numbers from 0 below each of these, one after another.

    >>> within(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)


@dataclass(frozen=True, eq=False)
class VerdictColumns:
    """Judged answers of q questions.

    own          (q,) query_id, state, answer, query, answerable
    has_context  (q,) whether the chunks that the generator saw, and their texts, are known
    items        by kind, such as "unit", "citation" or "support"
    """

    own: pl.DataFrame
    has_context: Bools
    items: Mapping[str, Items]

    @classmethod
    def of_records(cls, records: Sequence[JudgedAnswer]) -> VerdictColumns:
        """The columns of records, in their order."""
        own = [pl.Series(name, [getattr(record, name) for record in records], dtype) for name, dtype in _OWN.items()]
        has_context = np.array([record.context is not None for record in records], np.bool_)
        return cls(pl.DataFrame(own), has_context, {kind: _items(kind, records) for kind in _KINDS})

    @classmethod
    def of_lists(cls, lists: pl.DataFrame) -> VerdictColumns:
        """The columns in the lists of a file, held against each other as `check_record` does with a record.

        Raises   ValueError naming the first question or column that does not fit.

        >>> lists = VerdictColumns.of_records([JudgedAnswer("q", "missing")]).lists()
        >>> VerdictColumns.of_lists(lists.with_columns(state=pl.lit("lost")))
        Traceback (most recent call last):
        ValueError: question 'q': 'lost' is none of answered, abstained, empty, failed, missing
        """
        whole = (name for name in SCHEMA if name not in ("context", "answerable"))
        if lists.schema != SCHEMA or any(lists[name].null_count() for name in whole):
            raise ValueError("holds other columns than verdicts have")
        items = {kind: _of_lists(kind, lists) for kind in _KINDS}
        columns = cls(lists.select(*_OWN), lists["context"].is_not_null().to_numpy(), items)
        _check(columns)
        return columns

    def lists(self) -> pl.DataFrame:
        """A row a question, with lists of its items: what a file holds."""
        if not len(self.own):
            return pl.DataFrame(schema=SCHEMA)
        frames = [self.own, *(_lists(kind, items) for kind, items in self.items.items())]
        context = pl.when(pl.Series(self.has_context)).then("context")
        return pl.concat(frames, how="horizontal").with_columns(context=context)

    def of_questions(self, places: Ints) -> VerdictColumns:
        """The columns of some questions, in their order."""
        items = {kind: items.of_questions(places) for kind, items in self.items.items()}
        return VerdictColumns(self.own[places], self.has_context[places], items)

    def and_those_of(self, others: Sequence[VerdictColumns]) -> VerdictColumns:
        """These, and those of further questions."""
        parts = (self, *others)
        items = {
            kind: Items(
                np.concatenate([part.items[kind].n for part in parts]),
                pl.concat([part.items[kind].frame for part in parts]),
            )
            for kind in _KINDS
        }
        has_context = np.concatenate([part.has_context for part in parts])
        return replace(self, own=pl.concat([part.own for part in parts]), has_context=has_context, items=items)

    def equals(self, other: VerdictColumns) -> bool:
        """True if all values are the same."""
        pairs = [(self.items[kind], other.items[kind]) for kind in _KINDS]
        same_items = all(np.array_equal(a.n, b.n) and a.frame.equals(b.frame) for a, b in pairs)
        return same_items and self.own.equals(other.own) and np.array_equal(self.has_context, other.has_context)

    def records(self) -> Mapping[str, JudgedAnswer]:
        """The records by query id, each of which is made when it is asked for."""
        return _Records(self)


def _items(kind: str, records: Sequence[JudgedAnswer]) -> Items:
    """Items of records; one that is None is null in all of its fields."""
    own = _KINDS[kind]
    by_record = list(map(own.of, records))
    items = [_NO_VERDICT if item is None else item for item in chain.from_iterable(by_record)]
    columns = []
    for field, dtype in own.fields.items():
        attribute = attrgetter("label" if field == "verdict" else field)
        values = items if own.make is str else list(map(attribute, items))
        columns.append(pl.Series(field, values, dtype, strict=False))
    return Items(np.fromiter(map(len, by_record), np.int64, len(by_record)), pl.DataFrame(columns))


def _lists(kind: str, items: Items) -> pl.DataFrame:
    """A list of items a question, in one column a field."""
    own = pl.DataFrame({"start": items.starts, "n": items.n})
    return own.select(
        pl.lit(values.implode()).list.slice("start", "n").alias(_column(kind, values.name)) for values in items.frame
    )


def _of_lists(kind: str, lists: pl.DataFrame) -> Items:
    """The items in lists.

    Raises   ValueError for lists of different lengths, and for holes in them.
    """
    own, columns = _KINDS[kind], list[pl.Series]()
    lengths = [lists[_column(kind, field)].list.len().fill_null(0).cast(pl.Int64).to_numpy() for field in own.fields]
    for length in lengths[1:]:
        for place in np.flatnonzero(length != lengths[0])[:1]:
            raise ValueError(f"question {lists['query_id'][int(place)]!r}: its lists of {kind} differ in length")
    for field in own.fields:
        name = _column(kind, field)
        columns.append(lists[name].list.explode(empty_as_null=False, keep_nulls=False).alias(field))
        if field not in own.nullable and columns[-1].null_count():
            raise ValueError(f"`{name}` has holes")
    return Items(lengths[0], pl.DataFrame(columns))


class _Records(Mapping[str, JudgedAnswer]):
    def __init__(self, columns: VerdictColumns) -> None:
        self._columns = columns
        self._places = {query_id: place for place, query_id in enumerate(columns.own["query_id"].to_list())}
        self._rows = dict[str, list[tuple[Any, ...]]]()
        self._made = dict[str, JudgedAnswer]()

    def __getitem__(self, query_id: str) -> JudgedAnswer:
        if query_id not in self._made:
            place = self._places[query_id]
            self._rows = self._rows or {kind: items.frame.rows() for kind, items in self._columns.items.items()}
            self._made[query_id] = _record(self._columns, place, self._rows)
        return self._made[query_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _record(columns: VerdictColumns, place: int, rows: Mapping[str, list[tuple[Any, ...]]]) -> JudgedAnswer:
    """The record of a question.

    rows     of its items, and of those of the other questions, by kind
    Raises   ValueError where its items do not fit together, or hold what is none of their words.
    """
    items = dict[str, tuple[Any, ...]]()
    for kind, own in _KINDS.items():
        start, n = int(columns.items[kind].starts[place]), int(columns.items[kind].n[place])
        make = _verdict if own.make is Verdict else own.make
        items[kind] = tuple(make(*row) for row in rows[kind][start : start + n])
    for citation in items["citation"]:
        check_word(citation.problem or "dangling", Problem)
    query_id, state, answer, query, answerable = columns.own.row(place)
    tables: dict[str, Any] = {
        table: _grid(table, items[table], items[owner], len(items[texts])) for table, (owner, texts) in GRIDS.items()
    }
    return JudgedAnswer(
        query_id,
        check_word(state, State),
        answer=answer,
        context=items["context"] if columns.has_context[place] else None,
        units=items["unit"],
        citations=items["citation"],
        gold_answers=items["gold_answers"],
        gold_units=items["gold_unit"],
        **tables,
        **{table: items[table] for table in ROWS},
        nuggets=items["nugget"],
        grade=items["grade"][0] if items["grade"] else None,
        criteria=tuple(map(_checked_grade, items["criterion"])),
        answerable=answerable,
        query=query,
        context_digests=items["context_digests"],
    )


@lru_cache(maxsize=4096)  # Many are alike.
def _verdict(label: str | None, score: float | None, reason: str | None) -> Verdict | None:
    if label is None:
        return None
    if score is not None and not 0 <= score <= 1:
        raise ValueError(f"a score is {score}, not from 0 to 1")
    return Verdict(check_word(label, Label), score, reason or "")


def _checked_grade(grade: Grade) -> Grade:
    check_word(grade.scale, ScaleName, "the scale")
    if grade.share is not None and not 0 <= grade.share <= 1:
        raise ValueError(f"a share of the scale is {grade.share}, not from 0 to 1")
    return grade


def criterion_shares(grades: pl.DataFrame) -> pl.Series:
    """Grades by criteria as shares of their scales; null where they were not judged."""
    scales = {name: scale_named(name) for name in get_args(ScaleName)}
    low, high = (
        grades["scale"].replace_strict(
            {name: getattr(scale, end) for name, scale in scales.items()}, default=None, return_dtype=pl.Float64
        )
        for end in ("low", "high")
    )
    return (grades["value"] - low) / (high - low)


def _grid(name: str, verdicts: Sequence[Verdict], units: Sequence[Unit], n: int) -> tuple[tuple[Verdict, ...], ...]:
    """A table of unit × n from its verdicts row by row; rows of units that assert nothing are empty."""
    n_checkable = sum(unit.checkable for unit in units)
    if len(verdicts) != n_checkable * n:
        raise ValueError(f"`{name}` has {len(verdicts)} verdicts for {n_checkable} × {n}")
    listed = iter(verdicts)
    return tuple(tuple(islice(listed, n)) if unit.checkable else () for unit in units)


def _check(columns: VerdictColumns) -> None:
    """Raise   ValueError naming the first question whose items do not fit together."""
    for place in np.flatnonzero(~_fitting(columns))[:1].tolist():
        query_id = columns.own["query_id"][place]
        try:
            one = columns.of_questions(np.array([place]))
            check_record(_record(one, 0, {kind: items.frame.rows() for kind, items in one.items.items()}))
        except ValueError as error:
            raise ValueError(f"question {query_id!r}: {error}") from None
        raise ValueError(f"question {query_id!r}: its verdicts do not fit together")


def _fitting(columns: VerdictColumns) -> Bools:
    """(q,) whether the items of a question make a whole record."""
    items = columns.items
    n = {kind: own.n for kind, own in items.items()}
    fits = columns.own["state"].is_in(get_args(State)).to_numpy() & (n["grade"] <= 1)
    fits &= (n["context_digests"] == 0) | (n["context_digests"] == n["context"])
    for table, (owner, texts) in GRIDS.items():
        checkable = items[owner].query[items[owner].checkable]
        fits &= n[table] == np.bincount(checkable, minlength=len(fits)) * n[texts]
    for table, owner in ROWS.items():
        fits &= (n[table] == n[owner]) | ((n[table] == 0) & (table in _MAY_LACK))
    for kind, allowed in _limits(items):
        fits[items[kind].query[~allowed.fill_null(True).to_numpy()]] = False
    return fits


def _limits(items: Mapping[str, Items]) -> Iterator[tuple[str, pl.Series]]:
    """Kind, and whether each of its items is what it can be; null is left open."""
    for kind in (kind for kind, own in _KINDS.items() if own.make is Verdict):
        yield kind, items[kind].frame["verdict"].is_in(get_args(Label))
        yield kind, items[kind].frame["score"].is_between(0, 1)
    yield "criterion", items["criterion"].frame["scale"].is_in(get_args(ScaleName))
    yield "criterion", criterion_shares(items["criterion"].frame).is_between(0, 1)
    yield "citation", items["citation"].frame["problem"].is_in(get_args(Problem))
    places = (
        ("citation", "unit", "unit"),
        ("citation", "chunk", "context"),
        ("gold_unit", "alternative", "gold_answers"),
    )
    for kind, field, among in places:
        place = items[kind].frame[field]
        yield kind, (place >= 0) & (place < pl.Series(items[among].n[items[kind].query]))
