"""Records of judged answers as frames, for people and for what is computed over all questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

import polars as pl

from steelyard.judges.verdict import JudgedAnswer, Label, Problem, State, Unit, Verdict

_Schema = dict[str, Any]
_VERDICT: _Schema = {"verdict": pl.String, "score": pl.Float64, "reason": pl.String}
_PLACE: _Schema = {"start": pl.Int64, "end": pl.Int64, "text": pl.String, "no_claim": pl.String}
_Column = Sequence[Verdict | None]
_Table = Sequence[Sequence[Verdict]]


def overall(row: Iterable[Verdict]) -> Label | None:
    """The verdict on a unit over several premises of which one is enough; None where there are none.

    >>> overall([Verdict("contradicted"), Verdict("supported")]), overall([Verdict("not_judged"), Verdict("not_found")])
    ('supported', 'not_judged')
    """
    labels: set[Label] = {verdict.label for verdict in row}
    order: Sequence[Label] = ("supported", "not_judged", "contradicted", "not_found")
    return next((label for label in order if label in labels), None)


def answers_frame(records: Sequence[JudgedAnswer]) -> pl.DataFrame:
    """A row a question."""
    schema: _Schema = {
        "query_id": pl.String, "state": pl.String, "answer": pl.String, "n_context": pl.Int64, "n_gold": pl.Int64,
        "n_units": pl.Int64, "n_no_claim": pl.Int64, "answerable": pl.Boolean, "grade": pl.Float64,
        "reason": pl.String,
    }  # fmt: skip
    return _frame(
        schema,
        (
            (
                r.query_id, r.state, r.answer, None if r.context is None else len(r.context), len(r.gold_answers),
                len(r.units), sum(not unit.checkable for unit in r.units), r.answerable,
                None if r.grade is None or r.grade.label == "not_judged" else r.grade.score,
                None if r.grade is None else r.grade.reason,
            )
            for r in records
        ),
    )  # fmt: skip


def units_frame(records: Sequence[JudgedAnswer]) -> pl.DataFrame:
    """A row a unit, with its verdict over the whole context; null where it asserts nothing, or there is no context."""
    rows = ((r.query_id, n, *_place(unit), unit_verdict(r, n)) for r in records for n, unit in enumerate(r.units))
    return _frame({"query_id": pl.String, "unit": pl.Int64, **_PLACE, "verdict": pl.String}, rows)


def unit_verdict(record: JudgedAnswer, unit: int) -> Label | None:
    """The verdict on a unit over the whole context, by its chunks or by a judge that read it at once.

    Either is enough to support it; what one of them did not judge, the other did.
    """
    whole = record.grounded[unit] if record.grounded else None
    by_chunk = overall(record.support[unit])
    labels = {label for label in (by_chunk, None if whole is None else whole.label) if label is not None}
    order: Sequence[Label] = ("supported", "contradicted", "not_found", "not_judged")
    return next((label for label in order if label in labels), None)


def gold_units_frame(records: Sequence[JudgedAnswer]) -> pl.DataFrame:
    """A row a unit of a gold answer."""
    rows = ((r.query_id, n, unit.alternative, *_place(unit)) for r in records for n, unit in enumerate(r.gold_units))
    return _frame({"query_id": pl.String, "gold_unit": pl.Int64, "gold_answer": pl.Int64, **_PLACE}, rows)


def chunks_frame(records: Sequence[JudgedAnswer], owner: str, tables: Sequence[_Table]) -> pl.DataFrame:
    """A row a pair of a unit and a chunk of the context;   owner   the column of the unit"""
    rows = (
        (record.query_id, n, chunk, chunk_id, verdict.label, verdict.score, verdict.reason)
        for record, table in zip(records, tables, strict=True)
        for n, row in enumerate(table)
        for chunk, (chunk_id, verdict) in enumerate(zip(record.context or (), row, strict=False))
    )
    return _frame({"query_id": pl.String, owner: pl.Int64, "chunk": pl.Int64, "chunk_id": pl.String, **_VERDICT}, rows)


def correctness_frame(records: Sequence[JudgedAnswer]) -> pl.DataFrame:
    """A row a pair of a unit and a gold answer."""
    rows = (
        (r.query_id, n, gold, verdict.label, verdict.score, verdict.reason)
        for r in records
        for n, row in enumerate(r.correctness)
        for gold, verdict in enumerate(row)
    )
    return _frame({"query_id": pl.String, "unit": pl.Int64, "gold_answer": pl.Int64, **_VERDICT}, rows)


def column_frame(records: Sequence[JudgedAnswer], owner: str, columns: Sequence[_Column]) -> pl.DataFrame:
    """A row a unit that was to be judged, by a premise of its own;   owner   the column of the unit"""
    rows = (
        (record.query_id, n, verdict.label, verdict.score, verdict.reason)
        for record, column in zip(records, columns, strict=True)
        for n, verdict in enumerate(column)
        if verdict is not None
    )
    return _frame({"query_id": pl.String, owner: pl.Int64, **_VERDICT}, rows)


def citations_frame(records: Sequence[JudgedAnswer]) -> pl.DataFrame:
    """A row a citation; `without` is the verdict on its unit by the chunks that it cites besides."""
    schema: _Schema = {
        "query_id": pl.String, "unit": pl.Int64, "start": pl.Int64, "end": pl.Int64, "mark": pl.String,
        "chunk": pl.Int64, "chunk_id": pl.String, "problem": pl.String, "without": pl.String,
    }  # fmt: skip
    rows = (
        (
            r.query_id, c.unit, c.start, c.end, c.mark, c.chunk,
            None if c.chunk is None or r.context is None else r.context[c.chunk], c.problem,
            None if without is None else without.label,
        )
        for r in records
        for c, without in zip(r.citations, r.without, strict=True)
    )  # fmt: skip
    return _frame(schema, rows)


def nuggets_frame(records: Sequence[JudgedAnswer]) -> pl.DataFrame:
    """A row a nugget."""
    schema: _Schema = {
        "query_id": pl.String, "nugget": pl.Int64, "text": pl.String, "vital": pl.Boolean, "credit": pl.Float64,
        "reason": pl.String,
    }  # fmt: skip
    rows = ((r.query_id, n, g.text, g.vital, g.credit, g.reason) for r in records for n, g in enumerate(r.nuggets))
    return _frame(schema, rows)


def counts(answers: pl.DataFrame, units: pl.DataFrame, citations: pl.DataFrame) -> dict[str, int]:
    """Questions by state, units by their verdict over the whole context, and citations by their problem."""
    states = dict(answers["state"].value_counts().iter_rows())
    verdicts = dict(units["verdict"].drop_nulls().value_counts().iter_rows())
    problems = dict(citations["problem"].drop_nulls().value_counts().iter_rows())
    return {
        "questions": len(answers),
        **{state: states.get(state, 0) for state in get_args(State)},
        "without_context": int((answers["n_context"].is_null() & (answers["state"] == "answered")).sum()),
        "units": len(units),
        "no_claim": int((units["no_claim"] != "").sum()),
        **{label: verdicts.get(label, 0) for label in get_args(Label)},
        "citations": len(citations),
        **{problem: problems.get(problem, 0) for problem in get_args(Problem)},
    }


def _place(unit: Unit) -> tuple[int, int, str, str]:
    return unit.start, unit.end, unit.text, unit.no_claim


def _frame(schema: _Schema, rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pl.DataFrame(
        [pl.Series(name, values, dtype) for (name, dtype), values in zip(schema.items(), columns, strict=True)]
    )
