"""Measures of answers, worked by hand from verdicts that nobody judged: values, and why there are none."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from steelyard.judges.criteria import Grade
from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Nugget, Unit, Verdict, check_record
from steelyard.measures import parse
from steelyard.measures.undefined import REASONS
from tests.judges.strategies import arrays_of
from tests.measures.random_collections import of_answers

LINES = (Path(__file__).parents[1] / "cases" / "answer_measures.jsonl").read_text("utf-8").splitlines()
CASES = [json.loads(line) for line in LINES]
LABELS: dict[str, Verdict | None] = {
    "s": Verdict("supported"),
    "n": Verdict("not_found"),
    "c": Verdict("contradicted"),
    "?": Verdict("not_judged"),
    "-": None,
}
_TEXTS = {"exact_match", "token_f1", "content_f1", "contains"}


def units(texts: list[str], alternative: int = 0) -> list[Unit]:
    """~ marks one that asserts nothing."""
    return [
        Unit(i, i + 1, text.lstrip("~"), "greeting" if text[0] == "~" else "", alternative)
        for i, text in enumerate(texts)
    ]


def record_of(case: dict[str, Any]) -> JudgedAnswer:
    """The record that a case writes in short: a letter for a verdict, a text for a row; what it leaves out is "n"."""
    own = units(case.get("units", []))
    golds = [unit for n, texts in enumerate(case.get("gold", [])) for unit in units(texts, n)]
    n_chunks, n_gold = len(case.get("context") or []), len(case.get("gold", []))
    cited = [(unit, chunk) for unit, chunks in enumerate(case.get("cites", [])) for chunk in chunks]

    def rows(name: str, owners: list[Unit], n: int) -> tuple[Any, ...]:
        texts = case.get(name) or ["n" * n if unit.checkable else "" for unit in owners]
        return tuple(tuple(LABELS[letter] for letter in text) for text in texts)

    def row(name: str, n: int) -> tuple[Any, ...]:
        return tuple(LABELS[letter] for letter in case.get(name, "-" * n))

    grade = case.get("grade")
    record = JudgedAnswer(
        "q", case.get("state", "answered"), answer=" ".join(unit.text for unit in own),
        context=None if case.get("context") is None else tuple(case["context"]), units=tuple(own),
        citations=tuple(CitedChunk(unit, 0, 0, f"[{chunk}]", None, "dangling") if chunk == "x"
                        else CitedChunk(unit, 0, 0, f"[{chunk}]", chunk) for unit, chunk in cited),
        gold_answers=tuple(" ".join(texts) for texts in case.get("gold", [])), gold_units=tuple(golds),
        support=rows("support", own, n_chunks), grounded=row("grounded", 0), joint=row("joint", len(own)),
        without=row("without", len(cited)), correctness=rows("correct", own, n_gold), said=row("said", len(golds)),
        reach=rows("reach", golds, n_chunks), context_relevance=row("relevant", 0),
        nuggets=tuple(Nugget(*nugget) for nugget in case.get("nuggets", [])),
        grade=None if grade is None else Verdict("supported", grade),
        criteria=tuple(Grade(name, name, *own) for name, own in case.get("criteria", {}).items()),
        answerable=case.get("answerable"),
    )  # fmt: skip
    check_record(record)
    return record


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_one_answer(case: dict[str, Any]) -> None:
    arrays = arrays_of([record_of(case)])
    values = {}
    for measure in case["want"]:
        spec = parse(measure)
        value, reason = float(spec(arrays)[0]), REASONS[spec.undefined_reasons(arrays)[0]]
        assert not reason or math.isnan(value)
        values[measure] = (reason or "not_judged") if math.isnan(value) else round(value, 6)
    assert values == case["want"]


@pytest.mark.parametrize("case", [case for case in CASES if "bounds" in case], ids=lambda case: case["label"])
def test_bounds_of_what_was_not_judged(case: dict[str, Any]) -> None:
    arrays = arrays_of([record_of(case)])
    ends = {measure: [float(end[0]) for end in parse(measure).bounds(arrays)] for measure in case["bounds"]}
    assert ends == case["bounds"]


def test_two_values_for_every_measure_of_verdicts_and_every_reason() -> None:
    wanted = [(parse(measure).name, want) for case in CASES for measure, want in case["want"].items()]
    counts = Counter(name for name, want in wanted if not isinstance(want, str))
    assert {d.name for d in of_answers() if d.name not in _TEXTS and counts[d.name] < 2} == set()
    assert {want for _, want in wanted if isinstance(want, str)} == {*REASONS[1:], "not_judged"}
    assert all(case["comment"] for case in CASES)
