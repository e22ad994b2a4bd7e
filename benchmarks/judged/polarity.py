"""Negation, modality, opposites and leads, as the lexical judge reads them: tables of cases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.judged.values import Value

from steelyard.judges.lexical import LexicalJudge
from steelyard.judges.verdict import Case, Label

CASES = Path(__file__).resolve().parents[2] / "tests" / "cases"
_REVERSED, _RIGHT = 0.9, 0.95
"""Shares of reversals that must be found, and of paraphrases and of items with a lead that must be right."""
_BEFORE = {
    ("reversal", "en"): 17 / 45,
    ("reversal", "zh"): 18 / 46,
    ("paraphrase", "en"): 59 / 65,
    ("paraphrase", "zh"): 44 / 61,
}
_LEADS_BEFORE = 15 / 26


def read_cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").split("\n") if line]


def label_of(row: Mapping[str, Any]) -> Label:
    """What the judge says of a case, which may have a lead."""
    [[verdict]] = LexicalJudge().judge([Case(row["premise"], (row["hypothesis"],), leads=(row.get("lead", ""),))])
    return verdict.label


def polarity_values() -> Iterator[Value]:
    """Of each language: reversals that are not called supported or are called contradicted, and true paraphrases."""
    rows = read_cases("polarity.jsonl")
    labels = [label_of(row) for row in rows]
    for language in ("en", "zh"):
        by_kind = {
            kind: [label for row, label in zip(rows, labels, strict=True) if _is_of(row, kind, language)]
            for kind in ("reversal", "paraphrase")
        }
        reversals, paraphrases = by_kind["reversal"], by_kind["paraphrase"]
        on = f"{len(reversals)} reversals ({language})"
        refused = [label != "supported" for label in reversals]
        yield Value("reversals not supported", on, _share(refused), _REVERSED, earlier=_BEFORE["reversal", language])
        yield Value("reversals contradicted", on, _share([label == "contradicted" for label in reversals]))
        on = f"{len(paraphrases)} paraphrases ({language})"
        supported = [label == "supported" for label in paraphrases]
        yield Value("paraphrases supported", on, _share(supported), _RIGHT, earlier=_BEFORE["paraphrase", language])


def lead_values() -> Iterator[Value]:
    """Items of lists, and sentences with a pronoun, of which the lead decides."""
    rows = read_cases("lexical_leads.jsonl")
    right = [(label_of(row) == "supported") == row["supported"] for row in rows]
    yield Value("items judged with their lead", f"{len(rows)} items", _share(right), _RIGHT, earlier=_LEADS_BEFORE)


def _is_of(row: Mapping[str, Any], kind: str, language: str) -> bool:
    return row["kind"] == kind and row["id"].startswith(language)


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags)
