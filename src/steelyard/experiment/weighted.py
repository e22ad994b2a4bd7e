"""Means of scores over all requests, of questions that were drawn from the traffic with weights."""

from __future__ import annotations

import math
from dataclasses import asdict
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from steelyard.base.errors import InputError, quoted
from steelyard.data.question import Question
from steelyard.data.questions import Questions
from steelyard.experiment.table.scores import Scores
from steelyard.stats.weighted import weighted_mean

WEIGHT, N_REQUESTS, STRATUM = "weight", "n_requests", "stratum"
"""Fields of questions that `questions from-logs` writes."""

MEANS = pl.Schema(
    {
        "system": pl.String(), "measure": pl.String(), "mean": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(),
        "error": pl.Float64(), "n": pl.Int64(), "n_effective": pl.Float64(), "n_left_out": pl.Int64(),
    }
)  # fmt: skip
"""Columns of `weighted_means`; see there."""


def weighted_means(scores: Scores, questions: object, *, level: float = 0.95) -> pl.DataFrame:
    """Means over all requests: those over questions, by the weight with which each was drawn from the traffic.

    scores     of these questions, as `evaluate` gives them
    questions  as `questions_from_logs` wrote them, or any questions with a field `weight`: Questions, a path, or dicts.
               With `n_requests`, the probability of each is n_requests / weight; with `stratum`, errors are those
               within strata
    Returns    one row a system and measure: mean, low and high of its interval, error, n, n_effective (questions of
               equal weight that would do as well), and n_left_out: those without a value, or not in the scores
    Raises     InputError for questions without a weight

    >>> import steelyard as sy
    >>> data = [{"qid": "a", "query": "often", "relevant": ["d"], "weight": 9},
    ...         {"qid": "b", "query": "rarely", "relevant": ["d"], "weight": 1}]
    >>> scores = sy.evaluate(data, {"run": {"a": {"d": 1.0}, "b": {"e": 1.0}}}, "recall@1")
    >>> scores.mean()["mean"].item(), weighted_means(scores, data)["mean"].item()
    (0.5, 0.9)
    """
    by_id = {question.query_id: question for question in _questions(questions)}
    asked = [by_id.get(query_id) for query_id in scores.query_ids]
    weights = np.array([_weight(question) for question in asked])
    counts = np.array([float(question.fields.get(N_REQUESTS, math.nan)) for question in asked if question is not None])
    strata = np.array([str(question.fields.get(STRATUM, "")) for question in asked if question is not None])
    probabilities = None if np.isnan(counts).any() else np.clip(counts / weights, 0, 1)
    rows = []
    for (i, system), (j, measure) in product(enumerate(scores.systems), enumerate(scores.measures)):
        values = scores.values[i, j]
        has = ~np.isnan(values)
        facts: dict[str, float] = {}
        if has.any():
            chances = None if probabilities is None else probabilities[has]
            mean = weighted_mean(
                values[has], weights[has], strata[has].tolist(), chances, level=level, bounds=measure.definition.range
            )
            facts = asdict(mean)
        row = {"system": system, "measure": str(measure), **facts}
        rows.append({**row, "n_left_out": len(by_id) - int(has.sum())})
    return pl.DataFrame(rows, schema=MEANS)


def _questions(questions: object) -> Questions:
    if isinstance(questions, Questions):
        return questions
    return Questions.read(questions) if isinstance(questions, str | Path) else Questions(questions)


def _weight(question: Question | None) -> float:
    value = None if question is None else question.fields.get(WEIGHT)
    if question is None or isinstance(value, str | bool) or value is None or not 0 < value < math.inf:
        place = "a question of the scores" if question is None else question.where
        raise InputError(
            f"{place}: `{WEIGHT}` is {quoted(value)}, and must be a number above 0; weighted means need that of every "
            "question, as `steelyard questions from-logs` writes it"
        )
    return float(value)
