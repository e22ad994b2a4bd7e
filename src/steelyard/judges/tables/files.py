"""Files of verdicts: Parquet, one row a question, in its metadata what they depend on; and JSON of RAGChecker."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, cast

import polars as pl

from steelyard.base.errors import InputError, quoted
from steelyard.base.shapes import Each, Object, check_shape
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.io.evaluation_rows import Row, read_rows
from steelyard.io.json_files import parse_json
from steelyard.io.native import native_reader
from steelyard.io.own_json import check_version, check_word
from steelyard.io.source import Source
from steelyard.judges.answers.cases import NOT_ASKED, drafts
from steelyard.judges.asking import whole_characters
from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Label, Nugget, Problem, State, Unit, Verdict

_KEY, _VERSION = "steelyard_verdicts", 3
_SHAPE = Object(
    {"recipe": Object({"judge": Object({"name": str})}), "errors": Each(dict, int), "questions": int, "digest": str}
)
_AGAIN = "judge again (`steelyard judge`)"
_Columns = dict[str, Any]
_TEXTS, _PLACES = pl.List(pl.String), pl.List(pl.Int64)
_SPAN: _Columns = {"start": _PLACES, "end": _PLACES}
_UNIT: _Columns = {**_SPAN, "text": _TEXTS, "no_claim": _TEXTS, "alternative": _PLACES, "lead": _TEXTS}
_MARK: _Columns = {"mark": _TEXTS, "chunk": _PLACES, "problem": _TEXTS}
_CITATION: _Columns = {"unit": _PLACES, **_SPAN, **_MARK}
_NUGGET: _Columns = {"text": _TEXTS, "vital": pl.List(pl.Boolean), "credit": pl.List(pl.Float64), "reason": _TEXTS}
_VERDICT: _Columns = {"verdict": _TEXTS, "score": pl.List(pl.Float64), "reason": _TEXTS}
_TABLES = ("support", "correctness", "reach")
_COLUMNS = ("grounded", "joint", "without", "said")
_SCHEMA = pl.Schema(
    {
        "query_id": pl.String, "state": pl.String, "answer": pl.String, "answerable": pl.Boolean,
        "query": pl.String, "context": _TEXTS, "context_digests": _TEXTS, "gold_answers": _TEXTS,
        **{f"unit_{name}": dtype for name, dtype in _UNIT.items()},
        **{f"gold_unit_{name}": dtype for name, dtype in _UNIT.items()},
        **{f"citation_{name}": dtype for name, dtype in _CITATION.items()},
        **{f"{table}_{name}": dtype for table in (*_TABLES, *_COLUMNS, "grade") for name, dtype in _VERDICT.items()},
        **{f"nugget_{name}": dtype for name, dtype in _NUGGET.items()},
    }
)  # fmt: skip
"""Verdicts of unit × chunk are one list a question, row by row; rows of units that assert nothing are left out."""
_MAY_BE_NULL = ("context", "answerable")


def encode_verdicts(records: Iterable[JudgedAnswer], recipe: Mapping[str, Any], errors: Mapping[str, int]) -> bytes:
    """The bytes of the file."""
    frame = _frame(records)
    head = {"version": _VERSION, "recipe": dict(recipe), "errors": dict(errors), "questions": len(frame)}
    head["digest"] = _digest(((column.name, column.to_list()) for column in frame), head)
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata={_KEY: json.dumps(head, ensure_ascii=False)})
    return buffer.getvalue()


def decode_verdicts(path: str | Path) -> tuple[list[JudgedAnswer], Mapping[str, Any], Mapping[str, int]]:
    """Records, recipe and errors of the judge that a file holds; tables are not held against units.

    Raises   InputError naming the file.
    """
    try:
        with native_reader(str(path)):
            data = Path(path).read_bytes()
            metadata = pl.read_parquet_metadata(io.BytesIO(data))
    except InputError as error:
        raise InputError(f"{error}; expected the file of verdicts that `steelyard judge` writes") from None
    head = _head(metadata.get(_KEY), path)
    with native_reader(str(path)):
        frame = pl.read_parquet(io.BytesIO(data))
    if frame.schema != _SCHEMA or any(frame[name].null_count() for name in _SCHEMA if name not in _MAY_BE_NULL):
        raise InputError(f"{path}: holds other columns than verdicts have; {_AGAIN}")
    if len(frame) != head["questions"]:
        raise InputError(f"{path}: has verdicts on {len(frame)} questions, of {head['questions']}; {_AGAIN}")
    lists = {name: frame[name].to_list() for name in frame.columns}
    verdict = cache(_verdict)  # Many are alike.
    records = []
    for place, query_id in enumerate(lists["query_id"]):
        row = {name: values[place] for name, values in lists.items()}
        try:
            records.append(_record(row, verdict))
        except ValueError as error:
            raise InputError(f"{path}: question {query_id!r}: {error}; {_AGAIN}") from None
    if _digest(lists.items(), head) != head["digest"]:
        raise InputError(f"{path}: is damaged, or was edited; {_AGAIN}")
    return records, head["recipe"], head["errors"]


def _digest(columns: Iterable[tuple[str, list[Any]]], head: Mapping[str, Any]) -> str:
    """A fingerprint of all that a file holds: Parquet has none, and a flipped bit may be another verdict."""
    facts = json.dumps([head["recipe"], head["errors"]], sort_keys=True)
    sha = hashlib.sha256(facts.encode())
    for name, values in columns:
        sha.update(f"{name} {values!r}".encode("utf-8", "surrogatepass"))
    return f"sha256:{sha.hexdigest()}"


def _head(text: str | None, path: str | Path) -> Mapping[str, Any]:
    if text is None:
        raise InputError(f"{path}: holds no verdicts; expected the Parquet that `steelyard judge` writes")
    head = parse_json(text.encode(), str(path))
    version = head.get("version") if isinstance(head, dict) else None
    check_version(version, _VERSION, str(path), _AGAIN)
    try:
        check_shape(head, _SHAPE)
    except ValueError as error:
        raise InputError(f"{path}: {error}; {_AGAIN}") from None
    return cast("Mapping[str, Any]", head)


def _frame(records: Iterable[JudgedAnswer]) -> pl.DataFrame:
    rows = [_row(record) for record in records]
    return pl.DataFrame([pl.Series(name, [row[name] for row in rows], dtype) for name, dtype in _SCHEMA.items()])


def _row(record: JudgedAnswer) -> dict[str, Any]:
    """Row of a record in the file."""
    tables = {name: [v for row in getattr(record, name) for v in row] for name in _TABLES}
    columns = {name: list(getattr(record, name)) for name in _COLUMNS}
    grade = [] if record.grade is None else [record.grade]
    return {
        "query_id": record.query_id, "state": record.state, "answer": record.answer,
        "answerable": record.answerable, "query": record.query, "context": record.context,
        "context_digests": record.context_digests, "gold_answers": record.gold_answers,
        **_fields("unit", record.units, _UNIT),
        **_fields("gold_unit", record.gold_units, _UNIT),
        **_fields("citation", record.citations, _CITATION),
        **_fields("nugget", record.nuggets, _NUGGET),
        **{key: values for name, verdicts in {**tables, **columns, "grade": grade}.items()
           for key, values in _verdict_fields(name, verdicts).items()},
    }  # fmt: skip


def _fields(prefix: str, items: Sequence[object], names: Iterable[str]) -> dict[str, Any]:
    return {f"{prefix}_{name}": [getattr(item, name) for item in items] for name in names}


def _verdict_fields(prefix: str, verdicts: Sequence[Verdict | None]) -> dict[str, Any]:
    return {
        f"{prefix}_verdict": [None if v is None else v.label for v in verdicts],
        f"{prefix}_score": [None if v is None else v.score for v in verdicts],
        f"{prefix}_reason": [None if v is None else v.reason for v in verdicts],
    }


def _record(row: Mapping[str, Any], verdict: Callable[..., Verdict]) -> JudgedAnswer:
    """The record of a row.

    verdict  makes one
    Raises   ValueError where lists of the row do not fit together, or hold what is none of their words.
    """
    context, golds = row["context"], row["gold_answers"]
    units = tuple(Unit(*fields) for fields in _items(row, "unit", _UNIT))
    gold_units = tuple(Unit(*fields) for fields in _items(row, "gold_unit", _UNIT))
    column = {name: _verdicts(row, name, verdict) for name in (*_TABLES, *_COLUMNS, "grade")}
    grade = column["grade"]
    n_chunks = len(context or ())
    for problem in row["citation_problem"]:
        check_word(problem or "dangling", Problem)
    return JudgedAnswer(
        row["query_id"],
        check_word(row["state"], State),
        answer=row["answer"],
        context=None if context is None else tuple(context),
        units=units,
        citations=tuple(CitedChunk(*fields) for fields in _items(row, "citation", _CITATION)),
        gold_answers=tuple(golds),
        gold_units=gold_units,
        support=_rows("support", column["support"], units, n_chunks),
        grounded=column["grounded"],
        joint=column["joint"],
        without=column["without"],
        correctness=_rows("correctness", column["correctness"], units, len(golds)),
        said=column["said"],
        reach=_rows("reach", column["reach"], gold_units, n_chunks),
        nuggets=tuple(Nugget(*fields) for fields in _items(row, "nugget", _NUGGET)),
        grade=grade[0] if grade else None,
        answerable=row["answerable"],
        query=row["query"],
        context_digests=tuple(row["context_digests"]),
    )


def _items(row: Mapping[str, Any], prefix: str, names: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    columns = [row[f"{prefix}_{name}"] for name in names]
    if len({len(column) for column in columns}) > 1:
        raise ValueError(f"its lists of {prefix} differ in length")
    return zip(*columns, strict=True)


def _verdicts(row: Mapping[str, Any], prefix: str, verdict: Callable[..., Verdict]) -> tuple[Verdict | None, ...]:
    return tuple(
        None if label is None else verdict(label, score, reason or "")
        for label, score, reason in _items(row, prefix, _VERDICT)
    )


def _verdict(label: str, score: float | None, reason: str) -> Verdict:
    return Verdict(check_word(label, Label), _share(score), reason)


def _rows(
    name: str, verdicts: Sequence[Verdict | None], units: Sequence[Unit], n: int
) -> tuple[tuple[Verdict, ...], ...]:
    """A table of unit × n from its verdicts row by row; rows of units that assert nothing are empty."""
    n_checkable = sum(unit.checkable for unit in units)
    if len(verdicts) != n_checkable * n or None in verdicts:
        raise ValueError(f"`{name}` has {len(verdicts)} verdicts for {n_checkable} × {n}")
    listed = cast("Iterator[Verdict]", iter(verdicts))
    return tuple(tuple(islice(listed, n)) if unit.checkable else () for unit in units)


def _share(score: float | None) -> float | None:
    if score is not None and not 0 <= score <= 1:
        raise ValueError(f"a score is {score}, not from 0 to 1")
    return score


_CHECKED_LABELS: Mapping[str, Label] = {
    "entailment": "supported",
    "contradiction": "contradicted",
    "neutral": "not_found",
}
_CLAIM_LISTS = ("response_claims", "gt_answer_claims")
_CHECKED_TABLES = {
    "retrieved2response": "support",
    "answer2response": "correctness",
    "response2answer": "said",
    "retrieved2answer": "reach",
}
"""What RAGChecker calls each of our tables: the premise, 2, and whose claims are checked by it."""


def decode_ragchecker(path: str | Path) -> tuple[list[JudgedAnswer], Mapping[str, Any], Mapping[str, int]]:
    """Records, recipe and errors, of the JSON that RAGChecker writes, as `decode_verdicts` gives them.

    A claim is a unit whose place in its text is not known.  What was not checked, or has another label than its three,
    is not judged.
    Raises   InputError naming file and row.
    """
    source = Source(path)
    placed = list(read_rows(source, "json"))
    rows = [row for _, row in placed]
    if not rows or not any(row.get(name) for row in rows for name in _CLAIM_LISTS):
        raise InputError(f"{source.name}: holds no claims of RAGChecker (response_claims, gt_answer_claims)")
    listed = zip(drafts(Questions(rows), Outputs(rows)), placed, strict=True)
    records = [_checked_record(draft.record, row, where) for draft, (where, row) in listed]
    tables = [table for name, table in _CHECKED_TABLES.items() if any(row.get(name) for row in rows)]
    return records, {"judge": {"name": "ragchecker"}, "calibration": None, "units": "claims", "tables": tables}, {}


def _checked_record(record: JudgedAnswer, row: Row, where: str) -> JudgedAnswer:
    """The record of a row; an answer without a claim asserts nothing."""
    units = _claims(row, "response_claims", record.answer, where) if record.state == "answered" else ()
    golds = _claims(row, "gt_answer_claims", record.gold_answers[0], where) if record.gold_answers else ()
    n_chunks, n_gold = len(record.context or ()), len(record.gold_answers)
    return replace(
        record,
        units=units,
        citations=(),
        gold_units=golds,
        support=_checked_labels(row, "retrieved2response", len(units), n_chunks, where),
        joint=(None,) * len(units),
        without=(),
        correctness=_checked_labels(row, "answer2response", len(units), n_gold, where),
        said=tuple(labels[0] for labels in _checked_labels(row, "response2answer", len(golds), 1, where)),
        reach=_checked_labels(row, "retrieved2answer", len(golds), n_chunks, where),
    )


def _claims(row: Row, name: str, text: str, where: str) -> tuple[Unit, ...]:
    """Claims, as texts or as subject, predicate and object."""
    claims = row.get(name) or []
    if not isinstance(claims, Sequence) or isinstance(claims, str):
        raise InputError(f"{where}: `{name}` must be a list of claims, not {quoted(claims)}")
    parts = [[claim] if isinstance(claim, str) else claim for claim in claims]
    for claim in parts:
        if not isinstance(claim, list) or not all(isinstance(part, str) for part in claim):
            raise InputError(f"{where}: {quoted(claim)} in `{name}` is no claim; expected a text, or texts")
    return tuple(Unit(0, len(text), whole_characters(" ".join(claim))) for claim in parts)


def _checked_labels(row: Row, name: str, n_claims: int, n_premises: int, where: str) -> tuple[tuple[Verdict, ...], ...]:
    """The verdicts of a row's list: a label a claim, or a list of them, one a premise."""
    listed = row.get(name)
    if listed is None or not n_premises:
        return ((NOT_ASKED,) * n_premises,) * n_claims
    if not isinstance(listed, list) or len(listed) != n_claims:
        n = len(listed) if isinstance(listed, list) else quoted(listed)
        raise InputError(f"{where}: `{name}` has {n} results for {n_claims} claims; expected one each")
    rows = [labels if isinstance(labels, list) else [labels] for labels in listed]
    if odd := next((labels for labels in rows if len(labels) != n_premises), None):
        raise InputError(f"{where}: `{name}` has {len(odd)} labels of one claim; expected {n_premises}")
    return tuple(tuple(map(_checked_verdict, labels)) for labels in rows)


def _checked_verdict(label: object) -> Verdict:
    own = _CHECKED_LABELS.get(str(label).lower())
    return Verdict("not_judged", None, f"RAGChecker says {label}") if own is None else Verdict(own)
