"""JSON that RAGChecker writes, with its claims and what it says of them, as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError, quoted
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.io.evaluation_rows import Row, read_rows
from steelyard.io.source import Source
from steelyard.judges.answers.cases import NOT_ASKED, drafts
from steelyard.judges.asking import whole_characters
from steelyard.judges.verdict import JudgedAnswer, Label, Unit, Verdict

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
    """Records, recipe and errors, of the JSON that RAGChecker writes.

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
