"""Grades by criteria, and comparisons in pairs: what replies mean, what it costs, and whether intervals hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.judged.values import Value

from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.experiment.preferences import mean_of
from steelyard.judges.answers.cases import asked_cases, drafts
from steelyard.judges.criteria import criteria_of
from steelyard.judges.llm.criteria import grade_on
from steelyard.stats.preferences import PRIOR, bradley_terry

_CASES = Path(__file__).resolve().parents[2] / "tests" / "cases" / "criterion_grades.jsonl"
_RUNS, _QUESTIONS = 400, 60


def criteria_values() -> Iterator[Value]:
    """Figures of criteria and of comparisons; before, the grade was text inside a reason, and nothing was compared."""
    cases = [json.loads(line) for line in _CASES.read_text("utf-8").splitlines()]
    right = [grade_on(case["scale"], case["reply"]) == case["want"] for case in cases]
    yield Value("replies read as people would", f"{len(cases)} replies", float(np.mean(right)), least=1.0)
    rows = [{"qid": "q", "query": "When?", "retrieved": [{"id": "a", "text": "At 9."}], "answer": "At 9."}]
    (draft,) = drafts(Questions(rows), Outputs(rows))
    n_calls = sum(1 for _ in asked_cases(draft, [], criteria_of(["answer_grade"])))
    yield Value("one call a question or fewer", "answer_grade", float(n_calls <= 1), least=1.0)
    n_calls = sum(1 for _ in asked_cases(draft, [], criteria_of([f"n{n}=It is {n}." for n in range(10)])))
    yield Value("one call a question or fewer", "10 criteria", float(n_calls <= 1), least=1.0)
    for advantage, bias in ((0.0, 0.0), (0.0, 1.5), (0.8, 1.5)):
        on = f"advantage {advantage:g}, bias {bias:g} (log odds), {_QUESTIONS} questions"
        yield Value("intervals that hold the truth", on, _coverage(advantage, bias), least=0.93)
    [strengths] = bradley_terry(np.array([[[0.0, 30.0], [10.0, 0.0]]]))
    is_exact = abs(strengths[0] - strengths[1] - np.log((30 + PRIOR) / (10 + PRIOR))) < 1e-9
    yield Value("strengths of two as by the closed form", "30 to 10", float(is_exact), least=1.0)


def _coverage(advantage: float, bias: float) -> float:
    """Share of simulated comparisons whose interval of the difference holds the true one."""
    rng = np.random.default_rng(7)
    questions = np.arange(_QUESTIONS)

    def scores(n: int) -> np.ndarray:
        own = advantage + rng.normal(0, 1, n)
        orders = [np.where(rng.random(n) < 1 / (1 + np.exp(-(own + shift))), 1.0, -1.0) for shift in (bias, -bias)]
        return np.asarray((orders[0] + orders[1]) / 2)

    truth = float(scores(400_000).mean())
    intervals = [mean_of(scores(_QUESTIONS), questions, -1.0) for _ in range(_RUNS)]
    return float(np.mean([own.low <= truth <= own.high for own in intervals]))
