"""Records of judged answers as the flat arrays that measures are computed from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats, Ints
from steelyard.judges.tables.columns import GRIDS, Items, VerdictColumns, criterion_shares
from steelyard.judges.verdict import JudgedAnswer, Label, State
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

_CODES: Mapping[Label | None, int] = {
    "supported": SUPPORTED,
    "contradicted": CONTRADICTED,
    "not_found": NOT_FOUND,
    "not_judged": NOT_JUDGED,
    None: NONE,
}
LABELS: Mapping[int, Label | None] = {code: label for label, code in _CODES.items()}
"""The label of each code; None: nobody was to judge it."""
_STATES: Mapping[State, int] = {
    "answered": ANSWERED, "abstained": ABSTAINED, "empty": EMPTY, "failed": FAILED, "missing": MISSING
}  # fmt: skip


def judged_arrays(records: Mapping[str, JudgedAnswer], query_ids: Sequence[str]) -> JudgedAnswers:
    """The verdicts of one system on these questions, in their order, as `column_arrays` has them.

    records    by query id, whose tables are whole: as `check_record` has it
    Raises     KeyError for a question without a record.

    >>> arrays = judged_arrays({"q": JudgedAnswer("q", "missing")}, ["q"])
    >>> arrays.n_queries, arrays.unit_query.tolist(), arrays.n_chunks.tolist()
    (1, [], [-1])
    """
    return column_arrays(VerdictColumns.of_records([records[query_id] for query_id in query_ids]))


def column_arrays(columns: VerdictColumns) -> JudgedAnswers:
    """The verdicts in columns as arrays.

    Units, and units of gold answers, that assert nothing are left out; citations by such units are not.
    """
    own, items = columns.own, columns.items
    units, golds, citations, grades = items["unit"], items["gold_unit"], items["citation"], items["grade"]
    checkable, golds_checkable = units.checkable, golds.checkable
    cells = {table: items[owner].grid(items[texts].n) for table, (owner, texts) in GRIDS.items()}
    place = np.where(checkable, np.cumsum(checkable) - 1, -1)
    graded = (grades.frame["verdict"] != "not_judged").to_numpy()
    grade = np.full(len(own), np.nan)
    grade[grades.query[graded]] = _floats(grades.frame["score"])[graded]
    contexts, gold_answers = (texts_of(items[kind]) for kind in ("context", "gold_answers"))
    return JudgedAnswers(
        query_id=own["query_id"].to_list(),
        state=own["state"].replace_strict(_STATES, return_dtype=pl.Int8).to_numpy(),
        n_chunks=np.where(columns.has_context, items["context"].n, -1),
        n_gold=items["gold_answers"].n,
        answerable=_floats(own["answerable"]),
        grade=grade,
        criteria=_criteria(items["criterion"], len(own)),
        answers=list(map(_uncited, own["answer"].to_list(), map(tuple, contexts))),
        gold_answers=[list(map(_uncited, golds)) for golds in gold_answers],
        unit_query=units.query[checkable],
        grounded=_grounded(units, items["grounded"])[checkable],
        joint=_codes(items["joint"])[checkable],
        support_unit=cells["support"][0],
        support_chunk=cells["support"][1],
        support=_codes(items["support"]),
        correct_unit=cells["correctness"][0],
        correct_gold=cells["correctness"][1],
        correct=_codes(items["correctness"]),
        gold_query=golds.query[golds_checkable],
        gold_answer=golds.frame["alternative"].to_numpy()[golds_checkable],
        said=_codes(items["said"])[golds_checkable],
        reach_gold=cells["reach"][0],
        reach_chunk=cells["reach"][1],
        reach=_codes(items["reach"]),
        chunk_relevance=_chunk_relevance(columns),
        citation_query=citations.query,
        citation_unit=place[units.starts[citations.query] + citations.frame["unit"].to_numpy()],
        citation_chunk=citations.frame["chunk"].fill_null(-1).to_numpy(),
        without=_codes(items["without"]),
        nugget_query=items["nugget"].query,
        vital=items["nugget"].frame["vital"].to_numpy(),
        credit=_floats(items["nugget"].frame["credit"]),
        n_no_claim=np.bincount(units.query[~checkable], minlength=len(own)),
    )


def texts_of(items: Items) -> list[list[str]]:
    """Texts question by question."""
    texts = items.frame["text"].to_list()
    return [texts[start : start + n] for start, n in zip(items.starts.tolist(), items.n.tolist(), strict=True)]


def _grounded(units: Items, grounded: Items) -> Codes:
    """(n,) verdicts on units by their whole context; NONE in questions that no judge read at once."""
    codes = np.full(len(units.query), NONE, np.int8)
    codes[(grounded.n > 0)[units.query]] = _codes(grounded)
    return codes


def _chunk_relevance(columns: VerdictColumns) -> Codes:
    """(c,) verdicts on the chunks of the contexts that are known; NONE in questions of which none was asked."""
    verdicts, chunks = columns.items["context_relevance"], columns.items["context"]
    codes = np.full(len(chunks.query), NONE, np.int8)
    codes[(verdicts.n > 0)[chunks.query]] = _codes(verdicts)
    return codes


def _criteria(grades: Items, n: int) -> dict[str, Floats]:
    """(n,) shares by the name of a criterion; NaN where not judged."""
    names, shares = grades.frame["name"].to_numpy(), _floats(criterion_shares(grades.frame))
    by_name = {}
    for name in dict.fromkeys(names.tolist()):
        own = names == name
        by_name[name] = np.full(n, np.nan)
        by_name[name][grades.query[own]] = shares[own]
    return by_name


def _codes(items: Items) -> Codes:
    return items.frame["verdict"].replace_strict(_CODES, return_dtype=pl.Int8).to_numpy()


def _floats(values: pl.Series) -> Floats:
    return values.cast(pl.Float64).fill_null(np.nan).to_numpy()


@lru_cache(maxsize=64)
def _uncited(text: str, context: tuple[str, ...] = ()) -> str:
    """A text without marks that name something; records of parts of one answer follow each other, with its text."""
    marks = [mark for mark in citation_marks(text, context) if mark.targets or mark.text.startswith("<")]
    starts = [0, *(mark.end for mark in marks)]
    return "".join(text[i:j] for i, j in zip(starts, [*(mark.start for mark in marks), len(text)], strict=True))


def verdict_codes(labels: Iterable[Label | None]) -> Codes:
    """The codes of labels; None: nobody was to judge it."""
    return np.array([_CODES[label] for label in labels], np.int8)


def context_codes(a: JudgedAnswers) -> Codes:
    """(u,) verdicts on units over the whole context, as `unit_verdict` has them; NONE without any.

    >>> context_codes(judged_arrays({}, [])).tolist()
    []
    """
    n, units = len(a.unit_query), np.arange(len(a.unit_query))
    order = (SUPPORTED, NOT_JUDGED, CONTRADICTED, NOT_FOUND)
    by_chunks = _first([(a.support, a.support_unit), (a.joint, units)], n, order)
    order = (SUPPORTED, CONTRADICTED, NOT_FOUND, NOT_JUDGED)
    return _first([(by_chunks, units), (a.grounded, units)], n, order)


def _first(tables: Sequence[tuple[Codes, Ints]], n: int, order: Sequence[int]) -> Codes:
    """(n,) the first code, in an order, that each owner has in any of these tables; NONE without any.

    tables   codes and the owner of each
    """
    first = np.full(n, NONE, np.int8)
    for code in reversed(order):
        for codes, owner in tables:
            first[owner[codes == code]] = code
    return first
